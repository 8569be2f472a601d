"""Simulation-based calibration: right beliefs pass, of every kind of model, and wrong ones are found out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

import gainful as gf
from gainful.beliefs.programs import Program
from gainful.numerics.ranks import Ranks, rank
from gainful.testing import drawn, sbc

# Ranks by themselves


def test_chi_squared_is_that_of_scipy_and_uniform_for_uniform_ranks() -> None:
    rng = np.random.default_rng(0)
    found = [Ranks(tuple(rng.integers(0, 20, 400).tolist()), 19) for _ in range(400)]
    assert found[0].p_value == pytest.approx(chisquare(found[0].counts).pvalue)
    assert found[0].bins == 20
    p = np.array([each.p_value for each in found])
    assert chisquare(np.histogram(p, 5, (0.0, 1.0))[0]).pvalue > 1e-3
    low, high = found[0].band(0.99)
    inside = np.mean([(each.counts >= low) & (each.counts <= high) for each in found])
    assert 0.985 < inside < 0.998


def test_few_ranks_are_put_in_fewer_bins() -> None:
    assert [Ranks((0,) * n, 19).bins for n in (5, 24, 60, 99, 100)] == [2, 4, 10, 10, 20]
    assert Ranks(tuple(range(20)), 19).counts.tolist() == [5, 5, 5, 5]


def test_shapes_have_their_names() -> None:
    rng, u = np.random.default_rng(1), np.random.default_rng(2).random(500)
    shapes = {"truths above": u**0.6, "truths below": u**1.6, "too sure": rng.beta(0.6, 0.6, 500), "even": u,
              "not sure enough": rng.beta(1.6, 1.6, 500)}  # fmt: skip
    assert {name: Ranks(tuple((20 * each).astype(int).tolist()), 19).shape for name, each in shapes.items()} == {
        name: name for name in shapes
    }


def test_equal_draws_are_ranked_by_chance() -> None:
    rng = np.random.default_rng(0)
    found = Ranks(tuple(rank(1, [1] * 9, rng) for _ in range(500)), 9)
    assert found.p_value > 1e-3
    assert rank((1, "b"), [(0, "z"), (1, "a"), (2, "a")], rng) == 2


# Models

X = np.array([[-0.9], [-0.5], [-0.1], [0.2], [0.6], [0.9]])
PLACE = np.array([[0.4]])
GRID = np.linspace(-1.0, 1.0, 21)[:, None]
LAB = gf.Point(noise=0.3, name="lab")


@dataclass(frozen=True)
class World:
    """A function with what it was drawn by: values at `GRID`, at `X` and at `PLACE`."""

    f: np.ndarray
    noise: float = 0.3
    lengthscale: float = 0.0
    model: int = 0
    program: Program | None = None

    @classmethod
    def of(cls, kernel: gf.Kernel, rng: np.random.Generator, **also: object) -> World:
        everywhere = np.concatenate([GRID, X, PLACE])
        values, vectors = np.linalg.eigh(kernel(everywhere))
        f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(everywhere)))
        return cls(f, **also)  # type: ignore[arg-type]

    def passive(self, rng: np.random.Generator, lab: gf.Point = LAB) -> gf.Data:
        return gf.Data().add(lab, X, self.f[21:27] + self.noise * rng.standard_normal(len(X)))

    def at(self, i: int, data: gf.Data, rng: np.random.Generator, lab: gf.Point = LAB) -> gf.Data:
        return data.add(lab, GRID[[i]], self.f[[i]] + self.noise * rng.standard_normal(1))


def value(each: object) -> float:
    """Of the function at `PLACE`."""
    return float(each.f[-1]) if isinstance(each, World) else float(each.values[0])  # type: ignore[attr-defined]


def sampled(belief: gf.Posterior | gf.Belief, world: World, size: int, rng: np.random.Generator) -> list[object]:
    return list(drawn(belief, PLACE, size, rng))


def active(condition, world, count, rng, lab=LAB):  # type: ignore[no-untyped-def]
    """Queries by what they tell about the model, the first in the middle."""
    data, at, belief, left = gf.Data(), 10, None, set(range(21))
    for _ in range(count):
        left.remove(at)
        data = world.at(at, data, rng, lab)
        belief = condition(data, belief, rng)
        rest = sorted(left)
        about = "model" if isinstance(belief, gf.Belief) else "function"
        at = rest[int(np.argmax(gf.information(belief, lab, GRID[rest], about)))]
    return belief


GP = gf.GP(gf.SE(0.4, 1.0))


@pytest.mark.parametrize("choosing", [False, True])
def test_a_gaussian_process_is_calibrated_and_one_that_takes_its_noise_to_be_less_is_not(choosing: bool) -> None:
    def believing(lab: gf.Point):  # type: ignore[no-untyped-def]
        def condition(world: World, rng: np.random.Generator) -> gf.Posterior:
            if choosing:
                return active(lambda data, start, rng: GP.condition(data), world, 5, rng, lab)
            return GP.condition(world.passive(rng, lab))

        return condition

    def simulate(rng: np.random.Generator) -> World:
        return World.of(GP.kernel, rng)

    count = 80 if choosing else 200
    right = sbc(simulate, believing(LAB), sampled, lambda w: w, {"value": value}, count)
    assert right.departs() == []
    assert "nothing against the belief" in str(right)
    wrong = sbc(simulate, believing(gf.Point(0.05, name="lab")), sampled, lambda w: w, {"value": value}, count)
    assert wrong.departs() == ["value"]
    assert "too sure" in str(wrong)


def test_a_process_whose_hyperparameters_are_integrated_out_is_calibrated() -> None:
    prior = {"SE.lengthscale": gf.LogNormal(-1.0, 0.6)}
    model = gf.Integrated(gf.GP(gf.SE(variance=1.0), gf.ConstantMean(0.0), priors=prior))

    def simulate(rng: np.random.Generator) -> World:
        lengthscale = float(np.exp(rng.normal(-1.0, 0.6)))
        return World.of(gf.SE(lengthscale, 1.0), rng, lengthscale=lengthscale)

    def length(each: object) -> float:
        if isinstance(each, World):
            return each.lengthscale
        return float(each.posterior.kernel.lengthscale)  # type: ignore[attr-defined]

    found = sbc(
        simulate, lambda world, rng: model.condition(world.passive(rng)), sampled, lambda w: w,
        {"value": value, "lengthscale": length}, 100,
    )  # fmt: skip
    assert found.departs() == []


@pytest.mark.parametrize("choosing", [False, True])
def test_rival_models_are_calibrated(choosing: bool) -> None:
    kernels = (gf.SE(0.3, 1.0), gf.CentredLinear(0.2, 1.0))
    model = gf.Models([gf.GP(each) for each in kernels])

    def simulate(rng: np.random.Generator) -> World:
        number = int(rng.integers(2))
        return World.of(kernels[number], rng, model=number)

    def condition(world: World, rng: np.random.Generator) -> gf.Belief:
        if choosing:
            return active(lambda data, start, rng: model.condition(data), world, 4, rng)
        return model.condition(world.passive(rng))

    statistics = {"value": value, "model": lambda each: each.model}
    assert sbc(simulate, condition, sampled, lambda w: w, statistics, 40 if choosing else 120).departs() == []


# Programs

SPACE = gf.Space(gf.Real("x", -1.0, 1.0))
GRAMMAR = gf.Grammar({"C": 0.25, "LIN": 0.25, "SE": 0.3, "+": 0.1, "×": 0.1})
FREE = gf.Point(name="lab")
PROGRAMS = gf.KernelPrograms(
    GRAMMAR, particles=30, space=SPACE, answers=(0.0, 1.0), moves=gf.Moves(sweeps=2, repeats=2, leaps=0)
)


def programmed(rng: np.random.Generator) -> World:
    program, noise = GRAMMAR.draw(rng), float(np.sqrt(GRAMMAR.draw_noise(rng)))
    return World.of(program.kernel, rng, noise=noise, program=program)


def noise_of(each: object) -> float:
    return each.noise if isinstance(each, World) else float(each.instruments["lab"].noise)  # type: ignore[attr-defined]


RANKED = {"program": lambda each: each.program.order, "noise": noise_of, "value": value}


def learning(model: gf.KernelPrograms):  # type: ignore[no-untyped-def]
    def condition(world: World, rng: np.random.Generator) -> gf.Belief:
        return model.condition(world.passive(rng, FREE), rng=rng)

    return condition


def test_programs_are_calibrated_in_structure_noise_and_predictions() -> None:
    assert sbc(programmed, learning(PROGRAMS), sampled, lambda w: w, RANKED, 50).departs() == []


def test_programs_are_calibrated_with_queries_that_they_choose() -> None:
    def condition(world: World, rng: np.random.Generator) -> gf.Belief:
        model = replace(PROGRAMS, particles=20)
        return active(lambda data, start, rng: model.condition(data, start, rng), world, 4, rng, FREE)

    assert sbc(programmed, condition, sampled, lambda w: w, RANKED, 20).departs() == []


def test_a_wrong_prior_of_the_noise_is_found_out() -> None:
    wrong = replace(PROGRAMS, grammar=replace(GRAMMAR, noise=gf.Gamma(1.0, 8.0)))
    assert "noise" in sbc(programmed, learning(wrong), sampled, lambda w: w, RANKED, 40).departs()


def test_particles_that_do_not_move_are_found_out() -> None:
    stiff = replace(PROGRAMS, particles=8, moves=gf.Moves(sweeps=0))
    found = sbc(programmed, learning(stiff), sampled, lambda w: w, RANKED, 100)
    assert found.departs()
    assert "too sure" in str(found)


def test_histograms_are_drawn(tmp_path: Path) -> None:
    found = sbc(lambda rng: rng.random(), lambda w, rng: None, lambda b, w, n, rng: rng.random(n), float,
                {"a": float, "b": lambda x: -x}, 50)  # fmt: skip
    found.plot(tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").stat().st_size > 5_000
    assert set(found.p_values) == {"a", "b"}


def test_what_is_no_calibration_is_refused() -> None:
    def nothing(*_: object) -> list[float]:
        return []

    with pytest.raises(gf.InvalidInput, match="sample"):
        sbc(lambda rng: 0.0, nothing, nothing, float, {"a": float}, 1)
    with pytest.raises(gf.InvalidInput, match="statistics"):
        sbc(lambda rng: 0.0, nothing, nothing, float, {}, 1)
    with pytest.raises(gf.InvalidInput, match="repetitions"):
        sbc(lambda rng: 0.0, nothing, nothing, float, {"a": float}, 0)


# The order of programs


def test_programs_are_sorted_by_depth_then_symbols_level_by_level_then_numbers() -> None:
    texts = ["(C 0.9)", "(LIN 0.1)", "(LIN 0.2)", "(SE 0.1)", "(PER 0.1 0.9)", "(PER 0.2 0.1)", "(+ (C 0.9) (C 0.8))",
             "(+ (C 0.5) (SE 0.1))", "(+ (LIN 0.1) (LIN 0.1))", "(× (C 0.1) (C 0.1))",
             "(+ (C 0.1) (+ (C 0.1) (C 0.1)))", "(× (C 0.1) (+ (C 0.1) (C 0.1)))"]  # fmt: skip
    programs = [Program.read(text) for text in texts]
    assert sorted(sorted(programs, key=str), key=lambda each: each.order) == programs


def test_commuted_programs_have_one_place_in_the_order_and_others_have_not() -> None:
    a, b = (
        "(+ (× (SE 0.2) (SE 0.1)) (+ (SE 0.2) (PER 0.3 0.4)))",
        "(+ (+ (PER 0.3 0.4) (SE 0.2)) (× (SE 0.1) (SE 0.2)))",
    )
    assert Program.read(a).order == Program.read(b).order
    assert Program.read(a).order != Program.read(a.replace("0.3", "0.31")).order
    rng, grammar = np.random.default_rng(0), gf.Grammar()
    drawn_ = [grammar.draw(rng) for _ in range(300)]
    for one, other in pairwise(drawn_):
        assert (one.order == other.order) == (one.canonical == other.canonical)


def test_the_order_of_a_deep_program_is_no_larger_than_the_program() -> None:
    deep = "(C 0.5)"
    for _ in range(31):
        deep = f"(+ (C 0.5) {deep})"
    depth, symbols, numbers = Program.read(deep).order
    assert (depth, len(symbols), len(numbers)) == (32, 63, 32)

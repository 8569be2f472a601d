"""Programs as sums of parts, and what is believed of each: against joint Gaussians worked out by hand."""

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.programs import Program
from gainful.beliefs.programs.components import kernel_of, kinds_of, terms_of
from gainful.beliefs.programs.units import Units

X = np.linspace(-0.9, 0.9, 9)[:, None]
NEW = np.linspace(-1.2, 1.4, 14)[:, None]
Y = np.sin(5.0 * X[:, 0]) + X[:, 0]
PLAIN = Units((0.0,), (1.0,))
TEXTS = {
    "(+ (LIN 0.3) (PER 0.5 0.4))": ["LIN", "PER"],
    "(× (+ (LIN 0.3) (C 2.0)) (PER 0.5 0.4))": ["LIN × PER", "PER"],
    "(× (C 0.5) (× (SE 0.4) (+ (SE 0.7) (C 3.0))))": ["SE", "SE"],
    "(+ (C 0.2) (× (PER 0.5 0.4) (SE 0.9)))": ["level", "PER × SE"],
    "(CP 0.1 0.2 (+ (SE 0.4) (C 1.0)) (× (LIN 0.0) (PER 0.5 0.4)))": ["SE before CP", "level before CP",
                                                                      "LIN × PER after CP"],
    "(× (CP 0.1 0.2 (SE 0.4) (C 1.0)) (CP -0.3 0.1 (LIN 0.2) (MAT 0.5)))": [
        "LIN × SE before CP before CP", "MAT × SE after CP before CP", "LIN after CP before CP",
        "MAT after CP after CP"],
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_program_is_the_sum_of_its_terms(text):
    program = Program.read(text)
    terms = terms_of(program)
    assert [term.kind for term in terms] == TEXTS[text]
    together = sum(term.kernel(PLAIN)(X, NEW) for term in terms)
    np.testing.assert_allclose(together, program.kernel(X, NEW), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(sum(t.kernel(PLAIN).diag(X) for t in terms), program.kernel.diag(X), rtol=1e-12)


def test_terms_of_a_scaled_program_add_up_in_the_users_units():
    units = Units((20.0,), (5.0,), level=3.0, spread=2.5)
    program = Program.read("(+ (× (LIN 0.3) (SE 0.4)) (CP 0.1 0.2 (SE 0.2) (× (C 0.7) (PER 0.5 0.4))))")
    places, others = 20.0 + 5.0 * X, 20.0 + 5.0 * NEW
    together = sum(term.kernel(units)(places, others) for term in terms_of(program))
    np.testing.assert_allclose(together, units.kernel(program)(places, others), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("centred", [False, True])
def test_a_part_has_the_moments_of_the_joint_gaussian(centred):
    """Brute force: (answers, part) is jointly normal, and the part is conditioned on the answers by hand."""
    program, noise = Program.read("(+ (LIN 0.3) (× (+ (C 0.5) (SE 0.9)) (PER 0.5 0.4)))"), 0.2
    posterior = gf.GP(program.kernel).condition(gf.Data().add(gf.Point(noise), X, Y))
    B = program.kernel(X) + noise**2 * np.eye(len(X))
    average = np.eye(len(NEW)) - (1.0 / len(NEW) if centred else 0.0)
    for terms in (each[0] for each in kinds_of([program]).values()):
        kernel = kernel_of(terms, PLAIN)
        cross = average @ kernel(NEW, X)
        cov = average @ kernel(NEW) @ average - cross @ np.linalg.solve(B, cross.T)
        mean, variance = posterior.part(kernel, NEW, centred)
        np.testing.assert_allclose(mean, cross @ np.linalg.solve(B, Y), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(variance, np.diagonal(cov), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("answers", ["numbers", "yes and no"])
def test_the_parts_of_one_program_sum_to_its_mean_for_any_answers(answers):
    data = gf.Data().add(gf.Point(0.2), X, Y)
    if answers != "numbers":
        data = data.add(gf.Binary(), X, Y > 0.2)
    grid = gf.ProgramGrid(["(+ (+ (C 0.5) (LIN 0.3)) (CP 0.1 0.2 (SE 0.4) (PER 0.5 0.4)))"])
    belief = grid.condition(data)
    parts = belief.parts(NEW)
    assert [part.name for part in parts] == ["level", "LIN", "PER after CP", "SE before CP"]
    np.testing.assert_allclose(sum(part.mean for part in parts), belief.mean(NEW), rtol=1e-9, atol=1e-10)
    above = belief.mean(NEW) - belief.mean(NEW).mean()
    np.testing.assert_allclose(sum(p.mean for p in belief.parts(NEW, centred=True)), above, rtol=1e-9, atol=1e-10)


def test_variances_of_parts_and_of_what_is_left_obey_the_law_of_sums():
    """Var[f] = Var[f₁] + Var[f₂] + 2 Cov[f₁, f₂], with the covariance −k₁(x, Z) B⁻¹ k₂(Z, x) of independent priors."""
    one, two = Program.read("(SE 0.4)"), Program.read("(LIN 0.3)")
    noise, kernel = 0.2, Program.read("(+ (SE 0.4) (LIN 0.3))").kernel
    posterior = gf.GP(kernel).condition(gf.Data().add(gf.Point(noise), X, Y))
    B = kernel(X) + noise**2 * np.eye(len(X))
    between = -np.diagonal(one.kernel(NEW, X) @ np.linalg.solve(B, two.kernel(X, NEW)))
    parts = [posterior.part(each.kernel, NEW)[1] for each in (one, two)]
    np.testing.assert_allclose(sum(parts) + 2.0 * between, posterior.variance(NEW), rtol=1e-8)


def test_the_parts_of_a_belief_are_mixtures_over_the_programs_that_have_them():
    data = gf.Data().add(gf.Point(0.2), X, Y)
    texts = ["(+ (LIN 0.3) (PER 0.5 0.4))", "(+ (PER 0.7 0.5) (LIN -0.2))", "(SE 0.4)"]
    belief = gf.ProgramGrid(texts).condition(data)
    by_name = {part.name: part for part in belief.parts(NEW, level=0.9)}
    w = belief.weights[:2] / belief.weights[:2].sum()
    assert by_name["PER"].probability == pytest.approx(belief.weights[:2].sum())
    assert by_name["SE"].probability == pytest.approx(belief.weights[2])
    moments = [
        post.part(Program.read(text).kernel, NEW)
        for post, text in zip(belief.posteriors, ["(PER 0.5 0.4)", "(PER 0.7 0.5)"], strict=False)
    ]
    np.testing.assert_allclose(by_name["PER"].mean, w @ np.stack([m for m, _ in moments]), atol=1e-10)
    draws = np.random.default_rng(0)
    which = draws.choice(2, size=200_000, p=w)
    at = [(m[5], np.sqrt(v[5])) for m, v in moments]
    sample = np.array([m for m, _ in at])[which] + np.array([s for _, s in at])[which] * draws.normal(size=200_000)
    ends = by_name["PER"].low[5], by_name["PER"].high[5]
    np.testing.assert_allclose(ends, np.quantile(sample, [0.05, 0.95]), atol=0.02)


def test_parts_with_a_space_see_its_columns_and_not_the_codes():
    space = gf.Space(gf.Real("dose", 1.0, 100.0, log=True, unit="mg"))
    places = np.geomspace(1.0, 100.0, 9)[:, None]
    programs = gf.KernelPrograms(gf.Grammar.for_data(), particles=4, space=space)
    belief = programs.condition(gf.Data().add(gf.Point(0.1), places, Y), rng=0)
    one = belief.heaviest
    alone = gf.beliefs.programs.ProgramBelief(
        [belief.posteriors[one]], [1.0], [belief.instruments[one]], [belief.programs[one]], [belief.noises[one]],
        belief.units,
    )  # fmt: skip
    total = sum(part.mean for part in alone.parts(places))
    np.testing.assert_allclose(total, alone.mean(places), rtol=1e-8, atol=1e-9)


def test_a_forecast_of_readings_is_wider_by_the_noise():
    data = gf.Data().add(gf.Point(name="lab"), X, Y)
    belief = gf.ProgramGrid(["(SE 0.4)", "(+ (LIN 0.3) (PER 0.5 0.4))"], noise=0.04).condition(data)
    found = belief.forecast(NEW)
    low, high = belief.band(NEW)
    np.testing.assert_allclose([found.low, found.high], [low, high])
    answers = belief.answers(gf.Point(name="lab"), NEW)
    sd = np.sqrt(np.stack([part.variance for part in answers.parts]))
    mean = np.stack([part.mean for part in answers.parts])
    from scipy.stats import norm

    below = answers.weights @ norm.cdf((found.reading_low - mean) / sd)
    np.testing.assert_allclose(below, 0.025, rtol=1e-9)
    with pytest.raises(gf.InvalidInput, match="answers with a number"):
        belief.forecast(NEW, gf.Binary())


def test_a_cycle_of_two_equal_halves_is_told_by_the_shorter_period():
    t = np.arange(48.0)
    even, uneven = np.sin(2.0 * np.pi * t / 6.0), np.cos(2.0 * np.pi * t / 12.0)
    grid = gf.ProgramGrid(["(+ (PER 0.5 12.0) (SE 3.0))"])
    belief = grid.condition(gf.Data().add(gf.Point(0.05), t[:, None], even))
    assert [each.tolist() for each in belief.periods()] == [[6.0], [1.0]]
    assert belief.parts([[0.0]])[1].phrase == "a cycle that repeats every 6"
    other = grid.condition(gf.Data().add(gf.Point(0.05), t[:, None], even + uneven))
    assert other.periods()[0].tolist() == [12.0]


def test_what_cannot_be_asked_of_a_structure_is_refused_in_words():
    belief = gf.ProgramGrid(["(SE 1.0)"]).condition(gf.Data())
    with pytest.raises(gf.InvalidInput, match="holds: expected one of C, LIN"):
        belief.probability("FOO")
    with pytest.raises(gf.InvalidInput, match="structure: expected one that is believed, such as SE"):
        belief.numbers("(+ LIN PER)")
    for model in (gf.ProgramGrid(["(SE 1.0)"]), gf.KernelPrograms(particles=5)):
        with pytest.raises(gf.InvalidInput, match="data: expected a Data value"):
            model.condition([[1.0]])

"""Hyperparameters integrated out: against dense quadrature, under changes of units, and over many truths."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

import gainful as gf
from gainful.hyper.integral import thinned
from gainful.hyper.unstated import open_up, structure
from gainful.numerics.scattered import scattered
from gainful.priors import log_density_in_theta

Array = NDArray[np.float64]

LINE = gf.Space(gf.Real("x", 0.0, 1.0))
X = np.linspace(0.03, 0.97, 14)[:, None]
F = np.sin(7.0 * X[:, 0])


def _dense(gp: gf.GP, data: gf.Data, per_axis: int) -> tuple[float, Array, Array]:
    """log ∫ p(answers, theta) dtheta over two free parameters, by the trapezoidal rule; E[f] and Var[f] at X."""
    problem = open_up(gp, data).problem
    assert len(problem.free) == 2
    axes = []
    for i in problem.free:
        prior = problem.priors[i]
        assert isinstance(prior, gf.LogNormal)
        axes.append(np.linspace(prior.mu - 4.0 * prior.sigma, prior.mu + 4.0 * prior.sigma, per_axis))
    logs, means, variances = [], [], []
    for a in axes[0]:
        for b in axes[1]:
            theta = problem.theta.copy()
            theta[problem.free] = a, b
            process, seen = problem.at(theta)
            posterior = process.posterior(seen)
            prior_density = log_density_in_theta(problem.priors, problem.slots, theta)[0]
            logs.append(posterior.log_evidence + prior_density)
            means.append(posterior.mean(X))
            variances.append(posterior.variance(X))
    cell = float(np.log((axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])))
    total = float(logsumexp(logs))
    w, m = np.exp(np.array(logs) - total), np.array(means)
    mean = w @ m
    return total + cell, mean, w @ (np.array(variances) + (m - mean) ** 2)


def _numbers() -> gf.Data:
    return gf.Data().add(gf.Point(noise=0.3), X, F + 0.3 * np.cos(40.0 * X[:, 0]))


def _yes_no() -> gf.Data:
    return gf.Data().add(gf.Binary(), X, F > 0.2)


@pytest.mark.parametrize("make", [_numbers, _yes_no])
def test_the_evidence_over_two_hyperparameters_is_that_of_dense_quadrature(make: object) -> None:
    data: gf.Data = make()  # type: ignore[operator]
    gp = gf.GP(gf.SE(), gf.Zero(), space=LINE)
    exact, mean, variance = _dense(gp, data, 25)
    belief = gf.Integrated(gp).condition(data)
    assert isinstance(belief, gf.Belief)
    assert belief.log_evidence == pytest.approx(exact, abs=0.05)
    models = gf.Models([gp, gf.GP(gf.SE(0.2, 1.0), gf.Zero(), space=LINE)]).condition(data)
    other = gf.GP(gf.SE(0.2, 1.0), gf.Zero(), space=LINE).posterior(data).log_evidence
    assert models.model_weights[0] == pytest.approx(1.0 / (1.0 + np.exp(other - exact)), abs=0.02)
    sd = np.sqrt(variance)
    assert np.max(np.abs(belief.mean(X) - mean) / sd) < 0.15
    assert np.max(np.abs(np.sqrt(belief.variance(X)) / sd - 1.0)) < 0.1


def test_what_is_stated_is_kept_and_one_posterior() -> None:
    gp = gf.GP(gf.SE(0.3, 2.0), space=LINE)
    found = gp.condition(_numbers())
    assert isinstance(found, gf.Posterior)
    alone = gf.Integrated(gp).condition(_numbers())
    assert isinstance(alone, gf.Belief)
    assert len(alone.posteriors) == 1
    np.testing.assert_allclose(alone.mean(X), found.mean(X), atol=1e-12)
    half = gf.GP(gf.SE(lengthscale=0.3), space=LINE).condition(_numbers())
    assert isinstance(half, gf.Belief)
    assert {part.kernel.left.lengthscale for part in half.posteriors} == {0.3}  # type: ignore[attr-defined]
    assert len({part.kernel.left.variance for part in half.posteriors}) > 3  # type: ignore[attr-defined]


def test_a_kernel_on_its_own_evaluates_with_its_defaults() -> None:
    assert gf.SE()([[0.0]], [[0.0]]) == 1.0
    assert not gf.SE().stated.any()
    assert gf.SE(1.0, 1.0).stated.all()
    assert isinstance(gf.GP(gf.SE()).condition(_numbers()), gf.Posterior)


def test_every_dimension_gets_a_lengthscale_and_the_mean_a_constant() -> None:
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 50), gf.Categorical("c", ["u", "v", "w"]))
    assert structure(gf.GP(space=space)).names == (
        "Matern.lengthscale[0]",
        "Matern.lengthscale[1]",
        "Matern.variance",
        "Leaning.correlation",
        "Leaning.leanings[0]",
        "Leaning.leanings[1]",
        "Leaning.leanings[2]",
        "Constant.variance",
        "ConstantMean.value",
    )


def _instruments(shift: float, factor: float) -> list[tuple[gf.Instrument, object]]:
    def there(t: float) -> float:
        return shift + factor * t

    return [
        (gf.Point(name="lab"), lambda f: there(1.0) * 0.0 + shift + factor * f),
        (gf.Point(noise=0.1 * factor, name="known"), lambda f: shift + factor * f),
        (gf.Ordinal([there(-0.5), there(0.0), there(0.5)], noise=0.1 * factor, name="look"), None),
        (gf.Binary(threshold=there(0.2), noise=0.2 * factor, name="pass"), lambda f: f > 0.2),
        (gf.Binary(threshold=there(0.2), name="rough"), lambda f: f > 0.2),
    ]


def _campaign(shift: float, factor: float, x_shift: float, x_factor: float, which: slice) -> list[tuple[str, Array]]:
    """The first queries of a campaign whose answers and places are in other units, in the units of the first."""
    low, high = x_shift, x_shift + x_factor
    space = gf.Space(gf.Real("x", low, high), gf.Real("y", 0.0, 1.0))
    pairs = _instruments(shift, factor)[which]
    campaign = gf.Campaign(space, [instrument for instrument, _ in pairs], seed=3, search=gf.Search(32, 2))
    asked = []
    for _ in range(6):
        query = campaign.ask()
        assert query is not None
        place = np.array([(query.place[0] - x_shift) / x_factor, query.place[1]])
        asked.append((query.instrument.label, place))
        f = float(np.sin(6.0 * round(place[0], 6)) + 0.5 * round(place[1], 6))
        answer = {i.label: a for i, a in pairs}[query.instrument.label]
        campaign.tell(query, 1 + int(np.sum(f > np.array([-0.5, 0.0, 0.5]))) if answer is None else answer(f))  # type: ignore[operator]
    return asked


@pytest.mark.parametrize("which", [slice(3, 5), slice(0, 5)])  # one by one: tests/campaign/test_units.py
def test_choices_do_not_depend_on_units(which: slice) -> None:
    base = _campaign(0.0, 1.0, 0.0, 1.0, which)
    for label, (shift, factor, x_shift, x_factor) in {
        "powers of two": (0.0, 1024.0, 0.0, 0.25),
        "other units": (273.15, 1000.0, 40.0, 7.0),
    }.items():
        other = _campaign(shift, factor, x_shift, x_factor, which)
        assert [each for each, _ in base] == [each for each, _ in other], label
        for (_, a), (_, b) in zip(base, other, strict=True):
            if label == "powers of two":
                assert a.tobytes() == b.tobytes()
            else:
                np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_logarithmic_dimension_is_one_of_logarithms() -> None:
    log = gf.Space(gf.Real("c", 1e-6, 1e-2, log=True))
    plain = gf.Space(gf.Real("c", np.log(1e-6), np.log(1e-2)))
    places = log.candidates(9, 0)
    y = np.sin(np.log(places[:, 0]))
    one = gf.GP(space=log).condition(gf.Data().add(gf.Point(), places, y))
    other = gf.GP(space=plain).condition(gf.Data().add(gf.Point(), np.log(places), y))
    there = log.candidates(50, 1)
    np.testing.assert_allclose(one.mean(there), other.mean(np.log(there)), atol=1e-5)
    np.testing.assert_allclose(one.variance(there), other.variance(np.log(there)), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("shift", [10.0, 600.0])
def test_the_same_answers_elsewhere_teach_the_same(shift: float) -> None:
    def learned(by: float) -> gf.Belief:
        data = gf.Data().add(gf.Binary(threshold=by, noise=1.0), X, F > 0.1)
        found = gf.GP(space=LINE).condition(data)
        assert isinstance(found, gf.Belief)
        return found

    here, there = learned(0.0), learned(shift)
    np.testing.assert_allclose(there.mean(X), here.mean(X) + shift, atol=1e-3)
    np.testing.assert_allclose(there.variance(X), here.variance(X), rtol=1e-3)


def test_bands_hold_what_they_say_with_all_defaults() -> None:
    """The quick version of benchmarks/band_coverage.py: forty truths, fifteen answers with unknown noise."""
    held = []
    for problem in range(40):
        rng = np.random.default_rng([12, problem])
        kernel = gf.Matern(float(np.exp(rng.uniform(np.log(0.1), 0.0))), 1.0)
        places, noise = rng.random((75, 1)), 0.1
        f = 30.0 + np.linalg.cholesky(kernel(places, places) + 1e-9 * np.eye(75)) @ rng.standard_normal(75)
        data = gf.Data().add(gf.Point(), places[:15], f[:15] + noise * rng.standard_normal(15))
        low, high = gf.GP(space=LINE).condition(data).band(places[15:])
        held.append(np.mean((f[15:] >= low) & (f[15:] <= high)))
    assert 0.87 <= np.mean(held) <= 0.99


def test_readings_that_contradict_a_stated_model_are_said() -> None:
    space = gf.Space(gf.Real("t", 20, 90, unit="°C"))
    data = gf.Data().add(gf.Point(noise=0.5), [[25.0], [50.0], [80.0]], [55.0, 62.0, 71.0])
    with pytest.warns(gf.GainfulWarning, match="contradict the model"):
        gf.GP(gf.SE(1.0, 1.0), space=space).condition(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gf.GP(space=space).condition(data)


@pytest.mark.parametrize("numbers", [(0, 1), (1, 7)])
def test_the_number_of_a_function_is_not_taken_for_a_distance(numbers: tuple[int, int]) -> None:
    data, first = gf.Data(), gf.Data()
    for i, number in enumerate(numbers):
        data = data.add(gf.Point(output=number, name=f"the {i}"), X, F * (1.0 + i))
        first = first.add(gf.Point(output=i, name=f"the {i}"), X, F * (1.0 + i))
    one, other = (gf.GP(space=LINE).condition(each) for each in (data, first))
    np.testing.assert_allclose(one.of(numbers[1]).mean(X), other.of(1).mean(X), rtol=1e-9)


def test_scattered_points_integrate_a_normal_density_and_its_variance() -> None:
    for k in range(1, 9):
        z, log_volume = scattered(k)
        w = np.exp(log_volume - 0.5 * np.sum(z**2, axis=1) - 0.5 * k * np.log(2.0 * np.pi))
        assert w.sum() == pytest.approx(1.0, abs=0.15 if k > 2 else 1e-9)
        assert np.mean((w / w.sum()) @ z**2) == pytest.approx(1.0, abs=0.25 if k > 2 else 1e-9)


def test_thinning_keeps_the_sum_and_stands_for_all() -> None:
    rng = np.random.default_rng(0)
    logs, along = rng.standard_normal(64), rng.standard_normal(64)
    kept, shares = thinned(logs, along, 24)
    assert len(kept) <= 24
    assert logsumexp(shares) == pytest.approx(logsumexp(logs), abs=1e-12)
    share = np.exp(logs - logsumexp(logs))
    assert np.exp(shares - logsumexp(logs)) @ along[kept] == pytest.approx(share @ along, abs=0.1)


def test_robust_readings_need_nothing_stated() -> None:
    """EP does not settle for every noise that such answers could have; those settings are left out, with a warning."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (12, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(3, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.ConvergenceWarning)
        belief = gf.GP(space=gf.Space(gf.Real("x", 0, 10))).condition(gf.Data().add(gf.StudentT(), X, y))
    low, high = belief.band(X)
    assert np.mean((low < np.sin(X[:, 0])) & (np.sin(X[:, 0]) < high)) > 0.8
    assert np.max(high - low) < 4.0


@pytest.mark.parametrize("waves", [7.0, 60.0, 150.0])
def test_bands_hold_for_what_is_rough_as_well(waves: float) -> None:
    """Twenty-four waves are noise to lengthscales of a third, and bands about nothing at all hold a tenth of them."""
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(250, 1))
    readings = np.sin(waves * places[:, 0]) + 0.1 * rng.normal(size=250)
    belief = gf.GP(space=LINE).condition(gf.Data().add(gf.Point(), places, readings))
    there = np.linspace(0.05, 0.95, 301)[:, None]
    low, high = belief.band(there)
    truth = np.sin(waves * there[:, 0])
    assert np.mean((low <= truth) & (truth <= high)) > 0.85
    assert np.sqrt(np.mean((belief.mean(there) - truth) ** 2)) < 0.2


def test_one_dimension_may_be_rough_beside_another() -> None:
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(400, 2))
    readings = np.sin(60.0 * places[:, 0]) + places[:, 1] + 0.05 * rng.normal(size=400)
    square = gf.Space(gf.Real("a", 0.0, 1.0), gf.Real("b", 0.0, 1.0))
    belief = gf.GP(space=square).condition(gf.Data().add(gf.Point(), places, readings))
    there = rng.uniform(0.05, 0.95, size=(300, 2))
    assert np.sqrt(np.mean((belief.mean(there) - np.sin(60.0 * there[:, 0]) - there[:, 1]) ** 2)) < 0.1

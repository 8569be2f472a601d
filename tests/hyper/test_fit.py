"""MAP hyperparameters, the Laplace approximation about them, the MGP, and NUTS."""

import sys
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.problem import Problem
from gainful.inference.engines.dense import Dense
from gainful.parameters import IDENTITY, LOG, Slot
from gainful.priors import Beside, LogNormal, log_density_in_theta
from gainful.testing.differences import gradient


def _sine(n=25, noise=0.1, seed=0, d=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, d))
    return X, np.sin(6 * X[:, 0]) + noise * rng.normal(size=n)


def _mixed(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 1))
    f = 1.5 * np.sin(6 * X[:, 0])
    data, q = gf.Data(), n // 4
    instruments = [gf.Point(0.1), gf.Interval(0.1, width=0.6), gf.Ordinal([-0.4, 0.5], 0.1), gf.Binary()]
    for i, instrument in enumerate(instruments):
        part = slice(i * q, (i + 1) * q)
        data = data.add(instrument, X[part], instrument.simulate(f[part], rng))
    return data


@pytest.mark.parametrize("data", [gf.Data().add(gf.Point(0.3), *_sine()), _mixed()], ids=["points", "mixed"])
def test_a_fit_is_a_maximum_of_the_posterior_density(data):
    fitted = gf.fit(gf.GP(gf.SE(), gf.ConstantMean()), data)
    assert fitted.converged
    value, slope, _ = fitted.problem.log_density(fitted.theta)
    assert value == pytest.approx(fitted.log_density, abs=1e-6)
    assert np.max(np.abs(slope[fitted.problem.free])) < 2e-3
    rng = np.random.default_rng(0)
    for _ in range(10):
        nearby = fitted.theta + 0.05 * rng.normal(size=len(fitted.theta))
        assert fitted.problem.log_density(nearby)[0] < value


def test_the_fit_finds_what_made_the_data():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (150, 1))
    truth = gf.GP(gf.SE(0.15, 2.0)).condition(gf.Data()).sample(X, 1, rng)[0]
    fitted = gf.fit(gf.GP(gf.SE()), gf.Data().add(gf.Point(1.0, name="lab"), X, truth + 0.2 * rng.normal(size=150)))
    found = dict(zip(fitted.names, np.exp(fitted.theta), strict=True))
    assert found["lab.noise"] == pytest.approx(0.2, rel=0.15)
    assert found["SE.lengthscale"] == pytest.approx(0.15, rel=0.35)
    assert fitted.data.instruments[0].noise == pytest.approx(found["lab.noise"])
    assert fitted.log_evidence == fitted.gp.condition(fitted.data).log_evidence


def test_several_starts_do_not_do_worse_than_one():
    data = gf.Data().add(gf.Point(0.3), *_sine())
    gp = gf.GP(gf.SE(20.0, 1e-3))
    assert gf.fit(gp, data, starts=5).log_density >= gf.fit(gp, data, starts=1).log_density - 1e-8


def _tried_by(monkeypatch, gp, data, **options):
    """The fit, and every theta that it looked at."""
    seen, density = [], Problem.log_density

    def watched(self, theta, *rest):
        seen.append(np.array(theta))
        return density(self, theta, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Problem, "log_density", watched)
        return gf.fit(gp, data, **options), seen


def test_the_first_step_of_a_search_stays_near_and_does_not_jump_to_a_corner_of_the_box(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (60, 2))
    data = gf.Data().add(gf.Point(0.3), X, np.sin(5 * X[:, 0]) + 0.05 * rng.normal(size=60))
    _, seen = _tried_by(monkeypatch, gf.GP(gf.SE([1.0, 1.0])), data, starts=1)
    assert 0.0 < np.linalg.norm(seen[1] - seen[0]) < 1.0 + 1e-9


def test_a_start_that_ends_where_another_did_is_not_followed_to_the_last_digit(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (40, 1))
    data = gf.Data().add(gf.Point(0.1), X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=40))
    gp = gf.GP(gf.SE(0.3))
    start = gf.fit(gp, data, starts=1).problem.theta + 0.5
    once, seen_once = _tried_by(monkeypatch, gp, data, starts=[start])
    twice, seen_twice = _tried_by(monkeypatch, gp, data, starts=[start, start])
    assert twice.log_density == once.log_density
    assert len(seen_twice) < 2 * len(seen_once)
    assert twice.tried[1] == pytest.approx(once.log_density, abs=0.01)
    # What is better is followed to the end, whichever comes first.
    other = _tried_by(monkeypatch, gp, data, starts=[start + np.array([3.0, 0.0, 2.0]), start])[0]
    assert other.log_density == pytest.approx(once.log_density, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
def test_default_priors_keep_a_fit_to_few_points_within_reason(n, scale):
    X, y = _sine(n, seed=7)
    fitted = gf.fit(gf.GP(gf.SE(), gf.ConstantMean()), gf.Data().add(gf.Point(0.1 * scale), scale * X, scale * y))
    kernel = fitted.gp.kernel
    reach = scale * np.ptp(X) if n > 1 else 1.0
    assert 0.02 * reach < kernel.lengthscale < 10 * reach
    assert 1e-3 * scale**2 < kernel.variance < 1e3 * max(scale**2, 1.0)


def test_the_space_sets_the_scale_of_the_priors():
    X, y = _sine(4)
    data = gf.Data().add(gf.Point(0.1), X, y)
    wide = gf.GP(gf.SE(), space=gf.Space(gf.Real("x", 0, 100)))
    assert gf.fit(wide, data).gp.kernel.lengthscale > gf.fit(gf.GP(gf.SE()), data).gp.kernel.lengthscale


def test_fixed_parameters_stay_and_named_priors_pull():
    data = gf.Data().add(gf.Point(0.3, name="lab"), *_sine())
    gp = gf.GP(gf.SE(0.4), priors={"SE.lengthscale": gf.Fixed()})
    fitted = gf.fit(gp, data, priors={"lab.noise": gf.LogNormal(np.log(0.5), 1e-3)})
    assert fitted.gp.kernel.lengthscale == 0.4
    assert fitted.data.instruments[0].noise == pytest.approx(0.5, rel=0.01)
    with pytest.raises(gf.InvalidInput, match=r"lab\.noise"):
        gf.fit(gp, data, priors={"lamp.noise": gf.Fixed()})
    with pytest.raises(gf.InvalidInput, match="at least one answer"):
        gf.fit(gp, gf.Data())


def test_flat_priors_give_maximum_likelihood():
    data = gf.Data().add(gf.Point(0.3), *_sine())
    best = gf.fit(gf.GP(gf.SE()), data, priors=gf.Flat())
    assert best.log_density == pytest.approx(best.log_evidence)
    assert best.log_evidence > gf.fit(gf.GP(gf.SE()), data).log_evidence


@pytest.mark.parametrize(
    "prior", [gf.LogNormal(0.3, 0.7), gf.Gamma(2.0, 3.0), gf.Uniform(0.1, 2.0), gf.Normal(0.4, 0.5)], ids=str
)
def test_priors_are_densities_in_theta_with_exact_slopes(prior):
    transform = IDENTITY if isinstance(prior, gf.Normal) else LOG
    slot = gf.SE().slots[0]._replace(transform=transform)
    low = np.log(prior.quantile(1e-9)) if transform == LOG else prior.quantile(1e-9)
    high = np.log(prior.quantile(1 - 1e-9)) if transform == LOG else prior.quantile(1 - 1e-9)
    grid = np.linspace(max(low, -25.0), high, 200001)[1:-1]
    density = [np.exp(log_density_in_theta([prior], [slot], np.array([t]))[0]) for t in grid[::20]]
    assert np.trapezoid(density, grid[::20]) == pytest.approx(1.0, abs=2e-3)
    at = np.array([float(np.median(grid))])
    exact = log_density_in_theta([prior], [slot], at)[1]
    numeric = gradient(lambda t: log_density_in_theta([prior], [slot], t)[0], at)
    np.testing.assert_allclose(exact, numeric, rtol=1e-7, atol=1e-9)
    assert prior.quantile(0.3) < prior.quantile(0.7)


def test_impossible_priors_are_refused():
    for make in [lambda: gf.LogNormal(0, 0), lambda: gf.Gamma(-1), lambda: gf.Normal(np.nan), lambda: gf.Uniform(1, 0)]:
        with pytest.raises(gf.InvalidInput):
            make()


def test_laplace_evidence_equals_integration_over_one_parameter():
    """With one free parameter and much data, the Laplace evidence is close to the integral over theta."""
    X, y = _sine(60)
    gp = gf.GP(gf.SE(0.3, 1.0), priors={"SE.lengthscale": gf.Fixed(), "SE.variance": gf.Fixed()})
    data = gf.Data().add(gf.Point(0.3), X, y)
    fitted = gf.fit(gp, data)
    hyper = gf.hyperposterior(fitted)
    sd = float(np.sqrt(hyper.covariance[0, 0]))
    grid = hyper.theta[0] + sd * np.linspace(-8, 8, 401)
    theta = fitted.theta.copy()
    logs = []
    for t in grid:
        theta[-1] = t
        logs.append(fitted.problem.log_density(theta)[0])
    peak = max(logs)
    exact = peak + np.log(np.trapezoid(np.exp(np.array(logs) - peak), grid))
    assert hyper.log_evidence == pytest.approx(exact, abs=0.01)
    assert hyper.names == ("Point.noise",)


def _along(function, x, i, h=1e-2):
    """The derivative along coordinate i by a five-point rule."""
    values = []
    for k in (-2, -1, 1, 2):
        moved = x.copy()
        moved[i] += k * h
        values.append(function(moved))
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)


def test_the_hessian_is_that_of_the_log_density():
    fitted = gf.fit(gf.GP(gf.SE()), _mixed())
    hyper = gf.hyperposterior(fitted)

    def density(part):
        theta = fitted.theta.copy()
        theta[fitted.problem.free] = part
        return fitted.problem.log_density(theta)[0]

    def slope(part):
        return np.array([_along(density, part, i) for i in range(2)])

    H = np.array([gradient(lambda t, i=i: slope(t)[i], hyper.theta, 1e-2) for i in range(2)])
    np.testing.assert_allclose(np.linalg.inv(hyper.covariance)[:2], -H, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["points", "probit", "mixed", "laplace"])
def test_the_mgp_follows_its_formula_with_gradients_of_the_whole_posterior(kind):
    """σ² = 4/3 ν + ∇μᵀΣ∇μ + ∇νᵀΣ∇ν/(3ν) with ∇ by an independent five-point rule on posteriors found from scratch."""
    rng = np.random.default_rng(2)
    if kind == "points":
        data = gf.Data().add(gf.Point(0.2), *_sine())
    elif kind == "mixed":
        data = _mixed(n=24)
    else:
        X = rng.uniform(0, 1, (30, 1))
        data = gf.Data().add(gf.Binary(), X, gf.Binary().simulate(2 * np.sin(6 * X[:, 0]), rng))
    fitted = gf.fit(gf.GP(gf.SE()), data, inference=gf.Laplace() if kind == "laplace" else None, starts=2)
    hyper = gf.hyperposterior(fitted)
    Z = np.array([[0.1], [0.47], [1.4]])

    def at(part):
        theta = fitted.theta.copy()
        theta[fitted.problem.free] = part
        gp, moved = fitted.problem.at(theta)
        return gp.condition(moved, fitted.problem.inference)

    nu = fitted.posterior.variance(Z)
    expected = 4 / 3 * nu
    for j in range(3):
        dm = gradient(lambda t, j=j: float(at(t).mean(Z)[j]), hyper.theta)
        dv = gradient(lambda t, j=j: float(at(t).variance(Z)[j]), hyper.theta)
        expected[j] += dm @ hyper.covariance @ dm + dv @ hyper.covariance @ dv / (3 * nu[j])
    np.testing.assert_allclose(hyper.mgp.variance(Z), expected, rtol=1e-4)
    np.testing.assert_array_equal(hyper.mgp.mean(Z), fitted.posterior.mean(Z))
    probabilities = hyper.mgp.answers(gf.Binary(), Z).probability
    plain = fitted.posterior.answers(gf.Binary(), Z).probability
    assert np.all(np.abs(probabilities - 0.5) <= np.abs(plain - 0.5) + 1e-12)


@pytest.mark.parametrize(("spread", "low", "high"), [(0.001, 1.333, 1.334), (0.1, 1.1, 1.35), (0.4, 0.8, 1.35)])
def test_the_mgp_is_near_the_variance_with_the_hyperparameter_integrated_by_brute_force(spread, low, high):
    """E[ν] + Var[μ] over one lengthscale on a grid. A hyperparameter that is certain leaves 4/3 of the variance, by the
    formula itself; one that is not, from four fifths to four thirds of what there is."""
    X, y = _sine()
    gp, data = (
        gf.GP(gf.SE(0.25, 1.0), priors={"SE.lengthscale": gf.LogNormal(np.log(0.25), spread)}),
        gf.Data().add(gf.Point(0.2), X[::3], y[::3]),
    )
    held = {"SE.variance": gf.Fixed(), "Point.noise": gf.Fixed()}
    hyper = gf.hyperposterior(gf.fit(gp, data, priors=held | dict(gp.priors)))
    Z = np.array([[0.1], [0.47], [0.8], [1.3]])
    theta = np.log(0.25) + spread * np.linspace(-6.0, 6.0, 201)
    each = [gf.GP(gf.SE(float(np.exp(t)), 1.0)).condition(data) for t in theta]
    logs = np.array([one.log_evidence for one in each]) - 0.5 * ((theta - np.log(0.25)) / spread) ** 2
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean, variance = np.array([one.mean(Z) for one in each]), np.array([one.variance(Z) for one in each])
    exact = weight @ variance + weight @ mean**2 - (weight @ mean) ** 2
    ratio = hyper.mgp.variance(Z) / exact
    assert np.all((low <= ratio) & (ratio <= high)), ratio


def test_nuts_agrees_with_a_grid_over_two_hyperparameters():
    pytest.importorskip("nutpie", reason="NUTS is an extra")
    X, y = _sine(8)
    data = gf.Data().add(gf.Point(0.2), X, y)
    gp = gf.GP(gf.SE(), priors={"Point.noise": gf.Fixed()})
    belief = gf.nuts(gp, data, draws=400, tune=300, chains=2, seed=1)
    assert len(belief.posteriors) == 800
    problem = Problem.of(gp, data, None, None)
    centre = gf.hyperposterior(gf.fit(gp, data))
    sd = np.sqrt(np.diag(centre.covariance))
    axes = [centre.theta[i] + sd[i] * np.linspace(-6, 6, 61) for i in range(2)]
    theta = problem.theta.copy()
    logs, thetas = [], []
    for a in axes[0]:
        for b in axes[1]:
            theta[:2] = a, b
            logs.append(problem.log_density(theta)[0])
            thetas.append((a, b))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    exact_mean = weights @ np.array(thetas)
    exact_sd = np.sqrt(weights @ (np.array(thetas) - exact_mean) ** 2)
    drawn = np.array([p.kernel.theta for p in belief.posteriors])
    assert np.all(np.abs(drawn.mean(axis=0) - exact_mean) < 0.25 * exact_sd)
    np.testing.assert_allclose(drawn.std(axis=0), exact_sd, rtol=0.25)
    again = gf.nuts(gp, data, draws=20, tune=100, chains=1, seed=5)
    same = gf.nuts(gp, data, draws=20, tune=100, chains=1, seed=5)
    np.testing.assert_array_equal([p.kernel.theta for p in again.posteriors], [p.kernel.theta for p in same.posteriors])
    with pytest.raises(gf.InvalidInput, match="proper"):
        gf.nuts(gp, data, priors={"SE.lengthscale": gf.Flat()})


def test_a_belief_obeys_the_laws_of_total_expectation_and_variance():
    data = gf.Data().add(gf.Point(0.2), *_sine(6))
    parts = [gf.GP(gf.SE(length)).condition(data) for length in (0.1, 0.5)]
    belief = gf.Belief(parts, weights=[3, 1])
    Z = np.linspace(-0.5, 1.5, 7)[:, None]
    drawn = belief.sample(Z, 40000, np.random.default_rng(0))
    np.testing.assert_allclose(belief.mean(Z), 0.75 * parts[0].mean(Z) + 0.25 * parts[1].mean(Z))
    np.testing.assert_allclose(np.diagonal(belief.covariance(Z)), belief.variance(Z), rtol=1e-9)
    np.testing.assert_allclose(drawn.mean(axis=0), belief.mean(Z), atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), belief.variance(Z), atol=0.03)
    yes = belief.answers(gf.Binary(), Z).probability
    each = [p.answers(gf.Binary(), Z).probability for p in parts]
    np.testing.assert_allclose(yes, 0.75 * each[0] + 0.25 * each[1])
    logs = [p.answers(gf.Point(0.1), Z).log_prob(np.zeros(7)) for p in parts]
    mixed = belief.answers(gf.Point(0.1), Z).log_prob(np.zeros(7))
    np.testing.assert_allclose(np.exp(mixed), 0.75 * np.exp(logs[0]) + 0.25 * np.exp(logs[1]))
    for weights in ([1.0], [-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(gf.InvalidInput):
            gf.Belief(parts, weights=weights)


def test_a_noise_beside_an_amplitude_is_one_density_of_both():
    """∫∫ p(a) p(b | a) = 1, the gradient is its derivative, and b moves with √a."""
    slots = [Slot("k.variance", "variance", LOG), Slot("p.noise", "noise", LOG)]
    priors = [LogNormal(0.3, 0.5), Beside(-2.0, 0.4, "k.variance", 2.0)]
    grid = np.linspace(-9, 8, 140)
    step = grid[1] - grid[0]
    density = np.array([[np.exp(log_density_in_theta(priors, slots, np.array([a, b]))[0]) for b in grid] for a in grid])
    assert density.sum() * step**2 == pytest.approx(1.0, abs=1e-9)
    given = density / density.sum(axis=1, keepdims=True)
    for a in (40, 70, 100):
        assert given[a] @ grid == pytest.approx(-2.0 + 0.5 * (grid[a] - np.log(2.0)), abs=1e-6)
    at = np.array([0.7, -1.1])
    exact = log_density_in_theta(priors, slots, at)[1]
    np.testing.assert_allclose(exact, gradient(lambda t: log_density_in_theta(priors, slots, t)[0], at), rtol=1e-6)


def test_many_answers_are_searched_in_stages_and_end_where_all_at_once_do(monkeypatch):
    from gainful.hyper import staged as module

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    lab, odd = gf.Point(0.2, name="lab"), gf.Point(0.3, name="odd")
    y = np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=300)
    data = gf.Data().add(odd, X[:1], y[:1]).add(lab, X[1:], y[1:]).add(odd, X[:20], y[:20])
    gp = gf.GP(gf.SE((0.4, 0.8)))
    whole = gf.fit(gp, data, starts=2)
    monkeypatch.setattr(sys.modules["gainful.hyper.fit"], "MANY", 100)  # the room has a function of this name
    monkeypatch.setattr(module, "FIRST", 40)
    staged = gf.fit(gp, data, starts=2)
    assert staged.converged
    assert staged.names == whole.names
    assert staged.log_density == pytest.approx(whole.log_density, abs=0.05)


def test_what_is_not_stated_of_many_answers_is_learned_in_stages_and_kept_at_its_mode(monkeypatch):
    from gainful.beliefs import integrated

    rng = np.random.default_rng(1)
    space = gf.Space(gf.Real("x", 0, 10), gf.Real("z", 100, 300))
    X = space.candidates(200, 3)
    data = gf.Data().add(gf.Point(name="lab"), X, 50.0 + 20.0 * np.sin(X[:, 0]) + rng.normal(size=200))
    whole = gf.GP(space=space).condition(data)
    monkeypatch.setattr(integrated, "MANY", 100)
    one = gf.GP(space=space).condition(data)
    assert len(one.posteriors) == 1
    Z = space.candidates(20, 4)
    assert one.mean(Z) == pytest.approx(whole.mean(Z), abs=0.3)
    assert np.sqrt(one.variance(Z)) == pytest.approx(np.sqrt(whole.variance(Z)), rel=0.25)


@dataclass(frozen=True)
class Rough:
    """The exact belief and its slopes, with an evidence that is off by as much as `by` and states `error`."""

    by: float
    error: float

    def believe(self, mean, kernel, layout, start=None):
        belief = Dense().believe(mean, kernel, layout)
        off = self.by * np.sin(1e5 * kernel.theta.sum())
        given = {name: getattr(belief, name) for name in ("mean", "variance", "covariance", "gradient", "convergence")}
        return SimpleNamespace(log_evidence=belief.log_evidence + off, evidence_error=self.error, **given)


def roughly():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(60, 1))
    return gf.GP(gf.SE(0.3)), gf.Data().add(
        gf.Point(0.1, name="lab"), X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=60)
    )


def test_a_search_that_ends_on_the_roughness_of_an_evidence_has_settled_where_that_is_stated():
    gp, data = roughly()
    exact = gf.fit(gp, data, starts=1)
    found = gf.fit(gp, data, starts=1, inference=Rough(0.01, 0.01))
    assert found.converged
    assert exact.log_density - Problem.of(gp, data, None, None).log_density(found.theta)[0] < 0.03
    with pytest.warns(gf.ConvergenceWarning, match="the fit did not converge"):
        assert not gf.fit(gp, data, starts=1, inference=Rough(20.0, 0.0)).converged
    with pytest.warns(gf.ConvergenceWarning, match="to be gained .* standard error of 1e-09"):
        gf.fit(gp, data, starts=1, inference=Rough(20.0, 1e-9))


@pytest.mark.parametrize(
    "engine", [gf.Single(), gf.Iterative(), gf.Iterative(solver=gf.Solver(preconditioner=10)), gf.SKIP()]
)
def test_fits_by_solves_end_at_the_exact_optimum_and_say_so(engine):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(150, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    gp, data = gf.GP(gf.SE((0.3, 0.5))), gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    found, exact = gf.fit(gp, data, starts=1, inference=engine), gf.fit(gp, data, starts=1)
    assert found.converged
    assert exact.log_density - Problem.of(gp, data, None, None).log_density(found.theta)[0] < 0.1


def _without_noise(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    return X, np.sin(6.0 * X[:, 0]) + X[:, 1] ** 2


def test_a_noise_that_is_learned_stays_above_rounding():
    """y − m(x) = noise² α at the readings, whatever the posterior: where rounding takes over it is off by far."""
    X, y = _without_noise(600)
    gp, data = gf.GP(gf.Matern((0.5, 0.5), nu=2.5)), gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    wide = gf.LogNormal(np.log(0.1), 3.0)
    with warnings.catch_warnings():  # near rounding a gradient need not vanish to the last digit
        warnings.simplefilter("ignore", gf.ConvergenceWarning)
        fitted = gf.fit(gp, data, starts=1, priors={"lab.noise": wide})
    noise, posterior = fitted.values["lab.noise"], fitted.posterior
    expected = noise**2 * posterior.solution.state.alpha
    assert np.abs((y - posterior.mean(X)) - expected).max() < 0.1 * noise
    assert posterior.jitter == 0.0
    assert noise < 1e-4


def test_what_is_taken_off_near_rounding_has_its_slope_and_is_nothing_elsewhere():
    X, y = _without_noise(60)
    data = gf.Data().add(gf.Point(0.1, name="a"), X[:30], y[:30]).add(gf.Point(0.2, name="b"), X[30:], y[30:])
    problem = Problem.of(gf.GP(gf.SE((0.5, 0.5)) + gf.Linear(0.3)), data, None, None)
    assert problem._blur(problem.gp, problem.data, problem.theta)[0] == 0.0
    near = problem.theta.copy()
    near[[*problem.learned_noises]] = -15.0, -14.0
    value, slope = problem._blur(*problem.at(near), near)
    assert 0.1 < value < 1e4
    assert slope == pytest.approx(gradient(lambda t: problem._blur(*problem.at(t), t)[0], near), rel=1e-5)
    near[-2] = -30.0
    with pytest.raises(gf.NumericalError, match="below the rounding"):
        problem._blur(*problem.at(near), near)
    assert problem.log_densities(near[None])[0][0] == -np.inf


def test_a_noise_that_is_stated_is_nobodys_business():
    X, y = _without_noise(60)
    data = gf.Data().add(gf.Point(1e-9), X, y)  # below rounding: meant so, learned or not
    assert not Problem.of(gf.GP(gf.SE()), data, None, None).learned_noises
    problem = Problem.of(gf.GP(gf.SE()), data, {"Point.noise": gf.Fixed()}, None)
    assert not problem.learned_noises
    assert problem._blur(problem.gp, problem.data, problem.theta)[0] == 0.0


def test_several_starts_find_what_is_rough():
    """Beginning with a lengthscale of 0.3, forty waves are noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    y = np.sin(250.0 * X[:, 0]) + 0.1 * rng.normal(size=300)
    data = gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    assert gf.fit(gf.GP(gf.SE(0.3)), data).values["lab.noise"] == pytest.approx(0.1, rel=0.3)
    assert gf.fit(gf.GP(gf.SE(0.3)), data, starts=1).values["lab.noise"] > 0.5  # as asked: from there alone


def test_a_start_that_the_engine_refuses_is_no_start():
    """Of shorter lengthscales a grid in proportion to the readings may come not near enough: the others are left."""
    X, y = _without_noise(300)
    y = y + 0.01 * np.random.default_rng(1).normal(size=300)
    data = gf.Data().add(gf.Point(0.02, name="lab"), X, y)
    gp = gf.GP(gf.Matern((0.3, 0.3), nu=1.5))
    problem = Problem.of(gp, data, None, gf.SKI())
    short = problem.theta.copy()
    short[:2] = np.log(0.003)
    found, _ = problem.log_densities(np.stack([problem.theta, short]))
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    assert gf.fit(gp, data, starts=2, inference=gf.SKI()).values["lab.noise"] == pytest.approx(0.01, rel=0.3)

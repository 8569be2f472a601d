"""The scikit-learn estimators: scikit-learn's own checks, its own Gaussian process as an oracle, and its own tools."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import load_wine, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gainful as gf
from gainful.sklearn import GPClassifier, GPRegressor

Array = NDArray[np.float64]


@parametrize_with_checks([GPRegressor(), GPClassifier()])
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def test_without_scikit_learn_the_import_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from gainful.errors import MissingExtra\n"
        "try:\n    import gainful.sklearn\n"
        "except MissingExtra as error:\n    print(error.extra, '|', error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert said.startswith("sklearn | the scikit-learn estimators: an optional dependency is missing")


def surface(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Noisy numbers on the plane."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, (n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (gf.SE(lengthscale=[0.7, 1.3], variance=2.0), ConstantKernel(2.0) * RBF([0.7, 1.3])),
        (gf.Matern(lengthscale=0.9, variance=0.5, nu=1.5), ConstantKernel(0.5) * SklearnMatern(0.9, nu=1.5)),
    ],
    ids=["SE", "Matern"],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_at_fixed_hyperparameters_it_is_scikit_learns_gaussian_process(ours: Any, theirs: Any, normalize: bool) -> None:
    X, y = surface(40)
    new = np.vstack([surface(15, seed=1)[0], X[:3]])
    model = GPRegressor(ours, noise=0.2, learn=False, normalize=normalize).fit(X, y)
    oracle = GaussianProcessRegressor(theirs, alpha=0.2**2, optimizer=None, normalize_y=normalize).fit(X, y)
    for asked in ({}, {"return_std": True}, {"return_cov": True}):
        np.testing.assert_allclose(
            np.hstack([np.ravel(part) for part in model.predict(new, **asked)]),
            np.hstack([np.ravel(part) for part in oracle.predict(new, **asked)]),
            rtol=1e-9,
            atol=1e-9,
        )
    evidence = oracle.log_marginal_likelihood_value_ - (len(y) * np.log(y.std()) if normalize else 0.0)
    np.testing.assert_allclose(model.log_evidence_, evidence, rtol=1e-9)


def test_a_noisy_sine_and_its_noise_are_recovered() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 10.0, (80, 1))
    model = GPRegressor().fit(X, 50.0 + 5.0 * np.sin(X[:, 0]) + rng.standard_normal(80))
    grid = np.linspace(0.5, 9.5, 50)[:, None]
    mean, std = model.predict(grid, return_std=True)
    error = mean - (50.0 + 5.0 * np.sin(grid[:, 0]))
    assert np.sqrt(np.mean(error**2)) < 0.5
    assert np.mean(np.abs(error) < 2.0 * std) > 0.8
    assert model.noise_ == pytest.approx(1.0, rel=0.25)
    assert model.fitted_ is not None
    assert model.fitted_.converged


def test_predictions_move_and_stretch_with_the_units_of_x_and_y() -> None:
    X, y = surface(30)
    new, scale = surface(5, seed=1)[0], np.array([1e-3, 1e4])
    mean, std = GPRegressor(starts=1).fit(X, y).predict(new, return_std=True)
    other = GPRegressor(starts=1).fit(X * scale - 7.0, 1e5 * y - 3e5)
    moved, stretched = other.predict(new * scale - 7.0, return_std=True)
    np.testing.assert_allclose(moved, 1e5 * mean - 3e5, rtol=1e-4)
    np.testing.assert_allclose(stretched, 1e5 * std, rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1e6])
def test_a_constant_feature_changes_nothing(value: float) -> None:
    X, y = surface(30)
    more = np.column_stack([X, np.full(len(X), value)])
    np.testing.assert_allclose(
        GPRegressor(starts=1).fit(more, y).predict(more), GPRegressor(starts=1).fit(X, y).predict(X), atol=1e-4
    )
    labels = y > np.median(y)
    np.testing.assert_allclose(
        GPClassifier(starts=1).fit(more, labels).predict_proba(more),
        GPClassifier(starts=1).fit(X, labels).predict_proba(X),
        atol=1e-4,
    )


def test_constant_answers_are_predicted_as_they_are() -> None:
    X, _ = surface(10)
    np.testing.assert_allclose(GPRegressor().fit(X, np.full(10, 0.1)).predict(X), 0.1, rtol=1e-12)


def test_samples_have_the_moments_of_the_prediction() -> None:
    X, y = surface(20)
    new = surface(4, seed=1)[0]
    model = GPRegressor(noise=0.3, learn=False).fit(X, y)
    drawn = model.sample_y(new, n_samples=20_000, random_state=1)
    mean, cov = model.predict(new, return_cov=True)
    assert drawn.shape == (4, 20_000)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=5.0 * np.sqrt(cov.max() / 20_000))
    np.testing.assert_allclose(np.cov(drawn), cov, atol=0.05 * cov.max())
    np.testing.assert_array_equal(model.sample_y(new, 2, random_state=5), model.sample_y(new, 2, random_state=5))


def test_std_and_cov_cannot_both_be_asked_for() -> None:
    X, y = surface(5)
    with pytest.raises(gf.InvalidInput, match="at most one"):
        GPRegressor(learn=False).fit(X, y).predict(X, return_std=True, return_cov=True)
    with pytest.raises(NotFittedError):
        GPRegressor().sample_y(X)


@pytest.mark.parametrize("features", [1, 10, 11])
def test_the_default_kernel_has_a_lengthscale_per_feature_up_to_ten(features: int) -> None:
    X = np.random.default_rng(0).uniform(0.0, 2.0, (12, features))
    kernel = GPRegressor(learn=False).fit(X, X[:, 0]).gp_.kernel
    assert isinstance(kernel, gf.SE)
    assert np.size(kernel.lengthscale) == (features if features <= 10 else 1)


def test_priors_reach_the_fit() -> None:
    X, y = surface(20)
    fixed = {"Point.noise": gf.Fixed(), "SE.lengthscale[1]": gf.Fixed()}
    model = GPRegressor(gf.SE(lengthscale=[1.0, 5.0]), noise=0.25, priors=fixed, normalize=False).fit(X, y)
    assert model.noise_ == pytest.approx(0.25, rel=1e-12)
    assert model.gp_.kernel.lengthscale[1] == pytest.approx(5.0, rel=1e-12)
    assert model.gp_.kernel.lengthscale[0] != pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("random_state", [None, 3, np.random.RandomState(1), np.random.default_rng(1)])
def test_a_seed_may_come_in_any_form(random_state: Any) -> None:
    X, y = surface(15)
    assert GPRegressor(starts=2, random_state=random_state).fit(X, y).score(X, y) > 0.9


def test_two_moons_are_told_apart() -> None:
    X, y = make_moons(160, noise=0.2, random_state=0)
    model = GPClassifier().fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.93


def test_two_classes_have_the_probit_probability_with_guessing_and_lapsing() -> None:
    X, y = surface(30)
    labels = np.where(y > np.median(y), "yes", "no")
    model = GPClassifier(gf.SE(), guess=0.1, lapse=0.05, learn=False).fit(X, labels)
    new = surface(9, seed=1)[0]
    f = model.posterior_
    careful = ndtr(f.mean(new) / np.sqrt(1.0 + f.variance(new)))
    p = model.predict_proba(new)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    np.testing.assert_allclose(p[:, 1], 0.1 + 0.85 * careful, rtol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(new), np.log(p[:, 1] / p[:, 0]), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new) == "yes", p[:, 1] > 0.5)
    data = gf.Data().add(gf.Binary(guess=0.1, lapse=0.05), X, labels == "yes")
    assert model.log_evidence_ == gf.GP(gf.SE()).condition(data).log_evidence


def test_inference_reaches_the_posterior() -> None:
    X, y = surface(20)
    model = GPClassifier(inference=gf.Laplace(), learn=False).fit(X, y > np.median(y))
    assert isinstance(model.posterior_.inference, gf.Laplace)


def test_three_wines_are_told_apart_by_one_function_each() -> None:
    X, y = load_wine(return_X_y=True)
    train, test = slice(0, None, 3), slice(1, None, 3)
    model = make_pipeline(StandardScaler(), GPClassifier(starts=1)).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.93
    last = model[-1]
    assert len(last.gp_) == len(last.posterior_) == len(last.fitted_) == 3
    assert last.log_evidence_ == pytest.approx(sum(each.log_evidence for each in last.fitted_))
    p, odds = model.predict_proba(X[test]), model.decision_function(X[test])
    alone = 1.0 / (1.0 + np.exp(-odds))
    np.testing.assert_allclose(p, alone / alone.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X[test]), np.log(p), rtol=1e-9)


def test_one_class_is_refused_by_name() -> None:
    with pytest.raises(gf.InvalidInput, match="at least two classes"):
        GPClassifier().fit([[0.0], [1.0]], ["a", "a"])


def test_pipelines_and_grid_search_work() -> None:
    X, y = surface(30)
    scaled = make_pipeline(StandardScaler(), GPRegressor(starts=1))
    assert cross_val_score(scaled, X, y, cv=3).min() > 0.7
    grid = {"gpregressor__kernel": [gf.SE(), gf.Linear()], "gpregressor__starts": np.array([1])}
    search = GridSearchCV(scaled, grid, cv=3).fit(X, y)
    assert search.best_params_["gpregressor__kernel"] == gf.SE()


@pytest.mark.parametrize(
    "model",
    [
        GPRegressor(
            gf.SE() + gf.Linear(), gf.ConstantMean(), noise=0.2, priors={"Point.noise": gf.LogNormal()}, starts=1
        ),
        GPClassifier(gf.Matern(), lapse=0.02, inference=gf.EP(tolerance=1e-8), starts=1),
    ],
    ids=["regressor", "classifier"],
)
def test_clones_and_pickles_are_the_same_model(model: Any) -> None:
    X, y = surface(20)
    target = y if isinstance(model, GPRegressor) else y > np.median(y)
    before = model.get_params()
    fitted = clone(model).fit(X, target)
    assert clone(fitted).get_params() == before == model.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.log_evidence_ == fitted.log_evidence_


def test_an_engine_takes_the_answers():
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=80)
    exact, near = (GPRegressor(learn=False, engine=each).fit(X, y) for each in (gf.Exact(), gf.Vecchia(80)))
    np.testing.assert_allclose(near.predict(X), exact.predict(X), atol=1e-7)
    assert exact.posterior_.behind is None
    assert near.posterior_.behind is not None
    for engine, more in (("fast", {}), (gf.EP(), {}), (gf.Inducing(10), {"inference": gf.EP()})):
        with pytest.raises(gf.InvalidInput, match="engine"):
            GPClassifier(engine=engine, **more).fit(X, y > 0.5)

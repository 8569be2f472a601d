"""Gaussian processes as scikit-learn estimators: `GPRegressor` and `GPClassifier`.

They follow scikit-learn's conventions (pipelines, grid search, cloning, pickling) and hold gainful's own values, so
what was learned can go on from there: `posterior_` answers, samples and is conditioned on more like any other
posterior.

Inputs are not rescaled. The default kernel and the default priors take their scale from the range of each feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from gainful.checks import numbers, require, require_count
from gainful.data import Data
from gainful.errors import InvalidInput, MissingExtra
from gainful.gp import GP
from gainful.hyper import Fitted, fit
from gainful.hyper.defaults import default_priors
from gainful.inference import Posterior
from gainful.inference.engines.base import Engine
from gainful.inference.exact import Exact
from gainful.inference.solution import Inference
from gainful.instruments import Binary, Point
from gainful.instruments.answers import DiscreteAnswers
from gainful.kernels import SE, Kernel
from gainful.means import Mean, Zero
from gainful.parameters import to_theta
from gainful.priors import Prior

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtra("the scikit-learn estimators", "sklearn") from None

__all__ = ["GPClassifier", "GPRegressor"]

Array = NDArray[np.float64]
Priors = Mapping[str, Prior] | Prior
_Learned = tuple[GP, Posterior, Fitted | None]
RandomState = int | np.random.RandomState | np.random.Generator | None

_MOST_LENGTHSCALES = 10  # with more features than this the default kernel has one lengthscale for all of them


@dataclass(eq=False, repr=False)
class _Estimator(BaseEstimator):
    """What both estimators are given.

    scikit-learn wants every parameter in the signature of `__init__`, and kept as it came: what a dataclass writes.
    """

    kernel: Kernel | None = None
    mean: Mean | None = None
    _: KW_ONLY
    priors: Priors | None = None
    starts: int = 4
    learn: bool = True
    random_state: RandomState = 0
    engine: Engine | Exact | str = "auto"

    n_features_in_: int = field(init=False)

    def _places(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(_validated(self, X=X, dtype=np.float64, reset=False))

    def _learned(self, data: Data, inference: Inference | Engine | None, rng: np.random.Generator) -> _Learned:
        """Learn the hyperparameters or keep them, and condition on the data."""
        if self.engine != "auto":
            fine = isinstance(self.engine, Engine | Exact) and inference is None
            words = "auto, or an engine such as Vecchia(30), beside inference=None"
            require(fine, "engine", words, self.engine, "auto chooses for you")
            inference = self.engine  # type: ignore[assignment]
        kernel = _default_kernel(data) if self.kernel is None else self.kernel
        gp = GP(kernel, Zero() if self.mean is None else self.mean)
        if not self.learn:
            return gp, gp.posterior(data, inference), None
        found = fit(gp, data, priors=self.priors, inference=inference, starts=self.starts, rng=rng)
        return found.gp, found.posterior, found


@dataclass(eq=False, repr=False)
class GPRegressor(RegressorMixin, _Estimator):
    """y = f(x) + ε with f ~ GP(mean, kernel) and ε ~ N(0, noise²).

    `kernel` None is SE with one lengthscale per feature, or one for all of them when there are more than 10; `mean`
    None is zero. With `learn`, their parameters and the noise become the most probable ones under `priors`, searched
    from the given values and from `starts` − 1 draws (see `gainful.fit`); without, they stay as given. `engine` is what
    takes many answers: "auto", or one of gainful's engines.

    With `normalize`, y is first shifted and scaled to mean 0 and standard deviation 1: `kernel`, `mean`, `noise` and
    `priors` are then in units of y's standard deviation, and so are `gp_`, `posterior_` and `fitted_`. Predictions,
    `noise_` and `log_evidence_` are always in the units of y.

    After `fit`: `gp_`, `posterior_`, `fitted_` (None without `learn`), `noise_`, `log_evidence_`, `y_mean_`,
    `y_scale_`, `n_features_in_`.

    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> model = GPRegressor().fit(X, 100 + np.sin(6 * X[:, 0]))
    >>> model.predict([[0.25]]).round(1).tolist()
    [101.0]
    """

    noise: float = 0.1
    normalize: bool = field(default=True, kw_only=True)

    gp_: GP = field(init=False)
    posterior_: Posterior = field(init=False)
    fitted_: Fitted | None = field(init=False)
    noise_: float = field(init=False)
    log_evidence_: float = field(init=False)
    y_mean_: float = field(init=False)
    y_scale_: float = field(init=False)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from places X (N, D) and numbers y (N,)."""
        _refuse_misread("y", y)
        X, y = _validated(self, X=X, y=y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=float)
        self.y_mean_, self.y_scale_ = _location_and_scale(y) if self.normalize else (0.0, 1.0)
        data = Data().add(Point(noise=self.noise), X, (y - self.y_mean_) / self.y_scale_)
        self.gp_, self.posterior_, self.fitted_ = self._learned(data, None, _generator(self.random_state))
        self.noise_ = self.y_scale_ * _noise(self.posterior_)
        self.log_evidence_ = self.posterior_.log_evidence - len(y) * float(np.log(self.y_scale_))
        return self

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Array | tuple[Array, Array]:
        """E[f] (M,), and if asked its standard deviation (M,) or its covariance (M, M).

        They are those of the function itself, without noise, as scikit-learn's GaussianProcessRegressor gives them when
        the noise is its `alpha`; a new answer at x has the variance std² + noise_².
        """
        if return_std and return_cov:
            raise InvalidInput(
                "return_std, return_cov", "at most one of them", "both", "std is the root of cov's diagonal"
            )
        places = self._places(X)
        mean = self.y_mean_ + self.y_scale_ * self.posterior_.mean(places)
        if return_std:
            return mean, self.y_scale_ * np.sqrt(self.posterior_.variance(places))
        if return_cov:
            return mean, self.y_scale_**2 * self.posterior_.covariance(places)
        return mean

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Functions drawn from the belief, without noise, at the places: (M, n_samples)."""
        places = self._places(X)
        n_samples = require_count("n_samples", n_samples, 0, "1 draws one function")
        drawn = self.posterior_.sample(places, n_samples, _generator(random_state))
        return self.y_mean_ + self.y_scale_ * drawn.T


@dataclass(eq=False, repr=False)
class GPClassifier(ClassifierMixin, _Estimator):
    """P(second class | x) = guess + (1 − guess − lapse) Φ(f(x)) with f ~ GP(mean, kernel).

    More than two classes: one such function per class against all others, and their probabilities divided by their sum.
    `kernel`, `mean`, `priors`, `starts`, `learn` and `engine` are those of `GPRegressor`; `guess` and `lapse` stay as
    given unless `priors` names them ("Binary.guess"); `inference` None is EP.

    After `fit`: `classes_`, `gp_`, `posterior_`, `fitted_` (None without `learn`), `log_evidence_`, `n_features_in_`.
    With more than two classes `gp_`, `posterior_` and `fitted_` are tuples with one entry per class, and
    `log_evidence_` is the sum over them.

    >>> model = GPClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> model.predict([[0.2], [2.8]]).tolist()
    ['low', 'high']
    """

    starts: int = field(default=2, kw_only=True)
    guess: float = field(default=0.0, kw_only=True)
    lapse: float = field(default=0.0, kw_only=True)
    inference: Inference | Engine | None = field(default=None, kw_only=True)

    classes_: NDArray[Any] = field(init=False)
    gp_: GP | tuple[GP, ...] = field(init=False)
    posterior_: Posterior | tuple[Posterior, ...] = field(init=False)
    fitted_: Fitted | tuple[Fitted, ...] | None = field(init=False)
    log_evidence_: float = field(init=False)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from places X (N, D) and labels y (N,)."""
        X, y = _validated(self, X=X, y=y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, label = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "y", "labels of at least two classes", f"1 class, {self.classes_[0]!r}", "add the others"
            )
        rng = _generator(self.random_state)
        against_the_rest = range(len(self.classes_)) if len(self.classes_) > 2 else [1]
        instrument = Binary(guess=self.guess, lapse=self.lapse)
        tasks = [Data().add(instrument, X, label == c) for c in against_the_rest]
        found = [self._learned(data, self.inference, rng) for data in tasks]
        gps, posteriors, fits = zip(*found, strict=True)
        single = len(found) == 1
        self.gp_ = gps[0] if single else gps
        self.posterior_ = posteriors[0] if single else posteriors
        self.fitted_ = fits[0] if single or not self.learn else fits
        self.log_evidence_ = float(sum(each.log_evidence for each in posteriors))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class at each place, (M,)."""
        odds = self.decision_function(X)
        chosen = (odds > 0.0).astype(int) if odds.ndim == 1 else np.argmax(odds, axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class, in the order of `classes_`, at each place: (M, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """The logarithm of `predict_proba`, exact where the probability itself underflows."""
        answers = self._log_probabilities(X)
        return answers[0] if len(answers) == 1 else np.asarray(log_softmax(answers[:, :, 1].T, axis=1))

    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the second class (M,), or of each class against all others (M, K).

        The function f itself is `posterior_.mean(X)`.
        """
        answers = self._log_probabilities(X)
        odds = answers[:, :, 1] - answers[:, :, 0]
        return odds[0] if len(odds) == 1 else odds.T

    def _log_probabilities(self, X: ArrayLike) -> Array:
        """Of no and yes, for each of the functions that were learned: (1 or K, M, 2)."""
        places = self._places(X)
        posteriors = self.posterior_ if isinstance(self.posterior_, tuple) else (self.posterior_,)
        return np.stack([_log_no_and_yes(posterior, places) for posterior in posteriors])


def _default_kernel(data: Data) -> Kernel:
    """SE at the medians of its default priors, with a lengthscale for every feature unless they are many."""
    features = data.dimensions or 1
    kernel = SE(lengthscale=[1.0] * features) if 1 < features <= _MOST_LENGTHSCALES else SE()
    priors = default_priors(kernel.slots, np.ones(kernel.size), data, None)
    return kernel.with_theta([to_theta(slot, p.quantile(0.5)) for slot, p in zip(kernel.slots, priors, strict=True)])


def _location_and_scale(y: Array) -> tuple[float, float]:
    """Mean and standard deviation of y; the scale of constant answers is 1."""
    mean, scale = float(np.mean(y)), float(np.std(y))
    return mean, scale if scale > 10.0 * np.finfo(float).eps * abs(mean) else 1.0


def _noise(posterior: Posterior) -> float:
    (instrument,) = posterior.data.instruments
    channel = instrument.channel()
    assert channel is not None
    return channel.noise


def _log_no_and_yes(posterior: Posterior, places: Array) -> Array:
    answers = posterior.answers(posterior.data.instruments[0], places)
    assert isinstance(answers, DiscreteAnswers)
    return answers.log_probabilities


def _validated(estimator: _Estimator, **given: Any) -> Any:
    """What scikit-learn makes of X and y, in its own words where they will not do; without what it would misread."""
    _refuse_misread("X", given["X"])
    if np.ma.is_masked(given.get("y")):
        _refuse_misread("y", given["y"])
    try:
        return validate_data(estimator, **given)
    except OverflowError:
        raise InvalidInput("X, y", "numbers up to 1e308", "a larger integer", "check the units") from None


def _refuse_misread(argument: str, values: Any) -> None:
    """Refuse what scikit-learn takes for numbers without a word: what is masked, dates and text."""
    try:
        numbers(argument, values, "numbers", booleans=True)
    except InvalidInput as problem:  # what is wrong otherwise scikit-learn says itself, as its conventions demand
        if str(problem.got).startswith(("masked", "text", "dates", "times")):
            raise


def _generator(random_state: RandomState) -> np.random.Generator:
    """scikit-learn's ways of giving a seed, and a Generator itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    expected = "a seed, a generator or None"
    require(not isinstance(random_state, bool | np.timedelta64), "random_state", expected, random_state, "0 will do")
    try:
        seeded = check_random_state(random_state)
    except (TypeError, ValueError):
        raise InvalidInput("random_state", expected, random_state, "0 will do") from None
    return np.random.default_rng(seeded.randint(np.iinfo(np.int32).max))

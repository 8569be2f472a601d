"""scikit-activeml's pool strategies as acquisition functions: its choice of queries, gainful's model.

    ActiveML("UncertaintySampling", {"method": "entropy"})

A strategy that wants a classifier, a regressor or an ensemble is given the belief's own Gaussian process with its
hyperparameters as they are, so that nothing but the choice of queries differs; a committee is drawn from its posterior.
Four strategies take only models of scikit-activeml's own: Parzen windows (as wide as the kernel's lengthscale), a
mixture model, a decision tree. For comparisons only; it needs the extra `activeml`.
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Data, as_queries
from gainful.errors import GainfulError, InvalidInput, MissingExtra
from gainful.gp import GP
from gainful.inference import Posterior
from gainful.instruments import Binary, Instrument
from gainful.instruments.answers import DiscreteAnswers, NormalAnswers
from gainful.kernels import SE

__all__ = ["ActiveML", "activeml_strategies"]

Array = NDArray[np.float64]

_MEMBERS = 100  # of a committee, unless sample_predictions_dict says otherwise
_SAMPLER = "sample_predictions_method_name"
_PARZEN, _MIXTURE, _TREE = ("EpistemicUncertaintySampling", "ProbabilisticAL"), ("FourDs",), ("RegressionTreeBasedAL",)
_CLASSES_ONLY = ("BatchBALD", "GreedyBALD")  # of those whose signature does not say so
_NO_STRATEGIES = ("ExpectedErrorReduction", "ParallelUtilityEstimationWrapper", "SubSamplingWrapper")


@cache
def activeml_strategies() -> Mapping[str, Any]:
    """scikit-activeml's strategies for a pool and one annotator, by name: its classes."""
    pool, base = _imported("skactiveml.pool"), _imported("skactiveml.base").SingleAnnotatorPoolQueryStrategy
    kinds = {name: getattr(pool, name) for name in sorted(pool.__all__) if name not in _NO_STRATEGIES}
    return {name: kind for name, kind in kinds.items() if inspect.isclass(kind) and issubclass(kind, base)}


@dataclass(frozen=True)
class ActiveML:
    """The utilities of scikit-activeml's strategy `name`, made with `options`, for yes/no answers, ranks or numbers.

    It is shown the answers so far and, as the rest of the pool, all places that are scored. Where it draws (among ties,
    and strategies such as Badge always) what it drew gets the largest score. Its draws depend on `seed` and on the
    number of answers.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Binary(), [[0.0], [2.0]], [False, True]))
    >>> scores = ActiveML("UncertaintySampling").score(post, gf.Binary(), [[0.0], [1.0], [2.0]])
    >>> int(scores.argmax())
    1
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    seed: int = 0

    def __post_init__(self) -> None:
        known = activeml_strategies()
        if self.name not in known:
            close = difflib.get_close_matches(self.name, known, n=1)
            remedy = f"did you mean {close[0]}?" if close else "they are those of skactiveml.pool"
            raise InvalidInput("name", f"one of {', '.join(known)}", self.name, remedy)
        takes = [each for each in inspect.signature(known[self.name]).parameters if each not in _FIXED]
        for option in self.options:
            if option not in takes:
                raise InvalidInput("options", f"those of {self.name} ({', '.join(takes)})", option, "see its docstring")

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        scores, chosen = self.utilities(belief, instrument, places)
        scores[np.isnan(scores)] = -np.inf  # places that it does not consider
        scores[chosen] = np.nextafter(np.max(scores), np.inf)
        return scores

    def utilities(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> tuple[Array, int]:
        """What scikit-activeml says: a utility for each place, (M,), and which of them it would ask."""
        kind = activeml_strategies()[self.name]
        self._require(kind, belief, instrument)
        queries, _ = as_queries(instrument, places)
        if len(queries) == 1:  # no choice, and too little for strategies that look for clusters
            return np.zeros(1), 0
        told, batches = len(belief.data), belief.data.batches
        X = np.concatenate([*(batch.X for batch in batches), queries])
        y = np.concatenate([*(batch.answers for batch in batches), np.full(len(queries), np.nan)])
        seed = int(np.random.SeedSequence([self.seed, told]).generate_state(1)[0])
        models = _models(self.name, belief, instrument, seed) | {"X_eval": X}
        wanted = inspect.signature(kind.query).parameters
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # advice about few answers, and about batches of one
                strategy = kind(**_usual(kind, instrument, seed) | dict(self.options))
                arguments = {name: value for name, value in models.items() if name in wanted}
                index, utilities = strategy.query(X=X, y=y, **arguments, batch_size=1, return_utilities=True)
        except GainfulError:
            raise
        except (TypeError, ValueError) as error:
            expected = f"what scikit-activeml's {self.name} can work with"
            got = f"{instrument.label}, {dict(self.options) or 'no options'}"
            raise InvalidInput("instrument, options", expected, got, f"it says: {error}") from error
        return np.array(utilities[0][told:], dtype=float), int(np.ravel(index)[0]) - told

    def _require(self, kind: Any, belief: Posterior, instrument: Instrument) -> None:
        """One kind of answer, and one that the strategy is made for."""
        if not isinstance(belief, Posterior):
            raise InvalidInput("belief", "one posterior", belief, "pass one of belief.posteriors")
        told = instrument.gaussian or instrument.values is not None
        if instrument.query != "place" or not told or len(belief.data.instruments) > 1:
            got = [each.label for each in (*belief.data.instruments, instrument)]
            expected = "one instrument, for a number or one of a few answers at a place"
            raise InvalidInput("instrument", expected, got, "scikit-activeml learns from one kind of answer")
        classes = "classes" in inspect.signature(kind).parameters or self.name in _CLASSES_ONLY
        wanted = inspect.signature(kind.query).parameters
        if instrument.gaussian and (classes or "clf" in wanted):
            raise InvalidInput("instrument", f"classes, for {self.name}", "numbers", "choose one for regression")
        if not instrument.gaussian and "reg" in wanted:
            raise InvalidInput("instrument", f"numbers, for {self.name}", "classes", "choose one for classification")


_FIXED = ("missing_label", "random_state", "classes")


def _usual(kind: Any, instrument: Instrument, seed: int) -> dict[str, Any]:
    """What a strategy is made with if nothing else is said."""
    numbers = instrument.gaussian
    usual = {
        "missing_label": np.nan,
        "random_state": seed,
        "classes": _classes(instrument),
        _SAMPLER: "sample_y" if numbers else "sample_proba",
        "sample_predictions_dict": {"n_samples": _MEMBERS, "random_state": seed},
        "predict_dict": {"return_std": True} if numbers else None,
    }
    return {name: value for name, value in usual.items() if name in inspect.signature(kind).parameters}


def _classes(instrument: Instrument) -> list[float]:
    """The answers in canonical form; none of a number."""
    return list(instrument.values or ())


def _models(name: str, belief: Posterior, instrument: Instrument, seed: int) -> dict[str, Any]:
    """The models that a strategy may ask for, by the names it asks with."""
    gp, classes = GP(belief.kernel, belief.prior_mean), _classes(instrument)
    classifier, regressor = _kinds()
    found = {"discriminator": classifier(gp, Binary(), [0.0, 1.0])}  # tells what was asked from what was not
    if name in _TREE:
        tree = _imported("sklearn.tree").DecisionTreeRegressor(min_samples_leaf=2, random_state=seed)
        model = _imported("skactiveml.regressor").SklearnRegressor(tree)
    elif name in _MIXTURE:
        model = _imported("skactiveml.classifier").MixtureModelClassifier(classes=classes, random_state=seed)
    elif name in _PARZEN:
        model = _imported("skactiveml.classifier").ParzenWindowClassifier(classes=classes, metric_dict=_window(gp))
    else:
        model = regressor(gp, instrument) if instrument.gaussian else classifier(gp, instrument, classes)
    return found | dict.fromkeys(("clf", "reg", "estimator", "ensemble"), model)


def _window(gp: GP) -> dict[str, float] | None:
    """exp(−gamma d²) as wide as the kernel; None, the usual width, where that is not one number."""
    if isinstance(gp.kernel, SE) and np.ndim(gp.kernel.lengthscale) == 0:
        return {"gamma": 0.5 / float(gp.kernel.lengthscale) ** 2}
    return None


@cache
def _kinds() -> tuple[Any, Any]:
    """A gp as scikit-activeml's kinds of classifier and regressor, which cannot be written down before it is imported.

    `GPClassifier` and `GPRegressor` could be wrapped instead, but cannot be fitted to answers of one class, or to none.
    """
    from scipy.stats import norm
    from skactiveml.base import ProbabilisticRegressor, SkactivemlClassifier

    class Classifier(SkactivemlClassifier):
        def __init__(
            self,
            gp: GP,
            instrument: Instrument,
            classes: list[float] | None = None,
            missing_label: float = np.nan,
            cost_matrix: Any = None,
            random_state: Any = None,
        ) -> None:
            super().__init__(classes, missing_label, cost_matrix, random_state)
            self.gp = gp
            self.instrument = instrument

        def fit(self, X: Array, y: Array, sample_weight: None = None) -> Any:
            X, code, _ = self._validate_data(X, y)
            self.posterior_ = _condition(self.gp, self.instrument, X, code >= 0, self.classes_[code])
            return self

        def predict_proba(self, X: Array) -> Array:
            return _discrete(self.posterior_.answers(self.instrument, X)).probabilities

        def sample_proba(self, X: Array, n_samples: int, random_state: int) -> Array:
            """Probabilities under functions drawn from the posterior, (n_samples, M, K)."""
            f = self.posterior_.sample(X, n_samples, random_state)
            return _discrete(self.instrument.predict(f.ravel(), np.zeros(f.size))).probabilities.reshape(*f.shape, -1)

    class Regressor(ProbabilisticRegressor):
        def __init__(
            self, gp: GP, instrument: Instrument, missing_label: float = np.nan, random_state: Any = None
        ) -> None:
            super().__init__(missing_label, random_state)
            self.gp = gp
            self.instrument = instrument

        def fit(self, X: Array, y: Array, sample_weight: None = None) -> Any:
            X, y, _ = self._validate_data(X, y)
            self.posterior_ = _condition(self.gp, self.instrument, X, ~np.isnan(y), y)
            return self

        def predict_target_distribution(self, X: Array) -> Any:
            answers = self.posterior_.answers(self.instrument, X)
            assert isinstance(answers, NormalAnswers)
            return norm(loc=answers.mean, scale=np.sqrt(answers.variance))

        def sample_y(self, X: Array, n_samples: int = 1, random_state: Any = None) -> Array:
            """Functions drawn from the posterior, (M, n_samples): a committee disagrees about f, not about noise."""
            return self.posterior_.sample(X, n_samples, _generator(random_state)).T

    return Classifier, Regressor


def _condition(gp: GP, instrument: Instrument, X: Array, told: NDArray[np.bool_], y: Array) -> Posterior:
    return gp.posterior(Data().add(instrument, X[told], y[told]) if told.any() else Data())


def _generator(random_state: Any) -> np.random.Generator:
    """From a seed, or from the RandomState that some strategies pass on."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _discrete(answers: Any) -> DiscreteAnswers:
    assert isinstance(answers, DiscreteAnswers)
    return answers


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra("scikit-activeml's strategies", "activeml") from None

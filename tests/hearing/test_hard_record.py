"""A record on which expectation propagation once went astray, and what importance sampling says about it.

    python tests/hearing/test_hard_record.py

prints LOG_EVIDENCE and QUANTILES anew, as `reference` finds them, without expectation propagation, in some minutes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from gainful.errors import ConvergenceWarning
from gainful.hearing import (
    FREQUENCIES,
    Heard,
    HearingTest,
    Population,
    Tone,
    believe,
    expected_listeners,
    settling,
)

# Somebody with a steep loss beyond the audiometer who misses one in ten: Hz, dB HL, whether it was heard.
RECORD = (
    (8000, 35, 0), (4000, 40, 0), (2000, 40, 0), (6000, 70, 0), (1000, 45, 1), (4000, 70, 0), (1000, 30, 0),
    (8000, 90, 0), (6000, 95, 0), (500, 40, 1), (3000, 75, 0), (4000, 90, 0), (2000, 65, 0), (8000, 105, 0),
    (6000, 110, 0), (500, 35, 0), (1000, 55, 1), (4000, 100, 0), (3000, 90, 0), (4000, 110, 0), (2000, 75, 0),
    (3000, 100, 0), (500, 45, 1), (2000, 85, 1), (500, 30, 0), (8000, 110, 0), (3000, 105, 0), (1000, 40, 0),
    (3000, 110, 0), (3000, 110, 0), (2000, 80, 1), (1000, 45, 1), (1000, 40, 0), (4000, 110, 0), (3000, 110, 0),
    (2000, 80, 1), (2000, 75, 0), (500, 40, 1), (500, 35, 1), (6000, 110, 0), (1000, 40, 0), (8000, 110, 0),
    (500, 35, 1), (500, 30, 1), (500, 30, 0), (3000, 110, 0), (2000, 75, 1), (1000, 40, 1), (2000, 70, 0),
    (1000, 40, 1), (1000, 35, 0), (500, 30, 0), (3000, 110, 0), (2000, 75, 0), (4000, 110, 0), (8000, 110, 0),
    (3000, 110, 0),
)  # fmt: skip
HEARD = tuple(Heard((Tone(float(hertz), float(level)),), bool(yes)) for hertz, level, yes in RECORD)


LOG_EVIDENCE = -33.85  # worth 69,000 equal draws
QUANTILES = (
    (28.8, 32.7, 36.4), (36.4, 40.4, 44.0), (73.1, 76.8, 80.9), (111.8, 116.7, 127.2), (113.2, 122.7, 135.9),
    (113.6, 125.7, 138.1), (113.9, 125.9, 138.4),
)  # fmt: skip


def reference(draws: int = 100_000) -> tuple[float, NDArray[np.float64], float]:
    """The log evidence, the 5, 50 and 95 % points of the threshold at each frequency, and how many equal draws the
    weighted ones are worth.

    Class by class people are drawn from a Student distribution of four degrees of freedom, whose mean and covariance
    follow those of the weighted draws before, while the answers come to count for all they say; one draw in ten is from
    the class itself. Thresholds are from −40 to 140 dB HL, as gainful takes them to be.
    """
    ears, listeners, rng = Population.load(), expected_listeners(), np.random.default_rng(0)
    fine = np.arange(-200.0, 400.01, 0.05)
    tables = np.zeros((7, len(fine), len(listeners.weight)))
    for hertz, level, yes in RECORD:
        tables[FREQUENCIES.index(hertz)] += listeners.log_answer(level - fine[None], bool(yes)).T

    def log_answers(t: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.clip(np.round((t - fine[0]) / 0.05), 0, len(fine) - 1).astype(int)
        logs = sum(tables[j][at[:, j]] for j in range(7))
        return np.asarray(logsumexp(logs, axis=1, b=listeners.weight))

    kept, weights = [], []
    for share, mean, cov in zip(ears.weights, ears.mean[:, :7], ears.cov[:, :7, :7], strict=True):
        prior, middle, wide = multivariate_normal(mean, cov), mean, cov
        for power in (0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.0, 1.0):
            student = multivariate_t(middle, 1.3 * wide, df=4)
            of_class = rng.random(draws) < 0.1
            t = np.where(of_class[:, None], prior.rvs(draws, rng), student.rvs(draws, rng))
            drawn = np.logaddexp(np.log(0.1) + prior.logpdf(t), np.log(0.9) + student.logpdf(t))
            likely = np.where(np.all((t > -40.5) & (t < 140.5), axis=1), log_answers(t), -np.inf)
            logs = prior.logpdf(t) + power * likely - drawn
            w = np.exp(logs - logs.max())
            middle = w @ t / w.sum()
            wide = (w[:, None] * (t - middle)).T @ (t - middle) / w.sum() + np.eye(7)
        kept.append(t)
        weights.append(np.exp(np.log(share) + logs - np.log(draws)))
    t, w = np.concatenate(kept), np.concatenate(weights)
    ends = np.empty((7, 3))
    for j in range(7):
        order = np.argsort(t[:, j])
        ends[j] = np.interp([0.05, 0.5, 0.95], np.cumsum(w[order]) / w.sum(), t[order, j])
    return float(np.log(w.sum())), ends, float(w.sum() ** 2 / (w**2).sum())


def test_contradicting_answers_are_believed_as_importance_sampling_says():
    belief = believe(Population.load(), expected_listeners(), HEARD)
    assert belief.log_evidence == pytest.approx(LOG_EVIDENCE, abs=0.1)
    found = [(t.low, t.median, t.high) for t in belief.thresholds(FREQUENCIES)]
    np.testing.assert_allclose(found, QUANTILES, atol=2.0)
    assert belief.unsettled < 1e-4


@pytest.mark.parametrize("trials", [20, 40, 50, 53, 55, 56])
def test_what_is_believed_on_the_way_has_settled(trials):
    assert believe(Population.load(), expected_listeners(), HEARD[:trials]).unsettled < 1e-2


@pytest.fixture
def impatient(monkeypatch):
    """So few sweeps that many classes and listeners do not settle."""
    monkeypatch.setattr(settling, "_SWEEPS", 4)


@pytest.mark.usefixtures("impatient")
def test_what_has_not_settled_weighs_nothing_and_is_said():
    with pytest.warns(ConvergenceWarning, match="have not settled, and are left out"):
        belief = believe(Population.load(), expected_listeners(), HEARD)
    loose = (belief.settled.residual > 1e-2).reshape(belief.weights.shape)
    assert loose.any()
    assert not loose.all()
    assert np.all(belief.weights[loose] == 0.0)
    assert belief.weights.sum() == pytest.approx(1.0)
    assert 0.01 < belief.unsettled <= 1.0


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("goal", ["thresholds", "diagnosis"])
@pytest.mark.filterwarnings("ignore::gainful.errors.ConvergenceWarning")
def test_nothing_is_known_where_the_belief_has_not_settled(goal):
    test = HearingTest(goal=goal, precision=100.0, sure=0.5)
    for (tone,), yes in HEARD:
        test.tell(tone, yes)
    assert test.belief.unsettled > 0.01
    assert "known" not in test.done
    assert "has not settled" in test.describe()


if __name__ == "__main__":
    evidence, ends, worth = reference()
    print(f"LOG_EVIDENCE = {evidence:.2f}  # worth {worth:.0f} equal draws")
    print("QUANTILES =", np.round(ends, 1).tolist())

"""How far EP is from the truth when there is something to approximate: fixed problems, with the gaps measured.

gap in:    evidence   log evidence, absolute
           mean       worst over the places, in posterior standard deviations
           variance   worst over the places, relative

The gaps are properties of EP's fixed point, not of the code that finds it, so they may not grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import oracles
import pytest
from oracles import Seen

import gainful as gf

INF = np.inf
PLACES = np.array([[0.0], [0.6], [1.5]])
ELSEWHERE = np.array([[-0.8], [1.0], [2.5]])

YES_NO, CARELESS = gf.Binary(), gf.Binary(guess=0.1, lapse=0.05)
STRIP, LOOK, LAB = gf.Interval(noise=0.1), gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.3), gf.Point(noise=0.3)
RANK, TONES = gf.Preference(), gf.Detection()


class Problem(NamedTuple):
    """A prior, what was seen, and the measured gaps."""

    kernel: gf.Kernel
    mean: float
    seen: list[Seen]
    evidence: float
    in_mean: float
    in_variance: float


SE, ROUGH, STRONG = gf.SE(1.0, 2.0), gf.Matern(1.0, 1.0, nu=1.5), gf.SE(1.5, 25.0)

# fmt: off
PROBLEMS = {
    #                                 kernel mean  seen                                         evidence  mean  variance
    "yes, no":                Problem(SE, 0.0,    [Seen(YES_NO, True, (0,)),
                                                   Seen(YES_NO, False, (1,))],                  9.2e-4, 3.5e-4, 5.6e-3),
    "yes, interval":          Problem(SE, 0.5,    [Seen(YES_NO, True, (0,)),
                                                   Seen(STRIP, (-1.0, -0.5), (1,))],            5.7e-6, 2.1e-5, 4.9e-5),
    "rank, no, number":       Problem(ROUGH, 0.0, [Seen(LOOK, 2, (0,)),
                                                   Seen(CARELESS, False, (1,)),
                                                   Seen(LAB, 1.2, (2,))],                       5.2e-6, 5.5e-5, 4.8e-5),
    "pair, half-line":        Problem(SE, -1.0,   [Seen(RANK, True, (0, 2)),
                                                   Seen(STRIP, (0.5, INF), (2,))],              2.2e-4, 3.6e-4, 2.0e-3),
    "set, no":                Problem(ROUGH, 0.0, [Seen(TONES, True, (0, 1)),
                                                   Seen(YES_NO, False, (2,))],                  4.1e-5, 1.5e-4, 2.7e-4),
    "rank, half-line, yes":   Problem(STRONG, 0.0, [Seen(LOOK, 3, (0,)),
                                                    Seen(STRIP, (-INF, -1.0), (1,)),
                                                    Seen(YES_NO, True, (2,))],                  9.3e-4, 1.2e-3, 7.0e-3),
    "careless, contradicted": Problem(SE, 0.0,    [Seen(CARELESS, True, (0,)),
                                                   Seen(CARELESS, False, (1,)),
                                                   Seen(LAB, -1.5, (0,))],                      5.1e-6, 1.9e-6, 2.8e-5),
}
# fmt: on


def data_of(seen: list[Seen]) -> gf.Data:
    data = gf.Data()
    for one in seen:
        places = PLACES[list(one.values)]
        X = places if one.instrument.query == "place" else places[None]
        data = data.add(one.instrument, X, [one.answer])
    return data


def elsewhere(kernel: gf.Kernel, mean: float, truth: oracles.Moments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at other places: f there given f at PLACES is Gaussian, whatever f at PLACES has become."""
    gain = np.linalg.solve(kernel(PLACES), kernel(PLACES, ELSEWHERE)).T
    means = mean + gain @ (truth.mean - mean)
    removed = kernel(PLACES) - truth.variance
    return means, kernel.diag(ELSEWHERE) - np.einsum("ij,jk,ik->i", gain, removed, gain)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gap_of_ep_from_integration_is_no_larger_than_measured(name: str) -> None:
    problem = PROBLEMS[name]
    truth = oracles.grid_moments(problem.seen, np.full(3, problem.mean), problem.kernel(PLACES))
    post = gf.GP(problem.kernel, mean=gf.ConstantMean(problem.mean)).condition(data_of(problem.seen))
    assert post.converged
    far_mean, far_variance = elsewhere(problem.kernel, problem.mean, truth)
    X = np.vstack([PLACES, ELSEWHERE])
    mean, variance = np.append(truth.mean, far_mean), np.append(np.diagonal(truth.variance), far_variance)
    assert abs(post.log_evidence - truth.log_z) <= 2.0 * problem.evidence
    assert np.max(np.abs(post.mean(X) - mean) / np.sqrt(variance)) <= 2.0 * problem.in_mean
    assert np.max(np.abs(post.variance(X) / variance - 1.0)) <= 2.0 * problem.in_variance


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "set, no"])
def test_ep_ends_where_the_textbook_algorithm_ends(name: str) -> None:
    """One site after the other, each from its own integral, precisions subtracted (Rasmussen & Williams, Alg. 3.5)."""
    problem = PROBLEMS[name]
    truth = oracles.textbook_ep(problem.seen, np.full(3, problem.mean), problem.kernel(PLACES))
    post = gf.GP(problem.kernel, mean=gf.ConstantMean(problem.mean)).condition(data_of(problem.seen), gf.EP())
    np.testing.assert_allclose(post.log_evidence, truth.log_z, rtol=1e-9)
    np.testing.assert_allclose(post.mean(PLACES), truth.mean, atol=1e-9)
    np.testing.assert_allclose(post.covariance(PLACES), truth.variance, atol=1e-9)

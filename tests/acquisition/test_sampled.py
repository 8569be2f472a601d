"""The published estimate converges to the exact information as its buckets and samples grow."""

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition.published.sampled import sampled_information


@pytest.mark.parametrize(
    "instrument",
    [gf.Interval(0.1, width=0.6), gf.Point(0.1), gf.Ordinal([-0.4, 0.5], 0.1)],
    ids=lambda i: type(i).__name__,
)
def test_the_published_estimate_converges_to_the_exact_information(instrument):
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.1), [[0.2], [0.6]], [0.3, -0.4]))
    X = np.array([[0.25], [0.4], [0.9]])
    exact = gf.information(post, instrument, X)
    errors = []
    for samples, buckets in ((20, 12), (150, 50), (2500, 300)):
        runs = [
            sampled_information(post, instrument, X, seed, samples=samples, buckets=buckets, bound=6.0)
            for seed in range(2 if samples == 2500 else 12)
        ]
        errors.append(np.sqrt(np.mean((np.array(runs) - exact) ** 2)))
    assert errors[2] < 0.02
    assert errors[2] < errors[1] < errors[0]


def test_only_the_published_instruments_have_a_published_estimate():
    prior = gf.GP(gf.SE()).condition(gf.Data())
    for instrument in (gf.Binary(guess=0.1), gf.Count(), gf.Interval(0.1)):
        with pytest.raises(gf.InvalidInput):
            sampled_information(prior, instrument, [[0.0]], 0)
    with pytest.raises(gf.InvalidInput, match="samples"):
        sampled_information(prior, gf.Point(0.1), [[0.0]], 0, samples=0)

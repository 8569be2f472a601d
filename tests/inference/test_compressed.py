"""A low-rank root changes nothing but the time; answers that would widen a belief without bound are held."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference import ep
from gainful.inference.compressed import compress
from gainful.inference.conditioned import condition_on
from gainful.inference.sites import Sites
from gainful.numerics.lowrank import LowRank, low_rank


def _data(kind, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 1))
    f = 2 * np.sin(6 * X[:, 0])
    if kind == "detection":
        U = rng.uniform(0, 1, (n // 2, 2, 1))
        return gf.Data().add(gf.Detection(), U, gf.Detection().simulate(2 * np.sin(6 * U[:, :, 0]), rng))
    if kind == "careless":
        instrument = gf.Binary(guess=0.2, lapse=0.05)
        return gf.Data().add(instrument, X, instrument.simulate(f, rng))
    data = gf.Data()
    instruments = [gf.Point(0.1), gf.Interval(0.1, width=0.6), gf.Ordinal([-0.4, 0.5], 0.1), gf.Binary()]
    for i, instrument in enumerate(instruments):
        data = data.add(instrument, X[i::4], instrument.simulate(f[i::4], rng))
    return data


@pytest.mark.parametrize("kind", ["mixed", "careless", "detection"])
def test_the_low_rank_form_finds_the_same_fixed_point(kind, monkeypatch):
    data, gp = _data(kind), gf.GP(gf.SE(0.3, 4.0), gf.ConstantMean(0.2))
    layout = data.layout
    assert low_rank(layout.covariance(gp.kernel(layout.places))).root is not None
    fast = gp.condition(data)
    monkeypatch.setattr(ep, "low_rank", lambda cov: LowRank(None, None, len(cov)))
    full = gp.condition(data)
    X = np.linspace(-0.5, 1.5, 9)[:, None]
    assert fast.log_evidence == pytest.approx(full.log_evidence, abs=1e-9)
    np.testing.assert_allclose(fast.mean(X), full.mean(X), atol=1e-9)
    np.testing.assert_allclose(fast.variance(X), full.variance(X), atol=1e-9)


def test_compressed_and_full_beliefs_agree():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (60, 1))
    cov, mean = gf.SE(0.3, 4.0)(X), rng.normal(size=60)
    sites = Sites(rng.uniform(-0.01, 3.0, 60), rng.normal(size=60))
    full, low = condition_on(sites, mean, cov), compress(sites, mean, low_rank(cov).root)
    for name in ("mean", "variance", "alpha", "cavity_ratio", "log_det"):
        np.testing.assert_allclose(getattr(low, name), getattr(full, name), atol=1e-9, err_msg=name)


def test_an_answer_that_would_widen_the_belief_without_bound_is_held_and_said_so():
    """EP has no fixed point here; the belief that is returned is close to the true one, found by integration."""
    data = (
        gf.Data().add(gf.Interval(noise=0.05), [[0.0]], [(1.374, 1.375)]).add(gf.Binary(lapse=0.05), [[0.0]], [False])
    )
    with pytest.warns(gf.ConvergenceWarning, match="held at zero precision"):
        post = gf.GP(gf.SE(1.0, 25.0)).condition(data)
    assert not post.converged
    g = np.linspace(0.5, 2.5, 20001)
    weight = np.exp(
        gf.Interval(noise=0.05).log_prob(np.tile([[1.374, 1.375]], (len(g), 1)), g)
        + gf.Binary(lapse=0.05).log_prob(np.zeros(len(g)), g)
        - 0.5 * g**2 / 25.0
    )
    weight /= weight.sum()
    mean = weight @ g
    assert post.mean([[0.0]])[0] == pytest.approx(mean, abs=0.01)
    assert post.variance([[0.0]])[0] == pytest.approx(weight @ (g - mean) ** 2, rel=0.02)


def test_plain_parallel_ep_reaches_the_same_fixed_point_and_acceleration_reaches_it_sooner():
    data, gp = _data("mixed"), gf.GP(gf.SE(0.3, 4.0))
    plain, fast = gp.condition(data, gf.EP(memory=0)), gp.condition(data)
    assert plain.log_evidence == pytest.approx(fast.log_evidence, abs=1e-9)
    assert fast.convergence.iterations <= plain.convergence.iterations


def test_removing_what_kept_the_belief_proper_starts_over():
    """A careless answer far from the belief has a negative site that only the precise answer beside it keeps proper."""
    careless = gf.Binary(lapse=0.05)
    gp = gf.GP(gf.SE(1.0, 3.0))
    data = gf.Data().add(gf.Interval(noise=0.05), [[0.0]], [(1.374, 1.375)]).add(careless, [[0.0]], [False])
    left = gp.condition(data).without(0)
    again = gp.condition(gf.Data().add(careless, [[0.0]], [False]))
    assert left.log_evidence == pytest.approx(again.log_evidence, abs=1e-9)
    np.testing.assert_allclose(left.variance([[0.0], [1.0]]), again.variance([[0.0], [1.0]]), rtol=1e-9)

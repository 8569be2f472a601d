"""EP under several priors at once is EP under each alone."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.inference.evidence import log_evidence, log_evidences
from gainful.inference.posterior import solve
from gainful.inference.together import Model, settle_models

FINE = gf.EP(tolerance=1e-10)
rng = np.random.default_rng(3)
X, F = rng.random((24, 2)), rng.standard_normal(24)


def _data(noise: float, threshold: float = 0.2) -> gf.Data:
    """Answers of every kind that is for many at once; noises and thresholds may differ, answers do not."""
    pairs = np.stack([X[:5], X[5:10]], axis=1)
    return (
        gf.Data()
        .add(gf.Point(noise), X[:6], F[:6])
        .add(gf.Interval(0.5 * noise), X[6:12], np.column_stack([F[6:12] - 0.2, F[6:12] + 0.3]))
        .add(gf.Ordinal([-0.5, 0.5], noise, name="rank"), X[12:18], 1 + np.digitize(F[12:18], [-0.5, 0.5]))
        .add(gf.Binary(threshold=threshold, noise=noise), X[18:], (F[18:] > 0.2).astype(int))
        .add(gf.Preference(noise), pairs, (F[:5] > F[5:10]).astype(int))
        .add(gf.Count(), X[:4], np.array([0, 1, 3, 2]))
    )


def _models(noises: tuple[float, ...] = (0.1, 0.3, 0.9)) -> list[Model]:
    lengths = np.geomspace(0.1, 2.0, 4)
    return [(gf.ConstantMean(0.3 * n), gf.Matern(lengthscale=length, variance=1.0 + n), _data(n))
            for n in noises for length in lengths]  # fmt: skip


def test_evidences_are_those_of_each_alone() -> None:
    models = _models()
    alone = [log_evidence(m, k, d, FINE) for m, k, d in models]
    settled = settle_models(models, None, 1e-9)
    assert settled is not None
    assert settled.residual.max() <= 1e-9
    np.testing.assert_allclose(settled.log_evidence, alone, rtol=0, atol=1e-7)
    np.testing.assert_allclose(log_evidences(models, FINE), alone, rtol=0, atol=1e-7)


def test_sites_are_those_of_each_alone() -> None:
    models = _models()
    settled = settle_models(models, solve(*models[5]).sites, 1e-9)
    assert settled is not None
    for s, model in enumerate(models):
        there, sites = solve(*model, FINE).sites, settled.sites(s)
        np.testing.assert_allclose(sites.precision, there.precision, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(sites.shift, there.shift, rtol=1e-5, atol=1e-6)


def test_a_looser_evidence_is_off_by_the_square_of_the_tolerance() -> None:
    models = _models()
    alone = np.array([log_evidence(m, k, d, FINE) for m, k, d in models])
    assert np.max(np.abs(log_evidences(models, gf.EP(tolerance=1e-2)) - alone)) < 1e-3


def test_numbers_alone_take_no_iteration() -> None:
    models = [(gf.Zero(), gf.SE(length), gf.Data().add(gf.Point(0.2), X, F)) for length in (0.1, 0.5, 2.0)]
    alone = [log_evidence(m, k, d, gf.Exact()) for m, k, d in models]
    np.testing.assert_allclose(log_evidences(models, gf.Exact()), alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "data",
    [
        gf.Data().add(gf.Point(0.0), X[:5], F[:5]),  # without noise
        gf.Data().add(gf.StudentT(0.1), X, F),  # not log-concave
        gf.Data().add(gf.Classes(["a", "b", "c"]), X[:4], ["a", "b", "c", "a"]),  # coupled
    ],
    ids=["without noise", "not log-concave", "coupled"],
)
def test_what_this_form_cannot_is_for_each_alone(data: gf.Data) -> None:
    kernels = [gf.SE(length) for length in (0.1, 0.3, 1.0)]
    models = [(gf.Zero(), kernel, data) for kernel in kernels]
    assert settle_models(models, None, 1e-6) is None
    method = gf.Exact() if data.layout.gaussian else FINE
    alone = [log_evidence(m, k, d, method) for m, k, d in models]
    np.testing.assert_allclose(log_evidences(models, method), alone, rtol=1e-12)

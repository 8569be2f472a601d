"""EP over places against integration by brute force, and against the library's own EP over tones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.hearing import expected_listeners
from gainful.hearing.settling import GRID, settle


def log_likelihood(tones: list[tuple[float, bool]], spread: float, guess: float, lapse: float) -> np.ndarray:
    one = expected_listeners(spread, guess, lapse)
    return np.sum(
        [np.zeros(len(GRID)), *(one.log_answer(level - GRID[None], bool(yes))[0] for level, yes in tones)], axis=0
    )


TONES = [(40.0, True), (30.0, True), (20.0, False), (25.0, True), (25.0, False)]
AGAINST = [(30.0, True), (10.0, False), (60.0, False), (15.0, True)]  # a lapse and a guess, or neither


@pytest.mark.parametrize("tones", [TONES, AGAINST], ids=["agreeing", "contradicting"])
def test_one_place_is_exact(tones):
    centre, sd = 22.0, 11.0
    logs = log_likelihood(tones, 4.0, 0.05, 0.03)
    found = settle(np.array([[centre]]), np.array([[[sd**2]]]), logs[None, None])
    fine = np.linspace(centre - 9 * sd, centre + 9 * sd, 40001)
    p = np.prod(
        [0.05 + 0.92 * ndtr((a - fine) / 4.0) if y else 0.95 - 0.92 * ndtr((a - fine) / 4.0) for a, y in tones], axis=0
    )
    p = p * np.exp(-0.5 * ((fine - centre) / sd) ** 2) / sd / np.sqrt(2 * np.pi) * (fine[1] - fine[0])
    mean = p @ fine / p.sum()
    assert found.log_evidence[0] == pytest.approx(np.log(p.sum()), abs=1e-6)
    assert centre + found.mean[0, 0] == pytest.approx(mean, abs=1e-4)
    assert found.cov[0, 0, 0] == pytest.approx(p @ (fine - mean) ** 2 / p.sum(), rel=1e-4)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("second", [TONES[:2], AGAINST], ids=["agreeing", "contradicting"])
def test_two_places_are_close_to_integration_over_both(rho, second):
    """A site for each place: with a correlation EP is no longer exact, but near."""
    centre, sd = np.array([22.0, 30.0]), np.array([11.0, 14.0])
    cov = np.array([[1.0, rho], [rho, 1.0]]) * np.outer(sd, sd)
    logs = np.stack([log_likelihood(TONES, 4.0, 0.05, 0.03), log_likelihood(second, 4.0, 0.05, 0.03)])
    found = settle(centre[None], cov[None], logs[None])
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    off = np.stack([a - centre[0], b - centre[1]], axis=-1)
    quadratic = np.einsum("abi,ij,abj->ab", off, np.linalg.inv(cov), off)
    p = np.exp(logs[0][:, None] + logs[1] - 0.5 * quadratic) / (2 * np.pi * np.sqrt(np.linalg.det(cov)))
    # A belief with two humps under a strong correlation settles slowly; how far is said, and evidence is near by then.
    assert found.residual.max() < (0.05 if second is AGAINST and rho == 0.9 else 1e-4)
    hard = second is AGAINST and rho == 0.9
    assert found.log_evidence[0] == pytest.approx(np.log(p.sum()), abs=0.25 if hard else 0.03)
    if hard:
        return
    mean = np.array([(p * a).sum(), (p * b).sum()]) / p.sum()
    spread = np.sqrt([(p * (a - mean[0]) ** 2).sum() / p.sum(), (p * (b - mean[1]) ** 2).sum() / p.sum()])
    assert np.all(np.abs(centre + found.mean[0] - mean) < 0.08 * spread)
    assert np.sqrt(np.diagonal(found.cov[0])) == pytest.approx(spread, rel=0.08)
    np.testing.assert_allclose(found.marginal.sum(axis=2), 1.0, rtol=1e-12)


def test_many_tones_agree_with_the_library_s_ep_over_tones():
    """f(place, level) = level − t(place): the same model by one site for each tone."""
    kernel = gf.SE(1.2, 150.0).on(0)
    rng = np.random.default_rng(3)
    places, levels = rng.integers(0, 3, 12).astype(float), 5.0 * rng.integers(2, 10, 12)
    yes = rng.random(12) < ndtr((levels - 25.0 - 3.0 * places) / 6.0)
    data = gf.Data().add(gf.Binary(threshold=0.0, noise=6.0), np.column_stack([places, levels]), yes)
    by_tones = gf.GP(kernel, mean=gf.LinearMean((0.0, 1.0), -25.0)).condition(data)
    logs = np.stack([
        log_likelihood([(a, y) for p, a, y in zip(places, levels, yes, strict=True) if p == j], 6.0, 0.0, 0.0)
        for j in range(3)
    ])  # fmt: skip
    at = np.arange(3.0)[:, None]
    K = gf.SE(1.2, 150.0)(at)
    by_places = settle(np.full((1, 3), 25.0), K[None], logs[None])
    wanted = np.column_stack([np.arange(3.0), np.zeros(3)])
    assert by_places.log_evidence[0] == pytest.approx(by_tones.log_evidence, abs=0.02)
    assert 25.0 + by_places.mean[0] == pytest.approx(-by_tones.mean(wanted), abs=0.1)
    assert np.diagonal(by_places.cov[0]) == pytest.approx(by_tones.variance(wanted), rel=0.05)

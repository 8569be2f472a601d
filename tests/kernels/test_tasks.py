"""Kernels of tasks: covariances of low rank plus a diagonal, and which tasks share a function."""

import numpy as np
import pytest

import gainful as gf
from gainful.testing import check_kernel

LOADINGS = tuple(np.random.default_rng(0).normal(size=8))


def _tasks(n, rng):
    return rng.integers(0, 4, size=(n, 1)).astype(float)


def _places(n, rng):
    return np.column_stack([rng.normal(size=n), _tasks(n, rng)])


@pytest.mark.parametrize(
    "kernel",
    [
        gf.Tasks(4),
        gf.Tasks(4, own=0.3),
        gf.Tasks(4, 2, LOADINGS, (0.5, 1.0, 2.0, 0.1)),
        2.0 * gf.SameCluster((0, 0, 1, 0)),
    ],
    ids=str,
)
def test_kernels_of_tasks_obey_their_laws(kernel):
    check_kernel(kernel, dimensions=1, places=_tasks)


@pytest.mark.parametrize(
    "kernel",
    [
        gf.SE(0.7).on(0) * gf.Tasks(4, 2, LOADINGS).on(1),
        gf.Matern(0.8).on(0) * gf.SameCluster((0, 1, 1, 2)).on(1) + gf.SE(0.5).on(0) * gf.Exchangeable(4, 0.0).on(1),
    ],
    ids=["coregionalised", "clustered"],
)
def test_products_with_kernels_of_inputs_obey_their_laws(kernel):
    check_kernel(kernel, dimensions=2, places=_places)


def test_the_matrix_of_a_product_is_that_of_a_loop_over_pairs():
    rng = np.random.default_rng(1)
    X, W, own, lam = _places(12, rng), np.reshape(LOADINGS, (4, 2)), np.array([0.5, 1.0, 2.0, 0.1]), (0, 1, 1, 2)
    coregionalised = gf.SE(0.7, 1.3).on(0) * gf.Tasks(4, 2, LOADINGS, own).on(1)
    clustered = gf.SE(0.7).on(0) * gf.SameCluster(lam).on(1) + gf.SE(0.2, 0.4).on(0) * gf.Exchangeable(4, 0.0).on(1)
    for a, x in enumerate(X[:, 0]):
        for b, z in enumerate(X[:, 0]):
            i, j = int(X[a, 1]), int(X[b, 1])
            B = W[i] @ W[j] + (own[i] if i == j else 0.0)
            assert coregionalised(X)[a, b] == pytest.approx(1.3 * np.exp(-0.5 * ((x - z) / 0.7) ** 2) * B, rel=1e-12)
            shared = np.exp(-0.5 * ((x - z) / 0.7) ** 2) * (lam[i] == lam[j])
            alone = 0.4 * np.exp(-0.5 * ((x - z) / 0.2) ** 2) * (i == j)
            assert clustered(X)[a, b] == pytest.approx(shared + alone, rel=1e-12, abs=1e-300)


def test_any_loadings_give_a_positive_definite_covariance_and_scaled_to_correlations_it_is_a_similarity():
    rng, X = np.random.default_rng(2), np.arange(5.0)[:, None]
    for _ in range(20):
        loadings = tuple(rng.normal(scale=3.0, size=10))
        K = gf.Tasks(5, 2, loadings, 1.0)(X)
        assert np.linalg.eigvalsh(K).min() > 0.9
        size = np.sqrt(np.diagonal(K))
        np.testing.assert_allclose(K / np.outer(size, size), gf.Similarity(5, 2, loadings)(X), rtol=1e-12)


def test_one_clustering_is_one_kernel_however_its_clusters_are_called():
    assert gf.SameCluster([5, 5, -1, 5]) == gf.SameCluster((0, 0, 1, 0))
    assert hash(gf.SameCluster(np.array([2, 1]))) == hash(gf.SameCluster((0, 1)))
    X = np.arange(3.0)[:, None]
    np.testing.assert_array_equal(gf.SameCluster((2, 1, 0))(X), gf.Exchangeable(3, 0.0)(X))


def test_a_fit_finds_which_tasks_go_together():
    """Tasks 0 and 1 are one function, 2 is its negative: the covariances that are learned have these signs."""
    rng = np.random.default_rng(3)
    x, task = np.tile(np.linspace(0, 1, 8), 3), np.repeat(np.arange(3.0), 8)
    y = np.sin(6 * x) * np.array([1.0, 1.0, -1.0])[task.astype(int)] + 0.05 * rng.normal(size=24)
    gp = gf.GP(gf.SE(0.3, 1.0).on(0) * gf.Tasks(3).on(1))
    data = gf.Data().add(gf.Point(0.05), np.column_stack([x, task]), y)
    B = gf.fit(gp, data, starts=2).gp.kernel.right.base.covariances
    assert B[0, 1] > 0.0 > max(B[0, 2], B[1, 2])


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: gf.Tasks(1), "tasks"),
        (lambda: gf.Tasks(2.5), "tasks"),
        (lambda: gf.Tasks(3, 4), "rank"),
        (lambda: gf.Tasks(3, 1, (1.0, 2.0)), "loadings"),
        (lambda: gf.Tasks(3, own=(1.0, 2.0)), "own"),
        (lambda: gf.Tasks(3, own=-1.0), "own"),
        (lambda: gf.Tasks(3)([[3.0]]), "X"),
        (lambda: gf.Tasks(3)([[0.0, 1.0]]), "X"),
        (lambda: gf.SameCluster(3), "clusters"),
        (lambda: gf.SameCluster((0,)), "clusters"),
        (lambda: gf.SameCluster("ab"), "clusters"),
        (lambda: gf.SameCluster((0, 0.5)), "clusters"),
        (lambda: gf.SameCluster((0, True)), "clusters"),
        (lambda: gf.SameCluster((0, 1))([[2.0]]), "X"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(make, argument):
    with pytest.raises(gf.InvalidInput, match=argument):
        make()

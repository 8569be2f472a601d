"""Products of kernels by Lanczos: dense Hadamard products, the tree, and the errors that are said."""

import tracemalloc

import numpy as np
import pytest

import gainful as gf
from gainful.errors import InvalidInput
from gainful.numerics import product
from gainful.numerics.lanczos import Outcome, lanczos
from gainful.numerics.product import HadamardProduct, merge, met, product_error, slopes


def factors_of(X, lengthscale=1.0):
    """One squared exponential per column, dense and as products."""
    dense = [gf.SE(lengthscale)(column[:, None]) for column in X.T]
    return dense, [lambda V, K=K: K @ V for K in dense]


def error(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


def pair_of(n, ranks, seed=0):
    """Two decompositions that are not symmetric in each other: of ranks k and l."""
    rng = np.random.default_rng(seed)
    forms = []
    for rank in ranks:
        B = rng.normal(size=(n, n))
        forms.append(lanczos(rank)(lambda V, A=B + B.T: A @ V, rng.normal(size=n)))
    dense = [form.Q @ form.T.matrix @ form.Q.T for form in forms]
    return HadamardProduct(*forms), dense[0] * dense[1]


@pytest.mark.parametrize("block", [2**8, 2**12, 2**19])
@pytest.mark.parametrize("ranks", [(1, 1), (7, 4), (3, 9)])
def test_the_product_of_two_forms_is_their_hadamard_product_however_it_is_cut_into_blocks(ranks, block, monkeypatch):
    monkeypatch.setattr(product, "BLOCK", block)
    pair, dense = pair_of(70, ranks)
    V = np.random.default_rng(1).normal(size=(70, 11))
    np.testing.assert_allclose(pair.times(V), dense @ V, atol=1e-11)
    np.testing.assert_allclose(pair.diagonal, np.diagonal(dense), atol=1e-12)
    np.testing.assert_allclose(pair.column(13), dense[:, 13], atol=1e-12)


def test_many_columns_need_no_more_memory_than_is_stated():
    """N k² numbers would be 128 MB here, and those of all columns at once 32 MB."""
    rng = np.random.default_rng(2)
    forms = [lanczos(20)(lambda V: np.arange(40_000.0)[:, None] * V, rng.normal(size=40_000)) for _ in range(2)]
    V = rng.normal(size=(40_000, 5))
    pair = HadamardProduct(*forms)
    tracemalloc.start()
    pair.times(V)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < V.nbytes + 4 * product.BLOCK


@pytest.mark.parametrize("d", [1, 2, 3, 5, 12])
def test_any_number_of_factors_is_merged_in_a_balanced_tree(d):
    rng = np.random.default_rng(d)
    X = rng.random((250, d))
    dense, factors = factors_of(X, lengthscale=2.0)
    merged = merge(factors, 250, 40, rng)
    assert error(merged.times(np.eye(250)), np.prod(dense, axis=0)) < 2e-3 * (d == 12) + 1e-6
    alone = [step.factors for step in merged.steps if len(step.factors) == 1]
    pairs = [step.factors for step in merged.steps if len(step.factors) > 1]
    assert sorted(alone) == ([(i,) for i in range(d)] if d > 1 else [])
    assert len(pairs) == max(d - 2, 0)
    assert all(len(which) <= (d + 1) // 2 for which in pairs)
    assert all(step.rank <= 40 for step in merged.steps)


def test_one_factor_is_used_as_it_is():
    def times(V):
        return 2.0 * V

    assert merge([times], 5, 3, np.random.default_rng(0)).times is times
    with pytest.raises(InvalidInput, match="factors"):
        merge([], 5, 3, np.random.default_rng(0))


# `printed` is for random starts and 2500 places; it is larger by the starts, and by the mean of ratios for the rms.
@pytest.mark.parametrize(("d", "k", "printed"), [(4, 10, 0.30), (4, 30, 0.023), (8, 10, 0.75), (8, 30, 0.47)])
def test_normal_places_in_many_dimensions_are_approximated_no_better_than_they_can_be(d, k, printed):
    rng = np.random.default_rng(40 + d)
    dense, factors = factors_of(rng.normal(size=(600, d)))
    K = np.prod(dense, axis=0)
    merged = merge(factors, 600, k, rng)
    found = error(merged.times(np.eye(600)), K)  # the rms over normal v
    values = np.linalg.eigvalsh(K)[::-1]
    best = np.sqrt(np.sum(values[k * k :] ** 2) / np.sum(values**2))
    assert best < found
    assert 0.3 * printed < found < 1.1 * printed
    assert product_error(factors, merged.times, 600, rng, 600) == pytest.approx(found, rel=1e-6)
    assert 0.4 < product_error(factors, merged.times, 600, rng) / found < 1.6


@pytest.mark.parametrize("d", [4, 8])
def test_in_the_unit_cube_rank_30_is_within_a_percent(d):
    rng = np.random.default_rng(d)
    dense, factors = factors_of(rng.random((600, d)))
    V = rng.normal(size=(600, 10))
    merged = merge(factors, 600, 30, rng)
    exact = np.prod(dense, axis=0) @ V
    assert np.mean(np.linalg.norm(merged.times(V) - exact, axis=0) / np.linalg.norm(exact, axis=0)) < 0.01


def test_every_decomposition_says_its_error():
    rng = np.random.default_rng(7)
    dense, factors = factors_of(rng.normal(size=(200, 3)), lengthscale=0.7)
    steps = {step.factors: step for step in merge(factors, 200, 12, rng, probes=50).steps}
    for i, K in enumerate(dense):
        values = np.linalg.eigvalsh(K)[::-1]
        assert np.sqrt(np.sum(values[12:] ** 2) / np.sum(values**2)) < 1.2 * steps[(i,)].error < 0.1
    assert steps[1, 2].error > 5.0 * steps[(1,)].error
    assert product_error(factors, np.zeros_like, 200, rng) == pytest.approx(1.0)


def test_constant_columns_duplicates_tasks_and_signs_are_exact_at_their_rank():
    """Factors of rank 1, 15, 4 (one eigenvalue four times) and 1 (a linear kernel, which maps ones to nothing)."""
    rng = np.random.default_rng(8)
    some = np.tile(rng.normal(size=15), 8)
    task = np.repeat(np.arange(4), 30)
    slope = np.tile(np.linspace(-1.0, 1.0, 30), 4)
    dense = [
        np.full((120, 120), 0.3),
        gf.Matern(1.0, nu=0.5)(some[:, None]),
        (task[:, None] == task).astype(float),
        np.outer(slope, slope),
    ]
    merged = merge([lambda V, K=K: K @ V for K in dense], 120, 40, rng)
    assert error(merged.times(np.eye(120)), np.prod(dense, axis=0)) < 1e-12
    assert all(step.outcome is Outcome.EXHAUSTED for step in merged.steps)
    assert {step.factors: step.rank for step in merged.steps}[(2,)] == 4


def test_a_factor_of_nothing_makes_the_product_nothing():
    rng = np.random.default_rng(9)
    merged = merge([lambda V: 0.0 * V, lambda V: V, lambda V: 2.0 * V], 10, 5, rng)
    assert not merged.times(np.ones((10, 2))).any()


def test_the_best_of_twice_as_many_steps_are_nearer_at_the_same_rank_and_nearly_the_best_there_is():
    rng = np.random.default_rng(10)
    dense, factors = factors_of(rng.random((300, 4)), lengthscale=0.7)
    plain, best = (merge(factors, 300, 10, np.random.default_rng(0), probes=300, steps=steps) for steps in (0, 20))
    assert all(step.rank <= 10 for step in best.steps)
    for step in best.steps[:2]:
        values = np.linalg.eigvalsh(dense[step.factors[0]])[::-1]
        assert step.error < 1.5 * np.sqrt(np.sum(values[10:] ** 2) / np.sum(values**2)) + 1e-12
    K = np.prod(dense, axis=0)
    assert error(best.times(np.eye(300)), K) < 0.5 * error(plain.times(np.eye(300)), K)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_features_continue_to_other_places_as_the_product_does(d):
    """With rank enough: the whole kernel between and among places from k_i(x, Z) Q of the factors alone."""
    rng = np.random.default_rng(d)
    X, Z, V = rng.random((80, d)), rng.random((9, d)), rng.normal(size=(80, 3))
    kernel = gf.SE(2.0)
    merged = merge(factors_of(X, 2.0)[1], 80, 40, rng)

    def rows(i, Q):
        return kernel(Z[:, i : i + 1], X[:, i : i + 1]) @ Q

    left, right = (end.features(rows) for end in merged.ends)
    found = (left[:, :, None] * right[:, None, :]).reshape(9, -1) @ met(*merged.ends, V)
    np.testing.assert_allclose(found, kernel(Z, X) @ V, atol=1e-5)
    np.testing.assert_allclose((left @ left.T) * (right @ right.T), kernel(Z), atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_slopes_in_each_factor_are_those_of_the_dense_product(d):
    rng = np.random.default_rng(d)
    dense, factors = factors_of(rng.random((60, d)), lengthscale=2.0)
    merged = merge(factors, 60, 60, rng)
    (U, V), less = rng.normal(size=(2, 60, 3)), rng.normal(size=60)
    seen = []
    for i, A, B in slopes(merged, U, V, less):
        G = (U @ V.T - np.diag(less)) * np.prod([K for j, K in enumerate(dense) if j != i], axis=0)
        # In directions that the factor has: changes of a covariance outside them are left to P K′ + K′ P.
        for change in (dense[i], dense[i] ** 2, np.add.outer(dense[i][:, 0], dense[i][:, 0])):
            assert np.sum(change * (A @ B.T)) == pytest.approx(np.sum(change * G), rel=1e-6, abs=1e-6 * np.abs(G).sum())
        seen.append(i)
    assert sorted(seen) == list(range(d))


@pytest.mark.parametrize("seed", [0, 1])
def test_slopes_of_a_truncated_product_follow_its_own_differences(seed):
    """Rank 6, which leaves a hundredth of the derivative out. With vectors that stay as they are it would be P K′ P at
    each decomposition, a hundred times as far off."""
    rng = np.random.default_rng(seed)
    X, (U, V) = rng.random((100, 4)), rng.normal(size=(2, 100, 20))
    lengths, h = np.ones(4), 1e-4

    def made(moved):
        dense = [gf.SE(length)(column[:, None]) for length, column in zip(lengths + moved, X.T, strict=True)]
        return merge([lambda V, K=K: K @ V for K in dense], 100, 6, np.random.default_rng(0), steps=20)

    first = np.array([h, 0.0, 0.0, 0.0])
    own = np.einsum("np,np->p", U, (made(first).times(V) - made(-first).times(V)) / (2.0 * h))
    change = (gf.SE(1.0 + h)(X[:, :1]) - gf.SE(1.0 - h)(X[:, :1])) / (2.0 * h)
    merged = made(0.0 * first)
    ours = []
    for u, v in zip(U.T[:, :, None], V.T[:, :, None], strict=True):
        _, A, B = next(found for found in slopes(merged, u, v, np.zeros(100)) if found[0] == 0)
        ours.append(np.sum(change * (A @ B.T)))
    assert error(np.array(ours), own) < 2e-3

    end, other = merged.ends
    part, beside = end.parts

    def still(step, matrix):
        P = step.form.Q @ step.form.Q.T
        return P @ matrix @ P

    frozen = still(end, still(part, change) * beside.form.times(np.eye(100))) * other.form.times(np.eye(100))
    assert error(np.einsum("np,np->p", U, frozen @ V), own) > 1e-2

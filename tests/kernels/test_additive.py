"""Sums of terms over some dimensions: against sums of kernels, and which columns are seen together."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(7, 4)), RNG.normal(size=(5, 4))


@pytest.mark.parametrize(
    ("profile", "kernel"),
    [("SE", gf.SE), ("Matern12", lambda *a: gf.Matern(*a, nu=0.5)), ("Matern52", lambda *a: gf.Matern(*a, nu=2.5))],
)
def test_it_is_the_sum_of_kernels_on_the_dimensions_of_each_term(profile, kernel):
    lengths = (0.5, 1.0, 2.0, 0.8)
    terms = [(0, 2), (1,), (3, 1)]
    whole = gf.Additive(terms, lengths, (2.0, 1.0, 0.3), profile)
    parts = [
        kernel(tuple(lengths[d] for d in term), v).on(list(term))
        for term, v in zip(terms, (2.0, 1.0, 0.3), strict=True)
    ]
    np.testing.assert_allclose(whole(X, Z), sum(part(X, Z) for part in parts), rtol=1e-12)


def test_a_category_is_alike_or_not():
    k = gf.Additive([(0, 1)], (1.0, 0.5), 1.0, categories=(1,))
    same, other = k([[0.0, 3.0]], [[0.0, 3.0], [0.0, 7.0]])[0]
    assert same == pytest.approx(1.0)
    assert other == pytest.approx(np.exp(-0.5 / 0.25))
    G = np.ones((1, 2))
    assert k.pullback_inputs(np.array([[0.0, 3.0]]), np.array([[1.0, 3.0], [0.5, 7.0]]), G)[0, 1] == 0.0


def test_terms_are_called_by_name_where_there_is_a_space():
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 1, 100, log=True), gf.Real("c", 0, 1))
    gp = gf.GP(gf.Additive([("c", "a"), ("b",)], 1.0, 1.0), space=space)
    assert gp.kernel.seen_together((0, 1, 2)) == ((0, 2), (1,))
    with pytest.raises(gf.InvalidInput, match="names among"):
        gf.GP(gf.Additive([("d",)]), space=space)


def test_an_additive_gp_that_states_nothing_is_learned():
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    rng = np.random.default_rng(1)
    places = rng.random((25, 2))
    y = np.sin(6 * places[:, 0]) + places[:, 1] ** 2 + 0.02 * rng.normal(size=25)
    belief = gf.GP(gf.Additive([("a",), ("b",)]), space=space).condition(gf.Data().add(gf.Point(), places, y))
    new = np.random.default_rng(2).random((40, 2))
    truth = np.sin(6 * new[:, 0]) + new[:, 1] ** 2
    assert np.sqrt(np.mean((belief.mean(new) - truth) ** 2)) < 0.1


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (gf.SE().on(0) + gf.SE().on([1, 2]) + 1.0, ((0,), (1, 2))),
        ((gf.SE().on(0) + gf.SE().on(1)) * gf.SE().on(2), ((0, 2), (1, 2))),
        (gf.SE() * 2.0, ((0, 1, 2),)),
        (gf.Additive([(0, 2), (1,)]).on([2, 1, 0]), ((2, 0), (1,))),
    ],
)
def test_what_each_term_sees_together(kernel, expected):
    assert kernel.seen_together((0, 1, 2)) == expected


@pytest.mark.parametrize("terms", [[], [()], [(0, 0)], [(-1,)], "ab", [(0.5,)], 3])
def test_terms_that_are_none_are_refused(terms):
    with pytest.raises(gf.InvalidInput, match="terms"):
        gf.Additive(terms)


def test_as_many_numbers_as_dimensions_and_terms_are_wanted():
    with pytest.raises(gf.InvalidInput, match="2 numbers, one for each term"):
        gf.Additive([(0,), (1,)], 1.0, (1.0, 2.0, 3.0))
    with pytest.raises(gf.InvalidInput, match="below 1"):
        gf.Additive([(0,), (1,)])([[0.0]], [[1.0]])


@pytest.mark.parametrize(
    "kernel",
    [
        gf.SE(0.5).on(0) + gf.SE(0.7).on([1, 2]) + 1.0,
        (gf.SE(0.5).on(0) + gf.SE(0.6).on(1)) * gf.SE(0.7).on(2) + gf.Linear().on(3),
        gf.Additive([(0, 2), (1,), (3, 1)], 0.8, (1.0, 2.0, 3.0)) + gf.Constant(2.0),
    ],
)
@pytest.mark.parametrize("block", [(0,), (1,), (2, 3)])
def test_only_the_terms_that_touch_a_block_change_with_it(kernel, block):
    here, there = X[:1], np.repeat(X[:1], 6, axis=0)
    there[:, list(block)] = RNG.normal(size=(6, len(block)))
    part = kernel.touching(set(block))
    expected = kernel(there, Z) - kernel(here, Z)
    found = np.zeros_like(expected) if part is None else part(there, Z) - part(here, Z)
    np.testing.assert_allclose(found, expected, atol=1e-12)

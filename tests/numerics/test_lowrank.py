"""Low-rank roots: what they leave out, and that they follow when rows come and go."""

import numpy as np
import pytest

import gainful as gf
from gainful.numerics.lowrank import low_rank

RNG = np.random.default_rng(0)
PLACES = RNG.random((90, 1))
SMOOTH = gf.SE(0.3, 4.0)(PLACES)


def test_it_is_a_root_and_is_refused_where_there_is_none():
    root = low_rank(SMOOTH).root
    assert root.shape[1] < 20
    np.testing.assert_allclose(root @ root.T, SMOOTH, atol=1e-13)
    assert low_rank(gf.Matern(0.3, nu=0.5)(PLACES)).root is None
    assert low_rank(SMOOTH[:20, :20]).root is None


def test_rows_that_the_root_spans_are_appended_without_seeking_it_anew():
    begun = low_rank(SMOOTH[:80, :80])
    grown = begun.grown(SMOOTH)
    assert grown.sought == 80
    assert grown.root.shape[1] == begun.root.shape[1]
    np.testing.assert_allclose(grown.root @ grown.root.T, SMOOTH, atol=1e-13)


def test_a_row_that_it_does_not_span_makes_it_sought_anew():
    places = np.vstack([PLACES, [[2.5]]])
    cov = gf.SE(0.3, 4.0)(places)
    grown = low_rank(SMOOTH).grown(cov)
    assert grown.sought == 91
    np.testing.assert_allclose(grown.root @ grown.root.T, cov, atol=1e-13)


@pytest.mark.parametrize("pivot", [False, True], ids=["another row", "a pivot"])
def test_rows_are_removed_and_others_appended(pivot):
    begun = low_rank(SMOOTH[:80, :80])
    gone = int(begun.pivots[2]) if pivot else int(np.setdiff1d(np.arange(80), begun.pivots)[2])
    rows = np.delete(np.arange(80), gone)
    kept = begun.kept(rows)
    np.testing.assert_allclose(kept.root @ kept.root.T, SMOOTH[np.ix_(rows, rows)], atol=1e-13)
    after = np.concatenate([rows, np.arange(80, 90)])
    grown = kept.grown(SMOOTH[np.ix_(after, after)])
    assert grown.sought == (89 if pivot else 80)
    np.testing.assert_allclose(grown.root @ grown.root.T, SMOOTH[np.ix_(after, after)], atol=1e-13)


def test_where_there_is_none_it_is_sought_again_only_after_a_while():
    rough = gf.Matern(0.3, nu=0.5)(RNG.random((100, 1)))
    none = low_rank(rough[:80, :80])
    assert none.grown(rough[:87, :87]) is none
    assert none.grown(rough[:88, :88]).sought == 88

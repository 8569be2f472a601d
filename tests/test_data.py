"""Data as a value: what joining, removing and laying out have to do with each other."""

import numpy as np
import pytest

import gainful as gf

RNG = np.random.default_rng(0)
KINDS = [
    (gf.Point(0.1), lambda n: (RNG.random((n, 2)), RNG.normal(size=n))),
    (gf.Binary(), lambda n: (RNG.random((n, 2)), RNG.random(n) < 0.5)),
    (gf.Binary(guess=0.1), lambda n: (RNG.random((n, 2)), RNG.random(n) < 0.5)),
    (gf.Preference(0.3), lambda n: (RNG.random((n, 2, 2)), RNG.random(n) < 0.5)),
    (gf.Detection(), lambda n: (RNG.random((n, 3, 2)), RNG.random(n) < 0.5)),
    (gf.Detection(), lambda n: (RNG.random((n, 2, 2)), RNG.random(n) < 0.5)),
    (gf.Interval(0.1), lambda n: (RNG.random((n, 2)), np.sort(RNG.normal(size=(n, 2)), axis=1))),
]


def _some(kinds, batches):
    data = gf.Data()
    for _ in range(batches):
        instrument, make = KINDS[RNG.choice(kinds)]
        data = data.add(instrument, *make(int(RNG.integers(1, 4))))
    return data


def _assert_same(a, b):
    for name in ("places", "first", "second", "starts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert len(a.sources) == len(b.sources)
    for x, y in zip(a.sources, b.sources, strict=True):
        assert (x.instrument, x.owner) == (y.instrument, y.owner)
        np.testing.assert_array_equal(x.answers, y.answers)
        np.testing.assert_array_equal(x.rows, y.rows)
    assert len(a.terms) == len(b.terms)
    for x, y in zip(a.terms, b.terms, strict=True):
        assert type(x.likelihood) is type(y.likelihood)
        np.testing.assert_array_equal(x.answers, y.answers)
        np.testing.assert_array_equal(x.rows, y.rows)


@pytest.mark.parametrize("case", range(20))
def test_a_layout_that_grows_is_the_layout_of_everything(case):
    first, more = _some(range(len(KINDS)), 1 + case % 6), _some(range(case % len(KINDS) + 1), 1 + case % 3)
    assert first.layout.size  # laid out before: what joining builds on
    joined = first.join(more)
    assert joined._layout is not None  # and has built on
    anew = gf.Data(joined.batches)
    _assert_same(joined.layout, anew.layout)
    assert joined.instruments == anew.instruments


def test_instruments_that_became_equal_lose_no_answers():
    """Two instruments may be learned to be the same one."""
    a, b = gf.Point(0.1), gf.Point(0.2)
    data = gf.Data().add(a, [[0.0]], [1.0]).add(b, [[1.0]], [2.0])
    assert data.layout.size == 2
    same = data.with_instruments({a: gf.Point(0.3), b: gf.Point(0.3)})
    grown = same.join(gf.Data().add(gf.Point(0.3), [[2.0]], [3.0]))
    (term,) = [t for t in grown.layout.terms if t.likelihood.gaussian]
    assert term.answers.tolist() == [1.0, 2.0, 3.0]
    assert term.rows[:, 0].tolist() == [0, 1, 2]
    post = gf.GP(gf.SE()).condition(same)
    post = post.condition(gf.Data().add(gf.Point(0.3), [[2.0]], [3.0]))
    cold = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.3), [[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0]))
    assert post.log_evidence == pytest.approx(cold.log_evidence, abs=1e-12)


def test_around_are_the_nearest_and_the_first_of_each_instrument():
    rng = np.random.default_rng(0)
    data = gf.Data()
    for name in "abcdefgh":
        data = data.add(gf.Point(0.1, name=name), rng.uniform(size=(10, 1)), np.zeros(10))
    for seed in range(20):
        distances = np.random.default_rng(seed).uniform(size=80)
        some = data.around(distances, 25)
        nearest = np.argsort(distances)[:17]
        chosen = np.union1d(nearest, np.arange(0, 80, 10))
        np.testing.assert_array_equal(some.layout.places, data.layout.places[chosen])
        assert len(some) == len(chosen)
    assert data.around(distances, 80) is data

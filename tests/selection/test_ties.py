"""A choice does not depend on last digits, and a place found by climbing lies on a grid that no score feels."""

import numpy as np
import pytest

import gainful as gf
from gainful.selection import Option, choose
from gainful.selection.ties import best_first, better, first_best, on_grid

BOX = gf.Space(gf.Real("a", -1.0, 2.0), gf.Real("b", 5.0, 5.5))


class Blurred:
    """A goal whose scores have their last digits wrong, as another machine might."""

    def __init__(self, goal, seed):
        self.goal, self.rng = goal, np.random.default_rng(seed)

    def score(self, belief, instrument, places):
        found = self.goal.score(belief, instrument, places)
        return found * (1.0 + 1e-13 * self.rng.standard_normal(found.shape))

    def score_and_gradient(self, belief, instrument, places):
        bits, slopes = self.goal.score_and_gradient(belief, instrument, places)
        return bits * (1.0 + 1e-13 * self.rng.standard_normal(bits.shape)), slopes


def test_of_scores_that_differ_by_rounding_the_first_wins():
    scores = np.array([1.0, 3.0, 3.0 * (1.0 + 1e-14), 2.0, 2.0 * (1.0 + 1e-14)])
    assert first_best(scores) == 1
    assert best_first(scores).tolist() == [1, 2, 3, 4, 0]
    assert first_best(-scores) == 0
    assert first_best(np.zeros(3)) == 0
    assert first_best(np.array([1.0, np.inf, np.inf])) == 1
    assert first_best(np.array([-np.inf, -np.inf])) == 0
    assert better(2.0, 1.0)
    assert better(1.0, -np.inf)
    assert better(np.inf, 1.0)
    assert not better(1.0 + 1e-12, 1.0)
    assert not better(-np.inf, -np.inf)


def test_the_grid_keeps_the_ends_of_the_box_and_moves_nothing_by_more_than_half_a_step():
    places = np.vstack([BOX.candidates(1000, 0), BOX.low, BOX.high])
    moved = on_grid(places, BOX.low, BOX.high)
    assert BOX.contains(moved).all()
    assert np.array_equal(moved[-2:], places[-2:])
    assert np.all(np.abs(moved - places) <= 0.501 * 2.0**-30 * (BOX.high - BOX.low))
    assert np.array_equal(on_grid(moved, BOX.low, BOX.high), moved)


@pytest.mark.parametrize("instrument", [gf.Point(0.1), gf.Binary(), gf.Preference(0.3)], ids=str)
def test_last_digits_of_scores_do_not_reach_the_choice(instrument):
    rng = np.random.default_rng(0)
    data = gf.Data().add(gf.Point(0.1), BOX.candidates(12, 1), rng.standard_normal(12))
    belief = gf.GP(gf.SE([0.8, 0.2])).condition(data)
    found = [
        choose(Blurred(gf.Learn(), seed), belief, [Option(instrument, BOX)], np.random.default_rng(3)).query
        for seed in range(6)
    ]
    assert len({query.place.tobytes() for query in found}) == 1


def test_rounding_loses_no_score_and_respects_constraints():
    belief = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.1), [[0.0], [1.0]], [0.0, 1.0]))
    line = gf.Space(gf.Real("x", 0.0, 1.0))
    for space in (line, line.where(lambda X: X[:, 0] < 0.3), line.where(gf.Within(x=(0.1, 1.0 / 3.0)))):
        choice = choose(gf.Learn(), belief, [Option(gf.Point(0.1), space)], np.random.default_rng(0))
        assert space.contains(choice.query.place[None]).all()
        assert choice.score == pytest.approx(
            gf.information(belief, gf.Point(0.1), choice.query.place[None])[0], rel=1e-12
        )

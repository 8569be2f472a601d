"""Trust regions: the box against its rules followed by hand, and campaigns that keep to it."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.campaign import MemoryJournal
from gainful.coordinates import Axis

AXES = [Axis("x", low=0.0, high=10.0), Axis("c", low=1e-4, high=1.0, log=True)]


def sides(region, values, places=None):
    """The width of the box along x after these values; None: anywhere."""
    box = region.about(AXES, places or [[5.0, 0.01]] * len(values), values)
    return None if box is None else box.ends[0][2] - box.ends[0][1]


def test_rows_of_improvements_double_it_and_rows_of_failures_halve_it():
    region = gf.TrustRegion(start=0.4, failures=2)
    assert sides(region, [0.0, 0.0]) is None  # three answers begin it: one more than dimensions
    assert sides(region, [0.0, 0.0, 0.0]) == pytest.approx(4.0)
    assert sides(region, [0.0, 0.0, 0.0, 1.0, 2.0]) == pytest.approx(4.0)
    assert sides(region, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]) == pytest.approx(8.0)
    assert sides(region, [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0]) == pytest.approx(4.0)  # not in a row
    assert sides(region, [0.0, 0.0, 0.0, -1.0, -1.0]) == pytest.approx(2.0)
    assert sides(region, [0.0, 0.0, 0.0, -1.0, -1.0, -2.0, -2.0]) == pytest.approx(1.0)
    assert sides(gf.TrustRegion(start=0.4), [0.0] * 3 + [-1.0] * 3) == pytest.approx(4.0)  # four at least
    assert sides(gf.TrustRegion(start=0.4), [0.0] * 3 + [-1.0] * 4) == pytest.approx(2.0)


def test_an_improvement_of_less_than_a_thousandth_of_the_spread_is_none():
    region = gf.TrustRegion(start=0.4, failures=1)
    assert sides(region, [0.0, 100.0, 50.0, 100.001]) == pytest.approx(2.0)
    assert sides(region, [0.0, 100.0, 50.0, 101.0]) == pytest.approx(4.0)
    scaled = [1e6 + 1e-3 * v for v in (0.0, 100.0, 50.0, 101.0)]
    assert sides(region, scaled) == pytest.approx(4.0)  # wherever zero is, whatever the unit


def test_when_it_is_tiny_the_search_begins_anew():
    region = gf.TrustRegion(start=0.4, least=0.15, failures=1)
    values = [0.0, 0.0, 9.0, 1.0, 1.0]
    assert sides(region, values[:4]) == pytest.approx(2.0)
    assert sides(region, values) is None  # 0.1 is too small
    assert sides(region, [*values, 2.0, 3.0]) is None
    places = [[5.0, 0.01]] * 6 + [[2.0, 0.1], [8.0, 0.001]]
    box = region.about(AXES, places, [*values, 2.0, 3.0, 1.0])
    assert box.ends[0][1:] == pytest.approx((0.0, 4.0))  # about the best since then, though an earlier one was better


def test_logarithms_are_shares_of_theirs_and_whole_numbers_move_by_one():
    axes = [*AXES, Axis("n", kind="integer", low=1.0, high=9.0), Axis("k", kind="category", low=0.0, high=2.0)]
    box = gf.TrustRegion(start=0.01).about(axes, [[5.0, 0.01, 4.0, 1.0]] * 5, [0.0] * 5)
    assert [name for name, *_ in box.ends] == ["x", "c", "n"]  # levels are free
    assert box.ends[1][1:] == pytest.approx((0.01 * 10**-0.02, 0.01 * 10**0.02))
    assert box.ends[2][1:] == (3.0, 5.0)


def bowl(x):
    return float(np.sum((np.asarray(x) - 0.7) ** 2))


def test_a_campaign_asks_within_it_and_resumes_to_the_same():
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    trust = gf.TrustRegion(start=0.2, failures=2)
    campaign = gf.Campaign(space, gf.Point(0.01), gf.GP(gf.SE(0.3)), "minimise", seed=1, trust=trust, initial=3,
                           search=gf.Search(32, 1))  # fmt: skip
    places, values = [], []
    for _ in range(8):
        box = trust.about([Axis("a"), Axis("b")], places, [-v for v in values]) if len(values) > 2 else None
        query = campaign.ask()
        if box is not None:
            assert all(low - 1e-9 <= x <= high + 1e-9 for x, (_, low, high) in zip(query.place, box.ends, strict=True))
        places.append(query.place)
        values.append(bowl(query.place))
        campaign.tell(query, values[-1])
    asked = campaign.ask()
    before = MemoryJournal()
    before.append(*campaign.journal.events()[:-1])
    assert gf.Campaign.resume(before).ask().place.tobytes() == asked.place.tobytes()
    assert min(values) < 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"goal": "learn"}, "a goal that seeks an optimum"),
        ({"instruments": gf.Binary()}, "reads numbers"),
        ({"space": gf.Pool([[0.0], [1.0]])}, "a region of a Space"),
        ({"trust": 0.8}, "a TrustRegion"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(given, words):
    usual = {"space": gf.Space(gf.Real("x", 0, 1)), "instruments": gf.Point(0.1), "goal": "minimise",
             "trust": gf.TrustRegion()}  # fmt: skip
    with pytest.raises(gf.InvalidInput, match=words):
        gf.Campaign(**(usual | given))


def test_sides_have_to_be_in_order():
    with pytest.raises(gf.InvalidInput, match=r"least: expected a side of at most start, 0\.4"):
        gf.TrustRegion(start=0.4, least=0.5)
    with pytest.raises(gf.InvalidInput, match=r"most: expected a side of at least start, 2"):
        gf.TrustRegion(start=2.0)

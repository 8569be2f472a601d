"""The pictures of a report: what is drawn where."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.studies.figures import draw_progress, draw_slices
from gainful.studies.slices import slices_through

SPACE = gf.Space(
    gf.Integer("n", 1, 5), gf.Integer("many", 0, 90), gf.Integer("grows", 1, 8, log=True), gf.Real("x", 0, 1),
    gf.Categorical("kind", ["a", "b"]), gf.Real("h", 0, 1, when={"kind": "a"}),
)  # fmt: skip
X = SPACE.candidates(14, 0)
BELIEF = gf.GP(space=SPACE).condition(gf.Data(space=SPACE).add(gf.Point(0.0), X, 1e6 + np.sin(X[:, 3]) + X[:, 0]))


@pytest.fixture
def panels():
    slices = slices_through(BELIEF, SPACE, X[0], X[1:4])
    figure = draw_slices(slices, "yield")
    figure.canvas.draw()
    return {each.called: (each, ax) for each, ax in zip(slices, figure.axes, strict=False)}


def test_whole_numbers_are_points_with_bars_and_real_ones_lines_with_bands(panels):
    assert len(panels["n"][1].containers) == len(panels["grows"][1].containers) == 1
    assert [label.get_text() for label in panels["grows"][1].get_xticklabels()] == ["1", "2", "5"]
    assert not panels["x"][1].containers
    assert not panels["many"][1].containers  # too many to be told apart


def test_bars_have_no_negative_length_where_a_band_is_narrower_than_rounding(panels):
    bars = panels["n"][1].containers[0][2][0].get_segments()
    assert min(segment[1, 1] - segment[0, 1] for segment in bars) >= 0.0


def test_failures_are_marked_where_the_dimension_is_there(panels):
    failed = X[1:4]
    there = failed[:, 4] == 0.0
    assert panels["n"][0].failed.tolist() == failed[:, 0].tolist()
    if "h" in panels:
        assert panels["h"][0].failed.tolist() == failed[there, 5].tolist()
    crosses = [line for line in panels["n"][1].lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [failed[:, 0].tolist()]


def test_the_best_so_far_holds_beyond_the_last_evaluation():
    found = gf.minimise(lambda x: x[0], [(0.0, 1.0)], 3, noise=0.1, model=gf.GP(gf.SE(0.3)))
    (ax,) = draw_progress(found, "f").axes
    assert ax.lines[0].get_xdata()[-1] > ax.get_xlim()[1] > 3
    assert ax.lines[0].get_ydata()[-1] == found.best_so_far[-1]

"""Figures draw every kind of answer, and the example of four kinds of answers runs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import gainful as gf
from gainful.plots import Pen, draw, plot_posterior

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "four_kinds.py"
INF = float("inf")

ANSWERS = {
    "point": (gf.Point(noise=0.2), [[0.1], [0.8]], [0.3, -0.4]),
    "exact point": (gf.Point(noise=0.0), [[0.1], [0.8]], [0.3, -0.4]),
    "interval": (gf.Interval(noise=0.1), [[0.2], [0.6]], [(-1.0, 0.5), (0.0, 2.0)]),
    "open interval": (gf.Interval(noise=0.1), [[0.2], [0.4], [0.6]], [(-INF, 0.5), (0.0, INF), (-INF, INF)]),
    "ordinal": (gf.Ordinal(thresholds=[-0.5, 0.0, 0.7]), [[0.1], [0.5], [0.9]], [1, 2, 4]),
    "one threshold": (gf.Ordinal(thresholds=[0.0]), [[0.1], [0.5]], [1, 2]),
    "binary": (gf.Binary(), [[0.1], [0.5], [0.9]], [True, False, True]),
    "only yes": (gf.Binary(guess=0.1), [[0.1]], [True]),
    "preference": (gf.Preference(), [[[0.1], [0.9]], [[0.2], [0.3]]], [True, False]),
    "detection": (gf.Detection(), [[[0.1], [0.6]], [[0.2], [0.9]], [[0.4], [0.5]]], [True, True, False]),
}


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def posterior(*kinds: str) -> gf.Posterior:
    data = gf.Data()
    for kind in kinds:
        data = data.add(*ANSWERS[kind])
    return gf.GP(gf.SE(lengthscale=0.3)).condition(data)


def legend(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("kind", ANSWERS)
def test_each_kind_of_answer_is_drawn_and_named_once(kind: str) -> None:
    ax = plot_posterior(posterior(kind))
    ax.figure.canvas.draw()
    named = [text for text in legend(ax) if text.startswith(type(ANSWERS[kind][0]).__name__)]
    assert len(named) == 1


def test_the_prior_is_drawn_where_it_is_asked_for() -> None:
    ax = plot_posterior(posterior(), (-1.0, 2.0), truth=lambda X: np.sin(X[:, 0]))
    ax.figure.canvas.draw()
    assert ax.get_xlim() == (-1.0, 2.0)
    assert legend(ax) == ["mean, 68 %, 95 %", "truth"]


def test_without_data_and_limits_there_is_nowhere_to_draw() -> None:
    with pytest.raises(gf.InvalidInput, match="say where to draw"):
        plot_posterior(posterior())


def test_answers_of_one_instrument_in_several_batches_share_a_legend_entry() -> None:
    lab = gf.Point(noise=0.1, name="lab")
    field = gf.Point(noise=0.3, name="field")
    data = gf.Data().add(lab, [0.1], 0.3).add(field, [0.4], 0.2).add(lab, [0.7], 0.1)
    assert legend(plot_posterior(gf.GP(gf.SE()).condition(data))) == ["mean, 68 %, 95 %", "lab", "field"]


def test_all_kinds_together_have_an_entry_each_and_rows_of_their_own() -> None:
    ax = plot_posterior(posterior("point", "interval", "ordinal", "binary", "preference", "detection"))
    assert legend(ax) == [
        "mean, 68 %, 95 %",
        "Point",
        "Interval",
        "Ordinal",
        "Binary (yes, no)",
        "Preference (to the better)",
        "Detection (yes, no)",
    ]


def test_the_legend_covers_neither_the_axes_nor_its_label() -> None:
    ax = plot_posterior(posterior("point", "interval", "ordinal", "binary", "detection"), (0.0, 1.0))
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert box.y1 <= ax.xaxis.label.get_window_extent().y0
    assert box.y1 < ax.get_window_extent().y0
    assert box.x0 >= 0.0
    assert box.x1 <= ax.figure.bbox.width


def test_the_bands_are_the_ones_of_the_posterior_and_clear_of_the_edge_marks() -> None:
    post = posterior("binary", "detection")
    ax = plot_posterior(post, (0.0, 1.0), places=11)
    X = np.linspace(0.0, 1.0, 11)[:, None]
    upper = post.mean(X) + 1.959964 * np.sqrt(post.variance(X))
    wide = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert wide.max() == pytest.approx(upper.max())
    ax.figure.canvas.draw()
    top = ax.transData.transform([0.0, upper.max()])[1]
    rows = 1 + 2  # the yes/no answers, and two sets that overlap
    assert ax.get_window_extent().y1 - top >= rows * 11.0 * ax.figure.dpi / 72.0


def test_a_space_gives_limits_and_a_label_with_its_unit() -> None:
    ax = plot_posterior(posterior("point"), gf.Space(gf.Real("depth", 0, 3, unit="m")), ylabel="pH")
    assert ax.get_xlim() == (0.0, 3.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth (m)", "pH")


def test_axes_that_are_given_are_the_ones_that_come_back() -> None:
    _, ax = plt.subplots()
    assert plot_posterior(posterior("point"), ax=ax, legend=False) is ax
    assert ax.get_legend() is None


def test_beliefs_and_marginal_gps_are_drawn_with_the_data_behind_them() -> None:
    post = posterior("point", "binary")
    assert legend(plot_posterior(gf.Belief([posterior(), post], weights=[0.2, 0.8]))) == legend(plot_posterior(post))
    fitted = gf.fit(gf.GP(gf.SE()), post.data, starts=1)
    assert legend(plot_posterior(gf.hyperposterior(fitted).mgp)) == legend(plot_posterior(post))


def test_other_instruments_are_ticks_at_their_places() -> None:
    _, ax = plt.subplots()
    batch = gf.Data().add(*ANSWERS["point"]).batches[0]
    mark = draw.dispatch(gf.Instrument)(gf.Point(name="new"), [batch], Pen(ax, lambda X: X[:, 0], "black"))
    assert (mark.label, mark.rows) == ("new", 1)
    assert ax.lines[0].get_xdata().tolist() == [0.1, 0.8]


@pytest.mark.parametrize("space", [(1.0, 0.0), (0.0, INF), gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))])
def test_limits_that_make_no_sense_are_refused(space: object) -> None:
    with pytest.raises(gf.InvalidInput, match="space"):
        plot_posterior(posterior("point"), space)


def test_a_function_of_two_variables_is_refused() -> None:
    data = gf.Data().add(gf.Point(), [[0.0, 1.0]], [0.3])
    with pytest.raises(gf.InvalidInput, match="one variable"):
        plot_posterior(gf.GP(gf.SE()).condition(data))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gainful.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[plots\]"):
        importlib.import_module("gainful.plots")


def test_the_example_of_four_kinds_writes_its_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("four_kinds", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    sys.modules["four_kinds"] = example
    try:
        spec.loader.exec_module(example)
        path = example.main(tmp_path / "out")
    finally:
        del sys.modules["four_kinds"]
    assert path.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "did not converge" not in printed
    assert str(path) in printed

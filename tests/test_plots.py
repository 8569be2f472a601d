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
from gainful.beliefs.programs import ProgramBelief
from gainful.beliefs.programs.words import percent
from gainful.plots import Pen, draw, plot_forecast, plot_parts, plot_period, plot_posterior, plot_structures

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


@pytest.fixture(scope="module")
def programs() -> ProgramBelief:
    t = np.arange(30.0)
    data = gf.Data().add(gf.Point(name="lab", unit="kg"), t[:, None], 0.1 * t + np.sin(2.0 * np.pi * t / 6.0))
    grid = gf.ProgramGrid(
        ["(+ (LIN 0.0) (PER 1.0 6.0))", "(+ (LIN 0.0) (PER 0.9 6.05))", "(+ (LIN 1.0) (SE 1.0))"],
        noise=0.5, space=gf.Space(gf.Real("time", 0.0, 30.0, unit="days")),
    )  # fmt: skip
    return grid.condition(data)


def test_structures_are_bars_with_their_probabilities_and_the_others_are_one(programs: ProgramBelief) -> None:
    ax = plot_structures(programs)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(programs.structures)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, list(programs.structures.values()))
    ax = plot_structures(programs, most=1)
    assert [text.get_text() for text in ax.get_yticklabels()][-1] == "1 other"
    assert [text.get_text() for text in plot_structures(programs, sums=True).get_yticklabels()] == list(programs.sums)


def test_parts_are_drawn_one_above_the_other_with_their_words_and_shares(programs: ProgramBelief) -> None:
    X = np.linspace(0.0, 36.0, 50)
    drawn = plot_parts(programs, X, least=0.0, ylabel="weight (kg)")
    parts = programs.parts(X[:, None], centred=True)[1:]
    assert [ax.get_title("left").replace("\n", " ") for ax in drawn] == [part.phrase for part in parts]
    assert [ax.get_title("right") for ax in drawn] == [str(part).rpartition(": ")[2] for part in parts]
    np.testing.assert_allclose(drawn[0].lines[1].get_ydata(), parts[0].mean)
    assert drawn[-1].get_xlabel() == "time (days)"
    assert len({ax.get_ylim() for ax in drawn}) == 1
    nothing = plot_parts(programs, X, least=1.01)
    assert "no part is probable enough" in nothing[0].texts[0].get_text()


def test_a_forecast_has_the_bands_the_answers_and_what_is_ahead(programs: ProgramBelief) -> None:
    X = np.linspace(0.0, 36.0, 50)
    ax = plot_forecast(programs, X, ylabel="weight (kg)")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), programs.forecast(X[:, None]).mean)
    assert len(ax.lines[1].get_xdata()) == 30
    words = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert words == ["answers", "mean", "function, 95 %", "readings, 95 %", "ahead"]
    assert [text.get_text() for text in plot_forecast(programs, X[:20]).figure.legends[0].get_texts()][-1] != "ahead"
    with pytest.raises(gf.InvalidInput, match="one variable"):
        plot_forecast(programs, np.zeros((3, 2)))


def test_the_period_is_a_histogram_by_weight(programs: ProgramBelief) -> None:
    ax = plot_period(programs)
    assert ax.get_xlabel() == "period (days)"
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1.0)
    share = programs.features["a cycle"]
    assert ax.get_title("left") == f"if there is a cycle: {percent(share)}"
    hours = plot_period(programs, unit="weeks", factor=7.0)
    assert hours.get_xlabel() == "period (weeks)"
    none = plot_period(gf.ProgramGrid(["(SE 1.0)"]).condition(programs.data))
    assert "no program has a cycle" in none.texts[0].get_text()


def test_programs_with_dates_along_the_axis(programs: ProgramBelief) -> None:
    def dates(days: np.ndarray) -> np.ndarray:
        return np.datetime64("2024-01-01") + (24.0 * days).astype("timedelta64[h]")

    ax = plot_forecast(programs, np.linspace(0.0, 36.0, 20), along=dates, xlabel="day")
    assert ax.get_xlabel() == "day"
    ax.figure.canvas.draw()
    assert any("2024" in text.get_text() for text in [*ax.get_xticklabels(), ax.xaxis.get_offset_text()])

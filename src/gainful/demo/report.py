"""Writes the demonstration's report: one HTML file that needs no network and no other file."""

from __future__ import annotations

import base64
import csv
import platform
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO, StringIO
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

import gainful as gf
from gainful.demo.survey import (
    BUDGET,
    GOALS,
    GRADES,
    INSTRUMENTS,
    LAB,
    LENGTHSCALE,
    LOOK,
    NEUTRAL,
    PER_SIDE,
    SIDE,
    SPREAD,
    STRIP,
    Comparison,
    Moment,
    Result,
    Step,
)
from gainful.lab.statistics import mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gainful.demo.figures import Places, Scale

__all__ = ["middle", "page", "table"]

OURS, THEIRS = GOALS
_EXTENT = (0.0, SIDE, 0.0, SIDE)
_COLUMNS = (
    *("field", "strategy", "query", "instrument", "east_km", "north_km", "answer"),
    *("cost", "spent", "expected_bits", "rmse_ph"),
)


def middle(comparisons: Sequence[Comparison]) -> Comparison:
    """The field with the median ratio of errors; of two in the middle the one that is less in our favour."""
    ordered = sorted(comparisons, key=lambda each: each.last[OURS].error / each.last[THEIRS].error)
    return ordered[len(ordered) // 2]


def table(comparisons: Iterable[Comparison]) -> str:
    """Every query of every survey as CSV."""
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for each in comparisons:
        for strategy, last in each.last.items():
            for number, step in enumerate(last.steps, start=1):
                plan = step.plan
                place = [f"{x:.4f}" for x in plan.place]
                numbers = [f"{plan.cost:g}", f"{step.spent:g}", f"{plan.bits:.4f}", f"{step.error:.4f}"]
                rows.writerow([each.seed, strategy, number, plan.instrument, *place, step.answer, *numbers])
    return out.getvalue()


def page(comparisons: Sequence[Comparison], shown: Comparison, command: str) -> str:
    """The whole report. `shown` is the field in the pictures, with the reasons for its queries."""
    result = Result.of(comparisons)
    seeds = [each.seed for each in comparisons]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gainful: a soil survey</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header>
<h1>A soil survey on a budget of {BUDGET:g}</h1>
<p class="lead">Where to measure next, and with which instrument: chosen by gainful, and at random, on the same
{len(comparisons)} simulated fields.</p>
</header>
<p class="result">{escape(_sentence(result))}</p>
{_what()}
{_all_fields(comparisons, shown, result)}
{_one_field(shown, len(comparisons))}
{_queries(shown)}
{_how(seeds, command)}
</main>
</body>
</html>
"""


def _sentence(result: Result) -> str:
    ours, theirs = result.errors.values()
    ratio = result.ratio
    return (
        f"After spending {BUDGET:g}, the error is {ours.value:.2f} pH with gainful and {theirs.value:.2f} pH "
        f"by chance. The ratio is {ratio.value:.2f} (95 % interval {ratio.low:.2f} to {ratio.high:.2f}), and gainful "
        f"is closer to the truth on {result.better} of {result.fields} fields."
    )


def _what() -> str:
    acid, alkaline = LOOK.thresholds
    rows = (
        (LAB, "a sample to the laboratory", f"a number ± {LAB.noise:g}"),
        (STRIP, "a test strip", f"an interval of width {STRIP.width:g} that holds a reading ± {STRIP.noise:g}"),
        (
            LOOK,
            "a look at what grows there",
            f"{GRADES[0]} (below {acid:g}), {GRADES[1]}, or {GRADES[2]} (above {alkaline:g}), from an impression "
            f"± {LOOK.noise:g}",
        ),
    )
    body = "".join(
        f"<tr><td>{_dot(i)} {escape(str(tool.name))}</td><td>{does}</td><td>{escape(says)}</td>"
        f'<td class="n">{tool.cost:g}</td></tr>'
        for i, (tool, does, says) in enumerate(rows)
    )
    return f"""<section>
<h2>What was done</h2>
<p>Soil pH varies over a square of {SIDE:g} km × {SIDE:g} km. Three instruments can measure it anywhere; they differ in
what they say and in what they cost:</p>
<div class="scroll"><table>
<thead><tr><th>Instrument</th><th>What it is</th>
<th>What it says (pH; ± is a standard deviation)</th><th class="n">Cost</th></tr></thead>
<tbody>{body}</tbody>
</table></div>
<p>gainful keeps a Gaussian process belief about the whole map. For every place and every instrument it works out how
many bits the answer is expected to tell about the map, and buys where a unit of cost buys most. Random draws one of the
instruments that can still be paid for, and a place, by chance. Both keep the same kind of belief and learn from the
same kinds of answers: only the choice of queries differs.</p>
</section>"""


def _all_fields(comparisons: Sequence[Comparison], shown: Comparison, result: Result) -> str:
    from gainful.demo.figures import draw_curves, draw_pairs, draw_spending

    costs = np.arange(0.0, BUDGET + 0.5, 0.5)
    curves = {name: [each.error(name, costs) for each in comparisons] for name in GOALS}
    ours, theirs = ([each.last[name].error for each in comparisons] for name in (OURS, THEIRS))
    marked = next(i for i, each in enumerate(comparisons) if each.seed == shown.seed)
    lines = _image(
        draw_curves(costs, curves, "spent", "error: RMSE over the map (pH)"),
        "Error against cost",
        f"The mean over {len(comparisons)} fields with its 95 % interval, and every field by itself.",
    )
    dots = _image(
        draw_pairs(ours, theirs, (OURS, THEIRS), "pH", marked),
        "Error at the end",
        f"One dot per field. The ring is field {shown.seed}, pictured below.",
    )
    bars = _image(
        draw_spending({name: _spending(name, comparisons) for name in GOALS}, "spent, mean over fields"),
        "Where the budget went",
        "In brackets, how often each instrument was used.",
    )
    return f"""<section>
<h2>All {len(comparisons)} fields</h2>
<div class="two">{lines}{dots}</div>
<div class="two turned">{bars}<div>{_summary(comparisons, result)}</div></div>
</section>"""


def _spending(strategy: str, comparisons: Sequence[Comparison]) -> dict[str, tuple[float, float]]:
    """Instrument → (cost, number of queries), means over fields."""
    out = {}
    for instrument in INSTRUMENTS:
        used = [len(each.last[strategy].places(instrument.label)) for each in comparisons]
        out[instrument.label] = instrument.cost * float(np.mean(used)), float(np.mean(used))
    return out


def _summary(comparisons: Sequence[Comparison], result: Result) -> str:
    last = {name: [each.last[name] for each in comparisons] for name in GOALS}
    error = {name: f"{e.value:.2f} ± {e.high - e.value:.2f}" for name, e in result.errors.items()}
    rows = {
        "Error: RMSE over the map (pH)": [error[name] for name in GOALS],
        "Truth within the 95 % band": [f"{100 * mean([m.covered for m in last[name]]).value:.0f} %" for name in GOALS],
        "Expected information (bits)": [f"{mean([m.bits for m in last[name]]).value:.1f}" for name in GOALS],
        "Queries": [f"{mean([float(len(m.steps)) for m in last[name]]).value:.1f}" for name in GOALS],
        "Spent": [f"{mean([m.spent for m in last[name]]).value:.1f}" for name in GOALS],
    }
    body = "".join(
        f"<tr><td>{what}</td>{''.join(f'<td class=n>{each}</td>' for each in cells)}</tr>"
        for what, cells in rows.items()
    )
    return f"""<div class="scroll"><table>
<thead><tr><th>At the end, mean over fields</th><th class="n">{OURS}</th><th class="n">{THEIRS}</th></tr></thead>
<tbody>{body}</tbody>
</table></div>
<p class="note">± is half of the 95 % interval of the mean over fields. The interval of the ratio above is paired: a
field that is hard is hard for both. Bits are what the answers were expected to tell about the map before they came,
added up. Whoever cannot pay for any instrument with what is left keeps it.</p>"""


def _one_field(shown: Comparison, fields: int) -> str:
    from gainful.demo.figures import Scale, draw_map

    ours, theirs = shown.last[OURS], shown.last[THEIRS]
    reach = float(np.ceil(2.0 * np.max(np.abs(shown.truth - NEUTRAL))) / 2.0)
    acidity = Scale("RdYlBu", NEUTRAL - reach, NEUTRAL + reach, "pH (red: acid, blue: alkaline)")
    doubt = Scale("Greys", 0.0, SPREAD, "standard deviation (pH)")
    maps = [
        _image(draw_map(shown.truth, _EXTENT, acidity), "The truth", "Neither of them knows it."),
        _map(ours.mean, acidity, ours, True, f"The belief of {OURS}", f"Error {ours.error:.2f} pH."),
        _map(theirs.mean, acidity, theirs, True, f"The belief of {THEIRS}", f"Error {theirs.error:.2f} pH."),
        f"""<div class="aside"><h3>Reading the maps</h3>
<p>Marks are queries. Above, colours are pH, on the same scale in all three maps. Below, numbers give the order of the
queries, and the darker, the less is known: at worst {SPREAD:g} pH, which is what anybody knows without measuring.</p>
<p>For {BUDGET:g}, {OURS} asked {len(ours.steps)} times and {THEIRS} {len(theirs.steps)} times.</p></div>""",
        _map(ours.sd, doubt, ours, False, f"The uncertainty of {OURS}", "And where it used which instrument."),
        _map(theirs.sd, doubt, theirs, False, f"The uncertainty of {THEIRS}", "And where it used which instrument."),
    ]
    return f"""<section>
<h2>One field, closely</h2>
<p>Field {shown.seed} is neither the best case nor the worst: of the {fields} fields it has the median ratio of the two
errors{" (the less favourable of the two in the middle)" if fields % 2 == 0 else ""}.</p>
<div class="three">{"".join(maps)}</div>
</section>"""


def _map(values: NDArray[np.float64], scale: Scale, last: Moment, plain: bool, *words: str) -> str:
    from gainful.demo.figures import draw_map

    return _image(draw_map(values, _EXTENT, scale, _places(last), plain), *words)


def _places(last: Moment) -> list[Places]:
    from gainful.demo.figures import Places

    def numbers(instrument: str) -> list[int]:
        return [i for i, step in enumerate(last.steps, start=1) if step.plan.instrument == instrument]

    return [Places(each.label, last.places(each.label), numbers(each.label)) for each in INSTRUMENTS]


def _queries(shown: Comparison) -> str:
    tables = {name: _query_table(shown.last[name].steps) for name in GOALS}
    return f"""<section>
<h2>Query by query, on field {shown.seed}</h2>
<p>What {OURS} asked, what it believed just before (mean ± standard deviation), what came back, and why it chose as it
did: the bits that a unit of cost was expected to buy, here and with the other instruments at their own best places.</p>
{tables[OURS]}
<details><summary>The same for {THEIRS}</summary>{tables[THEIRS]}</details>
</section>"""


def _query_table(steps: Sequence[Step]) -> str:
    names = [each.label for each in INSTRUMENTS]
    body = ""
    for number, step in enumerate(steps, start=1):
        plan = step.plan
        body += (
            f'<tr><td class="n">{number}</td><td>{_dot(names.index(plan.instrument))} {plan.instrument}</td>'
            f'<td class="n">{plan.place[0]:.2f}</td><td class="n">{plan.place[1]:.2f}</td>'
            f'<td class="n">{plan.believed[0]:.1f} ± {plan.believed[1]:.1f}</td><td>{escape(step.answer)}</td>'
            f'<td class="n">{plan.bits:.2f}</td><td>{escape(plan.reason)}</td>'
            f'<td class="n">{step.spent:g}</td><td class="n">{step.error:.2f}</td></tr>'
        )
    return f"""<div class="scroll"><table class="queries">
<thead><tr><th class="n"></th><th>Instrument</th><th class="n">East (km)</th><th class="n">North (km)</th>
<th class="n">Believed</th><th>Answer</th><th class="n">Bits</th><th>Why</th><th class="n">Spent</th>
<th class="n">Error</th></tr></thead>
<tbody>{body}</tbody>
</table></div>"""


def _how(seeds: Sequence[int], command: str) -> str:
    facts = {
        "Run again": f"<code>{escape(command)}</code>",
        "Seeds": f"{seeds[0]} to {seeds[-1]}, one per field; all of them count",
        "Fields": f"draws from a Gaussian process with mean {NEUTRAL:g} pH, standard deviation {SPREAD:g} pH and a "
        f"squared-exponential covariance of lengthscale {LENGTHSCALE:g} km",
        "Beliefs": "start from that same process and know the instruments’ noise: what is tested is the choice of "
        "queries, not the learning of hyperparameters",
        "Error": f"root of the mean squared difference between the belief’s mean and the truth on a grid of "
        f"{PER_SIDE} × {PER_SIDE} places",
        "Numbers": "all queries of all surveys are in <code>queries.csv</code> next to this page",
        "Made with": f"gainful {gf.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items())
    return f"<section>\n<h2>How to check it</h2>\n<dl>{rows}</dl>\n</section>"


def _image(figure: Figure, title: str, words: str) -> str:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=170)
    encoded = base64.b64encode(content.getvalue()).decode()
    image = f'<img alt="{escape(title)}. {escape(words)}" src="data:image/png;base64,{encoded}">'
    return f"<figure>{image}<figcaption><b>{escape(title)}.</b> {escape(words)}</figcaption></figure>"


def _dot(i: int) -> str:
    """The mark of the i-th instrument, as it is in the maps."""
    from gainful.plots import COLOURS

    return f'<span class="mark" style="color:{COLOURS[i]}" aria-hidden="true">{"●■◆"[i]}</span>'


_STYLE = """
:root { --ink: #1d2430; --soft: #5b6472; --line: #dde1e7; --blue: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 .5rem; letter-spacing: -.015em; }
h2 { font-size: 1.35rem; margin: 0 0 .6rem; letter-spacing: -.005em; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p { max-width: 44rem; margin: .6rem 0; }
section { margin-top: 3rem; }
.lead { font-size: 1.15rem; color: var(--soft); }
.result { max-width: none; margin: 1.8rem 0 0; padding: 1rem 1.25rem; border-left: 4px solid var(--blue);
  background: #f1f6fa; font-size: 1.15rem; line-height: 1.45; }
.note, figcaption, summary { font-size: .875rem; color: var(--soft); }
.two, .three { display: grid; gap: 1.5rem 2rem; margin-top: 1.2rem; align-items: start; }
.two { grid-template-columns: 3fr 2fr; }
.turned { grid-template-columns: 1fr 2fr; align-items: center; }
.three { grid-template-columns: repeat(3, 1fr); }
.aside { align-self: center; font-size: .95rem; }
figure { margin: 0; }
figcaption b { color: var(--ink); }
figcaption { margin-top: .3rem; line-height: 1.4; }
img { width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); vertical-align: bottom; }
th, td { padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.queries { font-size: .875rem; }
.queries td:nth-child(2), .queries td:nth-child(6) { white-space: nowrap; }
.queries td:nth-child(8) { min-width: 13rem; color: var(--soft); }
.mark { display: inline-block; width: 1.1em; text-align: center; }
details { margin-top: 1.2rem; }
summary { cursor: pointer; margin-bottom: .6rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .45rem 1.5rem; font-size: .93rem; }
dt { color: var(--soft); }
dd { margin: 0; max-width: 44rem; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f1f3f6; padding: .1em .35em;
  border-radius: .25em; overflow-wrap: anywhere; }
@media (max-width: 52rem) { .three { grid-template-columns: 1fr 1fr; } .two, .turned { grid-template-columns: 1fr; }
  .turned figure { max-width: 24rem; } }
@media (max-width: 34rem) { .three { grid-template-columns: 1fr; } main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.7rem; } dl { grid-template-columns: 1fr; gap: .1rem; } dd { margin-bottom: .6rem; } }
@media print { main { padding: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""

"""Writes what an optimisation has found: one HTML file that needs no network and no other file."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

import gainful as gf
from gainful.campaign import Campaign
from gainful.campaign.best import Best, with_error
from gainful.campaign.state import Status
from gainful.errors import GainfulError, shorten
from gainful.space import At, Places, Space, code_in
from gainful.studies.minimum import Minimum
from gainful.studies.run import Evaluation, Run
from gainful.studies.slices import slices_through
from gainful.studies.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["interacting", "page", "summary"]

_BEST = 10  # evaluations of the short table
_MOST = 1000  # of the long one
_WORDS = 5  # lines of the last failure, where there is nothing else to say
_LIKELY = 0.5  # that two dimensions act together, to be said while it runs


def interacting(campaign: Campaign, least: float = _LIKELY) -> list[tuple[str, str, float]]:
    """Pairs of dimensions that act together with at least this probability, the surest first; none where the model
    does not say."""
    together = getattr(campaign.belief, "together", None)
    if together is None or not campaign.history:
        return []
    called = list(getattr(campaign.belief, "names", campaign.history[0].query.at))
    p = np.asarray(together, dtype=float)
    if p.shape != (len(called), len(called)):
        return []
    pairs = [(called[i], called[j], float(p[i, j])) for i in range(len(p)) for j in range(i)]
    return sorted((pair for pair in pairs if pair[2] >= least), key=lambda pair: -pair[2])


def summary(run: Run, found: Minimum) -> list[str]:
    """What was found, in a few lines."""
    lines = [_ended(found)]
    if found.place is None:
        return [*lines, *_last_words(run)]
    lines.insert(0, f"{_word(run)} value: {_value(run, found.fun)} at {found.where}")
    if found.sd > 0.0:
        unit = run.campaign.instruments[0].unit
        lines.insert(1, f"believed to be {with_error(found.mean, found.sd, unit)} there, noise left aside")
    return lines


def _last_words(run: Run) -> list[str]:
    """Of the last failure, where no evaluation gave a value."""
    failed = [each.outcome for each in run.evaluations if each.outcome is not None and each.outcome.failed]
    if not failed:
        return ["No evaluation gave a value."]
    words = failed[-1].words.splitlines()[-_WORDS:]
    return ["No evaluation gave a value." + (" The last words of the last one:" if words else ""), *words]


def page(run: Run, found: Minimum, command: str) -> str:
    """The whole report."""
    study = run.study
    title = study.title
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gainful: {escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{escape(title)}</h1>
<p class="lead">Where {escape(run.campaign.instruments[0].label)} is {_word(run).lower()}, by {found.nfev} evaluations
over {_count(_varying(study.space), "dimension")}.</p>
</header>
<p class="result">{_headline(run, found)}</p>
{_found(run, found) if found.place is not None else ""}
{_failures(run)}
{_how(run, found, command)}
</main>
</body>
</html>
"""


def _found(run: Run, found: Minimum) -> str:
    return f"""{_place(run, found)}
{_progress(run, found)}
{_effects(run, found)}
{_together(run)}
{_evaluations(run, found)}"""


def _headline(run: Run, found: Minimum) -> str:
    if found.place is None:
        return escape(_ended(found)) + " No evaluation gave a value."
    return f"<b>{escape(_value(run, found.fun))}</b> at {escape(found.where)}"


def _place(run: Run, found: Minimum) -> str:
    assert found.place is not None
    whole = getattr(run.study.space, "whole", run.study.space)
    dimensions = {d.name: d for d in whole.single} if isinstance(whole, Space) else {}
    rows = []
    for name, value in found.place.items():
        d = dimensions.get(name)
        if d is None or value is None:
            continue
        levels = getattr(d, "levels", None)
        said = "fixed" if isinstance(d, At) else ", ".join(map(str, levels)) if levels else f"{d.low:g} to {d.high:g}"
        edge = "at the end of its range" if not levels and not isinstance(d, At) and value in (d.low, d.high) else ""
        shown = d.words(d.code(value))
        rows.append(
            f'<tr><td>{escape(name)}</td><td class="n"><b>{escape(shown)}</b></td><td>{escape(said)}</td>'
            f'<td class="warn">{edge}</td></tr>'
        )
    left = _left(run)
    return f"""<section>
<h2>The best place evaluated</h2>
<div class="scroll half"><table><thead><tr><th>Dimension</th><th class="n">Best</th><th>Looked at</th><th></th></tr>
</thead><tbody>{"".join(rows)}</tbody></table></div>
{f"<p>{escape(left)}</p>" if left else ""}
</section>"""


def _left(run: Run) -> str:
    """What more evaluations could gain, where that can be computed."""
    try:
        best: Best = run.campaign.best(run.study.goal)
    except GainfulError:
        return ""  # readings without noise so close together that functions cannot be drawn between them
    unit = f" {best.unit}" if best.unit else ""
    believed = f"{with_error(best.mean, best.sd)}{unit}"
    where = "there" if best.measured else f"at {best.where}, which was not evaluated itself"
    return (
        f"Of all places the best is believed to be {where}: {believed}. The truly best place is expected to be better "
        f"than that by {best.regret:.2g}{unit}, which is what more evaluations could gain on average."
    )


def _progress(run: Run, found: Minimum) -> str:
    from gainful.studies.figures import draw_progress

    failed = " Crosses along the top are evaluations that failed." if found.nfail else ""
    words = f"Grey are the values in the order of asking, blue the best so far.{failed}"
    image = _image(draw_progress(found, _called(run)), "The best so far", words)
    return f"<section>\n<h2>How it went</h2>\n<p>{escape(_ended(found))}</p>\n{image}\n</section>"


def _effects(run: Run, found: Minimum) -> str:
    from gainful.studies.figures import draw_slices

    space = run.study.space
    failed = found.places[np.isnan(found.values)]
    slices = slices_through(run.campaign.belief, space, code_in(space, found.place)[0], failed)
    if not slices:
        return ""
    slices.sort(key=lambda each: -each.range)
    words = "Each panel varies one dimension and keeps the others as they are at the best place, which is marked in "
    words += "orange. The line is the mean, the band holds the function with 95 %. All have one scale; what matters "
    words += "most is first."
    words += " Crosses along the bottom are where evaluations failed." if len(failed) else ""
    image = _image(draw_slices(slices, _called(run)), "Around the best place", words)
    return f"<section>\n<h2>What each dimension does there</h2>\n{image}\n</section>"


def _together(run: Run) -> str:
    pairs = interacting(run.campaign, least=0.05)[:12]
    if not pairs:
        return ""
    rows = "".join(
        f'<tr><td class="bar"><span style="width:{100 * p:.0f}%"></span></td><td class="n">{p:.0%}</td>'
        f"<td>{escape(a)} and {escape(b)}</td></tr>"
        for a, b, p in pairs
    )
    return f"""<section>
<h2>What acts together</h2>
<p>The probability that the effect of one dimension depends on the other. Pairs below 5 % are left out.</p>
<div class="scroll half"><table><tbody>{rows}</tbody></table></div>
</section>"""


def _evaluations(run: Run, found: Minimum) -> str:
    every = run.evaluations
    told = [each for each in every if each.entry.status is Status.TOLD]
    best = sorted(told, key=lambda each: -run.sign * each.entry.answer)[:_BEST]
    short = _table(run, found, best)
    if len(every) <= _BEST:
        return f"<section>\n<h2>All evaluations</h2>\n{_table(run, found, every)}\n</section>"
    more = f" of {len(every)}; evaluations.csv has the rest" if len(every) > _MOST else ""
    return f"""<section>
<h2>The best evaluations</h2>
{short}
<details><summary>All {min(len(every), _MOST)} evaluations{more}</summary>
{_table(run, found, every[:_MOST])}
</details>
</section>"""


def _table(run: Run, found: Minimum, evaluations: Sequence[Evaluation]) -> str:
    whole = getattr(run.study.space, "whole", run.study.space)
    fixed = {d.name for d in whole.single if isinstance(d, At)} if isinstance(whole, Space) else set()
    units = dict(zip(whole.names, getattr(whole, "units", [""] * len(whole.names)), strict=True))
    names = [name for name in whole.names if name not in fixed]
    called = [
        f"{escape(n)}{'<br>' if len(n) > 8 else ' '}({escape(units[n])})" if units[n] else escape(n) for n in names
    ]
    heads = "".join(f'<th class="n">{each}</th>' for each in called)
    rows = "".join(_row(each, names, found) for each in evaluations)
    return (
        f'<div class="scroll"><table><thead><tr><th class="n">#</th>{heads}<th class="n">{escape(_called(run))}</th>'
        f'<th class="n">seconds</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(each: Evaluation, names: Sequence[str], found: Minimum) -> str:
    at, outcome = each.entry.query.at, each.outcome
    cells = "".join(f'<td class="n">{escape(_cell(at[name]))}</td>' for name in names)
    came = '<span class="soft">under way</span>'
    if outcome is not None:
        came = '<span class="warn">failed</span>' if outcome.value is None else escape(f"{outcome.value:.6g}")
    seconds = "" if outcome is None else f"{outcome.seconds:.3g}"
    mark = ' class="best"' if dict(at) == found.place else ""
    numbers = f'<td class="n">{came}</td><td class="n">{seconds}</td>'
    return f'<tr{mark}><td class="n">{each.number + 1}</td>{cells}{numbers}</tr>'


def _failures(run: Run) -> str:
    failed = [each for each in run.evaluations if each.outcome is not None and each.outcome.failed]
    if not failed:
        return ""
    items = "".join(_failure(each) for each in failed)
    return f"""<section>
<h2>What failed</h2>
<p>Nothing is believed of these places. They are not evaluated again, nor are places near them, as long as no other
that gave a value is nearer.</p>
{items}
</section>"""


def _failure(each: Evaluation) -> str:
    assert each.outcome is not None
    words = f"<pre>{escape(each.outcome.words)}</pre>" if each.outcome.words else ""
    head = f"<b>{each.number + 1}</b> {escape(each.outcome.reason)}, at {escape(each.entry.query.words)}"
    if not words:
        return f'<p class="failure">{head}</p>'
    return f'<details class="failure"><summary>{head}</summary>{words}</details>'


def _how(run: Run, found: Minimum, command: str) -> str:
    study, seconds = run.study, sum(outcome.seconds for outcome in run.kept.values())
    stated = study.instruments[0].table.values.get("noise")
    noise = "learned" if stated is None else f"{stated:g}" if stated else "none: the same place gives the same value"
    facts = {
        "Run again": f"<code>{escape(command)}</code>, which goes on if more evaluations are wanted",
        "Evaluated": f"<code>{escape(shorten(_evaluated(run), 300))}</code>",
        "Seed": f"{study.seed}; another one chooses other places",
        "Noise": escape(noise),
        "Time": f"{seconds:.3g} s of evaluations",
        "Files": "evaluations.csv, journal.jsonl, outcomes.jsonl",
        "Made with": f"gainful {gf.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items())
    return f"<section>\n<h2>How to check it</h2>\n<dl>{rows}</dl>\n</section>"


def _evaluated(run: Run) -> str:
    """The command or the function, as the study has it."""
    said = run.study.instruments[0].table.values
    words = [each if isinstance(each, list) else [each] for each in said.get("command", [])]
    return said.get("function") or " ".join(word for group in words for word in group)


def _image(figure: Figure, title: str, words: str) -> str:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=160)
    encoded = base64.b64encode(content.getvalue()).decode()
    image = f'<img alt="{escape(title)}. {escape(words)}" src="data:image/png;base64,{encoded}">'
    return f"<figure>{image}<figcaption><b>{escape(title)}.</b> {escape(words)}</figcaption></figure>"


def _word(run: Run) -> str:
    return "Largest" if run.sign > 0 else "Smallest"


def _called(run: Run) -> str:
    """What values are called: the instrument, and its unit."""
    instrument = run.campaign.instruments[0]
    return f"{instrument.label} ({instrument.unit})" if instrument.unit else instrument.label


def _value(run: Run, value: float) -> str:
    unit = run.campaign.instruments[0].unit
    return f"{value:.6g}{' ' + unit if unit else ''}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _ended(found: Minimum) -> str:
    return found.message[:1].upper() + found.message[1:] + "."


def _varying(space: Places) -> int:
    whole = getattr(space, "whole", space)
    return sum(not isinstance(d, At) for d in whole.single) if isinstance(whole, Space) else len(space.names)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"

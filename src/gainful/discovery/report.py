"""Writes what was discovered: one HTML file that needs no network and no other file."""

from __future__ import annotations

import base64
import platform
import re
from html import escape as escaped
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import scipy

import gainful as gf
from gainful.beliefs.programs.words import percent, span
from gainful.discovery.search import Discovery

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["headline", "next_words", "page"]

_FURTHER = re.compile(r", | and changes")  # where a phrase goes on to what a headline can do without
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_AHEAD = 6  # rows of the forecast's table


def headline(found: Discovery) -> str:
    """What was found, in a sentence."""
    parts = [(_FURTHER.split(words)[0], p) for words, p in found.description.parts]
    sure = list(dict.fromkeys(words for words, p in parts if p >= 0.9))
    open_ = [words for words in dict.fromkeys(words for words, p in parts if 0.3 <= p < 0.9) if words not in sure]
    some = [name for name, p in found.description.features.items() if p >= 0.9]
    said = f"Sure: {_joined(sure)}." if sure else "No part is sure."
    if some and not sure:
        said = f"Sure: {_joined(some)}, in one form or another."
    return f"{said} Perhaps: {_joined(open_)}." if open_ else said


def next_words(found: Discovery) -> list[str]:
    """Which reading would tell most, inside the range and ahead of it."""
    following = found.next
    out = []
    for best in following.best:
        where = "ahead" if following.ahead[best] else "inside the range"
        place = ", ".join(
            axis.place([x] * 3) for axis, x in zip(found.series.axes, following.places[best], strict=True)
        )
        out.append(f"{_capital(where)}: at {place}, {following.bits[best]:.2f} bits.")
    return out


def page(found: Discovery, command: str, seconds: float) -> str:
    """The whole report."""
    series = found.series
    title = f"What “{series.answer}” shows"
    along = _joined([axis.name for axis in series.axes])
    partly = "" if found.done >= 1.0 else (
        f'<p class="note">The search was interrupted after {100 * found.done:.0f} % of its work: what follows is what'
        " was believed then, weighed by all the answers.</p>")  # fmt: skip
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gainful: {escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{escape(title)}</h1>
<p class="lead">{len(series.y)} answers along {escape(along)}, taken apart by gainful.</p>
</header>
<p class="result">{escape(headline(found))}</p>
{partly}
{_parts(found)}
{_forecast(found)}
{_sureness(found)}
{_next(found)}
{_how(found, command, seconds)}
</main>
</body>
</html>
"""


def _parts(found: Discovery) -> str:
    description = found.description
    rows = "".join(
        f'<tr><td class="bar"><span style="width:{100 * p:.0f}%"></span></td><td class="n">{percent(p)}</td>'
        f"<td>{escape(_capital(words))}</td></tr>"
        for words, p in description.parts
    )
    others = (
        f'<p class="note">{description.others} more kinds of parts are less probable than 5 % each.</p>'
        if description.others
        else ""
    )
    figure = ""
    if found.series.is_line:
        from gainful.discovery.figures import draw_parts

        words = (
            "Each above its own average, with the band that holds it with 95 % if there is such a part. All have one"
        )
        figure = _image(draw_parts(found), "The parts", f"{words} scale. Grey is ahead of the answers.")
    return f"""<section>
<h2>Its parts, and how sure each is</h2>
<div class="scroll"><table><tbody>{rows}</tbody></table></div>
{others}
<p class="note">Numbers are medians, with the range that holds 90 % if there is such a part.
{escape(" ".join(description.noises))}</p>
{figure}
</section>"""


def _forecast(found: Discovery) -> str:
    if not found.series.is_line:
        from gainful.discovery.figures import draw_fit

        words = "Every row: on the line, both are the same."
        return f'<section><h2>How well it fits</h2><div class="half">{_image(draw_fit(found), "Answers against what is believed", words)}</div></section>'  # noqa: E501
    from gainful.discovery.figures import draw_forecast

    figure = _image(
        draw_forecast(found), "What is expected", "The answers, the mean, and bands that hold 95 % of the function "
        "and of readings, noise included.",
    )  # fmt: skip
    return f"<section>\n<h2>What to expect</h2>\n{figure}\n{_ahead(found)}</section>"


def _ahead(found: Discovery) -> str:
    if not found.ahead > 0.0:
        return ""
    axis = found.series.axes[0]
    low, high = axis.ends
    places = high + (high - low) * found.ahead * (np.arange(_AHEAD) + 1.0) / _AHEAD
    said = found.belief.forecast(places[:, None])
    rows = "".join(
        f"<tr><td>{escape(axis.place([x] * 3))}</td>"
        f'<td class="n">{escape(span([low, mean, high], found.series.unit, more=1))}</td></tr>'
        for x, low, mean, high in zip(places, said.reading_low, said.mean, said.reading_high, strict=True)
    )
    return f"""<div class="scroll half"><table>
<thead><tr><th>Ahead</th><th class="n">Expected reading (95 %)</th></tr></thead><tbody>{rows}</tbody></table></div>"""


def _sureness(found: Discovery) -> str:
    from gainful.discovery.figures import draw_period, draw_sums

    rows = "".join(
        f'<tr><td class="bar"><span style="width:{100 * p:.0f}%"></span></td><td class="n">{percent(p)}</td>'
        f"<td>{escape(_capital(name))}</td></tr>"
        for name, p in found.description.features.items()
    )
    sums = _image(draw_sums(found), "Sums of parts", "C is left out; LIN is a line, PER a cycle, SE smooth variation.")
    period = ""
    if found.series.is_line and found.description.features["a cycle"] > 0.0:
        period = _image(draw_period(found), "The period", "Over the programs that have a cycle, by their probability.")
    return f"""<section>
<h2>How sure it is</h2>
<p>{escape(found.description.certainty)} Whatever the parts are, the answers have:</p>
<div class="scroll half"><table><tbody>{rows}</tbody></table></div>
<div class="two">{sums}{period}</div>
</section>"""


def _next(found: Discovery) -> str:
    figure = ""
    if found.series.is_line:
        from gainful.discovery.figures import draw_next

        figure = _image(
            draw_next(found), "What one more reading would tell", "Bits about which program is right, structure and "
            "numbers. Dots are the best inside the range and ahead.",
        )  # fmt: skip
    items = "".join(f"<li>{escape(words)}</li>" for words in next_words(found))
    return f"""<section>
<h2>What to measure next</h2>
<p>A reading tells most where the programs that are still possible disagree:</p>
<ul>{items}</ul>
{figure}
</section>"""


def _how(found: Discovery, command: str, seconds: float) -> str:
    series, belief = found.series, found.belief
    notes = "".join(f"<li>{escape(note)}</li>" for note in series.notes) or "<li>nothing was left out</li>"
    structures = "; ".join(f"{name} {percent(p)}" for name, p in list(belief.structures.items())[:5])
    facts = {
        "Run again": f"<code>{escape(command)}</code>",
        "Table": f"{escape(series.path)}: {len(series.y)} rows<ul>{notes}</ul>",
        "Programs": f"{found.particles} particles, {len(belief.programs)} different programs in the end, seed "
        f"{found.seed}; another seed gives other programs, and what differs is not sure",
        "Leading structures": escape(structures),
        "Prior": f"gf.Grammar.for_data({'changes=True' * found.changes}): constants, lines, smooth variation and "
        f"cycles, their sums and products{', and changes from one to another' * found.changes}; a noise variance of "
        "about 1 % of the answers’",
        "Made with": f"gainful {gf.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, in {seconds:.0f} s",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items())
    return f"<section>\n<h2>How to check it</h2>\n<dl>{rows}</dl>\n</section>"


def _image(figure: Figure, title: str, words: str) -> str:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=160)
    encoded = base64.b64encode(content.getvalue()).decode()
    image = f'<img alt="{escape(title)}. {escape(words)}" src="data:image/png;base64,{encoded}">'
    return f"<figure>{image}<figcaption><b>{escape(title)}.</b> {escape(words)}</figcaption></figure>"


def escape(words: str) -> str:
    """For HTML; dates stay on one line."""
    return _DATE.sub("\\1\u2011\\2\u2011\\3", escaped(words))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _joined(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


_STYLE = """
:root { --ink: #1d2430; --soft: #5b6472; --line: #dde1e7; --blue: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 .5rem; letter-spacing: -.015em; }
h2 { font-size: 1.35rem; margin: 0 0 .6rem; letter-spacing: -.005em; }
p { max-width: 44rem; margin: .6rem 0; }
section { margin-top: 3rem; }
.lead { font-size: 1.15rem; color: var(--soft); }
.result { max-width: none; margin: 1.8rem 0 0; padding: 1rem 1.25rem; border-left: 4px solid var(--blue);
  background: #f1f6fa; font-size: 1.1rem; line-height: 1.45; }
.note, figcaption { font-size: .875rem; color: var(--soft); }
.two { display: grid; gap: 1.5rem 2rem; margin-top: 1.2rem; align-items: start; grid-template-columns: 3fr 2fr; }
.half { max-width: 34rem; }
figure { margin: 1.2rem 0 0; }
figcaption { margin-top: .3rem; line-height: 1.4; }
figcaption b { color: var(--ink); }
img { width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); vertical-align: bottom; }
th, td { padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { width: 7rem; }
.bar span { display: block; height: .8rem; margin-top: .3rem; background: var(--blue); min-width: 1px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .45rem 1.5rem; font-size: .93rem; }
dt { color: var(--soft); }
dd { margin: 0; max-width: 44rem; }
dd ul { margin: .2rem 0 0; padding-left: 1.2rem; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f1f3f6; padding: .1em .35em;
  border-radius: .25em; overflow-wrap: anywhere; }
@media (max-width: 44rem) { .two { grid-template-columns: 1fr; } main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.7rem; } dl { grid-template-columns: 1fr; gap: .1rem; } dd { margin-bottom: .6rem; } }
@media print { main { padding: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""

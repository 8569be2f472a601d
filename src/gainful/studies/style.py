"""How the page of a report looks: nothing is loaded from anywhere."""

__all__ = ["STYLE"]

STYLE = """
:root { --ink: #1d2430; --soft: #5b6472; --line: #dde1e7; --blue: #0072b2; --orange: #b44e00; }
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
figcaption { font-size: .875rem; color: var(--soft); margin-top: .3rem; line-height: 1.4; }
figcaption b { color: var(--ink); }
.half { max-width: 38rem; }
figure { margin: 1.2rem 0 0; }
img { max-width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); vertical-align: bottom; }
th, td { padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.best td { background: #f1f6fa; font-weight: 600; }
.warn { color: var(--orange); }
.soft { color: var(--soft); }
.bar { width: 7rem; }
.bar span { display: block; height: .8rem; margin-top: .3rem; background: var(--blue); min-width: 1px; }
details { margin: .6rem 0; }
summary { cursor: pointer; }
.failure { margin: .5rem 0; padding-bottom: .5rem; border-bottom: 1px solid var(--line); max-width: none; }
pre { margin: .5rem 0 0; padding: .7rem .9rem; background: #f1f3f6; border-radius: .25em; overflow-x: auto;
  font: .8rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .45rem 1.5rem; font-size: .93rem; }
dt { color: var(--soft); }
dd { margin: 0; max-width: 44rem; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f1f3f6; padding: .1em .35em;
  border-radius: .25em; overflow-wrap: anywhere; }
@media (max-width: 44rem) { main { padding: 1.5rem 1rem 3rem; } h1 { font-size: 1.7rem; }
  dl { grid-template-columns: 1fr; gap: .1rem; } dd { margin-bottom: .6rem; } }
@media print { main { padding: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""

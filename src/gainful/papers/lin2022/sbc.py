"""Lin 2022, sec. 5.2, Fig. 5-3: are beliefs over kernel programs as sure as they may be? Ranks of truths among draws.

A program and its noise come from the prior, fifteen readings from them, particles from the readings, nineteen draws
from the particles. The rank of the true program among the draws is uniform if the particles are draws of the posterior,
whether the places were given or chosen by what they tell about the program (IG-K). Programs are sorted by their
structure and then by their numbers (`Program.order`); the text does not rank the noise, which is what went wrong with
its airline data, and it is ranked here.

The text has 200 repetitions. The places are not given in it: here fifteen, evenly spread from −1 to 1; chosen ones are
out of a hundred, the first in the middle. Under right inference p is uniform, so that its rise with the number of
particles, which the text reports, is no law: what is claimed here is that no p is below 0.001.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import Ranks, rank
from gainful.lab.table import select

__all__ = ["EXPERIMENT", "ranks_of", "repetition"]

Array = NDArray[np.float64]

_DRAWS, _ANSWERS, _PLACES = 19, 15, 100
_LAB = gf.Point(name="lab")  # its noise is the program's
_SPACE = gf.Space(gf.Real("x", -1.0, 1.0))
_GRAMMAR = gf.Grammar()
_WRONG = gf.Grammar(noise=gf.Gamma(1.0, 3.0))  # expects a third of the noise's variance that there is
_MOVES = {"published": gf.Moves(sweeps=10, repeats=3, step=0.1, leaps=0, growing=False), "ours": gf.Moves()}
_SURE = 0.001


class _Cell(NamedTuple):
    """Repetitions that are alike, and how many of them are one block."""

    queries: str
    moves: str
    particles: int
    prior: str
    repetitions: int
    block: int


_CELLS = (
    *(_Cell("given", "published", k, "right", 1000, 25) for k in (50, 100, 200, 400)),
    _Cell("given", "ours", 200, "right", 400, 10),
    _Cell("chosen", "published", 200, "right", 100, 2),
    _Cell("chosen", "ours", 50, "right", 100, 2),
    _Cell("given", "published", 100, "wrong", 200, 25),
)
_QUICK = (
    _Cell("given", "published", 50, "right", 40, 20),
    _Cell("chosen", "published", 20, "right", 2, 2),
    _Cell("given", "published", 50, "wrong", 40, 20),
)


def _settings(quick: bool) -> list[Setting]:
    """Blocks of all cells in turn, so that a run that is not whole yet has some of each."""
    cells = _QUICK if quick else _CELLS
    blocks = [(b / (c.repetitions // c.block), c, b) for c in cells for b in range(c.repetitions // c.block)]
    return [
        {
            "queries": c.queries,
            "moves": c.moves,
            "particles": c.particles,
            "prior": c.prior,
            "size": c.block,
            "block": b,
        }
        for _, c, b in sorted(blocks, key=lambda each: each[0])
    ]


class _Truth(NamedTuple):
    """A program with its noise's variance, and readings of a function of it: at fifteen places, and at a hundred."""

    program: gf.Program
    noise: float
    given: Array
    everywhere: Array


_GIVEN, _EVERYWHERE = (np.linspace(-1.0, 1.0, n)[:, None] for n in (_ANSWERS, _PLACES))


def _truth(rng: np.random.Generator) -> _Truth:
    program, noise = _GRAMMAR.draw(rng), _GRAMMAR.draw_noise(rng)
    places = np.concatenate([_GIVEN, _EVERYWHERE])
    values, vectors = np.linalg.eigh(program.kernel(places))
    f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(places)))
    y = f + np.sqrt(noise) * rng.standard_normal(len(places))
    return _Truth(program, noise, y[:_ANSWERS], y[_ANSWERS:])


Drawn = tuple[gf.Program, float]


def _passive(model: gf.KernelPrograms, truth: _Truth, rng: np.random.Generator) -> Iterator[Drawn]:
    """Draws from the particles after the given places; nothing has to be predicted, and the posteriors are left out."""
    *_, last = model.follow(gf.Data().add(_LAB, _GIVEN, truth.given), rng=rng)
    state = last.state
    noises = state.grammar.noises(state.population)[:, 0]
    for i in rng.choice(len(noises), _DRAWS, p=state.weights):
        yield state.grammar.program(state.population, int(i)), float(noises[i])


def _active(model: gf.KernelPrograms, truth: _Truth, rng: np.random.Generator) -> Iterator[Drawn]:
    """Draws from the belief after places that it chose, each where a reading tells most about the program."""
    data, belief, at, left = gf.Data(), None, _PLACES // 2, list(range(_PLACES))
    for _ in range(_ANSWERS):
        if belief is not None:
            at = left[int(np.argmax(gf.information(belief, _LAB, _EVERYWHERE[left], about="model")))]
        left.remove(at)
        data = data.add(_LAB, _EVERYWHERE[[at]], truth.everywhere[[at]])
        belief = model.condition(data, start=belief, rng=rng)
    assert belief is not None
    for i in rng.choice(len(belief.programs), _DRAWS, p=belief.weights):
        yield belief.programs[i], belief.noises[i][_LAB.label]


def repetition(setting: Setting, rng: np.random.Generator) -> Row:
    """The ranks of one truth's program and noise."""
    grammar = _GRAMMAR if setting["prior"] == "right" else _WRONG
    model = gf.KernelPrograms(
        grammar, setting["particles"], _SPACE, answers=(0.0, 1.0), moves=_MOVES[setting["moves"]]
    )  # the scale is the truth's, which no answer tells
    truth = _truth(rng)
    some = list((_passive if setting["queries"] == "given" else _active)(model, truth, rng))
    return {
        "program": rank(truth.program.order, [program.order for program, _ in some], rng),
        "noise": rank(truth.noise, [noise for _, noise in some], rng),
    }


def _run(setting: Setting, seed: int) -> list[Row]:
    generators = np.random.default_rng(seed).spawn(setting["size"])
    return [{"repetition": r} | repetition(setting, rng) for r, rng in enumerate(generators)]


def ranks_of(rows: Sequence[Row], what: str) -> Ranks:
    """Of the program or the noise, in some rows."""
    return Ranks(tuple(int(row[what]) for row in rows), _DRAWS)


def _cells(rows: list[Row]) -> list[tuple[dict[str, Any], list[Row]]]:
    """The rows by queries, moves, particles and prior, in the order of the plan."""
    names = ("queries", "moves", "particles", "prior")
    order = [tuple(getattr(cell, name) for name in names) for cell in (*_CELLS, *_QUICK)]
    found = dict.fromkeys(sorted({tuple(row[n] for n in names) for row in rows}, key=order.index))
    return [(cell, select(rows, **cell)) for cell in (dict(zip(names, each, strict=True)) for each in found)]


def _called(cell: dict[str, Any]) -> str:
    places = "given places" if cell["queries"] == "given" else "places chosen by what they tell"
    moves = "the published moves" if cell["moves"] == "published" else "moves that grow and drift too"
    return f"{cell['particles']} particles, {moves}, {places}"


def _claims(rows: list[Row]) -> list[Claim]:
    out = []
    for cell, mine in _cells(rows):
        for what in ("program", "noise"):
            ranks = ranks_of(mine, what)
            p = ranks.p_value
            note = f"{len(mine)} repetitions, {ranks.bins} bins; ranks are {ranks.shape}."
            if cell["prior"] == "right":
                statement = f"ranks of the true {what} are uniform: p above {_SURE} ({_called(cell)})"
                published = "no issues at 200 particles" if what == "program" else None
                out.append(Claim(statement, published, p, p, p, p > _SURE, note))
            elif what == "noise":
                statement = f"a prior that expects a third of the noise is found out: p below {_SURE} ({_called(cell)})"
                out.append(Claim(statement, None, p, p, p, p < _SURE, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    from gainful.plots import plot_ranks

    cells = _cells(rows)
    figure = Figure(figsize=(7.0, 2.3 * len(cells)), layout="constrained")
    for (cell, mine), axes in zip(cells, np.atleast_2d(figure.subplots(len(cells), 2)), strict=True):
        for what, each in zip(("program", "noise"), axes, strict=True):
            plot_ranks(each, ranks_of(mine, what), what)
        wrong = ", a wrong prior of the noise" if cell["prior"] == "wrong" else ""
        axes[0].set_ylabel(
            f"{cell['particles']} particles,\n{cell['moves']}, {cell['queries']}{wrong}", fontsize="small"
        )
    path = folder / "ranks.png"
    figure.savefig(path, dpi=120)
    return [path]


EXPERIMENT = Experiment(
    name="programs-sbc",
    title="Are beliefs over kernel programs as sure as they may be?",
    source="Lin 2022, sec. 5.2, Fig. 5-3",
    published={
        "ranks": "200 repetitions, 19 draws, 50 to 200 particles: histograms and p-values in a figure; none at 200 "
        "particles speaks against the inference, and p rises with the number of particles",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)

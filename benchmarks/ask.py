"""What it costs to choose the next query: ratios, measured in one run.

    .venv/bin/python benchmarks/ask.py

1. An ask over 3 instruments and 900 places (n = 30 answers) against predicting the posterior variance there.
2. The same against the published estimate from 100 samples and 100 buckets, with the errors of both.
3. An ask over 10,000 places and 3 instruments (n = 100) against BoTorch fitting SingleTaskGP to 100 answers and
   optimising qNegIntegratedPosteriorVariance, 4 restarts from 64 raw samples, integrated over 128 places. BoTorch lives
   in an environment of its own, .venv-rivals, made on demand; without it (--no-botorch) this part is left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _environment import rivals
from _harness import Claim, best_times, report

import gainful as gf
from gainful.acquisition.published.sampled import sampled_information
from gainful.campaign.decide import next_choice

INSTRUMENTS = (
    gf.Point(noise=0.1, cost=10, name="lab"),
    gf.Interval(noise=0.1, width=0.6, cost=7, name="strip"),
    gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=3, name="look"),
)
SPACE = gf.Space(gf.Real("east", 0, 2, unit="km"), gf.Real("north", 0, 2, unit="km"))


def campaign(answers: int, places: np.ndarray, instruments: tuple[gf.Instrument, ...] = INSTRUMENTS) -> gf.Campaign:
    """A campaign over a pool of places on a 2 km square, told so many answers about one field."""
    rng = np.random.default_rng(0)
    gp = gf.GP(gf.SE(lengthscale=0.4), space=SPACE)
    X = SPACE.candidates(answers, rng)
    truth = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    out = gf.Campaign(gf.Pool(places), INSTRUMENTS, gp)
    for i, (place, value) in enumerate(zip(X, truth, strict=True)):
        instrument = instruments[i % len(instruments)]
        out.tell(gf.Query(instrument, place), instrument.simulate(np.array([value]), rng)[0])
    return out


def ask(told: gf.Campaign) -> gf.Query:
    """What `ask` does but for writing it down."""
    choice = next_choice(told._state)
    assert choice is not None
    return choice.query


def small() -> list[Claim]:
    X = SPACE.grid(30)
    told = campaign(30, X)
    post = told.posterior

    def published() -> list[np.ndarray]:
        return [sampled_information(post, instrument, X, 0) / instrument.cost for instrument in INSTRUMENTS]

    fast = best_times({"variance": lambda: post.variance(X), "ask": lambda: ask(told)}, repeats=30)
    slow = best_times({"published": published}, repeats=1)
    exact = [gf.information(post, instrument, X) for instrument in INSTRUMENTS]
    error = max(float(np.max(np.abs(a - b * i.cost))) for a, b, i in zip(exact, published(), INSTRUMENTS, strict=True))
    detail = f"variance {1e3 * fast['variance']:.2f} ms, ask {1e3 * fast['ask']:.2f} ms"
    return [
        Claim("an ask over 3 x 900 queries, in variances", fast["ask"] / fast["variance"], 6, True, detail),
        Claim("times faster than 100 samples and 100 buckets", slow["published"] / fast["ask"], 1000, False,
              f"published {slow['published']:.2f} s, off by up to {error:.2f} bits; ours to 1e-7"),
    ]  # fmt: skip


def against_botorch() -> list[Claim]:
    """BoTorch gets the same number of answers, all of them numbers, which is the kind it can take."""
    python = rivals()
    told = campaign(100, SPACE.candidates(10_000, 1))
    numbers = campaign(100, SPACE.grid(2), INSTRUMENTS[:1])
    X = np.array([entry.query.place for entry in numbers.history])
    y = np.array([entry.answer for entry in numbers.history])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.npz"
        np.savez(file, X=X, y=y, places=SPACE.candidates(128, 2))
        script = Path(__file__).with_name("_botorch.py")
        ours = best_times({"ask": lambda: ask(told)}, repeats=5)["ask"]
        seconds = subprocess.run([python, script, file, "3"], check=True, capture_output=True, text=True).stdout
    theirs = min(float(line) for line in seconds.split())
    detail = f"ask {1e3 * ours:.1f} ms, BoTorch {1e3 * theirs:.0f} ms"
    return [Claim("an ask over 3 x 10,000 queries, times faster than BoTorch", theirs / ours, 20, False, detail)]


if __name__ == "__main__":
    claims = small() if "--no-botorch" in sys.argv else small() + against_botorch()
    sys.exit(1 if report(claims) else 0)

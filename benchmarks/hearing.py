"""How long a hearing test takes to choose: a trial with the population prior, and a query over 10,000 tones.

    .venv/bin/python benchmarks/hearing.py

(1) From an answer told to the next tone, nothing stated but the answers, forty trials of one ear; wanted under 150 ms.
(2) With a belief in two rival models at hand, thirty answers, the tone of 10,000 that tells most about which is right
(`Learn("model")`: all ranked by a few parts of each model, the leaders scored by all parts), beside one prediction of
mean and variance at those tones; wanted at most 40 predictions and under 50 ms. One thread; seconds of the processor.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import time
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

import gainful as gf
from gainful.hearing import FREQUENCIES, HearingTest, Listener
from gainful.papers.gardner2018.published_models import TONE, healthy, notched, tones

LEADERS = 300


def trials() -> None:
    somebody, rng = Listener([[10, 10, 15, 30, 50, 55, 60]], FREQUENCIES, 5.0, 0.03, 0.03), np.random.default_rng(0)
    for words, stated in (("nothing stated", {}), ("listener told", {"spread": 5.0, "guess": 0.03, "lapse": 0.03})):
        test = HearingTest(most=40, sure=0.999999, **stated)
        tone, took = test.ask(), []
        while tone is not None:
            answer = somebody.answer(tone, rng)
            begun = time.process_time()
            test.tell(tone, answer)
            tone = test.ask()
            took.append(1e3 * (time.process_time() - begun))
        print(f"trial, {words}: median {np.median(took):.0f} ms, longest {max(took):.0f} ms")


def _best(work: Callable[[], object], repeats: int = 15) -> float:
    """The median time of some work, in ms."""
    took = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        took.append(1e3 * (time.process_time() - begun))
    return float(np.median(took))


def query() -> None:
    rng, pool = np.random.default_rng(0), tones()
    X = np.column_stack([rng.uniform(8.0, 13.0, 30), rng.uniform(-10.0, 50.0, 30)])
    threshold = 5.0 + 30.0 * np.exp(-0.5 * ((X[:, 0] - 12.0) / 0.35) ** 2)
    answers = (rng.random(30) < ndtr((X[:, 1] - threshold) / 4.0)).astype(float)
    belief = gf.Models([healthy(), notched()]).condition(gf.Data().add(TONE, X, answers))
    goal, posterior = gf.Learn("model"), belief.posteriors[0]

    def ask() -> int:
        near = np.argsort(-goal.rank(belief, TONE, pool))[:LEADERS]
        return int(near[np.argmax(goal.score(belief, TONE, pool[near]))])

    exact = goal.score(belief, TONE, pool)
    one, asked = _best(lambda: posterior.predict(pool)), _best(ask)
    print(
        f"query over {len(pool)} tones, {len(belief.weights)} parts: {asked:.0f} ms, {asked / one:.0f} predictions of "
        f"{one:.1f} ms each; its bits are {exact[ask()] / exact.max():.4f} of the most there are"
    )


if __name__ == "__main__":
    trials()
    query()

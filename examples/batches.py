"""A laboratory that takes orders of five tests at a time, and a survey that survives being interrupted.

    python examples/batches.py [folder for the journal]

Soil moisture along a kilometre. The laboratory reports the day after, so five tests are ordered at once; on the third
day the computer is restarted. One answer turns out to have been mislabelled and is corrected.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import gainful as gf

SPACE = gf.Space(gf.Real("along", 0, 1, unit="km"))
LAB = gf.Point(noise=0.1, cost=10, name="lab")
PROBE = gf.Binary(cost=1, name="wetter than usual?")


def moisture(query: gf.Query) -> object:
    """The world, which the survey does not know."""
    x = float(query.place[0])
    rng = np.random.default_rng(query.number)
    return query.instrument.simulate(np.array([1.5 * np.sin(9 * x) + x]), rng)[0]


def main(folder: Path) -> None:
    journal = folder / "moisture.jsonl"
    gp = gf.GP(gf.SE(lengthscale=0.15, variance=2.0), space=SPACE)
    campaign = gf.Campaign(SPACE, [LAB, PROBE], gp, budget=80, seed=1, journal=journal)

    for day in range(1, 10):
        order = campaign.ask(5)
        if not order:
            break
        told = {query.number: moisture(query) for query in order}
        for query in order:
            campaign.tell(query, told[query.number])
        sd = np.sqrt(campaign.posterior.variance(SPACE.grid(101)).mean())
        counts = ", ".join(f"{sum(q.instrument == i for q in order)} {i.label}" for i in (LAB, PROBE))
        print(f"day {day}: {counts}; spent {campaign.spent:g}, standard deviation {sd:.2f} on average")
        if day == 2:
            campaign = gf.Campaign.resume(journal)
            print("       the computer was restarted; going on from the journal")

    first = next(entry for entry in campaign.history if entry.query.instrument == LAB)
    campaign.correct(first.query, first.answer + 0.1, note="the bags were swapped")
    print(campaign.why(first.query))
    print(campaign.stopped)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))

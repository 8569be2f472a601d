"""A laboratory that states nothing about its function: no lengthscale, no variance, no mean, no noise.

    python examples/all_defaults.py [budget]

A yield in % depends on temperature, concentration and catalyst. An assay reads it and costs 14; a quick test says
whether it is above 65 and costs 2. What the function is like is learned from the answers and integrated out.
"""

import sys

import numpy as np

import gainful as gf

SPACE = gf.Space(
    gf.Real("temperature", 20, 90, unit="°C"),
    gf.Real("concentration", 1e-4, 1e-1, unit="mol/L", log=True),
    gf.Categorical("catalyst", ["Pd", "Ni", "Cu"]),
)
ASSAY = gf.Point(cost=14, name="assay")
TEST = gf.Binary(threshold=65, cost=2, name="test")
NOISE = {"assay": 1.0, "test": 2.0}  # of the world; the campaign is not told


def true_yield(place: np.ndarray) -> float:
    """The world, which the campaign does not know."""
    at = SPACE.natural(place)
    best, height = {"Pd": (60.0, 80.0), "Ni": (68.0, 72.0), "Cu": (50.0, 60.0)}[at["catalyst"]]
    off = ((at["temperature"] - best) / 28.0) ** 2 + ((np.log10(at["concentration"]) + 2.3) / 1.2) ** 2
    return 20.0 + (height - 20.0) * np.exp(-off)


def measure(query: gf.Query) -> object:
    rng = np.random.default_rng(query.number)
    reading = true_yield(query.place) + NOISE[query.instrument.label] * rng.normal()
    return reading if query.instrument == ASSAY else bool(reading > 65)


def main(budget: float) -> None:
    places = SPACE.candidates(600, rng=1)
    truth = np.array([true_yield(place) for place in places])
    campaign = gf.Campaign(SPACE, [ASSAY, TEST], budget=budget, seed=0)  # no model: nothing is stated
    print(f"the yield varies by {np.std(truth):.1f}")
    print("spent  assays  tests  error  bands of 95 % hold")
    due = budget / 4
    while query := campaign.ask():
        campaign.tell(query, measure(query))
        if campaign.spent >= due:
            due += budget / 4
            used = [sum(entry.query.instrument == each for entry in campaign.history) for each in (ASSAY, TEST)]
            error = np.sqrt(np.mean((campaign.belief.mean(places) - truth) ** 2))
            low, high = campaign.belief.band(places)
            held = np.mean((low <= truth) & (truth <= high))
            print(f"{campaign.spent:5g} {used[0]:7} {used[1]:6} {error:6.1f} {held:19.0%}")
    print(campaign.why(len(campaign.history) - 1))
    best = campaign.best("maximise")
    print(best)
    print(f"The true yield there is {true_yield(best.place):.1f}; the largest of 600 places is {truth.max():.1f}.")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 160.0)

"""Which of eight settings act together? A hundred evaluations of a made-up process, and nothing stated.

python examples/interactions.py [picture.png]
"""

import sys

import numpy as np

import gainful as gf

NAMES = ("temperature", "pressure", "pH", "dose", "stirring", "time", "feed", "light")


def process(X):
    """In truth temperature acts together with pressure, pH with dose; the others act by themselves."""
    t, p, ph, dose, stirring, time, feed, _ = X.T
    return np.sin(5 * t * p) + np.cos(6 * ph * dose) + stirring**2 - np.exp(-3 * time) + 0.5 * np.sin(6 * feed)


def main() -> None:
    space = gf.Space(*(gf.Real(name, 0, 1) for name in NAMES))
    X = space.candidates(100, 0)
    y = process(X) + 0.05 * np.random.default_rng(0).normal(size=100)
    belief = gf.Partitions(space).condition(gf.Data().add(gf.Point(), X, y))
    print(belief.describe())
    for words, probability in list(belief.partitions.items())[:3]:
        print(f"{probability:5.0%}  {words}")
    if len(sys.argv) > 1:
        from gainful.plots import plot_interactions

        plot_interactions(belief).figure.savefig(sys.argv[1], dpi=120)


if __name__ == "__main__":
    main()

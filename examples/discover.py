"""What ten years of a well's water level show: a drought that came slowly, a cycle of a year, and the noise.

    python examples/discover.py [a file for the picture, such as well.png]

Kernel programs are found for 40 quarterly readings, described, and asked which reading would tell most about them.
"""

import sys

import numpy as np

import gainful as gf

SPACE = gf.Space(gf.Real("time", 0, 10, unit="years"))
DIP = gf.Point(name="dip", unit="m")  # its noise is learned


def readings() -> gf.Data:
    """The level below ground: 0.4 m more each year, a metre up and down with the seasons, readings good to 10 cm."""
    rng = np.random.default_rng(2)
    t = np.arange(40) / 4.0 + rng.uniform(0.0, 0.2, 40)
    level = 6.0 + 0.4 * t + 1.0 * np.sin(2.0 * np.pi * t) + rng.normal(0.0, 0.1, 40)
    return gf.Data().add(DIP, t[:, None], level)


def main() -> None:
    programs = gf.KernelPrograms(gf.Grammar.for_data(), particles=40, space=SPACE)
    belief = programs.condition(readings(), rng=0)
    print(belief.describe())

    ahead = belief.forecast([[10.5], [11.0]])
    for when, low, mean, high in zip((10.5, 11.0), ahead.reading_low, ahead.mean, ahead.reading_high, strict=True):
        print(f"a reading after {when} years: {mean:.1f} m, from {low:.1f} to {high:.1f} m with 95 %")

    places = np.linspace(0.0, 12.0, 49)[:, None]
    bits = gf.information(belief, DIP, places, about="model")
    best = int(np.argmax(bits))
    print(f"a reading after {places[best, 0]:.2f} years would tell most about the programs: {bits[best]:.2f} bits")

    if len(sys.argv) > 1:
        from gainful.plots import plot_parts

        drawn = plot_parts(belief, np.linspace(0.0, 12.0, 200), ylabel="level below ground (m)")
        drawn[0].figure.savefig(sys.argv[1], dpi=150)


if __name__ == "__main__":
    main()

"""Answers without noise: a dike holds or it does not. How sure may one be of what lies behind them?

    python examples/hard_answers.py [a file for the picture, such as hard_answers.png]

Forty soundings along ten kilometres say only whether the ground is above or below the water. Expectation propagation
holds a Gaussian for each; where many hard answers stand side by side these are too sure. gainful corrects the spreads
by linear response, says how far they are from the exact ones, and can draw from the exact posterior.
"""

import sys

import numpy as np

import gainful as gf

DIKE = gf.Space(gf.Real("along", 0, 10, unit="km"))
SOUNDING = gf.Ordinal([0.0], noise=0.0, name="dry")  # 1 below the water, 2 above
GP = gf.GP(gf.SE(lengthscale=1.5, variance=1.0), space=DIKE)
METHODS = {"sites alone": gf.EP(response=False), "linear response": gf.EP(), "draws": gf.Sampled(draws=2000)}


def ground(along: np.ndarray) -> np.ndarray:
    """The height of the ground above the water, in metres."""
    return 1.4 * np.sin(0.9 * along) - 0.3


def soundings() -> gf.Data:
    """Where the ground was sounded, and whether it was dry."""
    places = DIKE.candidates(40, 1)
    return gf.Data().add(SOUNDING, places, 1 + (ground(places[:, 0]) > 0.0))


def main() -> dict[str, gf.Posterior]:
    data = soundings()
    beliefs = {name: GP.condition(data, inference=how) for name, how in METHODS.items()}
    for name in ("sites alone", "linear response"):
        print(f"{name}:\n{beliefs[name].check()}\n")
    again = gf.information(beliefs["linear response"], SOUNDING, data.batches[0].X[:1])[0]
    print(f"the first sounding is answered; asked again it would tell {again:.3g} bits")
    return beliefs


def draw(beliefs: dict[str, gf.Posterior], path: str) -> None:
    from matplotlib.figure import Figure

    X, data = DIKE.grid(300), soundings().batches[0]
    figure = Figure(figsize=(8, 6), layout="constrained")
    for axes, (name, belief) in zip(figure.subplots(3, 1, sharex=True, sharey=True), beliefs.items(), strict=True):
        low, high = (
            belief.mean(X) - 1.96 * np.sqrt(belief.variance(X)),
            belief.mean(X) + 1.96 * np.sqrt(belief.variance(X)),
        )
        if belief.draws is not None:  # which know that the ground is above the water where it was dry
            low, high = np.quantile(belief.sample(X, 2000, 0), [0.025, 0.975], axis=0)
        axes.fill_between(X[:, 0], low, high, color="#56B4E9", alpha=0.4, lw=0, label="95 % band")
        axes.plot(X[:, 0], belief.mean(X), color="#0072B2", label="mean")
        axes.plot(X[:, 0], ground(X[:, 0]), color="black", lw=1, ls="--", label="ground")
        for rank, mark, label in ((2, "^", "dry"), (1, "v", "under water")):
            at = data.X[data.answers == rank, 0]
            axes.plot(at, np.zeros_like(at), mark, color="#D55E00", ms=5, label=label)
        axes.set_title(name, loc="left", fontsize=11)
        axes.set_ylabel("height, m")
    axes.set_xlabel("along the dike, km")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    found = main()
    if len(sys.argv) > 1:
        draw(found, sys.argv[1])

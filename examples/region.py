"""When only a part of the space matters: water is drawn from a river between its fourth and sixth kilometre.

    python examples/region.py [a file for the picture, such as region.png]

Ten laboratory tests of nitrate along ten kilometres, first to learn the whole river, then to learn the stretch that
matters, in twenty rivers drawn from the prior.
"""

import sys

import numpy as np

import gainful as gf

RIVER = gf.Space(gf.Real("along", 0, 10, unit="km"))
LAB = gf.Point(noise=0.2, name="nitrate")
GP = gf.GP(gf.SE(lengthscale=0.7, variance=4.0), gf.ConstantMean(10.0), space=RIVER)
STRETCH = np.linspace(4, 6, 41)[:, None]
GOALS = {"the whole river": gf.Learn("function"), "the stretch": gf.Learn(gf.Region(STRETCH))}
TESTS, RIVERS = 10, 20


def survey(goal: gf.Learn, nitrate: gf.Posterior, seed: int) -> gf.Campaign:
    """Ten tests of a river, whose true nitrate is the mean of `nitrate`."""
    campaign = gf.Campaign(RIVER, [LAB], GP, goal, seed=seed, budget=TESTS)
    rng = np.random.default_rng(seed)
    while query := campaign.ask():
        campaign.tell(query, LAB.simulate(nitrate.mean(query.place[None]), rng)[0])
    return campaign


def river(seed: int) -> gf.Posterior:
    """A function drawn from the prior, known at 200 places and smooth between them."""
    X = RIVER.grid(200)
    f = GP.condition(gf.Data()).sample(X, 1, np.random.default_rng(seed))[0]
    return GP.condition(gf.Data().add(gf.Point(1e-4), X, f))


def main() -> dict[str, gf.Campaign]:
    rivers = [river(seed) for seed in range(RIVERS)]
    shown = {}
    for name, goal in GOALS.items():
        campaigns = [survey(goal, nitrate, seed) for seed, nitrate in enumerate(rivers)]
        within = np.mean([[4 <= e.query.place[0] <= 6 for e in c.history] for c in campaigns])
        off = [c.posterior.mean(STRETCH) - nitrate.mean(STRETCH) for c, nitrate in zip(campaigns, rivers, strict=True)]
        print(
            f"to learn {name}: {100 * within:.0f} % of the tests between km 4 and km 6, "
            f"where the error is {np.sqrt(np.mean(np.square(off))):.2f} mg/l"
        )
        shown[name] = campaigns[0]
    return shown


def draw(shown: dict[str, gf.Campaign], path: str) -> None:
    from matplotlib.figure import Figure

    X, nitrate = RIVER.grid(400), river(0)
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    for axes, (name, campaign) in zip(figure.subplots(2, 1, sharex=True, sharey=True), shown.items(), strict=True):
        m, sd = campaign.posterior.mean(X), np.sqrt(campaign.posterior.variance(X))
        axes.axvspan(4, 6, color="#F0E442", alpha=0.35, lw=0, label="water is drawn here")
        axes.fill_between(X[:, 0], m - 1.96 * sd, m + 1.96 * sd, color="#56B4E9", alpha=0.4, lw=0, label="95 % band")
        axes.plot(X[:, 0], m, color="#0072B2", label="mean")
        axes.plot(X[:, 0], nitrate.mean(X), color="black", lw=1, ls="--", label="truth")
        at = [(e.query.place[0], e.answer) for e in campaign.history]
        axes.plot(*zip(*at, strict=True), "o", color="#D55E00", ms=5, label="tests")
        axes.set_title(f"ten tests to learn {name}", loc="left", fontsize=11)
        axes.set_ylabel("nitrate, mg/l")
    axes.set_xlabel("along the river, km")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    found = main()
    if len(sys.argv) > 1:
        draw(found, sys.argv[1])

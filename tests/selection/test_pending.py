"""Pending queries, once for every acquisition: fantasies against brute force, and every strategy in batches."""

from itertools import product

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import ExpectedImprovement
from gainful.acquisition.strategies import strategies, strategy
from gainful.inference.fantasy import expected_sites, fantasize
from gainful.selection import Option, choose
from gainful.selection.scoring import Scoring

POOL = np.array([[x] for x in np.linspace(0.0, 1.0, 24)])
LAB, EXACT = gf.Point(0.2, name="lab"), gf.Point(0.0, name="exact")
ALL = {
    "number": LAB,
    "exact": EXACT,
    "interval": gf.Interval(0.1, width=0.5),
    "ranks": gf.Ordinal([-0.3, 0.4], 0.2),
    "hard ranks": gf.Ordinal([-0.3, 0.4], 0.0),
    "yes/no": gf.Binary(),
    "count": gf.Count(),
    "robust": gf.StudentT(0.2),
    "pair": gf.Preference(0.3),
    "set": gf.Detection(),
}
SERVED = {
    "any": list(ALL),
    "any but numbers and intervals": ["ranks", "hard ranks", "yes/no", "pair", "set"],
    "yes/no, ranks, preferences": ["yes/no", "ranks", "pair"],
    "yes/no, preferences": ["yes/no", "pair"],
    "any that sees a place": ["number", "exact", "interval", "ranks", "yes/no", "count", "robust"],
    "any that sees a place or a pair": ["number", "exact", "interval", "ranks", "yes/no", "pair"],
    "numbers, yes/no, ranks, preferences": ["number", "yes/no", "ranks", "pair"],
    "numbers, yes/no, ranks": ["number", "exact", "ranks", "yes/no"],
    "any but intervals": ["number", "exact", "ranks", "yes/no", "pair", "set"],
    "yes/no": ["yes/no"],
}
SCORING = [s for s in strategies() if s.scores]
CASES = [(s.name, kind) for s in SCORING for kind in SERVED[s.instruments]]


def _belief(kind: str, name: str) -> gf.Posterior | gf.Belief:
    """A few answers of the kind itself: some strategies look at them, and cannot mix kinds."""
    instrument, rng = ALL[kind], np.random.default_rng(3)
    X = POOL[[1, 8, 15, 22]]
    f = np.sin(6.0 * X[:, 0])
    if instrument.query == "place":
        data = gf.Data().add(instrument, X, instrument.simulate(f, rng))
    elif instrument.query == "pair":
        data = gf.Data().add(instrument, X.reshape(2, 2, 1), instrument.simulate(f[0::2] - f[1::2], rng))
    else:
        data = gf.Data().add(instrument, X.reshape(2, 2, 1), instrument.simulate(f.reshape(2, 2), rng))
    post = gf.GP(gf.SE(0.25)).condition(data)
    if name == "bald-hyperparameters":
        return gf.Belief([post, gf.GP(gf.SE(0.08)).condition(data)])
    return post


def _goal(name: str, kind: str):
    maker = strategy(name).make
    if maker.reference is None:
        return maker()
    pairs = POOL[:12].reshape(6, 2, 1)
    return maker(reference=pairs if maker.reference == "queries" and ALL[kind].query == "pair" else POOL)


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{name}, {kind}" for name, kind in CASES])
def test_every_strategy_asks_four_times_while_what_it_asked_is_pending(name, kind):
    goal, belief, instrument = _goal(name, kind), _belief(kind, name), ALL[kind]
    every = (1 if isinstance(belief, gf.Posterior) else 4) * (2 if kind == "robust" else 1)  # both take their time
    pool = POOL[::every]
    option, search = Option(instrument, gf.Pool(pool)), gf.Search(candidates=60)
    pending: list[gf.Query] = []
    for turn in range(4):
        choice = choose(goal, belief, [option], np.random.default_rng(turn), pending=pending, search=search)
        assert choice is not None
        repeated = [q for q in pending if np.array_equal(q.place, choice.query.place)]
        if repeated:
            assert not instrument.is_certain
            if instrument.query == "place":  # of all the pool, it still scores highest under the fantasy
                scores = Scoring(goal, belief, pending).score(instrument, pool)
                assert choice.score >= scores.max() - 1e-9
        pending.append(choice.query)


def test_a_fantasy_leaves_the_covariance_that_is_expected_to_be_left():
    """E_y Cov[g | y] by brute force over the answers, for one value, a difference and two values."""
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(LAB, [[0.5]], [0.3]))
    x = np.linspace(-6, 6, 801)
    for kind in ("interval", "ranks", "yes/no", "count", "robust", "pair"):
        instrument = ALL[kind]
        place = np.array([[0.1], [0.8]]) if instrument.query == "pair" else np.array([0.2])
        m, v = post.marginals(instrument, place[None])
        g = m[0] + np.sqrt(v[0]) * x
        w = np.exp(-0.5 * x**2)
        w /= w.sum()
        if kind == "interval":
            lower = m[0] + np.linspace(-5, 5, 2001)
            y = np.stack([lower, lower + 0.5], axis=-1)
            p = np.exp([instrument.log_prob(np.broadcast_to(each, (len(g), 2)), g) for each in y])
        else:
            listed = instrument.values or (
                np.arange(300.0) if kind == "count" else m[0] + np.sinh(np.linspace(-7, 7, 4001))
            )
            y = np.asarray(listed)
            p = np.exp(instrument.log_prob(y[:, None], g[None]))
            if kind == "robust":
                p *= np.gradient(y)[:, None]
        joint = p * w
        share = joint.sum(axis=1)
        mean = joint @ g / np.maximum(share, 1e-300)
        left = np.sum(joint @ g**2 - share * mean**2) / share.sum()
        after = fantasize(post, [gf.Query(instrument, place)])
        assert after.marginals(instrument, place[None])[1][0] == pytest.approx(left, rel=2e-3), kind
        assert after.marginals(instrument, place[None])[0] == pytest.approx(m)


def test_a_fantasy_of_a_set_keeps_its_block():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data())
    place = np.array([[0.2], [0.5]])
    m, V = (part[0] for part in post.marginals(gf.Detection(), place[None]))
    x = np.linspace(-8, 8, 601)
    a, b = np.meshgrid(x, x, indexing="ij")
    grid = np.stack([a.ravel(), b.ravel()])
    w = np.exp(-0.5 * np.einsum("in,ij,jn->n", grid, np.linalg.inv(V), grid))
    w /= w.sum()
    left = np.zeros((2, 2))
    for y in (0.0, 1.0):
        p = np.exp(gf.Detection().log_prob(np.full(grid.shape[1], y), grid.T)) * w
        mean = grid @ p / p.sum()
        left += (grid * p) @ grid.T - p.sum() * np.outer(mean, mean)
    after = fantasize(post, [gf.Query(gf.Detection(), place)])
    mean, cov = after.marginals(gf.Detection(), place[None])
    assert cov[0] == pytest.approx(left, abs=1e-6)
    assert mean[0] == pytest.approx(m, abs=1e-12)


def test_what_is_known_is_worth_no_site_and_what_is_exact_an_endless_one():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(EXACT, [[0.5]], [0.3]))
    m, v = post.marginals(LAB, [[0.5], [0.0]])
    assert expected_sites(LAB, m, v)[0].tolist() == pytest.approx([0.0, 1.0 / 0.04])
    assert np.isinf(expected_sites(EXACT, m[1:], v[1:])[0])


def _q_improvement(post, first, second, noise):
    """E[(max of the two posterior means after both numbers − f⁺)⁺] by a product rule over both readings."""
    both = np.array([first, second])
    m, C = post.mean(both), post.covariance(both)
    best = float(np.max(post.mean(post.data.layout.places)))
    S = C + noise**2 * np.eye(2)
    if np.array_equal(first, second):
        S = C + noise**2 * np.eye(2)
    L = np.linalg.cholesky(S)
    gain = C @ np.linalg.inv(S)
    z, w = np.polynomial.hermite_e.hermegauss(60)
    z1, z2 = np.meshgrid(z, z, indexing="ij")
    weights = np.outer(w, w) / w.sum() ** 2
    moved = gain @ L @ np.stack([z1.ravel(), z2.ravel()])
    top = np.max(m[:, None] + moved, axis=0)
    return float(weights.ravel() @ np.maximum(top - best, 0.0))


def test_the_second_query_of_expected_improvement_is_nearly_as_good_as_that_of_exact_q_improvement():
    """Regret of the fantasy's choice, as a share of the best pair that begins with the same query."""
    pool, regrets = np.linspace(0, 1, 15)[:, None], []
    for seed, noise in product(range(6), (0.05, 0.3)):
        rng = np.random.default_rng(seed)
        lab = gf.Point(noise)
        gp = gf.GP(gf.SE(0.15))
        X = rng.random((4, 1))
        post = gp.condition(gf.Data().add(lab, X, gp.condition(gf.Data()).sample(X, 1, rng)[0]))
        option = Option(lab, gf.Pool(pool))
        first = choose(ExpectedImprovement(), post, [option], rng).query
        second = choose(ExpectedImprovement(), post, [option], rng, pending=[first]).query
        exact = np.array([_q_improvement(post, first.place, place, noise) for place in pool])
        regrets.append(1.0 - _q_improvement(post, first.place, second.place, noise) / exact.max())
    assert np.mean(regrets) < 0.05
    assert np.max(regrets) < 0.2


def test_information_is_ranked_by_the_fantasy_and_judged_by_its_exact_form():
    post = _belief("yes/no", "bald")
    pending = [gf.Query(gf.Binary(), [0.4])]
    scoring = Scoring(gf.Learn(), post, pending)
    assert not scoring.is_exact
    exact = gf.information(post, gf.Binary(), POOL, pending=pending)
    np.testing.assert_array_equal(scoring.score(gf.Binary(), POOL), exact)
    assert np.max(np.abs(scoring.rank(gf.Binary(), POOL) - exact)) < 0.1 * exact.max()


def test_several_people_ask_a_campaign_with_any_goal():
    for goal in (ExpectedImprovement(), gf.acquisition.IntegratedVariance(POOL), gf.acquisition.Entropy()):
        campaign = gf.Campaign(gf.Pool(POOL), [gf.Point(0.1)], gf.GP(gf.SE(0.2)), goal)
        campaign.tell(gf.Query(gf.Point(0.1), POOL[12]), 0.2)
        asked = [campaign.ask() for _ in range(3)] + campaign.ask(3)
        assert len({q.place[0] for q in asked}) == 6

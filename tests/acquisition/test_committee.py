"""Committees: by hand for a few members, and against the limit of infinitely many."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import gainful as gf
from gainful.acquisition.committee import QueryByCommittee, members
from gainful.testing import check_acquisition

X = np.array([[0.0], [0.15], [0.4], [0.85], [1.6]])
PAIRS = np.stack([X[:-1], X[1:]], axis=1)
DISCRETE = [
    (gf.Binary(), X),
    (gf.Binary(0.1, 0.3), X),
    (gf.Ordinal([-0.4, 0.5, 0.7], 0.1), X),
    (gf.Preference(0.3), PAIRS),
    (gf.Detection(), PAIRS),
]


@pytest.fixture(scope="module")
def post():
    data = gf.Data().add(gf.Point(0.2), [[0.0], [0.5]], [1.0, -0.5]).add(gf.Binary(), [[0.8]] * 3, [True] * 3)
    return gf.GP(gf.SE(0.3, 2.0)).condition(data)


def _h(p):
    p = np.asarray(p)
    return -np.sum(np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0), axis=-1)


def _given(instrument, f):
    """P(answer | f), (..., K), from the sentences that define the instruments; f is (..., k)."""
    if isinstance(instrument, gf.Ordinal):
        below = ndtr((np.array([-np.inf, *instrument.thresholds, np.inf]) - f) / instrument.noise)
        return np.diff(below, axis=-1)
    if isinstance(instrument, gf.Detection):
        yes = 1 - np.prod(ndtr(-f), axis=-1)
    elif isinstance(instrument, gf.Preference):
        yes = ndtr((f[..., 0] - f[..., 1]) / (np.sqrt(2) * instrument.noise))
    else:
        yes = instrument.guess + (1 - instrument.guess - instrument.lapse) * ndtr(f[..., 0])
    return np.stack([1 - yes, yes], axis=-1)


def _values(post, queries, size, seed):
    """The members' values at each query's places, (C, M, k)."""
    at, where = np.unique(queries.reshape(-1, 1), axis=0, return_inverse=True)
    f = members(post, at, size, seed, at)
    return f[:, where.ravel()].reshape(size, len(queries), -1)


@pytest.mark.parametrize(("instrument", "queries"), DISCRETE)
@pytest.mark.parametrize("size", [2, 7])
def test_votes_and_divergence_are_those_counted_by_hand(post, instrument, queries, size):
    p = _given(instrument, _values(post, queries, size, 3))
    votes, divergence = [], []
    for m in range(len(queries)):
        ballots = [int(np.argmax(p[c, m])) for c in range(size)]
        votes.append(_h([ballots.count(k) / size for k in range(p.shape[-1])]))
        consensus = np.mean(p[:, m], axis=0)
        divergence.append(np.mean([sum(a * np.log2(a / b) for a, b in zip(p[c, m], consensus, strict=True) if a > 0)
                                   for c in range(size)]))  # fmt: skip
    np.testing.assert_allclose(QueryByCommittee(size, "vote", 3).score(post, instrument, queries), votes, atol=1e-12)
    np.testing.assert_allclose(QueryByCommittee(size, "kl", 3).score(post, instrument, queries), divergence, atol=1e-9)


def test_a_large_committee_votes_like_the_posterior(post):
    """h(Φ(m/√v)) for yes/no; with careless answers the vote turns where they make yes as likely as no."""
    m, sd = post.mean(X), np.sqrt(post.variance(X))
    got = QueryByCommittee(20000, "vote", 0).score(post, gf.Binary(), X)
    yes = ndtr(m / sd)
    np.testing.assert_allclose(got, _h(np.stack([yes, 1 - yes], axis=-1)), atol=0.02)
    turn = ndtri((0.5 - 0.1) / 0.6)
    yes = ndtr((m - turn) / sd)
    got = QueryByCommittee(20000, "vote", 0).score(post, gf.Binary(0.1, 0.3), X)
    np.testing.assert_allclose(got, _h(np.stack([yes, 1 - yes], axis=-1)), atol=0.02)
    d, v = post.marginals(gf.Preference(0.3), PAIRS)
    yes = ndtr(d / np.sqrt(v))
    got = QueryByCommittee(20000, "vote", 0).score(post, gf.Preference(0.3), PAIRS)
    np.testing.assert_allclose(got, _h(np.stack([yes, 1 - yes], axis=-1)), atol=0.02)


def test_a_large_committee_votes_on_ranks_like_the_posterior(post):
    instrument = gf.Ordinal([-0.4, 0.5, 0.55], 0.1)  # the rank between 0.5 and 0.55 is never the likeliest
    z = np.linspace(-9, 9, 20001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    wanted = []
    for m, v in zip(post.mean(X), post.variance(X), strict=True):
        vote = np.argmax(_given(instrument, (m + np.sqrt(v) * z)[:, None]), axis=-1)
        wanted.append(_h([weight @ (vote == k) for k in range(4)]))
    np.testing.assert_allclose(QueryByCommittee(20000, "vote", 1).score(post, instrument, X), wanted, atol=0.02)


@pytest.mark.parametrize(("instrument", "queries"), DISCRETE)
def test_a_large_committee_diverges_by_the_information(post, instrument, queries):
    got = QueryByCommittee(20000, "kl", 0).score(post, instrument, queries)
    np.testing.assert_allclose(got, gf.information(post, instrument, queries), atol=0.015)


def test_a_committee_drawn_from_several_posteriors_diverges_by_their_information(post):
    belief = gf.Belief([post, gf.GP(gf.SE(0.1), gf.ConstantMean(2.0)).condition(post.data)], [0.3, 0.7])
    got = QueryByCommittee(20000, "kl", 0).score(belief, gf.Binary(), X)
    np.testing.assert_allclose(got, gf.information(belief, gf.Binary(), X), atol=0.015)
    alone = gf.Belief([post])
    for measure in ("vote", "kl"):
        goal = QueryByCommittee(10, measure, 5)
        np.testing.assert_array_equal(goal.score(alone, gf.Binary(), X), goal.score(post, gf.Binary(), X))


def test_members_are_joint_draws_from_the_posterior(post):
    over, away = np.linspace(0, 1, 9)[:, None], np.array([[0.3], [0.31], [1.4]])
    at = np.concatenate([over, away])
    f = members(post, at, 40000, 0, over)
    np.testing.assert_allclose(f.mean(axis=0), post.mean(at), atol=0.04)
    wanted = post.covariance(at)
    got = np.cov(f.T)
    np.testing.assert_allclose(np.diag(got), np.diag(wanted), atol=0.06)
    np.testing.assert_allclose(got[: len(over)], wanted[: len(over)], atol=0.06)
    # Two places between those that are fixed have in common what these say of them, which here is nearly all.
    assert abs(got[9, 10] - wanted[9, 10]) < 0.06


def test_a_member_is_the_same_function_wherever_it_is_asked(post):
    over, at = np.linspace(0, 1, 9)[:, None], np.array([[0.3], [0.5], [1.4]])
    f = members(post, at, 5, 2, over)
    np.testing.assert_allclose(members(post, at[::-1], 5, 2, over)[:, ::-1], f, rtol=1e-9)
    np.testing.assert_allclose(members(post, at[1:2], 5, 2, over)[:, 0], f[:, 1], rtol=1e-9)
    assert not np.allclose(members(post, at, 5, 3, over), f)


@pytest.mark.parametrize(("instrument", "queries"), DISCRETE)
@pytest.mark.parametrize("measure", ["vote", "kl"])
def test_committees_satisfy_what_every_goal_must(post, instrument, queries, measure):
    check_acquisition(QueryByCommittee(9, measure, over=X), post, instrument, queries)
    check_acquisition(QueryByCommittee(9, measure, over=[[0.2], [1.0]]), post, instrument, queries)


def test_a_seed_gives_one_committee_whatever_the_order_of_the_queries(post):
    goal = QueryByCommittee(5, "kl", seed=4)
    scores = goal.score(post, gf.Binary(), X)
    np.testing.assert_array_equal(goal.score(post, gf.Binary(), X), scores)
    np.testing.assert_allclose(goal.score(post, gf.Binary(), X[::-1]), scores[::-1], rtol=1e-12)
    assert not np.allclose(QueryByCommittee(5, "kl", seed=5).score(post, gf.Binary(), X), scores)
    assert set(QueryByCommittee(2).score(post, gf.Binary(), np.linspace(-2, 2, 50)[:, None])) == {0.0, 1.0}
    assert QueryByCommittee(2, over=X) == QueryByCommittee(2, over=X.tolist())


def test_many_pairs_of_few_places_are_a_small_committee(post):
    pool = np.linspace(0, 1, 60)[:, None]
    i, j = np.triu_indices(60, 1)
    assert QueryByCommittee(2).score(post, gf.Preference(), np.stack([pool[i], pool[j]], axis=1)).shape == (1770,)


def test_what_a_committee_cannot_do_is_refused(post):
    many = np.linspace(0, 1, 2001)[:, None]
    ok = QueryByCommittee(2)
    for ask, argument in (
        (lambda: QueryByCommittee(1), "size"),
        (lambda: QueryByCommittee(2.5), "size"),
        (lambda: QueryByCommittee(2, "show of hands"), "measure"),
        (lambda: QueryByCommittee(2, seed=-1), "seed"),
        (lambda: QueryByCommittee(2, over=many), "over"),
        (lambda: ok.score(post, gf.Binary(), many), "places"),
        (lambda: ok.score(post, gf.Point(0.1), X), "instrument"),
    ):
        with pytest.raises(gf.InvalidInput) as refused:
            ask()
        assert refused.value.argument == argument
    assert QueryByCommittee(2, over=many[::50]).score(post, gf.Binary(), many).shape == (2001,)


def test_a_committee_is_drawn_anew_after_every_answer():
    """With the same numbers behind it, it would disagree at the same places again and again."""
    pool = np.linspace(0, 1, 30)[:, None]
    goal = QueryByCommittee(2, seed=0, over=pool)
    one = gf.GP(gf.SE(0.1, 4.0)).condition(gf.Data().add(gf.Binary(), [[9.0]], [True]))
    two = one.condition(gf.Data().add(gf.Binary(), [[90.0]], [True]))  # both too far away to tell anything
    first, second = goal.score(one, gf.Binary(), pool), goal.score(two, gf.Binary(), pool)
    assert first.tolist() == goal.score(one, gf.Binary(), pool).tolist()
    assert first.tolist() != second.tolist()

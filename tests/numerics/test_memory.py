"""Blocks: the same numbers whatever the bound of memory, and refusals in words where there are no blocks."""

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import EPIG, Entropy, LeastConfidence, LogExpectedImprovement, Margin, QueryByCommittee, score
from gainful.information.gradient import information_and_gradient
from gainful.numerics import memory
from gainful.numerics.rows import find_rows

PLACES = np.random.default_rng(0).uniform(-1.0, 1.0, (203, 2))
PAIRS = PLACES[:200].reshape(100, 2, 2)
DATA = (
    gf.Data()
    .add(gf.Point(0.1), PLACES[:4], [0.1, -0.4, 0.3, 1.0])
    .add(gf.Binary(), PLACES[4:8], [True, False, True, True])
    .add(gf.Preference(0.3), PAIRS[10:12], [True, False])
)
POSTERIOR = gf.GP(gf.SE(0.7) + 0.2 * gf.Linear()).condition(DATA)
NEEDS_SEVERAL = {"bald-hyperparameters"}
BELIEF = gf.Belief([POSTERIOR, gf.GP(gf.SE(0.3)).condition(DATA)], [0.3, 0.7])
ORDINAL, PENDING = gf.Ordinal([-0.5, 0.5], 0.2), [gf.Query(gf.Binary(), PLACES[9]), gf.Query(gf.Point(0.1), PLACES[20])]

QUESTIONS = {
    "mean": lambda: POSTERIOR.mean(PLACES),
    "variance": lambda: POSTERIOR.variance(PLACES),
    "covariance": lambda: POSTERIOR.covariance(PLACES[:50]),
    "covariance with others": lambda: POSTERIOR.covariance(PLACES, PLACES[:7]),
    "predict": lambda: np.stack([POSTERIOR.predict(PLACES).mean, POSTERIOR.predict(PLACES).variance]),
    "marginals of pairs": lambda: np.stack(POSTERIOR.marginals(gf.Preference(0.3), PAIRS)),
    "answers": lambda: POSTERIOR.answers(ORDINAL, PLACES).log_probabilities,
    "information of a number": lambda: gf.information(POSTERIOR, gf.Point(0.1), PLACES),
    "information of an interval": lambda: gf.information(POSTERIOR, gf.Interval(0.1, width=0.4), PLACES),
    "information of ranks": lambda: gf.information(POSTERIOR, ORDINAL, PLACES),
    "information of preferences": lambda: gf.information(POSTERIOR, gf.Preference(0.3), PAIRS),
    "beyond pending": lambda: gf.information(POSTERIOR, gf.Binary(), PLACES[:40], pending=PENDING),
    "about a region": lambda: gf.information(POSTERIOR, ORDINAL, PLACES, about=gf.Region(PLACES[:5])),
    "of a mixture": lambda: gf.information(BELIEF, gf.Point(0.1), PLACES),
    "about the model": lambda: gf.information(BELIEF, gf.Binary(), PLACES, about="model"),
    "gradient": lambda: np.concatenate(information_and_gradient(POSTERIOR, ORDINAL, PLACES)[1]),
    "gradient of pairs": lambda: np.concatenate(information_and_gradient(POSTERIOR, gf.Preference(0.3), PAIRS)[1]),
    "EPIG": lambda: EPIG(PLACES[:5], gf.Binary()).score(POSTERIOR, gf.Binary(), PLACES),
    "Entropy": lambda: Entropy().score(POSTERIOR, ORDINAL, PLACES),
    "LeastConfidence": lambda: LeastConfidence().score(BELIEF, ORDINAL, PLACES),
    "Margin": lambda: Margin().score(POSTERIOR, ORDINAL, POSTERIOR.predict(PLACES)),
    "LogExpectedImprovement": lambda: LogExpectedImprovement().score(POSTERIOR, ORDINAL, PLACES),
    "QueryByCommittee": lambda: QueryByCommittee(20, "kl", over=PLACES[:9]).score(POSTERIOR, gf.Binary(), PLACES),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_blocks_change_no_number(question, monkeypatch):
    whole = question()
    for bound in (20_000, 1):
        monkeypatch.setattr(memory, "WORKING", bound)
        np.testing.assert_allclose(question(), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("strategy", [s for s in gf.strategies() if s.scores], ids=lambda s: s.name)
def test_every_strategy_scores_alike_in_blocks(strategy, monkeypatch):
    answered = gf.GP(gf.SE(0.7)).condition(gf.Data().add(gf.Binary(), PLACES[:8], [1, 0, 0, 1, 1, 1, 0, 1]))
    belief = BELIEF if strategy.name in NEEDS_SEVERAL else answered
    found = []
    for bound in (memory.WORKING, 20_000):
        monkeypatch.setattr(memory, "WORKING", bound)
        found.append(score(strategy.name, belief, gf.Binary(), PLACES[20:60]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)


def test_a_choice_from_a_pool_is_the_same_in_blocks(monkeypatch):
    def chosen():
        instruments = [gf.Point(0.1, cost=3.0, name="a"), ORDINAL, gf.Binary(name="b")]
        campaign = gf.Campaign(gf.Pool(PLACES), instruments, model=gf.GP(gf.SE(0.5)))
        return [campaign.ask() for _ in range(4)]

    whole = chosen()
    monkeypatch.setattr(memory, "WORKING", 4_000)
    assert chosen() == whole


def test_a_covariance_too_large_for_memory_is_refused_in_words():
    with pytest.raises(gf.InvalidInput, match=r"at most \d+ numbers in one array .* take fewer places"):
        POSTERIOR.covariance(np.zeros((200_000, 2)))
    with pytest.raises(gf.InvalidInput, match="at most"):
        POSTERIOR.sample(np.zeros((200_000, 2)), 1, 0)


def test_a_search_that_cannot_be_afforded_is_refused():
    for wrong in ({"candidates": 10**13}, {"climbers": 10**9}, {"set_size": 10**6}):
        with pytest.raises(gf.InvalidInput, match="at most"):
            gf.Search(**wrong)


def test_rows_are_found_as_a_loop_finds_them():
    rng = np.random.default_rng(1)
    X, known = (rng.integers(-1, 3, (n, 3)) * 1.0 for n in (300, 20))
    X[X == 0.0] = -0.0
    expected = [max((j for j, row in enumerate(known) if np.array_equal(row, x)), default=-1) for x in X]
    assert find_rows(X, known).tolist() == expected
    assert find_rows(X, known[:0]).tolist() == [-1] * 300

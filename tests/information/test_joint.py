"""Joint information against brute force, its laws, and the estimate by outcomes against what is exact."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition import score_beyond
from gainful.information import Estimate, information_estimate, joint_estimate, joint_information
from gainful.information.joint import _by_outcomes, _in_order
from gainful.information.readings import candidate_readings

LAB = gf.Point(0.4)
STRIP = gf.Interval(0.4, width=0.9)
LOOK = gf.Ordinal([-0.6, 0.5], 0.5)
ASK = gf.Binary()
CARELESS = gf.Binary(guess=0.2, lapse=0.05)
RANK = gf.Preference(0.5)
TONES = gf.Detection()
LISTENER = gf.Detection(0.1, 0.05, threshold=0.3, noise=0.8)
DISCRETE = (LOOK, ASK, CARELESS, RANK, TONES, LISTENER)


def _line():
    """f(x) = 0.2 + a + b x with a ~ N(0, 0.8), b ~ N(0, 1.5): two numbers, over which one can integrate."""
    return gf.GP(gf.Constant(0.8) + gf.Linear(1.5), gf.ConstantMean(0.2)).condition(gf.Data())


def _curve():
    data = gf.Data().add(LAB, [[0.1], [0.8]], [0.6, -0.5]).add(LOOK, [[0.4]], [2])
    return gf.GP(gf.SE(0.3, 1.3)).condition(data)


def _query(instrument, *x):
    return gf.Query(instrument, [x[0]] if instrument.query == "place" else [[v] for v in x])


def _likelihood(query, f, grid):
    """p(answer | f) for every answer, (answers, nodes); of numbers and intervals at the values of the grid."""
    instrument, g = query.instrument, f(query.place[..., 0])
    if isinstance(instrument, gf.Point):
        return np.exp(-0.5 * ((grid[:, None] - g) / instrument.noise) ** 2) / instrument.noise / np.sqrt(2 * np.pi)
    if isinstance(instrument, gf.Interval):
        upto = lambda end: ndtr((end[:, None] - g) / instrument.noise)  # noqa: E731
        return (upto(grid + instrument.width) - upto(grid)) / instrument.width
    if isinstance(instrument, gf.Ordinal):
        edges = np.concatenate([[-np.inf], instrument.thresholds, [np.inf]])
        return np.diff(ndtr((edges[:, None] - g) / instrument.noise), axis=0)
    if isinstance(instrument, gf.Preference):
        yes = ndtr((g[0] - g[1]) / np.sqrt(2) / instrument.noise)
    elif isinstance(instrument, gf.Detection):
        careful = 1 - np.prod(ndtr(((instrument.threshold or 0.0) - g) / (instrument.noise or 1.0)), axis=0)
        yes = instrument.guess + (1 - instrument.guess - instrument.lapse) * careful
    else:
        yes = instrument.guess + (1 - instrument.guess - instrument.lapse) * ndtr(g)
    return np.stack([1 - yes, yes])


def _oracle(queries, nodes=90):
    """H[answers] − Σ E[H[answer | f]] on the line, by a product rule over a and b and a grid of continuous answers."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    a, b = (v.ravel() for v in np.meshgrid(np.sqrt(0.8) * z, np.sqrt(1.5) * z))
    weight = np.outer(w, w).ravel() / w.sum() ** 2
    keep = weight > 1e-16
    a, b, weight = a[keep], b[keep], weight[keep]
    grid = np.linspace(-13.0, 13.0, 240)
    f = lambda x: 0.2 + a + np.multiply.outer(x, b)  # noqa: E731
    joint, step, given = weight[None], 1.0, 0.0
    for query in queries:
        p = _likelihood(query, f, grid)
        cell = grid[1] - grid[0] if isinstance(query.instrument, gf.Point | gf.Interval) else 1.0
        given += weight @ (-cell * np.sum(p * np.log2(np.maximum(p, 1e-300)), axis=0))
        step *= cell
        joint = joint @ p.T if query is queries[-1] else (joint[:, None] * p).reshape(-1, len(a))
    return -step * np.sum(joint * np.log2(np.maximum(joint, 1e-300))) - given


SETS = {
    "ranks": [_query(LOOK, x) for x in (-0.8, 0.1, 0.4, 1.0)],
    "yes/no": [_query(ASK, x) for x in (-1.0, 0.0, 0.3, 0.3)],
    "preferences": [_query(RANK, *x) for x in ((-0.5, 0.2), (0.2, 1.0), (1.0, -0.5), (0.0, 0.1))],
    "mixed": [_query(LOOK, 0.3), _query(CARELESS, -0.4), _query(RANK, 0.9, -0.3), _query(ASK, 0.8)],
    "sets": [_query(TONES, 0.1, 0.7), _query(CARELESS, -0.4), _query(LOOK, 0.2)],
    "careless sets": [_query(LISTENER, 0.1, 0.7), _query(LOOK, -0.4)],
    "number and ranks": [_query(LOOK, -0.8), _query(LOOK, 0.1), _query(ASK, 0.9), _query(LAB, 0.3)],
    "two numbers": [_query(LAB, -0.5), _query(LOOK, 0.1), _query(RANK, 0.9, 0.1), _query(LAB, 0.7)],
    "interval": [_query(LOOK, 0.1), _query(ASK, -0.7), _query(STRIP, 0.5)],
    "two intervals": [_query(STRIP, 0.1), _query(STRIP, 0.5)],
    "interval and number": [_query(LOOK, 0.1), _query(LAB, -0.7), _query(STRIP, 0.5)],
}


@pytest.mark.parametrize("queries", SETS.values(), ids=SETS)
def test_joint_information_equals_brute_force(queries):
    got = joint_estimate(_line(), queries)
    assert got.error == 0.0
    assert float(got.bits) == pytest.approx(_oracle(queries), abs=1e-7)
    assert joint_information(_line(), queries) == float(got.bits)


@pytest.mark.parametrize("name", ["ranks", "mixed"])
def test_greedy_sums_to_the_joint_information_of_brute_force(name):
    """Four queries chosen one by one, each given those before: their bits add up to those of all four."""
    left, chosen, bits = list(SETS[name]), [], 0.0
    while left:
        scores = [gf.information(_line(), q.instrument, q.place[None], pending=chosen)[0] for q in left]
        bits += max(scores)
        chosen.append(left.pop(int(np.argmax(scores))))
    assert bits == pytest.approx(_oracle(chosen), abs=2e-7)


def test_four_yes_or_no_on_a_curve_equal_a_product_rule_over_their_values():
    post = _curve()
    queries = [_query(ASK, x) for x in (0.05, 0.3, 0.5, 0.95)]
    X = np.array([q.place for q in queries])
    z, w = np.polynomial.hermite_e.hermegauss(26)
    nodes = np.array(list(product(z, repeat=4)))
    weight = np.prod(np.array(list(product(w / w.sum(), repeat=4))), axis=1)
    yes = ndtr(post.mean(X) + nodes @ np.linalg.cholesky(post.covariance(X)).T)
    p = np.array([weight @ np.prod(np.where(a, yes, 1 - yes), axis=1) for a in product([False, True], repeat=4)])
    given = -weight @ np.sum(yes * np.log2(yes) + (1 - yes) * np.log2(1 - yes), axis=1)
    assert joint_information(post, queries) == pytest.approx(-p @ np.log2(p) - given, abs=1e-7)


def test_numbers_by_determinant_equal_the_chain_of_conditional_variances():
    post = _curve()
    X = np.linspace(0.0, 1.0, 7)[:, None]
    noises = np.linspace(0.1, 0.5, 7)
    queries = [gf.Query(gf.Point(s), x) for s, x in zip(noises, X, strict=True)]
    scaled = post.covariance(X) / np.outer(noises, noises)
    determinant = 0.5 * np.linalg.slogdet(np.eye(7) + scaled)[1] / np.log(2)
    chain = [gf.information(post, q.instrument, q.place[None], pending=queries[:i])[0] for i, q in enumerate(queries)]
    assert joint_information(post, queries) == pytest.approx(determinant, abs=1e-10)
    assert sum(chain) == pytest.approx(determinant, abs=1e-10)
    now, seen = gf.GP(gf.SE(0.3)).condition(gf.Data()), gf.Data()
    for i, query in enumerate(queries):  # and of posteriors that have seen an answer, whichever it was
        bits = gf.information(now, query.instrument, query.place[None], pending=queries[:i])
        answered = now.condition(seen) if i else now
        np.testing.assert_allclose(bits, gf.information(answered, query.instrument, query.place[None]), atol=1e-10)
        seen = seen.add(query.instrument, query.place, 0.3)


@pytest.mark.parametrize("post", [_line(), _curve()], ids=["line", "curve"])
def test_a_repeat_of_a_query_without_noise_adds_nothing(post):
    exact, sharp, choice = gf.Point(0.0), gf.Ordinal([-0.4, 0.5], 0.0), gf.Preference(0.0)
    assert joint_information(post, [_query(exact, 0.3)]) == np.inf
    for query in (_query(sharp, 0.3), _query(choice, 0.3, 0.9)):
        once = joint_information(post, [query])
        assert joint_information(post, [query, query]) == once
        others = [_query(ASK, 0.35), _query(LAB, 0.9)]
        assert joint_information(post, [query, *others, query]) == joint_information(post, [query, *others])
        for given in ([query], [query, others[0]], [query, *others]):
            again = gf.information(post, query.instrument, query.place[None], pending=given)
            assert again[0] == pytest.approx(0.0, abs=1e-9)
        assert _estimated(post, query.instrument, query.place[None], [query, *others]).bits[0] < 1e-3
    # What is told by the same reading in other words is nothing new either, nor is anything about a known value.
    turned = _query(choice, 0.9, 0.3)
    assert gf.information(post, choice, turned.place[None], pending=[_query(choice, 0.3, 0.9)])[0] < 1e-9
    coarse, fine = gf.Ordinal([-0.4], 0.0, name="coarse"), _query(sharp, 0.3)
    assert gf.information(post, coarse, [[0.3]], pending=[fine])[0] == pytest.approx(0.0, abs=1e-9)
    for instrument in (exact, LAB, STRIP, LOOK, ASK):
        bits = gf.information(post, instrument, [[0.3]], pending=[_query(exact, 0.3), _query(LOOK, 0.5)])
        assert bits[0] == pytest.approx(0.0, abs=1e-8)
    assert gf.information(post, exact, [[0.5]], pending=[_query(sharp, 0.5), _query(ASK, 0.5)])[0] == np.inf


def test_preferences_without_noise_that_imply_each_other_add_up():
    """u > v and v > w decide u > w: of three, two are worth what all orders are worth (Φ's orthants, by sampling)."""
    post, choice = _curve(), gf.Preference(0.0)
    queries = [_query(choice, *pair) for pair in ((0.0, 0.5), (0.5, 1.0), (0.0, 1.0))]
    f = post.sample([[0.0], [0.5], [1.0]], 2_000_000, np.random.default_rng(0))
    signs = np.stack([f[:, 0] > f[:, 1], f[:, 1] > f[:, 2], f[:, 0] > f[:, 2]]).T @ [1, 2, 4]
    p = np.bincount(signs, minlength=8) / len(f)
    entropy = -np.sum(p * np.log2(np.where(p > 0, p, 1.0)))
    assert joint_information(post, queries) == pytest.approx(entropy, abs=3e-3)


POOLS = {
    "numbers": [_query(LAB, x) for x in np.linspace(0, 1, 12)],
    "discrete": [
        *(_query(LOOK, x) for x in np.linspace(0, 1, 5)),
        *(_query(ASK, x) for x in (0.1, 0.6, 0.9)),
        *(_query(RANK, *x) for x in ((0.0, 0.5), (0.2, 0.3), (0.4, 1.0), (0.6, 0.9))),
    ],
    "mixed": [
        *(_query(gf.Point(1.0), x) for x in (0.0, 0.35, 0.7, 1.0)),
        *(_query(LOOK, x) for x in (0.05, 0.3, 0.6, 0.9)),
        *(_query(RANK, *x) for x in ((0.0, 0.5), (0.4, 1.0))),
        *(_query(CARELESS, x) for x in (0.2, 0.5)),
    ],
}


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_greedy_reaches_its_bound_of_the_best_batch(pool):
    """Information given f is submodular: greedy has at least 1 − 1/e of the best of all 220 batches of three."""
    post, chosen = _curve(), []
    for _ in range(3):
        scores = {
            i: gf.information(post, q.instrument, q.place[None], pending=[pool[j] for j in chosen])[0]
            for i, q in enumerate(pool)
            if i not in chosen
        }
        chosen.append(max(scores, key=scores.__getitem__))
    got = joint_information(post, [pool[i] for i in chosen])
    best = max(joint_information(post, list(batch)) for batch in combinations(pool, 3))
    assert (1 - 1 / np.e) * best <= got <= best + 1e-9
    top = sorted(pool, key=lambda q: -gf.information(post, q.instrument, q.place[None])[0])[:3]
    assert got >= joint_information(post, top) - 1e-9


@pytest.mark.parametrize("queries", SETS.values(), ids=SETS)
def test_joint_information_obeys_its_laws(queries):
    post, queries = _line(), queries[:3]
    joint = joint_information(post, queries)
    singles = [joint_information(post, [q]) for q in queries]
    direct = [gf.information(post, q.instrument, q.place[None])[0] for q in queries]
    np.testing.assert_allclose(singles, direct, atol=1e-9)
    assert max(singles) <= joint <= sum(singles) + 1e-9
    for order in permutations(queries):
        assert joint_information(post, list(order)) == joint
    for i, query in enumerate(queries):
        others = [q for j, q in enumerate(queries) if j != i]
        more = gf.information(post, query.instrument, query.place[None], pending=others)[0]
        assert more == pytest.approx(joint - joint_information(post, others), abs=1e-7)
        fewer = gf.information(post, query.instrument, query.place[None], pending=others[:1])[0]
        assert 0.0 <= more <= fewer + 1e-7 <= singles[i] + 2e-7


def test_information_and_what_wraps_it_are_exact_beyond_what_is_pending():
    post, given = _curve(), [_query(LOOK, 0.3)]
    X = [[0.35], [0.9]]
    bits = gf.information(post, LOOK, X, pending=given)
    dear = gf.Ordinal(LOOK.thresholds, LOOK.noise, cost=2.5)
    np.testing.assert_array_equal(score_beyond(gf.Learn(), post, LOOK, X, given), bits)
    np.testing.assert_allclose(score_beyond(gf.PerCost(gf.Learn()), post, dear, X, given), bits / 2.5)
    np.testing.assert_allclose(score_beyond(gf.Normalised(gf.Learn()), post, LOOK, X, given), bits / np.log2(3))
    np.testing.assert_array_equal(gf.information(post, LOOK, X, pending=[]), gf.information(post, LOOK, X))
    assert bits[0] < 0.8 * gf.information(post, LOOK, X)[0]


def _estimated(post, instrument, places, given, scan=False):
    """Information by outcomes, even where it could be exact; repeated places make a scan of it."""
    places = np.asarray(places, dtype=float)
    if scan:
        places = np.concatenate([places] * (65 // len(places) + 1))
    return _by_outcomes(instrument, candidate_readings(post, _in_order(given), instrument, places))


GIVEN = {
    "rank": [_query(LOOK, 0.3)],
    "two": [_query(LOOK, 0.3), _query(CARELESS, 0.6)],
    "pair and number": [_query(RANK, 0.0, 0.5), _query(LAB, 0.7)],
    "set": [_query(TONES, 0.3, 0.6)],
    "careless set": [_query(LISTENER, 0.3, 0.6)],
    "interval": [_query(STRIP, 0.4)],
    "three": [_query(LOOK, x) for x in (0.3, 0.45, 0.6)],
}


PAIRS = [
    pytest.param(given, instrument, id=f"{name}, then {type(instrument).__name__}")
    for (name, given), instrument in product(GIVEN.items(), (LAB, STRIP, *DISCRETE))
    if not (name == "three" and instrument in (STRIP, TONES, LISTENER))  # three deep: nothing exact to compare with
]


@pytest.mark.parametrize(("given", "instrument"), PAIRS)
def test_the_estimate_by_outcomes_is_within_its_error_of_the_exact(given, instrument):
    post, x = _curve(), np.array([0.05, 0.32, 0.55, 0.95])
    places = x[:, None] if instrument.query == "place" else np.stack([x, x[::-1] + 0.01], axis=1)[:, :, None]
    exact = information_estimate(post, instrument, places, given)
    assert not exact.error.any()
    for scan, most in ((False, 0.004), (True, 0.04)):
        got = _estimated(post, instrument, places, given, scan)
        off = np.abs(got.bits[: len(x)] - exact.bits)
        assert np.all(off <= 3.0 * got.error[: len(x)] + 3e-3)
        assert np.all(off <= most)


def test_large_batches_are_estimated_within_their_error_and_always_alike():
    """Six yes/no questions on a line, 64 outcomes: brute force against the chain rule by outcomes."""
    queries = [_query(ASK if i % 2 else CARELESS, x) for i, x in enumerate((-1.0, -0.6, 0.0, 0.2, 0.5, 1.0))]
    got = joint_estimate(_line(), queries)
    assert 0.0 < got.error < 2e-3
    assert abs(float(got.bits) - _oracle(queries)) < max(3.0 * float(got.error), 1e-4)
    assert joint_information(_line(), queries[::-1]) == float(got.bits)
    ranks = [_query(LOOK, x) for x in (-1.0, -0.6, 0.0, 0.2, 0.5, 1.0)]
    got = joint_estimate(_line(), ranks)
    assert abs(float(got.bits) - _oracle(ranks, 60)) < 3.0 * float(got.error) < 0.05


def test_scans_use_the_same_numbers_for_every_place():
    """Scores of a scan are smooth in the place: a query next to another scores next to it."""
    post, given = _curve(), [_query(LOOK, x) for x in (0.1, 0.3, 0.5, 0.7, 0.9)]
    X = np.linspace(0.2, 0.2001, 200)[:, None]
    for instrument in (LOOK, LAB):
        bits = gf.information(post, instrument, X, pending=given)
        assert np.max(np.abs(np.diff(bits, 2))) < 1e-7
        np.testing.assert_array_equal(bits, gf.information(post, instrument, X, pending=given))


def test_nothing_is_told_about_what_is_far_away():
    post = gf.GP(gf.SE(0.1)).condition(gf.Data())
    given = [
        _query(LOOK, 50.0),
        _query(RANK, 50.0, 51.0),
        _query(STRIP, 50.1),
        _query(LAB, 50.2),
        _query(TONES, 49, 50),
    ]
    for instrument in (LAB, STRIP, LOOK, ASK, CARELESS):
        plain = gf.information(post, instrument, [[0.0]])
        np.testing.assert_allclose(gf.information(post, instrument, [[0.0]], pending=given), plain, atol=1e-9)


def test_questions_that_cannot_be_answered_are_refused():
    post, query = _curve(), _query(LAB, 0.3)
    for ask in (
        lambda: joint_information(post, query),
        lambda: joint_information(post, [query, "lab"]),
        lambda: joint_information("post", [query]),
        lambda: joint_information(post, [gf.Query(LAB, [0.1, 0.2])]),
        lambda: joint_information(post, [_query(gf.Interval(0.1), 0.3)]),
        lambda: gf.information(post, LAB, [[0.0]], pending=query),
        lambda: gf.information(post, LAB, [[0.0]], pending=[gf.Query(LAB, [0.1, 0.2])]),
        lambda: gf.information(post, LAB, [[0.0]], pending=[_query(gf.Interval(0.1), 0.3)]),
        lambda: gf.information(post, gf.Interval(0.1), [[0.0]], pending=[query]),
    ):
        with pytest.raises(gf.InvalidInput):
            ask()
    assert joint_information(post, []) == 0.0
    assert isinstance(joint_estimate(post, [query]), Estimate)
    assert gf.information(post, LAB, np.zeros((0, 1)), pending=[query]).shape == (0,)

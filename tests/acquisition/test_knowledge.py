"""The knowledge gradient against the exact envelope of lines, sampling-free integrals over answers, and laws."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

import gainful as gf
from gainful.acquisition import KnowledgeGradient
from gainful.acquisition.knowledge import mean_of_envelope
from gainful.testing import check_acquisition

PLACES = np.linspace(-1, 3, 7)[:, None]
OVER = np.array([[-0.6], [0.3], [1.1], [1.6], [2.6]])
DATA = gf.Data().add(gf.Point(0.3), [[0.0], [0.7], [2.0]], [0.4, 1.3, -0.6]).add(gf.Binary(), [[1.2]], [True])
POSTERIOR = gf.GP(gf.SE(0.6, 2.0)).condition(DATA)
ANSWERS = {
    "number": (gf.Point(0.5), np.linspace(-12, 12, 1201)),
    "yes/no": (gf.Binary(guess=0.1), np.array([0.0, 1.0])),
    "ranks": (gf.Ordinal([-0.5, 0.8, 1.4], 0.2), np.array([1.0, 2.0, 3.0, 4.0])),
    "so many of ten": (gf.Binomial(trials=10), np.arange(11.0)),
}


def _exact(a, b):
    """E max(a + b z), by the corners of the upper envelope, found line by line."""
    order = np.lexsort((a, b))
    a, b = a[order], b[order]
    keep, corners = [], []
    for i in range(len(a)):
        while keep:
            j = keep[-1]
            turn = -np.inf if b[i] == b[j] else (a[j] - a[i]) / (b[i] - b[j])
            if turn <= (corners[-1] if corners else -np.inf):
                keep.pop()
                if corners:
                    corners.pop()
                continue
            corners.append(turn)
            break
        keep.append(i)
        corners = corners[: len(keep) - 1]
    ends = np.array([-np.inf, *corners, np.inf])
    mass, pull = np.diff(ndtr(ends)), -np.diff(norm.pdf(ends))
    return np.sum(a[keep] * mass + b[keep] * pull)


@pytest.mark.parametrize("lines", [2, 3, 10, 200])
@pytest.mark.parametrize("steep", [0.05, 1.0, 20.0])
def test_the_mean_of_an_envelope_of_lines_is_that_of_its_corners(lines, steep):
    rng = np.random.default_rng(lines)
    a, b = -np.abs(rng.normal(size=(20, lines))), steep * rng.normal(size=(20, lines))
    a[:, 0] = b[:, 0] = 0.0
    wanted = [_exact(*each) for each in zip(a, b, strict=True)]
    np.testing.assert_allclose(mean_of_envelope(a, b), wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ANSWERS)
def test_it_is_what_the_best_mean_is_expected_to_gain(name, sign):
    """E_y max_r E[f_r | y] − max_r E[f_r] on a grid of g and y."""
    instrument, y = ANSWERS[name]
    got = KnowledgeGradient(sign, OVER).score(POSTERIOR, instrument, PLACES)
    rivals = np.concatenate([OVER, POSTERIOR.data.layout.places])
    z = np.linspace(-8, 8, 401)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    for i, place in enumerate(PLACES):
        every = np.concatenate([rivals, place[None]])
        m, v = POSTERIOR.mean(place[None])[0], POSTERIOR.variance(place[None])[0]
        mean, cross = POSTERIOR.mean(every), POSTERIOR.covariance(place[None], every)[0]
        likelihood = np.exp(instrument.log_prob(y[:, None], m + np.sqrt(v) * z))
        p = likelihood @ weight
        moved = likelihood @ (weight * z * np.sqrt(v)) / np.maximum(p, 1e-300)
        after = mean + np.outer(moved, cross / v)
        measure = np.gradient(y) if name == "number" else np.ones(len(y))
        wanted = np.sum(measure * p * np.max(sign * after, axis=1)) - np.max(sign * mean)
        assert got[i] == pytest.approx(wanted, rel=5e-3, abs=1e-6)


def test_of_two_places_it_is_the_expected_improvement_of_one_over_the_other():
    """b of the rival counts: what the answer tells about it moves it, too."""
    prior = gf.GP(gf.SE(1.0)).condition(gf.Data())
    for noise in (0.0, 0.5):
        spread = (1.0 - np.exp(-0.5 * 0.8**2)) / np.sqrt(1.0 + noise**2)
        got = KnowledgeGradient(over=[[0.8]]).score(prior, gf.Point(noise), [[0.0]])
        assert got[0] == pytest.approx(spread / np.sqrt(2 * np.pi), rel=1e-9)


def test_an_answer_about_a_place_that_no_answer_can_make_the_best_is_worth_nothing():
    sure = gf.GP(gf.SE(0.1)).condition(gf.Data().add(gf.Point(0.0), [[0.0], [0.5]], [5.0, 0.0]))
    look = gf.Ordinal([0.0], 0.1)
    assert KnowledgeGradient(over=[[0.0]]).score(sure, look, [[0.9]])[0] == 0.0
    assert KnowledgeGradient(over=[[0.0]]).score(sure, gf.Point(0.1), [[0.9]])[0] > 0.0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "instrument", [gf.Point(0.2), gf.Binary(), gf.Interval(0.1, width=0.4), gf.Preference(0.3), gf.Detection()], ids=str
)
def test_every_instrument_may_ask_and_scores_conform(instrument, sign):
    queries = PLACES if instrument.query == "place" else np.stack([PLACES[:4], PLACES[3:]], axis=1)
    check_acquisition(KnowledgeGradient(sign, OVER), POSTERIOR, instrument, queries)
    scores = KnowledgeGradient(sign, OVER).score(POSTERIOR, instrument, queries)
    assert np.all(scores >= 0.0)
    assert np.max(scores) > 0.0


def test_minimising_f_is_maximising_its_negative():
    turned = gf.GP(gf.SE(0.6, 2.0)).condition(gf.Data().add(gf.Point(0.3), [[0.0], [0.7]], [-0.4, -1.3]))
    plain = gf.GP(gf.SE(0.6, 2.0)).condition(gf.Data().add(gf.Point(0.3), [[0.0], [0.7]], [0.4, 1.3]))
    up, down = (KnowledgeGradient(sign, OVER).score(p, gf.Point(0.3), PLACES) for sign, p in ((1, plain), (-1, turned)))
    np.testing.assert_allclose(down, up, rtol=1e-9)


def test_of_several_posteriors_it_is_the_weighted_average():
    other = gf.GP(gf.SE(1.2, 1.0)).condition(DATA)
    goal, lab = KnowledgeGradient(1, OVER), gf.Point(0.2)
    one, two = (goal.score(p, lab, PLACES) for p in (POSTERIOR, other))
    np.testing.assert_allclose(
        goal.score(gf.Belief([POSTERIOR, other], [0.3, 0.7]), lab, PLACES), 0.3 * one + 0.7 * two, rtol=1e-12
    )


def test_rivals_that_cannot_win_are_left_out_and_change_nothing():
    sure = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.01), [[0.0], [0.5]], [3.0, -3.0]))
    goal = KnowledgeGradient(over=[[0.02], [0.48], [0.5], [0.52]])
    (part,) = goal.prepare(sure).parts
    assert len(part.rivals) < 5
    alone = KnowledgeGradient(over=[[0.02]])
    lab = gf.Point(0.1)
    np.testing.assert_allclose(goal.score(sure, lab, [[0.1]]), alone.score(sure, lab, [[0.1]]), rtol=1e-12)


def test_before_the_first_answer_and_without_rivals_a_place_is_beside_its_own_mean():
    prior = gf.GP(gf.SE()).condition(gf.Data())
    assert KnowledgeGradient().score(prior, gf.Point(0.0), [[0.0]])[0] == pytest.approx(1 / np.sqrt(2 * np.pi))
    with pytest.raises(gf.InvalidInput, match=r"over: .*KnowledgeGradient\(over=places\)"):
        KnowledgeGradient().score(prior, gf.Preference(), np.zeros((1, 2, 1)))
    with pytest.raises(gf.InvalidInput, match="sign: "):
        KnowledgeGradient(0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("several", [False, True])
def test_gradients_are_those_of_the_scores(sign, several):
    belief = gf.Belief([POSTERIOR, gf.GP(gf.SE(1.2, 1.0)).condition(DATA)], [0.3, 0.7]) if several else POSTERIOR
    goal, lab = KnowledgeGradient(sign, OVER), gf.Point(0.2)
    scores, slopes = goal.score_and_gradient(belief, lab, PLACES)
    np.testing.assert_allclose(scores, goal.score(belief, lab, PLACES), rtol=1e-12)
    up, down = (goal.score(belief, lab, PLACES + step) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(slopes[:, 0], (up - down) / 2e-5, rtol=2e-3, atol=1e-5)
    assert goal.score_and_gradient(belief, gf.Binary(), PLACES) is None


def test_an_instrument_of_another_output_has_the_slope_of_its_score():
    """Its own place is no rival then: what counts is what it betrays of the places of the output that is sought."""
    rng = np.random.default_rng(0)
    space, X = gf.Space(gf.Real("x", 0, 1), gf.Real("z", 0, 1)), rng.random((12, 2))
    f = np.sin(5 * X[:, 0]) + X[:, 1]
    dear, cheap = gf.Point(output="dear"), gf.Point(output="cheap")
    data = gf.Data(output="dear").add(dear, X[:5], f[:5]).add(cheap, X[5:], 2 * f[5:] + 1)
    belief = gf.GP(space=space).condition(data)
    prepared, places = KnowledgeGradient(over=rng.random((30, 2))).prepare(belief), rng.random((6, 2))
    for instrument in (dear, cheap):
        scores, slopes = prepared.score_and_gradient(belief, instrument, places)
        np.testing.assert_allclose(scores, prepared.score(belief, instrument, places), rtol=1e-12)
        for j, step in enumerate(1e-5 * np.eye(2)):
            up, down = (prepared.score(belief, instrument, places + side * step) for side in (1, -1))
            np.testing.assert_allclose(slopes[:, j], (up - down) / 2e-5, atol=1e-7)


def _belief(weights):
    data = gf.Data().add(gf.Point(0.1, name="lab"), [[0.0], [1.0], [1.7]], [1.0, 0.4, 0.9])
    kernels = [gf.SE(length, variance) for length, variance in ((0.4, 1.0), (0.8, 2.0), (1.5, 0.7))]
    own = [{"lab": gf.Point(noise, name="lab")} for noise in (0.1, 0.3, 0.2)]
    return gf.Belief([gf.GP(kernel).condition(data) for kernel in kernels], weights, own)


@pytest.mark.parametrize("sign", [1, -1])
def test_parts_asked_as_one_score_as_each_of_them_alone(sign):
    belief, goal = _belief([0.5, 0.3, 0.2]), KnowledgeGradient(sign, over=np.linspace(-1, 3, 30)[:, None])
    places, lab = np.linspace(-1, 3, 7)[:, None], gf.Point(0.1, name="lab")
    each = zip(belief.weights, belief.posteriors, belief.instruments, strict=True)
    alone = sum(w * goal.score(posterior, own["lab"], places) for w, posterior, own in each)
    np.testing.assert_allclose(goal.score(belief, lab, places), alone, rtol=1e-8, atol=1e-12)


def test_parts_that_weigh_a_hundredth_together_are_left_out():
    goal = KnowledgeGradient(over=np.linspace(-1, 3, 30)[:, None])
    places, lab = np.linspace(-1, 3, 7)[:, None], gf.Point(0.1, name="lab")
    light, without = _belief([0.6, 0.395, 0.005]), _belief([0.6, 0.395, 0.0])
    np.testing.assert_allclose(goal.score(light, lab, places), goal.score(without, lab, places), rtol=1e-12)


def test_of_many_candidates_the_best_are_ranked_as_a_few_are():
    belief, goal = _belief([0.5, 0.3, 0.2]), KnowledgeGradient(over=np.linspace(-1, 3, 30)[:, None])
    many, lab = np.linspace(-1, 3, 500)[:, None], gf.Point(0.1, name="lab")
    ranks = goal.prepare(belief).rank(belief, lab, many)
    best = np.argsort(-ranks)[:50]
    np.testing.assert_allclose(ranks[best], goal.score(belief, lab, many[best]), rtol=1e-10)
    assert np.argmax(ranks) == np.argmax(goal.score(belief, lab, many))

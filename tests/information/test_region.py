"""Information about a region: brute force in two dimensions, the cases that are known otherwise, and the laws."""

import sys

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

import gainful as gf
from gainful import acquisition
from gainful.testing import check_acquisition

FEW = {
    "yes/no": gf.Binary(),
    "careless": gf.Binary(guess=0.1, lapse=0.05),
    "ranks": gf.Ordinal([-0.4, 0.5, 0.6], 0.1),
    "coarse ranks": gf.Ordinal([-1.0, 2.0], 1.5),
}
EVERY = {**FEW, "number": gf.Point(0.3), "interval": gf.Interval(0.2, width=0.7)}


def _posterior(variance=3.0, dimensions=1):
    rng = np.random.default_rng(0)
    X = rng.random((5, dimensions))
    return gf.GP(gf.SE(0.3, variance)).condition(gf.Data().add(gf.Point(0.2), X, rng.normal(size=5)))


def _entropy(p, axis=0):
    return -np.sum(p * np.log2(np.where(p > 0.0, p, 1.0)), axis=axis)


def _probabilities(instrument, g, variance=0.0):
    """p(answer | g) of every answer, (A, ...), where what is seen is g plus a normal of this variance."""
    if isinstance(instrument, gf.Binary):
        yes = instrument.guess + (1.0 - instrument.guess - instrument.lapse) * ndtr(g / np.sqrt(1.0 + variance))
        return np.array([1.0 - yes, yes])
    spread = np.sqrt(instrument.noise**2 + variance)
    below = [np.zeros_like(g), *(ndtr((t - g) / spread) for t in instrument.thresholds), np.ones_like(g)]
    return np.diff(below, axis=0)


def _joint(post, x, z):
    """f(z) on a fine grid with its weights, E[f(x) | f(z)] on it, and the variance left."""
    m, cov = post.mean(np.vstack([x, z])), post.covariance(np.vstack([x, z]))
    steps = np.linspace(-9.0, 9.0, 40_001)
    weights = norm.pdf(steps) / np.sum(norm.pdf(steps))
    f_z = m[1] + np.sqrt(cov[1, 1]) * steps
    return f_z, weights, m[0] + cov[0, 1] / np.sqrt(cov[1, 1]) * steps, cov[0, 0] - cov[0, 1] ** 2 / cov[1, 1]


def _brute(post, instrument, x, z):
    _, weights, centre, rest = _joint(post, x, z)
    if isinstance(instrument, gf.Point | gf.Interval):
        before = post.variance(x)[0]
        return _spread_entropy(instrument, before) - _spread_entropy(instrument, rest)
    given = _probabilities(instrument, centre, rest)
    return _entropy(given @ weights) - _entropy(given) @ weights


def _spread_entropy(instrument, v):
    """The differential entropy of a number, or of an interval's lower end, whose reading has variance v + noise²."""
    s = np.sqrt(v + instrument.noise**2)
    if isinstance(instrument, gf.Point):
        return 0.5 * np.log2(2.0 * np.pi * np.e * s**2)
    low = np.linspace(-12.0 * s - instrument.width, 12.0 * s, 400_001)
    density = (ndtr((low + instrument.width) / s) - ndtr(low / s)) / instrument.width
    return np.sum(_entropy(density[None])) * (low[1] - low[0])


@pytest.mark.parametrize("variance", [0.02, 3.0, 100.0])
@pytest.mark.parametrize("name", EVERY)
def test_one_place_is_what_brute_force_finds(name, variance):
    instrument, post = EVERY[name], _posterior(variance)
    X, Z = np.array([[0.05], [0.4], [1.3]]), np.array([[0.1], [0.45], [1.0]])
    got = [[gf.information(post, instrument, [x], about=gf.Region([z]))[0] for z in Z] for x in X]
    wanted = [[_brute(post, instrument, x[None], z[None]) for z in Z] for x in X]
    assert np.array(got) == pytest.approx(np.array(wanted), abs=2e-7)


@pytest.mark.parametrize("name", EVERY)
def test_a_region_is_the_weighted_mean_of_its_places(name):
    instrument, post = EVERY[name], _posterior()
    X, Z = np.array([[0.05], [0.4], [1.3]]), np.array([[0.1], [0.45], [1.0]])
    each = np.array([gf.information(post, instrument, X, about=gf.Region([z])) for z in Z])
    assert gf.information(post, instrument, X, about=gf.Region(Z)) == pytest.approx(each.mean(axis=0), abs=1e-12)
    weighted = gf.information(post, instrument, X, about=gf.Region(Z, weights=[1, 0, 3]))
    assert weighted == pytest.approx(0.25 * each[0] + 0.75 * each[2], abs=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_at_the_place_itself_it_is_information_about_the_function_and_elsewhere_less(name):
    instrument, post = EVERY[name], _posterior()
    X = np.array([[0.05], [0.4], [1.3]])
    function = gf.information(post, instrument, X)
    for x, bits in zip(X, function, strict=True):
        assert gf.information(post, instrument, [x], about=gf.Region([x])) == pytest.approx(bits, abs=2e-7)
    elsewhere = gf.information(post, instrument, X, about=gf.Region([[0.2]]))
    assert np.all(elsewhere < function)
    assert gf.information(post, instrument, X, about=gf.Region([[50.0]])) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("name", EVERY)
def test_together_is_all_of_it_where_the_place_is_among_them_and_more_than_any_alone(name):
    instrument, post = EVERY[name], _posterior()
    X, Z = np.array([[0.05], [0.4]]), np.array([[0.1], [0.45], [1.0]])
    function = gf.information(post, instrument, X)
    both = gf.information(post, instrument, X, about=gf.Region(np.vstack([X, Z]), together=True))
    assert both == pytest.approx(function, abs=2e-7)
    each = np.array([gf.information(post, instrument, X, about=gf.Region([z])) for z in Z])
    together = gf.information(post, instrument, X, about=gf.Region(Z, together=True))
    assert np.all(together > each.max(axis=0))
    assert np.all(together < function + 1e-9)


def test_together_for_numbers_is_d_optimality():
    post, lab = _posterior(), gf.Point(0.3)
    X, Z = np.linspace(0, 2, 7)[:, None], np.linspace(0, 1, 4)[:, None]
    wanted = gf.score("d-optimal", post, lab, X, reference=Z)
    assert gf.information(post, lab, X, about=gf.Region(Z, together=True)) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_pending_numbers_are_allowed_for(name, together):
    """The mean over what the pending answer may be, of the information once it is in."""
    instrument, post, lab = EVERY[name], _posterior(), gf.Point(0.5)
    x, z, p = [[0.4]], [[0.55]], [[0.45]]
    steps = np.linspace(-9.0, 9.0, 201)
    weights = norm.pdf(steps) / np.sum(norm.pdf(steps))
    readings = post.mean(p)[0] + np.sqrt(post.variance(p)[0] + 0.25) * steps
    after = [post.condition(gf.Data().add(lab, p, [r])) for r in readings]
    about = gf.Region(z, together=together)
    wanted = weights @ [gf.information(a, instrument, x, about=about)[0] for a in after]
    got = gf.information(post, instrument, x, about=about, pending=[gf.Query(lab, p[0])])
    assert got == pytest.approx(wanted, abs=1e-6)
    assert got < gf.information(post, instrument, x, about=about)


def test_numbers_one_after_the_other_tell_what_they_tell_together():
    post, lab, rng = _posterior(dimensions=2), gf.Point(0.3), np.random.default_rng(2)
    X, Z = rng.random((4, 2)), rng.random((3, 2))
    queries = [gf.Query(lab, x) for x in X]
    about = gf.Region(Z, together=True)
    chain = sum(gf.information(post, lab, [x], about=about, pending=queries[:i])[0] for i, x in enumerate(X))
    cov, noise = post.covariance(np.vstack([X, Z])), 0.09 * np.eye(4)
    known = cov[:4, 4:] @ np.linalg.solve(cov[4:, 4:], cov[4:, :4])
    wanted = 0.5 * np.log2(np.linalg.det(cov[:4, :4] + noise) / np.linalg.det(cov[:4, :4] - known + noise))
    assert chain == pytest.approx(wanted, rel=1e-9)
    exact = gf.Query(gf.Point(0.0), X[0])
    for given in ([exact], [exact, exact]):
        assert gf.information(post, lab, [X[0]], about=about, pending=given) == pytest.approx(0.0, abs=1e-9)


def test_a_batch_about_a_region_spreads_over_it():
    region = gf.Region(np.linspace(0.4, 0.6, 9)[:, None])
    space, lab = gf.Space(gf.Real("x", 0, 1)), gf.Point(0.1)
    campaign = gf.Campaign(space, [lab], gf.GP(gf.SE(0.1)), goal=gf.Learn(region), budget=4, seed=0)
    places = sorted(float(q.place[0]) for q in campaign.ask(3))
    assert places[0] < 0.46 < 0.54 < places[2]


@pytest.mark.parametrize("there", FEW)
@pytest.mark.parametrize("here", FEW)
def test_answers_about_answers_are_what_brute_force_finds(here, there):
    post, x, z = _posterior(), np.array([[0.4]]), np.array([[0.55]])
    f_z, weights, centre, rest = _joint(post, x, z)
    mine, theirs = _probabilities(FEW[here], centre, rest), _probabilities(FEW[there], f_z)
    table = np.einsum("az,bz,z->ab", mine, theirs, weights)
    wanted = _entropy(table.sum(axis=1)) + _entropy(table.sum(axis=0)) - _entropy(table.ravel())
    got = gf.information(post, FEW[here], x, about=gf.Region(z, answers=FEW[there]))
    assert got == pytest.approx(wanted, abs=2e-7)


@pytest.mark.parametrize("other", ["yes/no", "ranks", "number"])
@pytest.mark.parametrize("name", ["yes/no", "careless", "ranks", "number"])
def test_answers_tell_as_much_about_each_other_and_less_than_f_does(name, other):
    post, x, z = _posterior(), [[0.4]], [[0.55]]
    there = gf.information(post, EVERY[name], x, about=gf.Region(z, answers=EVERY[other]))
    assert gf.information(post, EVERY[other], z, about=gf.Region(x, answers=EVERY[name])) == pytest.approx(there)
    assert there < gf.information(post, EVERY[name], x, about=gf.Region(z))


def test_numbers_about_numbers_are_a_correlation():
    post, lab = _posterior(), gf.Point(0.3)
    cov = post.covariance([[0.4], [0.55]]) + 0.09 * np.eye(2)
    wanted = -0.5 * np.log2(1.0 - cov[0, 1] ** 2 / (cov[0, 0] * cov[1, 1]))
    assert gf.score("epig", post, lab, [[0.4]], reference=[[0.55]]) == pytest.approx(wanted)


def test_preferences_ask_and_are_asked_about():
    rng = np.random.default_rng(1)
    items = rng.random((6, 2))
    pairs = np.array([[items[0], items[1]], [items[2], items[3]]])
    post = gf.GP(gf.SE(0.5, 2.0)).condition(gf.Data().add(gf.Preference(), pairs, [True, False]))
    asked = np.array([[items[0], items[4]], [items[1], items[5]]])
    function = gf.information(post, gf.Preference(), asked)
    own = [gf.information(post, gf.Preference(), [q], about=gf.Region([q]))[0] for q in asked]
    assert own == pytest.approx(function, abs=2e-7)
    best = gf.information(post, gf.Preference(), asked, about=gf.Region(items))
    assert np.all((best > 0.0) & (best < function))
    assert np.all(acquisition.EPIG(asked).score(post, gf.Preference(), asked) < function)


def test_a_hard_rank_is_known_from_f_at_the_place_and_nearly_from_f_beside_it():
    post, hard = _posterior(), gf.Ordinal([-0.4, 0.5], noise=0.0)
    function = gf.information(post, hard, [[0.4]])
    assert gf.information(post, hard, [[0.4]], about=gf.Region([[0.4]])) == pytest.approx(function, abs=1e-4)
    near = gf.information(post, hard, [[0.4]], about=gf.Region([[0.4001]]))
    assert 0.98 * function < near < function


def test_what_is_known_tells_nothing_and_nothing_is_told_about_it():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.0), [[0.5]], [1.0]))
    for instrument in EVERY.values():
        about = gf.Region([[0.5], [0.6]])
        assert gf.information(post, instrument, [[0.5]], about=about).tolist() == [0.0]
        assert gf.information(post, instrument, [[0.6]], about=gf.Region([[0.5]])) == pytest.approx(0.0, abs=1e-8)


def test_outlying_places_are_worth_more_to_the_function_than_to_a_region():
    """BALD likes the border of a box; what matters inside is better learned inside."""
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.1), [[0.5]], [0.0]))
    X = np.linspace(0, 1, 101)[:, None]
    function = gf.Learn().score(post, gf.Point(0.1), X)
    region = gf.Learn(gf.Region(X)).score(post, gf.Point(0.1), X)
    assert X[np.argmax(function), 0] in (0.0, 1.0)
    assert 0.05 < X[np.argmax(region), 0] < 0.95


def test_many_points_and_places_go_through_in_parts(monkeypatch):
    post, X, Z = _posterior(), np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 30)[:, None]
    for instrument in EVERY.values():
        whole = gf.information(post, instrument, X, about=gf.Region(Z))
        monkeypatch.setattr(sys.modules["gainful.information.region"], "_MANY", 100)
        assert gf.information(post, instrument, X, about=gf.Region(Z)) == pytest.approx(whole, abs=1e-12)
        monkeypatch.undo()


def test_a_campaign_learns_about_a_region_and_resumes(tmp_path):
    journal = tmp_path / "journal.jsonl"
    region = gf.Region(np.linspace(0.4, 0.6, 5)[:, None], weights=[1, 2, 3, 2, 1])
    lab = gf.Point(0.1)
    space = gf.Space(gf.Real("x", 0, 1))
    campaign = gf.Campaign(space, [lab], gf.GP(gf.SE(0.1)), goal=gf.Learn(region), budget=4, seed=0, journal=journal)
    for _ in range(2):
        query = campaign.ask()
        assert 0.3 < query.place[0] < 0.7
        campaign.tell(query, 0.0)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(journal.read_bytes())
    assert gf.Campaign.resume(copy).ask() == campaign.ask()


def test_where_answers_are_certain_nothing_is_learned_from_them():
    """Products of tiny probabilities are zero in double precision; their logarithms are not."""
    post = gf.GP(gf.SE(0.5)).condition(
        gf.Data().add(gf.Point(0.02), [[0.1], [0.3], [0.5], [0.9]], [0.9, 0.4, -0.6, 0.3])
    )
    X = np.linspace(0, 1, 21)[:, None]
    for sharp in (gf.Ordinal([-1.0, 0.0, 1.0], 0.01), gf.Ordinal([-1.0, 0.0, 1.0], 0.0)):
        bits = gf.score("epig", post, sharp, X)
        assert np.all((bits >= 0.0) & (bits <= 2.0))
        assert bits[10] < 1e-12


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-5])
def test_a_place_explains_itself_whatever_rounding_says(noise):
    X, x = np.linspace(0, 1, 8)[:, None], np.linspace(0.03, 0.97, 15)[:, None]
    post = gf.GP(gf.SE(0.5)).condition(gf.Data().add(gf.Point(noise), X, np.sin(X[:, 0])))
    lab = gf.Point(float(np.median(np.sqrt(post.variance(x)))) / 1000)
    function = gf.information(post, lab, x)
    alone = [gf.information(post, lab, [q], about=gf.Region([q]))[0] for q in x]
    assert alone == pytest.approx(function, abs=1e-9)
    assert gf.information(post, lab, x, about=gf.Region(x, together=True)) == pytest.approx(function, abs=1e-9)


def test_a_region_is_the_same_after_it_was_written_down():
    rng = np.random.default_rng(0)
    for _ in range(50):
        region = gf.Region(rng.normal(size=(7, 1)), weights=rng.random(7))
        assert gf.Region(region.points, weights=region.weights) == region
    pool = gf.Pool([[0.0], [1.0]])
    assert gf.Region(pool) == gf.Region([[0.0], [1.0]])
    huge = gf.Region(pool, weights=[1e308, 1e308])
    assert gf.information(_posterior(), gf.Point(0.3), [[0.4]], about=huge)[0] == pytest.approx(
        gf.information(_posterior(), gf.Point(0.3), [[0.4]], about=gf.Region(pool))[0]
    )


@pytest.mark.parametrize("name", ["bald-region", "epig", "alc", "zhu"])
def test_no_places_have_no_scores(name):
    assert gf.score(name, _posterior(), gf.Binary(), np.zeros((0, 1))).shape == (0,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gf.Region([]), "points"),
        (lambda: gf.Region([[np.nan]]), "points"),
        (lambda: gf.Region([["a"]]), "points"),
        (lambda: gf.Region([[1j]]), "points"),
        (lambda: gf.Region([[0.0]], weights=[-1.0]), "weights"),
        (lambda: gf.Region([[0.0]], weights=[1.0, 2.0]), "weights"),
        (lambda: gf.Region([[0.0]], weights=[0.0]), "weights"),
        (lambda: gf.Region([[0.0]], weights="many"), "weights"),
        (lambda: gf.Region([[0.0]], together="yes"), "together"),
        (lambda: gf.Region([[0.0]], together=True, weights=[1.0]), "together"),
        (lambda: gf.Region([[0.0]], answers="yes/no"), "answers"),
        (lambda: gf.Learn([[0.0]]), "about"),
        (lambda: acquisition.EPIG([[np.inf]]), "reference"),
    ],
    ids=range(13),
)
def test_regions_that_make_no_sense_are_refused(make, message):
    with pytest.raises(gf.InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: gf.information(p, gf.Detection(), [[[0.0], [1.0]]], about=gf.Region([[0.0]])), "instrument"),
        (lambda p: gf.information(p, gf.Binary(), [[0.0]], about=gf.Region([[0.0, 1.0]])), "points"),
        (
            lambda p: gf.information(gf.GP(gf.SE()).condition(gf.Data()), gf.Binary(), [[0.0]], gf.Region([[0, 1]])),
            "points",
        ),
        (lambda p: gf.information(p, gf.Point(0.1), [[0.0]], gf.Region([[0.0]]), "soon"), "pending"),
        (
            lambda p: gf.information(p, gf.Interval(0.1, width=1.0), [[0.0]], gf.Region([[0.0]], answers=gf.Binary())),
            "instrument",
        ),
        (lambda p: gf.information(p, gf.Binary(), [[0.0]], gf.Region([[0.0]], answers=gf.Interval(0.1))), "answers"),
        (lambda p: gf.information(p, gf.Binary(), [[0.0]], gf.Region([[0.0]], answers=gf.Preference())), "answers"),
        (lambda p: gf.information(p, gf.Interval(0.1), [[0.0]], gf.Region([[0.0]])), "width"),
    ],
    ids=range(8),
)
def test_what_cannot_be_asked_about_a_region_is_refused(ask, message):
    with pytest.raises(gf.InvalidInput, match=message):
        ask(_posterior())


@pytest.mark.parametrize("instrument", [*FEW.values(), gf.Ordinal([-0.4, 0.5], 0.001), gf.Ordinal([-0.4, 0.5], 0.0)])
def test_many_places_are_interpolated_between_few(instrument):
    post, X = _posterior(), np.array([[0.05], [0.4], [1.3]])
    Z = np.random.default_rng(0).uniform(-0.5, 1.5, (300, 1))
    each = np.array([gf.information(post, instrument, X, about=gf.Region([z])) for z in Z])
    assert gf.information(post, instrument, X, about=gf.Region(Z)) == pytest.approx(each.mean(axis=0), abs=1e-7)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("together", [False, True])
def test_the_gradient_of_what_a_region_is_told_is_its_derivative(name, together):
    post, points = _posterior(dimensions=2), np.random.default_rng(4).random((5, 2))
    X = np.random.default_rng(5).random((3, 2))
    check_acquisition(gf.Learn(gf.Region(points, together=together)), post, EVERY[name], X)


def test_the_gradient_goes_through_pairs_on_either_side():
    post, rng = _posterior(dimensions=2), np.random.default_rng(6)
    pairs, places = rng.random((4, 2, 2)), rng.random((4, 2))
    check_acquisition(gf.Learn(gf.Region(pairs)), post, gf.Preference(0.3), rng.random((3, 2, 2)))
    check_acquisition(gf.Learn(gf.Region(places)), post, gf.Preference(0.3), rng.random((3, 2, 2)))
    check_acquisition(gf.Learn(gf.Region(pairs)), post, gf.Point(0.3), rng.random((3, 2)))


def test_pending_answers_of_any_kind_are_allowed_for_in_a_region():
    """Yes/no answers count as the Gaussian sites that they are worth: near the average over what they may be."""
    post, ask, p = _posterior(), gf.Binary(), np.array([0.3])
    about, X = gf.Region([[0.25], [0.6]]), np.array([[0.35], [0.9]])
    yes = post.answers(ask, p[None]).probability[0]
    after = [post.condition(gf.Data().add(ask, p[None], [answer])) for answer in (False, True)]
    wanted = sum(w * gf.information(b, ask, X, about=about) for w, b in zip((1 - yes, yes), after, strict=True))
    got = gf.information(post, ask, X, about=about, pending=[gf.Query(ask, p)])
    assert got == pytest.approx(wanted, rel=0.1)
    assert got[0] < gf.information(post, ask, X, about=about)[0]  # beside the place that is asked about

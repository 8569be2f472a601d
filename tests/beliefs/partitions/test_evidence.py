"""The evidence of additive models: against GPs, differences, and integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import gainful as gf
from gainful.beliefs.partitions.answers import Reading
from gainful.beliefs.partitions.evidence import Additively, Begin, Expected, pairwise
from gainful.inference.posterior import solve

TERMS = [((0,), (1,), (2,)), ((0, 1, 2),), ((0, 2), (1,)), ((0,), (1,), (2,), (0, 1), (1, 2))]


def answers(n: int = 18, seed: int = 0, rule: str = "laplace", shared: bool = False, profile: str = "SE") -> Additively:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    own = np.where(np.arange(n) % 3 == 0, -1, 0)
    fixed = np.where(own < 0, 0.04, 0.0)
    expected = Expected(np.array([np.log(0.1)]), np.array([1.0]))
    columns = [X[:, [d]] for d in range(3)]
    return Additively(pairwise(columns, [False] * 3), y - y.mean(), fixed, own, expected, profile, rule, shared)


@pytest.mark.parametrize("profile", ["SE", "Matern52"])
@pytest.mark.parametrize("terms", TERMS)
def test_slopes_are_those_of_differences(terms, profile):
    given, rng = answers(profile=profile), np.random.default_rng(1)
    theta = given.usual(terms)[0] + 0.3 * rng.normal(size=3 + len(terms) + 1)
    value, slope = given.log_density(terms, theta)
    assert given.log_values(terms, theta)[0] == value
    steps = 1e-5 * np.eye(len(theta))
    by_hand = [(given.log_density(terms, theta + h)[0] - given.log_density(terms, theta - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, by_hand, rtol=1e-5, atol=1e-5)


def test_terms_vary_by_as_much_as_is_expected_of_them():
    """v (1 − mean correlation between places in the cube), by a million pairs of places: a term's share, roughly."""
    given, rng = answers(), np.random.default_rng(0)
    for length in (0.1, 0.35, 1.0, 4.0):
        for terms in TERMS[:3]:
            middle, _ = given.expected_variances(terms, np.full(3, np.log(length)))
            for term, log_variance in zip(terms, middle, strict=True):
                squares = np.square(rng.random((200_000, len(term))) - rng.random((200_000, len(term)))).sum(axis=1)
                share = np.exp(log_variance) * (1.0 - np.mean(np.exp(-0.5 * squares / length**2)))
                assert share == pytest.approx(1.0 / len(terms), rel=0.35)


@pytest.mark.parametrize("terms", TERMS)
def test_it_is_the_evidence_of_the_gp_in_the_users_units(terms):
    rng = np.random.default_rng(2)
    space = gf.Space(gf.Real("a", 20, 90), gf.Real("b", 1, 100, log=True), gf.Categorical("c", ["u", "v", "w"]))
    X = space.candidates(20, 0)
    y = 300.0 + 40.0 * np.sin(X[:, 0] / 10) + rng.normal(size=20)
    lab = gf.Point(name="lab")
    data = gf.Data().add(lab, X, y)
    reading = Reading.of(space, data, {"lab": lab}, "SE", "laplace", False, None)
    given = reading.explained(data)
    theta = given.usual(terms)[0] + 0.2 * rng.normal(size=3 + len(terms) + 1)
    process, read = reading.process(terms, theta), reading.read(theta, terms)["lab"]
    exact = solve(process.mean, process.kernel, process.fitting(gf.Data().add(read, X, y))).log_evidence
    assert given.log_likelihood(terms, theta) - 20 * np.log(reading.scale.spread) == pytest.approx(exact, abs=1e-5)
    np.testing.assert_allclose(reading.theta(terms, process.parameters, {"lab": tuple(read.parameters)}), theta)


@pytest.mark.parametrize("shared", [False, True])
def test_the_curvature_is_the_expected_one(shared):
    """The average of −∂²log p(y | θ) over answers y that the model itself makes: half of the trace, for a normal."""
    terms = ((0, 2), (1,))
    given = answers(shared=shared)
    theta = given.usual(terms)[0] + 0.2
    free = given.free(terms)

    def matrix(t):
        G = len(terms)
        scaled = given.members(terms) * np.exp(-2 * t[:3])
        k = np.exp(-0.5 * scaled @ given.squares)
        K = given._matrix(np.exp(t[3 : 3 + G]) @ k, np.exp(t[3 : 3 + G]), np.exp(2 * t[3 + G :]))
        return K + np.tril(K, -1).T

    base = np.unique(free, return_index=True)[1]
    inverse, h = np.linalg.inv(matrix(theta)), 1e-6
    moves = [(free == i).astype(float) for i in range(len(base))]
    slopes = [(matrix(theta + h * m) - matrix(theta - h * m)) / (2 * h) for m in moves]
    by_hand = np.array([[0.5 * np.trace(inverse @ a @ inverse @ b) for b in slopes] for a in slopes])
    pulls = np.array(
        [(given._off(terms, theta + h * m)[0] - given._off(terms, theta - h * m)[0]) / (2 * h) for m in moves]
    )
    by_hand += pulls @ pulls.T  # of the prior, whose middle moves
    np.testing.assert_allclose(given.curvature(terms, theta), by_hand, rtol=1e-4, atol=1e-4)  # of single precision


def test_models_are_weighed_against_each_other_as_the_integral_does():
    """Draws from the prior: the evidence itself, to a tenth of a nat. With ten answers the density is far from normal,
    and Laplace's evidence within a nat of it."""
    rng = np.random.default_rng(3)
    X = rng.random((10, 3))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=10)
    expected = Expected(np.array([np.log(0.1)]), np.array([1.0]))
    given = Additively(pairwise([X[:, [d]] for d in range(3)], [False] * 3), (y - y.mean()) / y.std(), np.zeros(10),
                       np.zeros(10, dtype=int), expected)  # fmt: skip
    apart = []
    for terms in (((0,), (1, 2)), ((0, 1), (2,)), ((0, 1, 2),)):
        mean, above, below = *given.usual(terms), given._below(terms)
        # The prior has two halves: as many draws on each side as it is wide.
        upper = rng.random((3_000, len(mean))) < above / (above + below)
        z = np.abs(rng.normal(size=upper.shape))
        drawn = mean + np.where(upper, above * z, -below * z)
        for theta in drawn:  # variances are those that go with the lengthscales
            theta[3 : 3 + len(terms)] += given.expected_variances(terms, theta[:3])[0] - mean[3 : 3 + len(terms)]
        logs = [given.log_likelihood(terms, t) for t in drawn]
        apart.append(given.fit(terms).log_evidence - float(logsumexp(logs) - np.log(len(logs))))
    assert np.ptp(apart) < 1.0
    assert max(np.abs(apart)) < 1.0


def test_rules_of_evidence_differ_by_their_penalties():
    terms = ((0, 2), (1,))
    plain, bic = (answers(rule=rule).fit(terms) for rule in ("likelihood", "bic"))
    assert bic.log_evidence == pytest.approx(plain.log_evidence - 0.5 * 6 * np.log(18), abs=1e-9)
    tied = answers(rule="bic", shared=True).fit(terms)
    assert tied.theta[0] == tied.theta[2]
    assert tied.log_evidence == pytest.approx(
        answers(shared=True).log_likelihood(terms, tied.theta) - 0.5 * 5 * np.log(18)
    )


@pytest.mark.parametrize("seed", [5, 6, 7, 8])
def test_a_fit_that_begins_at_a_neighbour_is_no_worse(seed):
    """A search from a neighbour alone ended up to eight nats below: few answers leave several hills."""
    given, near = answers(40, seed), ((0, 1, 2),)
    first = given.fit(near)
    for terms in TERMS:
        begun = given.begin(terms, near, first)
        typical = given.fit(terms, wide=False).log_density
        assert given.fit(terms, [begun], wide=False).log_density > typical - 0.05


@pytest.mark.parametrize("profile", ["SE", "Matern52"])
def test_short_waves_are_not_taken_for_noise(profile):
    """Waves a tenth of the range long in each of four dimensions: a search from typical values ends on a hill of much
    noise, far below, and so would every later one that began from there."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 4))
    y = np.sum(np.sin(np.arange(30, 70, 10) * X), axis=1)
    expected = Expected(np.array([np.log(0.05)]), np.array([2.0]))
    none, own = np.zeros(120), np.zeros(120, dtype=np.intp)
    columns, z = [X[:, [d]] for d in range(4)], (y - y.mean()) / y.std()
    given = Additively(pairwise(columns, [False] * 4), z, none, own, expected, profile)
    terms = tuple((d,) for d in range(4))
    usual = given.usual(terms)[0]
    noisy = given._climb(terms, Begin(usual + np.array([0.0] * 8 + [2.0])))
    begins = [usual + np.array([by] * 4 + [0.0] * 4 + [noise]) for by in (-2.8, -2.0, -1.2, 0.0) for noise in (-2.0, 0)]
    best = max(given._climb(terms, Begin(each))[1] for each in begins)
    found = given.fit(terms, [Begin(noisy[0])])
    assert noisy[1] < best - 10.0
    assert found.log_density > best - 2.0


def test_a_start_beyond_what_is_usual_is_brought_back():
    """With many answers there is one start alone; a neighbour's long lengthscale may be too long for other terms."""
    given = answers(110, 3)
    for off in (40.0, -40.0):
        begun = Begin(given.usual(TERMS[2])[0] + off)
        found = given.fit(TERMS[2], [begun], wide=False)
        assert found.log_density == pytest.approx(given.fit(TERMS[2]).log_density, abs=3.0)

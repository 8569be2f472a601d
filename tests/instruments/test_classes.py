"""One of several classes: multinomial probit, against brute force."""

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

import gainful as gf
from gainful.numerics import largest
from gainful.numerics.largest import expected_entropy, first_is_largest, probabilities
from gainful.selection import Search
from gainful.testing.differences import assert_close, gradient

WORDS = [f"class {i}" for i in range(10)]


def cavities(n, k, size=0.7, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, k, k)) * size
    return rng.normal(size=(n, k)), A @ np.swapaxes(A, 1, 2)


def by_one_integral(m, s, own):
    """log P(class = own) for independent f_c ~ N(m_c, s_c): one integral over the winner's value."""
    u = np.linspace(-12.0, 12.0, 4001)
    spread = np.sqrt(1.0 + s)
    others = [j for j in range(len(m)) if j != own]
    a = (m[own] + spread[own] * u - m[others, None]) / spread[others, None]
    logs = log_ndtr(a).sum(axis=0) - 0.5 * u**2
    return logsumexp(logs) + np.log(u[1] - u[0]) - 0.5 * np.log(2.0 * np.pi)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_partitions_are_gaussian_averages_with_exact_derivatives(k):
    colour, (m, v) = gf.Classes(WORDS[:k]), cavities(3, k)
    y = np.arange(3.0) % k
    p = colour.log_partition(y, m, v)
    assert_close(p.d1, gradient(lambda t: float(np.sum(colour.log_partition(y, t, v).log_z)), m), 1e-7, "d1")
    for a in range(k):
        by_m = gradient(lambda t, a=a: float(np.sum(colour.log_partition(y, t, v).d1[:, a])), m)
        assert_close(p.d2[:, a], by_m, 1e-6, "d2")
    # Brute force: a product rule of Gauss and Hermite's over all k values.
    x, w = np.polynomial.hermite_e.hermegauss(24 if k < 4 else 10)
    z = np.stack(np.meshgrid(*[x] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weight = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * k, indexing="ij"), axis=-1).reshape(-1, k), axis=1)
    for i in range(3):
        g = m[i] + z @ np.linalg.cholesky(v[i] + 1e-14 * np.eye(k)).T
        exact = np.log(weight @ probabilities(g)[:, int(y[i])])
        assert p.log_z[i] == pytest.approx(exact, abs=2e-5 if k < 4 else 1e-3)


@pytest.mark.parametrize(("k", "tolerance"), [(2, 1e-9), (3, 1e-9), (4, 1e-8), (6, 2e-3), (10, 2e-3)])
def test_independent_functions_need_one_integral(k, tolerance):
    m, _ = cavities(4, k, seed=k)
    s = np.random.default_rng(k).gamma(2.0, 1.0, size=(4, k))
    y = np.arange(4.0) % k
    p = gf.Classes(WORDS[:k]).log_partition(y, m, s[:, :, None] * np.eye(k))
    exact = np.array([by_one_integral(m[i], s[i], int(y[i])) for i in range(4)])
    np.testing.assert_allclose(p.log_z, exact, atol=tolerance)
    np.testing.assert_allclose(np.exp(p.log_z), np.exp(exact), atol=min(tolerance, 1e-4))
    step = 1e-4 * np.eye(k)
    for i in range(4):
        by_m = [
            (by_one_integral(m[i] + e, s[i], int(y[i])) - by_one_integral(m[i] - e, s[i], int(y[i]))) / 2e-4
            for e in step
        ]
        np.testing.assert_allclose(p.d1[i], by_m, atol=max(1e-6, 5.0 * tolerance if k > 4 else 0.0))


def test_many_classes_agree_with_nested_integrals_where_both_apply():
    m, v = cavities(6, 4, seed=2)
    exact, sampled = first_is_largest(m, v + np.eye(4)), largest._by_points(m, v + np.eye(4))
    np.testing.assert_allclose(np.exp(sampled.log_p), np.exp(exact.log_p), atol=5e-4)
    np.testing.assert_allclose(sampled.slope, exact.slope, atol=1e-2)
    np.testing.assert_allclose(sampled.curvature, exact.curvature, atol=2e-2)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_derivatives_given_the_functions_are_exact(k):
    colour, g = gf.Classes(WORDS[:k]), 2.0 * np.random.default_rng(k).normal(size=(2, k))
    y = np.array([0.0, k - 1.0])
    d = colour.derivatives(y, g)
    np.testing.assert_allclose(np.exp(d.log_p), probabilities(g)[[0, 1], [0, k - 1]], atol=1e-6)
    assert_close(d.d1, gradient(lambda t: float(np.sum(colour.derivatives(y, t).log_p)), g), 1e-7, "d1")
    for a in range(k):
        by_g = gradient(lambda t, a=a: float(np.sum(colour.derivatives(y, t).d1[:, a])), g)
        assert_close(d.d2[:, a], by_g, 1e-7, "d2")
        for b in range(0, k, 3):
            by_g = gradient(lambda t, a=a, b=b: float(np.sum(colour.derivatives(y, t).d2[:, a, b])), g)
            assert_close(d.d3[:, a, b], by_g, 1e-6, "d3")


def test_two_classes_are_yes_and_no_about_the_difference():
    both, (m, v) = gf.Classes(["no", "yes"]), cavities(4, 2)
    difference, spread = m[:, 1] - m[:, 0], v[:, 0, 0] + v[:, 1, 1] - 2.0 * v[:, 0, 1]
    yes_no = gf.Preference(noise=1.0)
    np.testing.assert_allclose(
        both.predict(m, v).log_probabilities, yes_no.predict(difference, spread).log_probabilities, rtol=1e-10
    )
    for i in range(4):  # two places of a function whose difference has these moments
        prior = gf.GP(gf.SE(1e-3, 0.5 * spread[i]), gf.LinearMean(difference[i])).condition(gf.Data())
        bits = gf.information(prior, yes_no, [[[1.0], [0.0]]])
        np.testing.assert_allclose(both.bits(m, v)[i], bits[0], atol=1e-4)


@pytest.mark.parametrize(("k", "tolerance"), [(2, 8e-3), (3, 8e-3), (4, 1e-2), (6, 0.06)])
def test_information_is_what_functions_drawn_from_the_belief_disagree_about(k, tolerance):
    m, v = cavities(2, k, seed=4)
    found = gf.Classes(WORDS[:k]).bits(m, v)
    for i in range(2):
        z = np.random.default_rng(i).standard_normal((8000, k))
        p = probabilities(m[i] + np.concatenate([z, -z]) @ np.linalg.cholesky(v[i]).T)
        entropy = -np.sum(p * np.log2(np.maximum(p, 1e-300)), axis=1).mean()
        mean = p.mean(axis=0)
        assert found[i] == pytest.approx(-np.sum(mean * np.log2(mean)) - entropy, abs=tolerance)


def test_nothing_is_to_be_learned_about_what_is_known():
    m, v = cavities(3, 3)
    assert np.all(gf.Classes(WORDS[:3]).bits(m, 0.0 * v) < 2e-5)
    assert np.all(expected_entropy(m, 0.0 * v)[1] > 0.0)


def test_simulated_classes_have_the_frequencies_that_are_predicted():
    colour, g = gf.Classes(WORDS[:4]), np.array([0.3, -0.5, 0.9, 0.0])
    drawn = colour.simulate(np.tile(g, (40000, 1)), np.random.default_rng(0))
    share = [np.mean(drawn == c) for c in colour.values]
    np.testing.assert_allclose(share, colour.predict(g[None], np.zeros((1, 4, 4))).probabilities[0], atol=0.012)


# In a posterior: every class has a function of its own.

KERNEL = gf.SE(0.3, 4.0).on([0]) * gf.SE(0.05).on([1])  # functions of different classes are independent
X = np.linspace(0.0, 1.0, 9)[:, None]
COLOUR = gf.Classes(["red", "green", "blue"], name="colour")
TOLD = np.array(["red"] * 3 + ["green"] * 3 + ["blue"] * 3)


def test_expectation_propagation_is_near_the_exact_posterior():
    """Against functions drawn from the prior, weighed by how likely they make the answers."""
    places, told = np.array([[0.0], [0.4], [0.6]]), ["red", "green", "blue"]
    at = np.array([[0.1], [0.45], [0.8]])
    post = gf.GP(KERNEL).condition(gf.Data().add(COLOUR, places, told))
    seen = COLOUR.sees(np.concatenate([places, at])).reshape(-1, 2)
    root = np.linalg.cholesky(KERNEL.matrix(seen, seen) + 1e-10 * np.eye(len(seen)))
    f = np.random.default_rng(0).standard_normal((20000, len(seen))) @ root.T
    p = probabilities(f.reshape(-1, 6, 3))
    weight = np.prod(p[:, [0, 1, 2], [0, 1, 2]], axis=1)
    exact = np.einsum("s,sic->ic", weight / weight.sum(), p[:, 3:])
    np.testing.assert_allclose(post.answers(COLOUR, at).probabilities, exact, atol=0.015)
    assert post.log_evidence == pytest.approx(np.log(weight.mean()), abs=0.03)
    assert post.converged


def test_laplace_takes_the_same_side_as_ep():
    data = gf.Data().add(COLOUR, X, TOLD)
    for inference in (gf.EP(), gf.Laplace()):
        found = gf.GP(KERNEL).condition(data, inference=inference).answers(COLOUR, X).probabilities
        assert found.argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_evidence_gradients_are_exact():
    data, gp = gf.Data().add(COLOUR, X, TOLD), gf.GP(KERNEL)
    _, slope = gp.log_evidence_and_gradient(data)

    def value(theta):
        return gf.GP(KERNEL.with_theta(theta)).condition(data, inference=gf.EP(tolerance=1e-11)).log_evidence

    np.testing.assert_allclose(slope, gradient(value, KERNEL.theta), atol=1e-5)


def test_a_campaign_learns_classes_and_resumes(tmp_path):
    path = tmp_path / "journal.jsonl"
    space = gf.Space(gf.Real("x", 0, 1))
    campaign = gf.Campaign(space, [COLOUR], gf.GP(KERNEL), journal=path, seed=1, search=Search(50, climbers=0))
    for _ in range(4):
        query = campaign.ask()
        campaign.tell(query, ["red", "green", "blue"][min(int(3 * query.place[0]), 2)])
    again = gf.Campaign.resume(path)
    np.testing.assert_array_equal(
        again.posterior.answers(COLOUR, X).log_probabilities, campaign.posterior.answers(COLOUR, X).log_probabilities
    )
    assert len({round(float(e.query.place[0]), 6) for e in campaign.history}) == 4
    assert "colour" in str(campaign.why(campaign.ask()))


@pytest.mark.parametrize("wrong", [[], ["one"], ["a", "a"], [*WORDS, "eleven"], [None, 1], "ab", [np.nan, 1.0]])
def test_what_are_no_labels_is_refused(wrong):
    with pytest.raises(gf.InvalidInput, match="labels"):
        gf.Classes(wrong)


def test_labels_of_every_kind_come_back():
    for labels in (["a", "b"], [3, 1, 2], [True, False], ["a", 1, False]):
        instrument = gf.Classes(labels)
        codes = instrument.validate(labels, len(labels))
        assert codes.tolist() == list(range(len(labels)))
        assert [instrument.encode(code) for code in codes] == labels
    with pytest.raises(gf.InvalidInput, match="one of"):
        gf.Classes(["a", "b"]).validate(["c"], 1)

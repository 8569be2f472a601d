"""Information about kernel programs: against dense integration, the published estimator in its limit, and laws."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.fantasy import sample_fantasies
from gainful.testing import check_acquisition

X = np.linspace(-1.0, 1.0, 7)[:, None]
LAB = gf.Point(name="lab")


def _grid(programs, noise=0.1, prior=None, answers=3, seed=0):
    rng = np.random.default_rng(seed)
    data = gf.Data().add(LAB, rng.uniform(-1, 1, (answers, 1)), rng.normal(size=answers)) if answers else gf.Data()
    return gf.ProgramGrid(programs, prior, noise).condition(data)


BELIEFS = {
    "periods": lambda: _grid([f"(PER {a} {b})" for a in (0.3, 0.8) for b in (0.2, 0.5, 0.9)]),
    "lines": lambda: _grid([f"(LIN {a})" for a in (0.1, 0.5, 1.0)], answers=4),
    "structures": lambda: _grid(
        ["(SE 0.2)", "(SE 0.7)", "(LIN 0.4)", "(PER 0.5 0.4)", "(+ (LIN 0.4) (PER 0.5 0.4))"], prior=[1, 2, 3, 1, 2]
    ),
    "noises": lambda: _grid(["(SE 0.3)", "(SE 0.3)", "(SE 0.9)"], noise=[0.05, 0.5, 0.2]),
}


@pytest.fixture(params=list(BELIEFS))
def belief(request):
    return BELIEFS[request.param]()


def _readings(belief, places):
    """Weights (S,), means and spreads (S, M) of the predicted readings."""
    found = belief.predict(places)
    noise = np.array([own["lab"] for own in belief.noises])
    return belief.weights, found.mean, np.sqrt(found.variance + noise[:, None])


def _density(y, m, s):
    return np.exp(-0.5 * ((y - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))


def _entropy_of_mixture(w, m, s):
    """H[y] in bits by a fine trapezoid rule, (M,)."""
    low, high = np.min(m - 14 * s, axis=0), np.max(m + 14 * s, axis=0)
    y = np.linspace(low, high, 20_001)
    p = np.einsum("s,skm->km", w, _density(y, m[:, None], s[:, None]))
    inside = np.where(p > 0, -p * np.log2(np.where(p > 0, p, 1.0)), 0.0)
    return inside.sum(axis=0) * (high - low) / 20_000


def _between(w, m, s, groups):
    """I(y; group) = H[y] − Σ W_g H[y | g]."""
    bits = _entropy_of_mixture(w, m, s)
    for group in set(groups):
        mine = np.flatnonzero(np.array(groups) == group)
        share = w[mine].sum()
        bits = bits - share * _entropy_of_mixture(w[mine] / share, m[mine], s[mine])
    return bits


def _published(w, m, s, midpoints, reach):
    """Lin 2022, sec. 3.3: the entropy of the weights minus what is expected to be left of it, by midpoints on
    μ_i ± reach σ_i under each program; in nats."""
    edge = (np.arange(midpoints) + 0.5) / midpoints * 2 - 1
    left = np.zeros(m.shape[1])
    for i in range(len(w)):
        y = m[i] + reach * s[i] * edge[:, None]
        joint = w[:, None, None] * _density(y, m[:, None], s[:, None])
        r = joint / joint.sum(axis=0)
        h = -np.sum(np.where(r > 0, r * np.log(np.where(r > 0, r, 1.0)), 0.0), axis=0)
        left += w[i] * 2 * reach * s[i] / midpoints * np.sum(_density(y, m[i], s[i]) * h, axis=0)
    return -np.sum(w * np.log(w)) - left


def test_information_about_the_program_is_that_of_dense_integration(belief):
    wanted = _between(*_readings(belief, X), range(len(belief.weights)))
    np.testing.assert_allclose(gf.information(belief, LAB, X, about="model"), wanted, atol=1e-6)
    np.testing.assert_allclose(gf.Learn("model").score(belief, LAB, X), wanted, atol=1e-6)


def test_information_about_the_structure_is_that_of_dense_integration(belief):
    wanted = _between(*_readings(belief, X), belief.kinds)
    np.testing.assert_allclose(gf.information(belief, LAB, X, about="structure"), wanted, atol=1e-6)


def test_the_published_estimator_tends_to_the_information_about_the_program(belief):
    exact = gf.information(belief, LAB, X, about="model") * np.log(2.0)
    np.testing.assert_allclose(_published(*_readings(belief, X), 4000, 9.0), exact, atol=1e-6)


def test_information_is_never_negative_and_the_structure_has_no_more_of_it_than_the_program():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        programs = [f"(SE {v:.3f})" for v in rng.uniform(0.05, 1, 4)] + [f"(LIN {v:.3f})" for v in rng.uniform(0, 1, 3)]
        belief = _grid(programs, rng.uniform(0.01, 1, 7), rng.uniform(0.1, 1, 7), int(rng.integers(0, 6)), seed)
        program, structure = (gf.information(belief, LAB, X, about=each) for each in ("model", "structure"))
        assert np.all(structure >= 0.0)
        assert np.all(program >= structure - 1e-9)


@pytest.mark.parametrize("k", [2, 20, 200])
def test_copies_of_one_program_cannot_be_told_apart(k):
    belief = _grid(["(SE 0.3)"] * k)
    np.testing.assert_allclose(gf.information(belief, LAB, X, about="model"), 0.0, atol=1e-9)
    lost = 1.0 - 0.9544997361036416  # of a normal beyond two spreads
    np.testing.assert_allclose(_published(*_readings(belief, X[:1]), 200, 2.0), lost * np.log(k), rtol=1e-4)


def test_structure_is_the_model_where_parts_have_no_structure_of_their_own():
    data = gf.Data().add(gf.Point(0.2), [[0.0], [0.5]], [1.0, -0.5])
    gps = [gf.GP(gf.SE(0.1)), gf.GP(gf.SE(0.6)), gf.GP(gf.Matern(0.3, 0.5))]
    belief = gf.Belief([gp.condition(data) for gp in gps], [0.2, 0.5, 0.3], models=[0, 0, 1])
    for instrument in (gf.Point(0.3), gf.Binary(), gf.Interval(0.2, width=0.6), gf.Ordinal([-0.4, 0.5], 0.1)):
        model, structure = (gf.information(belief, instrument, X, about=each) for each in ("model", "structure"))
        np.testing.assert_array_equal(model, structure)
    assert belief.entropy == pytest.approx(-0.7 * np.log2(0.7) - 0.3 * np.log2(0.3))


def test_entropy_is_over_canonical_structures():
    belief = _grid(["(+ (LIN 0.4) (SE 0.5))", "(+ (SE 0.2) (LIN 0.1))", "(SE 0.3)"], answers=0)
    assert belief.kinds == (0, 0, 1)
    assert belief.entropy == pytest.approx(-2 / 3 * np.log2(2 / 3) - 1 / 3 * np.log2(1 / 3))


@pytest.mark.parametrize("instrument", [gf.Point(0.3), gf.Binary(), gf.Ordinal([-0.4, 0.5], 0.1)], ids=str)
def test_structure_has_its_gradient(instrument):
    belief = BELIEFS["structures"]()
    places = X[1:4] + 0.013
    found = gf.Learn("structure").score_and_gradient(belief, instrument, places)
    assert found is not None
    np.testing.assert_allclose(found[0], gf.Learn("structure").score(belief, instrument, places), atol=1e-7)
    step = 1e-5
    up, down = (gf.Learn("structure").score(belief, instrument, places + each) for each in (step, -step))
    np.testing.assert_allclose(found[1][:, 0], (up - down) / (2 * step), atol=2e-5)


def test_beyond_a_pending_answer_the_structure_is_that_of_the_beliefs_after_it():
    belief, lab = BELIEFS["structures"](), gf.Point(0.3)
    ask = gf.Query(lab, [0.2])
    found = gf.information(belief, lab, X, about="structure", pending=[ask])
    after = sample_fantasies(belief, [ask])  # the answers that are drawn
    wanted = []
    for each in after:
        seen = each.predict(X)
        wanted.append(_between(each.weights, seen.mean, np.sqrt(seen.variance + 0.09), belief.kinds))
    np.testing.assert_allclose(found, np.mean(wanted, axis=0), atol=1e-6)


def test_learning_the_structure_is_an_acquisition():
    check_acquisition(gf.Learn("structure"), BELIEFS["structures"](), gf.Point(0.3), X)

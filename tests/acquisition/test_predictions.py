"""Predictions, IG-P as published: against its formula by brute force, and beside the information about a region."""

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import prepare
from gainful.information.region import region_information_and_gradient
from gainful.testing import check_acquisition

X = np.linspace(-1.0, 1.0, 6)[:, None]
POINTS = np.linspace(-0.97, 0.95, 9)[:, None]
LAB = gf.Point(name="lab")


def _belief(count=3):
    data = gf.Data().add(LAB, [[-0.4], [0.35]], [0.8, -0.3])
    programs = ["(PER 0.5 0.4)", "(+ (LIN 0.3) (SE 0.2))", "(SE 0.6)"][:count]
    return gf.ProgramGrid(programs, prior=[3.0, 2.0, 1.0][:count], noise=[0.1, 0.4, 0.05][:count]).condition(data)


def _published(belief, points, x, weights=None):
    """Σ_i w_i Σ_j v_j ½ log2(σ_i²(x_j)/σ_i²(x_j | x)), each from the joint normal of data, points and query."""
    share = np.full(len(points), 1.0 / len(points)) if weights is None else np.array(weights) / np.sum(weights)
    data = belief.data.batches[0].X
    total = 0.0
    for w, program, noise in zip(belief.weights, belief.programs, belief.noises, strict=True):

        def variances(Z, program=program, noise=noise):
            K = program.kernel(Z, Z) + noise["lab"] * np.eye(len(Z))
            cross = program.kernel(points, Z)
            return np.diag(program.kernel(points, points)) - np.sum(cross * np.linalg.solve(K, cross.T).T, axis=1)

        total += w * share @ (0.5 * np.log2(variances(data) / variances(np.vstack([data, x[None]]))))
    return total


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_published_formula(count, weighted):
    belief = _belief(count)
    weights = np.arange(1.0, 10.0) if weighted else None
    wanted = [_published(belief, POINTS, x, weights) for x in X]
    np.testing.assert_allclose(gf.Predictions(POINTS, weights).score(belief, LAB, X), wanted, atol=1e-10)


@pytest.mark.parametrize("instrument", [LAB, gf.Binary(), gf.Ordinal([-0.4, 0.5], 0.1), gf.Interval(0.2, width=0.6)])
def test_with_what_is_told_about_the_program_it_is_the_information_about_the_region(instrument):
    belief, region = _belief(), gf.Region(POINTS)
    apart = gf.information(belief, instrument, X, about="hyperparameters")
    both = gf.information(belief, instrument, X, about=region)
    np.testing.assert_allclose(gf.Predictions(POINTS).score(belief, instrument, X) + apart, both, atol=1e-7)


def test_of_one_posterior_it_is_the_information_about_the_region():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.1), [[0.2]], [1.0]))
    for instrument in (gf.Point(0.3), gf.Binary()):
        wanted = gf.information(post, instrument, X, about=gf.Region(POINTS))
        np.testing.assert_allclose(gf.Predictions(POINTS).score(post, instrument, X), wanted, atol=1e-12)


def test_copies_of_a_program_are_the_program():
    one = gf.ProgramGrid(["(SE 0.3)"]).condition(gf.Data())
    many = gf.ProgramGrid(["(SE 0.3)"] * 7).condition(gf.Data())
    goal = gf.Predictions(POINTS)
    np.testing.assert_allclose(goal.score(many, LAB, X), goal.score(one, LAB, X), atol=1e-12)


def test_beyond_a_pending_number_it_is_that_of_the_posteriors_which_have_it():
    belief, lab = _belief(), gf.Point(0.3, name="other")
    pending = [gf.Query(lab, [0.1])]
    after = [p.condition(gf.Data().add(lab, [[0.1]], [0.7])) for p in belief.posteriors]
    later = gf.Belief(after, belief.weights, belief.instruments)  # the value does not matter, and weights are averaged
    wanted = gf.Predictions(POINTS).score(later, LAB, X)
    np.testing.assert_allclose(gf.Predictions(POINTS).score_beyond(belief, LAB, X, pending), wanted, atol=1e-9)


@pytest.mark.parametrize("instrument", [LAB, gf.Binary()])
def test_prepared_it_is_the_same_and_has_the_gradient(instrument):
    belief = _belief()
    goal = gf.Predictions(POINTS)
    ready = prepare(goal, belief)
    np.testing.assert_allclose(ready.score(belief, instrument, X), goal.score(belief, instrument, X), atol=1e-12)
    np.testing.assert_allclose(ready.rank(belief, instrument, X), goal.score(belief, instrument, X), atol=1e-12)
    bits, slopes = goal.score_and_gradient(belief, instrument, X + 0.013)
    own = [region_information_and_gradient(p, i, X + 0.013, gf.Region(POINTS)) for p, i in _each(belief, instrument)]
    np.testing.assert_allclose(bits, belief.weights @ np.array([b for b, _ in own]), atol=1e-12)
    np.testing.assert_allclose(slopes, np.tensordot(belief.weights, np.array([s for _, s in own]), 1), atol=1e-12)


def _each(belief, instrument):
    return [(part.posterior, part.instrument) for part in belief.each(instrument, X)]


def test_it_is_an_acquisition():
    check_acquisition(gf.Predictions(POINTS), _belief(), LAB, X + 0.013)


def test_it_steers_a_campaign_over_several_models_and_is_written_down(tmp_path):
    rivals = gf.Models([gf.GP(gf.SE(0.1)), gf.GP(gf.SE(0.8))])
    where = gf.Pool(X)
    kept = [gf.Campaign(where, gf.Point(0.2, name="lab"), rivals, gf.Predictions(POINTS), journal=tmp_path / n)
            for n in "ab"]  # fmt: skip
    for campaign in kept:
        campaign.tell(campaign.ask(), 0.3)
    np.testing.assert_array_equal(gf.Campaign.resume(tmp_path / "a").ask().place, kept[1].ask().place)

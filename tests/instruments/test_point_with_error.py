"""Readings with errors of their own: as many instruments as there are errors, in one."""

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import ExpectedImprovement, ExpectedModelChange, IntegratedVariance

X = np.linspace(0.0, 1.0, 6)[:, None]
Y = np.array([0.3, -0.2, 1.4, 0.9, 0.1, -0.7])
ERRORS = np.array([0.1, 0.5, 0.02, 1.5, 0.3, 0.1])
AT = np.linspace(-0.2, 1.2, 9)[:, None]
GP = gf.GP(gf.SE(0.3, 2.0))
PAIRS = np.column_stack([Y, ERRORS])


def one_by_one(errors):
    data = gf.Data()
    for x, y, error in zip(X, Y, errors, strict=True):
        data = data.add(gf.Point(error), x, y)
    return GP.condition(data)


@pytest.mark.parametrize("errors", [ERRORS, np.where(ERRORS < 0.1, 0.0, ERRORS)], ids=["noisy", "one exact"])
def test_the_posterior_is_that_of_points_with_these_errors(errors):
    mine = GP.condition(gf.Data().add(gf.PointWithError(), X, np.column_stack([Y, errors])))
    theirs = one_by_one(errors)
    np.testing.assert_allclose(mine.mean(AT), theirs.mean(AT), rtol=1e-12)
    np.testing.assert_allclose(mine.variance(AT), theirs.variance(AT), rtol=1e-12, atol=1e-15)
    assert mine.log_evidence == pytest.approx(theirs.log_evidence, rel=1e-12)


def test_the_posterior_is_the_textbooks_with_a_diagonal_of_errors():
    K = GP.kernel.matrix(X, X) + np.diag(ERRORS**2)
    cross = GP.kernel.matrix(AT, X)
    post = GP.condition(gf.Data().add(gf.PointWithError(), X, PAIRS))
    np.testing.assert_allclose(post.mean(AT), cross @ np.linalg.solve(K, Y), rtol=1e-10)
    left = GP.kernel.diag(AT) - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
    np.testing.assert_allclose(post.variance(AT), left, rtol=1e-9)
    exact = -0.5 * (Y @ np.linalg.solve(K, Y) + np.linalg.slogdet(K)[1] + 6 * np.log(2 * np.pi))
    assert post.log_evidence == pytest.approx(exact, rel=1e-12)


def test_ep_and_laplace_find_the_exact_posterior_of_mixed_answers():
    data = gf.Data().add(gf.PointWithError(), X, PAIRS)
    exact = GP.condition(data)
    for inference in (gf.EP(), gf.Laplace()):
        other = GP.condition(data, inference=inference)
        np.testing.assert_allclose(other.mean(AT), exact.mean(AT), rtol=1e-9)
        np.testing.assert_allclose(other.variance(AT), exact.variance(AT), rtol=1e-9)


def test_the_expected_error_counts_for_information_and_not_for_what_is_learned():
    data = gf.Data().add(gf.PointWithError(0.5), X, PAIRS)
    post = GP.condition(data)
    assert post.log_evidence == GP.condition(gf.Data().add(gf.PointWithError(3.0), X, PAIRS)).log_evidence
    for pending in ((), [gf.Query(gf.Point(0.5), [0.4])]):
        mine = gf.information(post, gf.PointWithError(0.5), AT, pending=pending)
        np.testing.assert_allclose(mine, gf.information(post, gf.Point(0.5), AT, pending=pending), rtol=1e-12)
    mine, theirs = (
        gf.information(post, each, AT, pending=[gf.Query(each, [0.4])])
        for each in (gf.PointWithError(0.5), gf.Point(0.5))
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_acquisitions_see_a_point_of_the_expected_noise():
    post = one_by_one(ERRORS)
    reference = AT[::2]
    for goal in (IntegratedVariance(reference), ExpectedImprovement(), ExpectedModelChange(reference)):
        mine, theirs = (goal.score(post, each, AT) for each in (gf.PointWithError(0.5), gf.Point(0.5)))
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-14)


def test_an_answer_is_predicted_given_its_error():
    post = one_by_one(ERRORS)
    told = np.array([[0.2, 0.4], [1.0, 0.0]])
    found = post.answers(gf.PointWithError(0.5), AT[:2]).log_prob(told)
    for i, (y, error) in enumerate(told):
        expected = post.answers(gf.Point(error), AT[i : i + 1]).log_prob([y])
        assert found[i] == pytest.approx(expected[0], rel=1e-12)
    alone = post.answers(gf.PointWithError(0.5), AT[:2])
    np.testing.assert_allclose(alone.log_prob(told[:, 0]), post.answers(gf.Point(0.5), AT[:2]).log_prob(told[:, 0]))


def test_a_fit_leaves_known_errors_alone():
    data = gf.Data().add(gf.PointWithError(), X, PAIRS)
    fitted = gf.fit(gf.GP(gf.SE(0.3)), data, starts=1)
    assert set(fitted.values) == {"SE.lengthscale", "SE.variance"}


def test_campaigns_write_readings_with_their_errors_and_resume(tmp_path):
    path = tmp_path / "journal.jsonl"
    counter = gf.PointWithError(0.3, name="counter")
    campaign = gf.Campaign(gf.Space(gf.Real("x", 0, 1)), [counter, gf.Binary(name="look")], GP, journal=path, seed=1)
    campaign.tell(gf.Query(counter, [0.4]), (1.0, 0.2))
    query = campaign.ask()
    campaign.tell(query, (1.2, 0.1) if query.instrument == counter else True)
    again = gf.Campaign.resume(path)
    np.testing.assert_array_equal(again.posterior.mean(AT), campaign.posterior.mean(AT))
    assert counter.describe((1.234, 0.1)) == "1.234 ± 0.1"


@pytest.mark.parametrize(
    "wrong",
    [[(0.1, -0.2)], [(0.1, np.nan)], [(np.inf, 0.1)], [0.1], [(0.1, 0.2, 0.3)], [(0.1, 1e-200)], [(0.1, np.inf)]],
)
def test_what_is_no_reading_with_an_error_is_refused(wrong):
    with pytest.raises(gf.InvalidInput):
        gf.Data().add(gf.PointWithError(), X[:1], wrong)

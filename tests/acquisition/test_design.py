"""Optimal designs against refits, matrices by hand, and eigendecompositions."""

import ahead
import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import design
from gainful.acquisition.design import ALC, ALM, AOptimal, DOptimal, EOptimal, IntegratedVariance, largest_eigenvalue
from gainful.testing import check_acquisition

LAB, ASK = gf.Point(0.4), gf.Binary()
VALUES = {
    "trace": (AOptimal, np.trace),
    "average": (IntegratedVariance, lambda cov: np.trace(cov) / len(cov)),
    "log det": (DOptimal, lambda cov: 0.5 * np.linalg.slogdet(cov)[1] / np.log(2)),
    "largest": (EOptimal, lambda cov: np.linalg.eigvalsh(cov)[-1]),
}


def _numbers():
    rng = np.random.default_rng(0)
    X, candidates, reference = (rng.uniform(0, 2, (n, 2)) for n in (8, 10, 9))
    post = gf.GP(gf.SE(0.5, 2.0)).condition(gf.Data().add(LAB, X, rng.normal(size=8)))
    return post, candidates, reference


def _expected(value, how, post, candidates, reference, instrument, answers):
    out = []
    for query in candidates:
        after = [how(post, instrument, query, y, reference) for y in answers]
        R = len(reference)
        out.append(sum(a.weight * value(a.cov[:R, :R]) for a in after))
    return np.array(out)


@pytest.mark.parametrize("name", VALUES)
def test_designs_of_numbers_are_refits(name):
    goal, value = VALUES[name]
    post, candidates, reference = _numbers()
    after = [post.condition(gf.Data().add(LAB, x, 0.3)).covariance(reference) for x in candidates]
    wanted = value(post.covariance(reference)) - [value(cov) for cov in after]
    assert goal(reference).score(post, LAB, candidates) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("instrument", [ASK, gf.Ordinal([-0.4, 0.5], 0.3), gf.Preference()], ids=lambda i: i.label)
@pytest.mark.parametrize("name", VALUES)
def test_designs_of_other_answers_are_expectations_of_one_moment_matching_step(name, instrument):
    goal, value = VALUES[name]
    post, candidates, reference = ahead.problem(candidates=6, reference=8)
    queries = candidates.reshape(3, 2, 2) if instrument.query == "pair" else candidates
    answers = [1.0, 2.0, 3.0] if isinstance(instrument, gf.Ordinal) else [0.0, 1.0]
    wanted = value(post.covariance(reference)) - _expected(
        value, ahead.by_hand, post, queries, reference, instrument, answers
    )
    assert goal(reference).score(post, instrument, queries) == pytest.approx(wanted, abs=1e-8)
    check_acquisition(goal(reference), post, instrument, queries)


@pytest.mark.parametrize("name", VALUES)
def test_refits_by_ep_agree_closely_and_share_the_first_ten(name):
    goal, value = VALUES[name]
    post, candidates, reference = ahead.problem(candidates=20, reference=12, seed=1)
    wanted = -_expected(value, ahead.refit, post, candidates, reference, ASK, [0.0, 1.0])
    got = goal(reference).score(post, ASK, candidates)
    assert np.corrcoef(got, wanted)[0, 1] > 0.99
    first, theirs = (np.argsort(-x)[:10] for x in (got, wanted))
    assert len(set(first) & set(theirs)) >= 9
    assert np.max(np.abs(wanted[first] - wanted[theirs])) < 0.05 * np.ptp(wanted)


@pytest.mark.parametrize("name", VALUES)
def test_designs_of_intervals_and_sets_keep_between_nothing_and_a_number(name):
    goal, _ = VALUES[name]
    post, candidates, reference = ahead.problem(candidates=6, reference=8)
    strip = goal(reference).score(post, gf.Interval(0.2, 0.6), candidates)
    number = goal(reference).score(post, gf.Point(0.2), candidates)
    assert np.all((strip > 0) & (strip < number))
    tones = goal(reference).score(post, gf.Detection(), candidates.reshape(3, 2, 2))
    sharp = goal(reference).score(post, gf.Point(0.2), candidates)
    assert np.all(tones > 0)
    assert np.all(tones < sharp.reshape(3, 2).sum(axis=1) + 1.0)
    check_acquisition(goal(reference), post, gf.Detection(), candidates.reshape(3, 2, 2))


def test_sets_of_one_place_are_single_places():
    post, candidates, reference = ahead.problem(candidates=4, reference=6)
    for goal in (AOptimal(reference), DOptimal(reference), EOptimal(reference)):
        alone = goal.score(post, gf.Detection(), candidates[:, None])
        assert alone == pytest.approx(goal.score(post, ASK, candidates), abs=1e-9)


def test_d_optimality_of_numbers_is_information_about_the_reference():
    post, candidates, reference = _numbers()
    both = np.concatenate([reference, candidates[:1]])
    cov = post.covariance(both)
    left = cov[-1, -1] - cov[-1, :-1] @ np.linalg.solve(cov[:-1, :-1], cov[:-1, -1])
    wanted = 0.5 * np.log2((cov[-1, -1] + 0.16) / (left + 0.16))
    assert DOptimal(reference).score(post, LAB, candidates[:1]) == pytest.approx([wanted], abs=1e-9)
    # With the candidate in the reference, all that it tells is about the reference.
    got = DOptimal(both).score(post, LAB, candidates[:1])
    assert got == pytest.approx(gf.information(post, LAB, candidates[:1]), abs=1e-8)


def test_a_crowded_reference_is_not_a_problem_for_the_determinant():
    post = gf.GP(gf.SE(1.0)).condition(gf.Data().add(LAB, [[0.0], [1.0]], [0.1, 0.5]))
    crowd = np.linspace(0, 1, 200)[:, None]
    got = DOptimal(crowd).score(post, LAB, [[0.37], [0.9]])
    assert got == pytest.approx(gf.information(post, LAB, [[0.37], [0.9]]), abs=1e-6)
    assert np.isposinf(DOptimal([[0.5]]).score(post, gf.Point(0.0), [[0.5]])[0])


def test_alm_is_the_variance_of_what_is_seen():
    post, candidates, _ = _numbers()
    assert ALM().score(post, LAB, candidates) == pytest.approx(post.variance(candidates))
    pairs = candidates.reshape(5, 2, 2)
    assert ALM().score(post, gf.Preference(), pairs) == pytest.approx(post.marginals(gf.Preference(), pairs)[1])
    total = post.variance(candidates).reshape(5, 2).sum(axis=1)
    assert ALM().score(post, gf.Detection(), pairs) == pytest.approx(total)
    assert ALC is IntegratedVariance
    check_acquisition(ALM(), post, LAB, candidates)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_largest_eigenvalue_after_a_rank_one_change_is_that_of_the_matrix(size):
    rng = np.random.default_rng(size)
    values = np.sort(rng.uniform(0, 2, size))
    z = rng.normal(size=(40, size))
    factor = rng.normal(size=40)
    factor[:5] = 0.0
    wanted = [np.linalg.eigvalsh(np.diag(values) + f * np.outer(x, x))[-1] for f, x in zip(factor, z, strict=True)]
    assert largest_eigenvalue(values, z**2, factor) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "z"),
    [([1.0, 2.0, 2.0], [0.3, 0.5, 0.7]), ([1.0, 1.5, 2.0], [0.3, 0.5, 0.0]), ([0.0, 0.0, 0.0], [1.0, 2.0, 0.0])],
    ids=["repeated", "untouched", "nothing"],
)
@pytest.mark.parametrize("factor", [-0.4, 0.0, 0.7])
def test_repeated_and_untouched_eigenvalues_need_no_care(values, z, factor):
    got = largest_eigenvalue(np.array(values), np.array([z]) ** 2, np.array([factor]))
    assert got == pytest.approx([np.linalg.eigvalsh(np.diag(values) + factor * np.outer(z, z))[-1]], abs=1e-12)


def test_eigendecompositions_are_made_a_few_at_a_time(monkeypatch):
    post, candidates, reference = ahead.problem(candidates=8, reference=6)
    sets = candidates.reshape(4, 2, 2)
    whole = EOptimal(reference).score(post, gf.Detection(), sets)
    monkeypatch.setattr(design, "_MATRICES", 1)
    assert EOptimal(reference).score(post, gf.Detection(), sets) == pytest.approx(whole, abs=1e-12)


def test_no_candidates_have_no_scores_and_what_is_no_belief_is_refused():
    post, candidates, reference = _numbers()
    for goal in (ALM(), AOptimal(reference), IntegratedVariance(reference), DOptimal(reference), EOptimal(reference)):
        with pytest.raises(gf.InvalidInput, match="belief"):
            goal.score("belief", LAB, candidates)
        assert goal.score(post, LAB, candidates[:0]).shape == (0,)

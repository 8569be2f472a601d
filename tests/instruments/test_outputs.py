"""Several functions of the same inputs: the number of the function is a last coordinate that the instrument appends."""

import numpy as np
import pytest

import gainful as gf
from gainful.information.gradient import information_and_gradient

X = np.linspace(0.0, 1.0, 6)[:, None]
AT = np.array([[0.2], [0.55]])
YIELD, PURITY = gf.Point(0.1, output=0, name="yield"), gf.Point(0.2, output=1, name="purity")
ALONE, TOGETHER = gf.SE(0.3).on([0]) * gf.SE(0.05).on([1]), gf.SE(0.3).on([0]) * gf.SE(2.0).on([1])


def both():
    return gf.Data().add(YIELD, X, np.sin(5 * X[:, 0])).add(PURITY, X, np.cos(4 * X[:, 0]))


def with_numbers(places, output):
    return np.column_stack([places, np.full(len(places), float(output))])


def test_independent_outputs_are_separate_posteriors():
    post = gf.GP(ALONE).condition(both())
    for instrument, data in ((YIELD, np.sin(5 * X[:, 0])), (PURITY, np.cos(4 * X[:, 0]))):
        alone = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(instrument.noise), X, data))
        m, v = post.marginals(instrument, AT)
        np.testing.assert_allclose(m, alone.mean(AT), rtol=1e-10)
        np.testing.assert_allclose(v, alone.variance(AT), rtol=1e-9)
        np.testing.assert_allclose(
            gf.information(post, instrument, AT), gf.information(alone, gf.Point(instrument.noise), AT), rtol=1e-9
        )


def test_outputs_are_one_more_coordinate():
    post = gf.GP(TOGETHER).condition(both())
    spelled = gf.Data()
    for instrument, y in ((YIELD, np.sin(5 * X[:, 0])), (PURITY, np.cos(4 * X[:, 0]))):
        spelled = spelled.add(gf.Point(instrument.noise), with_numbers(X, instrument.output), y)
    theirs = gf.GP(TOGETHER).condition(spelled)
    places = with_numbers(AT, 1)
    np.testing.assert_array_equal(post.mean(places), theirs.mean(places))
    np.testing.assert_array_equal(post.marginals(PURITY, AT)[0], theirs.mean(places))
    assert post.log_evidence == theirs.log_evidence
    for pending in ([gf.Query(YIELD, [0.3])], [gf.Query(YIELD, [0.3]), gf.Query(gf.Binary(output=1), [0.4])]):
        same = [gf.Query(gf.Point(0.1) if q.instrument == YIELD else gf.Binary(), q.seen[0]) for q in pending]
        for mine, other in ((PURITY, gf.Point(0.2)), (gf.Binary(output=1), gf.Binary())):
            np.testing.assert_allclose(
                gf.information(post, mine, AT, pending=pending),
                gf.information(theirs, other, places, pending=same),
                rtol=1e-10,
            )


def test_beliefs_of_several_posteriors_and_spaces_know_outputs():
    space = gf.Space(gf.Real("x", 0, 1))
    parts = [gf.GP(kernel.as_shown(), space=space).condition(both()) for kernel in (ALONE, TOGETHER)]
    spelled = gf.Data()
    for instrument, y in ((YIELD, np.sin(5 * X[:, 0])), (PURITY, np.cos(4 * X[:, 0]))):
        spelled = spelled.add(gf.Point(instrument.noise), with_numbers(X, instrument.output), y)
    theirs = gf.Belief([gf.GP(kernel).condition(spelled) for kernel in (ALONE, TOGETHER)])
    for about in ("function", "model"):
        mine = gf.information(gf.Belief(parts), PURITY, AT, about=about)
        np.testing.assert_allclose(mine, gf.information(theirs, gf.Point(0.2), with_numbers(AT, 1), about=about))
    assert gf.fit(gf.GP(TOGETHER, space=space), both(), starts=1).values["SE.lengthscale"] > 0.0


def test_a_correlated_cheap_output_tells_about_the_dear_one():
    cheap = gf.Data().add(PURITY, X, np.cos(4 * X[:, 0]))
    before, after = (gf.GP(TOGETHER).condition(d).marginals(YIELD, AT)[1] for d in (gf.Data(), cheap))
    assert np.all(after < 0.5 * before)


def test_gradients_in_the_places_leave_the_output_alone():
    post = gf.GP(TOGETHER).condition(both())
    for mine, other in ((PURITY, gf.Point(0.2)), (gf.Binary(output=1), gf.Binary())):
        _, slope = information_and_gradient(post, mine, AT)
        _, theirs = information_and_gradient(post, other, with_numbers(AT, 1))
        np.testing.assert_allclose(slope, theirs[:, :1], rtol=1e-10)


def test_campaigns_choose_between_outputs(tmp_path):
    path = tmp_path / "journal.jsonl"
    space = gf.Space(gf.Real("x", 0, 1))
    works = gf.Binary(output=2, name="works")
    campaign = gf.Campaign(space, [YIELD, PURITY, works], gf.GP(TOGETHER), journal=path, seed=2)
    for _ in range(3):
        query = campaign.ask()
        assert query.place.shape == (1,)
        campaign.tell(query, True if query.instrument == works else float(np.sin(5 * query.place[0])))
    assert len(campaign.ask(2)) == 2
    again, places = gf.Campaign.resume(path), with_numbers(AT, 0)
    np.testing.assert_array_equal(again.posterior.mean(places), campaign.posterior.mean(places))


def test_instruments_with_and_without_outputs_do_not_mix():
    with pytest.raises(gf.InvalidInput, match="output"):
        both().add(gf.Point(0.1), X, X[:, 0])
    with pytest.raises(gf.InvalidInput, match="output"):
        gf.Campaign(gf.Space(gf.Real("x", 0, 1)), [YIELD, gf.Point(0.1)], gf.GP(TOGETHER))


@pytest.mark.parametrize("make", [lambda: gf.Preference(output=1), lambda: gf.Detection(output=0),
                                  lambda: gf.Point(output=-1), lambda: gf.Point(output=0.5)])  # fmt: skip
def test_what_is_no_output_is_refused(make):
    with pytest.raises(gf.InvalidInput, match="output"):
        make()


def test_places_of_f_itself_have_the_output_as_a_last_coordinate():
    post = gf.GP(TOGETHER).condition(both())
    with pytest.raises(gf.InvalidInput, match="output"):
        post.mean(AT)

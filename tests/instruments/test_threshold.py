"""Pass or fail at a threshold is a rank between two bins, in every verb."""

import numpy as np
import pytest

import gainful as gf
from gainful.testing import check_instrument

T, NOISE = 65.0, 3.0
PASS, RANK = gf.Binary(threshold=T, noise=NOISE), gf.Ordinal([T], NOISE)
M, V = np.array([64.0, 40.0, 66.5, 90.0, 65.0]), np.array([4.0, 100.0, 1e-6, 0.0, 30.0])
YES = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
X = np.linspace(0.0, 1.0, 7)[:, None]
GP = gf.GP(gf.SE(0.3, 100.0), gf.ConstantMean(60.0))


@pytest.mark.parametrize("noise", [NOISE, 0.0])
def test_pass_or_fail_is_a_rank_of_two_in_every_verb(noise):
    asked, rank = gf.Binary(threshold=T, noise=noise), gf.Ordinal([T], noise)
    v = V if noise else np.maximum(V, 4.0)
    for mine, theirs in zip(asked.log_partition(YES, M, v), rank.log_partition(YES + 1.0, M, v), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    if noise:
        for mine, theirs in zip(asked.derivatives(YES, M), rank.derivatives(YES + 1.0, M), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        np.testing.assert_allclose(asked.log_prob(YES, M), rank.log_prob(YES + 1.0, M), rtol=1e-12)
    mine, theirs = asked.pullback_theta(YES, M, v), rank.pullback_theta(YES + 1.0, M, v)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    np.testing.assert_allclose(
        asked.predict(M, v).log_probabilities, rank.predict(M, v).log_probabilities, rtol=1e-12, atol=1e-300
    )
    np.testing.assert_array_equal(asked.window(YES), rank.window(YES + 1.0))
    assert asked.channel() == rank.channel()
    assert asked.is_certain == rank.is_certain == (noise == 0.0)
    np.testing.assert_array_equal(asked.mentioned(YES), rank.mentioned(YES + 1.0))
    assert [slot.role for slot in asked.slots] == [slot.role for slot in rank.slots]
    np.testing.assert_array_equal(asked.theta, rank.theta)


@pytest.mark.parametrize("noise", [NOISE, 0.0])
def test_posterior_evidence_and_information_are_those_of_a_rank_of_two(noise):
    asked, rank = gf.Binary(threshold=T, noise=noise), gf.Ordinal([T], noise)
    places, yes = np.concatenate([X, X[:3]]), np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 1])
    mine, theirs = (
        GP.condition(gf.Data().add(instrument, places, answers))
        for instrument, answers in ((asked, yes == 1), (rank, yes + 1))
    )
    np.testing.assert_allclose(mine.mean(X), theirs.mean(X), rtol=1e-12)
    np.testing.assert_allclose(mine.variance(X), theirs.variance(X), rtol=1e-12)
    assert mine.log_evidence == pytest.approx(theirs.log_evidence, rel=1e-12)
    np.testing.assert_allclose(gf.information(mine, asked, X), gf.information(theirs, rank, X), rtol=1e-12, atol=1e-15)
    assert mine.data.layout.is_intersected == (noise == 0.0)


@pytest.mark.parametrize(
    "instrument",
    [PASS, gf.Binary(threshold=0.4, noise=0.5, guess=0.2, lapse=0.05), gf.Binary(threshold=-0.3, lapse=0.1),
     gf.Binary(noise=0.5), gf.Binary(threshold=0.7)],
    ids=str,
)  # fmt: skip
def test_thresholds_and_noise_obey_the_laws_of_instruments(instrument):
    if instrument is PASS:
        instrument = gf.Binary(threshold=0.65, noise=0.3)
    check_instrument(instrument, [True, False])


def test_only_what_is_stated_is_learned():
    assert gf.Binary().names == ()
    assert gf.Binary(guess=0.1).names == ("Binary.guess",)
    rough = gf.Binary(threshold=65)  # of a noise that is not known in the unit of the threshold
    assert rough.names == ("Binary.threshold", "Binary.noise")
    assert rough.stated.tolist() == [True, False]
    assert gf.Binary(noise=2.0).names == ("Binary.noise",)
    assert gf.Binary(threshold=65, noise=0.0).names == ("Binary.threshold",)
    assert gf.Binary(threshold=65, noise=2, lapse=0.1).names == ("Binary.lapse", "Binary.threshold", "Binary.noise")
    moved = PASS.with_theta(PASS.theta + np.array([1.0, 0.0]))
    assert (moved.threshold, moved.noise) == (T + 1.0, NOISE)


def test_a_stated_convention_is_the_convention():
    stated, plain = gf.Binary(threshold=0.0, noise=1.0), gf.Binary()
    for mine, theirs in zip(stated.log_partition(YES, M - T, V), plain.log_partition(YES, M - T, V), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(stated.predict(M - T, V).log_probabilities, plain.predict(M - T, V).log_probabilities)
    assert plain.mentioned(YES).size == 0
    assert stated.mentioned(YES).tolist() == [0.0]


def test_a_hard_limit_with_slips_averages_the_step():
    asked = gf.Binary(threshold=0.5, noise=0.0, guess=0.1, lapse=0.2)
    m, v = np.array([0.2, 0.9]), np.array([0.3, 0.1])
    above = gf.Ordinal([0.5], 0.0).predict(m, v).probabilities[:, 1]
    np.testing.assert_allclose(asked.predict(m, v).probability, 0.1 + 0.7 * above, rtol=1e-12)
    np.testing.assert_allclose(np.exp(asked.log_prob(np.ones(3), np.array([0.4, 0.5, 0.6]))), [0.1, 0.45, 0.8])
    assert not asked.is_certain
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(asked, X, [0, 0, 1, 1, 0, 0, 1]))
    assert post.converged


def test_noise_without_a_threshold_is_the_unit_of_the_function():
    wide = gf.Binary(noise=4.0)
    np.testing.assert_allclose(
        wide.predict(4.0 * (M - T), 16.0 * V).probability, gf.Binary().predict(M - T, V).probability, rtol=1e-14
    )


def test_fit_learns_the_noise_of_pass_or_fail():
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(60))[:, None]
    truth = 65.0 + 12.0 * np.sin(6.0 * x[:, 0])
    asked, lab = gf.Binary(threshold=T, noise=1.0), gf.Point(0.5)
    data = gf.Data().add(lab, x[::3], lab.simulate(truth[::3], rng))
    data = data.add(asked, x, gf.Binary(threshold=T, noise=8.0).simulate(truth, rng) == 1.0)
    fitted = gf.fit(gf.GP(gf.SE(0.3, 100.0), gf.ConstantMean(60.0)), data, starts=1)
    assert 3.0 < fitted.values["Binary.noise"] < 20.0
    assert abs(fitted.values["Binary.threshold"] - T) < 6.0


def test_campaigns_write_down_pass_or_fail(tmp_path):
    space = gf.Space(gf.Real("x", 0, 1))
    path = tmp_path / "journal.jsonl"
    campaign = gf.Campaign(space, [PASS], GP, journal=path, seed=1)
    for answer in (True, False):
        campaign.tell(campaign.ask(), answer)
    again = gf.Campaign.resume(path)
    np.testing.assert_array_equal(again.posterior.mean(X), campaign.posterior.mean(X))
    assert again.posterior.data.instruments == (PASS,)


@pytest.mark.parametrize("wrong", [{"threshold": np.nan}, {"threshold": "65"}, {"noise": -1.0}, {"noise": np.inf}])
def test_what_is_no_threshold_or_noise_is_refused(wrong):
    with pytest.raises(gf.InvalidInput, match=next(iter(wrong))):
        gf.Binary(**wrong)

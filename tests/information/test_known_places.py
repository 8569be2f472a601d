"""What is known already tells nothing: limits of information where f, or what an instrument reads, has no variance."""

import numpy as np
import pytest

import gainful as gf
from gainful.information import information_estimate, joint_information
from gainful.information.gradient import information_and_gradient

EXACT = gf.Data().add(gf.Point(0.0), [[0.0], [0.3]], [0.2, -0.1])
BELIEF = gf.GP(gf.SE()).condition(EXACT)
MIXTURE = gf.Belief([BELIEF, gf.GP(gf.SE(0.5)).condition(EXACT)], [0.4, 0.6])
NO_VARIANCE = gf.GP(gf.SE() * gf.Linear()).condition(gf.Data().add(gf.Point(0.0), [[0.3]], [-0.1]))  # f(0) = 0 a priori

INSTRUMENTS = [
    *(kind for noise in (0.0, 0.1) for kind in (
        gf.Point(noise), gf.Interval(noise, width=0.5), gf.Ordinal([-0.5, 0.5], noise), gf.Preference(noise))),
    gf.Binary(), gf.Binary(0.1, 0.05), gf.Detection(), gf.StudentT(), gf.Count(),
]  # fmt: skip
KNOWN, UNKNOWN = np.array([[0.0], [0.3]]), np.array([[0.7], [1.1]])


def query(instrument, places):
    return places[0] if instrument.query == "place" else places


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=str)
def test_a_query_at_known_places_tells_nothing_whatever_is_pending(instrument):
    for belief in (BELIEF, NO_VARIANCE, MIXTURE):
        # The second belief knows the values at both of these places, the prior one of them.
        here = query(instrument, KNOWN)[None]
        np.testing.assert_allclose(gf.information(belief, instrument, here), 0.0, atol=1e-7)
        for other in [*INSTRUMENTS[:4], gf.Binary()] if isinstance(belief, gf.Belief) else INSTRUMENTS:
            for places in (KNOWN, UNKNOWN):
                pending = [gf.Query(other, query(other, places))]
                bits = gf.information(belief, instrument, here, pending=pending)
                np.testing.assert_allclose(bits, 0.0, atol=1e-6, err_msg=f"{other} at {places}")


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=str)
def test_a_pending_query_at_known_places_changes_nothing(instrument):
    here, region = query(instrument, UNKNOWN)[None], gf.Region([[0.5], [0.0]])
    alone = gf.information(BELIEF, instrument, here)
    for other in INSTRUMENTS:
        pending = [gf.Query(other, query(other, KNOWN))]
        beyond = information_estimate(BELIEF, instrument, here, pending)
        # By outcomes, where sets are drawn, to their standard error; the closed forms to 1e-6.
        within = 1e-6 + 4.0 * float(np.nan_to_num(beyond.error[0]))
        np.testing.assert_allclose(beyond.bits, alone, atol=within, err_msg=str(other))
        if instrument.query != "set" and instrument.channel() is not None:
            found = gf.information(BELIEF, instrument, here, about=region, pending=pending)
            expected = gf.information(BELIEF, instrument, here, about=region)
            np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=str(other))


@pytest.mark.parametrize("instrument", [i for i in INSTRUMENTS if i.query != "set"], ids=str)
def test_gradients_at_known_places_are_numbers(instrument):
    for belief in (BELIEF, NO_VARIANCE):
        here = np.stack([query(instrument, KNOWN), query(instrument, KNOWN[::-1])])
        assert np.isfinite(information_and_gradient(belief, instrument, here)[1]).all()


def test_several_answers_about_known_places_tell_nothing_together():
    hard = [gf.Query(gf.Interval(0.0, width=0.5), KNOWN[0]), gf.Query(gf.Ordinal([0.0], 0.0), KNOWN[1])]
    assert joint_information(BELIEF, hard) == pytest.approx(0.0, abs=1e-7)
    mixed = [*hard, gf.Query(gf.Binary(), UNKNOWN[0])]
    alone = gf.information(BELIEF, gf.Binary(), UNKNOWN[:1])[0]
    assert joint_information(BELIEF, mixed) == pytest.approx(alone, abs=1e-6)


def test_a_number_without_noise_tells_nothing_of_a_value_that_others_determine():
    line = gf.GP(gf.Linear()).condition(gf.Data().add(gf.Point(0.0), [[0.5]], [1.0]))
    assert gf.information(line, gf.Point(0.0), [[0.3], [7.0]]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("c", [1e-49, 1e-20, 1e-5, 1e5, 1e20, 1e49])
def test_everything_scales_with_the_unit_of_f(c):
    X, y, here = np.array([[0.0], [0.5], [1.0], [1.7]]), np.array([0.3, -0.2, 0.5, 0.1]), np.array([[0.25], [3.0]])

    def answers(unit):
        data = gf.Data().add(gf.Point(0.1 * unit), X, unit * y)
        belief = gf.GP(gf.SE(variance=2.0 * unit**2)).condition(
            data.add(gf.Ordinal([-0.5 * unit, 0.5 * unit], 0.2 * unit), X[:2] + 0.1, [1, 3])
        )
        kinds = gf.Point(0.1 * unit), gf.Interval(0.1 * unit, width=0.5 * unit), gf.Ordinal([0.0], 0.2 * unit)
        pending = [gf.Query(kinds[1], [0.7])]
        return [belief.mean(here) / unit, belief.variance(here) / unit**2] + [
            gf.information(belief, kind, here, about=about, pending=waiting)
            for kind in kinds for about in ("function", gf.Region([[0.3], [0.9]])) for waiting in ((), pending)
        ]  # fmt: skip

    with np.errstate(over="raise", invalid="raise"):
        for scaled, plain in zip(answers(c), answers(1.0), strict=True):
            np.testing.assert_allclose(scaled, plain, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("noise", [1e-100, 1e-60, 1e60, 1e100])
def test_noise_at_the_ends_of_its_range_has_its_limits(noise):
    data = gf.Data().add(gf.Point(noise), [[0.0], [1.0]], [0.3, -0.2])
    limit = gf.Data().add(gf.Point(0.0), [[0.0], [1.0]], [0.3, -0.2]) if noise < 1.0 else gf.Data()
    found, expected = (gf.GP(gf.SE()).condition(each) for each in (data, limit))
    np.testing.assert_allclose(found.mean([[0.4], [0.0]]), expected.mean([[0.4], [0.0]]), atol=1e-12)
    np.testing.assert_allclose(found.variance([[0.4], [0.0]]), expected.variance([[0.4], [0.0]]), atol=1e-12)
    for kind in (gf.Point(noise), gf.Interval(noise, width=0.5), gf.Ordinal([0.0], noise)):
        bits = gf.information(found, kind, [[0.4]])
        assert np.isfinite(bits).all()
        assert (bits[0] < 1e-12) == (noise > 1.0)


@pytest.mark.parametrize("wrong", [1e-162, 1e160, 1e-101, 1e101])
def test_parameters_whose_squares_are_no_numbers_are_refused_in_words(wrong):
    for make in (gf.Point, gf.SE, lambda x: gf.SE(variance=x), lambda x: gf.Ordinal([0.0], x), lambda x: x * gf.SE()):
        with pytest.raises(gf.InvalidInput, match=r"between 1e-100 and 1e\+100.*another unit"):
            make(wrong)
    with pytest.raises(gf.InvalidInput, match=r"at most 1e\+100 in size"):
        gf.ConstantMean(-1e160)
    assert gf.Point(0.0).noise == 0.0

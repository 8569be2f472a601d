"""What is believed and chosen does not depend on the unit that f is measured in."""

import numpy as np
import pytest

import gainful as gf

X = np.linspace(0.0, 1.0, 8)[:, None]
F = np.sin(5.0 * X[:, 0]) + 0.3
AT = np.linspace(-0.1, 1.1, 7)[:, None]
PAIRS = np.stack([X[:4], X[4:]], axis=1)
RNG = np.random.default_rng(3)

SCALED = {
    "Point": (gf.Point(0.2), X, F),
    "exact Point": (gf.Point(0.0), X[::3], F[::3]),
    "PointWithError": (gf.PointWithError(0.3), X, np.column_stack([F, 0.1 + X[:, 0]])),
    "StudentT": (gf.StudentT(0.2, 4.0), X, F + np.where(np.arange(8) == 4, 3.0, 0.0)),
    "Interval": (gf.Interval(0.2, width=0.5), X, np.column_stack([F - 0.2, F + 0.3])),
    "hard Interval": (gf.Interval(0.0), X, [(y - 0.2, y + 0.5 if i % 3 else np.inf) for i, y in enumerate(F)]),
    "Ordinal": (gf.Ordinal([-0.3, 0.4, 1.0], 0.15), X, 1 + np.searchsorted([-0.3, 0.4, 1.0], F)),
    "hard Ordinal": (gf.Ordinal([-0.3, 0.4], 0.0), X, 1 + np.searchsorted([-0.3, 0.4], F)),
    "Binary": (gf.Binary(threshold=0.4, noise=0.3), X, F > 0.4),
    "careless Binary": (gf.Binary(threshold=0.4, noise=0.3, guess=0.1, lapse=0.05), X, [1, 1, 1, 0, 0, 0, 1, 0]),
    "hard Binary": (gf.Binary(threshold=0.4, noise=0.0), X, F > 0.4),
    "Preference": (gf.Preference(0.3), PAIRS, F[:4] > F[4:]),
}
SETS = {name: (name,) for name in SCALED} | {
    "mixture": ("Point", "Interval", "Ordinal", "Binary", "Preference", "PointWithError"),
    "careless mixture": ("Point", "StudentT", "careless Binary", "hard Interval"),
}
DENSITIES = {"Point": 8, "exact Point": 3, "PointWithError": 8, "StudentT": 8}  # answers that have one, each


def believed(names, shift=0.0, factor=1.0):
    data = gf.Data()
    for name in names:
        instrument, places, answers = SCALED[name]
        if (shift, factor) != (0.0, 1.0):
            canonical = instrument.validate(answers, len(places))
            instrument, moved = (
                instrument.rescaled(shift, factor),
                instrument.rescale_answers(canonical, shift, factor),
            )
            answers = moved == 1.0 if isinstance(instrument, gf.Binary | gf.Preference) else moved
        data = data.add(instrument, places, answers)
    gp = gf.GP(gf.SE(0.3, 1.5 / factor**2), gf.ConstantMean((0.2 - shift) / factor))
    return gp.condition(data)


@pytest.mark.parametrize("names", SETS.values(), ids=SETS)
@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1000.0), (0.0, 1e-6), (-273.15, 1.0), (32.0, 1.8)])
def test_moments_evidence_and_information_do_not_depend_on_the_unit(names, shift, factor):
    old, new = believed(names), believed(names, shift, factor)
    # What a shift costs in digits: the numbers are rounded at its size.
    tolerance = 1e-9 * max(1.0, abs(shift))
    np.testing.assert_allclose(shift + factor * new.mean(AT), old.mean(AT), rtol=0, atol=tolerance)
    np.testing.assert_allclose(factor**2 * new.variance(AT), old.variance(AT), rtol=0, atol=tolerance)
    jacobian = sum(DENSITIES.get(name, 0) for name in names) * np.log(factor)
    assert new.log_evidence - jacobian == pytest.approx(old.log_evidence, abs=1e-7 * max(1.0, abs(shift)))
    for name in names:
        instrument, places, _ = SCALED[name]
        if not instrument.is_predictable or name == "exact Point":
            continue
        where = places if instrument.query == "pair" else AT
        moved = instrument.rescaled(shift, factor)
        mine, theirs = gf.information(new, moved, where), gf.information(old, instrument, where)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=max(tolerance, 1e-9), err_msg=name)


@pytest.mark.parametrize("names", SETS.values(), ids=SETS)
@pytest.mark.parametrize("factor", [0.125, 1024.0, 2.0**-20])
def test_powers_of_two_change_no_bit_of_the_belief(names, factor):
    old, new = believed(names), believed(names, 0.0, factor)
    np.testing.assert_array_equal(factor * new.mean(AT), old.mean(AT))
    np.testing.assert_array_equal(factor**2 * new.variance(AT), old.variance(AT))


@pytest.mark.parametrize("name", SCALED)
def test_changes_of_unit_compose_and_undo(name):
    instrument, places, given = SCALED[name]
    assert instrument.is_scaled
    answers = instrument.validate(given, len(places))
    there = instrument.rescaled(2.0, 0.5)
    back = there.rescaled(-4.0, 2.0)  # f = 0.5 f' + 2, so (f' + 4)/2 = f
    np.testing.assert_allclose(back.theta, instrument.theta, rtol=1e-13, atol=1e-14)
    assert back.rescaled(0.0, 1.0) == back
    moved = instrument.rescale_answers(answers, 2.0, 0.5)
    np.testing.assert_allclose(there.rescale_answers(moved, -4.0, 2.0), answers, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(
        there.mentioned(moved), (instrument.mentioned(answers) - 2.0) / 0.5, rtol=1e-14
    )  # numbers that are spoken of are in the unit of f


UNSCALED = [gf.Binary(), gf.Binary(noise=1.0), gf.Binary(guess=0.1), gf.Count(),
            gf.Binomial(3), gf.Detection()]  # fmt: skip


@pytest.mark.parametrize("instrument", UNSCALED, ids=str)
def test_an_absolute_scale_is_said(instrument):
    assert not instrument.is_scaled
    with pytest.raises(gf.InvalidInput, match="unit"):
        instrument.rescaled(0.0, 2.0)


@pytest.mark.parametrize("wrong", [(0.0, 0.0), (0.0, -1.0), (np.nan, 1.0), (0.0, np.inf), ("0", 1.0)])
def test_what_is_no_change_of_unit_is_refused(wrong):
    with pytest.raises(gf.InvalidInput):
        gf.Point(0.1).rescaled(*wrong)
    with pytest.raises(gf.InvalidInput):
        gf.Point(0.1).rescale_answers(np.zeros(1), *wrong)

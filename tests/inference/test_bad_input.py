"""Whatever cannot be an answer or a place is refused at the door, in words that say what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gainful as gf

INF, NAN = np.inf, np.nan
PLACE, PAIR = [[0.0, 1.0]], [[[0.0, 1.0], [1.0, 1.0]]]

INSTRUMENTS: dict[str, tuple[gf.Instrument, Any, Any]] = {
    "Point": (gf.Point(), PLACE, 0.3),
    "Interval": (gf.Interval(), PLACE, (0.0, 1.0)),
    "Ordinal": (gf.Ordinal(thresholds=[0.0, 1.0]), PLACE, 2),
    "Binary": (gf.Binary(), PLACE, True),
    "Preference": (gf.Preference(), PAIR, True),
    "Detection": (gf.Detection(), PAIR, True),
}
YES_NO_WRONG = [NAN, INF, 2, -1, 0.5, "yes", None]
WRONG_ANSWERS: dict[str, list[Any]] = {
    "Point": [NAN, INF, -INF, "many", None, 1j],
    "Interval": [(NAN, 1.0), (0.0, NAN), (1.0, 0.0), (1.0, 1.0), (INF, INF), (-INF, -INF), ("a", "b"), (0.0, None)],
    "Ordinal": [0, 4, -1, 1.5, NAN, INF, "high", None],
    "Binary": YES_NO_WRONG,
    "Preference": YES_NO_WRONG,
    "Detection": YES_NO_WRONG,
}
CASES = [(name, wrong) for name, values in WRONG_ANSWERS.items() for wrong in values]


def refused(act: Callable[[], Any], argument: str) -> gf.InvalidInput:
    """The InvalidInput that `act` raises, which must say in full what is wrong."""
    with pytest.raises(gf.InvalidInput) as caught:
        act()
    error, message = caught.value, str(caught.value)
    assert error.argument == argument
    for part in (error.argument, error.expected, error.remedy):
        assert isinstance(part, str)
        assert part
        assert part in message
    assert "got" in message
    assert isinstance(error, ValueError)
    return error


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_a_good_answer_is_accepted(name: str) -> None:
    instrument, X, answer = INSTRUMENTS[name]
    assert len(gf.Data().add(instrument, X, [answer])) == 1
    assert len(gf.Data().add(instrument, X[0], answer)) == 1
    assert len(gf.Data().add(instrument, X * 3, [answer] * 3)) == 3
    assert len(gf.Data().add(instrument, np.zeros((0, *np.shape(X)[1:])), np.zeros((0, *np.shape(answer))))) == 0


@pytest.mark.parametrize(("name", "wrong"), CASES, ids=str)
def test_a_wrong_answer_is_refused(name: str, wrong: Any) -> None:
    instrument, X, good = INSTRUMENTS[name]
    refused(lambda: gf.Data().add(instrument, X, [wrong]), "answers")
    refused(lambda: gf.Data().add(instrument, X * 3, [good, wrong, good]), "answers")


@pytest.mark.parametrize(("name", "wrong"), [("Point", NAN), ("Ordinal", 7), ("Binary", 3), ("Interval", (5.0, 4.0))])
def test_the_refusal_of_an_answer_shows_it(name: str, wrong: Any) -> None:
    instrument, X, good = INSTRUMENTS[name]
    error = refused(lambda: gf.Data().add(instrument, X * 3, [good, wrong, good]), "answers")
    for number in np.atleast_1d(wrong):
        assert f"{number:g}" in str(error)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_answers_of_the_wrong_shape_are_refused(name: str) -> None:
    instrument, X, good = INSTRUMENTS[name]
    for wrong in ([good, good], [], [[[good]]], good):
        refused(lambda wrong=wrong: gf.Data().add(instrument, X, wrong), "answers")


def test_an_interval_of_another_width_than_the_instrument_has_is_refused() -> None:
    error = refused(lambda: gf.Data().add(gf.Interval(width=0.5), PLACE, [(0.0, 1.0)]), "answers")
    assert "0.5" in error.expected
    assert len(gf.Data().add(gf.Interval(width=0.1), PLACE, [(0.2, 0.2 + 0.1)])) == 1


@pytest.mark.parametrize("name", INSTRUMENTS)
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_places_that_are_not_finite_are_refused(name: str, bad: float) -> None:
    instrument, X, good = INSTRUMENTS[name]
    places = np.array(X * 2)
    places[1, ..., 0] = bad
    refused(lambda: gf.Data().add(instrument, places, [good, good]), "X")


@pytest.mark.parametrize("name", INSTRUMENTS)
@pytest.mark.parametrize(
    "wrong", [0.0, [0.0, 1.0], [["a", "b"]], [[0.0], [1.0, 2.0]], [[1j]], [[[[0.0]]]], None], ids=str
)
def test_places_of_the_wrong_shape_or_kind_are_refused(name: str, wrong: Any) -> None:
    instrument, _, good = INSTRUMENTS[name]
    refused(lambda: gf.Data().add(instrument, wrong, [good]), "X")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_places_without_coordinates_are_refused(name: str) -> None:
    instrument, X, good = INSTRUMENTS[name]
    refused(lambda: gf.Data().add(instrument, np.zeros((*np.shape(X)[:-1], 0)), [good]), "X")


@pytest.mark.parametrize("places", [1, 3])
def test_a_preference_among_other_than_two_places_is_refused(places: int) -> None:
    refused(lambda: gf.Data().add(gf.Preference(), np.zeros((1, places, 2)), [True]), "X")


def test_a_set_of_five_places_is_refused_by_name_wherever_a_yes_is_weighed() -> None:
    five = np.arange(10.0).reshape(1, 5, 2)
    gp = gf.GP(gf.SE())
    refused(lambda: gp.condition(gf.Data().add(gf.Detection(), five, [True])), "X")
    refused(lambda: gp.condition(gf.Data()).answers(gf.Detection(), five), "X")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_places_with_another_number_of_coordinates_than_before_are_refused(name: str) -> None:
    instrument, X, good = INSTRUMENTS[name]
    before = gf.Data().add(gf.Point(), [[0.0]], [0.1])
    refused(lambda: before.add(instrument, X, [good]), "X")
    after = gf.Data().add(instrument, X, [good])
    with pytest.raises(gf.InvalidInput):
        gf.GP(gf.SE()).condition(before).condition(after)


@pytest.mark.parametrize("verb", ["mean", "variance", "covariance"])
@pytest.mark.parametrize("wrong", [[[NAN, 0.0]], [[INF, 0.0]], [0.0, 1.0], [[0.0]], [["a", "b"]], 3.0, None], ids=str)
def test_a_posterior_refuses_to_predict_at_what_is_not_a_place(verb: str, wrong: Any) -> None:
    post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(), PLACE, [0.1]))
    refused(lambda: getattr(post, verb)(wrong), "X")
    refused(lambda: post.sample(wrong, 2, np.random.default_rng(0)), "X")


@pytest.mark.parametrize("wrong", [[[NAN, 0.0]], [0.0, 1.0], [[0.0]]], ids=str)
def test_the_other_places_of_a_covariance_are_refused_by_their_own_name(wrong: Any) -> None:
    post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(), PLACE, [0.1]))
    refused(lambda: post.covariance(PLACE, wrong), "Z")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_a_posterior_refuses_to_predict_answers_at_what_is_not_a_query(name: str) -> None:
    instrument, X, _ = INSTRUMENTS[name]
    post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(), PLACE, [0.1]))
    refused(lambda: post.answers(instrument, np.full(np.shape(X), NAN)), "X")
    refused(lambda: post.answers(instrument, np.zeros((*np.shape(X)[:-1], 3))), "X")
    refused(lambda: post.answers(instrument, 0.0), "X")


def test_an_instrument_of_unknown_width_cannot_predict_its_answers() -> None:
    refused(lambda: gf.GP(gf.SE()).condition(gf.Data()).answers(gf.Interval(), PLACE), "width")


OF_ANOTHER_KIND: dict[str, Callable[[gf.Posterior], Any]] = {
    "more": lambda post: post.condition([1.0]),
    "instrument": lambda post: post.answers("Point", PLACE),
    "inference": lambda post: gf.GP(gf.SE()).condition(post.data, "EP"),
}


@pytest.mark.parametrize("argument", OF_ANOTHER_KIND)
def test_an_argument_of_another_kind_is_refused_by_name(argument: str) -> None:
    post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(), PLACE, [0.1]))
    refused(lambda: OF_ANOTHER_KIND[argument](post), argument)


WRONG_INSTRUMENTS: dict[str, Callable[[], Any]] = {
    "negative noise": lambda: gf.Point(noise=-1.0),
    "NaN noise": lambda: gf.Interval(noise=NAN),
    "noise in words": lambda: gf.Preference(noise="little"),
    "several noises": lambda: gf.Data().add(gf.Point(noise=[0.1, 0.2]), PLACE, [0.1]).instruments,
    "negative width": lambda: gf.Interval(width=-1.0),
    "width in words": lambda: gf.Interval(width="wide"),
    "no thresholds": lambda: gf.Ordinal(thresholds=[]),
    "falling thresholds": lambda: gf.Ordinal(thresholds=[1.0, 0.0]),
    "repeated thresholds": lambda: gf.Ordinal(thresholds=[0.0, 0.0]),
    "NaN among thresholds": lambda: gf.Ordinal(thresholds=[0.0, NAN]),
    "negative guess": lambda: gf.Binary(guess=-0.1),
    "guess and lapse above 1": lambda: gf.Binary(guess=0.6, lapse=0.5),
    "free": lambda: gf.Point(cost=0.0),
    "cost in words": lambda: gf.Point(cost="cheap"),
}


@pytest.mark.parametrize("name", WRONG_INSTRUMENTS)
def test_an_instrument_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(gf.InvalidInput):
        WRONG_INSTRUMENTS[name]()


def test_laplace_refuses_answers_without_noise_and_says_what_to_use() -> None:
    for data in (
        gf.Data().add(gf.Interval(noise=0.0), PLACE, [(0.0, 1.0)]),
        gf.Data().add(gf.Point(noise=0.0), PLACE, [0.3]),
        gf.Data().add(gf.Preference(noise=0.0), PAIR, [True]),
    ):
        with pytest.raises(gf.InvalidInput, match="EP"):
            gf.GP(gf.SE()).condition(data, gf.Laplace())

"""Inputs are taken for what they are, or refused by name with what to do; never raw, never misread, never endless."""

from __future__ import annotations

import datetime
import inspect
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="tables are optional")

from hostile import malformed  # noqa: E402 - it needs pandas

import gainful as gf  # noqa: E402
from gainful import acquisition  # noqa: E402
from gainful.checks import as_rng, finite_table, numbers  # noqa: E402
from gainful.hyper.problem import require_prior_names  # noqa: E402

LAB = gf.Point(0.1, name="lab")
SPACE = gf.Space(gf.Real("T", 0, 1), gf.Real("pH", 0, 1))
X = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
TABLE = pandas.DataFrame(X, columns=["T", "pH"])
TURNED = TABLE[["pH", "T"]]
Y = [0.1, 0.2, 0.3]
DATA = gf.Data().add(LAB, X, Y)
POSTERIOR = gf.GP(gf.SE((0.3, 0.4), 1.0), space=SPACE).condition(DATA)


def test_a_sample_of_malformed_calls_is_refused_in_words_or_rightly_taken() -> None:
    left_out = (*malformed.OF_CAMPAIGNS, "nuts")  # which takes its time to load
    others = [name for name in malformed.CASES if not name.startswith(left_out)]
    found = list(malformed.outcomes(others, every=60))
    assert len(found) > 300
    assert [each for each in found if each.verdict not in ("clear", "right")] == []
    assert Counter(each.verdict for each in found)["clear"] > 0.8 * len(found)


@pytest.mark.filterwarnings("ignore::gainful.GainfulWarning")
@pytest.mark.parametrize("name", [name for name in malformed.CASES if name not in ("nuts", "ActiveSVM")])
def test_a_call_is_valid_before_it_is_malformed(name: str) -> None:
    function, given = malformed.CASES[name].prepare()
    if any("no such file" in str(each) for each in given.values()):
        with pytest.raises((gf.InvalidInput, gf.JournalError), match="no such file"):
            function(**given)
    else:
        function(**given)


def test_every_public_name_that_can_be_called_is_among_the_calls() -> None:
    bare = {
        "Fixed",
        "Flat",
        "Zero",
        "Exact",
        "Random",
        "Posterior",
        "Fitted",
        "HyperPosterior",
        "Ranking",
        "Space",
        "Minimum",
        "Table",
    }
    bare |= {"Data", "Instrument", "Kernel", "Mean", "Prior", "strategies"}  # without arguments, or never made by hand
    public = {name for name in gf.__all__ if callable(getattr(gf, name))}
    errors = {
        name for name in public if inspect.isclass(getattr(gf, name)) and issubclass(getattr(gf, name), Exception)
    }
    assert public - errors - bare - set(malformed.CASES) == set()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ma.array(X, mask=[[0, 0], [1, 0], [0, 0]]), "masked"),
        ([0.1, np.ma.masked], "masked"),
        (list(np.ma.array(X, mask=X > 0.5)), "masked"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "dates"),
        ([datetime.date(2020, 1, 1)], "dates"),
        (pandas.Series(pandas.to_datetime(["2020-01-01"])), "dates"),
        ([np.timedelta64(1, "s")], "times"),
        (["3.5"], "text"),
        (b"3", "text"),
        ([1.0 + 0j], "complex"),
        ([True, 0.5], "True or False"),
        (pandas.DataFrame({"a": [1.0], "b": [True]}), "True or False"),
        ([1, None], "missing"),
        ([10**400], "1e308"),
        ([[0.1], [0.2, 0.3]], "array of numbers"),
        ({0.1, 0.2}, "array of numbers"),
    ],
    ids=str,
)
def test_what_only_looks_like_numbers_is_refused_with_a_remedy(values: Any, words: str) -> None:
    with pytest.raises(gf.InvalidInput, match=words):
        numbers("X", values, "numbers")


def test_the_remedies_do_what_they_say() -> None:
    assert np.asarray([True, 0.5], dtype=float).tolist() == [1.0, 0.5]
    assert np.asarray(["3.5"], dtype=float).tolist() == [3.5]
    t = np.asarray([datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)], "M8[s]")
    assert ((t - t[0]) / np.timedelta64(1, "D")).tolist() == [0.0, 2.0]
    assert (np.asarray([datetime.timedelta(days=1)], "m8[s]") / np.timedelta64(1, "D")).tolist() == [1.0]
    x = np.ones(2, dtype=[("a", float), ("b", float)])
    assert np.stack([x[name] for name in x.dtype.names], axis=-1).shape == (2, 2)


def test_numbers_of_every_kind_are_numbers() -> None:
    for values in ([Decimal("0.5"), Fraction(1, 2)], np.array([0.5, 0.5], dtype=object), (np.float32(0.5), 0.5)):
        assert numbers("X", values, "numbers").tolist() == [0.5, 0.5]
    assert finite_table("X", np.ma.array(X)).tolist() == X.tolist()
    assert finite_table("X", pandas.DataFrame(X).astype("Float64")).tolist() == X.tolist()


def test_a_masked_answer_is_not_conditioned_on() -> None:
    masked = np.ma.array([0.1, 9999.0, 0.3], mask=[0, 1, 0])
    with pytest.raises(gf.InvalidInput, match="masked"):
        gf.Data().add(LAB, X, masked)
    with pytest.raises(gf.InvalidInput, match="masked"):
        gf.Data().add(LAB, X[0], np.ma.masked)


ASKED: dict[str, Any] = {
    "mean": POSTERIOR.mean,
    "one row": lambda table: POSTERIOR.marginals(LAB, table.iloc[0]),
    "condition": lambda table: POSTERIOR.condition(gf.Data().add(LAB, table, Y)),
    "information": lambda table: gf.information(POSTERIOR, LAB, table),
    "beyond pending": lambda table: gf.information(POSTERIOR, LAB, table, pending=[gf.Query(LAB, X[0])]),
    "region": lambda table: gf.information(POSTERIOR, LAB, X, gf.Region(table)),
    "reference": lambda table: acquisition.IntegratedVariance(table).score(POSTERIOR, LAB, X),
    "pool as reference": lambda table: acquisition.DOptimal(gf.Pool(table)).score(POSTERIOR, LAB, X),
    "score": lambda table: gf.score("alc", POSTERIOR, LAB, table),
    "rank": lambda table: gf.rank(POSTERIOR, table),
    "space": SPACE.contains,
    "part of a space": SPACE.where(gf.Within(T=(0.2, None))).contains,
    "pool": gf.Pool(TABLE).contains,
    "fit": lambda table: gf.fit(gf.GP(gf.SE(), space=SPACE), gf.Data().add(LAB, table, Y), starts=1),
    "prior": gf.GP(gf.SE(1.0, 1.0), space=SPACE).condition(gf.Data()).mean,
}


@pytest.mark.parametrize("name", ASKED)
def test_columns_in_another_order_than_the_spaces_are_refused_though_the_data_were_arrays(name: str) -> None:
    with pytest.raises(gf.InvalidInput, match="puts them in order"):
        ASKED[name](TURNED)
    ASKED[name](TURNED[["T", "pH"]])


def test_a_query_remembers_what_its_row_was_called() -> None:
    assert gf.Query(LAB, TURNED.iloc[0]).columns == ("pH", "T")
    assert gf.Query(LAB, X[0]).columns is None


@pytest.mark.parametrize("name", ["SE.lenghtscale", "lengthscale", "SE.lengthscale[0]", "noise", "", 3])
def test_a_prior_for_what_no_parameter_is_called_is_refused(name: Any) -> None:
    with pytest.raises(gf.InvalidInput, match=r"SE\.lengthscale.*SE\.variance"):
        gf.GP(gf.SE(), priors={name: gf.Fixed()})


def test_a_prior_for_an_unknown_parameter_of_an_instrument_is_refused_when_it_is_known() -> None:
    gp = gf.GP(gf.SE(), priors={"lab.nois": gf.Fixed()})
    with pytest.raises(gf.InvalidInput, match=r"lab\.noise"):
        gf.fit(gp, DATA, starts=1)
    with pytest.raises(gf.InvalidInput, match=r"lab\.noise"):
        require_prior_names(gp, [LAB])
    require_prior_names(gf.GP(gf.SE(), priors={"lab.noise": gf.Fixed()}), [LAB])


def test_a_prior_for_an_instrument_without_answers_is_warned_of() -> None:
    gp = gf.GP(gf.SE(0.3), priors={"labb.noise": gf.Fixed(), "SE.lengthscale": gf.Fixed(), "SE.variance": gf.Fixed()})
    with pytest.warns(gf.GainfulWarning, match=r"labb\.noise"):
        gf.fit(gp, DATA, starts=1)
    with pytest.raises(gf.InvalidInput, match=r"labb\.noise"):
        require_prior_names(gp, [LAB])


def test_a_kernel_takes_its_dimensions_one_by_one_as_well() -> None:
    assert gf.SE().on("T", "pH") == gf.SE().on(["T", "pH"])
    assert gf.SE().on(0, 1) == gf.SE().on((0, 1)) == gf.SE().on(np.array([0, 1]))
    assert gf.SE().on(1) == gf.SE().on([1])


def test_seeds_and_generators() -> None:
    generator = np.random.default_rng(0)
    assert as_rng(generator) is generator
    for seed in (0, np.int64(3), [1, 2], np.random.SeedSequence(0), None, 10**400):
        assert isinstance(as_rng(seed), np.random.Generator)
    for wrong in ("a", "12", -1, 1.0, True, [], [0.5], np.ma.masked, object()):
        with pytest.raises(gf.InvalidInput, match="rng"):
            as_rng(wrong)


def test_whole_numbers_of_numpy_count() -> None:
    assert SPACE.grid(np.int64(3)).shape == (9, 2)
    assert SPACE.grid(np.array([2, 3])).shape == (6, 2)
    assert gf.Point(buckets=np.int64(10)).levels == 10


@pytest.mark.parametrize("instrument", [gf.Preference(), gf.Detection()], ids=str)
def test_no_queries_of_pairs_and_sets_have_no_answers(instrument: gf.Instrument) -> None:
    none = np.zeros((0, 2, 2))
    assert len(POSTERIOR.marginals(instrument, none)[0]) == 0
    assert gf.information(POSTERIOR, instrument, none).shape == (0,)
    assert len(POSTERIOR.answers(instrument, none).log_prob([])) == 0


def test_a_value_that_cannot_be_shown_is_still_refused() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(gf.InvalidInput, match="Shy"):
        gf.GP(Shy())  # type: ignore[arg-type]

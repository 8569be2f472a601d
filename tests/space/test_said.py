"""Beliefs take places as people say them, and arrays of codes as before: the same numbers, to the bit."""

import numpy as np
import pytest

import gainful as gf
from gainful.space import as_codes
from gainful.space.said import is_said

SPACE = gf.Space(
    gf.Real("temperature", 20, 90, unit="°C"),
    gf.Real("concentration", 1e-6, 1e-2, log=True),
    gf.Categorical("catalyst", ["Pd", "Ni", "Cu"]),
    gf.Real("light", 0, 5, when={"catalyst": ["Ni", "Cu"]}),
)
KERNEL = gf.SE((20.0, 3.0), 1.0).on("temperature", "concentration") * gf.Exchangeable(3, 0.4).on("catalyst")
LAB, LOOK, BETTER = gf.Point(0.3, name="lab"), gf.Binary(name="look"), gf.Preference(0.3, name="better")
ROWS = [
    {"temperature": 40, "concentration": 1e-4, "catalyst": "Pd"},
    {"temperature": 60, "concentration": 1e-3, "catalyst": "Cu", "light": 2.0},
    {"temperature": 80, "concentration": 1e-5, "catalyst": "Ni", "light": 0.5},
]
X = SPACE.code(ROWS)
FLAT = [[40, 1e-4, "Pd", None], [60, 1e-3, "Cu", 2.0], [80, 1e-5, "Ni", 0.5]]
COLUMNS = {name: [row.get(name) for row in ROWS] for name in reversed(SPACE.names)}


def posterior():
    data = gf.Data(space=SPACE).add(LAB, ROWS, [0.3, 0.9, -0.4]).add(LOOK, ROWS[:2], [True, False])
    return gf.GP(KERNEL, space=SPACE).posterior(data)


def mixture():
    return gf.Belief([posterior(), gf.GP(KERNEL, gf.ConstantMean(1.0), space=SPACE).posterior(posterior().data)])


def sampled():
    data = gf.Data(space=SPACE).add(LOOK, ROWS, [True, False, True])
    return gf.GP(KERNEL, space=SPACE).posterior(data, gf.Sampled(50))


def frame():
    made = pytest.importorskip("pandas", reason="tables are optional").DataFrame(COLUMNS)
    return made[list(SPACE.names)]


SAID = {"mappings": lambda: ROWS, "columns": lambda: COLUMNS, "rows": lambda: FLAT, "frame": frame}
ASKED = {
    "mean": lambda b, at: b.mean(at),
    "variance": lambda b, at: b.variance(at),
    "covariance": lambda b, at: b.covariance(at),
    "quantile": lambda b, at: b.quantile(at, 0.9),
    "band": lambda b, at: b.band(at),
    "predict": lambda b, at: b.predict(at).mean,
    "sample": lambda b, at: b.sample(at, 3, 0),
    "marginals": lambda b, at: b.marginals(LAB, at),
    "answers": lambda b, at: b.answers(LOOK, at).probabilities,
    "information": lambda b, at: gf.information(b, LOOK, at),
    "pending": lambda b, at: gf.information(b, LOOK, at, pending=[gf.Query(LAB, X[0])]),
    "region": lambda b, at: gf.information(b, LAB, at, about=gf.Region(X[:1])),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
@pytest.mark.parametrize("believe", [posterior, mixture, sampled])
def test_what_is_said_is_answered_as_its_codes_are(believe, ask):
    belief = believe()
    expected = np.asarray(ask(belief, X))
    for said in SAID.values():
        np.testing.assert_array_equal(np.asarray(ask(belief, said())), expected)


def test_one_place_may_be_said_by_itself():
    belief = posterior()
    for one in (ROWS[1], FLAT[1], frame().iloc[1]):
        np.testing.assert_array_equal(belief.mean(one), belief.mean(X[1:2]))


def test_pairs_are_said_too():
    belief = posterior()
    codes = X[[[0, 1], [1, 2]]]
    for pairs in ([[ROWS[0], ROWS[1]], [ROWS[1], ROWS[2]]], [[FLAT[0], FLAT[1]], [FLAT[1], FLAT[2]]]):
        np.testing.assert_array_equal(belief.marginals(BETTER, pairs), belief.marginals(BETTER, codes))
        np.testing.assert_array_equal(gf.information(belief, BETTER, pairs), gf.information(belief, BETTER, codes))
        assert gf.Region(pairs, space=SPACE) == gf.Region(codes)
    np.testing.assert_array_equal(belief.marginals(BETTER, ROWS[:2]), belief.marginals(BETTER, X[:2]))


@pytest.mark.parametrize("said", SAID.values(), ids=list(SAID))
def test_a_region_is_said_with_its_space_and_kept_as_codes(said):
    region = gf.Region(said(), weights=[1, 2, 3], space=SPACE)
    assert region == gf.Region(X, weights=[1, 2, 3])
    np.testing.assert_array_equal(np.array(region.points), X)
    campaign = gf.Campaign(SPACE, LAB, gf.GP(KERNEL, space=SPACE), gf.Learn(region))
    assert gf.Campaign.resume(campaign.journal)._state.design.goal == campaign._state.design.goal


def test_levels_that_are_numbers_are_values_in_lists_and_tables_and_codes_in_arrays():
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("dose", [1, 2, 5]))
    gp = gf.GP(gf.SE(0.3, 4.0).on("x") * gf.Exchangeable(3, 0.2).on("dose"), space=space)
    belief = gp.posterior(gf.Data(space=space).add(LAB, [[0.5, 2]], [3.0]))
    here = belief.mean(np.array([[0.5, 1.0]]))
    assert here[0] > 2.0  # the level 2, whose code is 1
    for said in ([[0.5, 2]], [(0.5, 2)], {"x": 0.5, "dose": 2}, [0.5, 2]):
        np.testing.assert_array_equal(belief.mean(said), here)
    with pytest.raises(gf.InvalidInput):
        belief.mean(np.array([[0.5, 5.0]]))  # no code
    with pytest.raises(gf.InvalidInput, match=r"X: expected for dose: one of \[1, 2, 5\]"):
        belief.mean([[0.5, 0]])  # no level


def test_a_table_in_another_order_is_refused_and_one_of_numbered_levels_is_not_taken_for_codes():
    table = frame()
    for ask in ASKED.values():
        with pytest.raises(gf.InvalidInput, match="puts them in order"):
            ask(posterior(), table[list(reversed(SPACE.names))])
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("dose", [1, 2, 5]))
    gp = gf.GP(gf.SE(0.3, 4.0).on("x") * gf.Exchangeable(3, 0.2).on("dose"), space=space)
    belief = gp.posterior(gf.Data(space=space).add(LAB, [[0.5, 2]], [3.0]))
    doses = type(table)({"x": [0.5], "dose": [2]})
    np.testing.assert_array_equal(belief.mean(doses), belief.mean(space.code(doses)))
    np.testing.assert_array_equal(gf.information(belief, LAB, doses), gf.information(belief, LAB, space.code(doses)))
    with pytest.raises(gf.InvalidInput, match=r"places: expected codes.*space\.code"):
        gf.score("alc", belief, LAB, doses)


def test_items_of_a_pool_are_said_by_name():
    pool = gf.Pool({"dose": [1.0, 2.0, 4.0], "form": ["pill", "syrup", "pill"]}, items=["a", "b", "c"])
    gp = gf.GP(gf.SE(2.0, 1.0).on("dose") * gf.Exchangeable(2, 0.5).on("form"), space=pool)
    belief = gp.posterior(gf.Data(space=pool).add(LAB, ["a", "c"], [1.0, 0.5]))
    np.testing.assert_array_equal(belief.mean(["c", "b"]), belief.mean(pool.places[[2, 1]]))
    np.testing.assert_array_equal(belief.mean({"dose": 2.0, "form": "syrup"}), belief.mean(pool.places[[1]]))


def test_after_more_and_fewer_answers_and_in_campaigns_it_is_the_same():
    belief = posterior()
    more = belief.condition(gf.Data(space=SPACE).add(LAB, ROWS[2:], [0.1]))
    np.testing.assert_array_equal(more.mean(ROWS), more.mean(X))
    np.testing.assert_array_equal(more.without(0).mean(ROWS), more.without(0).mean(X))
    campaign = gf.Campaign(SPACE, LAB, gf.GP(KERNEL, space=SPACE), search=gf.Search(20, 0))
    np.testing.assert_array_equal(campaign.belief.mean(ROWS), campaign.belief.mean(X))
    campaign.tell(gf.Query(LAB, ROWS[0], space=SPACE), 0.4)
    np.testing.assert_array_equal(campaign.belief.mean(FLAT), campaign.belief.mean(X))


def test_data_of_a_posterior_are_added_to_as_before():
    space = gf.Space(gf.Categorical("dose", [1, 2, 5]))
    plain = gf.GP(gf.Exchangeable(3, 0.2), space=space).posterior(gf.Data().add(LAB, [[1.0]], [3.0])).data
    assert plain.add(LAB, [[1.0]], [3.0]).batches[1].X.tolist() == [[1.0]]  # codes: this Data was given no space


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ([[40, 1e-4, "Pt", None]], r"X: expected for catalyst: one of \['Pd', 'Ni', 'Cu'\]"),
        ([{"temperature": 40}], r"X: expected the columns"),
        ({"temperature": [40, 50], "concentration": [1e-4], "catalyst": ["Pd"]}, "X: expected columns of one length"),
        ([[40, "Pd"]], r"X: expected rows of 4 values"),
        ("Pd", "X: expected rows of 4 values"),
    ],
)
def test_what_the_space_cannot_read_is_refused_in_its_words(wrong, what):
    with pytest.raises(gf.InvalidInput, match=what):
        posterior().mean(wrong)


def test_without_a_space_words_are_refused_with_what_to_do():
    with pytest.raises(gf.InvalidInput, match="X: "):
        gf.GP(gf.SE()).condition(gf.Data()).mean([{"x": 1.0}])
    with pytest.raises(gf.InvalidInput, match=r"points: .*space\.code"):
        gf.Region([{"x": 1.0}])
    with pytest.raises(gf.InvalidInput, match="space: "):
        gf.Region([[1.0]], space="box")


def test_numbers_in_arrays_are_never_said():
    assert not any(is_said(each, SPACE) for each in (X, X.astype(np.float32), X[0], X[:, None], X.tolist(), X[:0]))
    assert as_codes(SPACE, X, "X") is X


def test_a_list_of_one_item_is_told_with_a_list_of_one_answer():
    pool = gf.Pool({"dose": [1.0, 2.0, 4.0], "form": ["pill", "syrup", "pill"]}, items=["a", "b", "c"])
    for told, answers in ((["b"], [1.0]), ("b", 1.0), (["b", "a"], [1.0, 2.0])):
        data = gf.Data(space=pool).add(LAB, told, answers)
        assert data.layout.places[0].tolist() == [2.0, 1.0]
        assert len(data) == len(np.atleast_1d(answers))

"""Tables with named columns: never one coordinate taken for another."""

import numpy as np
import pytest

import gainful as gf

pandas = pytest.importorskip("pandas", reason="tables are optional")

RNG = np.random.default_rng(0)
TABLE = pandas.DataFrame({"east": RNG.random(8), "north": 10 + RNG.random(8)})
TURNED = TABLE[["north", "east"]]
Y = RNG.normal(size=8)
LAB = gf.Point(0.1)


def test_a_table_is_the_same_as_its_numbers():
    gp = gf.GP(gf.SE((0.3, 0.4)))
    named, plain = (gp.condition(gf.Data().add(LAB, X, Y)) for X in (TABLE, TABLE.to_numpy()))
    assert named.mean(TABLE).tolist() == plain.mean(TABLE.to_numpy()).tolist()
    assert named.data.columns == ("east", "north")
    assert plain.data.columns is None
    assert plain.mean(TURNED[["east", "north"]]).tolist() == named.mean(TABLE.to_numpy()).tolist()


@pytest.mark.parametrize(
    "use",
    [
        lambda data, post: data.add(LAB, TURNED, Y),
        lambda data, post: data.join(gf.Data().add(LAB, TURNED, Y)),
        lambda data, post: post.condition(gf.Data().add(LAB, TURNED, Y)),
        lambda data, post: post.mean(TURNED),
        lambda data, post: post.variance(TURNED),
        lambda data, post: post.covariance(TABLE, TURNED),
        lambda data, post: post.sample(TURNED, 1, 0),
        lambda data, post: post.answers(LAB, TURNED),
        lambda data, post: gf.information(post, LAB, TURNED),
        lambda data, post: gf.Belief([post]).mean(TURNED),
    ],
    ids=range(10),
)
def test_columns_in_another_order_are_refused_with_the_remedy(use):
    data = gf.Data().add(LAB, TABLE, Y)
    with pytest.raises(gf.InvalidInput, match=r"\['east', 'north'\].*puts them in order"):
        use(data, gf.GP(gf.SE((0.3, 0.4))).condition(data))


def test_other_names_are_refused_and_numbers_are_taken_as_they_are():
    data = gf.Data().add(LAB, TABLE, Y)
    with pytest.raises(gf.InvalidInput, match="rename, or pass"):
        data.add(LAB, TABLE.rename(columns={"north": "height"}), Y)
    assert len(data.add(LAB, TURNED.to_numpy(), Y)) == 16
    assert data.without([0, 3]).columns == ("east", "north")


def test_a_space_knows_the_order_too():
    gp = gf.GP(gf.SE(), space=gf.Space(gf.Real("north", 10, 11), gf.Real("east", 0, 1)))
    assert len(gp.condition(gf.Data().add(LAB, TURNED, Y)).data) == 8
    with pytest.raises(gf.InvalidInput, match=r"\['north', 'east'\].*puts them in order"):
        gp.condition(gf.Data().add(LAB, TABLE, Y))


def test_numbered_columns_have_no_names():
    data = gf.Data().add(LAB, pandas.DataFrame(TABLE.to_numpy()), Y)
    assert data.columns is None
    assert len(data.add(LAB, TABLE, Y)) == 16

"""Dimensions of every kind: codes and natural values, candidates, membership."""

import numpy as np
import pytest

import gainful as gf
from gainful.space.simplex import nearest_mixture

LAB = gf.Space(
    gf.Real("temperature", 20, 90, unit="°C"),
    gf.Real("concentration", 1e-6, 1e-2, unit="mol/L", log=True),
    gf.Integer("stages", 1, 8),
    gf.Categorical("catalyst", ["Pd", "Ni", "Cu"]),
    gf.At("pressure", 1.5, unit="bar"),
)
TUNING = gf.Space(
    gf.Categorical("solver", ["adam", "sgd", "lbfgs"]),
    gf.Real("rate", 1e-4, 1.0, log=True, when={"solver": ["adam", "sgd"]}),
    gf.Real("momentum", 0.0, 0.99, when={"solver": "sgd"}),
    gf.Integer("layers", 1, 3),
    gf.Categorical("activation", ["tanh", "relu"], when={"layers": [2, 3]}),
)
MIX = gf.Space(gf.Proportions(["water", "ethanol", "oil"], low={"water": 0.1}, high={"oil": 0.5}), gf.Real("t", 0, 1))


@pytest.mark.parametrize("space", [LAB, TUNING, MIX], ids=["lab", "tuning", "mix"])
def test_natural_values_of_candidates_code_back_to_the_same_bits(space):
    X = space.candidates(300, rng=1)
    assert X.shape == (300, len(space.names))
    assert space.contains(X).all()
    assert np.isfinite(X).all()
    rows = space.natural(X)
    np.testing.assert_array_equal(space.code(rows), X)
    columns = {name: [row[name] for row in rows] for name in space.names}
    np.testing.assert_array_equal(space.code(columns), X)
    np.testing.assert_array_equal(space.code([list(row.values()) for row in rows]), X)
    pandas = pytest.importorskip("pandas", reason="tables are optional")
    turned = pandas.DataFrame(columns)[list(reversed(space.names))]
    np.testing.assert_array_equal(space.code(turned), X)


def test_natural_values_have_their_own_types():
    place = LAB.natural(LAB.code({"temperature": 40, "concentration": 1e-3, "stages": 3, "catalyst": "Ni"})[0])
    assert place == {"temperature": 40.0, "concentration": 1e-3, "stages": 3, "catalyst": "Ni", "pressure": 1.5}
    assert isinstance(place["stages"], int)
    assert LAB.words(LAB.code([40, 1e-3, 3, "Ni", 1.5])[0]) == (
        "temperature 40 °C, concentration 0.001 mol/L, stages 3, catalyst Ni, pressure 1.5 bar"
    )
    quadlib = TUNING.natural(TUNING.code({"solver": "lbfgs", "layers": 1})[0])
    assert quadlib == {"solver": "lbfgs", "rate": None, "momentum": None, "layers": 1, "activation": None}
    assert TUNING.words(TUNING.code({"solver": "lbfgs", "layers": 1})[0]) == "solver lbfgs, layers 1"


def test_levels_that_are_numbers_are_levels_and_not_positions():
    size = gf.Categorical("batch", [16, 32, 1])
    assert [size.code(value) for value in (16, 32, 1)] == [0.0, 1.0, 2.0]
    assert gf.Space(size, gf.Real("x", 0, 1)).code(np.array([[1.0, 0.5]])).tolist() == [[2.0, 0.5]]
    flag = gf.Categorical("flag", [False, True])
    assert (flag.code(True), flag.code(np.bool_(False))) == (1.0, 0.0)


def test_each_level_and_whole_number_is_drawn_as_often_as_the_others():
    X = LAB.candidates(2400, rng=3)
    for column, values in ((2, range(1, 9)), (3, range(3))):
        counts = np.array([np.sum(X[:, column] == value) for value in values])
        assert counts.sum() == len(X)
        assert np.ptp(counts) <= 0.02 * len(X)
    decades = np.histogram(np.log10(X[:, 1]), bins=[-6, -5, -4, -3, -2])[0]
    assert np.ptp(decades) <= 0.02 * len(X)


def test_whole_numbers_over_orders_of_magnitude_are_drawn_evenly_in_the_logarithm():
    X = gf.Space(gf.Integer("n", 1, 1000, log=True), gf.Real("x", 0, 1)).candidates(4000, rng=0)[:, 0]
    assert np.array_equal(X, np.round(X))
    for low, high in ((1, 9), (10, 99), (100, 1000)):
        share = np.log((high + 0.5) / (low - 0.5)) / np.log(1000.5 / 0.5)
        assert abs(np.mean(np.isin(X, np.arange(low, high + 1))) - share) < 0.01


def test_a_space_with_few_places_gives_them_all():
    small = gf.Space(gf.Integer("n", 1, 4), gf.Categorical("c", ["a", "b"]), gf.At("p", 2.0))
    assert small.candidates(50, rng=0).tolist() == [[n, c, 2.0] for n in range(1, 5) for c in range(2)]
    part = small.where(gf.Within(n=(2, 3)))
    assert part.candidates(50, rng=0).tolist() == [[n, c, 2.0] for n in (2, 3) for c in range(2)]
    chain = gf.Space(gf.Categorical("a", ["x", "y"]), gf.Integer("b", 1, 3, when={"a": "y"}))
    assert chain.candidates(50, rng=0).tolist() == [[0, 1], [1, 1], [1, 2], [1, 3]]


def test_the_last_places_of_a_large_finite_space_are_found():
    large = gf.Space(gf.Integer("n", 1, 300), gf.Integer("m", 1, 300), gf.Categorical("c", ["a", "b"]))
    part = large.where(lambda X: (X[:, 0] * X[:, 1] == 89_999 - 299) & (X[:, 2] == 1))
    assert part.candidates(10, rng=0).tolist() == [[299, 300, 1], [300, 299, 1]]
    assert len(large.where(gf.Within(n=(3, 4))).candidates(1000, rng=0)) == 1000


def test_membership_asks_for_whole_numbers_levels_sums_and_canonical_absence():
    good = LAB.code([40, 1e-3, 3, "Ni", 1.5])[0]
    assert LAB.contains(good[None])[0]
    for column, value in ((2, 2.5), (2, 9.0), (3, 0.5), (3, 3.0), (4, 2.0), (1, 1.0)):
        assert not LAB.contains(np.where(np.arange(5) == column, value, good)[None])[0]
    absent = TUNING.code({"solver": "lbfgs", "layers": 1})
    assert TUNING.contains(absent)[0]
    assert not TUNING.contains(absent + np.array([[0, 0.5, 0, 0, 0]]))[0]
    assert MIX.contains([[0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.3, 0.0], [0.05, 0.65, 0.3, 0.0]]).tolist() == [
        True, False, False,
    ]  # fmt: skip


def test_factors_of_two_multiply_candidates_to_the_bit():
    for log in (False, True):
        for power in (2.0**-20, 2.0**30):
            one = gf.Space(gf.Real("x", 0.3, 7.7, log=log), gf.Real("y", 0, 1))
            other = gf.Space(gf.Real("x", 0.3 * power, 7.7 * power, log=log), gf.Real("y", 0, 1))
            np.testing.assert_array_equal(other.candidates(99, 5), one.candidates(99, 5) * [power, 1.0])
            part, theirs = one.where(gf.Within(x=(1, 3))), other.where(gf.Within(x=(power, 3 * power)))
            np.testing.assert_array_equal(theirs.candidates(99, 5), part.candidates(99, 5) * [power, 1.0])


def test_a_logarithmic_dimension_has_the_candidates_of_the_logarithm():
    logs = gf.Space(gf.Real("x", np.log(0.3), np.log(7.7))).candidates(200, 5)
    np.testing.assert_allclose(np.log(gf.Space(gf.Real("x", 0.3, 7.7, log=True)).candidates(200, 5)), logs, rtol=1e-12)


def test_mixtures_fill_the_simplex_evenly():
    # A uniform mixture of three: each part has density 2(1 − x), mean 1/3 and variance 1/18.
    X = gf.Space(gf.Proportions(["a", "b", "c"])).candidates(4000, rng=0)
    np.testing.assert_allclose(X.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(X.mean(axis=0), 1 / 3, atol=0.003)
    np.testing.assert_allclose(X.var(axis=0), 1 / 18, atol=0.001)
    np.testing.assert_allclose(np.cov(X.T)[0, 1], -1 / 36, atol=0.001)
    percent = gf.Space(gf.Proportions(["a", "b"], total=100, unit="%")).candidates(50, rng=0)
    np.testing.assert_allclose(percent.sum(axis=1), 100.0, rtol=1e-14)


def test_thin_mixtures_are_found_too():
    names = [f"p{i}" for i in range(8)]
    thin = gf.Space(gf.Proportions(names, low=0.1, high=0.14))
    X = thin.candidates(40, rng=0)
    assert X.shape == (40, 8)
    assert thin.contains(X).all()
    assert len(np.unique(X, axis=0)) == 40


def test_the_nearest_mixture_is_the_nearest():
    minimize = pytest.importorskip("scipy.optimize").minimize
    rng = np.random.default_rng(0)
    low, high = np.array([0.1, 0.0, 0.0, 0.05]), np.array([0.6, 0.5, 1.0, 0.3])
    for x in rng.normal(0.3, 0.5, size=(10, 4)):
        (got,) = nearest_mixture(x[None], low, high, 1.0)
        found = minimize(lambda z, x=x: np.sum((z - x) ** 2), np.full(4, 0.25), jac=lambda z, x=x: 2 * (z - x),
                         bounds=list(zip(low, high, strict=True)), method="SLSQP", options={"ftol": 1e-14},
                         constraints={"type": "eq", "fun": lambda z: z.sum() - 1.0})  # fmt: skip
        np.testing.assert_allclose(got, found.x, atol=1e-6)
        assert abs(got.sum() - 1.0) < 1e-14


def test_thin_linear_limits_are_met():
    box = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1), gf.Categorical("c", ["x", "y"]), gf.Integer("n", 0, 3))
    thin = box.where(gf.LinearLimit({"a": 1, "b": 2, "n": 1}, least=2.0, most=2.0 + 1e-7))
    X = thin.candidates(60, rng=0)
    assert len(X) == 60
    assert thin.contains(X).all()
    assert set(X[:, 2]) == {0.0, 1.0}
    assert set(X[:, 3]) == {0.0, 1.0, 2.0}
    nothing = box.where(gf.LinearLimit({"a": 1, "b": 2}, least=4.0))
    assert len(nothing.candidates(5, rng=0)) == 0


def test_hit_and_run_is_uniform_on_a_triangle():
    box = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    X = box.walk(1000, np.random.default_rng(0), box.low, box.high, [gf.LinearLimit({"a": 1, "b": 1}, most=1)])
    np.testing.assert_allclose(X.mean(axis=0), 1 / 3, atol=0.03)
    np.testing.assert_allclose(X.var(axis=0), 1 / 18, atol=0.008)


def test_a_whole_number_as_a_constraint_on_a_real_is_said_to_be_one():
    part = gf.Space(gf.Real("x", 0, 9)).where(lambda X: X[:, 0] == np.round(X[:, 0]))
    with pytest.raises(gf.InvalidInput, match=r"Integer\('x', 0, 9\)"):
        part.candidates(5, rng=0)


def test_limits_ask_nothing_of_what_is_absent():
    part = TUNING.where(gf.Within(rate=(0.01, None)))
    X = part.candidates(300, rng=0)
    assert len(X) == 300
    absent = X[:, 0] == 2.0
    assert 50 < absent.sum() < 200
    assert (X[~absent, 1] >= 0.01).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.Real("x", 0, 1, log=True),
        lambda: gf.Real("x", 0, 1, log=1),
        lambda: gf.Integer("n", 1.5, 3),
        lambda: gf.Integer("n", 3, 3),
        lambda: gf.Integer("n", 0, 3, log=True),
        lambda: gf.Categorical("c", ["a"]),
        lambda: gf.Categorical("c", ["a", "a"]),
        lambda: gf.Categorical("c", [1, True]),
        lambda: gf.Categorical("c", "ab"),
        lambda: gf.Categorical("c", ["a", None]),
        lambda: gf.Categorical("c", ["a", np.nan]),
        lambda: gf.At("p", np.inf),
        lambda: gf.Space(gf.At("p", 1.0)),
        lambda: gf.Proportions(["a"]),
        lambda: gf.Proportions(["a", "b"], low=0.6),
        lambda: gf.Proportions(["a", "b"], high=0.4),
        lambda: gf.Proportions(["a", "b"], low={"c": 0.1}),
        lambda: gf.LinearLimit({}, most=1),
        lambda: gf.LinearLimit({"a": 1}),
        lambda: gf.LinearLimit({"a": 0}, most=1),
        lambda: gf.LinearLimit({"a": 1}, least=1, most=1),
        lambda: gf.Space(gf.Real("x", 0, 1)).where(gf.LinearLimit({"y": 1}, most=1)),
        lambda: gf.Space(gf.Real("x", 0, 1, when={"c": "a"}), gf.Categorical("c", ["a", "b"])),
        lambda: gf.Space(gf.Categorical("c", ["a", "b"]), gf.Real("x", 0, 1, when={"c": "z"})),
        lambda: gf.Space(gf.Real("y", 0, 1), gf.Real("x", 0, 1, when={"y": 0.5})),
        lambda: gf.Real("x", 0, 1, when="c"),
        lambda: LAB.code([[40, 1e-3, 3, "Zn", 1.5]]),
        lambda: LAB.code([[40, 1e-3, 2.5, "Ni", 1.5]]),
        lambda: LAB.code([[40, -1e-3, 3, "Ni", 1.5]]),
        lambda: LAB.code([[40, 1e-3, 3, "Ni", 2.5]]),
        lambda: LAB.code([[40, 1e-3, 3, None, 1.5]]),
        lambda: LAB.code([[40, 1e-3, 3]]),
        lambda: LAB.code({"temperature": 40}),
        lambda: LAB.code({"temperature": 40, "concentration": 1, "stages": 1, "catalyst": "Pd", "colour": 3}),
        lambda: TUNING.code({"solver": "adam", "layers": 1}),
    ],
)
def test_what_cannot_be_meant_is_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()

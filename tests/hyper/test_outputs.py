"""Several outputs, cheap and dear ones, and classes, of which nothing is stated."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.unstated import open_up, structure
from gainful.testing import check_kernel, check_mean

SPACE = gf.Space(gf.Real("x", 0, 10))
GP = gf.GP(space=SPACE)
TRUE, CHEAP = gf.Point(output="true", cost=10), gf.Point(output="cheap", cost=1)
AT = np.linspace(0.3, 9.7, 7)[:, None]
RNG = np.random.default_rng(0)
X, Z = RNG.uniform(0, 10, (7, 1)), RNG.uniform(0, 10, (16, 1))


def readings(factor=1.0, shift=0.0):
    """Two outputs that are alike; one of them in another unit."""
    y, z = 20.0 + 3.0 * np.sin(X[:, 0]), -5.0 + np.sin(Z[:, 0] + 0.1)
    return gf.Data().add(TRUE, X, y).add(CHEAP, Z, factor * z + shift)


@pytest.fixture(scope="module")
def belief():
    return GP.condition(readings())


def _outputs(n, rng):
    return rng.choice([0.0, 3.0, float(gf.coordinates.output_code("a"))], size=(n, 1))


@pytest.mark.parametrize(
    "kernel",
    [
        gf.Coregionalised((0, 3, "a")),
        gf.Coregionalised((0, 3, "a"), (1.0, 4.0, 0.5), (0.5, -0.7, 0.3)),
        gf.Coregionalised((0, 3, "a"), (1.0, 4.0), 0.0, alike=(0, 1, 1)),
        gf.Coregionalised((0, 3, "a"), 2.0, 0.0),
    ],
    ids=str,
)
def test_kernels_of_outputs_obey_their_laws(kernel):
    check_kernel(kernel, dimensions=1, places=_outputs)


def test_means_of_outputs_obey_their_laws():
    check_mean(gf.OutputMeans((0, 3, "a"), (1.0, -2.0, 5.0)), dimensions=1, places=_outputs)


def test_partial_correlations_are_those_of_the_matrix():
    kernel = gf.Coregionalised(3, correlation=(0.5, -0.7, 0.3))
    C = kernel.correlations
    partial = (C[2, 1] - C[2, 0] * C[1, 0]) / np.sqrt((1 - C[2, 0] ** 2) * (1 - C[1, 0] ** 2))
    np.testing.assert_allclose([C[1, 0], C[2, 0], partial], [0.5, -0.7, 0.3], rtol=1e-12)
    assert np.linalg.eigvalsh(C).min() > 0.0


def test_without_correlation_several_outputs_are_separate_models():
    # log p of all answers is the sum of both, at the same parameters.
    kernel = gf.Matern(2.0, 1.0).on("x") * gf.Coregionalised(("true", "cheap"), (4.0, 0.5), 0.0).on("output")
    means = gf.OutputMeans(("true", "cheap"), (20.0, -5.0))
    found = gf.GP(kernel, means, space=SPACE).condition(readings())
    alone = [
        gf.GP(gf.Matern(2.0, v), gf.ConstantMean(c)).condition(gf.Data().add(gf.Point(), batch.X, batch.answers))
        for v, c, batch in ((4.0, 20.0, readings().batches[0]), (0.5, -5.0, readings().batches[1]))
    ]
    np.testing.assert_allclose(found.log_evidence, sum(each.log_evidence for each in alone), rtol=1e-10)
    for name, each in zip(("true", "cheap"), alone, strict=True):
        np.testing.assert_allclose(found.of(name).mean(AT), each.mean(AT), rtol=1e-9)
        np.testing.assert_allclose(found.of(name).variance(AT), each.variance(AT), rtol=1e-8)


def test_what_is_not_stated_has_a_parameter_for_each_output():
    assert structure(GP, [TRUE, CHEAP]).names == (
        "Matern.lengthscale", "Matern.variance", "Coregionalised.variance[0]", "Coregionalised.variance[1]",
        "Coregionalised.correlation[0]", "Coregionalised2.variance[0]", "Coregionalised2.variance[1]",
        "OutputMeans.values[0]", "OutputMeans.values[1]",
    )  # fmt: skip
    opened = open_up(GP, readings()).problem
    free = [opened.names[i] for i in opened.free]
    assert free == [
        "Matern.lengthscale", "Coregionalised.variance[0]", "Coregionalised.variance[1]",
        "Coregionalised.correlation[0]", "true.noise", "cheap.noise",
    ]  # fmt: skip


def test_the_scale_of_each_output_follows_from_its_own_answers():
    values = dict(zip(open_up(GP, readings()).problem.names, open_up(GP, readings()).problem.parameters, strict=True))
    for name, batch in zip((0, 1), readings().batches, strict=True):
        alone = open_up(GP, gf.Data().add(gf.Point(), batch.X, batch.answers))
        assert values[f"Coregionalised.variance[{name}]"] == pytest.approx(alone.scale.spread**2)
        assert values[f"OutputMeans.values[{name}]"] == pytest.approx(np.mean(batch.answers))


def test_a_stated_variance_is_that_of_every_output():
    found = open_up(gf.GP(gf.Matern(variance=9.0), space=SPACE), readings()).problem
    values = dict(zip(found.names, found.parameters, strict=True))
    assert (values["Matern.variance"], values["Coregionalised.variance[0]"]) == (9.0, 1.0)
    assert "Matern.variance" not in [found.names[i] for i in found.free]


def test_multiplying_one_output_changes_its_unit_alone(belief):
    doubled = GP.condition(readings(2.0**10))
    np.testing.assert_allclose(doubled.of("true").mean(AT), belief.of("true").mean(AT), rtol=1e-6)
    np.testing.assert_allclose(doubled.of("cheap").mean(AT), 2.0**10 * belief.of("cheap").mean(AT), rtol=1e-5)
    shifted = GP.condition(readings(shift=600.0))
    np.testing.assert_allclose(shifted.of("true").mean(AT), belief.of("true").mean(AT), rtol=1e-6)


def test_a_similar_cheap_output_tells_about_the_dear_one(belief):
    y = readings().batches[0].answers
    alone = GP.condition(gf.Data().add(gf.Point(name="true"), X, y))
    truth = 20.0 + 3.0 * np.sin(AT[:, 0])
    error, theirs = (np.sqrt(np.mean((b - truth) ** 2)) for b in (belief.of("true").mean(AT), alone.mean(AT)))
    assert error < 0.7 * theirs
    assert belief.of("true").variance(AT).mean() < alone.variance(AT).mean()
    correlation = sum(
        w * p.kernel.left.right.base.correlation[0] for w, p in zip(belief.weights, belief.posteriors, strict=True)
    )
    assert correlation > 0.8


def test_categories_conditions_and_logarithms_go_with_outputs():
    space = gf.Space(gf.Real("dose", 1, 100, log=True), gf.Categorical("metal", ["Pd", "Ni"]))
    data = gf.Data(space=space)
    for output, sign in (("a", 1.0), ("b", -1.0)):
        places = [{"dose": d, "metal": m} for d in (1, 5, 30, 90) for m in ("Pd", "Ni")]
        y = [sign * np.log(p["dose"]) + (p["metal"] == "Ni") for p in places]
        data = data.add(gf.Point(output=output), places, y)
    found = gf.GP(space=space).condition(data)
    here = space.code([{"dose": 12, "metal": "Pd"}])
    assert found.of("a").mean(here)[0] == pytest.approx(np.log(12), abs=0.4)
    assert found.of("b").mean(here)[0] == pytest.approx(-np.log(12), abs=0.4)


def campaign(instruments, answer, asks, seed=1, journal=None, goal="minimise", **more):
    found = gf.Campaign(SPACE, instruments, goal=goal, seed=seed, journal=journal, search=gf.Search(32, 2), **more)
    for _ in range(asks):
        query = found.ask()
        found.tell(query, answer(query))
    return found


def cheap_or_true(query, factor=1.0, shift=0.0):
    x = query.place[0]
    y = 20.0 + 3.0 * np.sin(x) if query.instrument.output == "true" else factor * (np.sin(x + 0.1) - 5.0) + shift
    return float(y)


def test_campaigns_are_about_the_first_output_and_resume_to_the_byte(tmp_path):
    path = tmp_path / "journal.jsonl"
    found = campaign([TRUE, CHEAP], cheap_or_true, 5, journal=path, initial=4)
    assert {e.query.instrument.output for e in found.history} == {"true", "cheap"}
    best = found.best()
    assert str(best).startswith("true is believed to be smallest at x ")
    assert best.low < best.mean < best.high
    assert "to minimise true" in str(found.why(found.ask()))
    assert str(found.best("maximise cheap")).startswith("cheap is believed to be largest")
    again = gf.Campaign.resume(path)
    np.testing.assert_array_equal(again.belief.mean(AT), found.belief.mean(AT))
    assert again.best() == best


def test_a_change_of_unit_of_one_output_changes_no_choice():
    def places(factor, shift=0.0):
        told = campaign([TRUE, CHEAP], lambda q: cheap_or_true(q, factor, shift), 6, goal="map", initial=5)
        return [(e.query.instrument.output, e.query.place[0]) for e in told.history]

    assert places(1.0) == places(2.0**-7)
    for (mine, x), (theirs, z) in zip(places(1.0), places(1.0, 600.0), strict=True):
        assert mine == theirs
        assert x == pytest.approx(z, abs=1e-5)


def test_a_goal_names_its_output():
    found = gf.Campaign(SPACE, [TRUE, CHEAP], goal="maximise cheap")
    assert found.belief.data.output == "cheap"
    with pytest.raises(gf.InvalidInput, match="cheap"):
        gf.Campaign(SPACE, [TRUE, CHEAP], goal="maximise purity")


def test_numbers_still_name_outputs():
    numbered = [replace(TRUE, output=0, name="true"), replace(CHEAP, output=1, name="cheap")]
    data = gf.Data().add(numbered[0], X, X[:, 0]).add(numbered[1], Z, Z[:, 0])
    named = gf.Data().add(TRUE, X, X[:, 0]).add(CHEAP, Z, Z[:, 0])
    np.testing.assert_array_equal(GP.condition(data).of(0).mean(AT), GP.condition(named).of("true").mean(AT))


def test_functions_of_classes_are_exchangeable():
    kinds = gf.Classes(["a", "b", "c"])
    labels = np.array(["a", "b", "c"])[(X[:, 0] // 3.4).astype(int)]
    turned = np.array(["b", "c", "a"])[(X[:, 0] // 3.4).astype(int)]
    first, second = (GP.condition(gf.Data().add(kinds, X, each)) for each in (labels, turned))
    p, q = (each.answers(kinds, AT).probabilities for each in (first, second))
    np.testing.assert_allclose(p, np.roll(q, -1, axis=1), atol=1e-4)
    assert p[0].argmax() == 0
    assert p[-1].argmax() == 2
    assert [slot.name for slot in structure(GP, [kinds]).slots if slot.role == "variance"] == [
        "Matern.variance", "Coregionalised.variance[0]", "Coregionalised2.variance[0]",
    ]  # fmt: skip


def test_a_run_that_fails_is_an_answer():
    works, good = gf.Binary(output="runs", cost=1), gf.Point(output="yield", cost=1)
    ran = Z[:, 0] < 6.0
    data = gf.Data().add(works, Z, ran).add(good, Z[ran], np.sin(Z[ran, 0]) + 7.0)
    found = GP.condition(data)
    p = found.answers(works, [[2.0], [9.0]]).probabilities[:, 1]
    assert p[0] > 0.8
    assert p[1] < 0.2
    assert found.of("yield").mean([[2.0]])[0] == pytest.approx(np.sin(2.0) + 7.0, abs=0.3)


def test_a_mean_that_is_no_constant_is_refused_beside_several_outputs():
    with pytest.raises(gf.InvalidInput, match="constant mean"):
        gf.GP(gf.Matern(), gf.LinearMean(), space=SPACE).condition(readings())


def test_an_output_that_nobody_sees_is_refused(belief):
    with pytest.raises(gf.InvalidInput, match="outputs"):
        belief.of("purity").mean(AT)
    with pytest.raises(gf.InvalidInput, match=r"belief\.of"):
        belief.mean(AT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert belief.of("cheap").of("true").data.output == "true"


def test_an_output_that_nobody_sees_is_refused_by_its_name():
    data = gf.Data().add(gf.Point(output="yield"), [[0.1], [0.5], [0.9]], [1.0, 2.0, 1.5])
    belief = gf.GP(space=gf.Space(gf.Real("x", 0, 1))).condition(data.add(gf.Point(output="purity"), [[0.5]], [9.0]))
    with pytest.raises(gf.InvalidInput, match=r"output: expected one of the outputs .*'yield'.* got yeild"):
        belief.of("yeild")


def test_why_writes_the_unit_of_the_output_that_is_predicted():
    instruments = [gf.Point(output="yield", unit="%"), gf.Point(output="purity", unit="ppm")]
    campaign = gf.Campaign(gf.Space(gf.Real("x", 0, 1)), instruments, goal="maximise purity", budget=9)
    units = {"yield": "%", "purity": "ppm"}
    seen = set()
    for i in range(5):
        query = campaign.ask()
        seen.add(label := query.instrument.label)
        predicted = str(campaign.why(query)).splitlines()[1]
        assert predicted.startswith("Predicted value")
        assert predicted.endswith(f" {units[label]}.")
        campaign.tell(query, float(i) if label == "yield" else 1e5 + 10.0 * i)
    assert seen == {"yield", "purity"}

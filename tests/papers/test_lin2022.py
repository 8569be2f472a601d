"""The grids of Lin 2022: what is believed and scored as arrays against gainful's own, and the measures against laws."""

import numpy as np
import pytest

import gainful as gf
from gainful.papers.lin2022 import grid
from gainful.papers.lin2022.common import (
    AFTER,
    BUDGET,
    FIRST,
    PLACES,
    POINTS,
    STRATEGIES,
    STUDIES,
    Known,
    choose,
    curve,
)
from gainful.papers.lin2022.drawing import write_tables
from gainful.papers.lin2022.published import CHECKED, PUBLISHED

X = PLACES[:, None]


def _told(study, prior, places, seed=0):
    """Known, and the same belief by gainful's own model."""
    rng = np.random.default_rng(seed)
    y = study.drawn(study.truths[len(study.truths) // 3], rng)
    known, data, lab = Known(study, prior), gf.Data(), gf.Point(name="lab")
    for place in places:
        known.tell(place, float(y[place]))
        data = data.add(lab, X[[place]], y[[place]])
    return known, study.grid(prior).condition(data), lab, y


@pytest.mark.parametrize("figure", ["4-1", "4-2", "4-3", "4-4", "4-5", "4-6", "4-9"])
@pytest.mark.parametrize("places", [(FIRST,), (FIRST, 3, 80, 84, 20)], ids=len)
def test_weights_means_and_both_scores_are_those_of_the_library(figure, places):
    study = STUDIES[figure]
    for prior in study.odds:
        known, belief, lab, _ = _told(study, prior, places)
        np.testing.assert_allclose(known.weights, belief.weights, rtol=1e-9, atol=1e-12)
        found = belief.predict(X)
        np.testing.assert_allclose(known.mean, found.mean, atol=1e-9)
        np.testing.assert_allclose(known.variance, found.variance, atol=1e-9)
        about = gf.information(belief, lab, X, about="model")
        np.testing.assert_allclose(known.about_the_program(), about, atol=1e-7)
        if figure != "4-9":  # 155 programs take a while, and are no different
            goal = gf.Predictions(POINTS[:, None])
            np.testing.assert_allclose(known.about_predictions(), goal.score(belief, lab, X), atol=1e-9)


def test_grids_and_data_sets_are_as_many_as_published():
    programs = {figure: len(study.programs) for figure, study in STUDIES.items()}
    sets = {figure: len(study.truths) for figure, study in STUDIES.items()}
    wanted = {"4-1": 100, "4-2": 125, "4-3": 10, "4-4": 50, "4-5": 10, "4-6": 50, "4-7": 155, "4-8": 155, "4-9": 155}
    assert programs == wanted
    assert sets == wanted | {"4-3": 50, "4-5": 50, "4-7": 25, "4-8": 5, "4-9": 125}
    assert len(grid.EXPERIMENT.settings(False)) == sum(sets.values())


def test_priors_over_the_155_are_the_two_readings_of_the_text():
    study = STUDIES["4-9"]
    names = np.array(study.structures)
    for prior, wanted in (("by program", [7.5, 1.5, 4.5]), ("by structure", [0.3, 0.3, 0.4])):
        odds = np.array(study.odds[prior])
        shares = [odds[names == name].sum() for name in (names[0], names[25], names[30])]
        np.testing.assert_allclose(np.array(shares) / sum(shares), np.array(wanted) / sum(wanted))


def test_every_published_line_is_a_measure_of_its_figure():
    for figure, table in PUBLISHED.items():
        assert set(table) == set(STUDIES[figure].measures)
        assert set(CHECKED.get(figure, {})) <= set(table)


def test_before_any_answer_tells_a_squared_error_is_twice_the_variance_of_the_grid():
    """One reading says nothing about periodic programs, whose variance is one everywhere: 2 · 0.0825 on tenths."""
    study, rows = STUDIES["4-1"], []
    for truth in range(0, 100, 7):
        y = study.drawn(truth, np.random.default_rng(truth))
        known = Known(study, "by program")
        known.tell(FIRST, float(y[FIRST]))
        rows.append(known.measured(truth, y))
        own = study.numbers[truth]
        wanted = np.mean((np.arange(1, 11) / 10 - own["period"]) ** 2)
        assert rows[-1]["period"] == pytest.approx(wanted)
        assert rows[-1]["truth"] == pytest.approx(0.01)


def test_measures_are_averages_of_squared_errors():
    study = STUDIES["4-9"]
    known, belief, _, y = _told(study, "by program", (FIRST, 3, 80))
    truth = 60
    found = known.measured(truth, y)
    each = [np.sum((y - p.mean(X)) ** 2) for p in belief.posteriors]
    assert found["predictive"] == pytest.approx(belief.weights @ each)
    assert found["structure"] == pytest.approx(belief.probability(lambda program: program.size > 1))
    values, weights = belief.numbers(study.structures[truth])
    wanted = {str(own): w for own, w in zip(values.round(6).tolist(), weights, strict=True)}
    assert len(wanted) == 125
    own = study.numbers[truth]
    periods = [n["period"] for n in study.numbers[30:]]
    assert found["period"] == pytest.approx(
        np.sum(known.weights[30:] / known.weights[30:].sum() * (np.array(periods) - own["period"]) ** 2)
    )


def test_a_curve_asks_every_place_once_beginning_at_the_centre():
    study = STUDIES["4-5"]
    y = study.drawn(4, np.random.default_rng(0))
    for strategy in ("IG-K", "IG-P"):
        rows = curve(study, "by program", strategy, 4, y)
        places = [row["place"] for row in rows]
        assert places[0] == FIRST
        assert len(set(places)) == BUDGET == len(rows)


def test_of_a_tie_the_first_place_that_was_not_asked_is_chosen():
    assert choose(np.array([2.0, 1.0, 2.0 - 1e-12, 2.0]), [0]) == 2


def test_a_quick_run_has_claims_and_tables(tmp_path, monkeypatch):
    for i, name in enumerate(STRATEGIES):  # any two, to be fast
        monkeypatch.setitem(STRATEGIES, name, lambda known, i=i: known.variance[i])
    kept = grid.EXPERIMENT.settings(True)
    rows = [each | row for i, each in enumerate(kept) for row in grid._run(each, i)]
    claims = grid.EXPERIMENT.claims(rows)
    assert len({claim.statement for claim in claims}) == len(claims)
    assert all(np.isfinite(claim.measured) for claim in claims)
    write_tables(rows, ("figure", "set"), tmp_path / "tables.md")
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert text.count("\n## ") == 9 + 3  # three figures under both priors
    assert AFTER == (1, 5, 10, 15)

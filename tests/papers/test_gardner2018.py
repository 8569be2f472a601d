"""Hearing tests on real ears, small: who is tested, what is measured, and what is claimed from it."""

from __future__ import annotations

import dynesty
import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.hyper.laplace import hyperposterior
from gainful.inference.ep import EP
from gainful.inference.evidence import log_evidences
from gainful.papers.gardner2018 import agreement, curves, ears, notch, notch_limit, or_channel, pairs_of_tones, real
from gainful.papers.gardner2018.published_models import TONE, healthy, notched, tones


def test_people_are_kept_apart_not_ears(data_folder):
    fitted, held = ears.people(held=False), ears.people(held=True)
    assert fitted.both.shape[1:] == held.both.shape[1:] == (2, 7)
    assert 0.17 < len(held.both) / (len(held.both) + len(fitted.both)) < 0.23
    assert held.frequencies.tolist() == [500, 1000, 2000, 3000, 4000, 6000, 8000]
    assert np.all((held.both >= -10) & (held.both <= 120))


@pytest.mark.parametrize("kind", ["any", "impaired"])
def test_listeners_are_always_the_same_and_of_their_kind(data_folder, kind):
    one, again = (real.listener("B", kind, 3)[0] for _ in range(2))
    np.testing.assert_array_equal(one.thresholds, again.thresholds)
    assert (one.spread, one.guess, one.lapse) == (again.spread, again.guess, again.lapse)
    assert 2.0 <= one.spread <= 10.0
    if kind == "impaired":
        assert np.mean([one.threshold(f) for f in (500.0, 1000.0, 2000.0, 4000.0)]) > 25.0


def test_a_small_run_measures_every_method_and_says_what_it_found(data_folder, tmp_path):
    settings = [{"setting": s, "kind": k, "tones": 2, "repetition": 0} for s in "AB" for k in ("any", "impaired")]
    rows = [{**setting, **row} for setting in settings for row in real.EXPERIMENT.run(setting, 0)]
    methods = {"gainful", "by bits", "library", "one by one", "chance", "staircase", "stopped", "uncertainty",
               "committee", "up to 2", "up to 3", "both ears", "grid"}  # fmt: skip
    assert {row["method"] for row in rows} == methods
    assert all(row["error"] >= 0.0 for row in rows)
    claims = real.EXPERIMENT.claims(rows)
    assert len(claims) == 44
    assert sum("on the same ears" in claim.statement for claim in claims) == 4 * 5
    assert sum("staircase" in claim.statement for claim in claims) == 4
    (figure,) = real.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def test_two_states_are_told_apart_as_published():
    alone, both = (float(or_channel.two_states(np.array(0.05), np.array(0.65), k)) for k in (1, 2))
    assert (alone, both) == pytest.approx((0.32384, 0.50079), abs=1e-5)
    most = or_channel.two_states(np.array(0.0), np.array(0.708), 2) - or_channel.two_states(
        np.array(0.0), np.array(0.708), 1
    )
    assert most == pytest.approx(0.2826, abs=1e-4)  # by hand: 0.78453 − 0.50197


def test_what_a_pair_tells_beyond_one_tone_is_the_reference_table_and_is_drawn(tmp_path):
    settings = or_channel.EXPERIMENT.settings(True)
    rows = [{**setting, **row} for setting in settings for row in or_channel.EXPERIMENT.run(setting, 0)]
    for row in rows:
        one, table = or_channel.REFERENCE[row["mean"]]
        wanted = table[or_channel.REFERENCE_CORRELATIONS.index(row["correlation"])]
        assert (row["one"], row["more"]) == pytest.approx((one, wanted), abs=1e-4)
    assert len(rows) == 30
    assert all(claim.holds for claim in or_channel.EXPERIMENT.claims(rows))
    (figure,) = or_channel.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def _deaf_at_four_kilohertz(X):
    t = 5.0 + 40.0 * np.exp(-0.5 * ((X[:, 0] - 12.0) / 0.35) ** 2)
    return ndtr((X[:, 1] - t) / 4.0)


def test_tones_that_tell_models_apart_find_a_notch_and_its_absence():
    rows = notch.follow(_deaf_at_four_kilohertz, "notched", "BAMS", 11, 1)
    assert [row["after"] for row in rows] == list(range(5, 12))
    assert rows[0]["probability"] < 0.8
    assert rows[-1]["probability"] > 0.9
    again = notch.follow(_deaf_at_four_kilohertz, "notched", "BAMS", 6, 1)
    assert again == rows[:2]  # the same seed, the same tones
    absent = notch.follow(lambda X: ndtr((X[:, 1] - 5.0) / 4.0), "healthy", "BAMS", 11, 2)
    assert absent[-1]["probability"] > 0.8


def test_ears_from_the_priors_have_their_levels_slopes_and_notches():
    """Against what the priors say in closed form: levels of 8 ± √(8² + 6²) dB, and notches of 26 dB at 4.2 kHz."""

    def thresholds(kind, octave):
        at = np.column_stack([np.full(901, octave), np.linspace(-100.0, 200.0, 901)])
        return np.array([np.interp(0.5, notch_limit.drawn_ear(kind, n)(at), at[:, 1]) for n in range(250)])

    low = thresholds("healthy", 9.0)
    assert np.mean(low) == pytest.approx(8.0, abs=3.0 * 10.0 / np.sqrt(250))
    assert np.std(low) == pytest.approx(11.0, rel=0.2)
    deep = thresholds("notched", np.log2(4200.0)) - thresholds("notched", 9.0)
    assert 12.0 < np.mean(deep) < 26.0  # a notch is somewhere near, seldom just there
    ear = notch_limit.drawn_ear("notched", 3)
    assert np.array_equal(ear(tones(50)), notch_limit.drawn_ear("notched", 3)(tones(50)))


def test_what_is_claimed_of_ears_from_the_priors_is_counted_from_the_rows(tmp_path):
    rows = []
    for person in range(4):
        for kind in ("healthy", "notched"):
            sure = 40 if person == 0 else 12
            rows += _rows_of_a_notch(person, kind, "BAMS", lambda n, sure=sure: 0.995 if n >= sure else 0.005)
    claims = {claim.statement: claim for claim in notch_limit.EXPERIMENT.claims(rows)}
    assert claims["healthy: the right model has more than 0.99 within 30 tones"].measured == 0.75
    assert claims["notched: the wrong model has more than 0.99 after 30 tones"].measured == 0.25
    assert notch_limit.EXPERIMENT.figures(rows, tmp_path)[0].stat().st_size > 5_000


@pytest.mark.parametrize("method", ["BALD", "uncertainty", "committee", "random"])
def test_the_other_ways_to_choose_have_the_same_first_tones(method):
    rows = notch.follow(_deaf_at_four_kilohertz, "notched", method, 6, 1)
    first = notch.follow(_deaf_at_four_kilohertz, "notched", "BAMS", 5, 1)
    assert rows[:1] == first
    assert rows[1]["octave"] != rows[0]["octave"]


def test_tones_ranked_by_few_parts_of_each_model_hold_the_best():
    rng = np.random.default_rng(0)
    X = tones(400)[rng.integers(400, size=12)]
    data = gf.Data().add(TONE, X, (rng.random(12) < _deaf_at_four_kilohertz(X)).astype(float))
    belief = gf.Models([healthy(), notched()]).condition(data)
    goal, pool = gf.Learn("model"), tones(2000)
    exact = goal.score(belief, TONE, pool)
    near = np.argsort(-goal.rank(belief, TONE, pool))[:60]
    assert exact[near].max() >= 0.99 * exact.max()
    few = belief.few_of_each(4)
    assert len(few.weights) == 8
    np.testing.assert_allclose(few.model_weights, belief.model_weights)


def _rows_of_a_notch(person, kind, method, probability):
    level = {"BAMS": 30.0, "deep": 40.0}.get(method, 10.0)
    return [
        {"kind": kind, "truth": "posterior", "tones": 30, "person": person, "repetition": 0, "method": method,
         "after": n, "probability": probability(n), "octave": 12.0, "level": level}
        for n in range(5, 31)
    ]  # fmt: skip


def test_what_is_claimed_of_notches_is_counted_from_the_rows(tmp_path):
    rows = []
    for person in range(4):
        for kind in ("healthy", "notched"):
            for method in ("BAMS", "BALD", "uncertainty", "committee", "random"):
                sure = 12 if method == "BAMS" and (person or kind == "healthy") else 40
                rows += _rows_of_a_notch(person, kind, method, lambda n, sure=sure: 0.995 if n >= sure else 0.6)
        rows += _rows_of_a_notch(person, "notched", "deep", lambda n: 0.9)
    for kind in ("healthy", "notched"):  # somebody whom only one method has tested
        rows += _rows_of_a_notch(50, kind, "BAMS", lambda n: 0.995 if n >= 12 else 0.6)
    claims = {claim.statement: claim for claim in notch.EXPERIMENT.claims(rows)}
    assert claims["healthy: the right model has more than 0.99 within 30 tones"].measured == 1.0
    found = claims["notched: the right model has more than 0.99 within 30 tones"]
    assert found.measured == 0.8
    assert not found.holds
    assert claims["notched: tones until then, the median"].measured == 12.0
    assert claims["the first 10 chosen tones are louder by BAMS than by BALD (dB)"].measured == 20.0
    assert claims["and louder where deeper notches are expected, 45 dB (dB)"].measured == 10.0
    (figure,) = notch.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def test_healthy_listeners_have_no_notch_and_notched_ones_have_theirs(data_folder):
    X = np.array([[f, level] for f in (9.0, 11.0, 12.07) for level in (25.0,)])
    for person in range(3):
        heard, less = (notch._curve(kind, person)(X) for kind in ("healthy", "notched"))
        assert np.all(heard > 0.8)
        assert less[2] < heard[2] - 0.1
        assert less[0] == pytest.approx(heard[0], abs=1e-6)


def test_pairs_find_the_threshold_curve_and_the_grid_does(data_folder, tmp_path):
    setting = {"queries": 10, "repetition": 0}
    rows = [{**setting, **row} for row in agreement.EXPERIMENT.run(setting, 0)]
    found = {row["queries"]: row for row in rows if row["method"] == "paired"}
    assert sorted(found) == [1, 5, 10]
    assert found[10]["to truth"] < found[1]["to truth"]
    assert 10 <= found[10]["tones"] <= 20
    (grid,) = [row for row in rows if row["method"] == "grid"]
    assert grid["queries"] == 114
    assert grid["to truth"] < 6.0
    claims = agreement.EXPERIMENT.claims(rows)
    assert len(claims) >= 3
    (figure,) = agreement.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def test_the_threshold_curve_is_where_the_mean_is_zero():
    gp = pairs_of_tones.listener_model()
    X = np.array([[9.0, 30.0], [9.0, 10.0], [12.0, 50.0], [12.0, 40.0]])
    posterior = gp.posterior(gf.Data().add(TONE, X, [1.0, 0.0, 1.0, 0.0]))
    at = np.array([9.0, 10.5, 12.0])
    curve = pairs_of_tones.threshold_curve(posterior, at)
    assert posterior.mean(np.column_stack([at, curve])) == pytest.approx(np.zeros(3), abs=1e-9)
    assert 10.0 < curve[0] < 30.0 < 40.0 < curve[2] < 50.0


def test_curves_of_three_methods_are_measured_and_compared(data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "_STAGE", 8)
    curves._truth.cache_clear()
    settings = [{"method": m, "queries": 3, "repetition": r} for m in ("single", "paired", "random") for r in range(2)]
    rows = [{**s, **row} for s in settings for row in curves.EXPERIMENT.run(s, s["repetition"])]
    curves._truth.cache_clear()
    best = next(row for row in rows if row["query"] is None)
    assert all(row["likelihood"] <= best["best"] + 1e-12 for row in rows if row["query"] is not None)
    assert all(row["density"] <= best["best density"] for row in rows if row["query"] is not None)
    claims = curves.EXPERIMENT.claims(rows)
    assert [claim.published for claim in claims[:2]] == [0.5, 0.15]
    (figure,) = curves.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def _twenty_tones():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(8.0, 13.0, 20), rng.uniform(-10.0, 50.0, 20)])
    return gf.Data().add(TONE, X, (rng.random(20) < _deaf_at_four_kilohertz(X)).astype(float))


@pytest.mark.parametrize("model", [healthy, notched])
def test_evidences_of_rival_models_are_those_of_nested_sampling(model):
    """dynesty over four and seven hyperparameters; wanted within 0.3 nats."""
    gp, data = model(), _twenty_tones()
    priors = [gp.priors[name] for name in gp.names]

    def log_likelihood(values):
        one = gp.with_parameters(values)
        return float(log_evidences([(one.mean, one.kernel, data)], EP())[0])

    def prior(shares):
        return np.array([each.quantile(float(share)) for each, share in zip(priors, shares, strict=True)])

    sampler = dynesty.NestedSampler(
        log_likelihood,
        prior,
        len(priors),
        nlive=30,
        sample="rwalk",
        walks=8,
        bootstrap=0,
        rstate=np.random.default_rng(0),
    )
    sampler.run_nested(dlogz=0.1, print_progress=False)
    exact, error = float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1])
    assert error < 0.25
    assert gf.Models([gp]).condition(data).log_evidence == pytest.approx(exact, abs=0.3 + 2 * error)


@pytest.mark.parametrize("model", [healthy, notched])
def test_evidences_of_rival_models_are_those_of_draws_from_the_prior(model):
    """Four and seven hyperparameters integrated by brute force; the importance-corrected evidence is within 0.1 nats of
    it, plain Laplace within 0.3."""
    gp, data, rng = model(), _twenty_tones(), np.random.default_rng(4)
    shares = rng.random((4000, len(gp.names)))
    values = np.column_stack([gp.priors[name].quantiles(shares[:, i]) for i, name in enumerate(gp.names)])
    drawn = [gp.with_parameters(value) for value in values]
    logs = np.concatenate(
        [
            log_evidences([(each.mean, each.kernel, data) for each in drawn[k : k + 500]], EP())
            for k in range(0, 4000, 500)
        ]
    )
    weight = np.exp(logs - logs.max())
    exact, error = logs.max() + np.log(weight.mean()), weight.std() / np.sqrt(len(weight)) / weight.mean()
    assert error < 0.04
    assert gf.Models([gp]).condition(data).log_evidence == pytest.approx(exact, abs=0.1 + 3 * error)
    assert hyperposterior(gf.fit(gp, data)).log_evidence == pytest.approx(exact, abs=0.3 + 3 * error)

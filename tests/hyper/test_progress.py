"""A search over many answers says how far it is, in a log that is silent until it is asked for."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import gainful as gf
from gainful.hyper import progress
from gainful.hyper.progress import Stage, Stages


def test_what_is_left_counts_later_stages_by_their_cost(monkeypatch):
    now = iter([0.0, 30.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    stages = Stages([Stage(100, 10, 1.0), Stage(200, 5, 8.0)])
    assert stages.begin() == Stage(100, 10, 1.0)
    stages._steps = 3
    assert stages.left == pytest.approx(10.0 * (7 + 5 * 8.0))


def test_a_stage_is_made_once_more_before_the_next():
    stages = Stages([Stage(100, 10, 1.0), Stage(200, 5, 8.0)])
    stages.begin()
    stages.again()
    assert [stage.answers for stage in stages.stages] == [100, 100, 200]
    assert stages.begin() == Stage(200, 5, 8.0)


def test_a_search_in_stages_says_where_it_is(monkeypatch, caplog):
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    rng = np.random.default_rng(0)
    X = rng.random((4300, 1))
    data = gf.Data().add(gf.Point(noise=0.1), X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=4300))
    with caplog.at_level(logging.INFO, logger="gainful.fit"):
        gf.fit(gf.GP(gf.SE(0.3)), data, starts=1, inference=gf.Inducing(20))
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("1500 of 4300 answers, step 1, log density") for line in said)
    assert any(line.startswith("4300 of 4300 answers") for line in said)
    assert all("left" in line for line in said)


def test_few_answers_say_nothing(caplog):
    data = gf.Data().add(gf.Point(noise=0.1), [[0.0], [0.5], [1.0]], [0.0, 1.0, 0.0])
    with caplog.at_level(logging.INFO, logger="gainful.fit"):
        gf.fit(gf.GP(gf.SE(0.3)), data, starts=1)
    assert not caplog.records

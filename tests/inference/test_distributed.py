"""Tiles on workers against one array here: the same numbers, nothing left behind, and words where it cannot be."""

import os
import signal
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines import tiled, workers
from gainful.inference.engines.base import read
from gainful.inference.engines.dense import Dense
from gainful.inference.evidence import evidence_and_gradient
from gainful.testing import check_engine

LAB = gf.Point(0.1, name="lab")


def problem(N=330, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N, 2))
    y = np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=N)
    return gf.Data().add(LAB, X, y), rng.uniform(size=(12, 2))


def model(kernel=None):
    return gf.GP(kernel or gf.Matern((0.4, 0.8), 1.3, nu=2.5), gf.ConstantMean(0.2))


def close(ours, exact):
    """Evidence and gradient to rounding."""
    assert ours.value == pytest.approx(exact.value, rel=1e-12)
    for a, b in ((ours.kernel, exact.kernel), (ours.mean, exact.mean), (ours.instruments[0], exact.instruments[0])):
        assert a == pytest.approx(b, rel=1e-8, abs=1e-8)


class AtOnce:
    """Tasks that are done when they are sent: futures are their results."""

    workers = ("here",)

    def submit(self, function, *given, row, order=0.0):
        return function(*given)

    def wait(self, futures):
        pass

    def gather(self, futures):
        return list(futures)

    def unless_interrupted(self, keep):
        return nullcontext()


@pytest.mark.parametrize(("N", "tile"), [(1, 1), (1, 8), (7, 1), (40, 8), (41, 8), (47, 8), (40, 100)])
def test_tiles_of_any_size_meet_at_their_edges(N, tile):
    data, Z = problem(N)
    gp = model(gf.SE((0.3, 0.6)) + gf.Linear(0.2))
    exact = Dense().believe(gp.mean, gp.kernel, data.layout)
    readings = read(Dense(), gp.mean, data.layout)
    found = tiled.factored(AtOnce(), gp.kernel, readings, tile, 0.0)
    assert np.tril(np.vstack([np.pad(np.hstack(row), ((0, 0), (0, N)))[:, :N] for row in found.rows])) == pytest.approx(
        exact.factor.lower, rel=1e-10, abs=1e-12
    )
    assert found.solve(readings.residual) == pytest.approx(exact.alpha, rel=1e-9)
    assert found.log_det() == pytest.approx(exact.factor.log_det, rel=1e-12)
    assert gp.kernel.diag(Z) - found.squares(Z) == pytest.approx(exact.variance(Z), rel=1e-9)
    assert gp.kernel(Z[:3], Z) - found.products(Z[:3], Z) == pytest.approx(exact.covariance(Z[:3], Z), abs=1e-12)
    theta, diagonal = found.pulled(exact.alpha, keep=True)
    assert theta == pytest.approx(exact.gradient().kernel, rel=1e-9, abs=1e-9)
    assert diagonal == pytest.approx(np.diagonal(exact.factor.inverse()), rel=1e-9)
    assert all(len(row) == i + 1 for i, row in enumerate(found.rows))
    assert found.pulled(exact.alpha, keep=False)[0].tolist() == theta.tolist()
    assert not any(found.rows)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers, each a process of its own."""
    dask = pytest.importorskip("distributed")
    folder = str(tmp_path_factory.mktemp("dask"))
    given = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "local_directory": folder}
    with dask.LocalCluster(**given) as cluster, dask.Client(cluster, set_as_default=False) as connected:
        yield connected


def known(client):
    """What the scheduler knows of."""
    return client.run_on_scheduler(lambda dask_scheduler: {key for key in dask_scheduler.tasks if "gainful" in key})


def wait_until(true, seconds=60.0):
    """Whether it comes true: a scheduler takes a moment to forget."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def test_two_workers_give_the_numbers_of_one_array_to_rounding(client):
    data, Z = problem()
    gp = model()
    engine = gf.Distributed(client, tile=64)
    ours, exact = gp.condition(data, engine), gp.condition(data, Dense())
    assert ours.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-10)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-10)
    assert ours.covariance(Z) == pytest.approx(exact.covariance(Z), abs=1e-12)
    assert "on 2 workers" in ours.convergence.message
    places = client.run_on_scheduler(
        lambda dask_scheduler: [
            sorted(ws.address for ws in ts.who_has or ()) for key, ts in dask_scheduler.tasks.items() if "below" in key
        ]
    )
    shares = [sum(worker in where for where in places) for worker in client.nthreads()]
    assert min(shares) >= 4, shares  # of the 15 tiles below the diagonal: each worker has its rows
    close(*(evidence_and_gradient(gp.mean, gp.kernel, data, each) for each in (engine, Dense())))
    del ours
    assert wait_until(lambda: not known(client))


def test_it_keeps_the_laws_of_engines(client):
    check_engine(gf.Distributed(client, tile=32), tolerance=1e-7, slopes=1e-6)


def test_a_fit_on_workers_ends_where_the_other_does(client):
    data, _ = problem(80)
    gp = gf.GP(gf.SE(0.5))
    a, b = (gf.fit(gp, data, starts=1, inference=each) for each in (gf.Distributed(client, tile=40), Dense()))
    assert a.theta == pytest.approx(b.theta, abs=1e-4)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-7)


def test_an_enlarged_diagonal_is_the_same_and_said_or_an_error(client):
    X = np.repeat(np.linspace(0.0, 1.0, 5), 8)[:, None]
    data = gf.Data().add(gf.Point(1e-9), X, np.zeros(40))
    gp = gf.GP(gf.SE(0.5, 1.0))
    with pytest.warns(gf.JitterWarning):
        ours = gp.condition(data, gf.Distributed(client, tile=16))
    with pytest.warns(gf.JitterWarning):
        exact = gp.condition(data, Dense())
    assert 0.0 < ours.jitter <= 100.0 * exact.jitter
    del ours
    assert wait_until(lambda: not known(client))  # of what failed for smaller ones, too


def test_ctrl_c_leaves_nothing_behind(client, monkeypatch):
    data, _ = problem()
    waited = []

    def interrupted(self, futures):
        waited.append(len(futures))
        if len(waited) == 2:
            raise KeyboardInterrupt
        honest(self, futures)

    honest = workers.Tasks.wait
    monkeypatch.setattr(workers.Tasks, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:  # the traceback is held, as an interactive session holds it
        model().condition(data, gf.Distributed(client, tile=64))
    assert wait_until(lambda: not known(client))
    assert kept.value.__traceback__ is not None


def test_ctrl_c_in_a_prediction_leaves_the_belief_and_nothing_else(client, monkeypatch):
    data, Z = problem(100)
    belief = gf.Distributed(client, tile=32).believe(model().mean, model().kernel, data.layout)
    variance, before = belief.variance(Z), known(client)

    def interrupted(self, futures):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(workers.Tasks, "gather", interrupted)
        with pytest.raises(KeyboardInterrupt) as kept:
            belief.variance(Z)
    assert wait_until(lambda: known(client) <= before), sorted(known(client) - before)
    assert belief.variance(Z).tolist() == variance.tolist()
    assert kept.value.__traceback__ is not None


def test_a_worker_that_dies_is_made_up_for_by_the_other(client, monkeypatch):
    data, Z = problem()
    gp, exact = model(), model().condition(data, Dense())
    victims, waited = client.run(os.getpid), []

    def killing(self, futures):
        waited.append(len(futures))
        if len(waited) == 3:
            os.kill(next(iter(victims.values())), signal.SIGKILL)
        honest(self, futures)

    honest = workers.Tasks.wait
    monkeypatch.setattr(workers.Tasks, "wait", killing)
    ours = gp.condition(data, gf.Distributed(client, tile=64))
    assert len(waited) >= 3
    assert ours.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-10)


def test_what_dask_gives_up_is_said_in_words():
    dask = pytest.importorskip("distributed")
    with pytest.raises(gf.GainfulError, match="is it still there"), workers._in_words():
        raise dask.CancelledError("gone")
    with pytest.raises(gf.GainfulError, match="more memory"), workers._in_words():
        raise dask.KilledWorker("rest-1", SimpleNamespace(address="tcp://10.0.0.5:1234"), 3)


def test_it_is_a_value_and_refuses_what_is_none():
    one = gf.Distributed("tcp://10.0.0.5:8786", tile=512)
    assert one == gf.Distributed("tcp://10.0.0.5:8786", 512)
    assert hash(one) == hash(gf.Distributed("tcp://10.0.0.5:8786", 512))
    assert one != gf.Distributed("tcp://10.0.0.5:8786")
    for tile in (0, -1, 2.5, True, "64"):
        with pytest.raises(gf.InvalidInput, match="tile"):
            gf.Distributed("tcp://10.0.0.5:8786", tile=tile)
    for scheduler in ("", "here", 8786, None, object()):
        with pytest.raises(gf.InvalidInput, match="address of a Dask scheduler"):
            gf.Distributed(scheduler)


def test_a_wrong_address_no_dask_and_other_answers_are_refused(monkeypatch):
    data, _ = problem(10)
    yes = gf.Data().add(gf.Binary(name="yes"), [[0.1, 0.2]], [1])
    with pytest.raises(gf.InvalidInput, match="Inducing"):
        model().condition(yes, gf.Distributed("tcp://127.0.0.1:1"))
    monkeypatch.setattr(workers, "_PATIENCE", 0.3)
    for address in ("tcp://127.0.0.1:1", "not an address:x"):
        with pytest.raises(gf.InvalidInput, match="the address of a running Dask scheduler"):
            model().condition(data, gf.Distributed(address))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[dask\]"):
        model().condition(data, gf.Distributed("tcp://127.0.0.1:1"))

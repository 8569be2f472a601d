"""Sequential Monte Carlo over programs: against exact posteriors, where these can be had by quadrature.

A grammar without + and × has few structures, each with one or two numbers: sums over fine grids of them are exact.
`benchmarks/programs_exactness.py` has the same with more particles and seeds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import logsumexp

import gainful as gf
from gainful.beliefs.programs import evidence, smc
from gainful.beliefs.programs.evidence import Numbers
from gainful.beliefs.programs.population import CODES, Population

LEAVES = gf.Grammar({"C": 0.25, "LIN": 0.25, "SE": 0.25, "PER": 0.25})
SOME = gf.Moves(sweeps=3, repeats=2, leaps=2)
X = np.array([-0.95, -0.6, -0.42, -0.1, 0.05, 0.33, 0.7, 0.9])
Y = np.array([-0.9, -0.6, -0.9, 0.2, 0.1, 0.3, 0.9, 0.6])
NOISE = 0.5
SPACE = gf.Space(gf.Real("x", -1.0, 1.0))


def readings(count: int = 8) -> Numbers:
    return Numbers(X[:count, None], Y[:count], np.full(count, NOISE**2), np.full(count, -1, dtype=np.int64))


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def enumerated(symbol: str) -> Population:
    """A grid of the numbers of a leaf; periods have by far the finest, as likelihoods are rough in them."""
    one = midpoints(1000)
    a, b = np.meshgrid(midpoints(40), midpoints(4000)) if symbol == "PER" else (one, np.full(1000, 0.5))
    shares = np.stack([a.ravel(), b.ravel()], axis=1)[:, None, :]
    codes = np.full((len(shares), 1), CODES[symbol])
    return Population(codes, shares, np.zeros_like(codes), np.zeros((len(shares), 0)))


def exact(grammar: gf.Grammar, answers: Numbers) -> tuple[dict[str, float], float]:
    """The probabilities of the structures of a grammar without + and ×, and the log evidence."""
    logs = {}
    for symbol, share in grammar.productions.items():
        found = answers.log_evidence(grammar, enumerated(symbol), (len(answers),), (1.0,))
        logs[symbol] = float(np.log(share) + logsumexp(found) - np.log(len(found)))
    total = float(logsumexp(list(logs.values())))
    return {symbol: float(np.exp(each - total)) for symbol, each in logs.items()}, total


def follow(
    grammar: gf.Grammar, answers: Numbers, particles: int, seed: int, moves: gf.Moves = SOME,
    stages: Sequence[int] | None = None, noises: int = 0,
) -> smc.State:  # fmt: skip
    rng = np.random.default_rng(seed)
    state = smc.init(grammar, noises, particles, rng)
    for upto in smc.portions(0, len(answers)) if stages is None else stages:
        state, _ = smc.step(state, answers, upto, rng, moves, 0.5)
        while state.share < 1.0:
            state, _ = smc.step(state, answers, upto, rng, moves, 0.5)
    return state


def roots(state: smc.State) -> np.ndarray:
    """The probabilities of the symbols at the root."""
    codes = [CODES[symbol] for symbol in state.grammar.productions]
    return np.array([state.weights[state.population.symbols[:, 0] == code].sum() for code in codes])


# Resampling


def test_copies_are_on_average_as_many_as_weights_say() -> None:
    rng = np.random.default_rng(0)
    for weights in ([0.6, 0.4], [0.5, 0.25, 0.25], [0.05, 0.85, 0.1, 0.0], rng.dirichlet(np.full(9, 0.3))):
        w = np.asarray(weights)
        counts = np.array([smc.residual_counts(w, rng) for _ in range(8_000)])
        assert (counts.sum(axis=1) == len(w)).all()
        assert (counts >= np.floor(len(w) * w + 1e-12)).all()
        error = np.maximum(counts.std(axis=0), 1e-9) / np.sqrt(len(counts))
        assert np.all(np.abs(counts.mean(axis=0) - len(w) * w) <= 4.5 * error + 1e-12)


def test_the_form_that_was_printed_is_biased() -> None:
    """The rest drawn by the weights and not by the residuals: 1.6 copies where it should be 1.2."""
    rng, w = np.random.default_rng(0), np.array([0.6, 0.4])
    whole = np.floor(2 * w).astype(int)
    counts = np.array([whole + rng.multinomial(2 - whole.sum(), w) for _ in range(20_000)])
    assert counts[:, 0].mean() == pytest.approx(1.6, abs=0.02)
    assert np.mean([smc.residual_counts(w, rng)[0] for _ in range(20_000)]) == pytest.approx(1.2, abs=0.02)


def test_weights_that_are_whole_leave_nothing_to_chance() -> None:
    w = np.array([0.5, 0.25, 0.25, 0.0])
    assert {tuple(smc.residual_counts(w, np.random.default_rng(s))) for s in range(20)} == {(2, 1, 1, 0)}


# Against exact posteriors

SEEDS = 16


def off(found: Sequence[np.ndarray], right: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """By how many standard errors the mean over seeds is off, and the root mean square error of one seed.

    Of a few seeds the spread may come out too small, so errors are at least those of a hundred independent draws.
    """
    each, p = np.array(found), np.asarray(right)
    error = np.maximum(each.std(axis=0, ddof=1), 0.1 * np.sqrt(np.abs(p * (1.0 - p)))) / np.sqrt(len(each))
    return np.abs(each.mean(axis=0) - p) / error, np.sqrt(np.mean((each - p) ** 2, axis=0))


@pytest.fixture(scope="module")
def seen() -> tuple[list[smc.State], dict[str, float], float]:
    states = [follow(LEAVES, readings(), 400, seed) for seed in range(SEEDS)]
    return states, *exact(LEAVES, readings())


def test_structures_have_the_probabilities_of_quadrature(seen) -> None:  # type: ignore[no-untyped-def]
    states, right, _ = seen
    away, rms = off([roots(state) for state in states], list(right.values()))
    assert (away < 3.5).all()
    assert (rms < 0.06).all()  # 0.03 with four times the particles


def test_numbers_have_the_moments_of_quadrature(seen) -> None:  # type: ignore[no-untyped-def]
    states, _, _ = seen
    grid = enumerated("LIN")
    found = readings().log_evidence(LEAVES, grid, (8,), (1.0,))
    w, u = np.exp(found - logsumexp(found)), grid.shares[:, 0, 0]
    right = [float(w @ u), float(w @ u**2)]
    moments = []
    for state in states:
        mine = state.population.symbols[:, 0] == CODES["LIN"]
        zero, own = state.population.shares[mine, 0, 0], state.weights[mine] / state.weights[mine].sum()
        moments.append(np.array([own @ zero, own @ zero**2]))
    away, rms = off(moments, right)
    assert (away < 3.5).all()
    assert (rms < 0.04).all()


def test_the_evidence_is_that_of_quadrature_on_average(seen) -> None:  # type: ignore[no-untyped-def]
    states, _, log_evidence = seen
    ratio = np.exp([state.log_evidence - log_evidence for state in states])
    assert abs(ratio.mean() - 1.0) < 3.5 * ratio.std(ddof=1) / np.sqrt(SEEDS)
    assert ratio.std() < 0.3


def test_values_that_are_carried_along_are_those_of_the_programs(seen) -> None:  # type: ignore[no-untyped-def]
    state = seen[0][0]
    np.testing.assert_allclose(state.value, readings().log_evidence(LEAVES, state.population, (8,), (1.0,)), rtol=1e-9)


@pytest.mark.parametrize("stages", [tuple(range(1, 9)), (8,), (3, 8)], ids=["one by one", "at once", "in two"])
def test_portions_do_not_matter(stages: tuple[int, ...]) -> None:
    right, log_evidence = exact(LEAVES, readings())
    states = [follow(LEAVES, readings(), 200, 50 + seed, stages=stages) for seed in range(8)]
    away, rms = off([roots(state) for state in states], list(right.values()))
    assert (away < 3.5).all()
    assert (rms < 0.09).all()
    ratio = np.exp([state.log_evidence - log_evidence for state in states])
    assert abs(ratio.mean() - 1.0) < 3.5 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_portions_of_readings_that_leave_few_particles_go_step_by_step() -> None:
    """A noise of a tenth of what the prior expects: weights fall on a few particles, unless exponents grow slowly."""
    sharp = Numbers(X[:, None], Y, np.full(8, 0.01), np.full(8, -1, dtype=np.int64))
    rng = np.random.default_rng(0)
    state, shares = smc.init(LEAVES, 0, 200, rng), []
    while not shares or shares[-1] < 1.0:
        state, info = smc.step(state, sharp, 8, rng, SOME, 0.5)
        shares.append(info.share)
        assert info.effective > 0.44 * 200
    assert len(shares) > 2
    assert sorted(shares) == shares
    right, log_evidence = exact(LEAVES, sharp)
    states = [follow(LEAVES, sharp, 300, seed, stages=(8,)) for seed in range(10)]
    away, _ = off([roots(each) for each in states], list(right.values()))
    assert (away < 3.5).all()
    assert np.mean([each.log_evidence for each in states]) == pytest.approx(log_evidence, abs=0.25)


def test_sums_and_noise_have_the_posterior_of_weighted_draws_from_the_prior() -> None:
    grammar = gf.Grammar({"SE": 0.35, "LIN": 0.35, "+": 0.15, "×": 0.15}, noise=gf.Gamma(1.0, 2.0))
    answers = Numbers(X[::2, None], Y[::2], np.full(4, 0.05), np.zeros(4, dtype=np.int64))

    def seen_in(population: Population) -> np.ndarray:
        symbols = population.symbols[:, 0]
        kinds = [symbols == CODES[name] for name in grammar.productions]
        return np.array(
            [*kinds, population.sizes == 3, population.sizes > 5, population.noise[:, 0] < 0.3], dtype=float
        )

    rng, total, weight = np.random.default_rng(9), np.zeros(7), 0.0
    for _ in range(8):
        drawn = grammar.population(20_000, 1, rng)
        w = np.exp(answers.log_evidence(grammar, drawn, (4,), (1.0,)))
        total, weight = total + seen_in(drawn) @ w, weight + w.sum()
    states = [follow(grammar, answers, 300, seed, noises=1) for seed in range(8)]
    away, rms = off([seen_in(state.population) @ state.weights for state in states], total / weight)
    assert (away < 3.5).all()
    assert (rms < 0.08).all()
    log_evidence = np.log(weight / 160_000)
    assert np.mean([state.log_evidence for state in states]) == pytest.approx(log_evidence, abs=0.05)


# The same on every run


def as_bytes(state: smc.State) -> bytes:
    p = state.population
    return b"".join(np.ascontiguousarray(each).tobytes() for each in (p.symbols, p.shares, p.noise, state.log_weights))


def test_a_seed_gives_the_same_particles_on_one_thread_and_on_two(monkeypatch: pytest.MonkeyPatch) -> None:
    def particles() -> bytes:
        return as_bytes(follow(gf.Grammar(), readings(), 60, 3, noises=1))

    usual = particles()
    assert particles() == usual
    monkeypatch.setattr(evidence, "_WORTH", 0)
    monkeypatch.setattr(evidence, "_threads", lambda: None)
    assert particles() == usual
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(evidence, "_threads", lambda: pool)
        assert particles() == usual


FORKED = """
import multiprocessing, sys, warnings
import numpy as np
import gainful as gf
from gainful.beliefs.programs import evidence
evidence._WORTH = 0
x = np.linspace(-1.0, 1.0, 5)
answers = evidence.Numbers(x[:, None], x, np.full(5, 0.1), np.full(5, -1, dtype=np.int64))
grammar = gf.Grammar()
population = grammar.population(4, 0, np.random.default_rng(0))
def work():
    answers.log_evidence(grammar, population, (5,), (1.0,))
work()
warnings.simplefilter("ignore")  # of threads and forks
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join(20.0)
sys.exit(0 if child.exitcode == 0 else (child.kill(), 1)[1])
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there are no forks here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert subprocess.run([sys.executable, "-c", FORKED], timeout=60, check=False).returncode == 0


# In the units of users

LAB = gf.Point(noise=NOISE, name="lab")


def model(particles: int = 100, grammar: gf.Grammar = LEAVES) -> gf.KernelPrograms:
    return gf.KernelPrograms(grammar, particles=particles, space=SPACE, answers=(0.0, 1.0), moves=SOME)


def probabilities(belief: gf.ProgramBelief, grammar: gf.Grammar = LEAVES) -> np.ndarray:
    return np.array([belief.structures.get(name, 0.0) for name in grammar.productions])


def test_a_belief_goes_on_from_an_earlier_one_to_the_same_posterior() -> None:
    right, log_evidence = exact(LEAVES, readings())
    some, everything = (gf.Data().add(LAB, X[:n, None], Y[:n]) for n in (4, 8))
    found, evidences = [], []
    for seed in range(10):
        start = model().condition(some, rng=seed)
        belief = model().condition(everything, start=start, rng=100 + seed)
        assert belief.units == start.units
        found.append(probabilities(belief))
        evidences.append(belief.log_evidence)
    away, rms = off(found, list(right.values()))
    assert (away < 3.5).all()
    assert (rms < 0.12).all()
    ratio = np.exp(np.array(evidences) - log_evidence)
    assert abs(ratio.mean() - 1.0) < 3.5 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_a_belief_whose_places_have_become_others_begins_anew() -> None:
    near, far = np.array([[0.0], [0.05], [0.1]]), np.linspace(1.0, 100.0, 9)[:, None]
    data = gf.Data().add(LAB, near, [0.1, 0.5, -0.2])
    more = data.add(LAB, far, np.sin(np.arange(9.0)))
    programs = gf.KernelPrograms(particles=10, moves=SOME)
    start = programs.condition(data, rng=0)
    assert start.units.half == (0.05,)
    assert programs.condition(more, start=start, rng=0).units == programs.condition(more, rng=0).units


def test_answers_by_ep_have_the_posterior_of_a_grid() -> None:
    grammar = gf.Grammar({"LIN": 0.5, "SE": 0.5})
    data = gf.Data().add(gf.Binary(), X[:, None], Y > 0.0)
    grid = [f"({name} {u!r})" for name in grammar.productions for u in midpoints(40).tolist()]
    exactly = gf.ProgramGrid(grid, space=SPACE).condition(data)
    right = probabilities(exactly, grammar)
    assert 0.2 < right[0] < 0.8
    beliefs = [model(60, grammar).condition(data, rng=seed) for seed in range(6)]
    away, rms = off([probabilities(belief, grammar) for belief in beliefs], right)
    assert (away < 3.5).all()
    assert (rms < 0.2).all()
    evidences = [belief.log_evidence for belief in beliefs]
    assert np.mean(evidences) == pytest.approx(exactly.log_evidence, abs=0.1)


@pytest.mark.parametrize(("years", "kelvins"), [(True, False), (False, True), (True, True)])
def test_other_units_give_the_same_programs(years: bool, kelvins: bool) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 12))
    y = 5.0 + np.sin(2 * np.pi * x / 3.0) + 0.1 * rng.standard_normal(12)
    programs = gf.KernelPrograms(particles=20, moves=SOME)

    def believed(x: np.ndarray, y: np.ndarray) -> gf.ProgramBelief:
        return programs.condition(gf.Data().add(gf.Point(name="lab"), x[:, None], y), rng=1)

    usual = believed(x, y)
    other = believed(365.25 * x + 40_000.0 if years else x, 1000.0 * y + 273.0 if kelvins else y)
    assert other.programs == usual.programs
    np.testing.assert_allclose(other.weights, usual.weights, atol=1e-9)
    places = np.linspace(0.0, 12.0, 5)
    mean = other.mean((365.25 * places + 40_000.0 if years else places)[:, None])
    np.testing.assert_allclose((mean - 273.0) / 1000.0 if kelvins else mean, usual.mean(places[:, None]), rtol=1e-5)


# What cannot be


@pytest.mark.parametrize(
    "places", [[0.1, 0.1, 0.5, 0.7, 0.9], np.linspace(-1.0, 1.0, 60).tolist()], ids=["twice", "near"]
)
def test_exact_answers_that_no_program_has_are_told_in_words(places: list[float]) -> None:
    """Twice the same place with other answers; or places so near that no covariance of them is one in doubles."""
    y = np.random.default_rng(0).standard_normal(len(places))
    grammar = gf.Grammar({"SE": 0.7, "×": 0.3}, {"SE.lengthscale": gf.Uniform(0.8, 1.0)})
    model = gf.KernelPrograms(grammar, particles=20, space=SPACE, moves=gf.Moves(sweeps=1))
    with pytest.raises(gf.NumericalError, match="noise"):
        model.condition(gf.Data().add(gf.Point(0.0), np.array(places)[:, None], y))


def test_a_matrix_that_has_a_factor_and_no_inverse_ends_no_search() -> None:
    """Two exact answers at one place: some programs have a pivot of a few 1e-17 there, and slopes by an inverse."""
    data = gf.Data().add(gf.Point(0.0), [[0.1], [0.1], [0.5]], [0.0, 1.0, 2.0])
    with pytest.raises(gf.NumericalError, match="noise"):
        gf.KernelPrograms(particles=30, space=SPACE, moves=gf.Moves(sweeps=3)).condition(data)


@pytest.mark.parametrize(
    "wrong",
    [{"sweeps": -1}, {"repeats": 1.5}, {"leaps": -2}, {"step": 0.0}, {"step": -1.0}, {"step": np.nan}, {"growing": 2}],
    ids=str,
)
def test_moves_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(gf.InvalidInput, match=next(iter(wrong))):
        gf.Moves(**wrong)


def test_a_search_that_was_stuck_is_overtaken_by_another_from_the_prior():
    """All particles of an earlier belief are smooth; at sixteen answers a new search finds the cycle."""
    x = np.linspace(0.0, 30.0, 16)
    y = 5.0 + np.sin(2 * np.pi * x / 7.0)
    lab, space = gf.Point(name="lab"), gf.Space(gf.Real("x", 0.0, 30.0))
    smooth = gf.KernelPrograms(gf.Grammar({"SE": 0.8, "×": 0.2}), particles=30, space=space)
    few, all_ = (gf.Data().add(lab, x[:n, None], y[:n]) for n in (15, 16))
    stuck = smooth.condition(few, rng=0)
    still = gf.Moves(sweeps=1, repeats=0, leaps=0, growing=False)
    model = gf.KernelPrograms(gf.Grammar.for_data(), particles=30, space=space, moves=gf.Moves(sweeps=10))
    assert model.condition(all_, start=stuck, rng=1).probability("PER") > 0.9
    frozen = gf.KernelPrograms(gf.Grammar({"SE": 0.8, "×": 0.2}), particles=30, space=space, moves=still)
    assert frozen.condition(all_, start=stuck, rng=1).probability("PER") == 0.0


def test_answers_that_particles_did_not_expect_begin_another_search():
    """Nine answers on a straight line, then two that leave it: the next check by number would be at twelve."""
    x = np.array([0.0, 7.0, 14.0, 21.0, 28.0, 7.0, 14.0, 21.0, 0.0, 2.0, 26.0])
    y = 5.0 + 0.1 * x + np.sin(2 * np.pi * x / 7.0)  # every seventh is on the line
    lab, space = gf.Point(name="lab"), gf.Space(gf.Real("x", 0.0, 30.0))
    model = gf.KernelPrograms(gf.Grammar.for_data(), 40, space, (6.5, 1.0), gf.Moves(sweeps=2))
    before, after = (gf.Data().add(lab, x[:n, None], y[:n]) for n in (9, 11))
    runs = []

    class Counted(type(model)):
        def _followed(self, *given):
            runs.append(given[3])
            return super()._followed(*given)

    counted = Counted(model.grammar, 40, space, (6.5, 1.0), gf.Moves(sweeps=2))
    start = counted.condition(before, rng=0)
    assert runs == [None]
    counted.condition(before.add(lab, [[28.0]], [7.8]), start=start, rng=0)
    assert runs[1:] == [start]  # as expected: it only goes on
    counted.condition(after, start=start, rng=0)
    assert runs[2:] == [start, None]


def test_rival_grammars_are_searched_as_often_and_count_by_their_evidence():
    x = np.linspace(0.0, 10.0, 12)
    data = gf.Data().add(gf.Point(name="lab"), x[:, None], np.sin(2.0 * x))
    options = {"particles": 12, "moves": gf.Moves(sweeps=2)}
    twice = gf.KernelPrograms(searches=2, **options).condition(data, rng=4)
    rival = gf.KernelPrograms(rivals=[gf.Grammar()], **options).condition(data, rng=4)
    assert rival.programs == twice.programs  # the rival is the same grammar
    np.testing.assert_array_equal(rival.weights, twice.weights)
    line = gf.Data().add(gf.Point(name="lab"), x[:, None], 3.0 * x + 0.01 * np.sin(9.0 * x))
    straight, wavy = gf.Grammar(productions={"LIN": 1.0}), gf.Grammar(productions={"PER": 1.0})
    model = gf.KernelPrograms(wavy, rivals=[straight], **options)
    belief = model.condition(line, rng=1)
    assert belief.probability("LIN") > 0.99
    again = model.condition(line, start=belief, rng=1)  # begins anew: the first grammar has no straight lines
    assert again.programs == belief.programs
    with pytest.raises(gf.InvalidInput, match="rivals"):
        gf.KernelPrograms(rivals="for_data")


def test_several_searches_count_by_their_evidence():
    """Evidences are averaged, and each search's programs weigh as much as its own."""
    x = np.linspace(0.0, 10.0, 12)
    data = gf.Data().add(gf.Point(name="lab"), x[:, None], np.sin(2.0 * x))
    model = gf.KernelPrograms(particles=12, moves=gf.Moves(sweeps=2))
    rng = np.random.default_rng(4)
    first, second = (model.condition(data, rng=rng) for _ in range(2))
    both = gf.KernelPrograms(particles=12, moves=gf.Moves(sweeps=2), searches=2).condition(data, rng=4)
    each = np.array([first.log_evidence, second.log_evidence])
    assert both.log_evidence == pytest.approx(np.logaddexp(*each) - np.log(2.0), abs=1e-9)
    share = np.exp(each[0] - np.logaddexp(*each))
    mixed = share * first.probability("PER") + (1.0 - share) * second.probability("PER")
    assert both.probability("PER") == pytest.approx(mixed, abs=1e-9)
    with pytest.raises(gf.InvalidInput, match="searches"):
        gf.KernelPrograms(searches=0)

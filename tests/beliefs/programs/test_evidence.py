"""The evidence of many programs together, in compiled code: against their kernels one by one."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import gainful as gf
from gainful.beliefs.programs.evidence import Numbers, covariances

SYMBOLS = {"C": 0.1, "LIN": 0.12, "SE": 0.12, "PER": 0.12, "RQ": 0.1, "MAT": 0.1, "+": 0.12, "×": 0.12, "CP": 0.1}
SMOOTH = {
    f"{name}.{number}": gf.Uniform(0.2, 1.0)
    for name, number in (("SE", "lengthscale"), ("PER", "lengthscale"), ("PER", "period"), ("RQ", "lengthscale"),
                         ("MAT", "lengthscale"), ("CP", "width"))
}  # fmt: skip
RICH = gf.Grammar(SYMBOLS, SMOOTH | {"RQ.shape": gf.LogNormal(0.0, 1.0)}, inputs=2)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(5)
    population = RICH.population(80, 1, rng)
    X = rng.uniform(-1, 1, (9, 2))
    X[5:, 0] = X[:4, 0]  # distances that occur more than once
    return population, X, rng.standard_normal(9)


def readings(X, y, noise=0.0):
    return Numbers(X, y, np.full(len(y), noise), np.zeros(len(y), dtype=np.int64))


def test_programs_as_rows_are_read_back(drawn):
    population, _, _ = drawn
    programs = [RICH.program(population, i) for i in range(len(population))]
    assert {node.symbol for program in programs for node in program.nodes()} == set(SYMBOLS)
    again = RICH.coded(programs, RICH.noises(population))
    np.testing.assert_array_equal(again.symbols, population.symbols)
    np.testing.assert_allclose(again.shares[again.has], population.shares[population.has], atol=1e-12)
    np.testing.assert_allclose(again.noise, population.noise, atol=1e-12)


def test_covariances_and_evidences_are_those_of_the_kernels(drawn):
    population, X, y = drawn
    programs, noise = [RICH.program(population, i) for i in range(len(population))], RICH.noises(population)[:, 0]
    K = covariances(RICH, population, X)
    exact = []
    for program, eta, mine in zip(programs, noise, K, strict=True):
        np.testing.assert_allclose(mine, program.kernel(X), rtol=1e-9, atol=1e-11)
        exact.append(multivariate_normal.logpdf(y, np.zeros(9), program.kernel(X) + eta * np.eye(9)))
    np.testing.assert_allclose(readings(X, y).log_evidence(RICH, population, (9,), (1.0,)), exact, rtol=1e-8)


def test_the_evidence_of_the_first_answers_comes_with_that_of_all(drawn):
    population, X, y = drawn
    some, all_ = readings(X[:4], y[:4]), readings(X, y)
    mixed = all_.log_evidence(RICH, population, (4, 9), (0.3, 0.7))
    parts = [each.log_evidence(RICH, population, (len(each),), (1.0,)) for each in (some, all_)]
    np.testing.assert_allclose(mixed, 0.3 * parts[0] + 0.7 * parts[1], rtol=1e-10)
    rows = np.array([3, 5])
    chosen = all_.log_evidence(RICH, population, (9,), (1.0,), rows)
    np.testing.assert_array_equal(chosen[rows], parts[1][rows])
    assert np.isneginf(np.delete(chosen, rows)).all()


def test_slopes_are_those_of_differences(drawn):
    population, X, y = drawn
    answers, target = readings(X, y, 0.01), ((4, 9), (0.3, 0.7))
    found = answers.slopes(RICH, population, *target)
    np.testing.assert_allclose(found.value, answers.log_evidence(RICH, population, *target), rtol=1e-12)
    h = 1e-6
    inside = (population.shares > 1e-3) & (population.shares < 1.0 - 1e-3) & population.has
    for j, q in zip(*np.nonzero(inside.any(axis=0)), strict=True):
        ends = []
        for sign in (1.0, -1.0):
            shares = population.shares.copy()
            shares[:, j, q] += sign * h
            ends.append(answers.log_evidence(RICH, population.at(shares, population.noise), *target))
        mine = inside[:, j, q]
        np.testing.assert_allclose(found.shares[mine, j, q], (ends[0] - ends[1])[mine] / (2 * h), rtol=2e-5, atol=2e-5)
    middle = (population.noise[:, 0] > 1e-3) & (population.noise[:, 0] < 1.0 - 1e-3)
    ends = [
        answers.log_evidence(RICH, population.at(population.shares, population.noise + d), *target) for d in (h, -h)
    ]
    np.testing.assert_allclose(found.noise[middle, 0], (ends[0] - ends[1])[middle] / (2 * h), rtol=2e-5, atol=2e-5)


def test_what_is_no_covariance_in_double_precision_has_no_evidence():
    X = np.linspace(-1, 1, 40)[:, None]
    grammar = gf.Grammar(noise=gf.Uniform(0.0, 1.0))
    population = grammar.coded([gf.Program.read("(SE 0.9)"), gf.Program.read("(SE 0.1)")], [[0.0], [0.1]])
    found = readings(X, np.sin(X[:, 0])).log_evidence(grammar, population, (40,), (1.0,))
    assert found[0] == -np.inf
    assert np.isfinite(found[1])


def test_before_the_first_answer_all_evidences_are_one():
    grammar = gf.Grammar()
    population = grammar.population(3, 1, np.random.default_rng(0))
    assert readings(np.zeros((0, 1)), np.zeros(0)).log_evidence(grammar, population, (0,), (1.0,)).tolist() == [0.0] * 3


def test_sizes_of_compiled_draws_are_as_frequent_as_the_prior_has_them():
    count = 40_000
    sizes = gf.Grammar().population(count, 1, np.random.default_rng(2)).sizes
    for size, wanted in {1: 0.8, 3: 0.128, 5: 0.04096, 7: 0.01638, 9: 0.00734}.items():
        assert np.mean(sizes == size) == pytest.approx(wanted, abs=4 * np.sqrt(wanted / count))

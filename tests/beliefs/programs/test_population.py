"""Many programs together: against their kernels one by one."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import gainful as gf
from gainful.beliefs.programs import Grammar, Program
from gainful.beliefs.programs.population import Population, covariances, log_evidences

SYMBOLS = {"C": 0.1, "LIN": 0.15, "SE": 0.15, "PER": 0.15, "RQ": 0.1, "MAT": 0.1, "+": 0.13, "×": 0.12}
SMOOTH = {name: gf.Uniform(0.2, 1.0) for name in ("SE.lengthscale", "PER.lengthscale", "PER.period", "RQ.lengthscale")}
RICH = Grammar(SYMBOLS, SMOOTH, inputs=2)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(5)
    programs = [RICH.draw(rng) for _ in range(60)]
    noise = [RICH.draw_noise(rng) + 0.01 for _ in programs]
    X = rng.uniform(-1, 1, (9, 2))
    return programs, noise, X, rng.standard_normal(9)


def test_a_population_holds_its_programs(drawn):
    programs, noise, _, _ = drawn
    population = Population.of(programs, noise)
    assert [population.program(i) for i in range(len(population))] == programs


def test_covariances_and_evidences_are_those_of_the_kernels(drawn):
    programs, noise, X, y = drawn
    population = Population.of(programs, noise)
    K = covariances(population, X)
    for program, mine in zip(programs, K, strict=True):
        np.testing.assert_allclose(mine, program.kernel(X), rtol=1e-12, atol=1e-14)
    exact = [
        multivariate_normal.logpdf(y, np.zeros(9), program.kernel(X) + eta * np.eye(9))
        for program, eta in zip(programs, noise, strict=True)
    ]
    np.testing.assert_allclose(log_evidences(population, X, y), exact, rtol=1e-9)


def test_what_is_no_covariance_in_double_precision_has_no_evidence():
    X = np.linspace(-1, 1, 40)[:, None]
    population = Population.of([Program.read("(SE 0.9)"), Program.read("(SE 0.1)")], [0.0, 0.1])
    found = log_evidences(population, X, np.sin(X[:, 0]))
    assert found[0] == -np.inf
    assert np.isfinite(found[1])


def test_before_the_first_answer_all_evidences_are_one():
    population = Population.of([Program.read("(SE 0.9)")], [0.1])
    assert log_evidences(population, np.zeros((0, 1)), np.zeros(0)).tolist() == [0.0]

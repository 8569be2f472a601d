"""Which levels of a category are alike is learned once there are ten answers for each."""

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.unstated import open_up
from gainful.priors import Fixed

SPACE = gf.Space(gf.Real("x", 0.0, 1.0), gf.Categorical("metal", ["Pd", "Ni", "Cu", "Fe"]))
ONE_KIND = (0, 2)  # f of these two is one function, that of the others another


def _data(n):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(0, 1, n), np.arange(n) % 4])
    f = np.where(np.isin(X[:, 1], ONE_KIND), np.sin(9.0 * X[:, 0]), np.cos(7.0 * X[:, 0] + 1.0))
    return gf.Data().add(gf.Point(name="lab"), X, f + 0.05 * rng.standard_normal(n))


@pytest.mark.parametrize(("answers", "learned"), [(39, False), (40, True)])
def test_leanings_are_learned_from_ten_answers_a_level_on(answers, learned):
    problem = open_up(gf.GP(space=SPACE), _data(answers)).problem
    leanings = [prior for name, prior in zip(problem.names, problem.priors, strict=True) if "leanings" in name]
    assert len(leanings) == 4
    assert all(isinstance(prior, Fixed) != learned for prior in leanings)


def test_two_kinds_of_levels_are_told_apart():
    belief = gf.GP(space=SPACE).condition(_data(80))
    levels = np.arange(4.0)[:, None]

    def leaning(kernel):
        return kernel if isinstance(kernel, gf.Leaning) else next(filter(None, map(leaning, _inside(kernel))), None)

    found = sum(
        weight * leaning(part.kernel)(levels) for weight, part in zip(belief.weights, belief.posteriors, strict=True)
    )
    within, between = (found[0, 2], found[1, 3]), (found[0, 1], found[0, 3], found[1, 2], found[2, 3])
    assert min(within) > 0.8
    assert max(between) < 0.6


def _inside(kernel):
    return [each for each in vars(kernel).values() if isinstance(each, gf.kernels.Kernel)]

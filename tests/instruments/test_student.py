"""Robust readings as a mixture of normal ones: against adaptive quadrature of the density itself."""

import numpy as np
import pytest

import gainful as gf
from gainful.instruments import generic


@pytest.mark.parametrize("df", [0.5, 1.0, 4.0, 30.0, 1000.0])
def test_a_mixture_of_normal_noises_is_student_s_t(df):
    rng = np.random.default_rng(0)
    robust = gf.StudentT(1.0, df)
    r = np.concatenate([3.0 * rng.standard_normal(20), [0.0, 100.0, -1e4]])
    m, v = rng.standard_normal(23), np.resize([0.04, 1.0, 100.0], 23)
    found, wanted = robust.log_partition(m + r, m, v), generic.partition(robust, m + r, m, v)
    np.testing.assert_allclose(found.log_z, wanted.log_z, rtol=1e-9)
    for mine, other in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-8)
    by_noise = generic.pullback_theta(robust, m + r, m, v)
    np.testing.assert_allclose(robust.pullback_theta(m + r, m, v), by_noise, rtol=1e-6, atol=1e-8)


def test_a_belief_that_is_nearly_certain_loses_no_digits():
    robust, y = gf.StudentT(0.5, 4.0), np.array([0.3, -2.0, 40.0])
    found = robust.log_partition(y, np.zeros(3), np.full(3, 1e-20))
    exact = robust.derivatives(y, np.zeros(3))
    np.testing.assert_allclose(found.log_z, exact.log_p, rtol=1e-11)
    np.testing.assert_allclose(found.d1, exact.d1, rtol=1e-11)
    np.testing.assert_allclose(found.d2, exact.d2, rtol=1e-9)

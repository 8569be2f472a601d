"""Conformance suites: what every kernel, mean and instrument must satisfy; run them on the ones you write.

    from gainful.testing import check_kernel
    check_kernel(MyKernel(lengthscale=0.3), dimensions=2)

Each raises AssertionError with the law that failed.
"""

from gainful.testing.instruments import check_instrument
from gainful.testing.kernels import check_kernel, check_mean

__all__ = ["check_instrument", "check_kernel", "check_mean"]

"""Conformance suites: what every kernel, mean, instrument, engine, acquisition and journal must satisfy.

    from gainful.testing import check_kernel
    check_kernel(MyKernel(lengthscale=0.3), dimensions=2)

Each raises AssertionError with the law that failed. `sbc` looks whether a belief is as sure as it may be: ranks of
truths among its draws, over many simulated worlds; `drawn` draws from any belief here.
"""

from gainful.testing.acquisitions import check_acquisition
from gainful.testing.calibration import drawn, sbc
from gainful.testing.engines import check_engine
from gainful.testing.instruments import check_instrument
from gainful.testing.journals import check_journal
from gainful.testing.kernels import check_kernel, check_mean

__all__ = [
    "check_acquisition",
    "check_engine",
    "check_instrument",
    "check_journal",
    "check_kernel",
    "check_mean",
    "drawn",
    "sbc",
]

"""Several functions of the same inputs, where nobody has said how they go together.

    f_i(x) = c_i + s_i h_i(x),   Cov[h_i(x), h_j(z)] = C_ij k(x, z)

Each output has an unknown constant and a variance of its own, scaled to its own answers; each pair has a correlation,
uniform between -1 and 1. So independent outputs, and a cheap biased instrument beside the true one, are one model. The
functions of several classes are exchangeable: one variance for all, no correlation, since their differences alone
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gainful.coordinates import Axis, Coordinates, output_code
from gainful.errors import InvalidInput
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel, On
from gainful.kernels.outputs import Coregionalised
from gainful.kernels.warped import Warped
from gainful.means import ConstantMean, Mean, OutputMeans, UnknownMean, Zero
from gainful.parameters import Parametrised
from gainful.process import Process
from gainful.space import coordinates_of

__all__ = ["Outputs", "outputs_of", "together"]

_MOST_CORRELATED = 4  # outputs: six correlations to learn; more are independent


@dataclass(frozen=True)
class Outputs:
    """The outputs that instruments see, by name or number, and for each the number of its kind (`alike`)."""

    names: tuple[int | str, ...]
    alike: tuple[int, ...]

    @property
    def codes(self) -> tuple[int, ...]:
        return tuple(output_code(each) for each in self.names)

    def kernel(self, correlated: bool) -> Coregionalised:
        single = sum(self.alike.count(kind) == 1 for kind in set(self.alike))
        if correlated and 1 < single <= _MOST_CORRELATED:
            return Coregionalised(self.names, alike=self.alike)
        return Coregionalised(self.names, correlation=0.0, alike=self.alike)


def outputs_of(instruments: Iterable[Instrument]) -> Outputs | None:
    """The outputs of these instruments, in their order; None where they all see one function."""
    several = list(dict.fromkeys(instruments))
    if all(each.outputs is None for each in several):
        return None
    kinds: dict[int | str, object] = {}
    for each in several:
        if each.outputs is None:
            remedy = "say which function each sees: output='yield'"
            raise InvalidInput("instruments", "an output of every one, or of none", each.label, remedy)
        for output in each.seen_outputs:
            kinds[output] = each.seen_outputs if each.alike else kinds.get(output, output)
    codes = [output_code(each) for each in kinds]
    if len(set(codes)) < len(codes):  # one chance in four thousand million
        raise InvalidInput("output", "names that are told apart", list(kinds), "call one of them otherwise")
    numbered = {kind: i for i, kind in enumerate(dict.fromkeys(kinds.values()))}
    return Outputs(tuple(kinds), tuple(numbered[kind] for kind in kinds.values()))


def together(process: Process, outputs: Outputs) -> Process:
    """The process over places and outputs: its kernel times one of the outputs, unless it speaks of them itself, and
    an unknown constant of each."""
    assert process.space is not None
    seen, kernel = coordinates_of(process.space), process.kernel
    inner = kernel.base if isinstance(kernel, Warped) else kernel
    last = len(seen.columns)
    if not _speaks_of(inner, last):
        inner = On(inner.widened(last), tuple(range(last))) * outputs.kernel(True).on(last)
    if isinstance(process.mean, UnknownMean):
        inner = inner + outputs.kernel(False).on(last)
    if not seen.is_identity:
        inner = Warped(inner, Coordinates((*seen.axes, Axis("output", "category", 0.0, 1.0))))
    return Process(inner, _mean(process.mean, outputs), {}, process.space)


def _mean(mean: Mean, outputs: Outputs) -> Mean:
    if isinstance(mean, UnknownMean) or (isinstance(mean, ConstantMean) and not mean.stated.all()):
        return OutputMeans(outputs.names)
    if not isinstance(mean, Zero | ConstantMean | OutputMeans):
        expected = "a constant mean, where there are several outputs"
        raise InvalidInput("mean", expected, mean, "leave it out: each output has an unknown constant")
    return mean


def _speaks_of(kernel: Kernel, column: int) -> bool:
    """Whether a kernel looks at this column by its number or by the name of the output."""
    return any(column in part.dims or "output" in part.dims for part in _within(kernel) if isinstance(part, On))


def _within(kernel: Parametrised) -> Iterator[Parametrised]:
    yield kernel
    for _, part in kernel._parts():
        if isinstance(part, Parametrised):
            yield from _within(part)

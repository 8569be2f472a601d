"""Mathematics that knows nothing of Gaussian processes."""

from gainful.numerics.memory import keep_freed_memory

keep_freed_memory()

"""The experiments of Fletcher 2022, "Active learning for Gaussian processes with mixed data"."""

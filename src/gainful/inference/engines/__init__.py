"""Engines: ways to a belief from many answers that never ask for their whole covariance matrix."""

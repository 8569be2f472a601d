"""GPBoost, for `letter.py`; runs under the Python of `_environment.scale`, one task a process.

A latent GP with a Matérn kernel, a lengthscale for each input and an intercept, by Vecchia's approximation of as many
neighbours as stated, under likelihood "bernoulli_probit". All else is as it comes.
"""

from __future__ import annotations

import time
from importlib.metadata import version

from _apart import Record, serve


def work(task: Record) -> Record:
    """Probabilities of yes at the held-out places are left in a file."""
    import gpboost
    import numpy as np

    with np.load(task["file"]) as file:
        X, y, Z = file["X"], file["y"], file["Z"]
    begun = time.process_time()
    model = gpboost.GPModel(
        gp_coords=X, cov_function="matern_ard", cov_fct_shape=task["nu"], likelihood="bernoulli_probit",
        gp_approx="vecchia", num_neighbors=task["neighbours"], seed=task["seed"], num_parallel_threads=1,
    )  # fmt: skip
    model.fit(y=y, X=np.ones((len(y), 1)))
    learned = time.process_time() - begun
    found = model.predict(gp_coords_pred=Z, X_pred=np.ones((len(Z), 1)), predict_response=True, predict_var=False)
    np.save(task["answers"], np.asarray(found["mu"], dtype=float))
    return {"seconds": time.process_time() - begun, "learned": learned, "packages": {"gpboost": version("gpboost")}}


if __name__ == "__main__":
    serve(work)

"""One suggestion by BoTorch: SingleTaskGP fitted at n answers, then qNegIntegratedPosteriorVariance optimised.

Run by `ask.py` with the Python of an environment that has BoTorch; reads the answers from a file, prints the seconds of
each of several runs, one line each, after one run to warm up.
"""

import sys
import time
import warnings

import numpy as np
import torch
from botorch.acquisition.active_learning import qNegIntegratedPosteriorVariance
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")


def suggestion(X: torch.Tensor, y: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    model = SingleTaskGP(X, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    score = qNegIntegratedPosteriorVariance(model, mc_points=places)
    bounds = torch.tensor([[0.0, 0.0], [2.0, 2.0]], dtype=X.dtype)
    return optimize_acqf(score, bounds=bounds, q=1, num_restarts=4, raw_samples=64)[0]


if __name__ == "__main__":
    given = np.load(sys.argv[1])
    X, y, places = (torch.as_tensor(given[name], dtype=torch.double) for name in ("X", "y", "places"))
    for run in range(int(sys.argv[2]) + 1):
        begun = time.perf_counter()
        suggestion(X, y[:, None], places)
        if run:
            print(time.perf_counter() - begun, flush=True)

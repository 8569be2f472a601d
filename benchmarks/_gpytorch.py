"""GPyTorch, for `skip_rivals.py` and `letter.py`; runs under the Python of `_environment.scale`, one task a process.

skip    ProductStructureKernel over GridInterpolationKernel, its root decompositions of the stated rank: seconds of a
        step (minus log evidence and its gradient, from scratch) and of a product, which is left in a file
svgp    a variational GP through inducing points that are learned, under a Bernoulli likelihood, by Adam on minibatches
        until the given seconds are over; probabilities are left in a file

In `skip`, "equal" has double precision, gainful's tolerance and probes, and the rank of the preconditioner that it is
given; without it everything is as it comes: single precision, a residual of 1 in training, ten probes, a preconditioner
of rank 15.
"""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from importlib.metadata import version

from _apart import Record, peak, serve

PACKAGES = ("gpytorch", "linear_operator", "torch")


def skip(task: Record) -> Record:
    """Seconds of the processor: the best of `repeats` steps, and of as many products of one vector."""
    import gpytorch
    import numpy as np
    import torch
    from gpytorch import kernels, settings

    with np.load(task["file"]) as file:
        kind = torch.float64 if task["equal"] else torch.float32
        X, y, V = (torch.as_tensor(file[name], dtype=kind) for name in ("X", "y", "V"))
    d = X.shape[1]

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            along = kernels.RBFKernel()
            along.lengthscale = task["lengthscale"]
            grid = kernels.GridInterpolationKernel(along, task["grid"], num_dims=1, grid_bounds=[(0.0, 1.0)])
            self.covar_module = kernels.ScaleKernel(kernels.ProductStructureKernel(grid, num_dims=d))
            self.covar_module.outputscale = 1.0

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood).to(kind)
    likelihood.noise = task["noise"] ** 2
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    parameters = [model.covar_module.base_kernel.base_kernel.base_kernel.raw_lengthscale,
                  model.covar_module.raw_outputscale, likelihood.raw_noise]  # fmt: skip

    def step() -> float:
        model.zero_grad()
        loss = -objective(model(X), y)
        loss.backward()
        if not all(each.grad is not None and bool(torch.isfinite(each.grad).all()) for each in parameters):
            raise FloatingPointError("the gradient has numbers that are not finite")
        return -float(loss) * len(y)

    with ExitStack() as held:
        held.enter_context(settings.max_root_decomposition_size(task["rank"]))
        if task["equal"]:
            held.enter_context(settings.cg_tolerance(task["tolerance"]))
            held.enter_context(settings.num_trace_samples(task["probes"]))
            held.enter_context(settings.max_preconditioner_size(task["preconditioner"]))
        with torch.no_grad():
            operator = model.covar_module(X).evaluate_kernel()
            np.save(task["product"], (operator @ V).to(torch.float64).numpy())
            product = _best(lambda: operator @ V[:, :1], max(task["repeats"], 5))
        out: Record = {"product_seconds": product, "packages": _packages(), "memory_of_products": peak()}
        try:
            torch.manual_seed(0)
            out["log_evidence"] = step()
            out["step_seconds"] = _best(step, task["repeats"])
        except Exception as error:  # products may be right where a step is not
            out["step_error"] = f"{type(error).__name__}: {error}"[:300]
    return out


def svgp(task: Record) -> Record:
    """Probabilities of yes at the held-out places."""
    import gpytorch
    import numpy as np
    import torch
    from gpytorch import kernels, variational

    torch.manual_seed(task["seed"])
    with np.load(task["file"]) as file:
        X, y, Z = (torch.as_tensor(file[name], dtype=torch.float32) for name in ("X", "y", "Z"))
    points = X[torch.randperm(len(X))[: task["points"]]].clone()

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            known = variational.CholeskyVariationalDistribution(len(points))
            super().__init__(variational.VariationalStrategy(self, points, known, learn_inducing_locations=True))
            self.mean_module = gpytorch.means.ConstantMean()
            own = kernels.MaternKernel(nu=task["nu"], ard_num_dims=X.shape[1])
            own.lengthscale = task["lengthscale"]
            self.covar_module = kernels.ScaleKernel(own)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model(), gpytorch.likelihoods.BernoulliLikelihood()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    optimiser = torch.optim.Adam(model.parameters(), lr=task["rate"])
    model.train()
    begun, steps, passes = time.process_time(), 0, 0
    while time.process_time() - begun < task["seconds"]:
        for rows in torch.randperm(len(y)).split(task["batch"]):
            optimiser.zero_grad()
            loss = -objective(model(X[rows]), y[rows])
            loss.backward()
            optimiser.step()
            steps += 1
            if time.process_time() - begun >= task["seconds"]:
                break
        passes += 1
    learned = time.process_time() - begun
    model.eval()
    with torch.no_grad():
        yes = torch.cat([likelihood(model(part)).mean for part in Z.split(1024)])
    np.save(task["answers"], yes.to(torch.float64).numpy())
    return {"seconds": time.process_time() - begun, "learned": learned, "steps": steps, "passes": passes,
            "packages": _packages()}  # fmt: skip


def _best(run, repeats: int) -> float:
    found = []
    for _ in range(repeats):
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
    return min(found)


def _packages() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES}


def work(task: Record) -> Record:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # it says on every call that its product kernel is deprecated
    return {"skip": skip, "svgp": svgp}[task["task"]](task)


if __name__ == "__main__":
    serve(work)

"""One system in a process of its own: a line of JSON in, a line of JSON out, so that its memory is its own.

    {"system": "gpboost-vecchia", "file": "split.npz", "seconds": 600, "neighbours": 15}
        learns the hyperparameters from cold and predicts; answers with the mean and the variance (noise included) of
        each held-out answer, the seconds of learning and of predicting, the seconds of the processor, the versions of
        its packages, and a sentence on what was done
    {"system": "gainful-ski", "file": "split.npz", "evidence": [0.2, 0.2, 0.3]}
        learns nothing: one evidence with its gradient at these lengthscales and this noise, and the predictions

The file has X (N, D), y (N,) and Z (M, D), scaled. All have a Matérn 3/2 kernel with a lengthscale for each dimension,
a constant mean and Gaussian noise, and run on one thread. Where "neighbours" is not given they have their defaults.

- "gainful": the automatic choice; "gainful-exact", "gainful-vecchia", "gainful-inducing" and "gainful-ski" by hand;
  "gainful-vecchia-120" has so many neighbours.
- "gpboost-full-scale", "gpboost-vecchia": GPModel with `gp_approx` full_scale_vecchia (200 inducing points and 30
  neighbours) and vecchia (20 neighbours), neighbours in the metric of the lengthscales. Both end by themselves.
- "svgp": GPyTorch's variational GP with 1024 inducing points, which begin at random readings and are learned; Adam with
  the step of GPyTorch's tutorial, 0.01, batches of 1024, single precision, for so many "seconds".

It is run by `scale_rivals.py` and `linear_cost.py`.
"""

import time
import warnings
from importlib.metadata import version

import numpy as np
from _apart import serve

INDUCING, BATCH, STEP = 1024, 1024, 0.01
PREDICTED = 2048  # places at a time, for SVGP


class Gainful:
    packages = ("gainful", "numpy", "scipy")

    def __init__(self, engine: str, task: dict) -> None:
        import gainful as gf
        import gainful.inference.engines.vecchia_compiled  # Numba is loaded before the seconds are counted

        self.gf, self.engine, self.task = gf, engine, task

    def _inference(self, X: np.ndarray, Z: np.ndarray):
        gf, neighbours = self.gf, self.task.get("neighbours")
        if self.engine == "ski":  # a grid cannot predict beyond its edge
            return gf.SKI(over=[np.minimum(X.min(axis=0), Z.min(axis=0)), np.maximum(X.max(axis=0), Z.max(axis=0))])
        if self.engine == "vecchia-120":
            return gf.Vecchia(120)
        if self.engine == "vecchia":
            return gf.Vecchia(neighbours) if neighbours else gf.Vecchia()
        return {"exact": gf.Exact(), "inducing": gf.Inducing(), "": None}[self.engine]

    def learn(self, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> str:
        gf, D = self.gf, X.shape[1]
        gp = gf.GP(gf.Matern((float(np.sqrt(D)),) * D, nu=1.5), gf.ConstantMean())
        data = gf.Data().add(gf.Point(noise=0.5, name="reading"), X, y)
        fitted = gf.fit(gp, data, starts=1, inference=self._inference(X, Z))
        self.posterior, self.noise = fitted.posterior, fitted.values["reading.noise"]
        return f"{fitted.posterior.convergence.message}; log evidence {fitted.log_evidence:.1f}; {fitted.message}"

    def evidence(self, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> str:
        *lengths, self.noise = self.task["evidence"]
        gf, gp = self.gf, self.gf.GP(self.gf.Matern(tuple(lengths), nu=1.5))
        data = gf.Data().add(gf.Point(noise=self.noise, name="reading"), X, y)
        self.posterior = gp.condition(data, inference=self._inference(X, Z))
        belief = self.posterior.behind
        belief.gradient()
        return f"{belief.convergence.message}; log evidence {belief.log_evidence:.1f}"

    def predict(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.posterior.mean(Z), self.posterior.variance(Z) + self.noise**2


class GPBoost:
    packages = ("gpboost", "numpy", "scipy")

    def __init__(self, approximation: str, task: dict) -> None:
        import gpboost

        self.module, self.neighbours = gpboost, task.get("neighbours")
        self.approximation = {"full-scale": "full_scale_vecchia"}.get(approximation, approximation)

    def learn(self, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> str:
        self.model = self.module.GPModel(
            gp_coords=X, cov_function="matern_ard", cov_fct_shape=1.5, likelihood="gaussian",
            gp_approx=self.approximation, num_neighbors=self.neighbours, num_parallel_threads=1,
        )  # fmt: skip
        self.model.fit(y=y, X=np.ones((len(y), 1)))
        return f"log evidence {-self.model.get_current_neg_log_likelihood():.1f}"

    def predict(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.model.predict(gp_coords_pred=Z, X_pred=np.ones((len(Z), 1)), predict_var=True)
        return np.asarray(found["mu"]), np.asarray(found["var"])


class Svgp:
    packages = ("gpytorch", "torch", "numpy")

    def __init__(self, _: str, task: dict) -> None:
        import gpytorch
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.gpytorch, self.torch, self.seconds = gpytorch, torch, float(task["seconds"])

    def learn(self, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> str:
        begun = time.perf_counter()
        torch, gpytorch = self.torch, self.gpytorch
        places, answers = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
        first = places[torch.randperm(len(places))[:INDUCING]].clone()
        self.model, self.likelihood = _variational(gpytorch, first), gpytorch.likelihoods.GaussianLikelihood()
        elbo = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=len(answers))
        adam = torch.optim.Adam([*self.model.parameters(), *self.likelihood.parameters()], lr=STEP)
        steps = 0
        while True:
            for batch in torch.randperm(len(places)).split(BATCH):
                adam.zero_grad()
                loss = -elbo(self.model(places[batch]), answers[batch])
                loss.backward()
                adam.step()
                steps += 1
                if time.perf_counter() - begun > self.seconds:
                    return f"{steps} steps, {steps * BATCH / len(places):.1f} epochs; last loss {loss.item():.4f}"

    def predict(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.model.eval()
        self.likelihood.eval()
        with self.torch.no_grad():
            parts = self.torch.tensor(Z, dtype=self.torch.float32).split(PREDICTED)
            found = [self.likelihood(self.model(part)) for part in parts]
            mean, variance = (self.torch.cat(each).double().numpy() for each in
                              ([f.mean for f in found], [f.variance for f in found]))  # fmt: skip
        return mean, variance


def _variational(gpytorch, first):
    """The model with its inducing points at `first`."""

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            belief = gpytorch.variational.CholeskyVariationalDistribution(len(first))
            super().__init__(gpytorch.variational.VariationalStrategy(self, first, belief))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=first.shape[1])
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    return Model()


SYSTEMS = {"gainful": Gainful, "gpboost": GPBoost, "svgp": Svgp}


def run(task: dict) -> dict:
    name, _, kind = task["system"].partition("-")
    system = SYSTEMS[name](kind, task)
    with np.load(task["file"]) as file:
        X, y, Z = file["X"], file["y"], file["Z"]
    if "evidence" in task:  # the first call compiles
        system.evidence(X[:500], y[:500], Z)
        system.predict(Z[:2])
    begun, processor = time.perf_counter(), time.process_time()
    message = system.evidence(X, y, Z) if "evidence" in task else system.learn(X, y, Z)
    learned = time.perf_counter()
    mean, variance = system.predict(Z)
    ended = time.perf_counter()
    return {
        "mean": mean.tolist(), "variance": variance.tolist(), "learning": round(learned - begun, 3),
        "predicting": round(ended - learned, 3), "processor": round(time.process_time() - processor, 3),
        "message": message,
        "packages": {each: version(each) for each in system.packages},
    }  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(run)

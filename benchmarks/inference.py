"""Inference against its peers and against its own limits: ratios, each measured in one run on the same work.

    .venv/bin/python benchmarks/inference.py

1. EP with four kinds of answers at n = 256 against GPy's EP on yes/no answers at the same places.
2. One more answer, and one less, against conditioning from scratch.
3. Exact evidence with its gradient (n = 4000, d = 8) against one LAPACK Cholesky, in time and in n-by-n arrays.
4. `fit` against scikit-learn's, from the same starts with the same kernel.
5. `import gainful` against importing what it stands on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
from _harness import Claim, best_times, report
from scipy.linalg import lapack

if "--sklearn-alone" not in sys.argv:
    import gainful as gf


def mixed_data(n: int, rng: np.random.Generator) -> tuple[gf.Data, np.ndarray, np.ndarray]:
    """Points, intervals, ranks and yes/no answers, a quarter each, of one function; and its places and values."""
    X = rng.uniform(0, 1, (n, 1))
    f = 2.0 * np.sin(6 * X[:, 0])
    data, quarter = gf.Data(), n // 4
    instruments = [gf.Point(0.1), gf.Interval(0.1, width=0.6), gf.Ordinal([-0.4, 0.5], 0.1), gf.Binary()]
    for i, instrument in enumerate(instruments):
        part = slice(i * quarter, (i + 1) * quarter)
        data = data.add(instrument, X[part], instrument.simulate(f[part], rng))
    return data, X, f


def ep_against_gpy() -> list[Claim]:
    import GPy

    rng = np.random.default_rng(0)
    data, X, f = mixed_data(256, rng)
    yes = gf.Binary().simulate(f, rng)
    probit = gf.Data().add(gf.Binary(), X, yes)
    gp = gf.GP(gf.SE(0.2, 4.0))

    def gpy() -> float:
        model = GPy.core.GP(
            X,
            yes[:, None],
            kernel=GPy.kern.RBF(1, 4.0, 0.2),
            likelihood=GPy.likelihoods.Bernoulli(),
            inference_method=GPy.inference.latent_function_inference.EP(),
        )
        return float(model.log_likelihood())

    t = best_times(
        {"gpy": gpy, "mixed": lambda: gp.condition(data), "probit": lambda: gp.condition(probit)},
        repeats=5,
    )
    gap = abs(gpy() - gp.condition(probit).log_evidence)
    detail = f"GPy {1e3 * t['gpy']:.0f} ms, mixed {1e3 * t['mixed']:.1f} ms, probit {1e3 * t['probit']:.1f} ms"
    return [
        Claim("EP n=256, mixed, times faster than GPy's probit EP", t["gpy"] / t["mixed"], 50, False, detail),
        Claim("EP n=256, probit, times faster than GPy on the same data", t["gpy"] / t["probit"], 20, False,
              f"log evidence differs by {gap:.1e}"),
    ]  # fmt: skip


def adding_problems() -> dict[str, tuple[gf.GP, gf.Data, gf.Data]]:
    """256 answers and one more: the mixture on a line, and yes/no answers and intervals in a few dimensions."""
    data, _, _ = mixed_data(256, np.random.default_rng(1))
    line = gf.GP(gf.SE(0.2, 4.0))
    out = {
        "a yes/no answer, mixture on a line": (line, data, gf.Data().add(gf.Binary(), [[0.37]], [True])),
        "an interval, mixture on a line": (line, data, gf.Data().add(gf.Interval(0.1), [[0.37]], [[1.2, 1.8]])),
    }
    for d, lengthscale in ((2, 0.3), (3, 0.5), (5, 0.8)):
        for instrument in (gf.Binary(), gf.Interval(0.1, width=0.6)):
            rng = np.random.default_rng(d)
            gp, X = gf.GP(gf.SE(lengthscale, 4.0)), rng.random((257, d))
            f = gp.condition(gf.Data()).sample(X, 1, rng)[0]
            answers = instrument.simulate(f, rng)
            first = gf.Data().add(instrument, X[:256], answers[:256])
            label = "a yes/no answer" if isinstance(instrument, gf.Binary) else "an interval"
            out[f"{label}, {d} dimensions"] = gp, first, gf.Data().add(instrument, X[256:], answers[256:])
    return out


def adding_one() -> list[Claim]:
    claims = []
    for label, (gp, data, more) in adding_problems().items():
        old = gp.condition(data)
        both, new = data.join(more), old.condition(more)
        t = best_times(
            {
                "cold": lambda gp=gp, both=both: gp.condition(both),
                "add": lambda old=old, more=more: old.condition(more),
                "remove": lambda new=new, data=data: new.without(len(data)),
            },
            repeats=15,
        )
        looks = gp.condition(both).convergence.iterations, new.convergence.iterations
        detail = (
            f"cold {1e3 * t['cold']:.1f} ms, add {1e3 * t['add']:.1f} ms, remove {1e3 * t['remove']:.1f} ms; "
            f"{looks[0]} sweeps, and {looks[1]}"
        )
        bound = 0.65 if "line" in label else 0.35  # on a line a cold fit takes 5 ms, most of it the price of a sweep
        claims.append(Claim(f"adding {label}, n=256, share of a cold fit", t["add"] / t["cold"], bound, True, detail))
        claims.append(Claim("removing it again, times adding it", t["remove"] / t["add"], 2.0, True, ""))
    return claims


def evidence_with_gradient() -> list[Claim]:
    rng = np.random.default_rng(2)
    n, d = 4000, 8
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    data = gf.Data().add(gf.Point(0.5), X, y)
    gp = gf.GP(gf.SE(np.full(d, 2.0)))
    matrix = [np.asfortranarray(gp.kernel(X) + 0.25 * np.eye(n))]
    t = best_times(
        {
            "cholesky": lambda: lapack.dpotrf(matrix[0], lower=1),
            "evidence": lambda: gp.log_evidence_and_gradient(data),
        },
        repeats=4,
    )
    matrix.clear()
    tracemalloc.start()
    gp.log_evidence_and_gradient(data)
    peak = tracemalloc.get_traced_memory()[1] / (8 * n * n)
    tracemalloc.stop()
    detail = f"Cholesky {t['cholesky']:.2f} s, evidence and gradient {t['evidence']:.2f} s"
    return [
        Claim("evidence + gradient n=4000 d=8, in Choleskys", t["evidence"] / t["cholesky"], 5, True, detail),
        Claim("its memory, in n-by-n arrays", peak, 4, True, "peak of all arrays, covariance matrix included"),
    ]


FIT_SIZE, FIT_DIMENSIONS = 200, 3


def fit_problem() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Places, answers and starts (log lengthscales, log variance, log noise); the third input does not matter."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (FIT_SIZE, FIT_DIMENSIONS))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=FIT_SIZE)
    first = np.log([1.0] * FIT_DIMENSIONS + [1.0, 0.3])
    return X, y, [first] + [rng.normal(0.0, 1.0, FIT_DIMENSIONS + 2) for _ in range(2)]


def sklearn_fit() -> float:
    """The best log evidence that scikit-learn's L-BFGS reaches from the starts."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y, starts = fit_problem()
    d, values = FIT_DIMENSIONS, []
    for s in starts:
        kernel = ConstantKernel(np.exp(s[d])) * RBF(np.exp(s[:d])) + WhiteKernel(np.exp(2 * s[d + 1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own remarks about bounds
            values.append(GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y).log_marginal_likelihood_value_)
    return max(values)


def gainful_fit() -> float:
    X, y, starts = fit_problem()
    data, gp = gf.Data().add(gf.Point(0.3), X, y), gf.GP(gf.SE(np.ones(FIT_DIMENSIONS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # likewise: a lengthscale runs away
        return gf.fit(gp, data, priors=gf.Flat(), starts=np.array(starts)).log_evidence


def fit_against_sklearn() -> list[Claim]:
    """scikit-learn is timed in a process without gainful, whose import lets all of NumPy reuse freed memory."""
    t = best_times({"gainful": gainful_fit}, repeats=5)
    alone = float(subprocess.run([sys.executable, __file__, "--sklearn-alone"], check=True, capture_output=True).stdout)
    theirs, ours = sklearn_fit(), gainful_fit()
    detail = f"scikit-learn {alone:.2f} s in a process of its own; gainful {t['gainful']:.2f} s"
    return [
        Claim("fit n=200, times faster than scikit-learn by itself", alone / t["gainful"], 3, False, detail),
        Claim("log evidence that scikit-learn reaches beyond ours", theirs - ours, 1e-4, True, f"ours {ours:.6f}"),
    ]


def importing() -> list[Claim]:
    base = "import numpy, scipy.linalg, scipy.optimize, scipy.special"

    # As after a pip install: with bytecode, which an environment may forbid Python to write.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    t = best_times({"base": lambda: start(base), "gainful": lambda: start(base + ", gainful")}, repeats=15)
    extra = t["gainful"] - t["base"]
    return [Claim("import gainful, seconds beyond its dependencies", extra, 0.15, True, f"base {t['base']:.2f} s")]


if __name__ == "__main__":
    if sys.argv[1:] == ["--sklearn-alone"]:
        print(best_times({"sklearn": sklearn_fit}, repeats=5)["sklearn"])
        sys.exit(0)
    short = 0
    for part in (ep_against_gpy, adding_one, evidence_with_gradient, fit_against_sklearn, importing):
        short += report(part())
    sys.exit(1 if short else 0)

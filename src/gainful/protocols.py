"""What a user may implement, each name in one place; they are defined in the lowest rooms that use them.

- `Instrument`: a way of measuring. Subclass it as a frozen dataclass and give `answers`, `log_prob(answers, g)` and
  `simulate(g, rng)`; closed forms may replace what then follows by quadrature. For a likelihood without parameters
  `gainful.Likelihood` makes one from two functions. Checked by `gainful.testing.check_instrument`.
- `Kernel`: a covariance function. Subclass it as a frozen dataclass whose fields are declared with
  `gainful.parameters`, and give `matrix` and `diag`; `vjp` and the pullbacks to the inputs may replace what then
  follows by differences. Checked by `gainful.testing.check_kernel`.
- `Mean`: a mean function, likewise: `__call__`, `vjp` and `pullback_inputs`. Checked by `gainful.testing.check_mean`.
- `Inference`: a way from data to a posterior: `solve(layout, mean, cov, start=None)` returns a `Solution`, Gaussian
  sites with the log evidence and a word on convergence. Give it to `GP.condition(data, inference=...)` or to a
  campaign. No suite: compare it with `Exact` on numbers, with brute-force integration on one answer; and over many
  simulated worlds `gainful.testing.sbc`, with draws by `gainful.testing.drawn`, tells whether it is as sure as it may
  be.
- `Engine`: a way from many answers to a belief that never asks for their whole covariance: `believe(mean, kernel,
  layout, start=None)` returns mean, variance and covariance at any places, the log evidence and its gradient. Give it
  where an `Inference` goes. Checked by `gainful.testing.check_engine`.
- `Acquisition`: what a query is worth: any object with `score(belief, instrument, places)`, one number per query,
  larger being better. It need not know what is pending. An attribute `scale` ("amount", "log" or "signed") says how
  cost applies; `score_and_gradient`, `score_beyond` and `prepare` are optional. Give it to `Campaign(goal=...)`.
  Checked by `gainful.testing.check_acquisition`.
- `StoppingRule`: why to stop: any object with `reason(belief, richest)`, a sentence or None. `richest()` is the query
  that tells most bits about the function per unit of cost, with its score. Give it to `Campaign(stop=...)`. No suite:
  it is one method.
- `Journal`: where a campaign's events are kept: `events()` and `append(event)`. Give it to `Campaign(journal=...)`.
  Checked by `gainful.testing.check_journal`.
"""

from gainful.acquisition.base import Acquisition
from gainful.campaign.journal import Journal
from gainful.campaign.stopping import Rule as StoppingRule
from gainful.inference.engines.base import Engine
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel
from gainful.means import Mean

__all__ = ["Acquisition", "Engine", "Inference", "Instrument", "Journal", "Kernel", "Mean", "StoppingRule"]

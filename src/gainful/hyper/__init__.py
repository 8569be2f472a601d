"""Hyperparameters: MAP fit, Laplace approximation and model evidence, MGP, NUTS."""

from gainful.hyper.fit import Fitted, fit
from gainful.hyper.laplace import MGP, HyperPosterior, hyperposterior
from gainful.hyper.nuts import nuts

__all__ = ["MGP", "Fitted", "HyperPosterior", "fit", "hyperposterior", "nuts"]

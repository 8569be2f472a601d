"""belief × candidates → scores: acquisition functions, cost and normalisation around them, and all of them by name."""

from gainful.acquisition.base import Acquisition, Normalised, PerCost, prepare, score_and_gradient, score_beyond
from gainful.acquisition.baselines import Random, RandomType
from gainful.acquisition.best_place import BestPlace
from gainful.acquisition.committee import QueryByCommittee
from gainful.acquisition.constrained import Constrained, Limit
from gainful.acquisition.decision import ExpectedError, ExpectedErrorReduction, ExpectedModelChange, Kapoor, Zhu
from gainful.acquisition.design import ALM, AOptimal, DOptimal, EOptimal, IntegratedVariance
from gainful.acquisition.information import EPIG, Learn
from gainful.acquisition.knowledge import KnowledgeGradient
from gainful.acquisition.level import Level
from gainful.acquisition.max_value import MaxValueEntropy
from gainful.acquisition.optimum import (
    ExpectedImprovement,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from gainful.acquisition.predictions import Predictions
from gainful.acquisition.published.closed_form import BALDClosedForm
from gainful.acquisition.published.conformal import Conformal
from gainful.acquisition.published.empirical import EmpiricalError
from gainful.acquisition.published.ivm import IVM
from gainful.acquisition.published.svm import ActiveSVM
from gainful.acquisition.refitted import Refitted
from gainful.acquisition.strategies import Strategy, score, strategies
from gainful.acquisition.switch import Switch
from gainful.acquisition.uncertainty import Entropy, LeastConfidence, Margin

__all__ = [
    "ALM",
    "EPIG",
    "IVM",
    "AOptimal",
    "Acquisition",
    "ActiveSVM",
    "BALDClosedForm",
    "BestPlace",
    "Conformal",
    "Constrained",
    "DOptimal",
    "EOptimal",
    "EmpiricalError",
    "Entropy",
    "ExpectedError",
    "ExpectedErrorReduction",
    "ExpectedImprovement",
    "ExpectedModelChange",
    "IntegratedVariance",
    "Kapoor",
    "KnowledgeGradient",
    "Learn",
    "LeastConfidence",
    "Level",
    "Limit",
    "LogExpectedImprovement",
    "Margin",
    "MaxValueEntropy",
    "Normalised",
    "PerCost",
    "Predictions",
    "ProbabilityOfImprovement",
    "QueryByCommittee",
    "Random",
    "RandomType",
    "Refitted",
    "Strategy",
    "Switch",
    "UpperConfidenceBound",
    "Zhu",
    "prepare",
    "score",
    "score_and_gradient",
    "score_beyond",
    "strategies",
]

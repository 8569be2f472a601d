"""belief × queries → scores: what each possible measurement is worth.

Information, cost and normalisation are loaded at once; the strategies to compare with when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gainful.goals.about import Region
from gainful.goals.goal import Goal, Learn, Normalised, PerCost
from gainful.goals.information import information
from gainful.goals.joint import Estimate, information_estimate, joint_estimate, joint_information
from gainful.goals.strategies import Strategy, score, strategies

if TYPE_CHECKING:
    from gainful.goals.closed_form import BALDClosedForm
    from gainful.goals.committee import QueryByCommittee
    from gainful.goals.conformal import Conformal
    from gainful.goals.decision import (
        EmpiricalError,
        ExpectedError,
        ExpectedErrorReduction,
        ExpectedModelChange,
        Kapoor,
        Zhu,
    )
    from gainful.goals.design import ALM, AOptimal, DOptimal, EOptimal, IntegratedVariance
    from gainful.goals.ivm import IVM
    from gainful.goals.optimum import (
        ExpectedImprovement,
        LogExpectedImprovement,
        ProbabilityOfImprovement,
        UpperConfidenceBound,
    )
    from gainful.goals.refitted import Refitted
    from gainful.goals.region import EPIG
    from gainful.goals.svm import ActiveSVM
    from gainful.goals.uncertainty import Entropy, LeastConfidence, Margin

_LATER = {
    "ALM": "design",
    "AOptimal": "design",
    "ActiveSVM": "svm",
    "BALDClosedForm": "closed_form",
    "Conformal": "conformal",
    "DOptimal": "design",
    "EOptimal": "design",
    "EPIG": "region",
    "EmpiricalError": "decision",
    "Entropy": "uncertainty",
    "ExpectedError": "decision",
    "ExpectedErrorReduction": "decision",
    "ExpectedImprovement": "optimum",
    "ExpectedModelChange": "decision",
    "IVM": "ivm",
    "IntegratedVariance": "design",
    "Kapoor": "decision",
    "LeastConfidence": "uncertainty",
    "LogExpectedImprovement": "optimum",
    "Margin": "uncertainty",
    "ProbabilityOfImprovement": "optimum",
    "QueryByCommittee": "committee",
    "Refitted": "refitted",
    "UpperConfidenceBound": "optimum",
    "Zhu": "decision",
}

__all__ = [
    "ALM",
    "EPIG",
    "IVM",
    "AOptimal",
    "ActiveSVM",
    "BALDClosedForm",
    "Conformal",
    "DOptimal",
    "EOptimal",
    "EmpiricalError",
    "Entropy",
    "Estimate",
    "ExpectedError",
    "ExpectedErrorReduction",
    "ExpectedImprovement",
    "ExpectedModelChange",
    "Goal",
    "IntegratedVariance",
    "Kapoor",
    "Learn",
    "LeastConfidence",
    "LogExpectedImprovement",
    "Margin",
    "Normalised",
    "PerCost",
    "ProbabilityOfImprovement",
    "QueryByCommittee",
    "Refitted",
    "Region",
    "Strategy",
    "UpperConfidenceBound",
    "Zhu",
    "information",
    "information_estimate",
    "joint_estimate",
    "joint_information",
    "score",
    "strategies",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"gainful.goals.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])

"""Several posteriors at once: rival models, and one model with its hyperparameters integrated out."""

from gainful.beliefs.integrated import Integrated
from gainful.beliefs.models import Models
from gainful.beliefs.parts import Part, Parts

__all__ = ["Integrated", "Models", "Part", "Parts"]

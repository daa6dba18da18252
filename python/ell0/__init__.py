"""Sparse, closed-form models and control laws."""

from ._ell0 import __version__
from ._registration import register_when_needed
from .evaluation import evaluate
from .law import Law
from .policy import Policy
from .statistics import Statistics
from .training import Training, train

__all__ = ["Law", "Policy", "Statistics", "Training", "__version__", "evaluate", "train"]

register_when_needed()

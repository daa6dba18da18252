"""Sparse, closed-form models and control laws."""

from ._ell0 import __version__
from ._registration import register_when_needed
from ._warnings import CollapsedWarning, MissingTermWarning, NoLawWarning
from .evaluation import evaluate
from .law import Law
from .network import Network, Networks, network, read_network, resume_network
from .policy import Policy
from .statistics import Statistics
from .training import Training, train

__all__ = [
    "CollapsedWarning",
    "Law",
    "MissingTermWarning",
    "Network",
    "Networks",
    "NoLawWarning",
    "Policy",
    "Statistics",
    "Training",
    "__version__",
    "evaluate",
    "network",
    "read_network",
    "resume_network",
    "train",
]

register_when_needed()

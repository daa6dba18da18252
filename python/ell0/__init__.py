"""Sparse, closed-form models and control laws."""

from ._ell0 import __version__
from ._registration import register_when_needed
from .evaluation import evaluate
from .law import Law
from .network import Network, Networks, network, read_network, resume_network
from .policy import Policy
from .statistics import Statistics
from .training import Training, train

__all__ = [
    "Law",
    "Network",
    "Networks",
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

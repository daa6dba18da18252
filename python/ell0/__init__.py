"""Sparse, closed-form models and control laws."""

from ._ell0 import __version__

__all__ = ["__version__"]

"""Estimators of scikit-learn: sparse laws, and networks with gates on their units or weights."""

from ._dictionary import DictionaryRegressor
from ._networks import SparseMLPClassifier, SparseMLPRegressor

__all__ = ["DictionaryRegressor", "SparseMLPClassifier", "SparseMLPRegressor"]

"""Multi-layer perceptrons whose units or weights have gates, so that they end smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ._engine import Doubles
from ._gated import PARAMETERS, SparseMLP


class SparseMLPRegressor(RegressorMixin, SparseMLP):  # type: ignore[misc]
    __doc__ = f"""A network for numbers that ends smaller than it began.

    Inputs and targets are standardised.
{PARAMETERS}

    Examples
    --------
    >>> import numpy as np
    >>> from ell0.sklearn import SparseMLPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 5))
    >>> y = np.sin(3 * X[:, 0]) * X[:, 1]
    >>> network = SparseMLPRegressor(lambda_=1).fit(X, y)
    >>> network.inputs_read_
    [0, 1]
    >>> network.score(X, y) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> SparseMLPRegressor:
        """Train on rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.

        Returns
        -------
        SparseMLPRegressor
            Itself.
        """
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        targets = y.reshape(len(y), -1).astype(np.float64)
        self._one_target = y.ndim == 1
        self._train(X, targets, {"task": "regression"})
        return self

    def predict(self, X: Any) -> Doubles:
        """What the network gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The targets, as many as there were.
        """
        found = self._outputs(X)
        return found[:, 0] if self._one_target else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SparseMLPClassifier(ClassifierMixin, SparseMLP):  # type: ignore[misc]
    __doc__ = f"""A network for classes that ends smaller than it began.

    Inputs are standardised.
{PARAMETERS}
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ell0.sklearn import SparseMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = SparseMLPClassifier(hidden=[16]).fit(X, y)
    >>> network.score(X, y) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> SparseMLPClassifier:
        """Train on rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            Their classes: numbers or text.

        Returns
        -------
        SparseMLPClassifier
            Itself.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, indices = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        classes = len(self.classes_)
        if classes < 2:
            raise ValueError("y has one class only; there must be at least two to choose from")
        self._train(X, indices.astype(np.int64), {"task": "classification", "classes": classes})
        return self

    def predict_proba(self, X: Any) -> Doubles:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        probabilities: Doubles = softmax(self._outputs(X))
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Some of `classes_`.
        """
        likeliest = self._outputs(X).argmax(axis=1)
        found: npt.NDArray[Any] = self.classes_[likeliest]
        return found

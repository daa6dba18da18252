"""Sparse combinations of the terms of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _ell0
from ._engine import HALF, choice, coefficients, fit, varying


def _target_names(y: Any, shape: tuple[int, ...], inputs: Sequence[str]) -> list[str]:
    """Names of targets: those that a table has, if they can be told from the inputs."""
    own = list(getattr(y, "columns", [getattr(y, "name", None)]))
    if all(isinstance(name, str) for name in own) and len({*own, *inputs}) == len(own) + len(
        inputs
    ):
        return own
    names = ["y"] if len(shape) == 1 else [f"y{k}" for k in range(shape[1])]
    while set(names) & set(inputs):
        names = [f"{name}_" for name in names]
    return names


class DictionaryRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A law of few terms: a sparse linear combination of the terms of a library.

    For each target the best law of every size is found, and one of them is chosen by the
    likelihood of the rows, a term being worth its price.

    Parameters
    ----------
    library : str, default="polynomial(3)"
        Candidate terms, such as ``"polynomial(2) + fourier(1)"``.
    method : {"exact", "sampled", "stlsq", "lasso", "ols"}, default="exact"
        How terms are chosen.
    criterion : {"likelihood", "validation", "bic"} or None, default=None
        What a law is judged by: the likelihood where nothing else is said and the method is exact,
        rows held out for other methods.
    terms : int, sequence of int or None, default=None
        Number of terms, instead of a choice by the criterion: one for all targets, or one for each.
    lambda_ : float, sequence of float or None, default=None
        Price of a term in units of the mean squared error, instead of a choice by the criterion.
    prior : float, default=0.1
        Probability that a term belongs, before the data are seen.
    seed : int, default=0
        Of the method "sampled", and of probabilities.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_terms)
        Coefficients; zero for terms that were left out.
    terms_ : list of str
        Names of the terms, in the order of PySINDy.
    intervals_ : ndarray of shape (n_targets, n_terms, 2)
        Of 95 %, for the coefficients; NaN for terms that were left out.
    equations_ : list of str
        An equation for each target.
    law_ : ell0._ell0.Equations
        The law itself. Features that are the same in every row are none of its inputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, if they have any; otherwise they are called x0, x1, … in equations.

    Examples
    --------
    >>> import numpy as np
    >>> from ell0.sklearn import DictionaryRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = 2 * X[:, 0] * X[:, 1] - 0.5 * X[:, 2] ** 2
    >>> law = DictionaryRegressor(library="polynomial(2)").fit(X, y)
    >>> law.equations_
    ['y = 2*x0*x1 - 0.5*x2^2']
    >>> law.terms_[:6]
    ['1', 'x0', 'x1', 'x2', 'x0^2', 'x0 x1']
    >>> law.score(X, y) > 0.999
    True
    """

    def __init__(
        self,
        library: str = "polynomial(3)",
        *,
        method: str = "exact",
        criterion: str | None = None,
        terms: int | Sequence[int] | None = None,
        lambda_: float | Sequence[float] | None = None,
        prior: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.library = library
        self.method = method
        self.criterion = criterion
        self.terms = terms
        self.lambda_ = lambda_
        self.prior = prior
        self.seed = seed

    def fit(self, X: Any, y: Any) -> DictionaryRegressor:
        """Find the law of each target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs; names of the columns of a table are those of the equations.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What the law is to give.

        Returns
        -------
        DictionaryRegressor
            Itself.
        """
        given = y
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        names = list(getattr(self, "feature_names_in_", map("x{}".format, range(X.shape[1]))))
        targets = _target_names(given, y.shape, names)
        self._varying = varying(X)
        if not len(self._varying):
            raise ValueError("every feature is the same in every row: nothing can be learned")
        inputs = [names[k] for k in self._varying]
        columns = [(name, X[:, k]) for name, k in zip(inputs, self._varying, strict=True)]
        columns += zip(targets, y.reshape(len(y), -1).astype(np.float64).T, strict=True)
        data = {"library": self.library, "inputs": inputs, "targets": targets}
        self.law_ = fit(choice(self), data, columns)
        self.terms_ = _ell0.terms(self.library, names)
        self.coef_, errors = coefficients(self.law_, self.terms_)
        self.intervals_ = np.stack([self.coef_ - HALF * errors, self.coef_ + HALF * errors], -1)
        self.equations_ = self.law_.text(6).splitlines()
        self._one_target = y.ndim == 1
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """What the law gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The targets, as many as there were.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        found = self.law_.predict(X[:, self._varying])
        return found[:, 0] if self._one_target else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # A parameter ends with an underscore, which would otherwise be taken for a result.
        return hasattr(self, "law_")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "law_" in state:
            state["law_"] = self.law_.to_json()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "law_" in state:
            state = {**state, "law_": _ell0.Equations.from_json(state["law_"])}
        super().__setstate__(state)

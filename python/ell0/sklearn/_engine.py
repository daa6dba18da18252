"""What the estimators hand to the engine, and what they read from its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ell0
from .._warnings import warn_of_verdicts

Doubles = npt.NDArray[np.float64]

# Half of an interval of 95 %, in standard errors.
HALF = 1.96


def listed(value: Any, kind: type) -> list[Any]:
    """One value, several, or none: a list of them.

    >>> listed(3, int), listed((2, 3), int), listed(None, int)
    ([3], [2, 3], [])
    """
    if value is None:
        return []
    return [kind(v) for v in (value if np.iterable(value) else [value])]


def choice(estimator: Any) -> dict[str, Any]:
    """Settings that say how terms are chosen."""
    return {
        "method": estimator.method,
        "criterion": estimator.criterion,
        "terms": listed(estimator.terms, int),
        "lambda": listed(estimator.lambda_, float),
        "prior": float(estimator.prior),
        "seed": int(estimator.seed),
    }


def varying(X: Doubles) -> npt.NDArray[np.intp]:
    """Columns that are not the same in every row; of others the engine has nothing to learn."""
    return np.flatnonzero((X[:1] != X).any(axis=0))


def fit(
    settings: dict[str, Any],
    data: dict[str, Any],
    columns: Sequence[tuple[str, Doubles]],
) -> _ell0.Equations:
    """The law behind columns in memory."""
    found = _ell0.fit(json.dumps({**settings, "data": data}), [(None, list(columns))], None)
    warn_of_verdicts(found)
    return found.model()


def coefficients(law: _ell0.Equations, terms: Sequence[str]) -> tuple[Doubles, Doubles]:
    """Coefficients and their standard errors: a row for each target, a column for each term.

    Errors are NaN where a term was left out, or where they are not known.
    """
    column = {name: k for k, name in enumerate(terms)}
    equations = law.terms()
    coef = np.zeros((len(equations), len(terms)))
    errors = np.full_like(coef, np.nan)
    for row, (_, kept) in enumerate(equations):
        for name, coefficient, _, error in kept:
            coef[row, column[name]] = coefficient
            errors[row, column[name]] = np.nan if error is None else error
    return coef, errors

"""An optimizer for PySINDy: ``ps.SINDy(optimizer=ell0.pysindy.L0())``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pysindy.optimizers import BaseOptimizer

from .sklearn._engine import choice, coefficients, fit, varying

__all__ = ["L0"]


#: What is left is not taken for less than this share of a target: the digits of its numbers end.
LEAST = 1e-6


def _scale(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What the penalty of each target is relative to: σ² √(ρ/σ)."""
    rows, terms = x.shape
    # About its mean where the library has a constant.
    constant = np.any(np.ptp(x, axis=0) == 0)
    size = np.sqrt(np.mean(y**2, axis=0))
    own = np.maximum(np.std(y, axis=0) if constant else size, LEAST * size)
    left = own
    if rows > terms:
        # Below the triangle of the terms stands what they leave of the targets.
        length = np.sqrt(np.mean(x**2, axis=0))
        both = np.hstack([x / np.where(length > 0, length, 1), y])
        triangle = np.asarray(np.linalg.qr(both, mode="r"))
        rest = np.linalg.norm(triangle[terms:, terms:], axis=0) / np.sqrt(rows - terms)
        left = np.maximum(rest, LEAST * size)
    scale: npt.NDArray[np.float64] = own**1.5 * np.sqrt(left)
    return scale


class L0(BaseOptimizer):  # type: ignore[misc]
    """The best law of every size, and one of them chosen, by the engine of ell0.

    For each target the law of the least mean squared error + penalty · terms is taken. The penalty
    is relative to the target's variance, and lower the less all terms together leave: where rates
    of change are nearly exact, weak terms are found, too. It suits rates that were found by
    differences, whose errors are no independent noise: a likelihood would explain them by further
    terms. For measurements, use ``ell0.Law``, which needs no rates of change.

    Parameters
    ----------
    penalty : float, default=3e-3
        Penalty of a term, as a share of the target's variance times √(ρ/σ): ρ is the standard
        deviation of the residual of least squares with all terms, σ that of the target. Of no use
        with `terms`, `lambda_` or `criterion`.
    terms : int, sequence of int or None, default=None
        Number of terms, instead of a penalty: one for all targets, or one for each.
    lambda_ : float, sequence of float or None, default=None
        Penalty of a term in units of the mean squared error: one for all targets, or one for each.
    criterion : {"likelihood", "validation", "bic"} or None, default=None
        What a law is judged by, instead of a penalty.
    method : {"exact", "sampled", "stlsq", "lasso", "ols"}, default="exact"
        How terms are chosen.
    prior : float, default=0.1
        Probability that a term belongs, before the data are seen.
    seed : int, default=0
        Of the method "sampled".
    normalize_columns : bool, default=False
        As in PySINDy; the choice does not depend on the units of the columns.
    copy_X : bool, default=True
        As in PySINDy.
    unbias : bool, default=False
        As in PySINDy: least squares again, with the terms that were chosen. Coefficients have no
        bias anyhow; rows that are far off, which the engine leaves out, would count again.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients; zero for terms that were left out.
    ind_ : ndarray of bool of shape (n_targets, n_features)
        Which are not zero.

    Examples
    --------
    >>> import numpy as np
    >>> import pysindy as ps
    >>> from ell0.pysindy import L0
    >>> t = np.linspace(0, 5, 501)
    >>> x = np.stack([2 * np.exp(-2 * t), np.exp(t)], axis=-1)
    >>> model = ps.SINDy(optimizer=L0())
    >>> _ = model.fit(x, t=t, x_dot=x * [-2, 1], feature_names=["x", "y"])
    >>> model.print()
    (x)' = -2.000 x
    (y)' =  1.000 y
    """

    def __init__(
        self,
        penalty: float = 3e-3,
        *,
        terms: int | Sequence[int] | None = None,
        lambda_: float | Sequence[float] | None = None,
        criterion: str | None = None,
        method: str = "exact",
        prior: float = 0.1,
        seed: int = 0,
        normalize_columns: bool = False,
        copy_X: bool = True,
        unbias: bool = False,
    ) -> None:
        super().__init__(normalize_columns=normalize_columns, copy_X=copy_X, unbias=unbias)
        self.penalty = penalty
        self.terms = terms
        self.lambda_ = lambda_
        self.criterion = criterion
        self.method = method
        self.prior = prior
        self.seed = seed

    def __sklearn_is_fitted__(self) -> bool:
        # A parameter ends with an underscore, which would otherwise be taken for a result.
        return hasattr(self, "coef_")

    def set_params(self, **params: Any) -> L0:
        """Set parameters; itself."""
        super().set_params(**params)
        return self

    def _reduce(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        y = np.asarray(y)
        inputs = varying(x)
        if not len(inputs):
            raise ValueError("every term is the same in every row: nothing can be learned")
        # The engine has a constant of its own, which stands for the library's.
        still = np.setdiff1d(np.flatnonzero(x[0]), inputs)[:1]
        library = "polynomial(1)" if len(still) else "polynomial(1, no-bias)"
        order = [*still, *inputs]
        names = ["1"] * len(still) + [f"c{k}" for k in inputs]
        scale = np.where(np.isin(order, still), x[0, order], 1.0)
        columns = [(f"c{k}", x[:, k]) for k in inputs]

        settings = choice(self)
        if not (settings["terms"] or settings["lambda"] or settings["criterion"]):
            settings["lambda"] = (self.penalty * _scale(x, y)).tolist()
        sizes = {key: settings.pop(key) for key in ("terms", "lambda")}
        if any(len(size) not in (0, 1, y.shape[1]) for size in sizes.values()):
            raise ValueError(f"there are {y.shape[1]} targets: give one size for each, or for all")
        if settings["criterion"] is None and any(sizes.values()):
            # Nothing is left to choose, and nothing to be said of terms outside of the library.
            settings["criterion"] = "validation"
        self.coef_ = np.zeros((y.shape[1], x.shape[1]))
        # What is always zero has no terms.
        moving = np.flatnonzero(y.any(axis=0))
        # A rate of change belongs to a state, so that there are as many at once as inputs.
        for first in range(0, len(moving), len(inputs)):
            group = moving[first : first + len(inputs)]
            own = {k: v if len(v) < 2 else [v[j] for j in group] for k, v in sizes.items()}
            states = [name for name, _ in columns]
            rates = [f"y{j}" for j in group]
            data = {
                "library": library,
                "states": states[: len(group)],
                "controls": states[len(group) :],
                "rates": rates,
            }
            targets = [(name, y[:, j]) for name, j in zip(rates, group, strict=True)]
            law = fit({**settings, **own}, data, columns + targets)
            self.coef_[np.ix_(group, order)] = coefficients(law, names)[0] / scale
        self.history_.append(self.coef_)

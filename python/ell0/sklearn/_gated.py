"""What networks with gates have in common, whether they give numbers or classes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _ell0
from .._warnings import CollapsedWarning, warn
from ._engine import Doubles, listed

# Both estimators have the same parameters, and most attributes.
PARAMETERS = """
    Parameters
    ----------
    hidden : sequence of int, default=(64, 64)
        Widths of the hidden layers.
    activation : {"relu", "tanh", "elu"}, default="relu"
        Of the hidden layers.
    gates : {"unit", "weight", "none"}, default="unit"
        Where the gates are: on inputs and hidden units, on every weight, or nowhere.
    lambda_ : float or sequence of float, default=0.1
        Price of a weight behind an open gate, divided by the number of rows; or one for each
        layer.
    epochs : int, default=200
        Rounds through the rows.
    batch : int, default=128
        Rows of a step, at most a quarter of all.
    learning_rate : float, default=1e-2
        Of weights and biases; it falls by a cosine.
    gate_rate : float or None, default=3e-2
        Learning rate of the gates; that of the weights, if there is none.
    averaging : float or None, default=0.99
        Decay of the average of the parameters that is kept.
    validation : float, default=0.0
        Share of the rows that is held out; the parameters that do best on them are kept.
    patience : int or None, default=None
        Epochs without improvement on held-out rows after which training ends.
    seed : int, default=0
        Of everything random.

    Attributes
    ----------
    network_ : ell0._ell0.SparseNetwork
        The network itself.
    widths_ : list of int
        Units that are left in each layer, inputs first.
    inputs_read_ : list of int
        Features that are still read.
    history_ : list of dict
        Its epochs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, if they have any."""


class SparseMLP(BaseEstimator):  # type: ignore[misc]
    """Parameters, training and pickling."""

    def __init__(
        self,
        hidden: Sequence[int] = (64, 64),
        *,
        activation: str = "relu",
        gates: str = "unit",
        lambda_: float | Sequence[float] = 0.1,
        epochs: int = 200,
        batch: int = 128,
        learning_rate: float = 1e-2,
        gate_rate: float | None = 3e-2,
        averaging: float | None = 0.99,
        validation: float = 0.0,
        patience: int | None = None,
        seed: int = 0,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.gates = gates
        self.lambda_ = lambda_
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.gate_rate = gate_rate
        self.averaging = averaging
        self.validation = validation
        self.patience = patience
        self.seed = seed

    def _train(self, X: Doubles, y: npt.NDArray[Any], task: dict[str, Any]) -> None:
        def one(value: Any, kind: type) -> Any:
            return None if value is None else kind(value)

        settings = {
            **task,
            "hidden": listed(self.hidden, int),
            "activation": self.activation,
            "gates": self.gates,
            "lambda": np.ravel(self.lambda_).astype(float).tolist(),
            "epochs": int(self.epochs),
            "batch": int(self.batch),
            "learning_rate": float(self.learning_rate),
            "gate_rate": one(self.gate_rate, float),
            "averaging": one(self.averaging, float),
            "validation": float(self.validation),
            "patience": one(self.patience, int),
            "seed": int(self.seed),
        }
        self.network_ = _ell0.train_network(json.dumps(settings), X, y, None)
        self.widths_ = self.network_.widths
        self.inputs_read_ = self.network_.inputs_read
        self.history_ = json.loads(self.network_.history())
        if self.network_.says_the_same_of(X):
            remedy = "; no input is read any more, and a lower price keeps some"
            warn(
                "the network gives the same for every row that it learned from"
                + (remedy if 0 in self.widths_ else ""),
                CollapsedWarning,
            )

    def _outputs(self, X: Any) -> Doubles:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_.predict(X)

    def __sklearn_is_fitted__(self) -> bool:
        # A parameter ends with an underscore, which would otherwise be taken for a result.
        return hasattr(self, "network_")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "network_" in state:
            state["network_"] = self.network_.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "network_" in state:
            state = {**state, "network_": _ell0.SparseNetwork.from_bytes(state["network_"])}
        super().__setstate__(state)

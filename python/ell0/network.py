"""Sparse networks for tables: trained, read from files, at work."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _ell0, _settings
from ._columns import Array, Doubles, as_array, is_table, numbers
from ._meaning import Names, files_of, listed
from ._progress import Progress, watching
from ._rows import classes_of, rows, text, wide
from ._warnings import CollapsedWarning, warn

#: Factors of the price where nobody says others, as of `--path`.
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)

#: Held out where something is to be chosen.
VALIDATION = 0.1


class Network:
    """A network that was trained, without what its closed gates leave out.

    Attributes
    ----------
    inputs, targets : list of str
        What goes in, and what comes out; of classes the one name of what they are classes of.
    classes : array or None
        The classes: numbers, if all of them are numbers, else words. None of a regression.
    units : list of int
        Units that are left in each layer, inputs first.
    inputs_read : list of str
        The inputs that are still read.
    history : list of dict
        Its epochs.
    """

    def __init__(self, network: _ell0.SparseNetwork) -> None:
        self._take(network)

    def _take(self, network: _ell0.SparseNetwork) -> None:
        self._network = network
        names = json.loads(network.names())
        self.inputs: list[str] = names["inputs"]
        self.targets: list[str] = names["targets"]
        self._class_names: list[str] = names["classes"]
        self.classes = classes_of(self._class_names) if self._class_names else None
        self.units = network.widths
        # Where nothing is read, one input of zero weights is kept.
        read = [] if 0 in self.units else network.inputs_read
        self.inputs_read = [self.inputs[k] for k in read]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Reads a `network.safetensors`, or the one that was chosen of a run in a folder."""
        return cls(_ell0.SparseNetwork.read(path))

    @property
    def history(self) -> list[dict[str, Any]]:
        """Its epochs; `pandas.DataFrame(network.history)` makes a table of them."""
        epochs = json.loads(self._network.history())
        assert isinstance(epochs, list)
        return epochs

    def predict(self, X: Any) -> Any:
        """What the network says of rows.

        Parameters
        ----------
        X : array or table
            Rows of the inputs in the order of `inputs`, or a table that has columns of these
            names. One row may stand by itself, as an array of one dimension.

        Returns
        -------
        array
            Of classes the likeliest for each row; of numbers one for each row, or a row of them
            if there are several targets.
        """
        values, one = self._rows(X)
        found: Array = self._network.predict(values)
        if self.classes is not None:
            found = self.classes[found.argmax(axis=1)]
        elif len(self.targets) == 1:
            found = found[:, 0]
        return found[0] if one else found

    def predict_proba(self, X: Any) -> Doubles:
        """The probability of each of `classes`, for rows as in `predict`."""
        if self.classes is None:
            raise ValueError(
                f"the network gives numbers ({', '.join(self.targets)}), and only classes have"
                " probabilities: call predict"
            )
        values, one = self._rows(X)
        logits = self._network.predict(values)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: Doubles = odds / odds.sum(axis=1, keepdims=True)
        return found[0] if one else found

    def scores(self, X: Any, y: Any = None) -> dict[str, Any]:
        """How good it is on other rows.

        Parameters
        ----------
        X : array or table
            Rows as in `predict`.
        y : array, optional
            Their classes or targets; otherwise they are columns of `X`.

        Returns
        -------
        dict
            Of classes the accuracy with its 95 % interval, log loss, confusion (a row for each
            class as it is) and calibration; of numbers the mean squared error with its interval,
            and R² of each target.
        """
        values, one = self._rows(X)
        if y is None:
            if not is_table(X):
                raise ValueError("y is missing: give what should come out for each row of X")
            held = wide(X, "X")
            given = [held.raw(name) for name in self.targets]
            y = given[0] if self.classes is not None else np.column_stack(given)
        right = as_array(y).reshape(1, -1) if one and self.classes is None else as_array(y)
        right = right.reshape(-1) if one and self.classes is not None else right
        if right.ndim == 0 or len(right) != len(values):
            raise ValueError(
                f"y has {len(right) if right.ndim else 1} rows, and X has {len(values)}:"
                " give one for each row"
            )
        if self.classes is not None:
            quality = self._network.quality(values, self._numbered(right))
        else:
            wanted = numbers(right, "y").astype(np.float64).reshape(len(right), -1)
            if wanted.shape[1] != len(self.targets):
                raise ValueError(
                    f"y has {wanted.shape[1]} columns, and the network gives"
                    f" {len(self.targets)} ({', '.join(self.targets)})"
                )
            quality = self._network.quality(values, wanted)
        found = json.loads(quality)
        assert isinstance(found, dict)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """The accuracy, or the mean R² over the targets; `scores` has all of it."""
        found = self.scores(X, y)
        return float(found["accuracy"] if "accuracy" in found else np.mean(found["r2"]))

    def _rows(self, X: Any) -> tuple[Doubles, bool]:
        """Rows of inputs, and whether it was one by itself."""
        if is_table(X):
            held = wide(X, "X")
            values = np.column_stack([held.numbers(name) for name in self.inputs])
        else:
            values = numbers(as_array(X), "X")
        one = values.ndim == 1 and len(values) == len(self.inputs)
        if values.ndim == 1:
            values = values[None] if one else values[:, None]
        values = values.reshape(len(values), -1).astype(np.float64, copy=False)
        known = np.isfinite(values)
        if not known.all():
            row, column = divmod(int(known.argmin()), values.shape[1])
            raise ValueError(
                f"X has {values[row, column]} in row {row + 1}, column {column + 1}: give numbers,"
                " or leave such rows out"
            )
        return values, one

    def _numbered(self, y: Array) -> Array:
        """Classes as their places among all."""
        assert self.classes is not None
        place = {text(c): k for k, c in enumerate(self.classes.tolist())}
        place |= {name: k for k, name in enumerate(self._class_names)}
        # Truth values are 0 and 1 where they are not words.
        truths = y.dtype.kind == "b" and not {"False", "True"} & place.keys()
        said = [text(value) for value in (y.astype(int) if truths else y).reshape(-1).tolist()]
        unknown = [word for word in said if word not in place]
        if unknown:
            raise ValueError(
                f"y has the class `{unknown[0]}`, which the network does not know; it knows"
                f" {', '.join(self._class_names)}"
            )
        return np.array([place[word] for word in said], dtype=np.int64)

    def export(
        self,
        format: str,
        folder: str | os.PathLike[str],
        name: str | None = None,
        float: bool = True,
        replace: bool = False,
    ) -> list[Path]:
        """Writes it in another language, of inputs as they are; the files.

        Parameters
        ----------
        format : str
            "c", "onnx", …, as of `ell0 export`. Of classes it gives a number each, the largest of
            which is that of the likeliest.
        folder : path
            Where to.
        name : str, optional
            Name of the function.
        float : bool
            Whether numbers have single precision, which is what it was trained in.
        replace : bool
            Whether files that are there already are replaced.
        """
        files = self._network.export(format, folder, name, float, replace)
        return [Path(file) for file in files]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes `network.safetensors`, which the command line reads, too; into a folder, if it
        is one. A file that is there is replaced, but never one that a run has left there."""
        path = Path(path)
        if path.is_dir():
            path = path / "network.safetensors"
        _ell0.save(path, self._network.to_bytes())
        return path

    def __repr__(self) -> str:
        what = "classes" if self.classes is not None else "targets"
        number = len(self._class_names or self.targets)
        shape = "-".join(map(str, self.units[:-1]))
        return f"Network({len(self.inputs)} inputs, {number} {what}; {shape} units left)"

    def __getstate__(self) -> dict[str, Any]:
        return {"network": self._network.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._take(_ell0.SparseNetwork.from_bytes(state["network"]))


class Networks:
    """What `ell0.network` gives: one network, or one for each price of a path.

    Attributes
    ----------
    networks : list of Network
        The networks, in the order of `results`.
    results : list of dict
        A row for each: accuracy or mean squared error with its 95 % interval and the rows that it
        was measured on, the number of rows that are copies of others, confusion, calibration,
        units, inputs that are read, parameters, operations, epochs, seconds, and whether it was
        chosen.
    folder : Path or None
        Where the run is kept.
    """

    def __init__(self, run: _ell0.NetworkRun, folder: Path | None = None) -> None:
        self.folder = folder
        self.results: list[dict[str, Any]] = json.loads(run.rows())
        if not self.results:
            raise ValueError(
                f"the run in {folder} is not finished: ell0.resume_network({str(folder)!r})"
                " goes on with it"
            )
        self._told = run.told()
        self.networks = [Network(network) for network in run.networks()]
        self._epochs = run.epochs()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Networks:
        """Reads the folder of a run, one of `ell0 network` too."""
        return cls(_ell0.NetworkRun.read(folder), Path(folder))

    @property
    def result(self) -> dict[str, Any]:
        """The row of the network that was chosen."""
        return next(row for row in self.results if row["chosen"])

    @property
    def network(self) -> Network:
        """The network that was chosen: the smallest that is about as good as the best."""
        return self.networks[self.results.index(self.result)]

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """Every epoch of every network: errors, open units, ….

        `pandas.DataFrame(networks.epochs)` makes a table of it.
        """
        epochs = json.loads(self._epochs)
        assert isinstance(epochs, list)
        return epochs

    @property
    def warning(self) -> str | None:
        """What is wrong with the network that was chosen, if it says the same of every row."""
        return self._told[self.results.index(self.result)][1]

    def _warn(self) -> Networks:
        if self.warning is not None:
            warn(self.warning, CollapsedWarning)
        return self

    def report(self) -> Path:
        """The page of the run."""
        if self.folder is None:
            raise ValueError("there is no page: train with out=… to have one")
        return self.folder / "report.html"

    def __repr__(self) -> str:
        classes = self.result["task"] == "classification"
        what = "accuracy" if classes else "mse"
        lines = [f"{'λ':>10} {what:>10} {'95 % interval':>21} {'units left':>14} {'params':>8}"]
        for row in self.results:
            low, high = row["interval"]
            value = row["accuracy"] if classes else row["test_mse"]
            shape = "-".join(map(str, row["units"][:-1]))
            price = ",".join(f"{price:g}" for price in row["lambda"])
            interval = f"{low:.4g} … {high:.4g}"
            mark = " ←" if row["chosen"] and len(self.results) > 1 else ""
            size = f"{shape:>14} {row['parameters']:>8}{mark}"
            lines.append(f"{price:>10} {value:>10.4g} {interval:>21} {size}")
        measured, warning = self._told[self.results.index(self.result)]
        lines += measured if warning is None else [f"Warning: {warning}.", *measured]
        return "\n".join(lines)


def network(
    data: Any,
    *,
    inputs: Names = None,
    targets: Any = None,
    class_: str | None = None,
    labels: Any = None,
    test: Any = None,
    test_labels: Any = None,
    test_share: float = 0.2,
    drop_missing: bool = False,
    hidden: int | Sequence[int] = (64, 64),
    activation: str = "relu",
    gates: str = "unit",
    noise: str = "batch",
    lambda_: float | Sequence[float] = 0.1,
    path: bool | Sequence[float] | None = None,
    warmup: int = 0,
    decay: float = 0.0,
    input_noise: float = 0.0,
    drop_rate: float = 0.2,
    init: str = "he",
    scaling: str = "each",
    class_weights: str | Mapping[Any, float] = "equal",
    epochs: int = 200,
    batch: int = 128,
    learning_rate: float = 0.01,
    gate_rate: float | None = None,
    schedule: str = "cosine",
    averaging: float | None = 0.99,
    validation: float | None = None,
    patience: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = None,
) -> Networks:
    """Trains a sparse network on a table, as `ell0 network` does.

    Parameters
    ----------
    data : path, array, table, or a list of these
        Files (CSV, Parquet, NPZ, NPY, IDX); or an array, a table of pandas, polars or Arrow, or a
        dictionary of columns, where an array `a` of several dimensions is a_0, a_1, ….
        The columns of an array are x0, x1, …; those of images x_0, x_1, ….
    inputs : list of str, optional
        Columns that go in, all others by default; the name of an array stands for all its columns.
    targets : list of str, or array or table beside data in memory, optional
        Columns of numbers that are to come out.
    class_ : str, optional
        The column, of numbers or words, that tells the class.
    labels : array, or paths beside files, optional
        The class of each row, if it is no column of the data.
    test, test_labels : path or list of paths, optional
        Files of rows that only tell how good the network is, and of their classes. Rows with the
        same inputs as a row to learn from are left out.
    test_share : float
        Without `test`, the share of the rows that only tells how good it is. Rows with the same
        inputs stand on one side.
    drop_missing : bool
        Whether rows with NaN are left out. Otherwise they are an error.
    hidden : int or list of int
        Widths of the hidden layers.
    activation : {"relu", "tanh", "elu"}
        What hidden units do.
    gates : {"unit", "weight", "none"}
        Where the gates are: on inputs and hidden units, on every weight, or nowhere.
    noise : {"batch", "row"}
        How often gates are drawn.
    lambda_ : float or list of float
        Price of a weight behind an open gate, divided by the number of rows; or one for each
        layer.
    path : bool or list of float, optional
        Factors of the price, True for 0.1, 0.3, 1, 3 and 10: a network is trained for each, and
        the smallest that is about as good as the best on held-out rows is chosen.
    warmup : int
        Epochs over which the price grows from nothing.
    decay : float
        Weight decay inside the gates, divided by the number of rows.
    input_noise : float
        Deviation of noise that is added to the scaled inputs, anew at every step: what is learned
        has to bear it, and generalises better.
    drop_rate : float
        Share of gates that are closed at first.
    init : {"he", "torch"}
        How weights are drawn at first.
    scaling : {"each", "together", "none"}
        How inputs are brought to mean 0 and deviation 1: together suits pixels.
    class_weights : {"equal", "balanced"} or dict
        How much the rows of each class count.
    epochs, batch : int
        Rounds through the rows, and rows of a step.
    learning_rate, gate_rate : float
        Of weights and biases, and of the gates: three times as much, unless it is said.
    schedule : {"cosine", "linear", "step", "constant"}
        How both change over the epochs.
    averaging : float, optional
        Decay of the average of the parameters that is kept; 0 or None for no average.
    validation : float, optional
        Share of the rows that is held out, and on which an epoch or a price is chosen; 0, or 0.1
        with `patience` or `path`.
    patience : int, optional
        Epochs without improvement on held-out rows after which training ends.
    seed : int
        Seed of everything random.
    out : path, optional
        Where the run is kept: network, C and ONNX, results, curves and a page.
    force : bool
        Whether the folder of another run is replaced.
    progress : bool or callable, optional
        True shows bars (by default where somebody looks), a function of (kind, task, number, note)
        hears what happens. Ctrl-C stops, as does a function that returns False; what is in a
        folder and learns from files goes on with `ell0.resume_network`.

    Returns
    -------
    Networks
        The networks, and how good they are.

    Warns
    -----
    CollapsedWarning
        If the network that was chosen says the same of every row.

    Examples
    --------
    >>> import numpy as np
    >>> import ell0
    >>> x = np.random.default_rng(0).normal(size=(400, 3))
    >>> kind = np.where(x[:, 0] > 0, "high", "low")
    >>> found = ell0.network(x, labels=kind, hidden=8, epochs=60, lambda_=1, progress=False)
    >>> found.network.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]).tolist()
    ['high', 'low']
    >>> found.result["accuracy"] > 0.9
    True
    """
    if class_ is None and targets is None and labels is None:
        raise ValueError(
            "what is to come out? class_ names a column of classes, targets columns of numbers,"
            " labels gives the class of each row"
        )
    if force and out is None:
        raise ValueError("force is for a run in a folder: give out=…")
    factors = _factors(path)
    if gates == "none" and factors:
        raise ValueError("path tries prices of gates, and gates='none' has none")
    columns = listed(inputs, "inputs")
    meaning: dict[str, Any] = {
        "inputs": columns,
        "test": _files(test, "test"),
        "test_labels": _files(test_labels, "test_labels"),
        "test_share": test_share if test is None else 0.0,
        "drop_missing": bool(drop_missing),
    }
    tables = None
    files = files_of(data)
    if files:
        meaning |= {"files": files, "labels": _files(labels, "labels"), "class": class_}
        meaning["targets"] = listed(targets, "targets")
    else:
        if sum(given is not None for given in (class_, targets, labels)) > 1:
            raise ValueError("give one of class_, targets and labels: only one can come out")
        held = rows(data, columns, targets, class_, labels, drop_missing)
        meaning |= {"targets": held.targets, "class": held.class_}
        meaning["class_names"] = held.class_names
        tables = held.tables
    if validation is None:
        validation = VALIDATION if patience is not None or len(factors) > 1 else 0.0
    settings = {
        "path": factors,
        "data": meaning,
        "network": {
            "hidden": [hidden] if np.ndim(hidden) == 0 else list(hidden),  # type: ignore[arg-type]
            "activation": activation,
            "gates": gates,
            "noise": noise,
            "lambda": np.ravel(lambda_).astype(float).tolist(),
            "warmup": warmup,
            "decay": decay,
            "input_noise": input_noise,
            "drop_rate": drop_rate,
            "init": init,
            "scaling": scaling,
            "class_weights": _weights(class_weights),
            "epochs": epochs,
            "batch": batch,
            "learning_rate": learning_rate,
            "gate_rate": 3.0 * learning_rate if gate_rate is None else gate_rate,
            "schedule": schedule,
            "averaging": averaging or None,
            "validation": validation,
            "patience": patience,
            "seed": seed,
        },
    }
    site = None if out is None else (out, force)
    with watching(progress) as callback:
        run = _ell0.network(_settings.written(settings), tables, site, callback)
    return Networks(run, None if out is None else Path(out))._warn()


def resume_network(folder: str | os.PathLike[str], progress: Progress = None) -> Networks:
    """Goes on with the run in a folder, to the same bits as if it had not been interrupted.

    One that learned from tables in memory cannot be gone on with: its folder does not have them.
    """
    with watching(progress) as callback:
        run = _ell0.resume_network(folder, callback)
    return Networks(run, Path(folder))._warn()


def read_network(path: str | os.PathLike[str]) -> Networks | Network:
    """Reads the folder of a run, or a single network from its file."""
    return Networks.load(path) if Path(path).is_dir() else Network.load(path)


def _factors(path: bool | Sequence[float] | None) -> list[float]:
    if path is None or path is False:
        return []
    return list(FACTORS) if path is True else np.ravel(path).astype(float).tolist()


def _files(given: Any, what: str) -> list[str]:
    """Paths, one or several."""
    files = [] if given is None else files_of(given)
    if given is not None and not files:
        remedy = {
            "test": "rows in memory are measured with score(X, y) of the network",
            "test_labels": "labels in memory are measured with score(X, y) of the network",
            "labels": "labels in memory are for data in memory",
        }[what]
        raise TypeError(f"{what} must name files: {remedy}")
    return files


def _weights(weights: str | Mapping[Any, float]) -> str:
    """Weights of classes in the words of the command line."""
    if isinstance(weights, str):
        return weights
    named = {text(name): weight for name, weight in weights.items()}
    torn = [name for name in named if "," in name or name != name.strip()]
    if torn or not named:
        about = f"`{torn[0]}` has a comma or blanks around it" if torn else "there are none"
        raise ValueError(f"class_weights: {about}; name classes, as in {{'spam': 5, 'ham': 1}}")
    return ",".join(f"{name}={float(weight)!r}" for name, weight in named.items())

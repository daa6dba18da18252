"""Closed forms: what can be done with equations, wherever they come from."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import _ell0
from ._columns import Doubles, as_array, is_run, is_table, matrix, table

#: Digits that are shown.
DIGITS = 5


class NotFittedError(ValueError, AttributeError):
    """Something was asked of a law that it does not know (yet)."""


class ClosedForm:
    """Equations of some inputs; the part of a law that needs no data."""

    _model: _ell0.Equations | None = None
    #: The number of inputs, so that a prediction need not ask for it.
    _width: int = 0

    def _take(self, model: _ell0.Equations) -> None:
        self._model = model
        self._width = len(model.inputs)

    def _equations(self) -> _ell0.Equations:
        if self._model is None:
            raise NotFittedError("there is no law yet: call fit(X, t=…) first, or load one")
        return self._model

    def __str__(self) -> str:
        return repr(self) if self._model is None else self._model.text(DIGITS)

    @property
    def equations(self) -> list[str]:
        """The equations, for reading: one for each target."""
        return self._equations().text(DIGITS).splitlines()

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, states before controls: the columns that `predict` expects."""
        return self._equations().inputs

    @property
    def targets(self) -> list[str]:
        """Names of what the equations give: of states their rates of change, or next values."""
        return self._equations().targets

    @property
    def feature_names(self) -> list[str]:
        """Names of the candidate terms, in PySINDy's order and spelling."""
        model = self._equations()
        if model.library is not None:
            return _ell0.terms(model.library, model.inputs)
        terms = (term[0] for _, terms in model.terms() for term in terms)
        return list(dict.fromkeys(terms))

    @property
    def coefficients(self) -> Doubles:
        """Coefficients, targets × terms, in the order of `feature_names`."""
        model = self._equations()
        place = {name: k for k, name in enumerate(self.feature_names)}
        found = np.zeros((len(model.targets), len(place)))
        written = json.loads(model.to_json())["equations"]
        for row, (target, terms) in enumerate(model.terms()):
            if not terms and written[row]["expression"] != "0":
                raise ValueError(f"the equation of `{target}` is no sum of terms: it has no list")
            for name, coefficient, _, _ in terms:
                found[row, place[name]] = coefficient
        return found

    def predict(self, X: Any, u: Any = None) -> Any:
        """What the equations give for some rows: rates of change, next states, or targets.

        Parameters
        ----------
        X : array or table
            Rows of the inputs in the order of `inputs`, or a table that has columns of these
            names. One row may stand by itself, as an array of one dimension. A list of runs
            gives a list of results.
        u : array or table, optional
            Controls, if `X` holds the states alone.

        Returns
        -------
        array
            A row for each row; of one row by itself an array of one dimension.

        Examples
        --------
        >>> import numpy as np
        >>> import ell0
        >>> t = np.arange(400) * 0.01
        >>> law = ell0.Law().fit(0.5 + 2.5 * np.exp(-2 * t), t=t)
        >>> law.predict(np.array([3.0])).round(3)
        array([-5.])
        """
        # One row must take microseconds, so the usual case comes first.
        if u is None and type(X) is np.ndarray and X.dtype.char == "d" and self._model is not None:
            if X.ndim == 2:
                return self._model.predict(X)
            if X.ndim == 1 and X.shape[0] == self._width:
                return self._model.predict(X[None])[0]
        model = self._equations()
        if isinstance(X, (list, tuple)) and any(is_run(x) for x in X):
            if u is not None and len(u) != len(X):
                raise ValueError(f"u has {len(u)} entries, and there are {len(X)} runs")
            return [self.predict(x, None if u is None else u[k]) for k, x in enumerate(X)]
        one = not is_table(X) and (array := as_array(X)).ndim == 1
        if one:
            held = 0 if u is None else np.size(u)
            one = len(array) + held == self._width
            X = array[None] if one else array
            u = np.reshape(u, (1, -1)) if one and u is not None else u
        rows = self._rows(X, u, model)
        return model.predict(rows)[0] if one else model.predict(rows)

    def _rows(self, X: Any, u: Any, model: _ell0.Equations) -> Doubles:
        """Rows of all inputs."""
        parts = []
        needed = model.inputs
        for place, part in (("X", X), ("u", u)):
            if part is None:
                continue
            if is_table(part):
                held = table(part, place)
                # Beside controls of their own, a table has the states.
                names = needed if u is None else [n for n in needed if n in held.names]
                parts.append(np.column_stack([held.numbers(name) for name in names]))
            else:
                parts.append(matrix(part, place))
        if len({len(part) for part in parts}) > 1:
            raise ValueError(
                f"X has {len(parts[0])} rows, and u has {len(parts[1])}: give one for each row"
            )
        return np.hstack(parts).astype(np.float64, copy=False)

    def to_latex(self, digits: int = DIGITS) -> str:
        """The equations in LaTeX, as an `align*`."""
        return self._equations().latex(digits)

    def to_sympy(self) -> dict[str, Any]:
        """The right-hand sides as expressions of SymPy, by their targets.

        Their symbols have no assumptions, so that `sympy.Symbol("x")` is one of them, and names
        will do: `sympy.diff(right, "x")`. Inputs are real numbers all the same, of which SymPy
        makes use after `right.subs("x", sympy.Symbol("x", real=True))`, as for |x|.

        Examples
        --------
        >>> import numpy as np
        >>> import ell0
        >>> t = np.arange(400) * 0.01
        >>> law = ell0.Law().fit(0.5 + 2.5 * np.exp(-2 * t), t=t)
        >>> {target: right.evalf(3) for target, right in law.to_sympy().items()}
        {'x0': 1.0 - 2.0*x0}
        """
        from ._sympy import expression

        model = self._equations()
        written = json.loads(model.to_json())["equations"]
        return {e["target"]: expression(e["expression"], model.inputs) for e in written}

    def export(
        self,
        format: str,
        folder: str | os.PathLike[str],
        name: str | None = None,
        float: bool = False,
        replace: bool = False,
    ) -> list[Path]:
        """Writes the equations in another language, with a test that compares both.

        Parameters
        ----------
        format : str
            "c", "rust", "python", "sympy", "latex", "matlab", "onnx" or "json".
        folder : path
            Where to.
        name : str, optional
            Name of the function.
        float : bool
            Whether numbers have single precision.
        replace : bool
            Whether files that are there already are replaced.

        Returns
        -------
        list of Path
            The files.
        """
        files = self._equations().export(format, os.fspath(folder), name, float, replace)
        return [Path(file) for file in files]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes `model.json`, which the command line reads, too; into a folder, if it is one.

        A file that is there is replaced, but never a file that a run has left in its folder.
        """
        text = self._equations().to_json()
        path = Path(path)
        if path.is_dir():
            path = path / "model.json"
        _ell0.save(path, text.encode())
        return path

    def _repr_latex_(self) -> str | None:
        return None if self._model is None else self.to_latex()

    def _repr_html_(self) -> str:
        if self._model is None:
            return f"<pre>{escape(repr(self))}</pre>"
        lines = "".join(f"<div>{line}</div>" for line in self._model.mathml(DIGITS))
        return f'<div style="line-height: 2">{lines}</div>'

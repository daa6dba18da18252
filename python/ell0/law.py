"""Laws: found in data, read from files, at work."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from . import _ell0, _settings, _told
from ._closed import NotFittedError
from ._meaning import Meaning, Names
from ._progress import Progress, watching
from ._tables import measurements
from ._warnings import warn_of_verdicts
from ._working import Working


class Law(Working):
    """A sparse law in closed form, found in measurements.

    Parameters
    ----------
    library : str or dict
        The candidate terms, as in "polynomial(3) + fourier(1)". A dictionary gives single
        equations their own, by their targets; `None` in it stands for all others.
    method : {"exact", "sampled", "stlsq", "lasso", "ols"}
        How terms are chosen.
    criterion : {"likelihood", "validation", "bic"}, optional
        What a law is judged by; the likelihood of the measurements, where the method allows it.
    terms : int or list of int, optional
        The number of terms of each equation, instead of a choice by the criterion.
    lambda_ : float or list of float, optional
        The price of a term, instead of a choice by the criterion.
    threshold : float, optional
        Of the method "stlsq": smaller coefficients are cut.
    derivative : str
        How rates of change are found: "auto", "fd2", "fd4", "savgol", "weak", "weak(10)", ….
    prior : float
        Probability that a term belongs, before the data are seen.
    seed : int
        Seed of all that is drawn.
    discrete : bool
        Whether the law gives the next row instead of rates of change.
    input_noise : float or dict, optional
        The standard deviation of the errors with which inputs were measured, in the units of
        their columns: one for all, or by their names. Coefficients of regressions, discrete laws
        and laws of known rates are corrected for them.
    drop_missing : bool
        Whether rows with NaN are left out. Otherwise they are an error.
    drop_short : bool
        Whether runs with too few rows are left out. Otherwise they are an error.

    Examples
    --------
    >>> import numpy as np
    >>> import ell0
    >>> t = np.arange(400) * 0.01
    >>> x = 0.5 + 2.5 * np.exp(-2 * t)
    >>> law = ell0.Law(library="polynomial(2)").fit(x, t=t, names=["x"])
    >>> print(law)  # doctest: +ELLIPSIS
    x' = 1 - 2*x
    x: explained...
    >>> law.feature_names
    ['1', 'x', 'x^2']
    >>> law.coefficients.round(3)
    array([[ 1., -2.,  0.]])
    """

    def __init__(
        self,
        library: str | Mapping[str | None, str] = _settings.LIBRARY,
        *,
        method: str = "exact",
        criterion: str | None = None,
        terms: int | Sequence[int] | None = None,
        lambda_: float | Sequence[float] | None = None,
        threshold: float | None = None,
        derivative: str = "auto",
        prior: float = 0.1,
        seed: int = 0,
        discrete: bool = False,
        input_noise: float | Mapping[str, float] | None = None,
        drop_missing: bool = False,
        drop_short: bool = False,
    ) -> None:
        self.library = library
        self.method = method
        self.criterion = criterion
        self.terms = terms
        self.lambda_ = lambda_
        self.threshold = threshold
        self.derivative = derivative
        self.prior = prior
        self.seed = seed
        self.discrete = discrete
        self.input_noise = input_noise
        self.drop_missing = drop_missing
        self.drop_short = drop_short
        self._found: _ell0.Found | None = None
        self._told: _told.Told | None = None

    def __repr__(self) -> str:
        usual = _settings.of(Law())
        changed = {k: v for k, v in _settings.of(self).items() if v != usual[k]}
        return f"Law({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def fit(
        self,
        X: Any,
        t: Any = None,
        u: Any = None,
        x_dot: Any = None,
        *,
        states: Names = None,
        controls: Names = None,
        names: Names = None,
        inputs: Names = None,
        targets: Names = None,
        time: str | None = None,
        trajectory: str | None = None,
        progress: Progress = None,
    ) -> Law:
        """Finds the law behind measurements.

        Double precision is not copied, however it lies in memory.

        Parameters
        ----------
        X : array, table, path, or a list of these
            Rows of states: an array of two dimensions (or one, for one state), a table of
            pandas, polars or Arrow, a dictionary of columns, or a file as on the command line.
            A list has a run in each entry, and nothing is differenced across their ends.
        t : array, float, or a list of arrays, optional
            The time of each row, or the time between rows. A list has one for each run.
            Not needed for tables with a column `t` or `time`, discrete laws, and known rates.
        u : array or table, or a list of these, optional
            What acts on the states from outside, a row for each row of `X`.
        x_dot : array or table, list of these, or names of columns, optional
            Rates of change, where they are known; nothing is differenced then.
        states : list of str, optional
            Columns whose law is wanted; all that have no other part, unless `X` is a file.
        controls : list of str, optional
            Columns that act on the states, or the names of those of `u`.
        names : list of str, optional
            Names of the columns of an array, and of `u` after them; x0, x1, …, u0, … otherwise.
        inputs, targets : list of str, optional
            Columns of a plain regression, instead of states.
        time : str, optional
            The column of time; `t` or `time` otherwise, if there is one that is no state.
        trajectory : str, optional
            The column that tells experiments apart; rows of one stand together.
        progress : bool or callable, optional
            Whether bars are shown, which needs tqdm; unless it is said, they are shown in
            terminals and notebooks after a second. A function hears (kind, task, number, note),
            and stops the fit when it returns False.

        Returns
        -------
        Law
            Itself.

        Raises
        ------
        ValueError, TypeError
            If something is wrong with data or settings; the sentence says what, and where.
        KeyboardInterrupt
            If it was stopped.

        Warns
        -----
        NoLawWarning
            If no law was found for some target.
        MissingTermWarning
            If the library may lack a term of some equation.
        """
        said = Meaning.of(states, controls, inputs, targets, names, time, trajectory)
        given = measurements(X, t, u, x_dot, said)
        settings = _settings.of_fit(self, given.roles)
        with watching(progress) as callback:
            found = _ell0.fit(settings, given.tables, callback)
        return self._of(found, warns=True)

    def _of(self, found: _ell0.Found, warns: bool = False) -> Law:
        """The law that was found."""
        self._found, self._told = found, None
        self._take(found.model())
        if warns:
            warn_of_verdicts(found)
        return self

    @property
    def verdicts(self) -> dict[str, str]:
        """How far each equation explains what it gives, by its target.

        There are none where a law was not held against measurements: those of other criteria than
        the likelihood, and those that were read as a model alone.
        """
        if self._found is None and self._told is None:
            return {}
        return {target: verdict for target, (verdict, _) in self._all()["words"].items()}

    def __str__(self) -> str:
        told = [f"{target}: {verdict}" for target, verdict in self.verdicts.items()]
        return "\n".join([super().__str__(), *told])

    @property
    def intervals(self) -> Any:
        """The terms, with intervals of 95 % and the probability that they belong.

        A DataFrame, or a list of dictionaries without pandas, with the columns `target`, `term`,
        `coefficient`, `low`, `high` and `probability`.
        """
        return _told.as_table(_told.intervals(self._equations()))

    @property
    def path(self) -> Any:
        """The best law of every size of each target: a DataFrame, or a list of dictionaries."""
        return _told.as_table(self._all()["found"]["path"])

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What a fit says: about the data, each equation, and what was left out."""
        return _told.diagnostics(self._all())

    def _all(self) -> _told.Told:
        """Everything that a fit found; kept, since it may be asked for often."""
        if self._told is None:
            self._told = _told.told(self._fitted())
        return self._told

    def _fitted(self) -> _ell0.Found:
        self._equations()
        if self._found is None:
            raise NotFittedError(
                "this is the model alone, without what was found beside it: fit, or read the"
                " folder of a fit with Law.read(folder)"
            )
        return self._found

    def write(self, folder: str | os.PathLike[str], replace: bool = False) -> Path:
        """Writes the folder that `ell0 fit` leaves: model, path, figures, page."""
        return Path(self._fitted().write(os.fspath(folder), replace))

    def report(self, folder: str | os.PathLike[str] | None = None, replace: bool = False) -> Path:
        """Writes the folder of the fit, for the time being unless one is named; its page."""
        return self.write(folder or Path(mkdtemp(prefix="ell0-")) / "law", replace) / "report.html"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Law:
        """Reads a `model.json`, or the folder of a fit.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import ell0
        >>> t = np.arange(400) * 0.01
        >>> law = ell0.Law().fit(0.5 + 2.5 * np.exp(-2 * t), t=t)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(ell0.Law.load(law.save(folder)))
        x0' = 1 - 2*x0
        """
        if (Path(path) / "discovery.json").exists():
            return cls.read(path)
        model = _ell0.Equations.read(os.fspath(path))
        law = cls(model.library or _settings.LIBRARY, discrete=model.dynamics == "discrete")
        law._take(model)
        return law

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Law:
        """Reads the folder of a fit, with all that was found."""
        found = _ell0.Found.read(os.fspath(folder))
        return cls(**_settings.read(found.settings()))._of(found)

    def __getstate__(self) -> dict[str, Any]:
        # Figures and pages can be had again by another fit, so words and numbers are enough.
        state = {k: v for k, v in self.__dict__.items() if k not in ("_model", "_found")}
        if self._model is not None:
            state["model"] = self._model.to_json()
        if self._found is not None:
            state["_told"] = self._all()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("model", None)
        self.__dict__.update(state, _found=None)
        if model is not None:
            self._take(_ell0.Equations.from_json(model))

    def __copy__(self) -> Law:
        # What was found never changes, so that copies share it.
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Law:
        return copy(self)

    def _repr_html_(self) -> str:
        charts = dict(self._found.figures()) if self._found is not None else {}
        verdicts = (
            f"<div>{escape(target)}: {escape(verdict)}</div>"
            for target, verdict in self.verdicts.items()
        )
        return super()._repr_html_() + "".join(verdicts) + charts.get("path", "")

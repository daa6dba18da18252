"""Statistics of measurements in parts: gathered anywhere, merged, fitted together."""

from __future__ import annotations

import json
from typing import Any

from . import _ell0, _settings
from ._meaning import Meaning, Names, listed
from ._progress import Progress, watching
from ._tables import measurements
from .law import Law


class Statistics:
    """Statistics of rows, however many, from which laws are found without the rows.

    They are small, can be pickled and merged, and the law of the merged ones is that of all the
    data at once. Rows of one experiment belong into one `update`: nothing is differenced across
    two.

    Parameters
    ----------
    library : str or dict
        The candidate terms, as in `Law`.
    states, controls : list of str, optional
        Columns whose law is wanted, and those that act on them from outside.
    inputs, targets : list of str, optional
        Columns of a plain regression, instead of states.
    rates : list of str, optional
        Columns that hold the rates of change of the states, in their order.
    time, trajectory : str, optional
        The column of time, and the one that tells experiments apart.
    dt : float, optional
        The time between rows, where there is no column of it.
    discrete : bool
        Whether the law gives the next row instead of rates of change.
    derivative : str
        How rates of change are found. Parts that are to be folded are best given one way, such as
        "weak(20)": "auto" looks at the noise of each.
    drop_missing, drop_short : bool
        Whether rows with NaN, and runs with too few rows, are left out.
    samples : bool
        Whether a bounded number of rows comes along, by which laws are judged.

    Examples
    --------
    >>> import pickle
    >>> import numpy as np
    >>> import ell0
    >>> def part(seed):
    ...     a, b = np.random.default_rng(seed).normal(size=(2, 1000))
    ...     return {"a": a, "b": b, "y": 2 * a - 0.5 * a * b}
    >>> first, second = (
    ...     ell0.Statistics("polynomial(2)", inputs=["a", "b"], targets=["y"]).update(part(seed))
    ...     for seed in (0, 1)
    ... )
    >>> both = first.merge(pickle.loads(pickle.dumps(second)))
    >>> both.rows
    2000
    >>> both.law().equations
    ['y = 2*a - 0.5*a*b']
    """

    def __init__(
        self,
        library: str | dict[str | None, str] = _settings.LIBRARY,
        *,
        states: Names = None,
        controls: Names = None,
        inputs: Names = None,
        targets: Names = None,
        rates: Names = None,
        time: str | None = None,
        trajectory: str | None = None,
        dt: float | None = None,
        discrete: bool = False,
        derivative: str = "auto",
        drop_missing: bool = False,
        drop_short: bool = False,
        samples: bool = True,
    ) -> None:
        self._said = Meaning.of(states, controls, inputs, targets, None, time, trajectory)
        if not (self._said.states or self._said.inputs):
            raise ValueError(
                "which columns? Name the states whose law is wanted, or the inputs and targets of a"
                " plain regression"
            )
        self._rates = listed(rates, "rates")
        self._dt = dt
        self._asked: dict[str, Any] = {
            "library": library,
            "discrete": discrete,
            "derivative": derivative,
            "drop_missing": drop_missing,
            "drop_short": drop_short,
        }
        said = self._said
        roles = {
            "states": said.states,
            "controls": said.controls,
            "inputs": said.inputs,
            "targets": said.targets,
            "rates": self._rates,
            "time": time,
            "trajectory": trajectory,
            "dt": dt,
        }
        data = json.loads(_settings.of_fit(Law(**self._asked), roles))["data"]
        self._gathered = _ell0.Statistics(json.dumps(data), samples)

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._gathered.rows

    def __repr__(self) -> str:
        of = self._said.states or self._said.targets
        return f"Statistics of {self.rows} rows for {', '.join(of)}"

    def update(self, X: Any, progress: Progress = None) -> Statistics:
        """Adds rows.

        Parameters
        ----------
        X : table, path, or a list of these
            A table or batch of Arrow, a table of pandas or polars, a dictionary of columns, or
            files; each is an experiment of its own, or several that `trajectory` tells apart.
        progress : bool or callable, optional
            As in `Law.fit`.

        Returns
        -------
        Statistics
            Itself.
        """
        given = measurements(X, self._dt, None, self._rates or None, self._said)
        files = [] if given.tables is not None else given.roles["files"]
        with watching(progress) as callback:
            self._gathered.update(given.tables, files, callback)
        return self

    def merge(self, *others: Statistics) -> Statistics:
        """Adds statistics that were gathered elsewhere; itself."""
        for other in others:
            self._gathered.merge(other._gathered)
        return self

    def law(
        self,
        *,
        method: str = "exact",
        criterion: str | None = None,
        terms: int | list[int] | None = None,
        lambda_: float | list[float] | None = None,
        threshold: float | None = None,
        prior: float = 0.1,
        seed: int = 0,
        progress: Progress = None,
    ) -> Law:
        """The law behind all rows; the settings are those of `Law`."""
        law = Law(
            **self._asked,
            method=method,
            criterion=criterion,
            terms=terms,
            lambda_=lambda_,
            threshold=threshold,
            prior=prior,
            seed=seed,
        )
        with watching(progress) as callback:
            found = self._gathered.fit(_settings.of_fit(law, {}), callback)
        return law._of(found, warns=True)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_gathered": self._gathered.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        gathered = _ell0.Statistics.from_bytes(state["_gathered"])
        self.__dict__.update(state, _gathered=gathered)

"""Laws of states at work: simulated, held against data, analysed."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _settings, _told
from ._closed import ClosedForm
from ._columns import Doubles, is_table, matrix, table
from ._meaning import Meaning, Names
from ._progress import Progress, watching
from ._tables import Measurements, measurements


class Working(ClosedForm):
    """What a law does with data once it is known."""

    #: How data are looked at, as for a fit.
    derivative: str
    drop_missing: bool
    drop_short: bool

    def simulate(self, x0: Any, t: Any, u: Any = None) -> Doubles:
        """The trajectory from an initial state.

        Parameters
        ----------
        x0 : array or dict
            The initial state, in the order of `targets` or by their names.
        t : array, or int for a discrete law
            The times, the first of which is that of `x0`; or the number of rows, `x0` included.
        u : array or table, optional
            Controls, a row for each time: each holds until the next.

        Returns
        -------
        array
            A row of states for each time. If the trajectory leaves all bounds there are fewer,
            and a RuntimeWarning says where it ended.

        Examples
        --------
        >>> import numpy as np
        >>> import ell0
        >>> t = np.arange(400) * 0.01
        >>> law = ell0.Law().fit(0.5 + 2.5 * np.exp(-2 * t), t=t)
        >>> law.simulate([3.0], [0.0, 1.0]).round(3)
        array([[3.   ],
               [0.838]])
        """
        model = self._equations()
        if isinstance(x0, Mapping):
            missing = [name for name in model.targets if name not in x0]
            if missing:
                raise ValueError(
                    f"x0 has no `{missing[0]}`: give all of {', '.join(model.targets)}"
                )
            x0 = [x0[name] for name in model.targets]
        initial = np.asarray(x0, dtype=np.float64).reshape(-1).tolist()
        if model.dynamics == "discrete":
            if not isinstance(t, (int, np.integer)):
                raise TypeError(f"t is {t!r}: a discrete law is simulated for a number of rows")
            times = list(map(float, range(t)))
        else:
            if np.ndim(t) != 1:
                raise TypeError(f"t is {t!r}: give the times, as in numpy.arange(0, 10, 0.01)")
            times = np.asarray(t, dtype=np.float64).tolist()
        forces: list[list[float]] = []
        clock: list[float] = []
        if u is not None:
            if callable(u):
                raise TypeError("u is a function: give its values at the times t")
            if not model.controls:
                raise ValueError("this law has no controls: leave u out")
            held = table(u, "u") if is_table(u) else None
            columns = [held.numbers(name) for name in model.controls] if held else matrix(u, "u").T
            forces = [column.tolist() for column in columns]
            # The last row of a discrete law needs no controls: nothing comes after it.
            short = model.dynamics == "discrete" and len(forces[0]) == len(times) - 1
            clock = times[:-1] if short else times
        _, found, stopped = model.simulate(initial, times, clock, forces)
        if stopped is not None:
            warnings.warn(f"the trajectory ends early: {stopped}", RuntimeWarning, stacklevel=2)
        return found

    def _measured(self, X: Any, t: Any, u: Any, x_dot: Any, named: dict[str, Any]) -> Measurements:
        """Data whose columns are those of the law."""
        model = self._equations()
        if model.dynamics == "regression":
            known = {"inputs": model.inputs, "targets": model.targets}
        else:
            # Columns of an array are the states, in their order, and then the controls.
            names = [*model.targets, *model.controls]
            known = {"states": model.targets, "controls": model.controls, "names": names}
        given = {k: v for k, v in named.items() if v is not None}
        return measurements(X, t, u, x_dot, Meaning.of(**{**known, **given}))

    def scores(
        self,
        X: Any,
        t: Any = None,
        u: Any = None,
        x_dot: Any = None,
        *,
        names: Names = None,
        time: str | None = None,
        trajectory: str | None = None,
    ) -> Any:
        """How well the law does on other data, target by target.

        Takes what `fit` takes. A law of rates of change is held against the rates that the data
        show, a discrete one against the next row, a regression against its targets.

        Returns
        -------
        DataFrame, or list of dict without pandas
            Columns `target`, `mse` and `r2`.
        """
        named = {"names": names, "time": time, "trajectory": trajectory}
        return _told.as_table(self._scores(X, t, u, x_dot, named))

    def _scores(
        self, X: Any, t: Any, u: Any, x_dot: Any, named: dict[str, Any]
    ) -> list[dict[str, Any]]:
        given = self._measured(X, t, u, x_dot, named)
        settings = _settings.of_score(self, given.roles)
        scores = json.loads(self._equations().score(settings, given.tables))
        found: list[dict[str, Any]] = scores["scores"]
        return found

    def score(self, X: Any, t: Any = None, u: Any = None, x_dot: Any = None, **named: Any) -> float:
        """The mean R² over the targets on other data; `scores` has all of it.

        Examples
        --------
        >>> import numpy as np
        >>> import ell0
        >>> t = np.arange(400) * 0.01
        >>> law = ell0.Law().fit(0.5 + 2.5 * np.exp(-2 * t), t=t)
        >>> round(law.score(0.5 - 2.0 * np.exp(-2 * t), t=t), 4)
        1.0
        """
        # A target that is constant has no R².
        found = (row["r2"] for row in self._scores(X, t, u, x_dot, named))
        shares = [share for share in found if share is not None]
        return float(np.mean(shares)) if shares else float("nan")

    def analyze(
        self,
        X: Any = None,
        t: Any = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        replace: bool = False,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Fixed points, predictability and, with other data, how long predictions are valid.

        Parameters
        ----------
        X, t : optional
            Runs to hold against the law, as in `fit`.
        folder : path, optional
            Where the page of the analysis is left.
        replace : bool
            Whether a folder that is there already is replaced.
        progress : bool or callable, optional
            As in `fit`.
        """
        model = self._equations()
        runs = []
        if X is not None:
            given = self._measured(X, t, None, None, {})
            runs = _told.recordings(given, model)
        place = None if folder is None else (os.fspath(folder), replace)
        with watching(progress) as callback:
            found: dict[str, Any] = json.loads(model.analyze(runs, place, callback))
        return found

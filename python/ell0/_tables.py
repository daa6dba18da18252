"""Measurements as users have them, as the tables that the compiled module takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ._columns import Array, Table, as_array, is_run, is_table, matrix, matrix_table, table
from ._meaning import Meaning, are_names, files_of, is_number, listed

#: Tables of the compiled module: each a name, and named columns.
Tables: TypeAlias = list[tuple[str | None, list[tuple[str, Array]]]]


@dataclass(frozen=True)
class Measurements:
    """Data and the meaning of their columns."""

    #: Settings of the command line: states, controls, time, dt, …
    roles: dict[str, Any]
    #: The data, if they are in memory; otherwise the roles name the files.
    tables: Tables | None
    #: The column of time, if there is one in memory.
    time: str | None = None


def measurements(X: Any, t: Any, u: Any, x_dot: Any, said: Meaning) -> Measurements:
    """The data and the meaning of their columns, whatever they are held in."""
    files = files_of(X)
    if files:
        return _from_files(files, t, u, x_dot, said)
    if X is None or isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError("X is empty: give an array, a table, a list of runs, or a file")
    several = isinstance(X, (list, tuple)) and any(is_run(run) for run in X)
    runs = list(X) if several else [X]
    n = len(runs)
    # A list of moments is one clock for all runs; a list of arrays has one for each.
    own_clocks = several and isinstance(t, (list, tuple)) and not all(map(is_number, t))
    clocks = _one_for_each(t, "t", n) if own_clocks else [t] * n
    forces = _one_for_each(u, "u", n) if several and u is not None else [u] * n
    named = x_dot is None or are_names(x_dot)
    rates = [x_dot] * n if named or not several else _one_for_each(x_dot, "x_dot", n)

    roles: dict[str, Any] = {}
    tables: Tables = []
    for k, run in enumerate(runs):
        place = f"run {k + 1}" if several else "X"
        reader = _Run(place, run, forces[k], rates[k], said)
        reader.add_clock(clocks[k])
        if k > 0 and reader.roles != roles:
            first = [name for name, _ in tables[0][1]]
            raise ValueError(
                f"{place} has the columns {', '.join(reader.columns)}, and run 1 has"
                f" {', '.join(first)}: give all runs the same columns"
            )
        roles = reader.roles
        tables.append((place, list(reader.columns.items())))
    return Measurements(roles, tables, reader.time)


class _Run:
    """The columns of one run, and their meaning."""

    def __init__(self, place: str, values: Any, u: Any, x_dot: Any, said: Meaning) -> None:
        self.place = place
        self.said = said
        self.own = _named(values, place, said)
        self.columns: dict[str, Array] = {}
        outside = None if u is None else self._outside(u)
        controls = outside.names if outside else said.controls
        rates = listed(x_dot, "x_dot") if are_names(x_dot) else []
        taken = {*said.states, *said.inputs, *said.targets, *controls, *rates}
        usual = [n for n in ("t", "time") if n in self.own.names and n not in taken]
        # Rows of a regression stand by themselves.
        regression = bool(said.inputs or said.targets)
        self.time = said.time or (usual[0] if usual and not regression else None)
        states = said.states
        if not (states or regression):
            others = {self.time, said.trajectory, *controls, *rates}
            states = [name for name in self.own.names if name not in others]
        self.roles: dict[str, Any] = {
            "states": states,
            "controls": controls,
            "inputs": said.inputs,
            "targets": said.targets,
            "time": said.time,
            "trajectory": said.trajectory,
            "rates": rates,
        }
        inside = [] if outside else controls
        for name in [*states, *inside, *said.inputs, *said.targets, *rates]:
            self.columns[name] = self.own.numbers(name)
        if outside is not None:
            for name in controls:
                self._add(name, outside.numbers(name), outside.place)
        if said.trajectory is not None:
            self.columns[said.trajectory] = self.own.labels(said.trajectory)
        if x_dot is not None and not rates:
            self._add_rates(x_dot)

    def _outside(self, u: Any) -> Table:
        """What acts on the states."""
        place = self._of("u")
        if is_table(u):
            return table(u, place)
        array = matrix(u, place)
        rest = self.said.names[len(self.own.names) :]
        names = self.said.controls or rest or [f"u{k}" for k in range(array.shape[1])]
        return matrix_table(array, names, place)

    def _add_rates(self, x_dot: Any) -> None:
        """Rates of change that are known: in the order of the states, whatever they are called."""
        place, states = self._of("x_dot"), self.roles["states"]
        if is_table(x_dot):
            rates = table(x_dot, place)
        else:
            array = matrix(x_dot, place)
            rates = Table(place, [str(k) for k in range(array.shape[1])], lambda k: array[:, k])
        if len(rates.names) != len(states):
            raise ValueError(
                f"{place} has {len(rates.names)} columns, and there are {len(states)} states"
                f" ({', '.join(states)}): give a rate for each state, in the same order"
            )
        for state, name in zip(states, rates.names, strict=True):
            free = self._free(f"{state}_dot")
            self._add(free, rates.numbers(name), place)
            self.roles["rates"].append(free)

    def add_clock(self, t: Any) -> None:
        """The time of each row, or the time between rows."""
        if self.time is not None:
            # The compiled module finds it by its name, and says so if there is a `dt`, too.
            self.columns[self.time] = self.own.moments(self.time)
        if t is None:
            return
        if is_number(t):
            self.roles["dt"] = float(t)
            return
        if self.time is not None:
            raise ValueError(
                f"{self.place}: time is given twice, as t and as column `{self.time}`:"
                " leave t out, or name the states if that column is none of time"
            )
        moments = Table(self._of("t"), ["t"], lambda _: as_array(t)).moments("t")
        if moments.ndim != 1:
            raise ValueError(f"t has {moments.ndim} dimensions: give one moment for each row")
        name = self._free("t")
        self._add(name, moments, self._of("t"))
        self.time = self.roles["time"] = name

    def _add(self, name: str, column: Array, place: str) -> None:
        """A column from elsewhere than the run's own table."""
        if name in self.columns:
            raise ValueError(
                f"column `{name}` is in {self.place} and in {place}: give one another name"
            )
        rows = len(next(iter(self.columns.values()), column))
        if len(column) != rows:
            raise ValueError(
                f"{place} has {len(column)} rows, and {self.place} has {rows}: give one for each"
                f" row{', or the time between rows as a number' if place[0] == 't' else ''}"
            )
        self.columns[name] = column

    def _of(self, what: str) -> str:
        return what if self.place == "X" else f"{what} of {self.place}"

    def _free(self, name: str) -> str:
        """A name that no column has yet."""
        while name in self.columns or name in self.own.names:
            name += "_"
        return name


def _named(values: Any, place: str, said: Meaning) -> Table:
    """A table as it is; the columns of an array with names."""
    if is_table(values):
        found = table(values, place)
    else:
        array = matrix(values, place)
        found = matrix_table(array, said.columns(array.shape[1]), place)
    twice = [name for k, name in enumerate(found.names) if name in found.names[:k]]
    if twice:
        raise ValueError(f"{place}: column `{twice[0]}` is there twice; give each its own name")
    return found


def _from_files(files: list[str], t: Any, u: Any, x_dot: Any, said: Meaning) -> Measurements:
    if u is not None:
        raise ValueError("u cannot stand beside files: name their columns with controls=[…]")
    if t is not None and not is_number(t):
        raise ValueError(
            "t cannot be an array beside files: name their column with time='…',"
            " or give the time between rows as a number"
        )
    if x_dot is not None and not are_names(x_dot):
        raise ValueError("x_dot must name columns of the files, as in x_dot=['x_dot', 'y_dot']")
    roles = {
        "files": files,
        "states": said.states,
        "controls": said.controls,
        "inputs": said.inputs,
        "targets": said.targets,
        "time": said.time,
        "dt": None if t is None else float(t),
        "trajectory": said.trajectory,
        "rates": listed(x_dot, "x_dot"),
    }
    return Measurements(roles, None)


def _one_for_each(values: Any, what: str, runs: int) -> list[Any]:
    if isinstance(values, (list, tuple)):
        if len(values) == runs:
            return list(values)
        held = f"{len(values)} entries"
    else:
        held = "one value"
    raise ValueError(
        f"{what} has {held}, and there are {runs} runs: give a list with one for each run"
    )

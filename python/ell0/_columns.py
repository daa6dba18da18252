"""Columns of whatever holds them: arrays, tables of pandas, polars or Arrow, dictionaries.

A column of double precision is a view of the caller's memory wherever that is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Named columns, taken when they are needed: a table may have others that are no numbers."""

    place: str
    names: list[str]
    take: Callable[[int], Array]

    def raw(self, name: str) -> Array:
        """A column as it is."""
        if name not in self.names:
            known = ", ".join(self.names)
            raise ValueError(f"{self.place}: there is no column `{name}`; the columns are {known}")
        return self.take(self.names.index(name))

    def numbers(self, name: str) -> Array:
        """A column of numbers."""
        return numbers(self.raw(name), f"{self.place}: column `{name}`")

    def moments(self, name: str) -> Array:
        """A column of times; points in time count in seconds from the first."""
        values = self.raw(name)
        if values.dtype.kind == "M":
            values = values - values[:1]
        if values.dtype.kind == "m":
            return values / np.timedelta64(1, "s")
        return numbers(values, f"{self.place}: column `{name}`")

    def labels(self, name: str) -> Array:
        """A column that tells experiments apart; text becomes numbers, which do it as well."""
        values = self.raw(name)
        if values.dtype.kind in "biuf":
            return values
        codes: Array = np.unique(values.astype(str), return_inverse=True)[1]
        return codes.reshape(-1).astype(np.float64)


def numbers(values: Array, place: str) -> Array:
    """The values, if they are real numbers."""
    kind = values.dtype.kind
    if kind in "biuf":
        return values
    held = {
        "O": "objects",
        "U": "text",
        "S": "text",
        "T": "text",
        "M": "points in time",
        "m": "durations",
        "c": "complex numbers",
    }.get(kind, str(values.dtype))
    remedy = "take their real parts" if kind == "c" else "convert with astype(float)"
    raise TypeError(
        f"{place} holds {held}, where real numbers are needed: {remedy}, or leave it out"
    )


def as_array(values: Any) -> Array:
    """An array; what is masked is missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError("the rows have different lengths: give each the same columns") from None


def matrix(values: Any, place: str) -> Array:
    """Rows and columns of numbers; one dimension is one column."""
    array = as_array(values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        remedy = "give a list of runs, list(X)" if array.ndim == 3 else "give rows and columns"
        raise ValueError(f"{place} has {array.ndim} dimensions, where two are needed: {remedy}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(
            f"{place} is empty: its shape is {array.shape}; give at least one row and one column"
        )
    return numbers(array, place)


def is_table(values: Any) -> bool:
    """Whether its columns have names."""
    if isinstance(values, np.ndarray):
        return values.dtype.names is not None
    return (
        isinstance(values, Mapping)
        or any(
            hasattr(values, name)
            for name in ("column_names", "get_column", "iloc", "collect_schema")
        )
        and not hasattr(values, "to_frame")
    )


def is_run(values: Any) -> bool:
    """Whether it holds rows, rather than being one of them."""
    return is_table(values) or hasattr(values, "__array__") and np.ndim(values) > 0


def table(values: Any, place: str) -> Table:
    """The columns of a table of any kind."""
    if isinstance(values, np.ndarray):
        names = list(values.dtype.names or ())
        return Table(place, names, lambda k: values[names[k]])
    if isinstance(values, Mapping):
        keys = list(values)
        return Table(place, [str(key) for key in keys], lambda k: as_array(values[keys[k]]))
    if hasattr(values, "column_names"):
        return Table(place, list(values.column_names), lambda k: _arrow(values.column(k)))
    if hasattr(values, "iloc"):
        return Table(place, [str(c) for c in values.columns], lambda k: _pandas(values.iloc[:, k]))
    if not hasattr(values, "get_column"):
        raise TypeError(f"{place} is a lazy table: call collect() on it first")
    columns = list(values.columns)
    return Table(place, columns, lambda k: np.asarray(values.get_column(columns[k]).to_numpy()))


def matrix_table(values: Any, names: Sequence[str], place: str) -> Table:
    """The columns of a matrix under these names, as views."""
    array = matrix(values, place)
    if len(names) != array.shape[1]:
        raise ValueError(
            f"{place} has {array.shape[1]} columns, and there are {len(names)} names"
            f" ({', '.join(names)}): give one for each column"
        )
    return Table(place, list(names), lambda k: array[:, k])


def _arrow(column: Any) -> Array:
    # One chunk is seen as it lies in memory; several must be put together.
    if hasattr(column, "num_chunks"):
        if column.num_chunks != 1:
            return np.asarray(column.to_numpy())
        column = column.chunk(0)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _pandas(column: Any) -> Array:
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    if getattr(column.dtype, "kind", "O") in "biuf":
        return np.asarray(column.to_numpy("float64", na_value=np.nan))
    return np.asarray(column.to_numpy())

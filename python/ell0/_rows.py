"""Rows that networks learn from, and what they are to give, as the compiled module takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._columns import Array, Doubles, Table, as_array, is_run, is_table, matrix_table, table
from ._meaning import are_names, listed
from ._tables import Tables

#: What the column of labels is called that come beside the rows, as those of a file are.
LABEL = "label"


@dataclass(frozen=True)
class Rows:
    """Tables in memory and the meaning of their columns."""

    tables: Tables
    targets: list[str]
    class_: str | None
    #: What the numbers in the column of classes stand for; none where they are themselves.
    class_names: list[str]


def rows(
    data: Any, inputs: list[str], targets: Any, class_: str | None, labels: Any, drop_missing: bool
) -> Rows:
    """Tables in memory, with classes as numbers."""
    several = isinstance(data, (list, tuple)) and any(is_run(part) for part in data)
    parts = list(data) if several else [data]
    places = [f"table {k + 1}" if several else "data" for k in range(len(parts))]
    own = [wide(part, place) for part, place in zip(parts, places, strict=True)]
    named = targets is None or are_names(targets)
    columns: list[dict[str, Array]] = []
    called = listed(targets, "targets") if named else []
    if labels is not None:
        class_ = _free(LABEL, own)
    apart = {class_, *called}
    for k, (part, place) in enumerate(zip(own, places, strict=True)):
        # What comes out first: a wrong name there would make it one of the inputs.
        if not named:
            values = targets[k] if several else targets
            others = _beside(values, f"targets of {place}", own)
            called = others.names
            last = {name: others.numbers(name) for name in called}
        else:
            last = {name: part.numbers(name) for name in called}
        if class_ is not None and labels is None:
            last[class_] = part.raw(class_)
        elif class_ is not None:
            last[class_] = as_array(labels[k] if several else labels)
            _refuse_shape(last[class_], f"labels of {place}")
        found = {name: part.numbers(name) for name in _inputs(part, inputs, apart)} | last
        _refuse_lengths(found, place)
        columns.append(found)
    names: list[str] = []
    if class_ is not None:
        codes, names = numbered([found[class_] for found in columns])
        for found, code, place in zip(columns, codes, places, strict=True):
            _put(found, class_, code, place, drop_missing)
    tables: Tables = [(place, list(f.items())) for place, f in zip(places, columns, strict=True)]
    return Rows(tables, called, class_, names)


def wide(values: Any, place: str) -> Table:
    """Named columns; an array `a` of more than one dimension in a table is a_0, a_1, …."""
    if not is_table(values):
        array = as_array(values)
        if array.ndim > 2:
            array = array.reshape(len(array), -1)
            return matrix_table(array, [f"x_{k}" for k in range(array.shape[1])], place)
        width = array.shape[1] if array.ndim == 2 else 1
        return matrix_table(array, [f"x{k}" for k in range(width)], place)
    if not isinstance(values, Mapping):
        return table(values, place)
    flat: dict[str, Array] = {}
    for name, column in values.items():
        array = as_array(column)
        if array.ndim < 2:
            flat[str(name)] = array
        else:
            pixels = array.reshape(len(array), -1)
            flat |= {f"{name}_{k}": pixels[:, k] for k in range(pixels.shape[1])}
    return table(flat, place)


def numbered(columns: list[Array]) -> tuple[list[Doubles], list[str]]:
    """Classes as numbers, those of words as places in the list of them; what is missing is NaN.

    >>> codes, names = numbered([np.array(["b", "a", None], dtype=object)])
    >>> codes[0].tolist(), names
    ([1.0, 0.0, nan], ['a', 'b'])
    """
    if all(column.dtype.kind in "biuf" for column in columns):
        return [column.astype(np.float64) for column in columns], []
    texts = [[None if _missing(v) else text(v) for v in column.tolist()] for column in columns]
    words = {word for column in texts for word in column if word is not None}
    # The order that they would have in a file.
    names = sorted(words, key=float if all(map(_is_number, words)) else str)
    place: dict[str | None, float] = {name: float(k) for k, name in enumerate(names)}
    return [np.array([place.get(word, np.nan) for word in column]) for column in texts], names


def text(value: Any) -> str:
    """A class as it is called: 1.0 is 1, as in the compiled module."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def classes_of(names: list[str]) -> Array:
    """Classes as numbers, if that is what all of them are, else as words.

    >>> classes_of(["0", "1"]), classes_of(["0.5", "1"]), classes_of(["007", "1"])
    (array([0, 1]), array([0.5, 1. ]), array(['007', '1'], dtype='<U3'))
    """
    if all(_is_number(name) for name in names):
        values = np.array(list(map(float, names)))
        if all(text(v) == n for v, n in zip(values.tolist(), names, strict=True)):
            whole = bool((values == values.round()).all())
            return values.astype(np.int64) if whole else values
    return np.array(names)


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _missing(value: Any) -> bool:
    # pandas has a value of its own, which is neither equal nor unequal to anything.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _inputs(part: Table, inputs: list[str], apart: set[str | None]) -> list[str]:
    """The columns that go in; the name of an array stands for all of its."""
    if not inputs:
        return [name for name in part.names if name not in apart]
    found = []
    for name in inputs:
        pieces = [c for c in part.names if c.rpartition("_")[0] == name and c[-1].isdigit()]
        found.extend(pieces if pieces and name not in part.names else [name])
    return found


def _beside(values: Any, place: str, own: list[Table]) -> Table:
    """Targets that come beside the rows: y, or y0, y1, …."""
    if is_table(values):
        return table(values, place)
    array = as_array(values)
    width = array.shape[1] if array.ndim == 2 else 1
    names = ["y"] if width == 1 else [f"y{k}" for k in range(width)]
    return matrix_table(array, [_free(name, own) for name in names], place)


def _free(name: str, own: list[Table]) -> str:
    """A name that no column has yet."""
    while any(name in part.names for part in own):
        name += "_"
    return name


def _refuse_shape(labels: Array, place: str) -> None:
    if labels.ndim != 1:
        raise ValueError(
            f"{place} has {labels.ndim} dimensions: give an array with a class for each row"
        )


def _refuse_lengths(columns: dict[str, Array], place: str) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    first = next(iter(lengths), "")
    for name, length in lengths.items():
        if length != lengths[first]:
            raise ValueError(
                f"{place}: `{name}` has {length} rows, and `{first}` has {lengths[first]}"
            )


def _put(
    columns: dict[str, Array], class_: str, codes: Doubles, place: str, drop_missing: bool
) -> None:
    """Classes in their column; rows without one are left out, or an error."""
    columns[class_] = codes
    known = np.isfinite(codes)
    if known.all():
        return
    if not drop_missing:
        raise ValueError(
            f"{place}: row {int(known.argmin()) + 1} has no class in `{class_}`: give it one,"
            " or leave such rows out with drop_missing=True"
        )
    for name, column in columns.items():
        columns[name] = column[known]

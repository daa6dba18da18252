"""What callers say about the columns of their measurements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

#: One name, or several.
Names: TypeAlias = str | Sequence[str] | None


def listed(names: Names, what: str) -> list[str]:
    """Names as a list: one name may stand by itself."""
    if names is None:
        return []
    found = [names] if isinstance(names, str) else list(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{what} holds {name!r}, where the name of a column is needed")
    return found


@dataclass(frozen=True)
class Meaning:
    """Names of columns by their parts; empty where nothing was said."""

    states: list[str]
    controls: list[str]
    inputs: list[str]
    targets: list[str]
    names: list[str]
    time: str | None
    trajectory: str | None

    @classmethod
    def of(
        cls,
        states: Names = None,
        controls: Names = None,
        inputs: Names = None,
        targets: Names = None,
        names: Names = None,
        time: str | None = None,
        trajectory: str | None = None,
    ) -> Meaning:
        """What was said, as lists."""
        return cls(
            listed(states, "states"),
            listed(controls, "controls"),
            listed(inputs, "inputs"),
            listed(targets, "targets"),
            listed(names, "names"),
            time,
            trajectory,
        )

    def columns(self, width: int) -> list[str]:
        """Names of the columns of an array; PySINDy's, where nobody says others."""
        if self.names:
            if len(self.names) < width:
                raise ValueError(
                    f"X has {width} columns, and names has {len(self.names)}"
                    f" ({', '.join(self.names)}): give one for each column"
                )
            return self.names[:width]
        if len(self.states) == width:
            return self.states
        return [f"x{k}" for k in range(width)]


def is_number(value: Any) -> bool:
    """Whether it is a number by itself."""
    return isinstance(value, Real) or isinstance(value, np.ndarray) and value.ndim == 0


def are_names(value: Any) -> bool:
    """Whether it is a name, or a list of names."""
    if isinstance(value, str):
        return True
    names = isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value)
    return bool(names and value)


def files_of(X: Any) -> list[str]:
    """The files, if these are paths."""
    if isinstance(X, (str, os.PathLike)):
        return [os.fspath(X)]
    paths = isinstance(X, (list, tuple)) and all(isinstance(x, (str, os.PathLike)) for x in X)
    return [os.fspath(x) for x in X] if paths else []

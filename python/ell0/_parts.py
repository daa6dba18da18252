"""Parts of distributed data: statistics, and which experiments they are of."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ._columns import Array, is_run, is_table, table
from .statistics import Statistics

#: Parts that are merged at once: `Statistics` folds from 25 experiments on, so that what comes out
#: is as small as what goes in.
FAN = 32


@dataclass
class Part:
    """Statistics of some partitions, or of none yet."""

    statistics: Statistics | None = None
    #: Of experiments that must not be anywhere else, in order; their column; none otherwise.
    labels: Array | None = None
    column: str = ""

    @classmethod
    def from_bytes(cls, data: bytes) -> Part:
        """A part that was sent; nothing is an empty one."""
        if not data:
            return cls()
        part = pickle.loads(data)
        if isinstance(part, Exception):
            raise part
        if not isinstance(part, Part):
            raise TypeError(f"these are no statistics of gather(), but {type(part).__name__}")
        return part

    def to_bytes(self) -> bytes:
        """To be sent."""
        return b"" if self.statistics is None else pickle.dumps(self)

    def merge(self, other: Part) -> Part:
        """Both together; itself."""
        if other.statistics is None:
            return self
        if self.statistics is None:
            return other
        if self.labels is not None and other.labels is not None:
            labels = np.sort(np.concatenate([self.labels, other.labels]), kind="stable")
            twice = np.flatnonzero(labels[1:] == labels[:-1])
            if len(twice):
                raise ValueError(spans(self.column, labels[twice[0]]))
            self.labels = labels
        self.statistics.merge(other.statistics)
        return self

    @classmethod
    def of_all(cls, parts: Iterable[Part]) -> Part:
        """All together: neighbours first, so that none weighs more in the sample of rows."""
        pile: list[tuple[int, Part]] = []
        for part in parts:
            level = 0
            while pile and pile[-1][0] == level:
                part = pile.pop()[1].merge(part)
                level += 1
            pile.append((level, part))
        whole = cls()
        while pile:
            whole = pile.pop()[1].merge(whole)
        return whole


def joined(parts: Iterable[bytes]) -> bytes:
    """Parts of `gather`, or of this function, as one: the inner nodes of a tree of merges."""
    return Part.of_all(map(Part.from_bytes, parts)).to_bytes()


def bare(part: bytes) -> bytes:
    """A part without its labels, of which there may be many."""
    return Part(Part.from_bytes(part).statistics).to_bytes()


def spans(column: str, label: Any) -> str:
    """What is wrong with an experiment that lies in several partitions."""
    return (
        f"the rows of experiment {label} of column `{column}` lie in more than one partition, and"
        " nothing is differenced across two: write each experiment into one partition, or bring"
        " them together with shuffle=True"
    )


def in_order(question: Mapping[str, Any]) -> bool:
    """Whether the law needs to know which rows follow each other."""
    return bool(question.get("states")) and not question.get("rates")


def part_of(partitions: Iterable[Any], question: Mapping[str, Any], sort: bool = False) -> Part:
    """Statistics of partitions, with the labels of experiments where they matter."""
    whole = Part()
    trajectory = question.get("trajectory") if in_order(question) else None
    for partition in partitions:
        if _is_empty(partition):
            continue
        rows = _sorted(partition, question) if sort else partition
        labels = None if trajectory is None else _labels(rows, trajectory)
        one = Part(Statistics(**question).update(rows), labels, trajectory or "")
        whole = whole.merge(one)
    return whole


def is_pile(values: Any) -> bool:
    """Whether these are rows by themselves, and no collection of partitions."""
    return is_table(values) or (is_run(values) and not isinstance(values, (list, tuple)))


def _is_empty(partition: Any) -> bool:
    if isinstance(partition, (str, os.PathLike)):
        return _is_parquet(partition) and _parquet_rows(partition) == 0
    if isinstance(partition, Mapping):
        return all(len(column) == 0 for column in partition.values())
    return len(partition) == 0


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _parquet_rows(path: str | os.PathLike[str]) -> int | None:
    """Rows of a file, if somebody is there who can say."""
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        return None
    return int(parquet.read_metadata(path).num_rows)


def _labels(partition: Any, column: str) -> Array:
    """The labels of experiments, each once, in order."""
    if isinstance(partition, (str, os.PathLike)):
        return _labels_of_file(partition, column)
    values = table(partition, "partition").raw(column)
    return np.unique(values if values.dtype.kind in "biuf" else values.astype(str))


def _labels_of_file(path: str | os.PathLike[str], column: str) -> Array:
    """The same, of a file, without holding it."""
    try:
        module: Any = import_module("pyarrow.parquet" if _is_parquet(path) else "pyarrow.csv")
    except ImportError as error:
        raise ImportError(
            "whether experiments lie in more than one file is seen with pyarrow, which is not"
            " installed: pip install pyarrow"
        ) from error
    if _is_parquet(path):
        batches = module.ParquetFile(path).iter_batches(columns=[column])
    else:
        chosen = module.ConvertOptions(include_columns=[column])
        batches = module.open_csv(path, convert_options=chosen)
    found = [_labels(batch, column) for batch in batches]
    return np.unique(np.concatenate(found))


def _sorted(partition: Any, question: Mapping[str, Any]) -> Any:
    """Rows of experiments together, in the order of their time."""
    names = [str(name) for name in getattr(partition, "column_names", partition.columns)]
    time = question.get("time") or next((name for name in ("t", "time") if name in names), None)
    if time is None:
        raise ValueError(
            "a shuffle, and a Dataset of Ray, lose the order of rows, and there is no column of"
            " time to restore it: name one with time='…', or give files that hold whole experiments"
        )
    keys = [question["trajectory"], time]
    if hasattr(partition, "sort_by"):
        return partition.sort_by([(key, "ascending") for key in keys])
    return partition.sort_values(keys)

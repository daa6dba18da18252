"""Laws from data on many machines, on engines that are there already: Dask, Ray, or any other.

Whatever the engine is, it calls two functions: `gather` turns a partition into statistics where it
lies, and `merged` brings them together. Only statistics travel.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from . import _engines
from ._meaning import files_of, listed
from ._parts import Part, in_order, is_pile, joined, part_of
from ._sweeps import study, sweep, trainable, tune_space
from .law import Law
from .statistics import Statistics

__all__ = [
    "Question",
    "fit",
    "gather",
    "joined",
    "merged",
    "statistics",
    "study",
    "sweep",
    "trainable",
    "tune_space",
]

#: The arguments of `Statistics` by their names; the same for all partitions.
Question: TypeAlias = Mapping[str, Any]

_OF_LAW = ("method", "criterion", "terms", "lambda_", "threshold", "prior", "seed", "progress")


def gather(partition: Any, question: Question) -> bytes:
    """Statistics of one partition, to be sent.

    Parameters
    ----------
    partition : table or path
        Rows as `Statistics.update` takes them: a table of pandas, polars or Arrow, a dictionary of
        columns, or a file.
    question : dict
        The arguments of `Statistics`.

    Returns
    -------
    bytes
        The statistics, with the labels of the experiments where it matters that they lie in one
        partition; nothing (`b""`) of a partition without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ell0.distributed import gather, merged
    >>> question = {"library": "polynomial(2)", "inputs": ["a"], "targets": ["y"]}
    >>> a = np.linspace(-1, 1, 500)
    >>> parts = [gather({"a": s * a, "y": 2 - 3 * (s * a) ** 2}, question) for s in (1, 2, 3)]
    >>> merged(parts).law().equations
    ['y = 2 - 3*a^2']
    """
    return part_of([partition], question).to_bytes()


def merged(parts: Iterable[bytes]) -> Statistics:
    """Statistics of all partitions, from those of each.

    They may come one after the other: of n parts at most log2(n) are held at a time.

    Parameters
    ----------
    parts : iterable of bytes
        What `gather` or `joined` gave, in any order.

    Returns
    -------
    Statistics
        Those of all rows, for `law()`.
    """
    return _found(Part.of_all(Part.from_bytes(part) for part in parts))


def statistics(
    data: Any, question: Question, *, engine: str | None = None, shuffle: bool = False
) -> Statistics:
    """Statistics of data in partitions, gathered and merged by the workers of an engine.

    Parameters
    ----------
    data, engine, shuffle
        As in `fit`.
    question : dict
        The arguments of `Statistics`.

    Returns
    -------
    Statistics
        Those of all rows: laws with several settings can be had from them, and more be merged.
    """
    question = dict(question)
    Statistics(**question)  # what is wrong with it is said here, and not by some worker
    ordered = in_order(question)
    if ordered and question.get("derivative", "auto") == "auto" and not question.get("discrete"):
        raise ValueError(
            "derivative='auto' looks at the noise of each partition by itself, so that the law"
            " would depend on how the rows are cut: give one way for all, as in"
            " derivative='weak(20)'"
        )
    trajectory = question.get("trajectory")
    if shuffle and trajectory is None:
        raise ValueError(
            "shuffle=True brings the rows of each experiment together: say which column tells"
            " them apart with trajectory='…'"
        )
    if engine not in (None, "dask", "ray"):
        raise ValueError(f"engine = {engine!r} is not allowed: 'dask', 'ray' or None")
    own = _engines.owner(data)
    if own is not None and engine not in (None, own):
        raise ValueError(f"the data are in {own}, and engine = {engine!r}: leave it out")
    shuffle = shuffle and ordered
    if own is None:
        partitions = _partitions(data)
        if not shuffle:
            return _found(_engines.run(engine, partitions, question))
        if engine is None or not files_of(partitions):
            raise ValueError(
                "shuffle=True needs an engine and its table, or files: give a Dask DataFrame, a"
                " Ray Dataset, or Parquet files with engine='dask' or engine='ray'"
            )
        own, data = engine, _engines.read(engine, files_of(partitions), question)
    if own == "ray" and ordered and trajectory is None:
        raise ValueError(
            "Ray cuts a Dataset into blocks as it likes, and the law needs to know which rows"
            " follow each other: name the column that tells experiments apart with"
            " trajectory='…', or give the files, each an experiment, with engine='ray'"
        )
    return _found(_engines.run_on_table(own, data, question, shuffle))


def fit(
    data: Any,
    library: str | Mapping[str | None, str] | None = None,
    *,
    engine: str | None = None,
    shuffle: bool = False,
    **settings: Any,
) -> Law:
    """Finds the law behind data in partitions, on one machine or many.

    Partitions without rows are skipped. The law is that of all the data at once, up to rounding;
    only laws of rates of change that are chosen by the likelihood, as they are by default, rest on
    a sample of some thousand rows, which depends on the partitions: `criterion="validation"` takes
    all rows.

    For laws of states, whose rows follow each other, rows of one experiment must lie in one
    partition. Without a column `trajectory` each file and each partition of Dask is an experiment
    of its own. With it, an experiment that lies in several is refused, or brought together with
    `shuffle=True`. For regressions and known rates it does not matter where rows lie.

    Parameters
    ----------
    data : Dask DataFrame, Ray Dataset, path, or iterable
        A table of an engine; a file, a folder of Parquet or a pattern such as "runs/*.parquet"; or
        an iterable of files or tables. Files must be seen by all workers under the same name.
    library : str or dict, optional
        The candidate terms, as in `Law`.
    engine : {"dask", "ray"}, optional
        Who does the work on files and iterables; otherwise this process, one after the other.
        Dask's current client is used (or else its threads), and the cluster that Ray is connected
        to (or else one that it starts here).
    shuffle : bool
        Whether rows are brought together by experiment first, in the order of their time. It moves
        all the data once.
    **settings
        The arguments of `Statistics` (`states`, `inputs`, `targets`, `derivative`, …) and of
        `Statistics.law` (`method`, `criterion`, `terms`, …).

    Returns
    -------
    Law
        The law.

    Raises
    ------
    ImportError
        If the engine is not installed.
    ValueError, TypeError
        If something is wrong with data or settings; the sentence says what.

    Examples
    --------
    >>> import numpy as np
    >>> import ell0.distributed
    >>> a = np.linspace(-1, 1, 500)
    >>> tables = ({"a": s * a, "y": 2 - 3 * (s * a) ** 2} for s in (1, 2, 3))
    >>> law = ell0.distributed.fit(tables, "polynomial(2)", inputs=["a"], targets=["y"])
    >>> law.equations
    ['y = 2 - 3*a^2']
    """
    law = {name: settings.pop(name) for name in _OF_LAW if name in settings}
    if library is not None:
        settings["library"] = library
    return statistics(data, settings, engine=engine, shuffle=shuffle).law(**law)


def _found(part: Part) -> Statistics:
    if part.statistics is None:
        raise ValueError("there are no rows: all partitions are empty, or there are none")
    return part.statistics


def _partitions(data: Any) -> Iterable[Any]:
    """What each worker gets: files of folders and patterns, or tables as they come."""
    files = files_of(data)
    if not files:
        if is_pile(data):
            return [data]
        if not isinstance(data, Iterable):
            raise TypeError(
                f"data is a {type(data).__name__}: give a Dask DataFrame, a Ray Dataset, files,"
                " or an iterable of files or tables"
            )
        return data
    found: list[str] = []
    for name in listed(files, "data"):
        if "://" in name:
            raise ValueError(
                f"{name} is not on a file system: read it with Dask or Ray, and give their table"
            )
        if Path(name).is_dir():
            more = sorted(os.fspath(path) for path in Path(name).rglob("*.parquet"))
        elif glob.has_magic(name) and not Path(name).exists():
            more = sorted(glob.glob(name, recursive=True))
        else:
            found.append(name)
            continue
        if not more:
            raise FileNotFoundError(f"{name}: there are no Parquet files")
        found += more
    return found

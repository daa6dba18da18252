"""The engines that do the work: Dask, Ray, or this process."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from ._meaning import Meaning
from ._parts import FAN, Part, bare, in_order, joined, part_of

Question: TypeAlias = Mapping[str, Any]

#: Tasks that an engine is given at most; with more partitions, some share one.
TASKS = 10_000


def owner(data: Any) -> str | None:
    """The engine whose table it is."""
    module = type(data).__module__.split(".")
    if module[0].startswith("dask") and hasattr(data, "to_delayed"):
        return "dask"
    return "ray" if module[:2] == ["ray", "data"] and hasattr(data, "map_batches") else None


def run(engine: str | None, partitions: Iterable[Any], question: Question) -> Part:
    """Statistics of files or tables."""
    if engine is None:
        return Part.of_all(part_of([one], question) for one in partitions)
    everything = list(partitions)
    share = max(1, math.ceil(len(everything) / TASKS))
    shares = [everything[k : k + share] for k in range(0, len(everything), share)]
    if engine == "dask":
        delayed = _module("dask", "dask").delayed
        task = delayed(_gathered, pure=False)
        return _dask([task(delayed(one, traverse=False), question) for one in shares])
    ray = _module("ray", "ray")
    remote = ray.remote(_gathered)
    asked = ray.put(question)
    return _ray(ray, [remote.remote(one, asked) for one in shares])


def read(engine: str, files: list[str], question: Question) -> Any:
    """The table of an engine in Parquet files."""
    if engine == "dask":
        return _module("dask.dataframe", "dask").read_parquet(files)
    # Ray's own reader needs aiohttp for several files, and would say so in riddles.
    ray, data = _module("ray", "ray"), _module("ray.data", "ray")
    remote = ray.remote(_read)
    return data.from_arrow_refs([remote.remote(file, _columns(question)) for file in files])


def run_on_table(engine: str, data: Any, question: Question, shuffle: bool) -> Part:
    """Statistics of a table of an engine."""
    names = [str(name) for name in (data.columns if engine == "dask" else data.columns() or [])]
    needed = [name for name in names if name in _columns(question)]
    trajectory = question.get("trajectory")
    if engine == "dask":
        table = data[needed]
        if shuffle:
            table = table.shuffle(on=trajectory)
        # Dask may put small partitions together, and some are experiments of their own.
        free = not in_order(question) or trajectory is not None
        delayed = _module("dask", "dask").delayed
        task = delayed(_gathered_table, pure=False)
        return _dask([task(p, question, shuffle) for p in table.to_delayed(optimize_graph=free)])
    ray = _module("ray", "ray")
    table = data.select_columns(needed) if needed else data
    if shuffle:
        table = table.sort(trajectory)
    # Ray puts files into one block as they come, whatever their order.
    table = table.map_batches(
        _gathered_batch,
        fn_kwargs={"question": dict(question), "sort": in_order(question)},
        batch_size=None,
        batch_format="pyarrow",
    )
    blocks = table.to_arrow_refs()
    remote = ray.remote(_joined_blocks)
    firsts = [blocks[k : k + FAN] for k in range(0, len(blocks), FAN)]
    return _ray(ray, [remote.remote(*some) for some in firsts])


def _columns(question: Question) -> set[str]:
    """Columns that may be needed."""
    said = Meaning.of(
        *(question.get(name) for name in ("states", "controls", "inputs", "targets", "rates"))
    )
    named = {question.get("time"), question.get("trajectory"), "t", "time"}
    several = (said.states, said.controls, said.inputs, said.targets, said.names)
    return {name for name in named if name} | {name for names in several for name in names}


def _read(file: str, needed: set[str]) -> Any:
    parquet = import_module("pyarrow.parquet").ParquetFile(file)
    return parquet.read(columns=[name for name in parquet.schema_arrow.names if name in needed])


def _gathered(partitions: list[Any], question: Question) -> bytes:
    return part_of(partitions, question).to_bytes()


def _gathered_table(partition: Any, question: Question, sort: bool) -> bytes:
    return part_of([partition], question, sort).to_bytes()


def _gathered_batch(batch: Any, question: Question, sort: bool) -> Any:
    """A block of Ray, as a row with its statistics, or with what is wrong with it: of errors that
    come out of a Dataset, Ray leaves nothing but a text."""
    arrow = import_module("pyarrow")
    try:
        part = _gathered_table(batch, question, sort)
    except (ValueError, TypeError) as error:
        part = pickle.dumps(error)
    return arrow.table({"part": arrow.array([part], arrow.binary())})


def _joined_blocks(*blocks: Any) -> bytes:
    """Blocks of Ray with statistics, as one."""
    return joined(part.as_py() for block in blocks for part in _parts_in(block))


def _parts_in(block: Any) -> Any:
    return block.column("part") if "part" in block.column_names else ()


def _joined_parts(*parts: bytes) -> bytes:
    return joined(parts)


def _dask(parts: list[Any]) -> Part:
    """Merges in a tree, by the workers."""
    dask = _module("dask", "dask")
    merge = dask.delayed(joined, pure=False)
    while len(parts) > 1:
        parts = [merge(parts[k : k + FAN]) for k in range(0, len(parts), FAN)]
    return Part.from_bytes(*dask.compute(dask.delayed(bare)(*parts))) if parts else Part()


def _ray(ray: Any, parts: list[Any]) -> Part:
    """The same."""
    merge = ray.remote(_joined_parts)
    while len(parts) > 1:
        parts = [merge.remote(*parts[k : k + FAN]) for k in range(0, len(parts), FAN)]
    try:
        return Part.from_bytes(ray.get(ray.remote(bare).remote(*parts))) if parts else Part()
    except ray.exceptions.RayTaskError as error:
        # What a worker raised comes out as it was, without what each task puts around it.
        cause: Any = error
        while isinstance(cause, ray.exceptions.RayTaskError):
            cause = cause.cause
        raise cause from error


def _module(name: str, engine: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"engine = {engine!r} needs what is not installed ({error}):"
            f" pip install 'ell0[{engine}]'"
        ) from error

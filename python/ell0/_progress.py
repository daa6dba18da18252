"""How long calls tell how far they are."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

#: Hears `(kind, task, number, note)`; kinds are "began" (the number is that of the steps, or None),
#: "reached" (a step), "ended" and "note". The call is given up when it returns False.
Callback: TypeAlias = Callable[[str, str, "int | None", str], Any]

#: What users give: a callback, bars or not, or bars only where somebody may be waiting.
Progress: TypeAlias = "Callback | bool | None"

#: Nobody needs a bar for less, in seconds.
PATIENCE = 1.0


class Bars:
    """A bar of tqdm for each task, from `delay` seconds after the beginning on."""

    def __init__(self, delay: float) -> None:
        self.first = time.monotonic() + delay
        self.steps: dict[str, int | None] = {}
        self.bars: dict[str, Any] = {}

    def __call__(self, kind: str, task: str, number: int | None, note: str) -> None:
        """Hears what happens."""
        if kind == "began":
            self.steps[task] = number
        elif kind == "reached":
            bar = self._bar(task)
            if bar is not None:
                bar.set_postfix_str(note, refresh=False)
                bar.update((number or 0) - bar.n)
        elif kind == "ended" and task in self.bars:
            self.bars.pop(task).close()

    def _bar(self, task: str) -> Any:
        if task not in self.bars and time.monotonic() >= self.first:
            with warnings.catch_warnings():
                # In a notebook without widgets it is a bar of text, and says so at length.
                warnings.simplefilter("ignore")
                tqdm: Any = import_module("tqdm.auto").tqdm
            steps = self.steps.get(task)
            self.bars[task] = tqdm(total=steps, desc=task.rstrip(":"), leave=False)
        return self.bars.get(task)

    def close(self) -> None:
        """Removes what is left."""
        while self.bars:
            self.bars.popitem()[1].close()


def _somebody_looks() -> bool:
    return "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()


def _has_tqdm() -> bool:
    return find_spec("tqdm") is not None


@contextmanager
def watching(progress: Progress) -> Iterator[Callback | None]:
    """What the compiled module is to call, as long as the work lasts."""
    if progress is not None and not isinstance(progress, bool):
        if not callable(progress):
            raise TypeError(
                f"progress is {progress!r}: give True, False, or a function"
                " of (kind, task, number, note)"
            )
        yield progress
        return
    wanted = _somebody_looks() if progress is None else progress
    if not wanted or not _has_tqdm():
        yield None
        return
    bars = Bars(PATIENCE if progress is None else 0.0)
    try:
        yield bars
    finally:
        bars.close()

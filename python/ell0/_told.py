"""What a fit tells beside its law, in tables and dictionaries."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, TypedDict

import numpy as np

from . import _ell0
from ._tables import Measurements


class Told(TypedDict):
    """Everything that a fit found."""

    #: As `ell0 fit --json` prints it.
    found: dict[str, Any]
    #: Sentences about each target: the verdict, and what would do as well.
    words: dict[str, tuple[str, list[str]]]
    #: Sentences about what was left out of the data.
    left_out: list[str]
    #: Sentences about what to beware of: inputs with errors, columns that are sums of others, …
    cautions: list[str]


def told(found: _ell0.Found) -> Told:
    """Everything that a fit found."""
    return {
        "found": json.loads(found.json()),
        "words": {target: (verdict, others) for target, verdict, others in found.words()},
        "left_out": found.left_out(),
        "cautions": found.cautions(),
    }


def diagnostics(told: Told) -> dict[str, Any]:
    """What there is to know before a law is trusted."""
    found = told["found"]
    judged = (found.get("judgement") or {}).get("equations", [])
    equations = {}
    for k, equation in enumerate(found["equations"]):
        target = equation["target"]
        words, others = told["words"].get(target, ("", []))
        equations[target] = {
            **(judged[k] if judged else {}),
            "words": words,
            "alternatives": others,
            "may_belong": equation.get("left_out", []),
        }
    return {
        "data": found["data"],
        "criterion": found["criterion"],
        "selected": found["selected"],
        "equations": equations,
        "left_out": told["left_out"],
        "indistinct": found["indistinct"],
        "relations": found.get("relations", []),
        "cautions": told["cautions"],
    }


def intervals(model: _ell0.Equations) -> list[dict[str, Any]]:
    """The terms of a law with their intervals of 95 %."""
    rows = []
    for target, terms in model.terms():
        for term, coefficient, probability, error in terms:
            half = float("nan") if error is None else 1.96 * error
            rows.append(
                {
                    "target": target,
                    "term": term,
                    "coefficient": coefficient,
                    "low": coefficient - half,
                    "high": coefficient + half,
                    "probability": probability,
                }
            )
    return rows


def recordings(
    given: Measurements, model: _ell0.Equations
) -> list[tuple[list[float], list[list[float]]]]:
    """Runs as times and states."""
    if given.tables is None:
        raise TypeError("X is a file: read it first, as with pandas.read_csv")
    step = given.roles.get("dt")
    found = []
    for place, table in given.tables:
        columns = dict(table)
        states = np.column_stack([columns[name] for name in model.targets]).astype(np.float64)
        if given.time is not None:
            times = columns[given.time]
        elif step is not None or model.dynamics == "discrete":
            times = np.arange(len(states)) * (1.0 if step is None else step)
        else:
            raise ValueError(f"{place} has no time: give t, the time of each row or between rows")
        found.append((times.tolist(), states.tolist()))
    return found


def as_table(rows: list[dict[str, Any]]) -> Any:
    """A DataFrame, where there is pandas; otherwise the rows as they are."""
    try:
        pandas: Any = import_module("pandas")
    except ImportError:
        return rows
    return pandas.DataFrame(rows)

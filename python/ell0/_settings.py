"""Settings of a law, as the compiled module takes them and gives them back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._working import Working
    from .law import Law

#: The candidate terms, where nobody says others.
LIBRARY = "polynomial(3)"

NAMES = (
    "library",
    "method",
    "criterion",
    "terms",
    "lambda_",
    "threshold",
    "derivative",
    "prior",
    "seed",
    "discrete",
    "input_noise",
    "drop_missing",
    "drop_short",
)


def of(law: Law) -> dict[str, Any]:
    """The settings by their names."""
    return {name: getattr(law, name) for name in NAMES}


def of_fit(law: Law, roles: dict[str, Any]) -> str:
    """The settings of a fit, with the meaning of the columns."""
    library: Any = law.library
    own: dict[str, str] = {}
    if isinstance(library, Mapping):
        own = {str(target): text for target, text in library.items() if target is not None}
        library = library.get(None, LIBRARY)
    data = {
        **roles,
        "dynamics": "discrete" if law.discrete else "continuous",
        "derivative": law.derivative,
        "library": library,
        "libraries": own,
        "drop-missing": law.drop_missing,
        "drop-short": law.drop_short,
    }
    if law.input_noise is not None:
        data["input-noise"] = law.input_noise
    settings = {
        "method": law.method,
        "lambda": _several(law.lambda_),
        "terms": _several(law.terms),
        "threshold": law.threshold,
        "prior": law.prior,
        "seed": law.seed,
        "criterion": law.criterion,
        "data": data,
    }
    return written(settings)


def of_score(law: Working, roles: dict[str, Any]) -> str:
    """The settings of a score: the law itself says which columns are which."""
    names = ("files", "time", "dt", "trajectory", "rates")
    settings = {name: roles[name] for name in names if name in roles}
    settings["derivative"] = "auto" if roles["rates"] else law.derivative
    settings["drop-missing"] = law.drop_missing
    settings["drop-short"] = law.drop_short
    return written(settings)


def read(text: str) -> dict[str, Any]:
    """The settings of a law, from those of a fit."""
    settings = json.loads(text)
    data = settings["data"]
    own = data.get("libraries")
    return {
        "library": {**own, None: data["library"]} if own else data["library"],
        "method": settings["method"],
        "criterion": settings.get("criterion"),
        "terms": _few(settings.get("terms", [])),
        "lambda_": _few(settings.get("lambda", [])),
        "threshold": settings.get("threshold"),
        "derivative": data["derivative"],
        "prior": settings["prior"],
        "seed": settings["seed"],
        "discrete": data["dynamics"] == "discrete",
        "input_noise": data.get("input-noise"),
        "drop_missing": data.get("drop-missing", False),
        "drop_short": data.get("drop-short", False),
    }


def _several(value: Any) -> list[Any]:
    """One value for all equations, or one for each."""
    if value is None:
        return []
    return list(value) if hasattr(value, "__iter__") else [value]


def _few(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values or None


def written(settings: dict[str, Any]) -> str:
    """Settings as JSON, whose numbers are finite."""
    flat = {**settings, **settings.get("data", {}), **settings.get("network", {})}
    for name, value in flat.items():
        for number in _several(value) if not isinstance(value, (str, Mapping)) else []:
            if isinstance(number, float) and not math.isfinite(number):
                raise ValueError(f"{name} = {number} is not allowed: it must be finite")
    return json.dumps(settings, default=_plain)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is no setting: give text or numbers")

"""Policies compared from the same starts, whoever made them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _ell0
from ._closed import ClosedForm
from ._environments import Place, place_of
from ._progress import Progress, watching
from .policy import Policy


def evaluate(
    env: Any,
    policy: Any,
    *,
    vectorized: bool = False,
    observation_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """How well a policy does, from the starts that policies are compared on in a world.

    These are a grid of states in worlds of ours that have one, otherwise random starts that are
    the same for everybody: 50 in worlds that are not ours.

    Parameters
    ----------
    env : str, environment or callable
        The world, as in `ell0.train`.
    policy : Policy, ClosedForm, str, path or callable
        A policy or law of ours, the text of a law as in "2*tanh(-5*sin_theta)" (for several
        actions "a = …; b = …"), a file of either, a model of Stable-Baselines3 (anything with
        `predict`), or a function of one observation.
    vectorized : bool
        Whether a function takes a batch of observations and gives a batch of actions.
    observation_names, action_names : list of str, optional
        As in `ell0.train`.
    progress : bool or callable, optional
        As in `ell0.train`.

    Returns
    -------
    dict
        `return` (the mean), `ci95` (half its 95 % interval), `episodes`, `steps`, `environment`,
        and `situations`: the same for each where a world is compared in several.

    Examples
    --------
    >>> import ell0
    >>> law = "2*tanh(-9.48*cos_theta*sin_theta - 2.38*cos_theta*theta_dot)"
    >>> found = ell0.evaluate("pendulum(g=9.81)", law)
    >>> round(found["return"]), found["episodes"]
    (-179, 2000)
    >>> found = ell0.evaluate("pendulum(g=9.81)", lambda seen: -2 * seen[1:2])
    """
    place = place_of(env, observation_names, action_names)
    acting = _acting(policy, place, vectorized)
    with watching(progress) as callback:
        found = json.loads(_ell0.evaluate(place.world, acting, callback))
    found["situations"] = [_flat(situation) for situation in found.get("situations", [])]
    return _flat(found)


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    worth = found.pop("return")
    return {"return": worth["mean"], "ci95": worth["ci95"], **found}


def _acting(policy: Any, place: Place, vectorized: bool) -> Any:
    """What the compiled module takes for it."""
    if isinstance(policy, Policy):
        return policy._policy
    if isinstance(policy, ClosedForm):
        return policy._equations()
    if isinstance(policy, (str, os.PathLike)):
        return _read(policy, place)
    if hasattr(policy, "predict"):
        return _Batches(lambda seen: policy.predict(seen, deterministic=True)[0], place)
    if not callable(policy):
        raise TypeError(
            f"policy is {policy!r}: give a policy or law of ours, its text or file,"
            " a model with `predict`, or a function of an observation"
        )
    if vectorized:
        return _Batches(policy, place)
    return _Batches(lambda seen: [np.ravel(policy(row)) for row in seen], place)


class _Batches:
    """A function of batches, from rows of singles to rows of doubles."""

    def __init__(self, function: Callable[[Any], Any], place: Place) -> None:
        self.function, self.shape = function, place.observation_shape

    def __call__(self, seen: Any) -> Any:
        rows = len(seen)
        chosen = np.asarray(self.function(seen.reshape(rows, *self.shape)), np.float64)
        return np.ascontiguousarray(chosen.reshape(rows, -1))


def _read(policy: str | os.PathLike[str], place: Place) -> _ell0.Policy | _ell0.Equations:
    """A file, or the text of a law."""
    path = os.fspath(policy)
    if path.endswith(".safetensors"):
        return _ell0.Policy.read(path)
    if path.endswith(".json") or os.path.exists(path):
        return _ell0.Equations.read(path)
    return _law(path, place)


def _law(text: str, place: Place) -> _ell0.Equations:
    """The law of each action; the name of the only one may be left out."""
    inputs, outputs = ([c[0] for c in s] for s in (place.world.observation, place.world.action))
    return _ell0.Equations.of_policy(text, inputs, outputs)

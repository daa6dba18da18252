"""Whatever somebody can act in, as a world that the compiled module trains in."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import _ell0
from ._registration import IDS

#: Bounds as far away as that are none: Gymnasium's worlds write the largest number of a type there.
FAR = 1e30

#: Environments of Gymnasium that ours are step for step: a name of Gymnasium's is Gymnasium's.
TWINS = {"Pendulum-v1": "pendulum"}

#: Does nothing to what is seen, done or rewarded.
PLAIN_WRAPPERS = {"OrderEnforcing", "PassiveEnvChecker"}


@dataclass(frozen=True)
class Place:
    """A world, and what a policy in it must know."""

    world: _ell0.World
    #: What runs call it.
    name: str
    #: The text of a world of ours.
    ours: str | None
    observation_shape: tuple[int, ...]
    action_shape: tuple[int, ...]
    action_dtype: DTypeLike = np.float32


def our_name(text: str) -> bool:
    """Whether a text names a world of ours."""
    head = text.split("(")[0].strip()
    return any(head in names for names, _ in _ell0.worlds())


def place_of(
    env: Any,
    observation_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Place:
    """The world that is meant."""
    text = _our_text(env)
    if text is not None:
        if observation_names is not None or action_names is not None:
            raise ValueError(f"{text} has names of its own: leave out those that are given")
        return _our_place(text, name)
    make = _maker(env)
    twin = TWINS.get(env) if isinstance(env, str) else None
    if twin is not None:
        # The same numbers have the same names.
        like = _ell0.World.make(twin)
        observation_names = observation_names or [c[0] for c in like.observation]
        action_names = action_names or [c[0] for c in like.action]
    first = make()
    text = _our_text(first)
    if text is not None and observation_names is None and action_names is None:
        return _our_place(text, name)
    called = name or _called(first)
    observation, action = (_space(first, f"{what}_space", called) for what in KINDS)
    if not np.issubdtype(action.dtype, np.floating):
        raise ValueError(
            f"the actions of {called} are {action}, whole numbers: boxes of floats are needed"
        )
    limit = getattr(getattr(first, "spec", None), "max_episode_steps", None)
    world = _ell0.World.outside(
        lambda: _Flat(make(), action.shape, action.dtype, called),
        called,
        _components(observation, _named(first, "observation", observation_names, observation)),
        _components(action, _named(first, "action", action_names, action)),
        limit,
    )
    return Place(world, called, None, observation.shape, action.shape, action.dtype)


#: What a world shows and takes, and the letter of the names of its components.
KINDS = {"observation": "x", "action": "a"}


def _our_text(env: Any) -> str | None:
    """The text of a world of ours."""
    if isinstance(env, str):
        if env in TWINS:
            return None
        return IDS.get(env) or (env if our_name(env) else None)
    while type(env).__name__ in PLAIN_WRAPPERS:
        env = env.env
    text = getattr(env, "text", None)
    return text if type(env).__module__ == "ell0.worlds" and isinstance(text, str) else None


def _our_place(text: str, name: str | None) -> Place:
    world = _ell0.World.make(text)
    shapes = (len(world.observation),), (len(world.action),)
    return Place(world, name or text, text, *shapes)


def _maker(env: Any) -> Callable[[], Any]:
    """What makes another like it."""
    if isinstance(env, str):
        return _by_id(env)
    if hasattr(env, "num_envs"):
        raise ValueError("these are many worlds at once: give one, and their number as worlds=…")
    if hasattr(env, "action_space") and not isinstance(env, type):
        return _copier(env)
    if callable(env):
        return env  # type: ignore[no-any-return]
    raise TypeError(
        f"env is {env!r}: give the name of a world, an environment of Gymnasium,"
        " or a function that makes one"
    )


def _by_id(name: str) -> Callable[[], Any]:
    ours = ", ".join(names[0] for names, _ in _ell0.worlds())
    try:
        import gymnasium
    except ImportError as error:
        if name in TWINS:
            same = f"`{name}` is Gymnasium's, which is not installed; `{TWINS[name]}` is the same"
            raise ValueError(f"{same}, and part of ell0") from error
        raise ValueError(
            f"there is no world `{name}`; ours are {ours}, for others install gymnasium"
        ) from error
    try:
        # Those with a module before a colon are found only when that is imported, by `make`.
        if ":" not in name:
            gymnasium.spec(name)
    except gymnasium.error.UnregisteredEnv as error:
        raise ValueError(f"there is no world `{name}`: {error} Ours are {ours}.") from error
    return lambda: gymnasium.make(name, disable_env_checker=True)


def _called(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return str(spec.id) if spec is not None else type(getattr(env, "unwrapped", env)).__name__


def _copier(env: Any) -> Callable[[], Any]:
    """Copies of an environment: made as it was made, if that is known."""
    spec = getattr(env, "spec", None)
    if spec is None or any(w.kwargs is None for w in spec.additional_wrappers):
        return lambda: copy.deepcopy(env)
    import gymnasium

    # Nobody looks at copies.
    unseen = {"render_mode": None} if spec.kwargs.get("render_mode") else {}
    return lambda: gymnasium.make(spec, disable_env_checker=True, **unseen)


def _space(env: Any, which: str, called: str) -> Any:
    space = getattr(env, which, None)
    if all(hasattr(space, part) for part in ("low", "high", "shape", "dtype")):
        return space
    what = which.replace("_space", "s")
    found = "missing" if space is None else str(space)
    raise ValueError(
        f"the {what} of {called} are {found}: vectors of numbers (gymnasium.spaces.Box) are needed"
    )


def _named(env: Any, kind: str, given: Sequence[str] | None, space: Any) -> list[str]:
    size = math.prod(space.shape)
    own = getattr(getattr(env, "unwrapped", env), f"{kind}_names", None)
    names = own if given is None else given
    if names is None:
        return [f"{KINDS[kind]}{k}" for k in range(size)]
    if isinstance(names, str) or len(names) != size:
        raise ValueError(f"{kind}_names is {names!r}: {size} names are needed, one for each number")
    return [str(name) for name in names]


def _components(space: Any, names: list[str]) -> _ell0._Components:
    low, high = (np.ravel(bound).astype(float).tolist() for bound in (space.low, space.high))

    def near(bound: float) -> float:
        return bound if abs(bound) < FAR else math.copysign(math.inf, bound)

    return [(n, near(a), near(b), None) for n, a, b in zip(names, low, high, strict=True)]


class _Flat:
    """A world that takes its actions as a list of doubles."""

    def __init__(self, env: Any, shape: tuple[int, ...], dtype: Any, called: str) -> None:
        self.env, self.shape, self.dtype, self.called = env, shape, dtype, called

    def reset(self, seed: int) -> Any:
        """Begins an episode."""
        both = self.env.reset(seed=seed)
        if not isinstance(both, tuple) or len(both) != 2:
            raise ValueError(f"reset of {self.called} must give two things: observation, info")
        return both

    def step(self, action: Any) -> Any:
        """Acts."""
        result = self.env.step(action.astype(self.dtype).reshape(self.shape))
        if not isinstance(result, tuple) or len(result) != 5:
            raise ValueError(
                f"step of {self.called} must give five things:"
                " observation, reward, terminated, truncated, info"
            )
        return result

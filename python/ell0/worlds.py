"""Our worlds as environments of Gymnasium: one, or thousands stepped at once."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.utils import EzPickle
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _ell0
from ._registration import register

__all__ = ["World", "WorldVector", "world_text"]

register()

Singles: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]


def world_text(world: str, **parameters: Any) -> str:
    """The text that names a world with some parameters, as the command line has it.

    Parameters
    ----------
    world : str
        Its name.
    **parameters
        Numbers, truth values, lists of values of which one is drawn for each episode, or tuples
        of two that it is drawn between.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> world_text("pendulum", g=9.81)
    'pendulum(g=9.81)'
    >>> world_text("burgers", nu=[0.1, 0.2], force=(-0.2, 0.2))
    'burgers(nu=[0.1, 0.2], force=-0.2..0.2)'
    """
    if not parameters:
        return world
    said = [f"{name}={_value(name, value)}" for name, value in parameters.items()]
    return f"{world}({', '.join(said)})"


def _value(name: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return "..".join(_value(name, v) for v in value)
    if isinstance(value, (list, np.ndarray)):
        return f"[{', '.join(_value(name, v) for v in value)}]"
    raise TypeError(
        f"{name} is {value!r}: give a number, a truth value, a list of values,"
        " or a tuple of two that it lies between"
    )


def _box(components: _ell0._Components) -> Space[Singles]:
    low, high = (np.array([c[k] for c in components], np.float32) for k in (1, 2))
    box: Space[Any] = Box(low, high, dtype=np.float32)
    return box


def _names(components: _ell0._Components) -> list[str]:
    return [c[0] for c in components]


class World(gymnasium.Env[Singles, Singles], EzPickle):
    """A world of ours.

    Parameters
    ----------
    world : str
        Its name, or the whole text as in "pendulum(g=9.81)".
    **parameters
        Its parameters, as in `world_text`.

    Attributes
    ----------
    text : str
        The text that makes another just like it.
    observation_names, action_names, state_names : list of str
        What the numbers mean.
    limit : int or None
        Steps after which it cuts an episode off by itself.

    Examples
    --------
    >>> import gymnasium, ell0
    >>> env = gymnasium.make("ell0/Pendulum-v0", g=9.81)
    >>> env.unwrapped.text
    'pendulum(g=9.81, mass=1, length=1, limit=200)'
    >>> env.unwrapped.observation_names
    ['cos_theta', 'sin_theta', 'theta_dot']
    >>> seen, _ = env.reset(options={"state": [0.0, 1.0]})
    >>> seen
    array([1., 0., 1.], dtype=float32)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, world: str, **parameters: Any) -> None:
        EzPickle.__init__(self, world, **parameters)
        self._world = _ell0.World.make(world_text(world, **parameters))
        self._seeded = False
        self.text = self._world.text
        self.limit = self._world.limit
        self.observation_names = _names(self._world.observation)
        self.action_names = _names(self._world.action)
        self.state_names = self._world.state_names
        self.observation_space = _box(self._world.observation)
        self.action_space = _box(self._world.action)

    @property
    def state(self) -> Doubles:
        """The state, all of it."""
        return self._world.state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Singles, dict[str, Any]]:
        """Begins an episode: the first of a seed, or the next one of the last seed.

        Parameters
        ----------
        seed : int, optional
            Seed of this episode and of those after it.
        options : dict, optional
            {"state": …} begins in that state.
        """
        super().reset(seed=seed)
        state = (options or {}).get("state")
        if state is not None:
            state = np.asarray(state, np.float64).ravel().tolist()
        seen = self._world.reset(self._next_seed(seed), state)
        return seen, {}

    def _next_seed(self, seed: int | None) -> int | None:
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        self._seeded = True
        return seed

    def step(self, action: Any) -> tuple[Singles, float, bool, bool, dict[str, Any]]:
        """Acts: observation, reward, whether the episode ended, whether it was cut off, nothing."""
        seen, reward, ended, cut = self._world.step(np.ravel(action).tolist())
        return seen, reward, ended, cut, {}


class WorldVector(VectorEnv[Singles, Singles, NDArray[Any]]):
    """Many worlds of ours, stepped at once by one call.

    World k of seed s goes through the episodes of a `World` with the seed s + k. One whose episode
    is over begins the next one in the step after (`AutoresetMode.NEXT_STEP`).

    Parameters
    ----------
    world : str
        Their name, or the whole text as in "pendulum(g=9.81)".
    num_envs : int
        How many.
    **parameters
        Their parameters, as in `world_text`.

    Examples
    --------
    >>> import gymnasium, ell0
    >>> env = gymnasium.make_vec("ell0/Pendulum-v0", num_envs=4096, g=9.81)
    >>> seen, _ = env.reset(seed=0)
    >>> seen, reward, ended, cut, _ = env.step(env.action_space.sample())
    >>> seen.shape, reward.shape
    ((4096, 3), (4096,))
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, world: str, num_envs: int = 1, **parameters: Any) -> None:
        one = World(world, **parameters)
        self._worlds = _ell0.Worlds(one.text, num_envs)
        self._seeded = False
        self.num_envs = num_envs
        self.text, self.limit = one.text, one.limit
        self.observation_names, self.action_names = one.observation_names, one.action_names
        self.single_observation_space = one.observation_space
        self.single_action_space = one.action_space
        self.observation_space = batch_space(one.observation_space, num_envs)
        self.action_space = batch_space(one.action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Singles, dict[str, Any]]:
        """Begins an episode in all worlds, or in those of options={"reset_mask": …}."""
        if seed is not None and not isinstance(seed, Integral):
            raise TypeError(f"seed is {seed!r}: give one number; world k gets the seed + k")
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        self._seeded = True
        which = (options or {}).get("reset_mask")
        if which is not None:
            which = np.asarray(which, bool).tolist()
            if len(which) != self.num_envs:
                raise ValueError(
                    f"reset_mask has {len(which)} values; there are {self.num_envs} worlds"
                )
        return self._worlds.reset(seed, which), {}

    def step(self, actions: Any) -> tuple[Singles, Doubles, Truths, Truths, dict[str, Any]]:
        """Acts in all worlds; the actions are a matrix, worlds × actions."""
        return *self._worlds.step(np.asarray(actions, np.float64)), {}

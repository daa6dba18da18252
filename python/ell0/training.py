"""Control laws, learned by acting."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from . import _ell0
from ._environments import Place, our_name, place_of
from ._progress import Progress, watching
from .policy import Policy


class Training:
    """What `ell0.train` gives: policies, and how they came about.

    Attributes
    ----------
    policies : list of Policy
        The policies, in the order of `results`.
    results : list of dict
        A row for each: return with its 95 % interval, terms, the equation, steps, seconds.
    environment_steps : dict
        Every step that the environment took, of all runs together, by purpose: "learning",
        "evaluation", "pruning" and "tuning".
    folder : Path or None
        Where the run is kept.
    environment : str
        What the run calls its world.
    """

    def __init__(
        self, run: _ell0.Training, place: Place | None = None, folder: Path | None = None
    ) -> None:
        self._episodes = run.episodes()
        self.folder = folder
        self.environment = run.environment
        self.results: list[dict[str, Any]] = json.loads(run.rows())
        if place is not None:
            self.policies = [Policy._of(p, name, place) for name, p in run.policies()]
        else:
            ours = run.environment if our_name(run.environment) else None
            self.policies = [Policy(p, name, environment=ours) for name, p in run.policies()]

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Training:
        """Reads the folder of a run, one of `ell0 train` too."""
        return cls(_ell0.Training.read(folder), folder=Path(folder))

    @property
    def policy(self) -> Policy:
        """The policy with the best return, or the only one."""
        returns = [row["return_mean"] for row in self.results]
        return self.policies[returns.index(max(returns))]

    @property
    def environment_steps(self) -> dict[str, int]:
        """Every step that the environment took, of all runs together, by purpose."""
        purposes = [row["environment_steps"] for row in self.results]
        return {
            name: sum(steps[name] for steps in purposes)
            for name in ("learning", "evaluation", "pruning", "tuning")
        }

    @property
    def episodes(self) -> list[dict[str, Any]]:
        """Every episode of every run: training return, critic loss, open terms, ….

        `pandas.DataFrame(training.episodes)` makes a table of it.
        """
        episodes = json.loads(self._episodes)
        assert isinstance(episodes, list)
        return episodes

    def report(self) -> Path:
        """The page of the run."""
        if self.folder is None:
            raise ValueError("there is no page: train with folder=… to have one")
        return self.folder / "report.html"

    def __repr__(self) -> str:
        lines = [f"{'policy':<20} {'return':>10} {'± 95 %':>8} {'terms':>6} {'steps':>11}"]
        for policy, row in zip(self.policies, self.results, strict=True):
            terms = "–" if row["terms"] is None else row["terms"]
            lines.append(
                f"{policy.name:<20} {row['return_mean']:>10.2f} {row['return_ci95']:>8.2f}"
                f" {terms:>6} {sum(row['environment_steps'].values()):>11,}"
            )
        return "\n".join([*lines, str(self.policy)])


def train(
    env: Any,
    policy: str | Sequence[str] = "polynomial(3)",
    *,
    episodes: int | None = None,
    updates: int | None = None,
    worlds: int | None = None,
    lambda_: float | Sequence[float] | None = None,
    penalty: str = "l0",
    terms: int | None = None,
    fine_tune: bool = False,
    exchange: bool = False,
    optimum: bool = False,
    seed: int = 0,
    seeds: int = 1,
    algorithm: str = "td3",
    settings: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    replace: bool = False,
    resume: bool = False,
    progress: Progress = None,
    observation_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Training:
    """Learns a sparse control law by acting.

    Parameters
    ----------
    env : str, environment or callable
        An environment of ours as in "pendulum(g=9.81)", the name of one of Gymnasium's, an
        environment of Gymnasium with boxes for spaces, or a function that makes one.
        "Pendulum-v1" is Gymnasium's; "pendulum" is the same step for step, but compiled.
    policy : str or list of str
        Any library as in "polynomial(3)", "network(64, 64)" or "sparse-network(64, 64)"; several
        are trained side by side.
    episodes, updates, worlds : int, optional
        Episodes, updates after each, and worlds stepped side by side (so many episodes count as
        one). By default 250, 200 and 1; for fields what suits them. Of another number of episodes
        the same share is random, and the penalty rises in the same share of them.
    lambda_ : float or list of float, optional
        The penalty of an open gate, relative to the size of Q; 0.001, and 0.0003 to begin with
        where `terms` is given (but for fields). Several are trained side by side.
    penalty : {"l0", "l1"}
        What is penalised: open gates, or the sizes of coefficients.
    terms : int, optional
        The number of terms of each action.
    fine_tune, exchange : bool
        Whether coefficients are tuned on rollouts after training, and terms exchanged for others
        that serve better.
    optimum : bool
        Whether policies are compared with optimal control where that is known, which takes
        seconds: the `gap` of the results.
    seed, seeds : int
        The first seed, and their number.
    algorithm : {"td3", "ddpg"}
        How it learns.
    settings : dict, optional
        Other settings of training by their names in `config.toml`: for example "hold" (steps for
        which random actions and noise stay the same: more than 1 where a goal is reached only by
        pushing for a while), "exploration", "random_episodes", "agent.discount" or
        "agent.critic_hidden".
    folder : path, optional
        Where the run is kept, and saved every few seconds.
    replace : bool
        Whether a folder that is there is replaced.
    resume : bool
        Whether the run in the folder goes on, to the same bits as if it had not been interrupted.
        Its settings are read from there: of all others, only `env`, names, `progress` and
        `episodes` matter. With more episodes than the run had, it goes on to that number, even if
        it was finished.
    progress : bool or callable, optional
        True shows bars (by default where somebody looks), a function of (kind, task, number, note)
        hears what happens. If it returns False, training ends after the episode under way: the
        best policy so far is pruned and measured as usual, and is what the call gives. Ctrl-C
        stops at once and raises; what was trained is kept in the folder.
    observation_names, action_names : list of str, optional
        Names for the laws of worlds that are not ours; otherwise the attributes of these names of
        the environment, or x0, x1, … and a0, a1, ….
    name : str, optional
        What the run calls the world.

    Returns
    -------
    Training
        The policies, and how they came about.

    Examples
    --------
    >>> import ell0
    >>> training = ell0.train("pendulum(g=9.81, limit=20)", episodes=2, progress=False)
    >>> training.environment_steps["learning"]
    40
    >>> training.policy.inputs
    ['cos_theta', 'sin_theta', 'theta_dot']
    """
    if folder is None and (resume or replace):
        raise ValueError("resume and replace are for a run in a folder: give folder=…")
    place = place_of(env, observation_names, action_names, name)
    plan = {
        "policies": [policy] if isinstance(policy, str) else list(policy),
        "algorithm": algorithm,
        "lambda": _prices(lambda_),
        "penalty": penalty,
        "fine_tune": bool(fine_tune),
        "exchange": bool(exchange),
        "optimum": bool(optimum),
        "episodes": _count("episodes", episodes),
        "worlds": _count("worlds", worlds),
        "updates": _count("updates", updates),
        "seeds": _count("seeds", seeds),
        "seed": _count("seed", seed),
        "terms": _count("terms", terms),
        "finer": _finer(settings or {}),
    }
    if penalty not in ("l0", "l1"):
        raise ValueError(f"penalty = {penalty!r} is not allowed: l0 or l1")
    try:
        with watching(progress) as callback:
            if resume and folder is not None:
                run = _ell0.resume(place.world, folder, _count("episodes", episodes), callback)
            else:
                site = None if folder is None else (folder, replace)
                run = _ell0.train(place.world, place.name, json.dumps(plan), site, callback)
    except Exception as error:
        # A run that cannot go on says so itself.
        if not (resume and isinstance(error, ValueError)):
            _note(error, folder)
        raise
    return Training(run, place, None if folder is None else Path(folder))


def _count(name: str, value: Any) -> int | None:
    """A whole number, whoever made it."""
    if value is None:
        return None
    if not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} = {value!r} is not allowed: a whole number, not negative")
    return int(value)


def _prices(prices: float | Sequence[float] | None) -> list[float]:
    found: list[float] = [] if prices is None else np.ravel(prices).astype(float).tolist()
    if not np.isfinite(found).all():
        raise ValueError(f"lambda_ = {prices!r} is not allowed: it must be finite")
    return found


def _finer(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their names; a dictionary within stands for those behind its name and a dot."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": v for inner, v in _finer(value).items()}
        else:
            flat[str(name)] = np.asarray(value).tolist() if hasattr(value, "dtype") else value
    for name, value in flat.items():
        if not isinstance(value, (str, int, float, list, tuple, type(None))):
            raise TypeError(f"settings[{name!r}] is {value!r}: give a number, text or a list")
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"{name} = {value} is not allowed: it must be finite")
    return flat


def _note(error: Exception, folder: str | os.PathLike[str] | None) -> None:
    """Says what is saved of a run that broke off."""
    if folder is None or isinstance(error, OSError) or not (Path(folder) / "checkpoints").is_dir():
        return
    # Python 3.10 has no notes.
    if hasattr(error, "add_note"):
        error.add_note(
            f"What was trained before is saved in {os.fspath(folder)}:"
            " the same call with resume=True goes on from there."
        )

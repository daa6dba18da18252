"""Sweeps of settings that several processes or machines share, by Optuna or by Ray Tune."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

#: What a setting may be: a list of choices, or (low, high) with "log" behind it for its logarithm.
#: Bounds that are whole numbers mean whole numbers.
Space: TypeAlias = Mapping[str, "list[Any] | tuple[Any, ...]"]


def study(
    journal: str | os.PathLike[str],
    name: str = "ell0",
    directions: Sequence[str] = ("minimize",),
    **more: Any,
) -> Any:
    """Opens a study of Optuna in a file, or begins it.

    Processes of one machine, or of several with a common file system, may all open it.

    Parameters
    ----------
    journal : path
        The file, in which everything that happens is written down.
    name : str
        Of the study; a file may hold several.
    directions : list of {"minimize", "maximize"}
        Of each number that the objective gives.
    **more
        Other arguments of `optuna.create_study`: sampler, pruner.

    Returns
    -------
    optuna.Study
        The study.
    """
    optuna = _module("optuna", "optuna")
    storages = optuna.storages.journal
    # Unlike links, a lock of this kind works on NFS, too, and is given up if its holder died.
    path = os.fspath(journal)
    backend = storages.JournalFileBackend(path, lock_obj=storages.JournalFileOpenLock(path))
    return optuna.create_study(
        storage=storages.JournalStorage(backend),
        study_name=name,
        directions=list(directions),
        load_if_exists=True,
        **more,
    )


def sweep(
    objective: Callable[..., Any],
    space: Space,
    *,
    journal: str | os.PathLike[str],
    trials: int,
    name: str = "ell0",
    directions: Sequence[str] = ("minimize",),
    **more: Any,
) -> Any:
    """Tries settings until a shared study has so many trials.

    Called by several processes with the same file, they share the work.

    Parameters
    ----------
    objective : callable
        Gets settings by their names, calls `ell0.Law` or `ell0.train` with them, and gives a
        number, or one for each direction.
    space : dict
        For each setting a list of choices, or `(low, high)`, or `(low, high, "log")`.
    journal, name, directions, **more
        As in `study`.
    trials : int
        Trials of the study in all, those of other processes included.

    Returns
    -------
    optuna.Study
        The study: `best_params`, `best_trials`, `trials_dataframe()`, ….
    """
    optuna = _module("optuna", "optuna")
    shared = study(journal, name, directions, **more)
    done = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)

    def enough(study: Any, _: Any = None) -> None:
        if len(study.get_trials(deepcopy=False, states=done)) >= trials:
            study.stop()

    def tried(trial: Any) -> Any:
        return objective(**{key: _suggested(trial, key, space[key]) for key in space})

    if len(shared.get_trials(deepcopy=False, states=done)) < trials:
        shared.optimize(tried, n_trials=trials, callbacks=[enough])
    return shared


def tune_space(space: Space) -> dict[str, Any]:
    """The same space for Ray Tune: its `param_space`."""
    tune = _module("ray.tune", "ray")
    found: dict[str, Any] = {}
    for key, values in space.items():
        if isinstance(values, list):
            found[key] = tune.choice(values)
            continue
        low, high, whole, log = _bounds(key, values)
        if whole:
            draw = tune.lograndint if log else tune.randint
            found[key] = draw(low, high + 1)
        else:
            found[key] = (tune.loguniform if log else tune.uniform)(low, high)
    return found


def trainable(objective: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The same objective for Ray Tune; its number is called `value`."""

    def run(config: dict[str, Any]) -> dict[str, Any]:
        return {"value": objective(**config)}

    return run


def _suggested(trial: Any, key: str, values: list[Any] | tuple[Any, ...]) -> Any:
    if isinstance(values, list):
        return trial.suggest_categorical(key, values)
    low, high, whole, log = _bounds(key, values)
    suggest = trial.suggest_int if whole else trial.suggest_float
    return suggest(key, low, high, log=log)


def _bounds(key: str, values: tuple[Any, ...]) -> tuple[Any, Any, bool, bool]:
    """Low, high, whether whole numbers are meant, and whether the logarithm counts."""
    numbers = isinstance(values, tuple) and all(isinstance(v, (int, float)) for v in values[:2])
    if not numbers or len(values) < 2 or values[2:] not in ((), ("log",)):
        raise ValueError(
            f"the space of {key} is {values!r}: give a list of choices, (low, high) or"
            " (low, high, 'log')"
        )
    return values[0], values[1], all(isinstance(v, int) for v in values[:2]), len(values) == 3


def _module(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs what is not installed ({error}): pip install 'ell0[{extra}]'"
        ) from error

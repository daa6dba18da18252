"""Policies: laws, or networks, that act."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import _ell0
from ._closed import DIGITS, ClosedForm
from ._environments import TWINS, Place, place_of
from ._progress import Progress, watching


def _ranges(named: Mapping[str, tuple[float, float]] | None) -> list[tuple[str, dict[str, float]]]:
    """Ranges by name, as the settings of a proof have them."""
    ranges = []
    for name, (low, high) in (named or {}).items():
        if not float(low) < float(high):
            raise ValueError(
                f"the range of {name} goes from {low} to {high}: the least comes first"
            )
        ranges.append((name, {"low": float(low), "high": float(high)}))
    return ranges


class Policy:
    """What acts: a function of observations that was trained, or read from a file.

    It is called with one observation or with a batch of them, and gives one action or a batch.
    Policies come from `ell0.train` and `Policy.load`.

    Examples
    --------
    >>> import ell0
    >>> training = ell0.train("pendulum(limit=20)", episodes=1, progress=False)
    >>> action = training.policy([1.0, 0.0, 0.0])
    >>> action.shape, action.dtype
    ((1,), dtype('float32'))
    >>> training.policy.equations[0][:9]
    'torque = '
    """

    def __init__(
        self,
        policy: _ell0.Policy,
        name: str = "policy",
        *,
        environment: str | None = None,
        observation_shape: tuple[int, ...] | None = None,
        action_shape: tuple[int, ...] | None = None,
        action_dtype: DTypeLike = np.float32,
    ) -> None:
        self._policy = policy
        self.name = name
        #: The text of the world it was trained in, if that is one of ours.
        self.environment = environment
        self._seen = observation_shape or (len(policy.inputs),)
        self._shape = action_shape or (len(policy.outputs),)
        self._dtype = np.dtype(action_dtype)

    @classmethod
    def _of(cls, policy: _ell0.Policy, name: str, place: Place) -> Policy:
        return cls(
            policy,
            name,
            environment=place.ours,
            observation_shape=place.observation_shape,
            action_shape=place.action_shape,
            action_dtype=place.action_dtype,
        )

    def __call__(self, observation: Any) -> Any:
        """The action for an observation, or the actions for a batch."""
        seen = np.asarray(observation, np.float32)
        single = seen.shape == self._seen
        if not single and seen.shape[1:] != self._seen:
            raise ValueError(
                f"an observation has shape {self._seen}, a batch has one dimension more;"
                f" {seen.shape} was given"
            )
        rows = 1 if single else len(seen)
        chosen = self._policy.act(seen.reshape(rows, -1)).astype(self._dtype)
        return chosen.reshape(self._shape if single else (rows, *self._shape))

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, None]:
        """The same as Stable-Baselines3 has it: actions, and no state.

        A policy is deterministic and remembers nothing: only `observation` matters.
        """
        return self(observation), None

    @property
    def kind(self) -> str:
        """What it is, as in "polynomial(3)" or "network(64, 64)"."""
        return self._policy.kind

    @property
    def inputs(self) -> list[str]:
        """Names of what it sees."""
        return self._policy.inputs

    @property
    def outputs(self) -> list[str]:
        """Names of what it does."""
        return self._policy.outputs

    @property
    def terms(self) -> int | None:
        """Terms of all laws together; none for a network."""
        return self._policy.terms

    @property
    def law(self) -> ClosedForm | None:
        """The laws of all actions in closed form; none for a network."""
        return closed(self._policy.law())

    @property
    def shared_law(self) -> ClosedForm | None:
        """The law that all actions share, if they do."""
        return closed(self._policy.shared_law())

    @property
    def equation(self) -> str | None:
        """The law for reading, the shared one if there is one; none for a network."""
        law = self._policy.shared_law() or self._policy.law()
        return None if law is None else law.text(DIGITS)

    @property
    def equations(self) -> list[str]:
        """The law of each action, for reading."""
        law = self._policy.law()
        return [] if law is None else law.text(DIGITS).splitlines()

    def __str__(self) -> str:
        return self.equation or repr(self)

    def __repr__(self) -> str:
        return f"<Policy {self.kind}: {', '.join(self.inputs)} → {', '.join(self.outputs)}>"

    def _repr_html_(self) -> str | None:
        law = self.shared_law or self.law
        return None if law is None else law._repr_html_()

    def export(
        self,
        format: str,
        folder: str | os.PathLike[str],
        name: str | None = None,
        *,
        float: bool = False,
        replace: bool = False,
    ) -> list[Path]:
        """Writes it in another language.

        Parameters
        ----------
        format : str
            "c", "rust", "python", "onnx", … as `ell0 export` has them.
        folder : path
            Where the files go.
        name : str, optional
            The name of the function.
        float : bool
            Whether it computes in single precision.
        replace : bool
            Whether files that are there are replaced.

        Returns
        -------
        list of Path
            The files.
        """
        return self._policy.export(format, folder, name, float, replace)

    def analyze(
        self,
        env: Any = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        prove_seconds: float = 20.0,
        uncertain: Mapping[str, tuple[float, float]] | None = None,
        disturb: Mapping[str, tuple[float, float]] | None = None,
        rounding: bool = False,
        stay: Mapping[str, tuple[float, float]] | None = None,
        avoid: Sequence[Mapping[str, tuple[float, float]]] = (),
        replace: bool = False,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """What can be said of it before it is put to work: equilibria, margins, what is proved.

        Parameters
        ----------
        env : str or environment, optional
            A world whose step is known in closed form, one of ours; the one it was trained in.
        folder : path, optional
            Where the page, its figures and the certificate of the proof go.
        prove_seconds : float
            Time for the proof of the states from which every trajectory arrives; 0 leaves it out.
        uncertain : dict, optional
            Parameters of the world that may be anywhere in a range, as in `{"g": (9.7, 9.9)}`.
        disturb : dict, optional
            Ranges of what is added to observations or actions, another at every step.
        rounding : bool
            Whether observations are rounded to single precision, as worlds do.
        stay : dict, optional
            Ranges of states that trajectories must never leave.
        avoid : list of dict
            Boxes, as ranges of states, that they must never enter.
        replace : bool
            Whether a folder that is there is replaced.
        progress : bool or callable, optional
            As in `ell0.train`.

        Returns
        -------
        dict
            What was found, as `ell0 analyze --json` prints it.
        """
        law = self._policy.law()
        if law is None:
            raise ValueError(f"{self.kind} is no closed form: only laws can be analysed")
        if env is None and self.environment is None:
            raise ValueError(
                "the environment that it was trained in is unknown, or not known in closed form:"
                " give one of ours that is like it, as in env='pendulum(g=9.81)'"
            )
        where = self.environment if env is None else env
        place = place_of(TWINS.get(where, where) if isinstance(where, str) else where)
        if not place.world.is_known:
            raise ValueError(
                f"the step of {place.name} is not known in closed form: policies are analysed in"
                " worlds of ours, such as 'pendulum(g=9.81)'"
            )
        site = None if folder is None else (folder, replace)
        proof = {
            "seconds": float(prove_seconds),
            "uncertain": _ranges(uncertain),
            "disturbances": _ranges(disturb),
            "rounding": bool(rounding),
            "stay": _ranges(stay),
            "avoid": [_ranges(box) for box in avoid],
        }
        with watching(progress) as callback:
            found = json.loads(_ell0.analyze(law, place.world, json.dumps(proof), site, callback))
        assert isinstance(found, dict)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves it as `policies/NAME.safetensors` of a run, or, by its ending, as `model.json`.

        `load` reads both, and acts by the same bits. Whoever reads a model reads the equations of
        the latter, which are the law in double precision.
        """
        told = {
            "environment": self.environment,
            "observation_shape": self._seen,
            "action_shape": self._shape,
            "action_type": self._dtype.name,
        }
        self._policy.save(path, json.dumps(told))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads what `save` wrote, or `policies/NAME.safetensors` of a run or of `ell0 train`."""
        policy, name = _ell0.Policy.read(path), Path(path).stem
        if policy.trained_in is None:
            return cls(policy, name)
        told = json.loads(policy.trained_in)
        try:
            kind = np.dtype(told["action_type"])
        except TypeError:
            raise ValueError(
                f"{os.fspath(path)}: NumPy has no numbers of the type {told['action_type']!r}"
            ) from None
        return cls(
            policy,
            name,
            environment=told["environment"],
            observation_shape=tuple(told["observation_shape"]),
            action_shape=tuple(told["action_shape"]),
            action_dtype=kind,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_policy": self._policy.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _policy=_ell0.Policy.from_bytes(state["_policy"]))


def closed(equations: _ell0.Equations | None) -> ClosedForm | None:
    """Equations with all that can be done with them."""
    if equations is None:
        return None
    form = ClosedForm()
    form._take(equations)
    return form

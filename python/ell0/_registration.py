"""The worlds among those of Gymnasium, without importing Gymnasium for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

#: Their names there, and here.
IDS = {
    "ell0/Pendulum-v0": "pendulum",
    "ell0/CartPoleSwingUp-v0": "cartpole-swingup",
    "ell0/KS-v0": "ks",
    "ell0/CDR-v0": "cdr",
    "ell0/Burgers-v0": "burgers",
    "ell0/Heat-v0": "heat",
}


def register() -> None:
    """Registers them, unless that is done."""
    from gymnasium.envs.registration import register, registry

    for name, world in IDS.items():
        if name not in registry:
            # Episodes are cut off by the worlds themselves: nothing is said of a limit here.
            register(
                name,
                entry_point="ell0.worlds:World",
                vector_entry_point="ell0.worlds:WorldVector",
                kwargs={"world": world},
            )


class _Waiting(MetaPathFinder):
    """Registers them as soon as somebody imports Gymnasium."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What Gymnasium is loaded by, with something to do afterwards."""
        if fullname != "gymnasium" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        loader = spec.loader if spec else None
        if loader is not None:
            load = loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                register()

            # Of this one loader, which loads nothing else.
            setattr(loader, "exec_module", load_and_register)  # noqa: B010
        return spec


def register_when_needed() -> None:
    """Registers them now if Gymnasium is there already, or else when it is imported."""
    if "gymnasium" in sys.modules:
        register()
    else:
        # Gymnasium takes longer to import than all of this package, and few need it.
        sys.meta_path.insert(0, _Waiting())

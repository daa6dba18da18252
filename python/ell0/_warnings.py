"""What nobody who fits or trains should miss."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from . import _ell0

#: Where the files of this package are.
HERE = str(Path(__file__).parent) + os.sep


class NoLawWarning(UserWarning):
    """No law was found for some target: what is printed for it explains little, or nothing."""


class MissingTermWarning(UserWarning):
    """A law leaves more than noise of some target: the library may lack a term."""


class CollapsedWarning(UserWarning):
    """A network says the same of every row that it learned from or was measured on."""


#: What the verdict on an equation warns of; of other verdicts there is nothing to warn.
WARNINGS = {"no_law": NoLawWarning, "partly": MissingTermWarning}


def warn(message: str, category: type[UserWarning]) -> None:
    """Warns as if by the line that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_verdicts(found: _ell0.Found) -> None:
    """Warns of equations that do not explain what they give, once for each kind of verdict."""
    verdicts = found.verdicts()
    for kind, category in WARNINGS.items():
        told = [f"{target}: {words}" for target, verdict, words in verdicts if verdict == kind]
        if told:
            warn("\n".join(told), category)

"""Sweeps that several processes share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ell0 import distributed

SWEEP = """
import sys
import numpy as np
import ell0
from ell0.distributed import sweep

t = np.arange(400) * 0.01
x = 0.5 + 2.5 * np.exp(-2 * t)

def objective(library, terms):
    law = ell0.Law(library, terms=terms).fit(x, t=t)
    return abs(law.coefficients).sum() + terms

space = {"library": ["polynomial(1)", "polynomial(2)"], "terms": (1, 2)}
study = sweep(objective, space, journal=sys.argv[1], trials=12)
assert study.best_params["terms"] in (1, 2)
"""


def test_a_sweep_is_shared(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    journal = tmp_path / "sweep.log"
    command = [sys.executable, "-c", SWEEP, str(journal)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    trials = distributed.study(journal).trials
    assert 12 <= len(trials) <= 13, "each counts those of the other"
    with pytest.raises(ValueError, match="list of choices"):
        distributed.sweep(abs, {"x": (1,)}, journal=tmp_path / "other", trials=1)

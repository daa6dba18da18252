"""Statistics in parts: merged, they say what all the data at once say."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ell0


def run(k: int) -> dict[str, Any]:
    """A damped oscillator from another beginning each time."""
    t = np.arange(200) * 0.02
    a, b = 1 + 0.1 * k, np.sin(0.37 * k)
    decay, c, s = np.exp(-0.1 * t), np.cos(2 * t), np.sin(2 * t)
    x = decay * (a * c + b * s)
    v = decay * (2 * b * c - 2 * a * s) - 0.1 * x
    ripple = 1e-4 * np.sin(37 * t + k)
    return {"t": t, "x": x + ripple, "v": v + ripple}


def empty(**more: Any) -> ell0.Statistics:
    return ell0.Statistics("polynomial(2)", states=["x", "v"], derivative="weak(10)", **more)


def test_merged_parts_say_what_all_the_data_say() -> None:
    runs = [run(k) for k in range(60)]
    law = ell0.Law("polynomial(2)", derivative="weak(10)", criterion="validation")
    whole = law.fit(runs, states=["x", "v"])
    parts = [empty().update(runs[k : k + 10]) for k in range(0, 60, 10)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    merged = empty().merge(*sent)
    assert merged.rows == 60 * 200
    assert merged._gathered.kept == 1, "what was gathered stays small"
    found = merged.law(criterion="validation")
    np.testing.assert_allclose(found.coefficients, whole.coefficients, rtol=1e-9, atol=0)
    assert found.equations == whole.equations
    # Also one after the other, and by the likelihood of the samples.
    chain = empty()
    for one in runs:
        chain.update(one)
    assert chain.law(criterion="validation").equations == whole.equations
    assert [e.split("=")[0] for e in chain.law().equations] == ["x' ", "v' "]


def test_batches_files_and_tables_are_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    one = run(3)
    file = tmp_path / "run.csv"
    pd.DataFrame(one).to_csv(file, index=False, float_format="%.17g")
    ways: list[Any] = [one, pd.DataFrame(one), pa.table(one), str(file)]
    ways.append(pa.table(one).to_batches()[0])
    laws = [empty().update(way).law() for way in ways]
    for law in laws:
        assert np.array_equal(law.coefficients, laws[0].coefficients)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="which columns"):
        ell0.Statistics()
    with pytest.raises(ValueError, match="no rows yet"):
        empty().law()
    other = ell0.Statistics("polynomial(3)", states=["x", "v"]).update(run(0))
    with pytest.raises(ValueError, match="make them alike"):
        empty().update(run(0)).merge(other)
    own = empty().update(run(0))
    with pytest.raises(ValueError, match="count twice"):
        own.merge(own)
    with pytest.raises(ValueError, match="there is no column `v`"):
        empty().update({"t": [0.0, 1.0], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="statistics"):
        ell0._ell0.Statistics.from_bytes(b"{}")
    spoilt = run(0)
    spoilt["x"] = spoilt["x"].copy()
    spoilt["x"][7] = np.nan
    with pytest.raises(ValueError, match="row 8"):
        own.update(spoilt)
    assert own.rows == 200, "what was gathered before is still there"

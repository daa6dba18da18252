"""How long calls tell how far they are, and how they are stopped."""

from pathlib import Path

import numpy as np
import pytest

from ell0 import Law

LORENZ = Path(__file__).resolve().parents[2] / "examples" / "lorenz.csv"


@pytest.fixture(scope="module")
def lorenz():
    table = np.loadtxt(LORENZ, delimiter=",", skiprows=1)
    return table[:, 0].copy(), table[:, 1:].copy()


def test_a_callback_hears(lorenz):
    t, X = lorenz
    heard = []
    Law().fit(X, t=t, progress=lambda *event: heard.append(event))
    assert {kind for kind, *_ in heard} >= {"began", "reached", "ended"}
    assert ("began", "reading rows", 5000, "") in heard


def test_a_callback_stops(lorenz):
    t, X = lorenz
    stopped = Law()
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, t=t, progress=lambda *event: False)
    with pytest.raises(ValueError, match="no law yet"):
        stopped.predict(X)


def test_a_callback_that_raises(lorenz):
    t, X = lorenz

    def broken(*event):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Law().fit(X, t=t, progress=broken)


def test_bars(lorenz, capsys):
    pytest.importorskip("tqdm")
    t, X = lorenz
    Law().fit(X, t=t, progress=True)
    assert "choosing terms" in capsys.readouterr().err
    Law().fit(X, t=t)
    assert capsys.readouterr().err == ""

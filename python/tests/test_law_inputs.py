"""Laws: every way to give them data, and every way to give wrong ones."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from ell0 import Law

ROOT = Path(__file__).resolve().parents[2]
LORENZ = ROOT / "examples" / "lorenz.csv"
NAMES = ["x", "y", "z"]


@pytest.fixture(scope="module")
def lorenz():
    """Times, and states as they lie in memory after any computation with NumPy."""
    table = np.loadtxt(LORENZ, delimiter=",", skiprows=1)
    return table[:, 0].copy(), table[:, 1:].copy()


@pytest.fixture(scope="module")
def law(lorenz):
    t, X = lorenz
    return Law().fit(X, t=t, names=NAMES)


def text(law):
    return law._model.to_json()


def decay(rows=400, start=2.5):
    t = np.arange(rows) * 0.01
    return t, 0.5 + start * np.exp(-2 * t)


def test_layouts(lorenz, law):
    t, X = lorenz
    wide = np.zeros((len(X), 6))
    wide[:, ::2] = X
    backwards = X[::-1].copy()[::-1]
    for same in (np.asfortranarray(X), wide[:, ::2], backwards, X.tolist()):
        assert text(Law().fit(same, t=t, names=NAMES)) == text(law)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert text(Law().fit(frozen, t=t, states=NAMES)) == text(law)


def test_tables(lorenz, law):
    t, X = lorenz
    columns = {"t": t, **{name: X[:, k] for k, name in enumerate(NAMES)}}
    assert text(Law().fit(columns)) == text(law)
    structured = np.rec.fromarrays(list(columns.values()), names=list(columns))
    assert text(Law().fit(np.asarray(structured))) == text(law)


def test_pandas(lorenz, law):
    pandas = pytest.importorskip("pandas")
    t, X = lorenz
    frame = pandas.DataFrame(X, columns=NAMES)
    assert text(Law().fit(frame, t=t)) == text(law)
    frame["time"] = t
    frame["label"] = "a"
    assert text(Law().fit(frame, states=NAMES)) == text(law)
    assert text(Law().fit(frame, trajectory="label")) == text(law)
    assert text(Law().fit(frame.convert_dtypes(), states=NAMES)) == text(law)
    with pytest.raises(TypeError, match="column `label` holds .*convert with astype"):
        Law().fit(frame)


def test_moments_of_a_calendar():
    pandas = pytest.importorskip("pandas")
    t, x = decay()
    moments = pandas.Timestamp("2026-01-01") + pandas.to_timedelta(np.arange(400) * 10, unit="ms")
    frame = pandas.DataFrame({"time": moments, "x": x})
    assert Law().fit(frame).equations == ["x' = 1 - 2*x"]


def test_polars(lorenz, law):
    polars = pytest.importorskip("polars")
    t, X = lorenz
    frame = polars.DataFrame({"t": t, **{name: X[:, k] for k, name in enumerate(NAMES)}})
    assert text(Law().fit(frame)) == text(law)
    with pytest.raises(TypeError, match=r"lazy table: call collect\(\)"):
        Law().fit(frame.lazy())


def test_arrow(lorenz, law):
    arrow = pytest.importorskip("pyarrow")
    t, X = lorenz
    table = arrow.table({"t": t, **{name: X[:, k].copy() for k, name in enumerate(NAMES)}})
    assert text(Law().fit(table)) == text(law)
    pieces = arrow.concat_tables([table.slice(0, 1000), table.slice(1000)])
    assert text(Law().fit(pieces)) == text(law)


def test_files(lorenz, law, tmp_path):
    assert text(Law().fit(LORENZ, states=NAMES)) == text(law)
    packed = tmp_path / "lorenz.csv.gz"
    packed.write_bytes(gzip.compress(LORENZ.read_bytes()))
    assert text(Law().fit([str(packed)], states=NAMES)) == text(law)


def test_nothing_is_copied():
    from ell0._meaning import Meaning
    from ell0._tables import measurements

    X = np.random.default_rng(0).normal(size=(100, 3))
    given = measurements([X, X[::2]], 0.1, None, [X, X[::2]], Meaning.of())
    for _, columns in given.tables:
        assert all(np.shares_memory(X, column) for _, column in columns)


def test_runs(lorenz):
    t, X = lorenz
    halves = [X[:2500], X[2500:]]
    both = Law().fit(halves, t=[t[:2500], t[2500:]], names=NAMES)
    assert both.diagnostics["data"]["trajectories"] == 2
    one_clock = Law().fit(halves, t=t[:2500], names=NAMES)
    step = Law().fit(tuple(halves), t=0.005, names=NAMES)
    assert [e.split(" = ")[0] for e in step.equations] == ["x'", "y'", "z'"]
    assert np.allclose(one_clock.coefficients, both.coefficients, rtol=1e-6)
    label = np.repeat(["a", "b"], 2500)
    columns = {"t": t, "label": label, "x": X[:, 0], "y": X[:, 1], "z": X[:, 2]}
    assert text(Law().fit(columns, trajectory="label")) == text(both)


def test_controls():
    generator = np.random.default_rng(1)
    t = np.arange(3000) * 0.01
    u = np.sin(t) + np.sin(2.7 * t + 1)
    x = np.zeros(3000)
    for k in range(2999):
        x[k + 1] = 0.95 * x[k] + 0.2 * u[k]
    x = x + 0 * generator.normal(size=3000)
    discrete = Law("polynomial(2)", discrete=True).fit(x, u=u)
    assert discrete.equations == ["x0[k+1] = 0.95*x0 + 0.2*u0"]
    named = Law("polynomial(2)", discrete=True).fit(x, u=u, names=["x", "f"])
    assert named.inputs == ["x", "f"]
    table = Law("polynomial(2)", discrete=True).fit({"x": x, "f": u}, controls="f")
    assert text(table) == text(named)
    assert np.allclose(discrete.simulate([0.0], 3000, u=u)[:, 0], x, atol=1e-8)
    assert np.allclose(discrete.simulate({"x0": 0.0}, 3000, u=u[:-1])[:, 0], x, atol=1e-8)
    assert discrete.predict(np.array([1.0]), u=np.array([2.0])) == pytest.approx([1.35])
    assert np.array_equal(discrete.predict(x, u=u), discrete.predict(np.column_stack([x, u])))
    assert discrete.score(x, u=u) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="controls: a column of u0"):
        discrete.simulate([0.0], 10)


def test_known_rates(lorenz):
    _, X = lorenz
    x, y, z = X.T
    rates = np.column_stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    arrays = Law().fit(X, x_dot=rates, names=NAMES)
    assert arrays.equations[0] == "x' = -10*x + 10*y"
    columns = dict(zip("xyzabc", np.hstack([X, rates]).T, strict=True))
    assert text(Law().fit(columns, x_dot=["a", "b", "c"])) == text(arrays)
    assert arrays.score(X, x_dot=rates) == pytest.approx(1.0)


def test_regression():
    generator = np.random.default_rng(2)
    a, b = generator.normal(size=(2, 500))
    columns = {"t": np.array(["morning"] * 500), "a": a, "b": b, "c": 3 * a * b - 1}
    found = Law("polynomial(2)").fit(columns, inputs=["a", "b"], targets=["c"])
    assert found.equations == ["c = -1 + 3*a*b"]
    assert found.score(columns) == pytest.approx(1.0)
    array = np.column_stack([a, b, 3 * a * b - 1])
    same = Law("polynomial(2)").fit(array, names=["a", "b", "c"], inputs=["a", "b"], targets="c")
    assert text(same) == text(found)


def test_libraries_of_single_equations(lorenz):
    t, X = lorenz
    own = {"x": "polynomial(1)", None: "polynomial(2)"}
    found = Law(own).fit(X, t=t, names=NAMES)
    assert found.equations[0] == "x' = -9.9944*x + 9.995*y"
    assert found.coefficients.shape == (3, 10)


# Wrong data: the sentence names the value, the place and the remedy.

GOOD = np.random.default_rng(3).normal(size=(50, 2))
BAD = np.where(np.arange(100).reshape(50, 2) == 35, np.nan, GOOD)


@pytest.mark.parametrize(
    ("X", "given", "kind", "sentence"),
    [
        (None, {}, ValueError, "X is empty: give an array"),
        ([], {}, ValueError, "X is empty"),
        (np.zeros((0, 2)), {"t": 0.1}, ValueError, r"X is empty: its shape is \(0, 2\)"),
        (np.zeros((2, 3, 4)), {"t": 0.1}, ValueError, "X has 3 dimensions.*list of runs"),
        (GOOD.astype(object), {"t": 0.1}, TypeError, "X holds objects.*astype"),
        (GOOD.astype(complex), {"t": 0.1}, TypeError, "complex numbers.*real parts"),
        ([[1, 2], [3]], {"t": 0.1}, ValueError, "rows have different lengths"),
        (BAD, {"t": 0.1}, ValueError, "X: row 18, column `x1` holds nothing, or NaN"),
        ([GOOD, BAD], {"t": 0.1}, ValueError, "run 2: row 18, column `x1`"),
        ([GOOD, GOOD[:, :1]], {"t": 0.1}, ValueError, "run 2 has the columns x0, and run 1 has"),
        (GOOD, {}, ValueError, "no column of time"),
        (GOOD, {"t": np.arange(49)}, ValueError, "t has 49 rows, and X has 50: give one for each"),
        (GOOD, {"t": np.zeros((50, 2))}, ValueError, "t has 2 dimensions"),
        (GOOD, {"t": np.zeros(50)}, ValueError, "X: row 2: time goes from 0 to 0"),
        (GOOD, {"t": -1.0}, ValueError, "dt = -1 is not allowed"),
        (GOOD, {"t": float("nan")}, ValueError, "dt = nan is not allowed"),
        ([GOOD, GOOD], {"t": [np.arange(50)]}, ValueError, "t has 1 entries, and there are 2 runs"),
        ([GOOD, GOOD], {"t": 0.1, "u": GOOD}, ValueError, "u has one value.*2 runs"),
        (GOOD, {"t": 0.1, "u": GOOD[1:]}, ValueError, "u has 49 rows, and X has 50"),
        (GOOD, {"x_dot": GOOD[:, :1]}, ValueError, "x_dot has 1 columns, and there are 2 states"),
        (GOOD, {"t": 0.1, "names": ["a"]}, ValueError, "X has 2 columns, and names has 1"),
        (GOOD, {"t": 0.1, "names": ["a", "a"]}, ValueError, "column `a` is there twice"),
        (GOOD, {"t": 0.1, "names": [1, 2]}, TypeError, "names holds 1"),
        (GOOD, {"t": 0.1, "states": ["q"]}, ValueError, "no column `q`; the columns are x0, x1"),
        ({"t": GOOD[:, 0], "x": GOOD[:, 1]}, {"t": GOOD[:, 0]}, ValueError, "time is given twice"),
        ({"t": GOOD[:, 0], "x": GOOD[:, 1]}, {"t": 0.1}, ValueError, "a time between rows was"),
        ("there is no such.csv", {"states": "x"}, FileNotFoundError, "there is no such.csv"),
        (LORENZ, {}, ValueError, "which columns?"),
        (LORENZ, {"states": "x", "t": np.arange(3)}, ValueError, "name their column with time="),
        (LORENZ, {"states": "x", "u": GOOD}, ValueError, "name their columns with controls="),
    ],
)
def test_wrong_data(X, given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        Law().fit(X, **given)


def test_missing_rows_may_be_left_out():
    t, x = decay()
    x[50] = np.nan
    found = Law(drop_missing=True).fit(x, t=t)
    assert found.diagnostics["data"]["dropped"] == 1
    masked = np.ma.masked_invalid(x)
    assert text(Law(drop_missing=True).fit(masked, t=t)) == text(found)


# Settings.


def test_settings(lorenz):
    t, X = lorenz
    for terms in (1, np.int64(1), [1, 1, 1], np.array([1, 1, 1])):
        found = Law(terms=terms).fit(X, t=t)
        assert np.count_nonzero(found.coefficients) == 3
    assert np.count_nonzero(Law(lambda_=1e9).fit(X, t=t).coefficients) == 0
    stlsq = Law(method="stlsq", threshold=0.1).fit(X, t=t)
    assert np.abs(stlsq.coefficients[stlsq.coefficients != 0]).min() >= 0.1
    assert Law(criterion="bic", derivative="fd2").fit(X, t=t).diagnostics["criterion"] == "bic"


def test_wrong_settings(lorenz):
    t, X = lorenz
    with pytest.raises(ValueError, match="2 numbers of terms for 3 equations"):
        Law(terms=[1, 2]).fit(X, t=t)
    with pytest.raises(ValueError, match="no method `magic`; there are exact"):
        Law(method="magic").fit(X, t=t)
    with pytest.raises(ValueError, match="cannot read library"):
        Law("splines(3)").fit(X, t=t)
    with pytest.raises(ValueError, match="lambda = nan is not allowed"):
        Law(lambda_=float("nan")).fit(X, t=t)
    with pytest.raises(TypeError, match="progress is 3"):
        Law().fit(X, t=t, progress=3)

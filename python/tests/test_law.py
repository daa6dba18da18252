"""Laws: what they find, what is done with them, how they are kept."""

import copy
import json
import pickle
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import ell0
from ell0 import Law

ROOT = Path(__file__).resolve().parents[2]
LORENZ = ROOT / "examples" / "lorenz.csv"
BINARY = ROOT / "target" / "release" / "ell0"
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


def test_what_it_finds(law):
    said = [f"{target}: {verdict}" for target, verdict in law.verdicts.items()]
    assert list(law.verdicts) == NAMES and str(law).splitlines() == [*law.equations, *said]
    assert law.verdicts["x"] == law.diagnostics["equations"]["x"]["words"]
    assert law.equations[0] == "x' = -9.9944*x + 9.995*y"
    assert law.feature_names[:6] == ["1", "x", "y", "z", "x^2", "x y"]
    assert law.coefficients.shape == (3, 20)
    assert law.coefficients[1, law.feature_names.index("x z")] == pytest.approx(-1, abs=0.01)
    assert np.count_nonzero(law.coefficients) == 7


def test_names_and_order_are_those_of_pysindy(law):
    pysindy = pytest.importorskip("pysindy")
    library = pysindy.PolynomialLibrary(degree=3).fit(np.zeros((2, 3)))
    assert library.get_feature_names(NAMES) == law.feature_names


# What is done with a law.


def test_predict(law, lorenz):
    t, X = lorenz
    rows = law.predict(X)
    assert rows.shape == X.shape
    assert law.predict(X[7]).shape == (3,)
    assert np.array_equal(law.predict(X[7]), rows[7])
    assert np.array_equal(law.predict(X[7].tolist()), rows[7])
    assert np.array_equal(law.predict(np.asfortranarray(X)), rows)
    assert np.array_equal(law.predict(dict(zip(NAMES, X.T, strict=True))), rows)
    single = X[:9].astype(np.float32)
    assert np.array_equal(law.predict(single), law.predict(single.astype(np.float64)))
    assert [len(part) for part in law.predict([X[:3], X[3:8]])] == [3, 5]
    with pytest.raises(ValueError, match="there are 2 columns; the law has 3 inputs"):
        law.predict(X[:, :2])
    with pytest.raises(TypeError, match="X holds objects"):
        law.predict(X.astype(object))


def test_simulate_follows_the_closed_form():
    t, x = decay()
    found = Law().fit(x, t=t)
    assert np.allclose(found.simulate([3.0], t)[:, 0], x, atol=1e-6)


def test_simulate_follows_scipy(law):
    integrate = pytest.importorskip("scipy.integrate")
    t = np.linspace(0, 2, 50)
    other = integrate.solve_ivp(
        lambda _, x: law.predict(x), (0, 2), [1.0, 2.0, 20.0], t_eval=t, rtol=1e-10, atol=1e-10
    )
    assert np.allclose(law.simulate({"y": 2, "x": 1, "z": 20}, t), other.y.T, atol=1e-5)


def test_simulations_that_leave_all_bounds_say_so():
    t = np.linspace(0, 0.9, 500)
    found = Law("polynomial(2)").fit(1 / (1 - t), t=t)
    assert found.equations == ["x0' = 1*x0^2"]
    with pytest.warns(RuntimeWarning, match="ends early"):
        states = found.simulate([1.0], np.linspace(0, 2, 21))
    assert 1 < len(states) < 21
    with pytest.raises(TypeError, match="give the times"):
        found.simulate([1.0], 10)
    with pytest.raises(ValueError, match="no controls: leave u out"):
        found.simulate([1.0], t, u=t)
    with pytest.raises(ValueError, match="x0 has no `x0`"):
        found.simulate({"y": 1.0}, t)


def test_score(law, lorenz):
    t, X = lorenz
    assert law.score(X, t=t) == pytest.approx(np.mean(list(law.scores(X, t=t)["r2"])))
    assert law.score(X, t=t) > 0.99
    assert law.score(LORENZ) == law.score(X, t=t)
    t, x = decay()
    constant = Law().fit(x, t=t)
    # A constant has no variance that could be explained.
    assert np.isnan(constant.score(x, x_dot=np.zeros(400)))


def test_tables_of_a_fit(law):
    assert list(law.path["target"].unique()) == NAMES
    assert law.path["chosen"].sum() == 3
    first = law.intervals.iloc[0]
    assert (first["target"], first["term"]) == ("x", "x")
    assert first["low"] < first["coefficient"] < first["high"]
    said = law.diagnostics
    assert said["data"]["rows"] == 5000
    assert said["equations"]["x"]["verdict"] == "explained"
    assert said["equations"]["x"]["words"].startswith("explained to the noise")
    json.dumps(said)


def test_tables_without_pandas(law, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    assert law.path[0]["terms"] == 0
    assert law.intervals[0]["term"] == "x"


def test_sympy(law, lorenz):
    sympy = pytest.importorskip("sympy")
    _, X = lorenz
    right = law.to_sympy()
    assert list(right) == NAMES
    value = [
        float(e.subs(dict(zip(sympy.symbols("x y z"), X[3], strict=True)))) for e in right.values()
    ]
    for name in NAMES:
        by_name = sympy.diff(right["z"], name)
        assert by_name == sympy.diff(right["z"], sympy.Symbol(name))
        assert by_name != 0
    assert float(sympy.diff(right["z"], "x").subs({"y": 2})) == pytest.approx(2, rel=0.01)
    assert right["z"].free_symbols == set(sympy.symbols("x y z"))
    assert np.allclose(value, law.predict(X[3]))
    odd = {
        "format": "ell0-model",
        "version": 1,
        "inputs": ["a b", "x.y", "sin"],
        "dynamics": "regression",
        "equations": [{"target": "q", "expression": "-2*`a b`^2*sin(x.y) - 3e-7*abs(x.y)*sin"}],
    }
    odd_law = Law()
    odd_law._take(ell0._ell0.Equations.from_json(json.dumps(odd)))
    row = np.array([1.3, -0.7, 2.0])
    values = dict(zip((sympy.Symbol(n) for n in odd["inputs"]), row, strict=True))
    assert float(odd_law.to_sympy()["q"].subs(values)) == pytest.approx(odd_law.predict(row)[0])
    with pytest.raises(ValueError, match="no sum of terms"):
        _ = odd_law.coefficients


def test_notebook(law):
    page = law._repr_html_()
    assert "<math>" in page and "<svg" in page
    assert all(f"<div>{name}: {law.verdicts[name]}</div>" in page for name in NAMES)
    assert law._repr_latex_() == law.to_latex()
    assert r"\begin{align*}" in law.to_latex()
    assert "9.99 " in law.to_latex(digits=3)
    assert Law()._repr_html_() == "<pre>Law()</pre>"
    assert str(Law(terms=3)) == "Law(terms=3)"


def test_export(law, tmp_path):
    files = law.export("c", tmp_path / "c", name="lorenz")
    assert any(file.suffix == ".c" for file in files)
    with pytest.raises(FileExistsError):
        law.export("c", tmp_path / "c", name="lorenz")
    law.export("c", tmp_path / "c", name="lorenz", replace=True)
    with pytest.raises(ValueError, match="cobol"):
        law.export("cobol", tmp_path / "d")


def test_analyze(law, lorenz, tmp_path):
    t, X = lorenz
    found = law.analyze(X, t, folder=tmp_path / "analysis")
    assert found["largest_lyapunov_exponent"] == pytest.approx(0.9, abs=0.05)
    assert found["valid_prediction_time"]["mean"] > 1
    assert (tmp_path / "analysis" / "report.html").exists()
    assert len(law.analyze()["equilibria"]) == 3
    assert law.analyze(X, 0.005)["valid_prediction_time"]["mean"] > 1


# Kept.


def test_save_and_load(law, lorenz, tmp_path):
    file = law.save(tmp_path / "law.json")
    loaded = Law.load(file)
    assert text(loaded) == text(law) == file.read_text()
    assert np.array_equal(loaded.predict(lorenz[1]), law.predict(lorenz[1]))
    assert list(loaded.intervals["term"]) == list(law.intervals["term"])
    assert law.save(tmp_path) == tmp_path / "model.json"
    assert text(Law.load(tmp_path)) == text(law)
    with pytest.raises(ValueError, match="the model alone"):
        _ = loaded.path
    with pytest.raises(FileNotFoundError):
        Law.load(tmp_path / "nothing.json")


def test_nothing_is_saved_over_a_file_of_a_run(law, tmp_path):
    run = law.write(tmp_path / "run")
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    for name in ("model.json", "discovery.json", "manifest.json"):
        with pytest.raises(FileExistsError, match="belongs to the run"):
            law.save(run / name)
    with pytest.raises(FileExistsError, match="belongs to the run"):
        law.save(run)
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before
    # What is no part of it may be saved, and saved again.
    for _ in range(2):
        assert law.save(tmp_path / "mine.json").exists()


def test_the_folder_of_a_fit(law, tmp_path):
    page = law.report(tmp_path / "run")
    assert page.exists() and page.name == "report.html"
    again = Law.read(tmp_path / "run")
    assert text(again) == text(law)
    assert again.diagnostics == law.diagnostics
    assert text(Law.load(tmp_path / "run")) == text(law)
    assert Law.load(tmp_path / "run").path.equals(law.path)
    with pytest.raises(FileExistsError):
        law.write(tmp_path / "run")
    law.write(tmp_path / "run", replace=True)
    page = law.report()
    assert page.exists()
    shutil.rmtree(page.parent.parent)


def test_pickle_and_copies(law, lorenz):
    again = pickle.loads(pickle.dumps(law))
    assert text(again) == text(law)
    assert again.diagnostics == law.diagnostics
    assert np.array_equal(again.predict(lorenz[1]), law.predict(lorenz[1]))
    assert "<math>" in again._repr_html_()
    assert repr(pickle.loads(pickle.dumps(Law(terms=2)))) == "Law(terms=2)"
    for other in (copy.copy(law), copy.deepcopy(law)):
        assert text(other) == text(law)
        assert other.path.equals(law.path)
    settings = copy.deepcopy(Law({"x": "polynomial(1)"}))
    assert settings.library == {"x": "polynomial(1)"}


@pytest.mark.parametrize("name", ["equations", "coefficients", "path", "intervals", "diagnostics"])
def test_before_a_fit(name):
    with pytest.raises(ValueError, match=r"call fit\(X, t=…\) first"):
        getattr(Law(), name)


def test_a_fit_that_fails_leaves_the_law_as_it_was(law, lorenz):
    kept = copy.copy(law)
    with pytest.raises(ValueError):
        kept.fit(np.zeros((3, 3)), t=0.1)
    assert text(kept) == text(law)


@pytest.mark.skipif(not BINARY.exists(), reason="the command line is not built")
def test_the_same_bytes_as_the_command_line(lorenz, law, tmp_path):
    run = [BINARY, "fit", LORENZ, "--states", "x,y,z", "--json", "--out", tmp_path / "cli"]
    subprocess.run(run, check=True, capture_output=True)
    theirs = (tmp_path / "cli" / "model.json").read_bytes()
    assert law.save(tmp_path / "array.json").read_bytes() == theirs
    by_file = Law().fit(LORENZ, states=NAMES)
    assert by_file.save(tmp_path / "file.json").read_bytes() == theirs
    assert by_file.write(tmp_path / "py").joinpath("model.json").read_bytes() == theirs
    for name in ("discovery.json", "path.csv", "config.toml"):
        same = (tmp_path / "py" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
        assert same, name
    assert text(Law.read(tmp_path / "cli")).encode() == theirs


def by_lot(rows=400):
    a, noise = np.random.default_rng(0).normal(size=(2, rows))
    return a, noise


def test_no_law_and_missing_terms_are_warned_of():
    a, noise = by_lot()
    data = {"a": a, "nothing": noise, "bent": a + 0.2 * np.sin(6 * a) + 1e-3 * noise}
    settings = {"inputs": ["a"], "targets": ["nothing", "bent"]}
    with pytest.warns(UserWarning) as heard:
        law = Law("polynomial(1)").fit(data, **settings)
    assert [w.category for w in heard] == [ell0.NoLawWarning, ell0.MissingTermWarning]
    assert [w.filename for w in heard] == [__file__] * 2
    assert str(heard[0].message) == f"nothing: {law.verdicts['nothing']}"
    assert str(heard[1].message) == f"bent: {law.verdicts['bent']}"
    assert "no law" in str(heard[0].message) and "may lack a term" in str(heard[1].message)
    assert str(law).splitlines()[2:] == [str(warning.message) for warning in heard]
    again = pickle.loads(pickle.dumps(law))
    assert str(again) == str(law) and "may lack a term" in again._repr_html_()
    with pytest.warns(ell0.NoLawWarning):
        ell0.Statistics("polynomial(1)", **settings).update(data).law()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ell0.NoLawWarning)
        with pytest.raises(ell0.MissingTermWarning):
            law.fit(data, **settings)
    # What was found is there, whether a warning is an error or not.
    assert law.verdicts


def test_a_model_alone_has_no_verdict(law, tmp_path):
    alone = Law.load(law.save(tmp_path / "law.json"))
    assert alone.verdicts == {} and str(alone).splitlines() == alone.equations == law.equations


def test_no_warnings_in_a_plain_fit(lorenz):
    t, X = lorenz
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Law().fit(X, t=t).predict(X)

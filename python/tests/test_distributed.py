"""Laws from partitions: on Dask, on Ray, and by hand."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ell0 import Law, Statistics, distributed
from ell0.distributed import fit, gather, joined, merged

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

PLAIN: dict[str, Any] = {"library": "polynomial(3)", "inputs": ["a", "b", "c"], "targets": ["y"]}
STATES: dict[str, Any] = {
    "library": "polynomial(2)",
    "states": ["x", "v"],
    "derivative": "weak(10)",
    "trajectory": "run",
}


def rows(seed: int, n: int) -> Any:
    """Rows of a plain regression, with a column that is not needed."""
    r = np.random.default_rng(seed)
    a, b, c = r.normal(size=(3, n))
    y = 1.5 * a - 0.7 * a * b + 0.25 * c**3 + 0.1 * r.normal(size=n)
    return pa.table({"other": [str(seed)] * n, "a": a, "b": b, "c": c, "y": y})


def run(k: int) -> Any:
    """An experiment: a damped oscillator from another beginning each time."""
    t = np.arange(200) * 0.02
    a, b = 1 + 0.1 * k, np.sin(0.37 * k)
    decay, c, s = np.exp(-0.1 * t), np.cos(2 * t), np.sin(2 * t)
    x = decay * (a * c + b * s)
    v = decay * (2 * b * c - 2 * a * s) - 0.1 * x
    ripple = 1e-4 * np.sin(37 * t + k)
    return pa.table({"run": np.full(200, k), "t": t, "x": x + ripple, "v": v + ripple})


def write(folder: Path, tables: list[Any]) -> Path:
    folder.mkdir()
    for k, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{k:03}.parquet")
    return folder


def equal(law: Law, other: Law) -> bool:
    np.testing.assert_allclose(law.coefficients, other.coefficients, rtol=1e-9, atol=0)
    return law.equations == other.equations


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200,000 rows in 20 files, and one without rows."""
    tables = [rows(k, 10_000) for k in range(20)]
    return write(tmp_path_factory.mktemp("plain") / "all", [*tables, tables[0][:0]])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 experiments in 10 files."""
    tables = [pa.concat_tables(run(4 * k + j) for j in range(4)) for k in range(10)]
    return write(tmp_path_factory.mktemp("runs") / "all", tables)


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same experiments in 7 files that cut some of them."""
    whole = pa.concat_tables(run(k) for k in range(40))
    tables = [whole[first : first + 1150] for first in range(0, len(whole), 1150)]
    return write(tmp_path_factory.mktemp("cut") / "all", tables)


@pytest.fixture(scope="module")
def one_machine(plain: Path) -> Law:
    files = sorted(str(file) for file in plain.iterdir())[:-1]
    question = {k: v for k, v in PLAIN.items() if k != "library"}
    return Law(PLAIN["library"], criterion="validation").fit(files, **question)


@pytest.fixture(scope="module")
def all_runs(runs: Path) -> Law:
    files = sorted(str(file) for file in runs.iterdir())
    law = Law("polynomial(2)", derivative="weak(10)", criterion="validation")
    return law.fit(files, states=["x", "v"], trajectory="run")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("dask.dataframe")
    engine = pytest.importorskip("distributed")
    cluster = engine.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, engine.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def deadly(flag: Path) -> Any:
    """A function of partitions that kills the worker once, in the middle of the data."""

    def pass_on(table: Any) -> Any:
        middle = "11" in {str(value) for value in table["other"].to_numpy()[::1000]}
        if middle and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return table

    return pass_on


def test_two_functions_are_enough(plain: Path, one_machine: Law, tmp_path: Path) -> None:
    files = sorted(plain.iterdir())
    parts = [gather(file, PLAIN) for file in files[:5]]
    parts += [gather(pq.read_table(file), PLAIN) for file in files[5:10]]
    parts += [gather(pd.read_parquet(file), PLAIN) for file in files[10:]]
    assert parts[-1] == b"", "there is nothing in the last file"
    whole = merged(iter(parts))
    assert whole.rows == 200_000
    assert equal(whole.law(criterion="validation"), one_machine)
    tree = merged([joined(parts[:7]), b"", joined([joined(parts[7:9]), joined(parts[9:])])])
    assert equal(tree.law(criterion="validation"), one_machine)
    # As the jobs of an array would leave them.
    for k, part in enumerate(parts):
        (tmp_path / f"{k}.part").write_bytes(part)
    read = (path.read_bytes() for path in sorted(tmp_path.glob("*.part")))
    assert equal(merged(read).law(criterion="validation"), one_machine)


def test_files_folders_patterns_and_tables(plain: Path, one_machine: Law) -> None:
    files = sorted(plain.iterdir())
    ways: list[Any] = [plain, str(plain / "*.parquet"), files, map(pq.read_table, files)]
    for way in ways:
        assert equal(fit(way, criterion="validation", **PLAIN), one_machine)
    alone = fit(pq.read_table(files[0]), **PLAIN)
    assert alone.equations == fit(files[0], **PLAIN).equations


def test_experiments_that_span_partitions_are_refused(runs: Path, cut: Path, all_runs: Law) -> None:
    assert equal(fit(runs, criterion="validation", **STATES), all_runs)
    with pytest.raises(
        ValueError, match="experiment 5 of column `run` lie in more than one.*shuff"
    ):
        fit(cut, **STATES)
    # Where no row depends on another, nothing matters.
    rates = {**STATES, "rates": ["v", "x"], "derivative": "auto"}
    assert fit(cut, **rates).equations == fit(runs, **rates).equations
    text = [table.set_column(0, "run", table["run"].cast("string")) for table in (run(0), run(0))]
    with pytest.raises(ValueError, match="experiment 0 of column `run`"):
        fit(text, **STATES)


def test_what_is_wrong_is_said(runs: Path, tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(ValueError, match="which columns"):
        fit(runs)
    with pytest.raises(ValueError, match="give one way for all"):
        fit(runs, states=["x", "v"])
    with pytest.raises(ValueError, match="needs an engine"):
        fit(runs, shuffle=True, **STATES)
    with pytest.raises(ValueError, match="say which column"):
        fit(runs, shuffle=True, **PLAIN)
    with pytest.raises(ValueError, match="engine = 'spark' is not allowed"):
        fit(runs, engine="spark", **STATES)
    with pytest.raises(TypeError, match="colour"):
        fit(runs, colour="red", **STATES)
    with pytest.raises(TypeError, match="data is a int"):
        fit(3, **STATES)
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        fit(tmp_path, **STATES)
    with pytest.raises(ValueError, match="no rows"):
        fit([run(0)[:0]], **STATES)
    with pytest.raises(ValueError, match="read it with Dask or Ray"):
        fit("s3://bucket/runs", **STATES)
    with pytest.raises(TypeError, match="no statistics"):
        merged([pickle.dumps("what?")])
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    for engine in ("dask", "ray"):
        with pytest.raises(ImportError, match=rf"pip install 'ell0\[{engine}\]'"):
            fit(runs, engine=engine, **STATES)


def test_dask(client: Any, plain: Path, one_machine: Law, tmp_path: Path) -> None:
    dd = pytest.importorskip("dask.dataframe")
    assert equal(fit(plain, engine="dask", criterion="validation", **PLAIN), one_machine)
    assert equal(fit(dd.read_parquet(plain), criterion="validation", **PLAIN), one_machine)
    flag = tmp_path / "killed"
    table = dd.read_parquet(plain).map_partitions(deadly(flag))
    assert equal(fit(table, criterion="validation", **PLAIN), one_machine)
    assert flag.exists(), "a worker died"


def test_dask_with_experiments(client: Any, runs: Path, cut: Path, all_runs: Law) -> None:
    dd = pytest.importorskip("dask.dataframe")
    law: dict[str, Any] = {"criterion": "validation"}
    assert equal(fit(runs, engine="dask", **law, **STATES), all_runs)
    assert equal(fit(dd.read_parquet(runs), **law, **STATES), all_runs)
    for way in (cut, dd.read_parquet(cut)):
        with pytest.raises(ValueError, match="experiment 5 of column `run`"):
            fit(way, engine="dask", **STATES)
        together = fit(way, engine="dask", shuffle=True, **law, **STATES)
        np.testing.assert_allclose(together.coefficients, all_runs.coefficients, rtol=1e-9)
    with pytest.raises(ValueError, match="no column of time"):
        fit(dd.read_parquet(cut).drop(columns="t"), shuffle=True, dt=0.02, **STATES)
    # Without labels each partition is an experiment, whatever Dask would like to put together.
    alone = {**STATES, "trajectory": None}
    one_each = dd.from_map(lambda k: run(k).to_pandas(), range(3))
    files = [run(k) for k in range(3)]
    assert fit(one_each, **alone).equations == fit(files, **alone).equations


def test_ray(ray: Any, plain: Path, one_machine: Law, tmp_path: Path) -> None:
    assert equal(fit(plain, engine="ray", criterion="validation", **PLAIN), one_machine)
    table = ray.data.read_parquet(str(plain))
    found = distributed.statistics(table, PLAIN)
    assert isinstance(found, Statistics) and found.rows == 200_000
    flag = tmp_path / "killed"
    table = table.map_batches(deadly(flag), batch_format="pyarrow", batch_size=None)
    again = distributed.statistics(table, PLAIN)
    assert flag.exists(), "a worker died"
    # Blocks come in any order, and what is held out for validation depends on it.
    for law in (found.law(), again.law()):
        np.testing.assert_allclose(law.coefficients, one_machine.coefficients, rtol=1e-9)


def test_ray_with_experiments(ray: Any, runs: Path, cut: Path, all_runs: Law) -> None:
    law: dict[str, Any] = {"criterion": "validation"}
    assert equal(fit(runs, engine="ray", **law, **STATES), all_runs)
    with pytest.raises(ValueError, match="experiment 5 of column `run`"):
        fit(cut, engine="ray", **STATES)
    table = ray.data.from_arrow([pq.read_table(file) for file in sorted(cut.iterdir())])
    with pytest.raises(ValueError, match="lie in more than one partition"):
        fit(table, **STATES)
    for way, shuffle in ((cut, True), (table, True), (ray.data.read_parquet(str(runs)), False)):
        together = fit(way, engine="ray", shuffle=shuffle, **law, **STATES)
        np.testing.assert_allclose(together.coefficients, all_runs.coefficients, rtol=1e-9)
    with pytest.raises(ValueError, match="no column of time"):
        fit(table.drop_columns(["t"]), dt=0.02, **STATES)
    with pytest.raises(ValueError, match="blocks as it likes"):
        fit(table, **{**STATES, "trajectory": None})
    with pytest.raises(ValueError, match="there is no column `z`"):
        fit(table, **{**STATES, "states": ["x", "z"]})


def test_the_same_sweep_with_ray_tune(ray: Any, tmp_path: Path) -> None:
    tune = pytest.importorskip("ray.tune")

    def objective(k: int, price: float, kind: str) -> float:
        return k + price + len(kind)

    space: dict[str, Any] = {"k": (1, 3), "price": (0.1, 1.0, "log"), "kind": ["l0", "l1"]}
    tuner = tune.Tuner(
        distributed.trainable(objective),
        param_space=distributed.tune_space(space),
        tune_config=tune.TuneConfig(num_samples=2, metric="value", mode="min"),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    best = tuner.fit().get_best_result()
    assert 3.1 <= best.metrics["value"] <= 6

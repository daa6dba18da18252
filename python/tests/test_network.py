"""Sparse networks: the same as the command line's, whatever the rows are held in."""

import pickle
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ell0

COMMAND = Path(__file__).resolve().parents[2] / "target/release/ell0"
FILE = "network.safetensors"

#: Small enough for a test.
SHORT = {"hidden": 8, "epochs": 30, "batch": 32, "progress": False}
OPTIONS = ["--hidden", "8", "--epochs", "30", "--batch", "32"]
WORDS = ["high", "low", "mid"]


@pytest.fixture(scope="module")
def table():
    """Words that follow from `a`, numbers that follow from `a` and `b`; `c` says nothing."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 3)).round(6)
    kind = np.where(x[:, 0] > 0.5, "high", np.where(x[:, 0] < -0.5, "low", "mid"))
    y = (2 * x[:, 0] - x[:, 1]).round(6)
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": kind, "y": y}


def columns(table, *names):
    return {name: table[name] for name in names}


@pytest.fixture(scope="module")
def words(table):
    return columns(table, "a", "b", "c", "kind")


def written(folder, table):
    """The same as a CSV file."""
    file = folder / "data.csv"
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    file.write_text("\n".join([",".join(table), *lines]) + "\n")
    return file


@pytest.fixture(scope="module")
def found(words):
    return ell0.network(words, class_="kind", **SHORT)


def raw(network):
    return network._network.to_bytes()


def command(folder, *options):
    call = [COMMAND, "network", *options, "--out", folder]
    subprocess.run(list(map(str, call)), check=True, capture_output=True)
    return (folder / FILE).read_bytes()


def same_settings(one, other):
    texts = [(folder / "config.toml").read_text() for folder in (one, other)]
    return texts[0] == texts[1]


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not built")
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--learning-rate", "0.02"], {"learning_rate": 0.02}),
        (["--patience", "3"], {"patience": 3}),
        (["--path=0.5,5"], {"path": [0.5, 5]}),
        (["--averaging", "0", "--gates", "weight"], {"averaging": 0, "gates": "weight"}),
        (["--class-weights", "low=5,mid=0.5"], {"class_weights": {"low": 5, "mid": 0.5}}),
        (
            ["--lambda", "1,0.1", "--scaling", "together"],
            {"lambda_": (1, 0.1), "scaling": "together"},
        ),
    ],
)
def test_the_same_bits_as_the_command_line(words, tmp_path, options, settings):
    file = written(tmp_path, words)
    theirs = command(tmp_path / "there", file, "--class", "kind", *OPTIONS, *options)
    here = ell0.network(file, class_="kind", **SHORT, **settings, out=tmp_path / "here")
    assert (tmp_path / "here" / FILE).read_bytes() == theirs == raw(here.network)
    assert same_settings(tmp_path / "here", tmp_path / "there")
    assert raw(ell0.network(words, class_="kind", **SHORT, **settings).network) == theirs


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not built")
def test_the_defaults_are_those_of_the_command_line(words, tmp_path):
    file = written(tmp_path, words)
    command(tmp_path / "there", file, "--class", "kind", "--epochs", "1")
    ell0.network(file, class_="kind", epochs=1, out=tmp_path / "here", progress=False)
    assert same_settings(tmp_path / "here", tmp_path / "there")
    command(tmp_path / "more", file, "--class", "kind", "--epochs", "1", "--path")
    ell0.network(file, class_="kind", epochs=1, path=True, out=tmp_path / "all", progress=False)
    assert same_settings(tmp_path / "all", tmp_path / "more")


def test_words(found, words):
    network = found.network
    assert network.classes.tolist() == WORDS and network.targets == ["kind"]
    assert network.inputs == ["a", "b", "c"]
    assert found.result["accuracy"] > 0.8 > found.result["baseline"]
    low, high = found.result["interval"]
    assert low < found.result["accuracy"] < high and found.result["measured_on"] == "test"
    assert np.sum(found.result["confusion"]) == found.result["rows"] == 60
    assert len(found.epochs) == len(network.history) == 30
    said, shares = network.predict(words), network.predict_proba(words)
    assert shares.shape == (300, 3) and np.allclose(shares.sum(axis=1), 1)
    assert (network.classes[shares.argmax(axis=1)] == said).all()
    right = float(np.mean(said == words["kind"]))
    assert network.score(words) == network.score(words, words["kind"]) == right
    rows = np.column_stack([words[name] for name in "abc"])
    assert (network.predict(rows) == said).all()
    assert network.predict(rows[5]) == said[5] and network.predict_proba(rows[5]).shape == (3,)
    assert "accuracy" in repr(found) and "3 classes" in repr(network)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "records", "list"])
def test_however_the_rows_are_held(found, words, library):
    if library == "records":
        kinds = [(name, column.dtype) for name, column in words.items()]
        held = np.empty(300, dtype=kinds)
        for name, column in words.items():
            held[name] = column
    elif library == "list":
        held = [{n: c[part] for n, c in words.items()} for part in (slice(100), slice(100, 300))]
    else:
        module = pytest.importorskip(library)
        held = {"pyarrow": "table"}.get(library, "DataFrame")
        held = getattr(module, held)(words)
    assert raw(ell0.network(held, class_="kind", **SHORT).network) == raw(found.network)


def test_labels_beside_an_array(found, words):
    rows = np.column_stack([words[name] for name in "abc"])
    network = ell0.network(rows, labels=words["kind"], **SHORT).network
    assert network.inputs == ["x0", "x1", "x2"] and network.targets == ["label"]
    assert (network.predict(rows) == found.network.predict(rows)).all()
    by_list = ell0.network(rows.tolist(), labels=words["kind"].tolist(), **SHORT).network
    assert raw(by_list) == raw(network)


def test_classes_that_are_numbers(words):
    rows = np.column_stack([words[name] for name in "abc"])
    for labels, kind in [(words["a"] > 0, "i"), (np.where(words["a"] > 0, 0.5, 2), "f")]:
        network = ell0.network(rows, labels=labels, **SHORT).network
        assert network.classes.dtype.kind == kind and len(network.classes) == 2
        assert network.score(rows, labels) == np.mean(network.predict(rows) == labels)
    # Ten comes behind nine, whether they are numbers or text.
    labels = np.where(words["a"] > 0, "10", "9")
    network = ell0.network(rows, labels=labels, **SHORT).network
    assert network.classes.tolist() == [9, 10]
    assert network.score(rows, labels) == np.mean(network.predict(rows) == labels.astype(int))


def test_regression(table, tmp_path):
    held = columns(table, "a", "b", "y")
    run = ell0.network(held, targets="y", **SHORT)
    assert run.result["task"] == "regression" and run.result["test_mse"] < run.result["baseline"]
    network = run.network
    assert network.classes is None and network.predict(held).shape == (300,)
    assert network.score(held) == network.scores(held)["r2"][0] > 0.9
    rows = np.column_stack([held["a"], held["b"]])
    assert network.score(rows, held["y"]) == network.score(held)
    beside = ell0.network(rows, targets=held["y"], **SHORT).network
    assert beside.targets == ["y"] and np.array_equal(beside.predict(rows), network.predict(rows))
    both = ell0.network(rows, targets=np.c_[held["y"], -held["y"]], **SHORT).network
    assert both.targets == ["y0", "y1"] and both.predict(rows).shape == (300, 2)
    assert both.predict(rows[0]).shape == (2,)
    with pytest.raises(ValueError, match="only classes have probabilities"):
        network.predict_proba(rows)
    with pytest.raises(ValueError, match="y has 2 columns, and the network gives 1"):
        network.score(rows, rows)


def test_path(words):
    run = ell0.network(words, class_="kind", path=[0.1, 100], **SHORT)
    assert [row["name"] for row in run.results] == ["price-x0.1", "price-x100"]
    assert run.result["chosen"] and run.networks.index(run.network) == run.results.index(run.result)
    assert {epoch["run"] for epoch in run.epochs} == {"price-x0.1", "price-x100"}
    assert "←" in repr(run)
    # At a price that nothing is worth, nothing is read.
    with pytest.warns(ell0.CollapsedWarning, match="the class `mid` for every row") as heard:
        dear = ell0.network(words, class_="kind", lambda_=1e4, **{**SHORT, "epochs": 200})
    assert [warning.filename for warning in heard] == [__file__]
    assert dear.network.inputs_read == [] and set(dear.network.predict(words)) == {"mid"}
    assert dear.result["same_for_all"] and f"Warning: {dear.warning}." in repr(dear)
    assert pickle.loads(pickle.dumps(dear)).warning == dear.warning
    assert run.warning is None and "Warning" not in repr(run)


def test_rows_that_were_learned_from_are_not_tested_on(words, tmp_path):
    file = written(tmp_path, words)
    with pytest.raises(ValueError, match="is a file to learn from and one to test on"):
        ell0.network(file, class_="kind", test=tmp_path / "." / "data.csv", **SHORT)
    with pytest.raises(ValueError, match="all 300 rows to test on have the inputs of rows"):
        ell0.network(words, class_="kind", test=file, **SHORT)
    first = {name: column[:200] for name, column in words.items()}
    run = ell0.network(first, class_="kind", test=file, out=tmp_path / "run", **SHORT)
    assert (run.result["rows"], run.result["left_out"], run.result["copies"]) == (100, 200, 0)
    assert "Left out: 200 rows to test on" in repr(run) == repr(ell0.read_network(tmp_path / "run"))
    assert "Left out: 200 rows to test on" in run.report().read_text()


def test_copies_stand_on_one_side(words):
    rng = np.random.default_rng(5)
    rows = np.repeat(rng.normal(size=(120, 3)), 6, axis=0)
    labels = np.repeat(rng.integers(0, 2, 120), 6)
    settings = {**SHORT, "hidden": 64, "epochs": 400, "lambda_": 0}
    found = ell0.network(rows, labels=labels, **settings)
    assert found.result["copies"] == 600 and found.result["measured_on"] == "test"
    assert found.network.score(rows, labels) > 0.8
    # Labels by lot: 24 kinds of rows are told by chance.
    assert found.result["accuracy"] < 0.8
    assert "600 rows with the same inputs as an earlier one" in repr(found)


def images(rows=200):
    """A bright upper or lower half."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, rows).astype(np.uint8)
    pixels = rng.integers(0, 60, (rows, 4, 4)).astype(np.uint8)
    for k, own in enumerate(label):
        pixels[k, 2 * own : 2 * own + 2] += 120
    return pixels, label


def test_images_in_npz(tmp_path):
    pixels, label = images()
    np.savez(tmp_path / "images.npz", images=pixels, label=label)
    settings = {**SHORT, "scaling": "together", "inputs": "images", "class_": "label"}
    by_file = ell0.network(tmp_path / "images.npz", **settings).network
    in_memory = ell0.network({"images": pixels, "label": label}, **settings).network
    assert by_file.inputs[:2] == ["images_0", "images_1"] and raw(by_file) == raw(in_memory)
    assert by_file.score(pixels, label) == by_file.score({"images": pixels, "label": label}) > 0.9


def test_images_in_idx(tmp_path):
    pixels, label = images()
    for name, array in (("images", pixels), ("labels", label)):
        head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
        (tmp_path / name).write_bytes(head + array.tobytes())
    labels = tmp_path / "labels"
    by_file = ell0.network(tmp_path / "images", labels=labels, **SHORT)
    assert raw(by_file.network) == raw(ell0.network(pixels, labels=label, **SHORT).network)
    for name, array in (("others", 255 - pixels), ("their", label)):
        head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
        (tmp_path / name).write_bytes(head + array.tobytes())
    tested = ell0.network(
        tmp_path / "images",
        labels=labels,
        test=[tmp_path / "others"],
        test_labels=[tmp_path / "their"],
        **SHORT,
    )
    assert tested.result["measured_on"] == "test" and tested.result["rows"] == 200


def test_interrupted_and_gone_on_with(words, tmp_path):
    file = written(tmp_path, words)
    # Long enough to be stopped on the way: somebody listens twenty times a second.
    settings = {"class_": "kind", "hidden": 8, "epochs": 4000, "batch": 32, "seed": 3}
    whole = ell0.network(file, **settings, progress=False, out=tmp_path / "whole")
    reached = []

    def until_the_tenth(kind, task, number, note):
        return not (kind == "reached" and number >= 10)

    def remember(kind, task, number, note):
        if kind == "reached":
            reached.append(number)

    there = tmp_path / "there"
    with pytest.raises(KeyboardInterrupt):
        ell0.network(file, **settings, progress=until_the_tenth, out=there)
    assert not (there / FILE).exists() and any((there / "checkpoints").iterdir())
    with pytest.raises(ValueError, match="not finished.*resume_network"):
        ell0.read_network(there)
    rest = ell0.resume_network(there, progress=remember)
    # It did not begin anew.
    assert reached[0] > 1 and reached[-1] == 4000
    assert raw(rest.network) == raw(whole.network) == (there / FILE).read_bytes()
    assert [epoch["epoch"] for epoch in rest.epochs] == [epoch["epoch"] for epoch in whole.epochs]


def test_tables_in_memory_are_not_gone_on_with(words, tmp_path):
    ell0.network(words, class_="kind", **SHORT, out=tmp_path / "run")
    with pytest.raises(ValueError, match="learned from tables in memory.*force=True"):
        ell0.resume_network(tmp_path / "run", progress=False)


def test_kept(found, words, tmp_path):
    run = ell0.network(words, class_="kind", **SHORT, out=tmp_path / "run")
    assert run.report().read_text().startswith("<!")
    again = ell0.read_network(tmp_path / "run")
    assert again.results == run.results and again.epochs == run.epochs
    assert raw(again.network) == raw(run.network) == raw(found.network)
    file = found.network.save(tmp_path)
    assert file.name == FILE and raw(ell0.read_network(file)) == raw(found.network)
    assert raw(ell0.Network.load(tmp_path / "run")) == raw(found.network)
    copied = pickle.loads(pickle.dumps(found))
    assert raw(copied.network) == raw(found.network) and copied.results == found.results
    files = found.network.export("c", tmp_path / "c", name="kind")
    assert files and all(file.exists() for file in files)
    with pytest.raises(FileExistsError):
        ell0.network(words, class_="kind", **SHORT, out=tmp_path / "run")
    ell0.network(words, class_="kind", **SHORT, out=tmp_path / "run", force=True)
    with pytest.raises(ValueError, match="train with out="):
        found.report()
    with pytest.raises(FileNotFoundError):
        ell0.read_network(tmp_path / "nowhere")


def test_missing_values(words):
    kind = words["kind"].astype(object)
    kind[3] = None
    with pytest.raises(ValueError, match="row 4 has no class in `kind`.*drop_missing=True"):
        ell0.network({**words, "kind": kind}, class_="kind", **SHORT)
    numbers = np.where(words["a"] > 0, 1.0, 0.0)
    numbers[7] = np.nan
    with pytest.raises(ValueError, match="row 8 has no class"):
        ell0.network({**words, "kind": numbers}, class_="kind", **SHORT)
    a = words["a"].copy()
    a[5] = np.nan
    with pytest.raises(ValueError, match="a"):
        ell0.network({**words, "a": a}, class_="kind", **SHORT)
    both = {**words, "a": a, "kind": kind}
    dropped = ell0.network(both, class_="kind", drop_missing=True, **SHORT)
    kept = np.delete(np.arange(300), [3, 5])
    fewer = {name: column[kept] for name, column in words.items()}
    assert raw(ell0.network(fewer, class_="kind", **SHORT).network) == raw(dropped.network)
    assert dropped.network.classes.tolist() == WORDS
    with pytest.raises(ValueError, match="nan in row 6, column 1"):
        dropped.network.predict({**words, "a": a})


@pytest.mark.parametrize(
    ("changed", "error", "sentence"),
    [
        ({}, ValueError, "what is to come out"),
        ({"class_": "sort"}, ValueError, "there is no column `sort`; the columns are a, b"),
        ({"class_": "kind", "inputs": ["a", "z"]}, ValueError, "there is no column `z`"),
        ({"class_": "kind", "targets": "a"}, ValueError, "only one can come out"),
        ({"class_": "kind", "inputs": ["a", "kind"]}, TypeError, "column `kind` holds text"),
        ({"targets": "kind"}, TypeError, "column `kind` holds text"),
        ({"targets": "a"}, TypeError, "column `kind` holds text"),
        ({"class_": "a", "inputs": "b"}, ValueError, "that is a quantity, not a class"),
        ({"labels": ["same"] * 300, "inputs": "a"}, ValueError, "only one class, `same`"),
        ({"labels": ["x", "y"], "inputs": "a"}, ValueError, "`label` has 2 rows, and `a` has 300"),
        ({"labels": "file.csv", "inputs": "a"}, ValueError, "labels of data has 0 dimensions"),
        ({"class_": "kind", "test": {}}, TypeError, "test must name files"),
        ({"class_": "kind", "force": True}, ValueError, "give out="),
        ({"class_": "kind", "gates": "none", "path": True}, ValueError, "gates='none' has none"),
        ({"class_": "kind", "gates": "some"}, ValueError, "unknown variant `some`"),
        ({"class_": "kind", "lambda_": np.nan}, ValueError, "lambda = nan is not allowed"),
        ({"class_": "kind", "epochs": 2.5}, ValueError, "2.5"),
        ({"class_": "kind", "class_weights": {"cold": 2}}, ValueError, "no class `cold`"),
        ({"class_": "kind", "class_weights": {"a,b": 2}}, ValueError, "`a,b` has a comma"),
        ({"class_": "kind", "test_share": 2}, ValueError, "test-share"),
        ({"class_": "kind", "progress": 7}, TypeError, "progress is 7"),
    ],
)
def test_what_is_wrong_is_said(words, changed, error, sentence):
    with pytest.raises(error, match=sentence):
        ell0.network(words, **{**SHORT, **changed})


def test_what_is_wrong_with_files_is_said(words, tmp_path):
    file = written(tmp_path, words)
    with pytest.raises(FileNotFoundError, match="nowhere.csv"):
        ell0.network(tmp_path / "nowhere.csv", class_="kind", **SHORT)
    with pytest.raises(ValueError, match="sort"):
        ell0.network(file, class_="sort", **SHORT)
    with pytest.raises(TypeError, match="labels must name files"):
        ell0.network(file, labels=[1, 2], **SHORT)


def test_other_rows(found, words):
    with pytest.raises(ValueError, match="there are 2 columns; the network has 3 inputs"):
        found.network.predict(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="the class `warm`, which the network does not know"):
        found.network.score(np.zeros((1, 3)), ["warm"])
    with pytest.raises(ValueError, match="y has 2 rows, and X has 4"):
        found.network.score(np.zeros((4, 3)), ["low", "mid"])
    with pytest.raises(ValueError, match="y is missing"):
        found.network.score(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="there is no column `c`"):
        found.network.predict(columns(words, "a", "b"))

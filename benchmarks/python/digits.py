"""The shipped digits by `ell0.network` beside scikit-learn's MLPClassifier of the same size, on the same splits."""

import csv
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ell0

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits.csv"
HIDDEN = (64, 64)


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def main():
    warnings.filterwarnings("ignore")
    head, *rows = csv.reader(DIGITS.open())
    print("| split | scikit-learn | ell0 | 95 % interval | pixels read | parameters | seconds, scikit-learn and ell0 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    right = {"scikit-learn": 0, "ell0": 0}
    for seed in range(5):
        learn, test = train_test_split(rows, test_size=0.2, random_state=seed)
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("learn.csv", "test.csv")]
            for file, part in zip(files, (learn, test)):
                write(file, head, part)
            found = ell0.network(files[0], class_="digit", test=files[1], hidden=HIDDEN, seed=seed, progress=False)
        mine = found.result
        (x, y), (u, v) = ((np.array(part, float)[:, :-1], np.array(part)[:, -1]) for part in (learn, test))
        start = time.perf_counter()
        theirs = make_pipeline(StandardScaler(), MLPClassifier(HIDDEN, random_state=seed)).fit(x, y)
        seconds = time.perf_counter() - start
        accuracy = theirs.score(u, v)
        right["scikit-learn"] += round(accuracy * len(v))
        right["ell0"] += round(mine["accuracy"] * len(v))
        low, high = mine["interval"]
        print(
            f"| {seed} | {100 * accuracy:.2f} % | {100 * mine['accuracy']:.2f} % | {100 * low:.2f} … {100 * high:.2f} %"
            f" | {len(mine['inputs_read'])} of 64 | {mine['parameters']} of {mine['parameters_before']} | {seconds:.1f}, {mine['seconds']:.1f} |"
        )
    print(json.dumps({"rows": 5 * len(test), "right": right}))


if __name__ == "__main__":
    main()

"""PySINDy on the data sets that `examples/laws` wrote with --csv: the same numbers, the same terms, the same scores. See README.md here.

For each data set and each way to get at rates of change (finite differences, smoothed finite differences, the weak form), PySINDy computes features and rates, and its STLSQ fits them with a grid
of thresholds, on plain and on normalised columns. One threshold for each equation is chosen in three ways: by held-out rows, by the Bayesian information criterion, and by an oracle that knows the
true terms.
"""

import argparse
import json
import math
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pysindy
from pysindy.feature_library.base import BaseFeatureLibrary, x_sequence_or_item
from pysindy.utils import AxesArray, comprehend_axes
from scipy.integrate import solve_ivp

METHODS = ["differences", "smoothed", "weak"]
# Thresholds of coefficients as they are, with PySINDy's ridge penalty; and of coefficients of normalised columns, as shares of the largest one, with hardly any penalty: columns of length 1 feel it.
PLAIN, PLAIN_ALPHA = np.logspace(-5, 1, 37), 0.05
SHARES, NORMALISED_ALPHA = np.logspace(-4, 0, 25), 1e-5
HELD_OUT = 0.2
# Of all thresholds whose held-out error is at most this many times the smallest one, that with the fewest terms is taken.
TOLERANCE = 1.1
# Mean squared errors below this share of the mean square of the rates count as none: without noise, all that is left is rounding.
ROUNDING = 1e-8
WEAK_DOMAINS = 200
MOST_EVALUATIONS = 200_000


# Terms by their names.


def factors(name):
    """The factors of a term, sorted: names may have them in another order."""
    return tuple(sorted(re.findall(r"\w+\([^)]*\)|[^ ]+", name)))


def python_of(name):
    """A term as Python text."""
    inner = [re.sub(r"\((\d+) (\w+)\)", r"(\1*\2)", factor).replace("^", "**") for factor in factors(name)]
    return "*".join(inner)


class Terms(BaseFeatureLibrary):
    """Any terms, by their names: for the few libraries that are no sum of PySINDy's own."""

    def __init__(self, names, inputs):
        self.names, self.inputs = names, inputs

    @x_sequence_or_item
    def fit(self, x_full, y=None):
        self.n_features_in_ = len(self.inputs)
        self.n_output_features_ = len(self.names)
        return self

    @x_sequence_or_item
    def transform(self, x_full):
        out = []
        for x in x_full:
            columns = {name: np.asarray(x)[..., k] for k, name in enumerate(self.inputs)}
            functions = {f: getattr(np, f) for f in ["sin", "cos", "log", "sqrt", "exp", "tanh"]}
            one = np.ones(x.shape[:-1])
            features = np.stack([one * eval(python_of(name), functions, columns) for name in self.names], axis=-1)
            out.append(AxesArray(features, comprehend_axes(features)))
        return out

    def get_feature_names(self, input_features=None):
        return list(self.names)


def library_of(entry, bias):
    """PySINDy's library of the same terms, with or without the constant."""
    parts = []
    for part in entry["library"].split(" + "):
        if match := re.fullmatch(r"polynomial\((\d+)\)", part):
            parts.append(pysindy.PolynomialLibrary(degree=int(match[1]), include_bias=bias))
        elif match := re.fullmatch(r"fourier\((\d+)\)", part):
            parts.append(pysindy.FourierLibrary(n_frequencies=int(match[1])))
        else:
            names = [name for name in entry["terms"] if bias or name != "1"]
            return Terms(names, entry["states"])
    library = parts[0]
    for part in parts[1:]:
        library = library + part
    return library


# From samples to a linear problem, by PySINDy.


class Recorder(pysindy.STLSQ):
    """An optimizer that keeps what it is given."""

    def fit(self, x, y, **more):
        self.features, self.rates = np.asarray(x), np.asarray(y)
        self.coef_ = np.zeros((self.rates.shape[1], self.features.shape[1]))
        self.ind_, self.intercept_ = self.coef_ != 0, 0.0
        return self


def linear_problem(entry, runs, method):
    """Names of the terms, their values, and rates of change, as `SINDy.fit` computes them; and the rows of each run."""
    times, states = [run[:, 0] for run in runs], [run[:, 1:] for run in runs]
    recorder = Recorder()
    if method == "weak":
        np.random.seed(0)
        inner = library_of(entry, bias=False)
        bias = "1" in entry["terms"]
        library = pysindy.WeakPDELibrary(inner, spatiotemporal_grid=times[0], include_bias=bias, K=WEAK_DOMAINS)
        model = pysindy.SINDy(optimizer=recorder, feature_library=library)
    else:
        smooth = method == "smoothed"
        difference = pysindy.SmoothedFiniteDifference() if smooth else pysindy.FiniteDifference()
        model = pysindy.SINDy(recorder, library_of(entry, bias=True), difference)
    model.fit(states, t=times, feature_names=entry["states"])
    names = model.get_feature_names()
    if sorted(map(factors, names)) != sorted(map(factors, entry["terms"])):
        raise RuntimeError(f"PySINDy has other terms: {names} instead of {entry['terms']}")
    return names, recorder.features, recorder.rates


def compressed(features, rates):
    """At most as many rows as columns, with the same least squares problem: all that STLSQ needs."""
    both = np.hstack([features, rates])
    if len(both) > both.shape[1]:
        both = np.linalg.qr(both, mode="r")
    return both[:, : features.shape[1]], both[:, features.shape[1] :]


def laws_of_thresholds(features, rates):
    """Coefficients (targets × terms) for each threshold."""
    features, rates = compressed(features, rates)
    lengths = np.linalg.norm(features, axis=0)
    free = np.linalg.lstsq(features / np.where(lengths > 0, lengths, 1), rates, rcond=None)[0]
    laws = [stlsq(features, rates, threshold, PLAIN_ALPHA, False) for threshold in PLAIN]
    for share in SHARES:
        # Each equation has its own scale.
        each = [stlsq(features, rates[:, [k]], share * np.abs(free[:, k]).max(), NORMALISED_ALPHA, True)[0] for k in range(rates.shape[1])]
        laws.append(np.stack(each))
    return np.stack(laws)


def stlsq(features, rates, threshold, alpha, normalised):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pysindy.STLSQ(threshold=threshold, alpha=alpha, normalize_columns=normalised).fit(features, rates).coef_


# The choice of a threshold for each equation.


def by_held_out_rows(laws, features, rates, runs):
    """The last fifth of each run's rows is held out; thresholds are those of the laws of all rows. Numbers of the thresholds."""
    rows = len(features) // runs
    held_out = np.concatenate([np.arange(rows) >= (1 - HELD_OUT) * rows] * runs)
    trained = laws_of_thresholds(features[~held_out], rates[~held_out])
    missed = rates[held_out][None] - np.einsum("rf,lkf->lrk", features[held_out], trained)
    errors = np.mean(missed**2, axis=1)
    chosen = []
    for k in range(rates.shape[1]):
        good = np.flatnonzero(errors[:, k] <= max(TOLERANCE * errors[:, k].min(), rounding(rates[:, k])))
        sizes = [np.count_nonzero(trained[g, k]) for g in good]
        chosen.append(good[int(np.argmin(sizes))])
    return chosen


def by_criterion(laws, features, rates):
    """The smallest n log(mean squared error) + terms · log n, on all rows."""
    n = len(features)
    missed = rates[None] - np.einsum("rf,lkf->lrk", features, laws)
    errors = np.mean(missed**2, axis=1)
    chosen = []
    for k in range(rates.shape[1]):
        sizes = np.count_nonzero(laws[:, k], axis=1)
        criterion = n * np.log(np.maximum(errors[:, k], rounding(rates[:, k]))) + sizes * np.log(n)
        chosen.append(int(np.argmin(criterion)))
    return chosen


def rounding(rate):
    return max(ROUNDING * np.mean(rate**2), 1e-300)


def by_oracle(laws, truth, otherwise):
    """For each equation a threshold that gives exactly the true terms, with the best coefficients of these; where there is none, the one chosen otherwise."""
    chosen = []
    for k, true in enumerate(truth):
        right = np.flatnonzero(((laws[:, k] != 0) == (true != 0)).all(axis=1))
        errors = [relative_error(laws[r, k], true) for r in right]
        chosen.append(right[int(np.argmin(errors))] if len(right) else otherwise[k])
    return chosen


def relative_error(found, true):
    on = true != 0
    return float(np.max(np.abs(found[on] / true[on] - 1)))


# Scores, as in score.rs.


class Diverged(Exception):
    pass


def simulate(law, names, states, run):
    """The law's own run from the first state of a run, or an exception."""
    sums = [" + ".join(f"({float(c)!r})*{python_of(n)}" for c, n in zip(row, names) if c != 0) or "0.0" for row in law]
    text = f"lambda {', '.join(states)}: ({', '.join(sums)},)"
    rates = eval(text, {f: getattr(math, f) for f in ["sin", "cos", "log", "sqrt", "exp", "tanh"]})
    size = np.abs(run[:, 1:]).max(axis=0)
    calls = 0

    def rate(_, x):
        nonlocal calls
        calls += 1
        if calls > MOST_EVALUATIONS or not np.all(np.abs(x) <= 1e6 * size):
            raise Diverged
        return rates(*x.tolist())

    try:
        done = solve_ivp(rate, run[[0, -1], 0], run[0, 1:], "LSODA", t_eval=run[:, 0], rtol=1e-8, atol=1e-8 * np.maximum(size, 1e-300))
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise Diverged from error
    if not done.success or done.y.shape[1] != len(run):
        raise Diverged
    return done.y.T


def mean_r2(law, names, states, run):
    """Mean over the states of R², each at least −1; None if the law cannot be followed."""
    try:
        own = simulate(law, names, states, run)
    except Diverged:
        return None
    clean = run[:, 1:]
    total = np.sum((clean - clean.mean(axis=0)) ** 2, axis=0)
    missed = np.sum((clean - own) ** 2, axis=0)
    moves = total > 0
    return float(np.mean(np.maximum(1 - missed[moves] / total[moves], -1)))


def text_of(law, names, states):
    def side(row):
        return " + ".join(f"{c:.4g} {n}" for c, n in zip(row, names) if c != 0) or "0"

    return "; ".join(f"{state}' = {side(row)}" for state, row in zip(states, law))


def level(entry):
    """The level of noise, of whichever kind."""
    (value,) = entry["noise"].values()
    return value


def read(file):
    return np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)


def outcomes_of(folder, entry, methods):
    """What comes of one data set."""
    runs = [read(folder / file) for file in entry["files"]]
    clean, second = read(folder / entry["clean"]), read(folder / entry["second"])
    states = entry["states"]
    shared = {key: entry[key] for key in ["study", "system", "group", "half", "inside", "variant", "rows", "runs", "noise", "seed", "library"]}
    nothing = {"exact": None, "coefficient_error": None, "r2": None, "r2_second": None, "error": None, "law": None, "seconds": 0.0}
    for method in methods:
        began = time.perf_counter()
        choices = ["held-out", "BIC"] + ["oracle"] * (entry["truth"] is not None)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                names, features, rates = linear_problem(entry, runs, method)
            laws = laws_of_thresholds(features, rates)
            chosen = {"held-out": by_held_out_rows(laws, features, rates, len(runs)), "BIC": by_criterion(laws, features, rates)}
        except Exception as error:
            for choice in choices:
                yield {"tool": "pysindy", "method": f"{method}, {choice}", **shared, **nothing, "error": f"{type(error).__name__}: {error}"}
            continue
        seconds = time.perf_counter() - began
        truth = None
        if entry["truth"] is not None:
            place = {factors(name): k for k, name in enumerate(names)}
            truth = np.zeros((len(states), len(names)))
            for k, law in enumerate(entry["truth"]):
                for name, coefficient in law.items():
                    truth[k, place[factors(name)]] = coefficient
            chosen["oracle"] = by_oracle(laws, truth, chosen["BIC"])
        for choice in choices:
            law = np.stack([laws[number, k] for k, number in enumerate(chosen[choice])])
            outcome = {"tool": "pysindy", "method": f"{method}, {choice}", **shared, **nothing, "seconds": seconds}
            if truth is not None:
                outcome["exact"] = bool(((law != 0) == (truth != 0)).all())
                if outcome["exact"]:
                    outcome["coefficient_error"] = max(relative_error(*pair) for pair in zip(law, truth))
            outcome["r2"] = mean_r2(law, names, states, clean)
            outcome["r2_second"] = mean_r2(law, names, states, second)
            outcome["law"] = text_of(law, names, states)
            yield outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what examples/laws wrote with --csv")
    parser.add_argument("--json", type=Path, required=True, help="file for every single result")
    parser.add_argument("--only", action="append", help="only this system; may be given more than once")
    parser.add_argument("--methods", default=",".join(METHODS), help="of " + ", ".join(METHODS))
    options = parser.parse_args()
    methods = options.methods.split(",")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"there is no method {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    try:
        entries = json.loads((options.folder / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        parser.error(f"cannot read the data sets: {error}")
    if options.only:
        wanted = {name.lower() for name in options.only}
        if unknown := wanted - {entry["system"].lower() for entry in entries}:
            parser.error(f"there is no system {', '.join(sorted(unknown))} among the data sets")
        entries = [entry for entry in entries if entry["system"].lower() in wanted]
    outcomes = []
    for number, entry in enumerate(entries):
        last = number + 1 == len(entries)
        print(f"{number + 1}/{len(entries)}: {entry['system']}, {entry['variant']}, noise {level(entry)}, seed {entry['seed']}", file=sys.stderr)
        outcomes.extend(outcomes_of(options.folder, entry, methods))
        # What is done is saved whenever a system is.
        if last or entries[number + 1]["system"] != entry["system"]:
            options.json.write_text(json.dumps(outcomes, indent=1) + "\n")


if __name__ == "__main__":
    main()

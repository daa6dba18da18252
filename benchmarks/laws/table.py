"""Tables of results side by side: those that `examples/laws` and `pysindy_laws.py` wrote with --json. See README.md here."""

import argparse
import json
import sys
from pathlib import Path

GOOD = 0.9
SCORES = {
    "Exactly the right terms": lambda o: o["exact"] is True,
    "R² > 0.9 on the run": lambda o: o["r2"] is not None and o["r2"] > GOOD,
    "R² > 0.9 from the second initial state": lambda o: o["r2_second"] is not None and o["r2_second"] > GOOD,
    "Aborts": lambda o: o["error"] is not None,
}
BEST = "pysindy, any of the above"


def contender(outcome):
    return f"{outcome['tool']}, {outcome['method']}"


def level(outcome):
    (value,) = outcome["noise"].values()
    return value


def data_set(outcome):
    return outcome["system"], outcome["variant"], level(outcome), outcome["seed"]


def table(outcomes, score, inside):
    """Rows are variants and levels of noise, columns contenders; cells count data sets."""
    contenders = list(dict.fromkeys(map(contender, outcomes)))
    settings = list(dict.fromkeys((o["variant"], level(o)) for o in outcomes))
    held = {}
    for outcome in outcomes:
        if inside is None or outcome["inside"] == inside:
            held.setdefault((outcome["variant"], level(outcome)), {})[contender(outcome), data_set(outcome)] = SCORES[score](outcome)
    pysindy = [c for c in contenders if c.startswith("pysindy")]
    columns = contenders + [BEST] * (len(pysindy) > 1 and score != "Aborts")
    lines = ["| data | noise | " + " | ".join(columns) + " |", "| --- | ---: |" + " ---: |" * len(columns)]
    for variant, noise in settings:
        here = held.get((variant, noise), {})
        cells = []
        for column in columns:
            if column == BEST:
                sets = {d for c, d in here if c in pysindy}
                good = {d for (c, d), hit in here.items() if c in pysindy and hit}
                cells.append(f"{len(good)} of {len(sets)}")
            else:
                hits = [hit for (c, _), hit in here.items() if c == column]
                cells.append(f"{sum(hits)} of {len(hits)}" if hits else "–")
        lines.append(f"| {variant} | {100 * noise:g} % | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def chosen_by(rule):
    return lambda o: o["tool"] == "pysindy" and o["method"].endswith(rule)


# Of PySINDy's three ways to rates of change, each row of the short tables has the one that did best there: nobody who uses it knows which.
SHORT = {
    "ell0": lambda o: o["tool"] == "ell0",
    "PySINDy, held-out rows": chosen_by("held-out"),
    "PySINDy, BIC": chosen_by("BIC"),
    "PySINDy, oracle": chosen_by("oracle"),
}


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return (values[middle] + values[~middle]) / 2 if values else None


def short(outcomes, score):
    """Rows are variants and levels of noise, columns ell0 and PySINDy's rules at their best."""
    columns = [c for c in SHORT if any(map(SHORT[c], outcomes))]
    errors = score.startswith("Exactly")
    head = columns + ["largest coefficient error, ell0", "oracle"] * errors
    lines = ["| data | noise | " + " | ".join(head) + " |", "| --- | ---: |" + " ---: |" * len(head)]
    for variant, noise in dict.fromkeys((o["variant"], level(o)) for o in outcomes):
        here = [o for o in outcomes if (o["variant"], level(o)) == (variant, noise)]
        cells, best = [], {}
        for column in columns:
            ways = {}
            for o in filter(SHORT[column], here):
                ways.setdefault(o["method"], []).append(o)
            if not ways:
                cells.append("–")
                continue
            hits = {way: sum(map(SCORES[score], own)) for way, own in ways.items()}
            way = max(hits, key=hits.get)
            best[column] = ways[way]
            cells.append(f"{hits[way]} of {len(ways[way])}")
        if errors:
            for column in ("ell0", "PySINDy, oracle"):
                found = median([o["coefficient_error"] for o in best.get(column, []) if o["exact"] is True])
                cells.append("–" if found is None else f"{found:.1e}")
        lines.append(f"| {variant} | {100 * noise:g} % | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures(outcomes):
    """Every data set in which ell0 did not find the terms of a law that is in the library."""
    failed = [o for o in outcomes if o["tool"] == "ell0" and o["exact"] is not True and o["inside"]]
    lines = []
    for o in failed:
        law = o["error"] or f"`{o['law']}`"
        lines.append(f"- {o['system']}, {o['variant']}, noise {100 * level(o):g} %, seed {o['seed']}: {law}")
    return "\n".join(lines)


def page(outcomes):
    """The tables for the documentation, and every failure."""
    for study in dict.fromkeys(o["study"] for o in outcomes):
        here = [o for o in outcomes if o["study"] == study]
        inside = [o for o in here if o["inside"]]
        print(f"### {study.capitalize()}\n")
        print(f"Exactly the right terms, of laws inside the library:\n\n{short(inside, 'Exactly the right terms')}\n")
        if study == "textbook":
            for score in list(SCORES)[1:3]:
                print(f"{score}, all laws:\n\n{short(here, score)}\n")
        print(f"Where ell0 found other terms:\n\n{failures(here) or 'Nowhere.'}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--half", choices=["tune", "report", "all"], default="all")
    parser.add_argument("--page", action="store_true", help="short tables and every failure of ell0, as the documentation has them")
    options = parser.parse_args()
    try:
        outcomes = [outcome for file in options.files for outcome in json.loads(file.read_text())]
    except (OSError, ValueError) as error:
        parser.error(f"cannot read the results: {error}")
    if options.half != "all":
        outcomes = [o for o in outcomes if o["half"] == options.half]
    if not outcomes:
        sys.exit("there are no results")
    if options.page:
        return page(outcomes)
    for study in dict.fromkeys(o["study"] for o in outcomes):
        print(f"## {study}\n")
        here = [o for o in outcomes if o["study"] == study]
        parts = [(True, ", laws inside the library"), (False, ", laws outside of it")] if not all(o["inside"] for o in here) else [(None, "")]
        for score in SCORES:
            for inside, words in parts:
                if score.startswith("Exactly") and inside is False:
                    continue
                print(f"{score}{words}:\n\n{table(here, score, inside)}\n")


if __name__ == "__main__":
    main()

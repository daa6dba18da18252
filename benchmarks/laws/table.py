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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--half", choices=["tune", "report", "all"], default="all")
    options = parser.parse_args()
    try:
        outcomes = [outcome for file in options.files for outcome in json.loads(file.read_text())]
    except (OSError, ValueError) as error:
        parser.error(f"cannot read the results: {error}")
    if options.half != "all":
        outcomes = [o for o in outcomes if o["half"] == options.half]
    if not outcomes:
        sys.exit("there are no results")
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

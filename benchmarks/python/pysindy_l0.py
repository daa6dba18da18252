"""How many equations of known polynomial systems `ell0.pysindy.L0` finds exactly, from PySINDy's rates of change.

    python benchmarks/python/pysindy_l0.py report

The systems are those of `benchmarks/laws/systems.toml` with up to five states; settings were chosen on the half `tune`. The penalty of before, a
thousandth of the target's mean square, stands beside the default.
"""

import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pysindy as ps
import sympy
from scipy.integrate import solve_ivp

from ell0.pysindy import L0

SYSTEMS = Path(__file__).parents[1] / "laws" / "systems.toml"


def library(system):
    """The degree of its polynomials; none for other libraries."""
    text = system.get("library", "")
    plain = text.startswith("polynomial(") and "+" not in text and len(system["states"]) <= 5
    return int(text[len("polynomial(")]) if plain else None


def measured(system):
    """Times, states and, for each law, the exponents of its terms."""
    states = sympy.symbols(system["states"])
    laws = [
        sympy.sympify(law.replace("^", "**"), dict(zip(system["states"], states)))
        for law in system["laws"]
    ]
    rates = sympy.lambdify([states], laws)
    t = np.arange(0, system["duration"], system["step"])
    run = solve_ivp(
        lambda _, x: rates(x), (0, t[-1]), system["initial"], "DOP853", t, rtol=1e-10, atol=1e-12
    )
    return t, run.y.T, [set(sympy.Poly(law, *states).monoms()) for law in laws]


def main(half):
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    systems = [
        s for s in tomllib.loads(SYSTEMS.read_text())["system"] if s["half"] == half and library(s)
    ]
    runs = [(library(s), *measured(s)) for s in systems]
    print(f"{sum(len(laws) for *_, laws in runs)} equations of {len(runs)} systems ({half})")
    print("noise   before   default")
    for noise in (0, 0.001, 0.01, 0.05):
        way = ps.FiniteDifference() if noise < 0.01 else ps.SmoothedFiniteDifference()
        exact = [0, 0]
        for degree, t, clean, laws in runs:
            x = clean + noise * clean.std(0) * rng.standard_normal(clean.shape)
            rates = way._differentiate(x, t)
            terms = ps.PolynomialLibrary(degree).fit(x)
            values, powers = np.asarray(terms.transform(x)), terms.powers_
            before = L0(lambda_=(1e-3 * np.mean(rates**2, axis=0)).tolist())
            for place, optimizer in enumerate((before, L0())):
                found = optimizer.fit(values, rates).coef_
                sets = ({tuple(map(int, p)) for p in powers[row != 0]} for row in found)
                exact[place] += sum(one == law for one, law in zip(sets, laws))
        print(f"{noise:5.1%}   {exact[0]:6}   {exact[1]:7}")


main(sys.argv[1])

"""How fast the Python package is beside PySINDy and Gymnasium, on one core, in turns.

    python benchmarks/python/speed.py [ROWS …]

needs ell0, pysindy and gymnasium. Medians; the ratio is to the other's time in the same run. PySINDy fits one law with one threshold. `Law.fit` by default finds the best law of every size, chooses among them and judges what the law leaves; with `method="stlsq"` it runs STLSQ, too.
"""

import os

for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import statistics
import sys
import time
import warnings

import gymnasium
import numpy as np
import pysindy

import ell0


def in_turns(contenders, rounds):
    """The median time of a call of each."""
    times = {name: [] for name in contenders}
    for call in contenders.values():
        call()
    for _ in range(rounds):
        for name, call in contenders.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(t) for name, t in times.items()}


def tell(what, times, unit=1e3, of="ms"):
    first = next(iter(times.values()))
    said = ", ".join(f"{name} {t * unit:.4g} {of} ({first / t:.1f}×)" for name, t in times.items())
    print(f"{what}: {said}", flush=True)


def lorenz(rows):
    """States of the Lorenz system, and their rates of change with noise."""
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2.0, 20.0])
    states = np.empty((rows, 3))
    for k in range(min(rows, 10_000)):
        # Heun's method: the exact trajectory does not matter here.
        a = rates(x)
        x = x + 0.005 * (a + rates(x + 0.01 * a))
        states[k] = x
    for k in range(10_000, rows, 10_000):
        part = states[k : k + 10_000]
        part[:] = states[: len(part)] + 0.1 * rng.normal(size=part.shape)
    return states, rates(states.T).T + 0.1 * rng.normal(size=states.shape)


def rates(x):
    return np.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])


def fits(rows):
    states, known = lorenz(rows)

    def theirs():
        library, optimizer = pysindy.PolynomialLibrary(3), pysindy.STLSQ(threshold=0.1)
        return pysindy.SINDy(optimizer=optimizer, feature_library=library).fit(states, t=0.01, x_dot=known)

    def ours(**settings):
        return ell0.Law("polynomial(3)", **settings).fit(states, x_dot=known)

    contenders = {
        "PySINDy STLSQ": theirs,
        "ell0": ours,
        "ell0 stlsq": lambda: ours(method="stlsq", threshold=0.1),
    }
    tell(f"fit of {rows:,} rows", in_turns(contenders, 25 if rows < 10**6 else 5))
    return theirs(), ours(), states[:1]


def steps():
    """Steps of pendulums a second: ours many at once, Gymnasium's own vector."""
    many, few = 4096, 16
    ours = gymnasium.make_vec("ell0/Pendulum-v0", num_envs=many, vectorization_mode="vector_entry_point")
    theirs = gymnasium.make_vec("Pendulum-v1", num_envs=few, vectorization_mode="sync")
    for env in (ours, theirs):
        env.reset(seed=0)
    actions = {env: env.action_space.sample() for env in (ours, theirs)}
    times = in_turns({"theirs": lambda: theirs.step(actions[theirs]), "ours": lambda: ours.step(actions[ours])}, 400)
    print(f"steps of the pendulum: Gymnasium's vector {few / times['theirs'] / 1e6:.3f} million/s, ell0's {many / times['ours'] / 1e6:.1f} million/s")


warnings.filterwarnings("ignore")
for rows in [int(float(rows)) for rows in sys.argv[1:]] or [10**4, 10**5, 10**6]:
    model, law, row = fits(rows)
tell("prediction of one row", in_turns({"PySINDy": lambda: model.predict(row), "ell0": lambda: law.predict(row)}, 1000), 1e6, "µs")
steps()

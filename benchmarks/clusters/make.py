"""10 million rows of the Lorenz system in 40 files of 25 experiments each."""

import sys
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq

folder = Path(sys.argv[1])
runs, n, files = 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 10_000, 40
folder.mkdir(parents=True, exist_ok=True)
r = np.random.default_rng(0)
s = np.stack([r.uniform(-10, 10, runs), r.uniform(-10, 10, runs), r.uniform(15, 30, runs)])


def f(s):
    x, y, z = s
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


dt = 0.002
out = np.empty((n, 3, runs))
for k in range(n):
    out[k] = s
    a = f(s)
    b = f(s + dt / 2 * a)
    c = f(s + dt / 2 * b)
    d = f(s + dt * c)
    s = s + dt / 6 * (a + 2 * b + 2 * c + d)
out += 0.01 * r.normal(size=out.shape)
each = runs // files
for k in range(files):
    part = out[:, :, k * each : (k + 1) * each].transpose(2, 0, 1).reshape(-1, 3)
    pq.write_table(
        pa.table(
            {
                "run": np.repeat(np.arange(k * each, (k + 1) * each), n),
                "t": np.tile(np.arange(n) * dt, each),
                "x": part[:, 0],
                "y": part[:, 1],
                "z": part[:, 2],
            }
        ),
        folder / f"part-{k:03}.parquet",
    )

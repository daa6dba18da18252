"""A training step of LeNet-5 with gates in PyTorch (`ell0.torch`), eager and compiled, one core; with `--burn BINARY` the same in Burn, in turns.

The binary is that of `cargo build --release --example lenet5` in crates/ell0-burn. Images are random here and drawn there; the work does not depend on them.
"""

import argparse
import re
import statistics
import subprocess
import time

import torch
from torch import nn

from ell0.torch import gate, penalty

BATCH, STEPS, ROUNDS = 100, 20, 5


def network():
    layers = [nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5), nn.Linear(800, 500), nn.Linear(500, 10)]
    for layer, by in zip(layers, ("filter", "filter", "input", "input")):
        gate(layer, by=by, lambda_=0.1 / 60_000, weight_decay=5e-4)
    one, two, three, four = layers
    pool = nn.MaxPool2d(2)
    return nn.Sequential(one, nn.ReLU(), pool, two, nn.ReLU(), pool, nn.Flatten(), three, nn.ReLU(), four)


def steps(compiled):
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    x, y = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))

    def loss_of():
        return nn.functional.cross_entropy(model(x), y) + penalty(model)

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step()
    return step


def torch_time(step):
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS


def burn_time(binary):
    """An epoch of 40 batches of digits that are drawn; the program tells how long it took."""
    told = subprocess.run([binary, "--rows", "4000", "--epochs", "2"], capture_output=True, text=True, check=True).stdout
    epochs = re.findall(r"^ +\d+ .* (\d+\.\d+)$", told, re.MULTILINE)
    return float(epochs[-1]) / (4000 / BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--burn", help="the built example lenet5")
    burn = parser.parse_args().burn
    torch.set_num_threads(1)
    contenders = {"PyTorch eager": steps(False), "PyTorch compiled": steps(True)}
    times = {name: [] for name in [*contenders, *(["Burn"] if burn else [])]}
    for _ in range(ROUNDS):
        for name, step in contenders.items():
            times[name].append(torch_time(step))
        if burn:
            times["Burn"].append(burn_time(burn))
    for name, samples in times.items():
        print(f"{name}: {1e3 * statistics.median(samples):.1f} ms a step of {BATCH} rows")


if __name__ == "__main__":
    main()

"""The same work with PyTorch, PySINDy, Gymnasium and stable-baselines3, and with ell0, in turns on one core.

`benchmarks/run` makes the virtual environment, builds ell0's part (crates/ell0-control/examples/side_by_side.rs) and starts this. For each piece of work there are several contenders in Python
(for PyTorch: eager and compiled); they and ell0 take turns, and the median of all samples counts. Nothing here is measured against a strawman on purpose: where there were two ways to write the
PyTorch side, both are contenders, or a comment says which one was slower.
"""

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROWS, BATCH, EPISODE = 200_000, 256, 200
IMAGES, IMAGE_BATCH = 20_000, 100
PACKAGES = ["torch", "pysindy", "gymnasium", "stable-baselines3", "numpy", "scipy", "scikit-learn"]


# Timing: the same procedure as in side_by_side.rs.


class Contender:
    """Something to do again and again. A call does `units` units of the work and returns numbers that tell whether it was the same work."""

    def __init__(self, name, call, units=1, parameters=0):
        self.name, self.call, self.units, self.parameters, self.calls = name, call, units, parameters, 0

    def samples(self, budget):
        """Samples of the seconds for one unit, as many as the budget allows, at least one; and a check."""
        if self.calls == 0:
            # Whatever compiles does so in the first calls. Then warm up for a tenth of a second; a sample is about 5 ms, or one call.
            start = time.perf_counter()
            self.call()
            if time.perf_counter() - start < 60:
                self.call()
            start, calls = time.perf_counter(), 0
            while calls == 0 or time.perf_counter() - start < 0.1:
                self.call()
                calls += 1
            self.calls = math.ceil(5e-3 / ((time.perf_counter() - start) / calls))
        begin, samples = time.perf_counter(), []
        while True:
            start = time.perf_counter()
            for _ in range(self.calls):
                check = self.call()
            end = time.perf_counter()
            samples.append((end - start) / (self.calls * self.units))
            if end - begin >= budget:
                return samples, check


class Ell0:
    """ell0's part, a process that is asked for one piece of work after the other."""

    name = "ell0"

    def __init__(self, binary, data):
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([binary, data], stdin=pipe, stdout=pipe, text=True, env=environment)

    def samples(self, work, budget):
        self.process.stdin.write(f"{work} {round(budget * 1000)}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("ell0's part ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"ell0: {answer['error']}")
        return answer["seconds"], answer["check"], answer["parameters"]


# PyTorch: hard-concrete gates, networks, dictionaries.

BETA, GAMMA, ZETA = 2 / 3, -0.1, 1.1
SHIFT = BETA * math.log(-GAMMA / ZETA)


def torch_():
    import torch

    torch.set_num_threads(1)
    try:
        torch.set_num_interop_threads(1)
    except RuntimeError:
        pass  # It can be set only once.
    return torch


def sample_gates(log_alpha, shape=None):
    """Hard-concrete gates (Louizos et al. 2018): z = clip(σ((logit u + log α)/β)·(ζ − γ) + γ, 0, 1)."""
    torch = torch_module
    u = torch.rand(log_alpha.shape if shape is None else shape).clamp_(1e-7, 1 - 1e-7)
    s = torch.sigmoid((torch.logit(u) + log_alpha) / BETA)
    return (s * (ZETA - GAMMA) + GAMMA).clamp(0, 1)


def test_gates(log_alpha):
    return (torch_module.sigmoid(log_alpha) * (ZETA - GAMMA) + GAMMA).clamp(0, 1)


def prob_active(log_alpha):
    return torch_module.sigmoid(log_alpha - SHIFT)


torch_module = None


def cubics(inputs):
    """Indices that make all monomials up to degree 3: squares as pairs of inputs, cubes as (square, input)."""
    pairs = [(i, j) for i in range(inputs) for j in range(i, inputs)]
    triples = [(n, k) for n, (_, j) in enumerate(pairs) for k in range(j, inputs)]
    index = torch_module.tensor
    (a, b), (c, d) = zip(*pairs), zip(*triples)
    a, b, c, d = index(a), index(b), index(c), index(d)

    def features(x):
        squares = x[:, a] * x[:, b]
        one = torch_module.ones(x.shape[0], 1)
        return torch_module.cat([one, x, squares, squares[:, c] * x[:, d]], 1)

    return features


def count(parameters):
    return sum(p.numel() for p in parameters)


def training_steps(loss_of, parameters, compiled, rows_of=(ROWS, BATCH)):
    """One step: draw a batch, forward, backward, Adam; the learning rate is next to nothing, as on the other side, so that gates stay as they are."""
    torch = torch_module
    # Fused Adam where it is not compiled: foreach was slower. Inductor's C++ wrapper was no faster than its default.
    whole = compiled == "with its optimizer"
    optimizer = torch.optim.Adam(parameters, lr=1e-12, fused=not whole, foreach=whole)
    adam = torch.compile(optimizer.step) if whole else optimizer.step
    if compiled:
        loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)

    def call():
        rows = torch.randint(rows_of[0], (rows_of[1],))
        loss = loss_of(rows)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        adam()
        return [loss]

    return call


def both(loss, variants=("",), rows_of=(ROWS, BATCH)):
    """Contenders of each variant: eager, compiled, and compiled together with Adam. `loss(variant)` makes the loss of a batch and its parameters anew; a batch is some of so many rows."""
    ways = {"PyTorch eager": None, "PyTorch compiled": "loss", "PyTorch compiled, Adam too": "with its optimizer"}
    for variant in variants:
        for way, compiled in ways.items():
            loss_of, parameters = loss(variant)
            name = f"{way}, {variant}" if variant else way
            yield Contender(name, training_steps(loss_of, parameters, compiled, rows_of), 1, count(parameters))


def network(width, gates):
    torch = torch_module
    functional = torch.nn.functional
    x, y = torch.randn(ROWS, 4), torch.randn(ROWS, 3)

    def loss(_):
        dims = [4, width, width, 3]
        layers = [torch.nn.Linear(a, b) for a, b in zip(dims, dims[1:])]
        weights = [layer.weight for layer in layers]
        biases = [layer.bias for layer in layers]
        # Initial drop rate 1/2, as on the other side: 17 % of the gates are closed.
        shape = {"weights": lambda w: w.shape, "units": lambda w: w.shape[1:]}.get(gates)
        log_alphas = [torch.nn.Parameter(0.01 * torch.randn(shape(w))) for w in weights] if shape else []

        def loss_of(rows):
            h = x[rows]
            penalty = 0
            for k in range(3):
                w = weights[k]
                if log_alphas:
                    # A gate on a unit is cheaper on the weights that leave it than on 256 rows of its activation.
                    w = w * sample_gates(log_alphas[k])
                    behind = 1 if gates == "weights" else w.shape[0]
                    penalty = penalty + 5e-6 * behind * prob_active(log_alphas[k]).sum()
                h = functional.linear(h, w, biases[k])
                if k < 2:
                    h = functional.elu(h)
            return functional.mse_loss(h, y[rows]) + penalty

        return loss_of, weights + biases + log_alphas

    return both(loss)


def classifier(closed):
    """784→300→100→10 with a gate on each unit, of which so many per cent are closed: MNIST's shapes, random rows."""
    torch = torch_module
    functional = torch.nn.functional
    x, y = torch.randn(IMAGES, 784), torch.randint(10, (IMAGES,))

    def loss(_):
        dims = [784, 300, 100, 10]
        layers = [torch.nn.Linear(a, b) for a, b in zip(dims, dims[1:])]
        weights = [layer.weight for layer in layers]
        biases = [layer.bias for layer in layers]
        log_alphas = []
        for width in dims[:-1]:
            log_alpha = torch.full((width,), 5.0)
            log_alpha[width - width * closed // 100 :] = -5.0
            log_alphas.append(torch.nn.Parameter(log_alpha))

        def loss_of(rows):
            h, penalty = x[rows], 0
            for k in range(3):
                # On 100 rows of activations there is less to multiply than on the 300 rows of weights of the first layer; in the last, which is small, it is the other way round.
                gate = sample_gates(log_alphas[k])
                h = functional.linear(h * gate, weights[k], biases[k])
                penalty = penalty + 5e-6 * weights[k].shape[0] * prob_active(log_alphas[k]).sum()
                if k < 2:
                    h = functional.relu(h)
            return functional.cross_entropy(h, y[rows]) + penalty

        return loss_of, weights + biases + log_alphas

    return both(loss, rows_of=(IMAGES, IMAGE_BATCH))


def dictionary():
    torch = torch_module
    features = cubics(4)
    x, y = torch.randn(ROWS, 4), torch.randn(ROWS, 3)
    scale = 1 / features(x).square().mean(0).sqrt()
    table = features(x) * scale

    def loss(variant):
        w = torch.nn.Parameter(0.1 * torch.randn(35, 3))
        log_alpha = torch.nn.Parameter(0.01 * torch.randn(35, 3))

        def loss_of(rows):
            phi = table[rows] if variant == "table of features" else features(x[rows]) * scale
            prediction = phi @ (w * sample_gates(log_alpha))
            return torch.nn.functional.mse_loss(prediction, y[rows]) + 5e-6 * prob_active(log_alpha).sum()

        return loss_of, [w, log_alpha]

    return both(loss, ("features on the fly", "table of features"))


# TD3.


def experience():
    """Random experience of the pendulum: arrays of observations, actions, rewards, next observations."""
    import gymnasium

    environment = gymnasium.make("Pendulum-v1", disable_env_checker=True)
    rng = np.random.default_rng(1)
    rows = []
    for episode in range(50):
        now, _ = environment.reset(seed=episode)
        for _ in range(EPISODE):
            action = rng.uniform(-2, 2, 1).astype(np.float32)
            after, reward, *_ = environment.step(action)
            rows.append((now, action, np.float32(reward), after))
            now = after
    return [np.array(column, dtype=np.float32) for column in zip(*rows)]


class OwnTd3:
    """TD3 with the settings of ell0's default: twin critics of two hidden layers of 256, batch 256, the policy every second time."""

    def __init__(self, policy, data, compiled):
        torch = torch_module
        self.observation, self.action, self.reward, self.after = (torch.from_numpy(column) for column in data)
        # Twin critics in one list, with one optimizer. Stacked into batched products they were a little slower.
        self.critic = self.network([4, 256, 256, 1]) + self.network([4, 256, 256, 1])
        if policy == "network":
            self.policy = self.network([3, 256, 256, 1])
            self.act = lambda p, s, sampled: 2 * torch.tanh(self.run(p, s))
            self.price = lambda p: 0
        else:
            features, scale = cubics(3), torch.tensor([1.0, 1.0, 1 / 8])

            def act(p, s, sampled):
                phi = features(s * scale)
                # Gates for each row where the policy learns; those of test time in its target.
                z = sample_gates(p[1], (BATCH, 20)) if sampled else test_gates(p[1])
                return 2 * torch.tanh((phi * z) @ p[0])

            self.policy = [torch.nn.Parameter(0.01 * torch.randn(20, 1)), torch.nn.Parameter(0.01 * torch.randn(20))]
            self.act = act
            self.price = lambda p: 1e-3 * prob_active(p[1]).sum()
        self.critic_target = [p.detach().clone() for p in self.critic]
        self.policy_target = [p.detach().clone() for p in self.policy]
        self.critic_optimizer = torch.optim.Adam(self.critic, lr=3e-4, fused=True)
        self.policy_optimizer = torch.optim.Adam(self.policy, lr=3e-4, fused=True)
        self.updates = 0
        if compiled:
            for name in ("critic_loss", "policy_loss"):
                setattr(self, name, torch.compile(getattr(self, name), fullgraph=True, dynamic=False))

    @staticmethod
    def network(dims):
        torch = torch_module
        uniform = lambda bound, *shape: torch.nn.Parameter((2 * torch.rand(*shape) - 1) * bound)
        shapes = [(a**-0.5, a, b) for a, b in zip(dims, dims[1:])]
        return [p for bound, a, b in shapes for p in (uniform(bound, a, b), uniform(bound, b))]

    @staticmethod
    def run(parameters, x):
        for k in range(0, len(parameters), 2):
            x = torch_module.addmm(parameters[k + 1], x, parameters[k])
            if k + 2 < len(parameters):
                x = torch_module.relu(x)
        return x

    def critic_loss(self, s, a, r, after):
        torch = torch_module
        with torch.no_grad():
            noise = (0.4 * torch.randn_like(a)).clamp(-1, 1)
            next_action = (self.act(self.policy_target, after, False) + noise).clamp(-2, 2)
            seen = torch.cat([after, next_action], 1)
            least = torch.minimum(self.run(self.critic_target[:6], seen), self.run(self.critic_target[6:], seen))
            # No episode of the pendulum really ends.
            target = r[:, None] + 0.99 * least
        seen, mse = torch.cat([s, a], 1), torch.nn.functional.mse_loss
        return mse(self.run(self.critic[:6], seen), target) + mse(self.run(self.critic[6:], seen), target)

    def policy_loss(self, s):
        first = [p.detach() for p in self.critic[:6]]
        q = self.run(first, torch_module.cat([s, self.act(self.policy, s, True)], 1))
        return self.price(self.policy) - q.mean()

    def call(self):
        torch = torch_module
        for _ in range(2):
            rows = torch.randint(len(self.reward), (BATCH,))
            s, a, r, after = self.observation[rows], self.action[rows], self.reward[rows], self.after[rows]
            loss = self.critic_loss(s, a, r, after)
            self.critic_optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.critic_optimizer.step()
            self.updates += 1
            if self.updates % 2 == 0:
                policy_loss = self.policy_loss(s)
                self.policy_optimizer.zero_grad(set_to_none=True)
                policy_loss.backward()
                self.policy_optimizer.step()
                with torch.no_grad():
                    torch._foreach_lerp_(self.critic_target, self.critic, 0.005)
                    torch._foreach_lerp_(self.policy_target, self.policy, 0.005)
        return [loss]


def stable_baselines(data):
    """The same with stable-baselines3: its own networks, replay buffer and update."""
    import gymnasium
    from stable_baselines3 import TD3
    from stable_baselines3.common.logger import Logger

    torch_()
    environment = gymnasium.make("Pendulum-v1", disable_env_checker=True)
    model = TD3(
        "MlpPolicy",
        environment,
        learning_rate=3e-4,
        buffer_size=10_000,
        batch_size=BATCH,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
    )
    model.set_logger(Logger(None, []))
    for now, action, reward, after in zip(*data):
        # The buffer holds actions scaled to ±1.
        model.replay_buffer.add(now[None], after[None], action[None] / 2, reward[None], np.array([False]), [{}])
    learned = list(model.actor.parameters()) + list(model.critic.parameters())

    def call():
        model.train(gradient_steps=2, batch_size=BATCH)
        return [model.logger.name_to_value["train/critic_loss"]]

    return Contender("stable-baselines3", call, 2, count(learned))


def td3(policy):
    data = experience()
    for compiled in (False, True):
        own = OwnTd3(policy, data, compiled)
        name = "PyTorch compiled" if compiled else "PyTorch eager"
        yield Contender(name, own.call, 2, count(own.policy) + count(own.critic))
    if policy == "network":
        yield stable_baselines(data)


# Gymnasium.


def pendulum():
    import gymnasium

    actions = np.random.default_rng(1).uniform(-2, 2, (EPISODE, 1)).astype(np.float32)

    def contender(name, **options):
        environment = gymnasium.make("Pendulum-v1", **options)
        sums = [0.0, 0]

        def call():
            environment.reset()
            for action in actions:
                _, reward, terminated, truncated, _ = environment.step(action)
                sums[0] += float(reward)
                sums[1] += 1
                if terminated or truncated:
                    break
            return [sums[0] / sums[1]]

        return Contender(name, call, EPISODE)

    yield contender("Gymnasium as made")
    yield contender("Gymnasium without its checker", disable_env_checker=True)


# PySINDy.


def lorenz(rows):
    """States of the Lorenz system, trajectories of 1000 steps of 0.01 by Runge-Kutta, and their rates of change with noise of 0.5."""
    rng = np.random.default_rng(rows)
    state = rng.normal(size=(rows // 1000, 3)) * [8, 8, 8] + [0, 0, 25]

    def rate(s):
        x, y, z = s.T
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], 1)

    def step(s, h=0.01):
        a = rate(s)
        b = rate(s + h / 2 * a)
        c = rate(s + h / 2 * b)
        return s + h / 6 * (a + 2 * b + 2 * c + rate(s + h * c))

    for _ in range(100):
        state = step(state)
    states = []
    for _ in range(1000):
        states.append(state)
        state = step(state)
    x = np.stack(states, 1).reshape(rows, 3)
    return x, rate(x) + 0.5 * rng.normal(size=(rows, 3))


def write_lorenz(folder, rows):
    x, rates = lorenz(rows)
    np.concatenate([x.T, rates.T]).astype("<f8").tofile(folder / f"lorenz-{rows}.f64")


def read_lorenz(folder, rows):
    """Rows, as PySINDy wants them; the same bytes that ell0 reads as columns."""
    columns = np.fromfile(folder / f"lorenz-{rows}.f64", dtype="<f8").reshape(6, rows)
    return np.ascontiguousarray(columns[:3].T), np.ascontiguousarray(columns[3:].T)


def sindy(x, rates):
    import pysindy

    model = pysindy.SINDy(
        optimizer=pysindy.STLSQ(threshold=0.1),
        feature_library=pysindy.PolynomialLibrary(degree=3),
    )
    return model.fit(x, t=0.01, x_dot=rates)


def fits(folder, rows):
    x, rates = read_lorenz(folder, rows)
    yield Contender("PySINDy STLSQ", lambda: sindy(x, rates).coefficients().ravel(), 1, 60)


def predictions(folder, rows):
    x, rates = read_lorenz(folder, rows)
    model = sindy(x, rates)

    def call():
        predicted = np.asarray(model.predict(x))
        return [predicted[0, 0], predicted[rows // 2, 0], predicted[-1, 2]]

    yield Contender("PySINDy", call, 1, 60)


# What is measured, and the checks.


def finite(mine, theirs):
    return f"loss {theirs[0]:.3g} and {mine[0]:.3g}" if np.isfinite([mine[0], theirs[0]]).all() else None


def mean_reward(mine, theirs):
    # Episodes begin in random states: the means agree within a few per cent.
    if abs(mine[0] - theirs[0]) < 0.15 * abs(theirs[0]):
        return f"mean reward {theirs[0]:.2f} and {mine[0]:.2f}"


def same_law(mine, theirs):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    both, terms = (mine != 0) & (theirs != 0), lambda c: f"{np.count_nonzero(c)} terms"
    difference = np.abs(mine - theirs)[both].max(initial=0)
    if np.count_nonzero(both) >= 7 and difference < 0.2:
        return f"{terms(theirs)} and {terms(mine)}, common ones differ by at most {difference:.1g}"


def same_values(mine, theirs):
    difference = np.abs(np.asarray(mine) - theirs).max()
    return f"predictions differ by at most {difference:.1g}" if difference < 1 else None


def works(folder, sizes):
    """Name in the table, name for ell0, contenders, check."""
    for width in (128, 256):
        shape = f"4→{width}→{width}→3"
        yield f"training step, {shape}", f"plain {width}", lambda w=width: network(w, None), finite
        yield "the same, a gate on each weight", f"gated-weights {width}", lambda w=width: network(w, "weights"), finite
        yield "the same, a gate on each unit", f"gated-units {width}", lambda w=width: network(w, "units"), finite
    for closed in (0, 50, 90):
        name = f"training step, 784→300→100→10, a gate on each unit, {closed} % closed"
        yield name, f"classifier {closed}", lambda c=closed: classifier(c), finite
    yield "training step, polynomial(3) of 4 inputs, gated", "dictionary", dictionary, finite
    yield "TD3 update, policy 256×256", "td3-network", lambda: td3("network"), finite
    yield "TD3 update, policy polynomial(3), gated", "td3-dictionary", lambda: td3("dictionary"), finite
    yield "step of the pendulum", "pendulum", pendulum, mean_reward
    for rows in sizes:
        yield f"dictionary fit, {rows:,} rows; ell0 exact", f"fit-exact {rows}", lambda n=rows: fits(folder, n), same_law
        yield f"dictionary fit, {rows:,} rows; ell0 STLSQ", f"fit-stlsq {rows}", lambda n=rows: fits(folder, n), same_law
    rows = sizes[-1]
    yield f"prediction, {rows:,} rows", f"predict {rows}", lambda n=rows: predictions(folder, n), same_values


def measure(ell0, work, contenders, check, rounds, budget):
    """All contenders in turns. What fails is noted and does not stop the others."""
    try:
        contenders, failed = list(contenders()), {}
    except Exception as error:
        contenders, failed = [], {"Python": f"{type(error).__name__}: {error}"}
    samples, answers = {}, {}
    mine, parameters = None, None
    for _ in range(rounds):
        for contender in contenders:
            if contender.name in failed:
                continue
            try:
                seconds, answer = contender.samples(budget)
                samples.setdefault(contender.name, []).extend(seconds)
                answers[contender.name] = [float(value) for value in answer]
            except Exception as error:
                failed[contender.name] = f"{type(error).__name__}: {str(error).strip()}"
        if "ell0" not in failed:
            try:
                seconds, mine, parameters = ell0.samples(work, budget)
                samples.setdefault("ell0", []).extend(seconds)
            except Exception as error:
                failed["ell0"] = str(error)
    checks = {}
    for contender in contenders:
        if contender.name in answers and mine is not None:
            agree = check(mine, answers[contender.name])
            if contender.parameters != parameters:
                failed[contender.name] = f"{contender.parameters} parameters, ell0 has {parameters}"
            elif agree is None:
                failed[contender.name] = "not the same work: the results do not agree"
            else:
                checks[contender.name] = agree
    medians = {name: statistics.median(s) for name, s in samples.items()}
    quartiles = {name: list(np.quantile(s, [0.25, 0.75])) for name, s in samples.items()}
    number = {name: len(s) for name, s in samples.items()}
    return {"seconds": medians, "quartiles": quartiles, "samples": number, "failed": failed, "checks": checks, "parameters": parameters}


# The table.


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def short(reason):
    return reason.splitlines()[0][:120].replace("|", "/")


def row(name, result):
    seconds, failed = result["seconds"], result["failed"]
    python = {k: v for k, v in seconds.items() if k != "ell0" and k not in failed}
    others = lambda best: "; ".join(
        [f"{k} {duration(v)}" for k, v in python.items() if k != best]
        + [f"{k} not measured: {short(v)}" for k, v in failed.items() if k != "ell0"]
    )
    mine = duration(seconds["ell0"]) if "ell0" in seconds else f"not measured: {short(failed['ell0'])}"
    if not python:
        return f"| {name} | not measured: {short(next(iter(failed.values())))} | – | {mine} | – | |"
    best = min(python, key=python.get)
    ratio = f"{python[best] / seconds['ell0']:.3g}×" if "ell0" in seconds else "–"
    return f"| {name} | {duration(python[best])} | {best} | {mine} | {ratio} | {others(best)} |"


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def instructions():
    try:
        flags = Path("/proc/cpuinfo").read_text()
        return next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    except OSError:
        return ""


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def report(about, results):
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    lines = [
        f"Measured on {about['date']}, one core of {about['processor']}{about['pinned']}, {about['python']}, {versions}; ell0 {about['ell0']}, stock release build. "
        f"Medians, all contenders of a row in turns{about['mode']}.",
        "",
        "| work | best in Python | which | ell0 | ratio | the others |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row(name, result) for name, result in results.items()),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ell0", required=True, help="the built example side_by_side")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: to see whether it works, not to be published")
    parser.add_argument("--only", default="", help="only works whose name for ell0 begins so, for example td3")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for results.md and results.json")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rounds, budget = (3, 0.1) if arguments.quick else (9, 0.5)

    global torch_module
    try:
        torch_module = torch_()
    except Exception as error:
        print(f"no PyTorch: {error}", file=sys.stderr)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    now = datetime.datetime.now(datetime.timezone.utc)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    about = {
        "date": now.strftime("%Y-%m-%d"),
        "processor": f"{processor()} {instructions()}".strip(),
        "pinned": "" if cores == 1 else " (not pinned to it: no taskset here)",
        "python": f"Python {platform.python_version()}",
        "versions": {name: version(name) for name in PACKAGES},
        "ell0": git.stdout.strip() or "of unknown version",
        "mode": "; a quick run, not to be published" if arguments.quick else "",
    }
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        folder, sizes = Path(folder), (10_000, 100_000, 1_000_000)
        for rows in sizes:
            write_lorenz(folder, rows)
        ell0 = Ell0(arguments.ell0, folder)
        of = ""
        for name, work, contenders, check in works(folder, sizes):
            # "The same" means nothing without the row above.
            of = name if not name.startswith("the same") else of
            if not work.startswith(arguments.only):
                continue
            result = measure(ell0, work, contenders, check, rounds, budget)
            title = name if name == of else f"{of}, {name.removeprefix('the same, ')}"
            results[title] = {"work": work, **result}
            print(row(title, result), flush=True)
            for contender, agree in result["checks"].items():
                print(f"    {contender}: {agree}; {result['parameters']} parameters", flush=True)
        ell0.process.stdin.close()
        ell0.process.wait()
    text = report(about, results)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.md").write_text(text)
    (arguments.out / "results.json").write_text(json.dumps({"about": about, "results": results}, indent=1, ensure_ascii=False) + "\n")
    print("\n" + text)


if __name__ == "__main__":
    main()

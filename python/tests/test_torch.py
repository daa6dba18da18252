"""Gates for PyTorch: golden values, gradients, statistics, and what can go wrong."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn.utils import parametrize

from ell0.torch import (
    HardConcrete,
    LayerGates,
    compact,
    expected_l0,
    free_energy,
    gate,
    gate_all,
    gates,
    penalty,
)

torch.set_num_threads(1)
GOLDEN = Path(__file__).parents[2] / "tests" / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def doubles(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def seeded(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


def close(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(a, doubles(b), rtol=tolerance, atol=tolerance)


def located(log_alpha: Any, **settings: Any) -> HardConcrete:
    """Gates in double precision at these places."""
    log_alpha = doubles(log_alpha)
    z = HardConcrete(log_alpha.shape, like=log_alpha, **settings)
    z.log_alpha.data.copy_(log_alpha)
    return z


def network(*, by: str = "input", seed: int = 0, **settings: Any) -> Any:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    return gate_all(model, by, generator=seeded(seed), **settings)


def test_golden_distribution() -> None:
    for case in golden("gates")["cases"]:
        z = located([case["log_alpha"]], **{k: case[k] for k in ("beta", "gamma", "zeta")})
        drawn = z.sample(doubles([case["u"]]))
        close(drawn, [case["z"]])
        (slope,) = torch.autograd.grad(drawn.sum(), z.log_alpha)
        close(slope, [case["dz_dlog_alpha"]])
        active = z.prob_active()
        close(active, [case["prob_active"]])
        (slope,) = torch.autograd.grad(active.sum(), z.log_alpha)
        close(slope, [case["dprob_dlog_alpha"]])
        close(z.test_gate(), [case["mode_gate"]])
        mean, variance = z.moments()
        close(mean, [case["mean"]])
        close(variance, [case["variance"]])


@pytest.mark.parametrize("which", ["gated", "gated_decay"])
def test_golden_networks(which: str) -> None:
    """Forward pass, penalty, gradients and three steps of Adam."""
    case = golden("networks")[which]
    layers = []
    for inputs, outputs in zip(case["dims"], case["dims"][1:], strict=False):
        layers += [nn.Linear(inputs, outputs).double(), nn.ELU()]
    model = nn.Sequential(*layers[:-1])
    linear = [m for m in model if isinstance(m, nn.Linear)]
    settings = {k: case[k] for k in ("beta", "gamma", "zeta", "weight_decay")}
    gate_all(model, lambda_=case["lam"], **settings)
    on = [layer.parametrizations.weight for layer in linear]
    for k, layer in enumerate(linear):
        on[k].original.data.copy_(doubles(case["init"]["weights"][k]).T)
        layer.bias.data.copy_(doubles(case["init"]["biases"][k]))
        on[k][0].log_alpha.data.copy_(doubles(case["init"]["log_alphas"][k]))
    adam = torch.optim.Adam(model.parameters(), case["lr"], **case["adam"])
    x, y = doubles(case["x"]), doubles(case["y"])
    for step in case["steps"]:
        for k, z in enumerate(on):
            noise = doubles(step["noise"][k]).reshape(1, -1)
            z[0].noise = lambda noise=noise: noise
        adam.zero_grad()
        prediction = model(x)
        close(prediction, step["prediction"])
        mse = nn.functional.mse_loss(prediction, y)
        close(mse, step["mse"])
        paid = penalty(model)
        close(paid, step["penalty"])
        (mse + paid).backward()
        for k, layer in enumerate(linear):
            close(on[k].original.grad.T, step["grad_weights"][k])
            close(layer.bias.grad, step["grad_biases"][k])
            close(on[k][0].log_alpha.grad[0], step["grad_log_alphas"][k])
        adam.step()
    model.eval()
    close(model(x), case["test_time_prediction"])


@pytest.mark.parametrize("by", ["input", "unit", "element"])
def test_gradients_are_those_of_finite_differences(by: str) -> None:
    model = network(by=by, lambda_=0.3, weight_decay=0.2)
    parameters = [p for p in model.parameters() if p.dim() > 1]
    for price in (expected_l0, penalty, lambda m: free_energy(m, 0.1, 0.5)):
        slopes = torch.autograd.grad(price(model), parameters, allow_unused=True)
        for p, slope in zip(parameters, slopes, strict=True):
            flat, h = p.data.view(-1), 1e-5
            for k in range(0, len(flat), 3):
                ends = []
                for side in (h, -h):
                    flat[k] += side
                    ends.append(price(model).item())
                    flat[k] -= side
                expected = 0.0 if slope is None else slope.reshape(-1)[k].item()
                assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(expected, abs=1e-8)


def test_prices() -> None:
    model = network(lambda_=0.5)
    gate_counts = [row.total for row in gates(model)]
    assert gate_counts == [4, 6]
    active = [layer.parametrizations.weight[0].prob_active() for layer in (model[0], model[2])]
    count = 6 * active[0].sum() + 3 * active[1].sum()
    close(expected_l0(model, weighted=False), count.item())
    close(expected_l0(model), 0.5 * count.item())
    p = torch.cat([a.flatten() for a in active])
    kl = (p * (p / 0.1).log() + (1 - p) * ((1 - p) / 0.9).log()).sum()
    close(free_energy(model, prior=0.1, scale=2.0), (0.5 * count + 2 * kl).item())
    # Even where a probability rounds to 1, the divergence is finite and has a slope.
    model[0].parametrizations.weight[0].log_alpha.data.fill_(500.0)
    energy = free_energy(model)
    assert energy.isfinite()
    energy.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_statistics_of_draws() -> None:
    """Frequencies and means of 400,000 draws are within five standard errors (1 in 1.7 million)."""
    n, log_alpha = 400_000, -0.5
    z = located(torch.full((n,), log_alpha).tolist(), generator=seeded())
    drawn = z.sample(z.noise())
    p, (mean, variance) = z.prob_active()[0].item(), z.moments()
    active = (drawn != 0).double().mean().item()
    assert abs(active - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert abs(drawn.mean() - mean[0]) < 5 * (variance[0] / n).sqrt()
    # In the standard error of the variance, a gate's fourth moment is at most its second.
    assert abs(drawn.var() - variance[0]) < 5 * (variance[0] / n).sqrt()
    assert (drawn == 1).any() and ((drawn > 0) & (drawn < 1)).any()


def test_the_seed_decides() -> None:
    x = torch.ones(5, 4, dtype=torch.float64)
    torch.manual_seed(1)
    first = network(seed=3)
    a = [first(x) for _ in range(3)]
    torch.manual_seed(2)
    second = network(seed=3)
    torch.manual_seed(4)
    b = [second(x) for _ in range(3)]
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))
    assert not torch.equal(a[0], a[1])
    # What a module draws first does not depend on how the gates were put there.
    g, h = seeded(), seeded()
    z = gate(nn.Linear(4, 2), generator=g).parametrizations.weight[0]
    assert torch.equal(z.noise(), HardConcrete([1, 4], generator=h).noise())
    # One draw for all rows of a batch, and for all that is cached.
    assert torch.equal(a[0], a[0][:1].expand(5, 3))
    with parametrize.cached():
        assert torch.equal(first(x), first(x))


def test_modes() -> None:
    model, x = network(), torch.ones(2, 4, dtype=torch.float64)
    state = model[0].parametrizations.weight[0].generator.get_state()
    model.eval()
    assert torch.equal(model(x), model(x))
    assert torch.equal(model[0].parametrizations.weight[0].generator.get_state(), state)
    z = model[0].parametrizations.weight[0].test_gate()
    assert torch.equal(model[0].weight, model[0].parametrizations.weight.original * z)
    # Gates take the mode of the module that they are put on.
    assert not gate(nn.Linear(2, 2).eval()).parametrizations.weight[0].training


def test_optimizers_close_gates() -> None:
    model = network(drop_rate=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    known = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert id(model[0].parametrizations.weight[0].log_alpha) in known
    assert len(known) == 6
    for _ in range(20):
        optimizer.zero_grad()
        expected_l0(model).backward()
        optimizer.step()
    assert gates(model) == [
        LayerGates("0.weight", "input", 0, 4, 0),
        LayerGates("2.weight", "input", 0, 6, 0),
    ]


def test_states_copies_and_pickles() -> None:
    model, x = network(seed=5), torch.ones(2, 4, dtype=torch.float64)
    same = copy.deepcopy(model)
    # The generator is copied, and still shared by the layers of the copy.
    assert torch.equal(same(x), model(x))
    own = [m.generator for m in same.modules() if isinstance(m, HardConcrete)]
    assert own[0] is own[1]
    assert own[0] is not model[0].parametrizations.weight[0].generator
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = network(seed=6)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other.eval()(x), model.eval()(x))
    # PyTorch pickles no parametrised modules, but gates by themselves, and what is compacted.
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(model)
    z = model[0].parametrizations.weight[0]
    assert torch.equal(pickle.loads(pickle.dumps(z)).noise(), z.noise())
    small = compact(model)
    assert torch.equal(pickle.loads(pickle.dumps(small))(x), small(x))


def test_shapes() -> None:
    conv, back = nn.Conv2d(3, 5, 2), nn.ConvTranspose2d(3, 5, 2)
    for by, shape, each in [
        ("input", (1, 3, 1, 1), 20),
        ("unit", (5, 1, 1, 1), 12),
        ("filter", (5, 1, 1, 1), 12),
        ("element", (5, 3, 2, 2), 1),
    ]:
        layer = gate(copy.deepcopy(conv), by=by)
        z = layer.parametrizations.weight[0]
        assert z.log_alpha.shape == shape
        (row,) = gates(layer)
        assert row == LayerGates("weight", by, math.prod(shape), math.prod(shape), 60)
        assert row.parameters == row.open * each
    assert gate(copy.deepcopy(back), by="unit").parametrizations.weight[0].log_alpha.numel() == 5
    assert gate(copy.deepcopy(back), by="input").parametrizations.weight[0].log_alpha.numel() == 3
    norm = gate(nn.BatchNorm2d(7), by="unit")
    assert norm(torch.randn(2, 7, 3, 3)).shape == (2, 7, 3, 3)
    both = gate(gate(nn.Linear(3, 2, dtype=torch.bfloat16)), "bias", "element")
    assert both(torch.ones(1, 3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert [row.name for row in gates(both)] == ["weight", "bias"]
    assert "3 gates, by='input'" in repr(both)


@pytest.mark.parametrize(
    "settings",
    [
        {"lambda_": -1.0},
        {"lambda_": math.nan},
        {"weight_decay": math.inf},
        {"drop_rate": 0.0},
        {"drop_rate": 1.0},
        {"beta": 0.0},
        {"gamma": 0.1},
        {"zeta": 1.0},
    ],
)
def test_settings_that_are_wrong(settings: dict[str, float]) -> None:
    (name,) = settings
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=f"^{name} = .*: .* (must|not)"):
        gate(layer, **settings)
    assert not parametrize.is_parametrized(layer)


def test_what_is_wrong_is_said() -> None:
    model = network()
    with pytest.raises(ValueError, match="weight of Linear is parametrised already"):
        gate(model[0])
    with pytest.raises(ValueError, match="Linear has no parameter 'wight'; it has weight, bias"):
        gate(nn.Linear(2, 2), "wight")
    with pytest.raises(ValueError, match="gate_all"):
        gate(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(ValueError, match="by = 'row': a gate stands for one of 'unit', 'filter'"):
        gate(nn.Linear(2, 2), by="row")
    with pytest.raises(ValueError, match="by 'element'"):
        gate(nn.Linear(2, 2), "bias", "input")
    with pytest.raises(ValueError, match="groups"):
        gate(nn.Conv2d(4, 4, 3, groups=2), by="input")
    with pytest.raises(ValueError, match="nn.LSTMCell"):
        gate(nn.LSTM(2, 2), "weight_ih_l0")
    with pytest.raises(ValueError, match="run a batch"):
        gate(nn.LazyLinear(2))
    with pytest.raises(ValueError, match="skip = 7: the layers are 0, 2"):
        gate_all(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)), skip=["7"])
    with pytest.raises(ValueError, match="no linear or convolutional layer"):
        gate_all(nn.ReLU())
    for question in (expected_l0, penalty, free_energy, gates):
        with pytest.raises(ValueError, match="Linear has no gates"):
            question(nn.Linear(2, 2))
    for prior in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="prior = "):
            free_energy(model, prior)
    with pytest.raises(ValueError, match="scale = -1"):
        free_energy(model, scale=-1)
    # Nothing is changed where one layer cannot be gated.
    odd = nn.Sequential(nn.Conv2d(2, 4, 1), nn.Conv2d(4, 4, 1, groups=2))
    with pytest.raises(ValueError, match="groups"):
        gate_all(odd)
    assert not parametrize.is_parametrized(odd[0])

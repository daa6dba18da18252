"""Smaller modules of PyTorch: the same outputs, and nothing in them that is not needed."""

from __future__ import annotations

import copy
import math
import random
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn.utils import parametrize

from ell0.torch import HardConcrete, compact, gate

torch.set_num_threads(1)
ACTIVATIONS = [nn.ReLU, nn.Sigmoid, nn.Tanh, nn.ELU, nn.GELU, nn.Softplus, nn.Identity, nn.PReLU]


def spoilt(model: Any, closed: float, rng: random.Random) -> Any:
    """The model with random gates, of which a share is closed, and random norms; to evaluate."""
    torch.manual_seed(rng.randrange(2**31))
    for module in model.modules():
        if isinstance(module, HardConcrete):
            at = 4 * torch.rand(module.log_alpha.shape) - 1
            shut = torch.rand(module.log_alpha.shape) < closed
            module.log_alpha.data.copy_(torch.where(shut, -5.0, at))
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)) and module.track_running_stats:
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)) and module.affine:
            module.bias.data.normal_()
    return model.eval()


def same(model: Any, x: Any) -> Any:
    """The compacted model, whose outputs are those of the model in both precisions."""
    small = compact(model)
    assert not small.training
    assert not any(parametrize.is_parametrized(m) for m in small.modules())
    for kind, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
        model, small, x = (copy.deepcopy(value).to(kind) for value in (model, small, x))
        if kind == torch.float64:
            small = compact(model)
        with torch.no_grad():
            expected, found = model(x), small(x)
        size = max(1.0, expected.abs().max().item())
        assert (found - expected).abs().max().item() <= tolerance * size
    return small.float()


def widths(model: Any) -> list[int]:
    layers = (nn.Linear, nn.Conv1d, nn.Conv2d)
    return [len(m.weight) for m in model.modules() if isinstance(m, layers)]


def parameters(model: Any) -> int:
    return sum(p.numel() for p in model.parameters())


def close_gates(layer: Any, closed: list[int]) -> None:
    log_alpha = layer.parametrizations.weight[0].log_alpha.data.view(-1)
    log_alpha.fill_(5.0)
    log_alpha[closed] = -5.0


def maybe_gated(layer: Any, rng: random.Random) -> Any:
    by = rng.choice(["input", "unit", "element", None])
    return layer if by is None else gate(layer, by=by)


def mlp(rng: random.Random) -> Any:
    """A random chain, nested at random."""
    width = rng.randint(1, 8)
    model: list[Any] = [nn.BatchNorm1d(width)] if rng.random() < 0.3 else []
    for _ in range(rng.randint(1, 4)):
        after = rng.randint(1, 9)
        group: list[Any] = [maybe_gated(nn.Linear(width, after, rng.random() < 0.7), rng)]
        if rng.random() < 0.5:
            norm = nn.BatchNorm1d(after, affine=rng.random() < 0.7)
            group.append(gate(norm, by="unit") if norm.affine and rng.random() < 0.5 else norm)
        group.append(nn.PReLU(after) if rng.random() < 0.2 else rng.choice(ACTIVATIONS)())
        if rng.random() < 0.3:
            group.append(rng.choice([nn.Dropout(), nn.Flatten(), nn.LayerNorm(after)]))
        model += [nn.Sequential(*group)] if rng.random() < 0.5 else group
        width = after
    model += [maybe_gated(nn.Linear(width, 3), rng), nn.LogSoftmax(1)][: rng.randint(1, 2)]
    return nn.Sequential(*model)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed: int) -> None:
    rng = random.Random(seed)
    model = spoilt(mlp(rng), rng.choice([0.0, 0.3, 0.6, 0.9, 1.0]), rng)
    first = next(m for m in model.modules() if isinstance(m, (nn.Linear, nn.BatchNorm1d)))
    wide = first.in_features if isinstance(first, nn.Linear) else first.num_features
    small = same(model, torch.randn(7, wide))
    assert all(a <= b for a, b in zip(widths(small), widths(model), strict=True))


def convnet(rng: random.Random, dims: int) -> Any:
    """A random convolutional network in one or two dimensions, on 14 places a side."""
    conv, norm = (nn.Conv1d, nn.BatchNorm1d) if dims == 1 else (nn.Conv2d, nn.BatchNorm2d)
    kinds = "Max", "Avg"
    pool = {k: getattr(nn, f"{k}Pool{dims}d") for k in kinds}
    adaptive = {k: getattr(nn, f"Adaptive{k}Pool{dims}d") for k in kinds}
    channels = rng.randint(1, 3)
    model: list[Any] = []
    for _ in range(rng.randint(1, 3)):
        after, size = rng.randint(1, 6), rng.choice([1, 3])
        padding: Any = rng.choice([0, 1, "same", "valid"])
        mode = rng.choice(["zeros", "zeros", "circular", "replicate"])
        bias = rng.random() < 0.7
        layer = conv(channels, after, size, padding=padding, padding_mode=mode, bias=bias)
        model.append(maybe_gated(layer, rng))
        if rng.random() < 0.5:
            # Without running statistics it looks at the batch, even in evaluation mode.
            model.append(norm(after, track_running_stats=rng.random() < 0.8))
        model.append(nn.PReLU(after) if rng.random() < 0.2 else rng.choice(ACTIVATIONS)())
        if rng.random() < 0.5:
            more = (
                {"count_include_pad": rng.random() < 0.5}
                if (k := rng.choice(kinds)) == "Avg"
                else {}
            )
            model.append(pool[k](2, 1, rng.randint(0, 1), ceil_mode=rng.random() < 0.5, **more))
        channels = after
    model.append(adaptive[rng.choice(kinds)](3))
    model += [nn.Flatten(), nn.Dropout()]
    if rng.random() < 0.4:
        model.append(nn.BatchNorm1d(channels * 3**dims))
    model += [maybe_gated(nn.Linear(channels * 3**dims, 5), rng), nn.ReLU()]
    return nn.Sequential(nn.Sequential(*model), maybe_gated(nn.Linear(5, 2), rng))


@pytest.mark.parametrize("seed", range(60))
def test_random_convolutional_networks(seed: int) -> None:
    rng = random.Random(seed)
    dims = rng.choice([1, 2])
    model = spoilt(convnet(rng, dims), rng.choice([0.3, 0.6, 0.9, 1.0]), rng)
    small = same(model, torch.randn(3, model[0][0].in_channels, *[14] * dims))
    assert all(a <= b for a, b in zip(widths(small), widths(model), strict=True))


def lenet() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        *(gate(nn.Conv2d(1, 6, 5, padding=2), by="filter"), nn.ReLU(), nn.MaxPool2d(2)),
        *(gate(nn.Conv2d(6, 16, 5), by="filter"), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), gate(nn.Linear(400, 120)), nn.ReLU()),
        *(gate(nn.Linear(120, 84)), nn.ReLU(), gate(nn.Linear(84, 10))),
    )


def test_lenet() -> None:
    model = spoilt(lenet(), 0.0, random.Random(0))
    close_gates(model[0], [1, 4])
    close_gates(model[3], [0, 2, 3, 15])
    # The 25 features of a channel must all be closed for it to go; of channel 4 one stays open.
    close_gates(model[8], [*range(25, 50), *range(100, 124)])
    close_gates(model[10], list(range(100)))
    close_gates(model[12], [7])
    small = same(model, torch.randn(3, 1, 28, 28))
    # 16 − 4 closed − 1 unread.
    assert widths(small) == [4, 11, 20, 83, 10]
    assert small[8].in_features == 11 * 25
    assert str(small[4]) == str(nn.BatchNorm2d(11))
    assert parameters(small) < parameters(model) / 4


def test_an_open_model_stays_as_it_is() -> None:
    model = spoilt(lenet(), 0.0, random.Random(1))
    assert widths(same(model, torch.randn(2, 1, 28, 28))) == [6, 16, 120, 84, 10]


def test_constants_move_on() -> None:
    """What closed units still say goes through activations and norms into the next bias."""
    model = nn.Sequential(
        *(gate(nn.Linear(3, 4), by="unit"), nn.BatchNorm1d(4), nn.Sigmoid()),
        *(nn.Linear(4, 5, bias=False), nn.Tanh(), nn.Linear(5, 2, bias=False)),
    )
    model = spoilt(model, 0.0, random.Random(2))
    close_gates(model[0], [0, 2])
    small = same(model, torch.randn(6, 3))
    assert widths(small) == [2, 5, 2]
    assert small[3].bias is not None, "where a constant goes"
    assert small[5].bias is None, "nothing came"


def test_constants_at_borders_become_one_channel() -> None:
    model = nn.Sequential(
        *(gate(nn.Conv2d(2, 6, 3), by="filter"), nn.Sigmoid()),
        *(nn.Conv2d(6, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1)),
    )
    model = spoilt(model, 0.0, random.Random(3))
    close_gates(model[0], [0, 2, 3])
    x = torch.randn(2, 2, 8, 8)
    assert widths(same(model, x)) == [4, 4, 2], "three open, and one for all the others"
    model[2].to(memory_format=torch.channels_last)
    assert widths(same(model, x)) == [4, 4, 2], "however weights lie in memory"
    model[2].padding_mode = "replicate"
    model[2]._reversed_padding_repeated_twice = [1, 1, 1, 1]
    assert widths(same(model, x)) == [3, 4, 2], "such borders keep constants"
    model[2].padding_mode, model[2].padding = "zeros", (0, 0)
    assert widths(same(model, x)) == [3, 4, 2], "without borders none is needed"
    model[2].padding = (1, 1)
    model[1] = nn.ReLU()
    model[0].bias.data.fill_(-1.0)
    assert widths(same(model, x)) == [3, 4, 2], "zeros are zeros everywhere"


def test_what_looks_at_all_units_keeps_them() -> None:
    for mixing in (nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.Softmax(1)):
        model = nn.Sequential(gate(nn.Linear(3, 4), by="unit"), mixing, nn.Linear(4, 2))
        close_gates(model[0], [1, 2])
        assert widths(same(model.eval(), torch.randn(5, 3))) == [4, 2]


def test_gates_on_norms_close_channels() -> None:
    norm = gate(nn.BatchNorm2d(5), by="unit")
    model = nn.Sequential(nn.Conv2d(1, 5, 3), norm, nn.ReLU(), nn.Conv2d(5, 2, 3))
    model = spoilt(model, 0.0, random.Random(4))
    close_gates(norm, [0, 3])
    small = same(model, torch.randn(2, 1, 8, 8))
    assert widths(small) == [3, 2]
    assert type(small[1]) is nn.BatchNorm2d and small[1].num_features == 3


def test_averages_over_borders() -> None:
    """Padded with zeros, the average of a constant is another number at the border."""
    for pool, left in (
        (nn.AvgPool2d(3, 1, 1), 3),
        (nn.AvgPool2d(2, divisor_override=3), 3),
        (nn.AvgPool2d(3, 1, 1, count_include_pad=False), 2),
        (nn.AvgPool2d(3, 2, ceil_mode=True), 2),
    ):
        model = nn.Sequential(
            *(gate(nn.Conv2d(1, 3, 3), by="filter"), nn.ReLU(), pool, nn.Flatten()),
            nn.LazyLinear(2),
        )
        x = torch.randn(2, 1, 8, 8)
        model(x)
        close_gates(model[0], [1])
        model[0].bias.data.fill_(1.0)
        assert widths(same(model.eval(), x)) == [left, 2]


@pytest.mark.parametrize("by", ["input", "unit", "element"])
def test_all_gates_of_a_layer_closed(by: str) -> None:
    for closed in (0, 2, 4):
        torch.manual_seed(0)
        layers = [nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)]
        model = spoilt(nn.Sequential(*layers), 0.0, random.Random(0))
        gate(model[closed], by=by).parametrizations.weight[0].log_alpha.data.fill_(-9.0)
        x = torch.randn(6, 3)
        small = same(model, x)
        # All is constant: one unit is the least that a layer can have.
        assert widths(small) == [1, 1, 2]
        assert torch.equal(small(x), small(x)[:1].expand(6, 2))


def test_shared_modules_and_names() -> None:
    torch.manual_seed(0)
    layer, act = gate(nn.Linear(4, 4)), nn.Tanh()
    close_gates(layer, [1])
    model = nn.Sequential()
    for k, module in enumerate([layer, act, layer, act, layer]):
        model.add_module(f"step{k}", module)
    small = same(model.eval(), torch.randn(3, 4))
    assert list(dict(small.named_children())) == ["step0", "step1", "step2", "step3", "step4"]
    assert widths(small) == [3, 3, 4]


def test_the_model_is_left_alone() -> None:
    model = lenet().train()
    before = copy.deepcopy(model.state_dict())
    states = torch.get_rng_state()
    compact(model)
    assert torch.equal(torch.get_rng_state(), states)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert parametrize.is_parametrized(model[0], "weight")
    assert model(torch.randn(2, 1, 28, 28)).shape == (2, 10)


def test_what_is_compacted_can_be_trained() -> None:
    small = compact(lenet().train()).train()
    optimizer = torch.optim.SGD(small.parameters(), lr=0.1)
    small(torch.randn(4, 1, 28, 28)).square().sum().backward()
    assert all(p.grad is not None for p in small.parameters())
    optimizer.step()


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x


class OwnLinear(nn.Linear):
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


class Branch(nn.Sequential):
    def forward(self, x: Any) -> Any:
        return x + super().forward(x)


def test_what_cannot_be_compacted_is_said() -> None:
    ends = nn.Linear(4, 4), nn.Linear(4, 4)
    for inner in (Doubled(), OwnLinear(4, 4), Branch(nn.Linear(4, 4)), nn.Unflatten(1, (2, 2))):
        name = type(inner).__name__
        with pytest.raises(ValueError, match=rf"^1 \({name}\) .*compact the nn.Sequential parts"):
            compact(nn.Sequential(ends[0], inner, ends[1]))
    with pytest.raises(ValueError, match="a Linear is no nn.Sequential"):
        compact(ends[0])
    with pytest.raises(ValueError, match="a Branch is no nn.Sequential"):
        compact(Branch(nn.Linear(4, 4)))
    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda *_: None)
    conv = nn.Conv2d(4, 4, 1)
    for chain, words in [
        ([nn.Sequential(hooked)], r"^0\.0 \(Linear\) has hooks"),
        ([nn.Conv2d(4, 4, 1, groups=2)], r"^0 \(Conv2d\) has groups"),
        ([conv, nn.Flatten(2)], "flattens some dimensions only"),
        ([conv, ends[0]], r"^1 \(Linear\) works on places.*nn.Flatten\(\) missing"),
        ([ends[0], nn.MaxPool1d(2)], r"^1 \(MaxPool1d\) works on features"),
        ([ends[0], nn.Flatten(), nn.Linear(8, 2)], "makes 8 features of 4"),
        ([conv, nn.Flatten(), nn.Linear(10, 2)], "makes 10 features of 4"),
        ([ends[0], nn.Linear(5, 2)], "takes 5 channels and gets 4"),
    ]:
        with pytest.raises(ValueError, match=words):
            compact(nn.Sequential(*chain))


def test_parts_of_other_models() -> None:
    """The remedy: inputs and outputs of a chain stay, so that it can be exchanged."""
    torch.manual_seed(0)
    branch = Branch(nn.Linear(4, 8), nn.ReLU(), gate(nn.Linear(8, 4))).eval()
    close_gates(branch[2], [0, 1, 2])
    x = torch.randn(3, 4)
    expected = branch(x)
    small = Branch(*compact(nn.Sequential(*branch)))
    assert math.isclose((small(x) - expected).abs().max().item(), 0, abs_tol=1e-6)
    assert widths(small) == [5, 4]

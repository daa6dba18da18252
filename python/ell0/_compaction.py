"""Smaller modules of PyTorch, without what closed gates leave out."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
# They map every number by itself; in evaluation mode dropout maps it to itself.
ELEMENTWISE = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.RReLU, nn.ELU, nn.CELU, nn.SELU, nn.GELU, nn.SiLU),
    *(nn.Mish, nn.Sigmoid, nn.LogSigmoid, nn.Tanh, nn.Tanhshrink, nn.Hardtanh, nn.Hardsigmoid),
    *(nn.Hardswish, nn.Hardshrink, nn.Softplus, nn.Softsign, nn.Softshrink, nn.Threshold),
    *(nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout),
)
# They map every channel by itself, with parameters of its own.
CHANNELWISE = (nn.BatchNorm1d, nn.BatchNorm2d, nn.PReLU)
POOLING = (
    *(nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveMaxPool1d, nn.AdaptiveAvgPool1d),
    *(nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveMaxPool2d, nn.AdaptiveAvgPool2d),
)
# Where they keep the number of channels or features that they take.
WIDTHS: dict[Any, str] = {
    **dict.fromkeys((nn.Conv1d, nn.Conv2d), "in_channels"),
    **dict.fromkeys((nn.BatchNorm1d, nn.BatchNorm2d), "num_features"),
    nn.Linear: "in_features",
    nn.PReLU: "num_parameters",
}
# They look at all channels, so that what comes before them stays.
MIXING = (nn.Softmax, nn.LogSoftmax, nn.LayerNorm, nn.GroupNorm)
KNOWN = (*LAYERS, *ELEMENTWISE, *CHANNELWISE, *POOLING, *MIXING, nn.Flatten)
REMEDY = (
    "compact the nn.Sequential parts around it one by one, and make gates in it permanent with"
    " torch.nn.utils.parametrize.remove_parametrizations in evaluation mode"
)


def compact(model: nn.Module) -> nn.Sequential:
    """A smaller, plain model with the same outputs in evaluation mode.

    Units and channels whose gates are closed are gone, on both sides: what nothing reads is not
    computed, and what is always the same is added to the biases of the next layer. Weights are
    multiplied by the gates of test time. Inputs and outputs of the whole model stay as they are.

    Parameters
    ----------
    model : nn.Sequential
        A chain, nested or not, of linear layers on (rows, features), convolutions in one or two
        dimensions, batch norms, activations, pooling, dropout and nn.Flatten. It is not changed.

    Returns
    -------
    nn.Sequential
        With the same names inside, in evaluation mode, without parametrisations.

    Notes
    -----
    A channel that is always the same differs at the border once a convolution pads it with zeros.
    Of all such channels one is kept, which stands for the others.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from ell0.torch import compact, gate
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), gate(nn.Linear(8, 2))).eval()
    >>> log_alpha = model[2].parametrizations.weight[0].log_alpha
    >>> _ = log_alpha.data.copy_(torch.tensor([[5.0, -5, -5, 5, -5, -5, -5, 5]]))
    >>> small = compact(model)
    >>> small[0]
    Linear(in_features=4, out_features=3, bias=True)
    >>> x = torch.randn(5, 4)
    >>> torch.allclose(small(x), model(x), atol=1e-6)
    True
    """
    if not _is_chain(model):
        raise ValueError(
            f"a {_kind(model).__name__} is no nn.Sequential: give its sequential parts"
        )
    with torch.no_grad():
        steps = [_Step(path, module) for path, module in _leaves(model)]
        _measure(steps)
        _fold_constants(steps)
        _drop_unread(steps)
        small = _rebuilt(model, iter(_shrunk(steps)))
    return small.eval()


def _kind(module: nn.Module) -> Any:
    """Its class, under any parametrisation."""
    return parametrize.type_before_parametrizations(module)


def _is_chain(module: nn.Module) -> bool:
    return isinstance(module, nn.Sequential) and _kind(module).forward is nn.Sequential.forward


def _leaves(model: nn.Module, path: str = "") -> Iterator[tuple[str, nn.Module]]:
    # A module may stand in a chain twice, which `named_children` would hide.
    for name, child in model._modules.items():
        if child is not None and _is_chain(child):
            yield from _leaves(child, f"{path}{name}.")
        elif child is not None:
            yield f"{path}{name}", child


def _rebuilt(model: nn.Module, leaves: Iterator[nn.Module]) -> nn.Sequential:
    """The chain again, nested as it was, with other leaves."""
    children = ((name, child) for name, child in model._modules.items() if child is not None)
    made = [(n, _rebuilt(c, leaves) if _is_chain(c) else next(leaves)) for n, c in children]
    return nn.Sequential(OrderedDict(made))


def _plain(module: nn.Module) -> Any:
    """A copy in evaluation mode, its gates of test time multiplied into the weights."""
    still: Any = copy.deepcopy(module).eval()
    if parametrize.is_parametrized(still):
        made = {name: getattr(still, name) for name in still.parametrizations}
        # Copies share the class that PyTorch makes for a parametrised module, and its way to
        # remove parametrisations would change that class, and so the original, too.
        still.__class__ = _kind(still)
        del still.parametrizations
        for name, tensor in made.items():
            setattr(still, name, nn.Parameter(tensor))
    return still


class _Step:
    """A module of the chain, made plain."""

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path, self.kind = path, _kind(module)
        if self.kind not in KNOWN:
            self.refuse("is of a kind that compact does not know")
        if module._forward_hooks or module._forward_pre_hooks:
            self.refuse("has hooks, which would be lost")
        self.module = _plain(module)
        if getattr(self.module, "groups", 1) != 1:
            self.refuse("has groups")
        if self.kind is nn.Flatten and (self.module.start_dim, self.module.end_dim) != (1, -1):
            self.refuse("flattens some dimensions only, unlike nn.Flatten()")
        # How many features a channel becomes; only nn.Flatten changes it.
        self.spread = 1
        if self.is_layer:
            # Constants are added up in double precision, and rounded once.
            weight: Tensor = self.module.weight.to("cpu", torch.float64, copy=True)
            self.weight = weight.contiguous()  # its views are written to
            self.bias = torch.zeros(len(weight), dtype=torch.float64)
            if self.module.bias is not None:
                self.bias += self.module.bias.cpu()
            self.kept = torch.ones(len(weight), dtype=torch.bool)

    def refuse(self, why: str) -> None:
        raise ValueError(f"{self.path} ({self.kind.__name__}) {why}: {REMEDY}")

    @property
    def is_layer(self) -> bool:
        return self.kind in LAYERS

    @property
    def width(self) -> int | None:
        """How many channels or features must come in, if it matters."""
        size = getattr(self.module, WIDTHS[self.kind]) if self.kind in WIDTHS else None
        return None if self.kind is nn.PReLU and size == 1 else size

    @property
    def pads_zeros(self) -> bool:
        """Whether a channel that is the same everywhere is not so at the border."""
        m = self.module
        if self.kind in (nn.AvgPool1d, nn.AvgPool2d):
            border = m.count_include_pad and torch.tensor(m.padding).any()
            return bool(border) or getattr(m, "divisor_override", None) is not None
        if self.kind in (nn.Conv1d, nn.Conv2d) and m.padding_mode == "zeros":
            return m.padding != "valid" and (m.padding == "same" or any(m.padding))
        return False


def _measure(steps: list[_Step]) -> None:
    """Finds how many features each channel becomes where it is flattened; all must fit."""
    width, images = 0, False
    for k, step in enumerate(steps):
        if width and step.kind is nn.Flatten:
            after = next((s.width for s in steps[k + 1 :] if s.width), width)
            step.spread = after // width
            if after % width or (step.spread > 1 and not images):
                step.refuse(
                    f"makes {after} features of {width}, of which compact cannot keep track"
                )
            width, images = after, False
        elif width:
            if (step.kind in POOLING or step.kind in LAYERS[1:]) and not images:
                step.refuse("works on features as if they were places")
            if step.kind is nn.Linear and images:
                step.refuse("works on places, not on channels; is nn.Flatten() missing?")
            if step.width not in (None, width):
                step.refuse(f"takes {step.width} channels and gets {width}")
        if step.is_layer:
            width, images = len(step.weight), step.kind is not nn.Linear


def _fold_constants(steps: list[_Step]) -> None:
    """Adds what is always the same to the biases that come next."""
    known = value = None
    for step in steps:
        if step.is_layer:
            if known is not None and value is not None:
                _fold(step, known, value)
            # Without weights, only the bias is left.
            known, value = (step.weight == 0).flatten(1).all(1), step.bias
        elif known is not None and value is not None:
            known, value = _through(step, known, value)


def _fold(layer: _Step, known: Tensor, value: Tensor) -> None:
    constant = torch.where(known, value, 0)
    by_channel = layer.weight.flatten(2) if layer.weight.dim() > 2 else layer.weight[..., None]
    if not layer.pads_zeros:
        layer.bias += by_channel.sum(2) @ constant
    elif constant.any():
        # What one constant channel gives through all their weights is what they give together.
        # The largest makes the smallest quotients.
        one = int(constant.abs().argmax())
        by_channel[:, one] = torch.einsum("oik,i->ok", by_channel, constant / constant[one])
        known = known.clone()
        known[one] = False
    by_channel[:, known] = 0


def _through(step: _Step, known: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """What constants become in a module between two layers."""
    if step.kind is nn.Flatten:
        return known.repeat_interleave(step.spread), value.repeat_interleave(step.spread)
    if step.kind in MIXING:
        return torch.zeros_like(known), value
    if step.kind in POOLING:
        return (known & (value == 0) if step.pads_zeros else known), value
    if getattr(step.module, "affine", False):
        known = known | (step.module.weight == 0).cpu()
    # Two rows, for batch norms that look at the batch.
    rows = value.repeat(2, 1)
    if step.kind is nn.BatchNorm2d:
        rows = rows[..., None, None]
    value = copy.deepcopy(step.module).to("cpu", torch.float64)(rows)[0].flatten()
    return known, value


def _drop_unread(steps: list[_Step]) -> None:
    """Finds, from the end, which units and channels anything reads."""
    read: Tensor | None = None
    for step in reversed(steps):
        if step.is_layer:
            if read is not None:
                step.kept = read
            if not step.kept.any():
                # A layer without units is no module: one stays, and reads nothing.
                step.kept[0] = True
                step.weight[0] = 0
            read = (step.weight[step.kept] != 0).transpose(0, 1).flatten(1).any(1)
        elif step.kind in MIXING:
            read = None
        elif read is not None:
            read = read.view(-1, step.spread).any(1)


def _shrunk(steps: list[_Step]) -> Iterator[nn.Module]:
    """The modules, with the channels only that are kept."""
    kept: Tensor | None = None
    for step in steps:
        m = step.module
        if step.is_layer:
            weight, bias = step.weight[step.kept], step.bias[step.kept]
            weight = weight if kept is None else weight[:, kept]
            if m.bias is not None or bias.any():
                m.bias = nn.Parameter(bias.to(m.weight))
            m.weight = nn.Parameter(weight.to(m.weight))
            setattr(m, WIDTHS[step.kind], weight.shape[1])
            setattr(m, WIDTHS[step.kind].replace("in", "out"), weight.shape[0])
            kept = step.kept
        elif kept is not None:
            kept = kept.repeat_interleave(step.spread)
            if step.width is not None:
                _select(m, kept)
                setattr(m, WIDTHS[step.kind], int(kept.sum()))
        yield m


def _select(module: nn.Module, kept: Tensor) -> None:
    """Keeps some channels of everything that has a number for each."""
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.dim():
            chosen = tensor[kept.to(tensor.device)]
            is_parameter = isinstance(tensor, nn.Parameter)
            setattr(module, name, nn.Parameter(chosen) if is_parameter else chosen)

"""Hard-concrete gates on the weights of PyTorch's modules, what they cost, and smaller modules."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ._compaction import compact
from ._hard_concrete import HardConcrete, require

__all__ = [
    "HardConcrete",
    "LayerGates",
    "compact",
    "expected_l0",
    "free_energy",
    "gate",
    "gate_all",
    "gates",
    "penalty",
]

M = TypeVar("M", bound=nn.Module)


def _shape(module: nn.Module, name: str, by: str) -> list[int]:
    """The shape of the gates, which broadcasts to that of the tensor."""
    kind = parametrize.type_before_parametrizations(module).__name__
    if parametrize.is_parametrized(module, name):
        raise ValueError(f"{name} of {kind} is parametrised already: gates come first, and once")
    there = dict(module.named_parameters(recurse=False))
    if name not in there:
        has = ", ".join(there) or "none: gate_all puts gates on the layers inside"
        raise ValueError(f"{kind} has no parameter {name!r}; it has {has}")
    if isinstance(module, nn.RNNBase):
        raise ValueError(f"{kind} reads its weights past any gates: use its cell, nn.{kind}Cell")
    if isinstance(there[name], nn.parameter.UninitializedParameter):
        raise ValueError(f"{name} of {kind} has no shape yet: run a batch through the model first")
    shape = list(there[name].shape)
    outputs, inputs = (1, 0) if isinstance(module, nn.modules.conv._ConvTransposeNd) else (0, 1)
    kept = {"unit": outputs, "filter": outputs, "input": inputs, "element": None}
    if by not in kept:
        raise ValueError(f"by = {by!r}: a gate stands for one of {', '.join(map(repr, kept))}")
    dim = kept[by]
    if dim is None:
        return shape
    if dim >= len(shape):
        raise ValueError(f"{name} of {kind} has shape {tuple(shape)}: gate it by 'element'")
    if dim == 1 and getattr(module, "groups", 1) > 1:
        raise ValueError(f"{kind} has groups, which share no {by}s: gate it by another dimension")
    return [size if k == dim else 1 for k, size in enumerate(shape)]


def gate(module: M, name: str = "weight", by: str = "input", **settings: Any) -> M:
    """Puts gates on a parameter of a module, in place.

    The weights stay parameters of the module, beside the new `log_alpha`: make optimizers after
    this. Models are saved by their `state_dict`, as PyTorch asks of parametrised ones.
    Inside of ``torch.nn.utils.parametrize.cached()`` everything shares one draw of the gates.

    Parameters
    ----------
    module : Module
        Any module with a parameter of that name.
    name : str, default="weight"
        Of the parameter.
    by : {"input", "unit", "filter", "element"}, default="input"
        What has a gate: an input (unit or channel), an output ("filter" is another word for it),
        or each number. An output that is closed still has its bias.
    **settings
        Those of `HardConcrete`: price, decay, drop rate, temperature, limits, generator.

    Returns
    -------
    Module
        The module itself.

    Examples
    --------
    >>> import torch
    >>> from ell0.torch import expected_l0, gate, gates
    >>> layer = gate(torch.nn.Linear(4, 3), generator=torch.Generator().manual_seed(0))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original', 'parametrizations.weight.0.log_alpha']
    >>> round(expected_l0(layer).item(), 1)
    10.0
    >>> gates(layer)
    [LayerGates(name='weight', by='input', open=4, total=4, parameters=12)]
    """
    shape = _shape(module, name, by)
    z = HardConcrete(shape, by=by, like=getattr(module, name), **settings)
    # The safe way would draw gates, only to look at their shape.
    parametrize.register_parametrization(module, name, z, unsafe=True)
    return module


def gate_all(model: M, by: str = "input", *, skip: Collection[str] = (), **settings: Any) -> M:
    """Puts gates on the weights of all linear and convolutional layers, in place.

    Parameters
    ----------
    model : Module
        The model.
    by : str, default="input"
        As in `gate`. Not every layer suits: the outputs of the last one are the answer, and should
        be skipped where units have gates.
    skip : collection of str
        Names of layers without gates, as in ``model.named_modules()``.
    **settings
        As in `gate`.

    Returns
    -------
    Module
        The model itself.
    """
    kinds = (nn.Linear, nn.modules.conv._ConvNd)
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, kinds)}
    for name in skip:
        require(name in layers, "skip", name, f"the layers are {', '.join(layers) or 'none'}")
    chosen = [layer for name, layer in layers.items() if name not in skip]
    if not chosen:
        raise ValueError(f"{type(model).__name__} has no linear or convolutional layer to gate")
    # All are looked at before the first is changed.
    for layer in chosen:
        _shape(layer, "weight", by)
    for layer in chosen:
        gate(layer, by=by, **settings)
    return model


class _Gated(NamedTuple):
    """A tensor with gates, and the module that it belongs to."""

    name: str
    module: nn.Module
    behind: Tensor
    z: HardConcrete

    @property
    def each(self) -> int:
        """Parameters behind each gate."""
        return int(self.behind.numel() // max(1, self.z.log_alpha.numel()))


def _gated(model: nn.Module) -> list[_Gated]:
    there = []
    for path, module in model.named_modules():
        lists: dict[str, Any] = getattr(module, "parametrizations", {})
        for name, steps in lists.items():
            if isinstance(steps[0], HardConcrete):
                there.append(_Gated(f"{path}.{name}".lstrip("."), module, steps.original, steps[0]))
    if not there:
        raise ValueError(f"{type(model).__name__} has no gates: gate and gate_all put them there")
    return there


def expected_l0(model: nn.Module, *, weighted: bool = True) -> Tensor:
    """Σ λ·P(z ≠ 0)·(parameters behind the gate): the expected price of what is open.

    Parameters
    ----------
    model : Module
        A model with gates.
    weighted : bool, default=True
        Whether each layer counts by its own λ; the expected number of parameters, if not.

    Returns
    -------
    Tensor
        A scalar with a gradient.
    """
    prices = (
        g.each * (g.z.lambda_ if weighted else 1.0) * g.z.prob_active() for g in _gated(model)
    )
    return torch.stack([price.sum() for price in prices]).sum()


def penalty(model: nn.Module) -> Tensor:
    """The expected L0 and the weight decay inside the gates: what is added to the error.

    See Also
    --------
    expected_l0 : its first part.
    """
    total = expected_l0(model)
    for name, module, behind, z in _gated(model):
        decay = (z.prob_active() * behind**2).sum()
        # Biases decay without a gate.
        bias = dict(module.named_parameters(recurse=False)).get("bias")
        if bias is not None and name.endswith("weight"):
            decay = decay + (bias**2).sum()
        total = total + z.weight_decay / 2 * decay
    return total


def free_energy(model: nn.Module, prior: float = 0.1, scale: float = 1.0) -> Tensor:
    """The penalty and scale·Σ KL(Bern(P(z ≠ 0)) ‖ Bern(prior)).

    With it the probabilities P(z ≠ 0) are those that a gate belongs, given the data.

    Parameters
    ----------
    model : Module
        A model with gates.
    prior : float, default=0.1
        Probability that a gate is active, before data are seen.
    scale : float, default=1.0
        1 where the error is a negative log-likelihood, 1/N where it is its mean over N rows.
    """
    require(0 < prior < 1, "prior", prior, "it must lie strictly between 0 and 1, such as 0.1")
    require(0 <= scale < math.inf, "scale", scale, "it must be finite and not negative")
    kl = torch.stack([g.z.divergence(prior) for g in _gated(model)]).sum()
    return penalty(model) + scale * kl


class LayerGates(NamedTuple):
    """Gates of a tensor at test time."""

    name: str
    by: str
    open: int
    total: int
    parameters: int
    """Parameters behind open gates."""


def gates(model: nn.Module) -> list[LayerGates]:
    """How many gates are open at test time, tensor by tensor."""
    rows = []
    for g in _gated(model):
        still = int(torch.count_nonzero(g.z.test_gate()))
        rows.append(LayerGates(g.name, g.z.by, still, g.z.log_alpha.numel(), still * g.each))
    return rows

"""The hard-concrete distribution as a parametrisation of PyTorch's tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn


def require(right: bool, name: str, value: object, what: str) -> None:
    if not right:
        raise ValueError(f"{name} = {value}: {what}")


class HardConcrete(nn.Module):
    """Gates z on a tensor w, as a parametrisation of it: w becomes z ⊙ w.

    A gate is a uniform number u made into one that can be exactly 0 and still has a gradient::

        s = σ((logit u + log α)/β),   z = min(1, max(0, s (ζ − γ) + γ))

    In training mode gates are drawn whenever the tensor is read, which the layers of PyTorch do
    once in a forward pass: all rows of the batch share the draw. In evaluation mode they are
    min(1, max(0, σ(log α)(ζ − γ) + γ)). `gate` puts them in place.

    Parameters
    ----------
    shape : sequence of int
        Shape of the gates; it must broadcast to that of the tensor.
    by : str, default="element"
        What a gate stands for; only shown.
    lambda_ : float, default=1.0
        Price λ of a parameter behind an active gate.
    weight_decay : float, default=0.0
        Decay inside the gate: P(z ≠ 0)·½·decay·w² for each weight, ½·decay·b² for biases beside it.
    drop_rate : float, default=0.5
        Initial d, log α ~ N(log((1 − d)/d), 0.01²).
    beta : float, default=2/3
        Temperature β: small is nearly binary.
    gamma, zeta : float, default=-0.1 and 1.1
        Stretch limits, γ < 0 and ζ > 1.
    generator : torch.Generator, optional
        Where randomness comes from; layers may share it. PyTorch's own, if there is none.
    like : Tensor, optional
        Has the device and the precision that `log_alpha` shall have.

    Attributes
    ----------
    log_alpha : Parameter
        Locations of the gates, which are learned.

    Examples
    --------
    >>> import torch
    >>> from ell0.torch import HardConcrete
    >>> z = HardConcrete([3])
    >>> _ = z.log_alpha.data.copy_(torch.tensor([-4.0, 0.0, 4.0]))
    >>> z.test_gate().tolist()
    [0.0, 0.5, 1.0]
    >>> [round(p, 4) for p in z.prob_active().tolist()]
    [0.0831, 0.8318, 0.9963]
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        by: str = "element",
        lambda_: float = 1.0,
        weight_decay: float = 0.0,
        drop_rate: float = 0.5,
        beta: float = 2 / 3,
        gamma: float = -0.1,
        zeta: float = 1.1,
        generator: torch.Generator | None = None,
        like: Tensor | None = None,
    ) -> None:
        # The ranges are those of the engine.
        for name, value in (("lambda_", lambda_), ("weight_decay", weight_decay)):
            require(0 <= value < math.inf, name, value, "it must be finite and not negative")
        require(0 < drop_rate < 1, "drop_rate", drop_rate, "it must lie strictly between 0 and 1")
        require(1e-3 <= beta <= 1e3, "beta", beta, "the temperature must lie in [0.001, 1000]")
        limit = "stretch limit must lie in"
        require(-1e6 <= gamma <= -1e-6, "gamma", gamma, f"the lower {limit} [-1e6, -1e-6]")
        require(1 + 1e-6 <= zeta <= 1e6, "zeta", zeta, f"the upper {limit} [1.000001, 1e6]")
        super().__init__()
        self.by, self.lambda_, self.weight_decay = by, lambda_, weight_decay
        self.beta, self.gamma, self.zeta = beta, gamma, zeta
        self.generator = generator
        like = torch.empty(0) if like is None else like
        # log α ~ N(log((1 − d)/d), 0.01²), as published.
        centre = math.log((1 - drop_rate) / drop_rate)
        draw = torch.randn(
            *shape, generator=generator, device=generator.device if generator else like.device
        )
        self.log_alpha = nn.Parameter((centre + 0.01 * draw).to(like))

    def extra_repr(self) -> str:
        """What `print` shows of it."""
        return f"{self.log_alpha.numel()} gates, by={self.by!r}, lambda_={self.lambda_:g}"

    def _rectify(self, s: Tensor) -> Tensor:
        return (s * (self.zeta - self.gamma) + self.gamma).clamp(0, 1)

    def _logit_above(self, t: float) -> Tensor:
        """The logit of P(z > t), log α − β log((t − γ)/(ζ − t)), for 0 ≤ t < 1."""
        return self.log_alpha - self.beta * math.log((t - self.gamma) / (self.zeta - t))

    def noise(self) -> Tensor:
        """Uniform numbers, one for each gate."""
        at = self.log_alpha
        u = torch.rand(
            at.shape,
            generator=self.generator,
            device=self.generator.device if self.generator else at.device,
            # In half precision 0 would be drawn every few thousand times.
            dtype=torch.promote_types(at.dtype, torch.float32),
        )
        return u.to(at.device)

    def sample(self, u: Tensor) -> Tensor:
        """The gates that the uniform numbers `u` make."""
        # Away from 0 and 1 the logit is finite.
        x = torch.logit(u, eps=torch.finfo(u.dtype).eps) + self.log_alpha
        return self._rectify(torch.sigmoid(x / self.beta))

    def test_gate(self) -> Tensor:
        """The gates at test time."""
        return self._rectify(torch.sigmoid(self.log_alpha))

    def prob_active(self) -> Tensor:
        """P(z ≠ 0) = σ(log α − β log(−γ/ζ))."""
        return torch.sigmoid(self._logit_above(0))

    def moments(self) -> tuple[Tensor, Tensor]:
        """E[z] = ∫₀¹ P(z > t) dt and Var[z] = ∫₀¹ 2t P(z > t) dt − E[z]².

        By 24 nodes, which at usual β, γ and ζ leaves only rounding.
        """
        mean, square = torch.zeros_like(self.log_alpha), torch.zeros_like(self.log_alpha)
        for x, weight in zip(*np.polynomial.legendre.leggauss(24), strict=True):
            t = (1 + float(x)) / 2
            above = torch.sigmoid(self._logit_above(t)) * float(weight) / 2
            mean, square = mean + above, square + 2 * t * above
        return mean, square - mean**2

    def divergence(self, prior: float) -> Tensor:
        """Σ KL(Bern(P(z ≠ 0)) ‖ Bern(prior)), without cancellation."""
        x, log_sigmoid = self._logit_above(0), nn.functional.logsigmoid
        active = torch.sigmoid(x) * (log_sigmoid(x) - math.log(prior))
        closed = torch.sigmoid(-x) * (log_sigmoid(-x) - math.log1p(-prior))
        return (active + closed).sum()

    def forward(self, w: Tensor) -> Tensor:
        """The tensor behind its gates."""
        z = self.sample(self.noise()) if self.training else self.test_gate()
        return w * z.to(w.dtype)

"""The last layer: what it says, what that costs, and the slope of the cost by the values before the activation.

All four pair an activation with the loss whose slope is then prediction minus truth.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Head(ABC):
    """An output layer with its loss."""

    @abstractmethod
    def slope(self, torch: Any, z: Any, truth: Any, weight: Any) -> float:
        """Return the sum of weighted losses, and put their slopes in place of z.

        Parameters
        ----------
        torch : module
            PyTorch.
        z : tensor of shape (m, k)
            Values before the activation.
        truth : tensor
            Targets of shape (m, k), or numbers of classes of shape (m, 1).
        weight : tensor of shape (m, 1) or None
            Weights of the rows.
        """

    @abstractmethod
    def null_loss(self, truth: Any, share: Any) -> float:
        """Return the weighted mean loss of the best constant; ``truth`` (n, k) and ``share`` (n,) are arrays."""


def _weighed(torch: Any, slopes: Any, losses: Any, weight: Any) -> float:
    """Weigh slopes in place; return the weighted sum of losses."""
    if weight is None:
        return float(losses.sum())
    slopes.mul_(weight)
    return float(torch.mul(losses, weight).sum())


class Squared(Head):
    """Numbers as they are; half the squared error, summed over the outputs."""

    def slope(self, torch: Any, z: Any, truth: Any, weight: Any) -> float:
        """Put z - y in place of z."""
        z.sub_(truth)
        if weight is None:
            flat = z.view(-1)
            return 0.5 * float(torch.dot(flat, flat))
        losses = z.square()
        return 0.5 * _weighed(torch, z, losses, weight)

    def null_loss(self, truth: Any, share: Any) -> float:
        """Return half the variance."""
        return float(0.5 * np.sum(share @ (truth - share @ truth) ** 2))


class Poisson(Head):
    """Rates exp(z); half the Poisson deviance, summed over the outputs."""

    def slope(self, torch: Any, z: Any, truth: Any, weight: Any) -> float:
        """Put exp(z) - y in place of z."""
        losses = torch.xlogy(truth, truth).sub_(truth).addcmul_(truth, z, value=-1)
        z.exp_()
        losses.add_(z)
        z.sub_(truth)
        return _weighed(torch, z, losses, weight)

    def null_loss(self, truth: Any, share: Any) -> float:
        """Return half the deviance from the mean."""
        mean = share @ truth
        ratio = np.where(truth > 0, truth, 1.0) / np.where(mean > 0, mean, 1.0)
        return float(np.sum(share @ (truth * np.log(ratio))))


class Logistic(Head):
    """Probabilities of one label, or of several that do not exclude each other; cross-entropy, summed over them."""

    def slope(self, torch: Any, z: Any, truth: Any, weight: Any) -> float:
        """Put σ(z) - y in place of z; the loss is -log σ(±z)."""
        losses = torch.nn.functional.logsigmoid(torch.mul(z, truth.mul(2.0).sub_(1.0))).neg_()
        z.sigmoid_()
        z.sub_(truth)
        return _weighed(torch, z, losses, weight)

    def null_loss(self, truth: Any, share: Any) -> float:
        """Return the entropy of each label."""
        p = share @ truth
        return float(sum(-q * math.log(q) for one in p for q in (one, 1 - one) if q > 0))


class Softmax(Head):
    """Probabilities of classes that exclude each other; cross-entropy. Targets are numbers of classes."""

    def slope(self, torch: Any, z: Any, truth: Any, weight: Any) -> float:
        """Put p - e_y in place of z."""
        logs = torch.log_softmax(z, 1)
        losses = logs.gather(1, truth).neg_()
        torch.exp(logs, out=z)
        z.scatter_add_(1, truth, torch.full_like(losses, -1.0))
        return _weighed(torch, z, losses, weight)

    def null_loss(self, truth: Any, share: Any) -> float:
        """Return the entropy of the classes."""
        p = np.bincount(truth[:, 0].astype(np.intp), share)
        return float(-sum(q * math.log(q) for q in p.tolist() if q > 0))


HEADS: dict[str, Head] = {"identity": Squared(), "exp": Poisson(), "logistic": Logistic(), "softmax": Softmax()}

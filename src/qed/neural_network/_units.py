"""Activations of hidden units and their derivatives, in place, from the values that came out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Unit(ABC):
    """An activation φ whose derivative is known from its value a = φ(z)."""

    @abstractmethod
    def forward(self, torch: Any, z: Any) -> None:
        """Put φ(z) in place of z."""

    @abstractmethod
    def backward(self, torch: Any, a: Any, delta: Any, spare: Any) -> None:
        """Multiply ``delta`` by φ'(z); ``spare`` is a tensor of its shape that nobody needs."""


class Identity(Unit):
    """φ(z) = z."""

    def forward(self, torch: Any, z: Any) -> None:
        """Leave z as it is."""

    def backward(self, torch: Any, a: Any, delta: Any, spare: Any) -> None:
        """Leave the slopes as they are."""


class Relu(Unit):
    """φ(z) = max(z, 0), with φ'(0) = 0."""

    def forward(self, torch: Any, z: Any) -> None:  # noqa: ARG002
        """Cut what is negative."""
        z.relu_()

    def backward(self, torch: Any, a: Any, delta: Any, spare: Any) -> None:
        """Keep the slopes of units that are on: the sign of a is 0 or 1."""
        delta.mul_(torch.sign(a, out=spare))


class Tanh(Unit):
    """φ(z) = tanh z, φ' = 1 - a²."""

    def forward(self, torch: Any, z: Any) -> None:  # noqa: ARG002
        """Take the hyperbolic tangent."""
        z.tanh_()

    def backward(self, torch: Any, a: Any, delta: Any, spare: Any) -> None:
        """Subtract delta a² from delta."""
        delta.addcmul_(delta, torch.mul(a, a, out=spare), value=-1)


class Logistic(Unit):
    """φ(z) = 1 / (1 + exp(-z)), φ' = a (1 - a)."""

    def forward(self, torch: Any, z: Any) -> None:  # noqa: ARG002
        """Take the sigmoid."""
        z.sigmoid_()

    def backward(self, torch: Any, a: Any, delta: Any, spare: Any) -> None:
        """Multiply by a - a²."""
        torch.mul(a, a, out=spare)
        delta.mul_(torch.sub(a, spare, out=spare))


UNITS: dict[str, Unit] = {"identity": Identity(), "relu": Relu(), "tanh": Tanh(), "logistic": Logistic()}

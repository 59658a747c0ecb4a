"""Rules that turn a gradient into a step, on one vector of all parameters, and what they remember."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core._records import expect, expect_array, record

if TYPE_CHECKING:
    from numpy.typing import NDArray


TINY_RATE = 1e-6  # below which shorter steps lead nowhere


@record("network-memory")
class Memory:
    """What ``partial_fit`` goes on from, beside the parameters themselves.

    Attributes
    ----------
    first, second : ndarray
        Running means of gradients and of their squares; of ``sgd`` the velocity, and nothing.
    steps : int
        Steps taken.
    rate : float
        Length of the next step.
    """

    first: NDArray[np.floating[Any]]
    second: NDArray[np.floating[Any]]
    steps: int
    rate: float

    def check(self) -> None:
        """Refuse what no course leaves."""
        expect_array(self.first, "the memory of a network", shape=(None,), finite=True)
        expect_array(self.second, "the memory of a network", shape=(None,), finite=True)
        expect(len(self.second) in (0, len(self.first)), "the memory of a network has parts of different lengths")
        expect(not np.any(self.second < 0), "the memory of a network holds a negative square")
        expect(self.steps >= 0 and self.rate > 0, "the memory of a network holds a negative count or rate")


class Steps(ABC):
    """A rule of steps."""

    rate: float
    steps: int

    @abstractmethod
    def step(self, theta: Any, gradient: Any) -> None:
        """Move the parameters, in place."""

    @abstractmethod
    def memory(self) -> Memory:
        """Return what is to be remembered."""

    def pass_ends(self, shown: int) -> None:  # noqa: B027  (most rules have no clock)
        """Take note that so many rows have been shown in all."""

    def slower(self) -> bool:
        """Shorten the steps, progress having ended; False if that is no use."""
        return False


class Adam(Steps):
    """Running means of gradients, divided by the roots of those of their squares."""

    def __init__(
        self, torch: Any, theta: Any, rate: float, decay: tuple[float, float], epsilon: float, memory: Memory | None
    ) -> None:
        self.torch, self.rate, self.decay, self.epsilon = torch, rate, decay, epsilon
        self.steps = 0 if memory is None else memory.steps
        self.first, self.second, self.spare = (torch.zeros_like(theta) for _ in range(3))
        if memory is not None:
            self.first.copy_(torch.tensor(memory.first))
            self.second.copy_(torch.tensor(memory.second))

    def step(self, theta: Any, gradient: Any) -> None:
        """Move by the mean over the root mean square, both freed of their start at zero."""
        self.steps += 1
        first, second = self.decay
        self.first.lerp_(gradient, 1 - first)
        self.second.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        length = self.rate * math.sqrt(1 - second**self.steps) / (1 - first**self.steps)
        self.torch.sqrt(self.second, out=self.spare).add_(self.epsilon)
        theta.addcdiv_(self.first, self.spare, value=-length)

    def memory(self) -> Memory:
        """Return both running means."""
        return Memory(self.first.numpy().copy(), self.second.numpy().copy(), self.steps, self.rate)


class Momentum(Steps):
    """Steps down the gradient that keep some of their speed.

    Parameters
    ----------
    torch : module
        PyTorch.
    theta : tensor
        The parameters.
    rate : float
        Length of a step.
    schedule : {"constant", "invscaling", "adaptive"}
        How steps become shorter.
    power : float
        How fast, with "invscaling".
    momentum : float
        Share of the speed that is kept.
    nesterov : bool
        Whether the speed moves the parameters before the gradient does.
    memory : Memory or None
        From which to go on.
    """

    def __init__(
        self,
        torch: Any,
        theta: Any,
        rate: float,
        schedule: Literal["constant", "invscaling", "adaptive"],
        power: float,
        momentum: float,
        nesterov: bool,
        memory: Memory | None,
    ) -> None:
        self.first_rate, self.schedule, self.power = rate, schedule, power
        self.momentum, self.nesterov = momentum, nesterov
        self.rate = rate if memory is None else memory.rate
        self.steps = 0 if memory is None else memory.steps
        self.velocity = torch.zeros_like(theta)
        if memory is not None:
            self.velocity.copy_(torch.tensor(memory.first))

    def step(self, theta: Any, gradient: Any) -> None:
        """Move with the speed of before, turned towards the slope."""
        self.steps += 1
        self.velocity.mul_(self.momentum).add_(gradient, alpha=-self.rate)
        if self.nesterov:
            theta.add_(self.velocity, alpha=self.momentum).add_(gradient, alpha=-self.rate)
        else:
            theta.add_(self.velocity)

    def pass_ends(self, shown: int) -> None:
        """Shorten the steps by the clock."""
        if self.schedule == "invscaling":
            self.rate = self.first_rate / (shown + 1) ** self.power

    def slower(self) -> bool:
        """Make steps five times shorter, until they are tiny."""
        if self.schedule != "adaptive" or self.rate <= TINY_RATE:
            return False
        self.rate /= 5
        return True

    def memory(self) -> Memory:
        """Return the velocity."""
        return Memory(self.velocity.numpy().copy(), np.zeros(0, self.velocity.numpy().dtype), self.steps, self.rate)

"""The answer of an optimiser: a point, what is proved of it, how the run ended and what it saw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qed.certificates import Certificate
    from qed.optimize._evaluate import Calls
    from qed.optimize._function import Vector
    from qed.optimize._trace import Trace


@dataclass(frozen=True, eq=False)
class OptimizationResult:
    """Where an optimiser ended.

    Attributes
    ----------
    point : ndarray of shape (p,)
        The answer; always finite.
    value : float
        The function there.
    outcome : str
        ``"solved"``: the gradient (or the gap) is as small as was asked. ``"settled"``: the value stopped changing, which
        proves nothing. ``"max_iter"``: the budget is spent. ``"patience"``: the validation score stopped falling.
        ``"stalled"``: rounding allows no further progress. ``"diverged"``: values grew or left the range of numbers; the
        point is the best one before. ``"stopped"``: a callback asked. ``"interrupted"``: Ctrl-C.
    reason : str
        The same, in a sentence with its numbers.
    n_iter : int
        Iterations taken.
    certificate : Certificate
        What is proved of the point.
    trace : Trace
        Values, gradients and steps on the way.
    calls : Calls
        How often the function was asked.
    advice : tuple of str
        What would help, in words; empty when all is well.
    multipliers : dict of str to ndarray
        Prices of constraints, where there are any.
    """

    point: Vector
    value: float
    outcome: str
    reason: str
    n_iter: int
    certificate: Certificate
    trace: Trace = field(repr=False)
    calls: Calls = field(repr=False)
    advice: tuple[str, ...] = ()
    multipliers: dict[str, Vector] = field(default_factory=dict)

    @property
    def is_solved(self) -> bool:
        """Whether what was asked for was reached."""
        return self.outcome == "solved"

    def __str__(self) -> str:
        with np.printoptions(precision=6, threshold=8):
            lines = [f"{self.outcome}: {self.reason}", f"  value {self.value:.8g} at {self.point}"]
        lines += [f"  {line}" for line in str(self.certificate).splitlines()]
        return "\n".join([*lines, *(f"  advice: {words}" for words in self.advice)])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; ``result`` holds what it had reached.

    Parameters
    ----------
    result : OptimizationResult
        The answer so far, with its certificate and its trace.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted; the answer so far is the result of this exception")
        self.result = result

r"""Atoms learnt from batches of rows (Mairal and others 2009).

Codes of a batch are found for the atoms there are; their products U'U and U'x join running sums, in which older batches fade, and
each atom moves to the best place for these. It is used for rows, and for columns (sparse PCA).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._events import STOP, Progress
from qed.decomposition import _kernels
from qed.decomposition._dictionary import MOST_SWEEPS, Rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.core import Array


@dataclass(eq=False)
class Running:
    """Atoms, and sums over batches."""

    D: Array  # (k, p) atoms
    A: Array  # (k, k) sums of U'U, older ones faded
    B: Array  # (k, p) sums of U'x
    steps: int = 0

    def step(self, rules: Rules, x: Array, batch_size: int, rng: Any) -> float:
        """Take a batch in; return the objective of one of its rows before the atoms move."""
        squares = np.einsum("ij,ij->i", x, x)
        U = np.zeros((len(x), len(self.D)))
        cost = rules.lower_codes(x, self.D, U, squares, MOST_SWEEPS) / len(x)
        t, b = self.steps, batch_size
        seen = (t + 1) * b if t < b - 1 else b * b + t + 1 - b
        fade = (seen + 1 - b) / (seen + 1)
        self.A = fade * self.A + _kernels.adjoint(U, U) / len(x)
        self.B = fade * self.B + _kernels.adjoint(U, x) / len(x)
        rules.move_atoms(self.D, self.A, self.B, x, rng)
        self.steps += 1
        return cost


def _batches(n: int, size: int, rng: Any, *, shuffle: bool) -> Iterator[Array]:
    """Yield rows of batches, pass after pass; rows are put in a random order once."""
    order = rng.permutation(n) if shuffle else np.arange(n)
    while True:
        for first in range(0, n, size):
            yield order[first : first + size]


def learn(model: Any, rules: Rules, x: Array, running: Running, rng: Any) -> str:
    """Take batches in until the limits of a model are reached; return the outcome."""
    n = len(x)
    size = min(model.batch_size, n)
    most = model.max_iter * -(-n // size)
    best, since, smooth = np.inf, 0, 0.0
    batches = _batches(n, size, rng, shuffle=model.shuffle)
    try:
        with Progress(type(model).__name__, total=most, verbose=model.verbose) as progress:
            for count in range(most):
                before = running.D.copy()
                cost = running.step(rules, np.ascontiguousarray(x[next(batches)]), size, rng)
                share = min(1.0, 2 * size / (n + 1))
                smooth = cost if count <= 1 else smooth + share * (cost - smooth)
                change = float(np.linalg.norm(running.D - before)) / len(running.D)
                if count and model.tol > 0 and change <= model.tol:
                    return "solved"
                best, since = (smooth, 0) if smooth < best else (best, since + 1)
                if model.max_no_improvement is not None and since >= model.max_no_improvement:
                    return "solved"
                if progress.step(cost) is STOP:
                    return "stopped"
    except KeyboardInterrupt:
        return "interrupted"
    return "max_iter"

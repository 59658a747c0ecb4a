r"""The engine of dictionary learning: steps over codes and atoms, and what single ones could still gain.

Rows of x are approximated by U D with codes U and atoms D, the rows of D in the unit ball:

.. math:: \tfrac12 \|x - U D\|_F^2 + \alpha \|U\|_1

Codes move by exact steps along single entries for all rows at once, told by products with the atoms alone; then each atom in turn
moves to its best place. Neither raises the objective. With x transposed, codes are sparse components (sparse PCA).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import StationaryCertificate
from qed.core import Array, InvalidParameter
from qed.core._events import STOP, Progress
from qed.decomposition import _kernels
from qed.decomposition._randomized_svd import randomized_svd

if TYPE_CHECKING:
    from qed.certificates import Fingerprint

ONE_PART = "change of a single entry of the codes or of a single atom"
CODE_TOLERANCE = (
    1e-8  # of the null objective: how far codes that are found anew may be from the best ones, in the objective
)
EXACT = 1e-13  # share of half the squared length of a row that a last sweep over its codes may still gain
SWEEPS = 20  # over codes between two steps of the dictionary: from where they stand, more gain little
MOST_SWEEPS = 20_000


@dataclass(frozen=True)
class Rules:
    """The penalty on codes, and what may not be negative."""

    alpha: float
    positive_code: bool = False
    positive_dict: bool = False

    def lower_codes(self, x: Array, D: Array, U: Array, squares: Array, sweeps: int) -> float:
        """Lower the codes by sweeps over their entries, in place; return the objective."""
        across = np.ascontiguousarray(D.T)
        G, P = _kernels.product(D, across), _kernels.product(x, across)
        _kernels.code_rows(G, P, U, EXACT / 2 * squares, self.alpha, 0.0, positive=self.positive_code, sweeps=sweeps)
        fit = float(np.sum(squares)) / 2 - float(np.vdot(P, U)) + float(np.vdot(G, _kernels.adjoint(U, U))) / 2
        return max(fit, 0.0) + self.alpha * float(np.sum(np.abs(U)))

    def gain(self, x: Array, D: Array, U: Array) -> float:
        """Return what single entries of the codes and single atoms gain, each alone, summed."""
        across = np.ascontiguousarray(D.T)
        G, P = _kernels.product(D, across), _kernels.product(x, across)
        A, B = _kernels.adjoint(U, U), _kernels.adjoint(U, x)
        return self._gain_of_codes(U, G, P) + self._gain_of_atoms(D, A, B)

    def _gain_of_codes(self, U: Array, G: Array, P: Array) -> float:
        slope = _kernels.product(U, G) - P
        curvature = np.maximum(G.diagonal(), np.finfo(np.float64).tiny)
        wanted = curvature * U - slope
        size = np.maximum((wanted if self.positive_code else np.abs(wanted)) - self.alpha, 0.0) / curvature
        step = U - np.where(wanted < 0, -size, size)
        gains = slope * step - curvature / 2 * step**2 + self.alpha * (np.abs(U) - np.abs(U - step))
        return float(np.sum(np.maximum(gains, 0.0)))

    def _gain_of_atoms(self, D: Array, A: Array, B: Array) -> float:
        gain = 0.0
        for j in np.flatnonzero(A.diagonal() > 0):
            target = D[j] + (B[j] - A[j] @ D) / A[j, j]
            best = self._best_atom(target)
            gain += float(A[j, j]) / 2 * max(float(np.sum((D[j] - target) ** 2) - np.sum((best - target) ** 2)), 0.0)
        return gain

    def _best_atom(self, target: Array) -> Array:
        """Return the nearest point within the ball of radius one, and without negative entries if those are not allowed."""
        near = np.maximum(target, 0.0) if self.positive_dict else target
        return near / max(float(np.sqrt(near @ near)), 1.0)

    def move_atoms(self, D: Array, A: Array, B: Array, x: Array, rng: Any) -> None:
        """Move each atom in turn to its best place, in place; one that no row uses becomes a row of x that is drawn.

        A = U'U and B = U'x may be running sums.
        """
        for j in range(len(D)):
            if A[j, j] > 0:
                D[j] = self._best_atom(D[j] + (B[j] - A[j] @ D) / A[j, j])
            else:
                row = x[rng.integers(len(x))]
                row = np.maximum(row, 0.0) if self.positive_dict else row
                length = float(np.sqrt(row @ row))
                D[j] = row / length if length > 0 else D[j]

    def start(self, x: Array, k: int, D: Any, U: Any, rng: Any, names: str) -> tuple[Array, Array]:
        """Return atoms and codes to begin with: those given, or singular vectors and zeros."""
        n, p = x.shape
        if D is None:
            D = rng.standard_normal((k, p))
            known = min(k, n, p)
            D[:known] = randomized_svd(x, known, random_state=rng).Vt
        else:
            D = np.array(D, dtype=np.float64)
        U = np.zeros((n, k)) if U is None else np.array(U, dtype=np.float64)
        if D.shape != (k, p) or U.shape != (n, k) or not (np.isfinite(D).all() and np.isfinite(U).all()):
            raise InvalidParameter(
                f"{names} must hold finite numbers of shapes {(k, p)} and {(n, k)}, got {D.shape} and {U.shape}."
            )
        D = np.maximum(D, 0.0) if self.positive_dict else D
        U = np.maximum(U, 0.0) if self.positive_code else U
        lengths = np.sqrt(np.sum(D * D, axis=1, keepdims=True))
        return np.ascontiguousarray(D / np.where(lengths > 0, lengths, 1.0)), np.ascontiguousarray(U)

    def alternate(self, model: Any, x: Array, D: Array, U: Array, rng: Any) -> tuple[list[float], str]:
        """Lower codes and atoms in turn, in place, by the limits of a model; return the objective after each step, and the end."""
        squares = np.einsum("ij,ij->i", x, x)
        errors: list[float] = []
        try:
            with Progress(type(model).__name__, total=model.max_iter, verbose=model.verbose) as progress:
                for _ in range(model.max_iter):
                    objective = self.lower_codes(x, D, U, squares, SWEEPS)
                    errors.append(objective)
                    if len(errors) > 1 and errors[-2] - objective <= model.tol * objective:
                        return errors, "solved"
                    if progress.step(objective) is STOP:
                        return errors, "stopped"
                    self.move_atoms(D, _kernels.adjoint(U, U), _kernels.adjoint(U, x), x, rng)
        except KeyboardInterrupt:
            return errors, "interrupted"
        return errors, "max_iter"

    def certificate(self, x: Array, D: Array, U: Array, told: tuple[float, str, Fingerprint]) -> StationaryCertificate:
        """State what is known of codes and atoms; ``told`` holds the tolerance, the outcome and what recognises the rows."""
        tol, outcome, seen = told
        null = float(np.einsum("ij,ij->", x, x)) / 2
        rest = x - _kernels.product(U, D)
        objective = float(np.einsum("ij,ij->", rest, rest)) / 2 + self.alpha * float(np.sum(np.abs(U)))
        rounding = CODE_TOLERANCE * max(null, objective)
        return StationaryCertificate(
            gap=self.gain(x, D, U) + rounding,
            rounding=rounding,
            radius=0.0,
            objective=objective,
            null_objective=null,
            curvature=0.0,
            tol=tol,
            outcome=outcome,
            fingerprint=seen,
            step=ONE_PART,
        )


def turned(largest_of: Array) -> Array:
    """Return the sign of the entry of largest size of each row."""
    return np.where(largest_of[np.arange(len(largest_of)), np.argmax(np.abs(largest_of), axis=1)] < 0, -1.0, 1.0)


def by_length(D: Array, x: Array) -> Array:
    """Return the order of atoms by the squared length of rows along them, longest first; codes need not be unique, this is."""
    along = _kernels.product(x, np.ascontiguousarray(D.T))
    length = np.einsum("ij,ij->j", along, along)
    return np.array(sorted(range(len(D)), key=lambda j: (-length[j], D[j].tolist())), dtype=np.intp)

"""Whether a hyperplane separates two classes, with a proof either way."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, Traits, _finite, _tables
from qed.core._records import record
from qed.core._targets import as_target
from qed.linear_model._hulls import nearest_points

Array = np.ndarray[Any, Any]
UNIT = 2.0**-53


@record("separation")
class Separation:
    """A hyperplane with a margin, or weights that prove that there is none.

    Attributes
    ----------
    separable : bool
        Whether every row lies strictly on the side of its class.
    coef : ndarray of shape (p,)
        Normal of length one; zeros if there is no hyperplane.
    intercept : float
        Offset: a row of the second class has ``x @ coef + intercept >= margin``, one of the first ``<= -margin``.
    margin : float
        Least distance of a row from the hyperplane, less a bound on its rounding; 0 if there is no hyperplane.
    bound : float
        No hyperplane has a larger margin: half the distance of the two points that ``weights`` mix (its length, through the
        origin).
    weights : ndarray of shape (n,)
        Not negative. Those of each class sum to one and mix its rows to one point: the nearest points of the two hulls. If
        there is no hyperplane the two points coincide. With hyperplanes through the origin all of them sum to one, and the rows
        times their signs mix to the point nearest to the origin.
    through_origin : bool
        Whether hyperplanes had to contain the origin.
    """

    separable: bool
    coef: Array
    intercept: float
    margin: float
    bound: float
    weights: Array
    through_origin: bool

    def check(self) -> None:
        """Refuse a record that no data set can have."""
        numbers = (self.margin, self.bound)
        if not all(number >= 0 for number in numbers) or not np.all(self.weights >= 0):
            raise InvalidData(
                "a separation holds a negative or undefined number where only nonnegative ones make sense"
            )

    def holds(self, X: Any, y: Any) -> bool:
        """Recompute margin and mixed points in extended precision, and say whether they are as stated.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            The rows, in their order.
        y : array-like of shape (n,)
            Their labels.

        Returns
        -------
        bool
            Whether the hyperplane has its margin and no hyperplane has a margin beyond the bound; without a hyperplane, whether
            the mixed points coincide up to rounding.
        """
        _, sign = _sides_of(y)
        rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        rows = rows.astype(np.longdouble)
        mixed = (self.weights * sign) @ rows
        totals = [self.weights.sum() - 1] if self.through_origin else [self.weights @ (sign == s) - 1 for s in (-1, 1)]
        size = np.sqrt(np.max(np.sum(rows**2, axis=1)))
        length = np.sqrt(mixed @ mixed) * (1 if self.through_origin else 0.5)
        proved = bool(np.max(np.abs(totals)) <= 1e-12 and length <= self.bound + 1e-11 * size)
        if not self.separable:
            return proved and bool(self.bound <= 1e-9 * size)
        w = self.coef.astype(np.longdouble)
        least = np.min(sign * (rows @ w + self.intercept)) / np.sqrt(w @ w)
        return proved and bool(least >= self.margin) and self.margin > 0


def separating_hyperplane(
    X: Any, y: Any, *, through_origin: bool = False, tol: float = 1e-9, max_iter: int = 100_000
) -> Separation:
    """Decide whether a hyperplane separates two classes, and find the one with the widest margin.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels, two of them; the second in their order is the positive side.
    through_origin : bool
        Whether the hyperplane must contain the origin.
    tol : float
        How far the margin may be from the widest, relative to it.
    max_iter : int
        Most steps, each a pass over the rows.

    Returns
    -------
    Separation
        With its proof: a strict margin, or mixtures of both classes that coincide.

    Notes
    -----
    A hyperplane must have every row strictly on its side: a row on the hyperplane is on neither. Margins below 1e-12 of the largest
    distance between rows are rounding, and count as none.

    Examples
    --------
    >>> from qed.linear_model import separating_hyperplane
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> separating_hyperplane(corners, [0, 0, 0, 1]).separable
    True
    >>> exclusive = separating_hyperplane(corners, [0, 1, 1, 0])
    >>> exclusive.separable, exclusive.weights.tolist()
    (False, [0.5, 0.5, 0.5, 0.5])
    """
    if not 0 <= tol < 1:
        raise InvalidParameter(f"separating_hyperplane.tol must be a number >= 0 and below 1, got {tol!r}.")
    _, sign = _sides_of(y)
    rows, _ = _tables.read(X, "X", Traits(sparse=True), "separating_hyperplane")
    _finite.require(rows, "X", None, "separating_hyperplane")
    if rows.shape[0] != len(sign):
        raise InvalidData(f"X has {rows.shape[0]} rows, and y has {len(sign)} labels. Pass one label for each row.")
    return plane_between(rows, sign, through_origin=through_origin, tol=tol, max_iter=max_iter)


def plane_between(X: Any, sign: Array, *, through_origin: bool, tol: float, max_iter: int) -> Separation:
    """Find the hyperplane for rows and signs that have been looked at."""
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    found = nearest_points(X, sign, through_origin=through_origin, tol=tol, max_iter=max_iter)
    length = float(np.linalg.norm(found.normal))
    bound = (length if through_origin else 0.5 * length) * (1 + 8 * UNIT) + 4 * len(found.normal) * UNIT * found.size
    none = Separation(False, np.zeros_like(found.normal), 0.0, 0.0, bound, found.weights, through_origin)
    if found.meets:
        return none
    w = found.normal / length
    score = np.asarray(X @ w).ravel()
    lowest, highest = score[sign > 0].min(initial=np.inf), score[sign < 0].max(initial=-np.inf)
    b = 0.0 if through_origin else -0.5 * float(lowest + highest)
    largest = float(np.max(np.abs(X).max(axis=1))) if X.shape[0] else 0.0
    rounding_error = (X.shape[1] + 8) * UNIT * (np.sqrt(X.shape[1]) * largest + abs(b))
    margin = float(np.min(sign * (score + b))) - rounding_error
    return none if margin <= 0 else Separation(True, w, b, margin, max(bound, margin), found.weights, through_origin)


def _sides_of(y: Any) -> tuple[Array, Array]:
    labels, codes = np.unique(as_target(y, "y"), return_inverse=True)
    if len(labels) != 2:
        raise InvalidData(f"A hyperplane separates two classes, and y has {len(labels)}: {labels.tolist()[:10]}.")
    return labels, np.where(codes.ravel() == 1, 1.0, -1.0)

"""Subspaces, embeddings and codes: eigenvalues in fifty digits, and the lasso over all sets of atoms and all signs, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import eigsy, matrix, mp, mpf
from tests.truth.judged import Judged, fitted, table

from qed.decomposition import SparseCoder, TruncatedSVD
from qed.manifold import ClassicalMDS

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge a subspace, an embedding or codes of one seed."""
    mp.dps = 60
    rng = np.random.default_rng([seed, 11])
    n, p = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    yield from (_subspace, _points, _codes)[seed % 3](rng, table(rng, n, p))


def _subspace(rng: Any, X: Any) -> Iterator[Judged]:
    k = int(rng.integers(1, X.shape[1] + 1))
    model = TruncatedSVD(k)
    if fitted(model, X) is None:
        return
    rows = matrix([[mpf(float(x)) for x in row] for row in X])
    S = rows.T * rows
    values = sorted(eigsy(S, eigvals_only=True), reverse=True)
    V = matrix([[mpf(float(x)) for x in row] for row in model.components_])
    kept = V * S * V.T
    inside = (V * V.T) ** -1 * kept  # of the space, whatever the directions are
    own = sum(values) - sum(inside[i, i] for i in range(k))
    certificate = model.certificate_
    yield Judged(repr(model), certificate.gap, float(own - sum(values[k:])))
    yield Judged(repr(model), certificate.gap, float(abs(own - mpf(certificate.objective))), "squares left out")
    off = max(abs(values[i] - mpf(float(model.singular_values_[i])) ** 2) for i in range(k))
    yield Judged(repr(model), 2 * certificate.variance_error, float(off), "error of a squared singular value")


def _points(rng: Any, X: Any) -> Iterator[Judged]:
    k = int(rng.integers(1, 3))
    model = ClassicalMDS(k)
    if fitted(model, X) is None:
        return
    n, p = X.shape
    rows = [[mpf(float(x)) for x in row] for row in X]
    mean = [sum(row[j] for row in rows) / n for j in range(p)]
    Z = matrix([[row[j] - mean[j] for j in range(p)] for row in rows])
    B = Z * Z.T
    values = sorted(eigsy(B, eigvals_only=True), reverse=True)
    size = sum(value**2 for value in values)
    left = sum(value**2 for value in values[k:])
    Y = matrix([[mpf(float(x)) for x in row] for row in model.embedding_])
    G = Y * Y.T
    own = sum((B[i, j] - G[i, j]) ** 2 for i in range(n) for j in range(n))
    # distances of rows far from zero keep the digits that their differences have
    far = max(abs(x) for row in rows for x in row) ** 2 * n * mpf(2) ** -50
    near = float(1e-12 * size + far * far + 2 * far * size ** mpf("0.5"))
    yield Judged(repr(model), near, float(own - left), "strain above the least")
    yield Judged(repr(model), near, float(abs(own - mpf(model.certificate_.objective))), "strain")


def _codes(rng: Any, X: Any) -> Iterator[Judged]:
    p, k = X.shape[1], int(rng.integers(1, 4))
    atoms = rng.integers(-3, 4, (k, p)) * 2.0 ** rng.integers(-4, 4, (k, 1))
    alpha, positive = float(2.0 ** rng.integers(-6, 3)), bool(rng.random() < 0.4)
    model = SparseCoder(atoms, transform_algorithm="lasso_cd", transform_alpha=alpha, positive_code=positive)
    if not atoms.any(axis=1).all() or fitted(model, X) is None:
        return
    U = model.transform(X)
    own = sum(_cost(row, atoms, alpha, code) for row, code in zip(X, U, strict=True))
    least = sum(_least(row, atoms, alpha, positive=positive) for row in X)
    yield Judged(repr(model), model.certificate_.gap, float(own - least))
    yield Judged(
        repr(model), model.certificate_.rounding, float(abs(own - Fraction(model.certificate_.objective))), "objective"
    )


def _cost(row: Any, atoms: Any, alpha: float, code: Any) -> Fraction:
    u = [Fraction(float(one)) if not isinstance(one, Fraction) else one for one in code]
    rest = [
        Fraction(float(x)) - sum((u[j] * Fraction(float(atoms[j, i])) for j in range(len(u))), Fraction(0))
        for i, x in enumerate(row)
    ]
    return sum((r * r for r in rest), Fraction(0)) / 2 + Fraction(alpha) * sum((abs(one) for one in u), Fraction(0))


def _least(row: Any, atoms: Any, alpha: float, *, positive: bool) -> Fraction:
    """Return the least cost of a code: some best one uses independent atoms, with signs that its equations keep."""
    k = len(atoms)
    best = _cost(row, atoms, alpha, [Fraction(0)] * k)
    for signs in product((0, 1) if positive else (-1, 0, 1), repeat=k):
        used = [j for j in range(k) if signs[j]]
        A = [[_dot(atoms[i], atoms[j]) for j in used] for i in used]
        b = [_dot(atoms[i], row) - Fraction(alpha) * signs[i] for i in used]
        found = _solved(A, b)
        if used and found is not None and all(w * signs[j] > 0 for w, j in zip(found, used, strict=True)):
            code = [Fraction(0)] * k
            for w, j in zip(found, used, strict=True):
                code[j] = w
            best = min(best, _cost(row, atoms, alpha, code))
    return best


def _dot(a: Any, b: Any) -> Fraction:
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


def _solved(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """Solve equations exactly; None where they are dependent."""
    n, rows = len(A), [[*row, right] for row, right in zip(A, b, strict=True)]
    for j in range(n):
        pivot = next((i for i in range(j, n) if rows[i][j] != 0), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i in range(n):
            if i != j:
                rows[i] = [x - rows[i][j] * y for x, y in zip(rows[i], rows[j], strict=True)]
    return [row[-1] for row in rows]

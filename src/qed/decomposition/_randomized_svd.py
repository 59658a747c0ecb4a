r"""Singular values by random projection, with a bound on the error that is measured afterwards.

A table A times a few random directions spans, with probability near one, almost the range of A: let Q be an orthonormal basis of
the products. Then :math:`Q Q^\top A` is a table of few rows in disguise, whose singular values are cheap. What was missed is
:math:`(I - Q Q^\top) A`; for r fresh normal vectors w its norm is at most :math:`10 \sqrt{2/\pi} \max_i \|(I - Q Q^\top) A
w_i\|`, wrongly with probability :math:`10^{-r}` (Halko, Martinsson and Tropp 2011, lemma 4.1).
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from qed.core import Array, InvalidData, InvalidParameter, generator
from qed.core._tables import is_sparse
from qed.core._threads import one_blas_thread
from qed.decomposition import _kernels
from qed.designs import design

PROBES = 6  # fresh vectors: the bound is wrong once in a million


class LowRank(NamedTuple):
    """A truncated singular value decomposition, with a bound on its error.

    Attributes
    ----------
    U : ndarray of shape (n, k)
        Left singular vectors.
    s : ndarray of shape (k,)
        Singular values, largest first.
    Vt : ndarray of shape (k, p)
        Right singular vectors.
    error : float
        Bound on the spectral norm of A - U diag(s) Vt.
    missed : float
        Bound on the part of it that the random span missed; the rest is the first singular value that was cut off.
    confidence : float
        Probability that both bounds hold.
    """

    U: Array
    s: Array
    Vt: Array
    error: float
    missed: float
    confidence: float


def randomized_svd(
    M: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int | Literal["auto"] = "auto",
    random_state: Any = None,
) -> LowRank:
    """Find the leading singular values and vectors of a table by random projection, with a bound on the error.

    Parameters
    ----------
    M : array-like or sparse container of shape (n, p)
        The table.
    n_components : int
        How many singular values, at least one.
    n_oversamples : int
        Random vectors beyond them.
    n_iter : int or "auto"
        How often the span is multiplied by M M' to sharpen it; "auto" means 7, or 4 for many components.
    random_state : None, int, Generator or RandomState
        Seed of the random vectors.

    Returns
    -------
    LowRank
        Factors ``U, s, Vt``, and the bounds ``error`` and ``missed``. The largest entry of each row of Vt is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import randomized_svd
    >>> A = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])
    >>> found = randomized_svd(A, 1, random_state=0)
    >>> found.s.round(6)
    array([15.])
    """
    table: Any = M if is_sparse(M) else np.asarray(M)
    if table.ndim != 2 or not all(table.shape) or table.dtype.kind not in "biuf":
        raise InvalidData(
            f"randomized_svd needs a table of numbers with rows and columns, got shape {np.shape(M)} of {table.dtype}."
        )
    table = table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)
    if is_sparse(table) and table.format not in ("csr", "csc"):
        table = table.tocsr()
    n, p = table.shape
    if not 1 <= n_components <= min(n, p):
        raise InvalidParameter(f"n_components must be between 1 and min(n, p) = {min(n, p)}, got {n_components!r}.")
    rng, A = generator(random_state), design(table)
    if not np.isfinite(A.column_norms()).all():
        raise InvalidData("randomized_svd got NaN, infinity, or numbers whose squares overflow.")
    times = (7 if n_components < 0.1 * min(n, p) else 4) if n_iter == "auto" else int(n_iter)
    width = min(n_components + n_oversamples, n, p)
    with one_blas_thread():
        Q = np.linalg.qr(A.product(rng.standard_normal((p, width))))[0]
        for _ in range(times):
            Q = np.linalg.qr(A.product(np.linalg.qr(A.adjoint_product(Q))[0]))[0]
        turn, s, Vt = np.linalg.svd(A.adjoint_product(Q).T, full_matrices=False)
        probes = A.product(rng.standard_normal((p, PROBES)))
        outside = probes - Q @ (Q.T @ probes)
    rounding = 64 * np.finfo(np.float64).eps * math.sqrt(width) * float(s[0])
    missed = 10 * math.sqrt(2 / math.pi) * float(np.sqrt(np.max(np.sum(outside**2, axis=0)))) + rounding
    cut = float(s[n_components]) if len(s) > n_components else 0.0
    U, s, Vt = _kernels.product(Q, turn[:, :n_components]), s[:n_components], Vt[:n_components]
    signs = np.where(Vt[np.arange(n_components), np.argmax(np.abs(Vt), axis=1)] < 0, -1.0, 1.0)
    # two parts that are orthogonal: what is outside of Q, and what was cut off inside
    return LowRank(U * signs, s, Vt * signs[:, None], math.hypot(missed, cut), missed, 1 - 10.0**-PROBES)

r"""Sparse codes for atoms that are given, as a transformer."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import DualityGapCertificate, ExactCertificate
from qed.core import KW_ONLY, Array, InvalidParameter, Matrix, NonNegative, PositiveInt, fitted, param
from qed.core._memory import require_memory
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.decomposition import _dictionary_learning as whole
from qed.decomposition import _kernels
from qed.decomposition._sparse_coding import SparseCoding
from qed.designs._range import fingerprint, require_range

RULES = {"omp": "Codes by orthogonal matching pursuit", "threshold": "Codes by shrunk correlations"}


class SparseCoder(SparseCoding, requires_fit=False):
    r"""Sparse coding with a given dictionary: each row is approximated by a sparse combination of atoms.

    Objective
    ---------
    .. math:: \min_U \tfrac12 \|X - U D\|_F^2 + \alpha \|U\|_1

    for the algorithms "lasso_lars" and "lasso_cd". "omp" takes the atom of largest correlation with what is left, refits, and goes
    on; "threshold" shrinks the correlations by alpha.

    Certificate
    -----------
    DualityGapCertificate for the lasso: no other codes of the rows of the fit lower the objective by more than ``gap``, by a dual
    point for each row. ExactCertificate for the others: codes are those that the rule gives.

    Cost
    ----
    One product of X with k vectors, and O(k^2) for each row and sweep; O(nk) memory.

    Notes
    -----
    ``fit`` learns nothing that ``transform`` needs: atoms are the parameter ``dictionary``. It finds the codes of its rows and
    states how good they are.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import SparseCoder
    >>> coder = SparseCoder(np.eye(2), transform_algorithm="lasso_cd", transform_alpha=1.0)
    >>> coder.transform([[3.0, 0.5]])
    array([[2., 0.]])
    """

    dictionary: Matrix | None = param(
        None, "Atoms, one a row, of length one by convention, shape (k, p); None for unit vectors, one for each column."
    )
    _: KW_ONLY
    transform_algorithm: Literal["lasso_lars", "lasso_cd", "lars", "omp", "threshold"] = whole.TRANSFORM_ALGORITHM
    transform_n_nonzero_coefs: PositiveInt | None = whole.N_NONZERO
    transform_alpha: NonNegative | None = param(
        None, "Penalty strength, 1 by default; for 'omp' the squared error that is small enough."
    )
    split_sign: bool = whole.SPLIT_SIGN
    n_jobs: int | None = whole.N_JOBS
    positive_code: bool = whole.POSITIVE_CODE
    transform_max_iter: PositiveInt = whole.TRANSFORM_MAX_ITER

    certificate_: DualityGapCertificate | ExactCertificate = fitted("What is proven about the codes of the fit.")

    @property
    def n_components_(self) -> int:
        """Number of atoms."""
        self._check_is_fitted()
        return len(self._atoms(self.n_features_in_))

    def _atoms(self, columns: int) -> Array:
        if self.dictionary is None:
            require_memory(8 * columns * columns, f"{columns} unit vectors", "Pass a dictionary of fewer atoms.")
            return np.eye(columns)
        given: Any = self.dictionary
        D = np.ascontiguousarray(given, dtype=np.float64)
        if D.ndim != 2 or not all(D.shape) or not np.isfinite(D).all():
            raise InvalidParameter(f"dictionary must hold finite numbers, one atom a row, got shape {D.shape}.")
        return D

    def _strength(self) -> float | None:
        return 1.0 if self.transform_alpha is None and self.transform_algorithm != "omp" else self.transform_alpha

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the codes of rows, and state how good they are."""
        x = np.ascontiguousarray(self._fit_data(X).X, dtype=np.float64)
        D = self._atoms(x.shape[1])
        U = self._codes(x)
        if self.transform_algorithm in RULES:
            self.certificate_ = ExactCertificate(RULES[self.transform_algorithm], len(x), D.shape[1] * UNIT)
            return self
        seen = fingerprint(x, np.empty((len(x), 0)), None)
        require_range(ArraySource(x, None, None), seen, centred=False)
        alpha = float(self._strength() or 0.0)
        rest = x - _kernels.product(U, D)
        pull = _kernels.product(rest, np.ascontiguousarray(D.T))
        size = np.sqrt(np.sum(D**2, axis=1))
        reach = np.sqrt(np.sum(x**2, axis=1)) + np.abs(U) @ size  # of what is added up in a row
        unit = (sum(D.shape) + 8) * UNIT
        # the residual, shrunk until no atom is correlated with it by more than alpha whatever was rounded, is a dual point
        most = np.max((pull if self.positive_code else np.abs(pull)) + unit * np.multiply.outer(reach, size), axis=1)
        share = np.minimum(1.0, alpha / np.maximum(most, np.finfo(np.float64).tiny))[:, None]
        gap = np.sum(((1 - share) * rest) ** 2) / 2 + np.sum(np.maximum(alpha * np.abs(U) - U * share * pull, 0.0))
        objective = float(np.sum(rest**2)) / 2 + alpha * float(np.sum(np.abs(U)))
        null = float(np.sum(x**2)) / 2
        rounding = 4 * unit * float(np.sum(reach**2))
        self.certificate_ = DualityGapCertificate(
            gap=float(gap) + rounding,
            rounding=rounding,
            objective=objective,
            null_objective=null,
            tol=1e-4,
            radius=np.inf,
            outcome="solved",
            fingerprint=seen,
        )
        return self

r"""Dictionary learning: rows as combinations of few atoms that are learnt from them."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    Matrix,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition._randomized_svd import randomized_svd
from qed.decomposition._sparse_encode import sparse_encode
from qed.designs._range import fingerprint, require_range

ONE_PART = "change of a single entry of the codes or of a single atom"
SLACK = 1e-8  # of the null objective: how far codes that are found anew may be from the best ones, in the objective
EXACT = 1e-13  # share of half the squared length of a row that a last sweep over its codes may still gain
SWEEPS = 20  # over codes between two steps of the dictionary: from where they stand, more gain little
MOST_SWEEPS = 20_000


class DictionaryLearning(Transformer):
    r"""Atoms such that every row is near a combination of few of them.

    Objective
    ---------
    .. math:: \min_{U, D} \tfrac12 \|X - U D\|_F^2 + \alpha \|U\|_1, \qquad \|d_j\| \le 1

    over codes U and atoms, the rows of D. It is convex in each of both factors but not in both together: there may be better ones
    far away.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of U or of a single atom lowers the objective by more than this. U are the
    lasso codes of the rows of the fit for the stored atoms, each solved to rounding.

    Cost
    ----
    Two products of X with k vectors a step, and O(nk^2) for sweeps over codes; O((n + p) k) memory beyond X.

    Notes
    -----
    Codes are lowered by exact steps along single entries for all rows at once, told by products with the atoms alone; then each
    atom in turn moves to its best place within the ball. Neither step raises the objective. Rows are not centred. Codes and atoms
    have a sign and an order in common: the largest entry of each atom is positive, unless codes or atoms may not be negative, and
    the atom along which rows are longest is the first.

    ``fit_algorithm`` chooses nothing: both of scikit-learn's solve the same problem. ``transform`` gives the codes of
    ``transform_algorithm``, as in `sparse_encode`.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.normal(size=(200, 3)) * (rng.random((200, 3)) < 0.4)
    >>> X = 3 * codes @ np.eye(3, 5)
    >>> model = DictionaryLearning(3, alpha=0.1, random_state=0).fit(X)
    >>> np.sort(np.abs(model.components_).max(axis=1).round(2))
    array([1., 1., 1.])
    """

    n_components: PositiveInt | None = param(None, "How many atoms; None for as many as columns.")
    _: KW_ONLY
    alpha: NonNegative = param(1.0, "Penalty strength on codes.")
    max_iter: PositiveInt = param(1000, "Most steps.")
    tol: NonNegative = param(1e-8, "Fall of the objective in a step, relative to it, at which to stop.")
    fit_algorithm: Literal["lars", "cd"] = param("lars", "Solver of codes asked for; see Notes.", kind="hint")
    transform_algorithm: Literal["lasso_lars", "lasso_cd", "lars", "omp", "threshold"] = param(
        "omp", "How codes of new rows are found, as in `sparse_encode`; 'lars' raises an error."
    )
    transform_n_nonzero_coefs: PositiveInt | None = param(
        None, "Most atoms of a code, for 'omp'; a tenth of the columns by default."
    )
    transform_alpha: NonNegative | None = param(
        None, "Penalty strength of new codes, ``alpha`` by default; for 'omp' the squared error that is small enough."
    )
    n_jobs: int | None = param(None, "Jobs of scikit-learn; here all threads are used.", kind="hint")
    code_init: Matrix | None = param(None, "Codes to begin with, shape (n, k); taken together with ``dict_init``.")
    dict_init: Matrix | None = param(None, "Atoms to begin with, shape (k, p); None for singular vectors.")
    callback: None = param(None, "Only None: scikit-learn calls it with its local variables. Use ``qed.listen``.")
    verbose: NonNegativeInt = param(0, "How much progress to show: 0 for none.")
    split_sign: bool = param(False, "Whether ``transform`` gives positive and negative parts of codes apart.")
    random_state: Seed = param(None, "Seed of atoms beyond the singular vectors, and of atoms that no row uses.")
    positive_code: bool = param(False, "Whether codes may not be negative.")
    positive_dict: bool = param(False, "Whether atoms may not have a negative entry.")
    transform_max_iter: PositiveInt = param(1000, "Most sweeps over new codes.")

    components_: Array = fitted("Atoms, shape (k, p).", shape="(c, p)")
    error_: list[float] = fitted("The objective after each step.", answers=False)
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn atoms.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.
        y : None
            Not looked at; here because every ``fit`` takes it.

        Returns
        -------
        self
            Fitted.
        """
        x = np.ascontiguousarray(self._fit_data(X).X, dtype=np.float64)
        seen = fingerprint(x, np.empty((len(x), 0)), None)
        require_range(ArraySource(x, None, None), seen, centred=False)
        rng = generator(self.random_state)
        D, U = self._start(x, rng)
        squares = np.einsum("ij,ij->i", x, x)
        self.error_, outcome = [], "max_iter"
        try:
            with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
                for _ in range(self.max_iter):
                    objective = self._lower_codes(x, D, U, squares, SWEEPS)
                    self.error_.append(objective)
                    if len(self.error_) > 1 and self.error_[-2] - objective <= self.tol * objective:
                        outcome = "solved"
                        break
                    if progress.step(objective) is STOP:
                        outcome = "stopped"
                        break
                    _move_atoms(D, U, x, rng, positive=self.positive_dict)
        except KeyboardInterrupt:
            outcome = "interrupted"
        self.n_iter_ = len(self.error_)
        if not self.positive_code and not self.positive_dict:
            turned = np.where(D[np.arange(len(D)), np.argmax(np.abs(D), axis=1)] < 0, -1.0, 1.0)
            D, U = D * turned[:, None], U * turned
        along = _kernels.product(x, np.ascontiguousarray(D.T))
        order = np.argsort(-np.sum(along**2, axis=0), kind="stable")
        self.components_ = np.ascontiguousarray(D[order])
        self._certify(x, np.ascontiguousarray(U[:, order]), squares, outcome, seen)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _start(self, x: Array, rng: Any) -> tuple[Array, Array]:
        """Return atoms and codes to begin with."""
        (n, p), k = x.shape, self.n_components or x.shape[1]
        if self.dict_init is None:
            D = rng.standard_normal((k, p))
            known = min(k, n, p)
            D[:known] = randomized_svd(x, known, random_state=rng).Vt
        else:
            D = np.array(self.dict_init, dtype=np.float64)
        U = np.zeros((n, k)) if self.code_init is None else np.array(self.code_init, dtype=np.float64)
        if D.shape != (k, p) or U.shape != (n, k) or not (np.isfinite(D).all() and np.isfinite(U).all()):
            raise InvalidParameter(
                f"dict_init and code_init must hold finite numbers of shapes {(k, p)} and {(n, k)}, got {D.shape} and {U.shape}."
            )
        D = np.maximum(D, 0.0) if self.positive_dict else D
        U = np.maximum(U, 0.0) if self.positive_code else U
        lengths = np.sqrt(np.sum(D * D, axis=1, keepdims=True))
        return np.ascontiguousarray(D / np.where(lengths > 0, lengths, 1.0)), np.ascontiguousarray(U)

    def _lower_codes(self, x: Array, D: Array, U: Array, squares: Array, sweeps: int) -> float:
        """Lower the codes by sweeps over their entries, in place; return the objective."""
        across = np.ascontiguousarray(D.T)
        G, P = _kernels.product(D, across), _kernels.product(x, across)
        _kernels.code_rows(
            G, P, U, EXACT / 2 * squares, float(self.alpha), 0.0, positive=self.positive_code, sweeps=sweeps
        )
        fit = float(np.sum(squares)) / 2 - float(np.vdot(P, U)) + float(np.vdot(G, _kernels.adjoint(U, U))) / 2
        return max(fit, 0.0) + self.alpha * float(np.sum(np.abs(U)))

    def _certify(self, x: Array, U: Array, squares: Array, outcome: str, seen: Any) -> None:
        D, alpha = self.components_, float(self.alpha)
        objective = self._lower_codes(x, D, U, squares, MOST_SWEEPS)
        across = np.ascontiguousarray(D.T)
        G, P = _kernels.product(D, across), _kernels.product(x, across)
        gap = _gain_of_codes(U, G, P, alpha, positive=self.positive_code)
        gap += _gain_of_atoms(D, U, x, positive=self.positive_dict)
        null = float(np.sum(squares)) / 2
        rounding = SLACK * max(null, objective)
        self.certificate_ = StationaryCertificate(
            gap=gap + rounding,
            rounding=rounding,
            radius=0.0,
            objective=objective,
            null_objective=null,
            curvature=0.0,
            tol=float(self.tol),
            outcome=outcome,
            fingerprint=seen,
            step=ONE_PART,
        )

    def _n_features_out(self) -> int:
        return (2 if self.split_sign else 1) * len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return sparse codes of rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, 2k) with ``split_sign``
            In the type of X.
        """
        X = self._new_data(X)
        pursues = self.transform_algorithm == "omp"
        alpha = self.alpha if self.transform_alpha is None and not pursues else self.transform_alpha
        codes = sparse_encode(
            X,
            self.components_,
            algorithm=self.transform_algorithm,  # type: ignore[arg-type]  # 'lars' is refused there, in words
            n_nonzero_coefs=self.transform_n_nonzero_coefs,
            alpha=alpha,
            max_iter=self.transform_max_iter,
            positive=self.positive_code and not pursues,
        )
        codes = np.hstack([np.maximum(codes, 0), np.maximum(-codes, 0)]) if self.split_sign else codes
        return codes.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their codes.

        Parameters
        ----------
        X : array-like of shape (n, k), or (n, 2k) with ``split_sign``
            Codes.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the codes.
        """
        self._check_is_fitted()
        codes, k = np.asarray(X), len(self.components_)
        codes = codes if codes.dtype in (np.float32, np.float64) else codes.astype(np.float64)
        if codes.ndim != 2 or codes.shape[1] != self._n_features_out():
            raise InvalidData(f"{type(self).__name__} gives {self._n_features_out()} codes, got shape {codes.shape}.")
        return _kernels.mapped(codes[:, :k] - codes[:, k:] if self.split_sign else codes, self.components_)


def _best_atom(target: Array, *, positive: bool) -> Array:
    """Return the nearest point within the ball of radius one, and without negative entries if those are not allowed."""
    near = np.maximum(target, 0.0) if positive else target
    return near / max(float(np.sqrt(near @ near)), 1.0)


def _move_atoms(D: Array, U: Array, x: Array, rng: Any, *, positive: bool) -> None:
    """Move each atom in turn to its best place, in place; one that no row uses becomes a row that is drawn."""
    A, B = _kernels.adjoint(U, U), _kernels.adjoint(U, x)
    for j in range(len(D)):
        if A[j, j] > 0:
            D[j] = _best_atom(D[j] + (B[j] - A[j] @ D) / A[j, j], positive=positive)
            continue
        row = x[rng.integers(len(x))]
        row = np.maximum(row, 0.0) if positive else row
        length = float(np.sqrt(row @ row))
        if length > 0:
            D[j] = row / length


def _gain_of_codes(U: Array, G: Array, P: Array, alpha: float, *, positive: bool) -> float:
    """Return what each entry of the codes gains when it alone goes to its best place, summed."""
    slope = _kernels.product(U, G) - P
    curvature = np.maximum(G.diagonal(), np.finfo(np.float64).tiny)
    wanted = curvature * U - slope
    size = np.maximum((wanted if positive else np.abs(wanted)) - alpha, 0.0) / curvature
    step = U - np.where(wanted < 0, -size, size)
    gains = slope * step - curvature / 2 * step**2 + alpha * (np.abs(U) - np.abs(U - step))
    return float(np.sum(np.maximum(gains, 0.0)))


def _gain_of_atoms(D: Array, U: Array, x: Array, *, positive: bool) -> float:
    """Return what each atom gains when it alone goes to its best place, summed."""
    A, B = _kernels.adjoint(U, U), _kernels.adjoint(U, x)
    gain = 0.0
    for j in np.flatnonzero(A.diagonal() > 0):
        target = D[j] + (B[j] - A[j] @ D) / A[j, j]
        best = _best_atom(target, positive=positive)
        gain += max(float(A[j, j]) / 2 * float(np.sum((D[j] - target) ** 2 - (best - target) ** 2)), 0.0)
    return gain

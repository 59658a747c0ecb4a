r"""Sparse principal components: rows as combinations of few directions, each of few columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate  # noqa: TC001  (read from the annotation)
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
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
from qed.core._shared_params import VERBOSE
from qed.core._threads import one_blas_thread
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition._dictionary import MOST_SWEEPS, Rules, turned
from qed.decomposition._dictionary_learning import CALLBACK, N_JOBS
from qed.decomposition._online_dictionary import Running, learn
from qed.designs._range import fingerprint, require_range

METHOD = param("lars", "Solver of components asked for: both solve the same problem.", kind="hint")
ALPHA = param(1.0, "Penalty strength on components: the larger, the more of their entries are zero.")
RIDGE_ALPHA = param(0.01, "Ridge penalty of scores in ``transform``, for components that are nearly dependent.")
COMPONENTS = param(None, "How many components; None for as many as columns.")


class SparseComponents(Transformer):
    """What both models of sparse components share: scores, rows from scores, and the certificate."""

    if TYPE_CHECKING:
        n_components: int | None
        alpha: float
        ridge_alpha: float
        tol: float

    components_: Array = fitted("Components, of length one or zero, shape (k, p).", shape="(n_components_, p)")
    component_norms_: Array = fitted(
        "Length of each component before it was divided by it, shape (k,).",
        shape="(n_components_,)",
        low=0,
        answers=False,
    )
    scores_: Array = fitted(
        "Scores of the rows of the fit, columns in the unit ball, shape (n, k).",
        shape="(n, n_components_)",
        answers=False,
    )
    n_components_: int = fitted("Number of components.", low=1)
    mean_: Array = fitted("Mean of each column, shape (p,).", shape="(p,)")
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def _learn(self, x: Array, k: int, rng: Any) -> tuple[Array, Array, str]:
        """Find codes (p, k) of the columns and atoms (k, n) for a centred table's transpose; say how it ended."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find components."""
        X = self._fit_data(X).X
        seen = fingerprint(X, np.empty((len(X), 0)), None)
        require_range(ArraySource(X, None, None), seen)
        self.mean_ = seen.mean.copy()
        x = np.ascontiguousarray((np.asarray(X, dtype=np.float64) - self.mean_).T)
        k = self.n_components or len(x)
        V, D, outcome = self._learn(x, k, generator(self.random_state))  # type: ignore[attr-defined]
        rules = Rules(float(self.alpha))
        sign = turned(V.T)
        V, D = V * sign, D * sign[:, None]
        self.certificate_ = rules.certificate(x, D, V, (float(self.tol), outcome, seen))
        self.component_norms_ = np.sqrt(np.sum(V * V, axis=0))
        self.components_ = np.ascontiguousarray((V / np.where(self.component_norms_ > 0, self.component_norms_, 1.0)).T)
        self.scores_, self.n_components_ = np.ascontiguousarray(D.T), k
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return scores of rows: ridge regression of the centred row on the components.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        C = self.components_
        with one_blas_thread(C.size):
            square = C @ C.T + self.ridge_alpha * np.eye(len(C))
            try:
                into = np.linalg.solve(square, C) if self.ridge_alpha > 0 else np.linalg.pinv(square) @ C
            except np.linalg.LinAlgError:  # a penalty that is lost beside components that depend on each other
                into = np.linalg.pinv(square) @ C
        return _kernels.mapped(X, np.ascontiguousarray(into.T), None, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their scores.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Scores.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the scores.
        """
        self._check_is_fitted()
        scores = np.asarray(X)
        scores = scores if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64)
        if scores.ndim != 2 or scores.shape[1] != len(self.components_):
            raise InvalidData(
                f"{type(self).__name__} has {len(self.components_)} components, got scores of shape {scores.shape}."
            )
        return _kernels.mapped(scores, self.components_, self.mean_)


class SparsePCA(SparseComponents):
    r"""Sparse PCA: components with few nonzero entries that approximate the rows.

    Objective
    ---------
    .. math:: \min_{U, V} \tfrac12 \|X - U V\|_F^2 + \alpha \|V\|_1, \qquad \|u_j\| \le 1

    over scores U, with columns in the unit ball, and components, the rows of V, for a centred table. It is dictionary learning of
    the columns, convex in each factor but not in both together. ``components_`` are the rows of V, divided by their lengths.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of V, or of the scores of a single component, lowers the objective by more
    than this. Scores are the best ones for the components.

    Cost
    ----
    Two products of X with k vectors a step, and O(pk^2) for sweeps over components; one copy of X.

    See Also
    --------
    PCA : Without a penalty; components are orthogonal.

    Notes
    -----
    Scores of new rows (``transform``) come from a ridge regression on the components, as in scikit-learn: components are not
    orthogonal. The largest entry of each component is positive. ``component_norms_`` are the lengths that the components were
    divided by.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(200, 2))
    >>> X = hidden @ [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] + 0.1 * rng.normal(size=(200, 6))
    >>> model = SparsePCA(2, alpha=2.0, random_state=0).fit(X)
    >>> (model.components_ != 0).sum(axis=1)
    array([3, 3])
    """

    n_components: PositiveInt | None = COMPONENTS
    _: KW_ONLY
    alpha: NonNegative = ALPHA
    ridge_alpha: NonNegative = RIDGE_ALPHA
    max_iter: PositiveInt = param(1000, "Most steps.")
    tol: NonNegative = param(1e-8, "Fall of the objective in a step, relative to it, at which to stop.")
    method: Literal["lars", "cd"] = METHOD
    n_jobs: int | None = N_JOBS
    U_init: Matrix | None = param(None, "Scores to begin with, shape (n, k); taken together with ``V_init``.")
    V_init: Matrix | None = param(None, "Components to begin with, shape (k, p).")
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of scores beyond the singular vectors, and of those that no column uses.")

    error_: list[float] = fitted("The objective after each step.", answers=False)

    def _learn(self, x: Array, k: int, rng: Any) -> tuple[Array, Array, str]:
        rules = Rules(float(self.alpha))
        scores, components = (
            None if given is None else np.asarray(given, dtype=np.float64).T for given in (self.U_init, self.V_init)
        )
        D, V = rules.start(x, k, scores, components, rng, "U_init and V_init, transposed,")
        self.error_, outcome = rules.alternate(self, x, D, V, rng)
        self.n_iter_ = len(self.error_)
        return V, D, outcome


class MiniBatchSparsePCA(SparseComponents):
    r"""Mini-batch sparse PCA: sparse components, learnt from batches of columns.

    Objective
    ---------
    .. math:: \min_{U, V} \tfrac12 \|X - U V\|_F^2 + \alpha \|V\|_1, \qquad \|u_j\| \le 1

    as for ``SparsePCA``. Each batch of columns finds its entries of V; then scores move to the best place for running sums over
    batches, in which older ones fade.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of V, or of the scores of a single component, lowers the objective by more
    than this. Batches do not converge to a minimum, so the statement is weaker than that of ``SparsePCA``.

    Cost
    ----
    Two products of a batch of columns with k vectors a step; one copy of X.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import MiniBatchSparsePCA
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(200, 2))
    >>> X = hidden @ [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] + 0.1 * rng.normal(size=(200, 6))
    >>> model = MiniBatchSparsePCA(2, alpha=2.0, random_state=0).fit(X)
    >>> (model.components_ != 0).sum(axis=1)
    array([3, 3])
    """

    n_components: PositiveInt | None = COMPONENTS
    _: KW_ONLY
    alpha: NonNegative = ALPHA
    ridge_alpha: NonNegative = RIDGE_ALPHA
    max_iter: PositiveInt = param(1000, "Most passes over the columns.")
    callback: None = CALLBACK
    batch_size: PositiveInt = param(3, "Columns of a batch.")
    verbose: NonNegativeInt = VERBOSE
    shuffle: bool = param(True, "Whether columns are put in a random order first.")
    n_jobs: int | None = N_JOBS
    method: Literal["lars", "cd"] = METHOD
    random_state: Seed = param(None, "Seed of the order of columns, and of scores that are drawn.")
    tol: NonNegative = param(
        1e-3, "Change of the scores in a step, relative to their number, at which to stop; 0 to go on."
    )
    max_no_improvement: PositiveInt | None = param(
        10, "Steps without a lower smoothed cost after which to stop; None to go on."
    )

    def _learn(self, x: Array, k: int, rng: Any) -> tuple[Array, Array, str]:
        rules = Rules(float(self.alpha))
        D, V = rules.start(x, k, None, None, rng, "Scores and components")
        running = Running(D, np.zeros((k, k)), np.zeros((k, x.shape[1])))
        outcome = learn(self, rules, x, running, rng)
        rules.lower_codes(x, running.D, V, np.einsum("ij,ij->i", x, x), MOST_SWEEPS)
        self.n_iter_ = running.steps
        return V, running.D, outcome

"""Nonnegative matrix factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Probability,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition import _nonnegative as steps
from qed.designs._range import fingerprint, require_range

if TYPE_CHECKING:
    from qed.certificates import Fingerprint
    from qed.decomposition._nonnegative import Factors, Penalty

ONE_ENTRY = "change of a single entry of codes or components"
ONE_STEP = "multiplicative step of the components"
CODE_TOLERANCE = (
    1e-8  # of the null objective: how far codes that are found anew may be from the best ones, in the objective
)


class NonnegativeFactors(Transformer, sparse=True, positive_only=True):
    """What models of nonnegative factors share: codes, reconstructions, and the certificate."""

    if TYPE_CHECKING:
        n_components: Any
        beta_loss: Any
        tol: float
        alpha_W: float
        alpha_H: Any
        l1_ratio: float
        max_iter: int

    components_: Array = fitted("Components H, shape (k, p).", shape="(n_components_, p)", low=0)
    component_norms_: Array = fitted("Length of each component, shape (k,).", shape="(n_components_,)", low=0)
    n_components_: int = fitted("Number of components.", low=1)
    reconstruction_err_: float = fitted(
        "Square root of twice the divergence between the table and its reconstruction: for squared error the length of the"
        " difference.",
        low=0,
        answers=False,
    )
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def _code_steps(self) -> int:
        """Return how many multiplicative steps codes of rows take."""
        return int(self.max_iter)

    def _codes(self, X: Any, penalty: Penalty, W: Array | None = None) -> Array:
        beta = steps.beta_of(self.beta_loss)
        if beta == 2:
            return steps.codes(X, self.components_, penalty, W)
        return steps.multiplied_codes(X, self.components_, beta, penalty, self._code_steps())

    def _let_in(self, X: Any, *, reset: bool = True) -> tuple[Any, Fingerprint]:
        """Check rows, and return them with their fingerprint."""
        data = self._fit_data(X, reset=reset)
        steps.require_loss(data.X, steps.beta_of(self.beta_loss))
        seen = fingerprint(data.X, np.empty((data.X.shape[0], 0)), None)
        require_range(ArraySource(data.X, None, None), seen, centred=False)
        return data.X, seen

    def _store(self, X: Any, found: Factors, penalty: Penalty, seen: Fingerprint) -> Array:
        """Keep the components, find the codes that belong to them, and say what is known."""
        beta = steps.beta_of(self.beta_loss)
        self.components_ = np.ascontiguousarray(found.Ht.T)
        self.component_norms_ = np.sqrt(np.sum(self.components_**2, axis=1))
        self.n_components_ = len(self.components_)
        W = self._codes(X, penalty, found.W)
        if beta == 2:
            end = steps.end_squared(X, W, self.components_, penalty)
        else:
            end = steps.end_multiplied(X, W, self.components_, beta, penalty)
        self.reconstruction_err_ = float(np.sqrt(2 * end.error))
        self.n_iter_ = found.steps
        rounding = CODE_TOLERANCE * max(end.null, end.objective)
        self.certificate_ = StationaryCertificate(
            gap=end.gap + rounding,
            rounding=rounding,
            radius=0.0,
            objective=end.objective if end.objective > rounding else 0.0,
            null_objective=end.null,
            curvature=0.0,
            tol=float(self.tol),
            outcome=found.outcome,
            fingerprint=seen,
            step=ONE_ENTRY if beta == 2 else ONE_STEP,
        )
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        return W

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return the codes of rows: nonnegative, and the best ones for the components.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows without negative entries.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        steps.require_loss(X, steps.beta_of(self.beta_loss))
        # codes of a row do not depend on how many rows there are, so neither does their penalty
        return self._codes(X, steps.Penalty.of(self, 1, X.shape[1])).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their codes, W H.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Codes.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the codes.
        """
        self._check_is_fitted()
        W = np.asarray(X)
        W = W if W.dtype in (np.float32, np.float64) else W.astype(np.float64)
        if W.ndim != 2 or W.shape[1] != self.n_components_:
            raise InvalidData(
                f"{type(self).__name__} has {self.n_components_} components, got codes of shape {W.shape}."
            )
        return _kernels.mapped(W, self.components_)


class NMF(NonnegativeFactors):
    r"""Nonnegative matrix factorisation (NMF): a table X is approximated by W H, both without negative entries.

    Objective
    ---------
    .. math:: d(X, W H) + \alpha_W p \left( \rho \|W\|_1 + \tfrac{1 - \rho}{2} \|W\|_F^2 \right)
        + \alpha_H n \left( \rho \|H\|_1 + \tfrac{1 - \rho}{2} \|H\|_F^2 \right), \quad W, H \ge 0

    with d half the squared distance or another beta-divergence, summed over entries, and :math:`\rho` the ``l1_ratio``. It is not
    convex in both factors together: there may be better ones far away.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of W or H lowers the objective by more than this (squared error); no
    multiplicative step of H does (other divergences). W are the codes that ``transform`` gives the rows of the fit.

    Cost
    ----
    Two products of X with k vectors for four sweeps over all entries (squared error), O((n + p) k) memory beyond X; for other
    divergences about four products with a dense table a step.

    Notes
    -----
    ``solver`` chooses nothing for squared error: coordinate steps lower it faster than multiplicative ones. For other divergences
    steps are multiplicative, whatever it says. ``fit_transform`` gives the codes of ``transform``.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import NMF
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
    >>> model = NMF(1).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-6)
    True
    """

    n_components: PositiveInt | Literal["auto"] | None = param(
        "auto", "How many components; 'auto' takes those of a given W or H, else as many as there are columns."
    )
    _: KW_ONLY
    init: Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"] | None = param(
        None,
        "Where factors begin: at random; from the nonnegative sides of singular vectors, with zeros as they are ('nndsvd'), as"
        " means ('nndsvda') or as small random numbers ('nndsvdar'); 'custom' takes W and H of ``fit_transform``. None takes"
        " 'nndsvda', or 'random' where there are more components than rows or columns.",
    )
    solver: Literal["cd", "mu"] = param("cd", "Solver asked for; see Notes.", kind="hint")
    beta_loss: Literal["frobenius", "kullback-leibler", "itakura-saito"] | Annotated[float, Number()] = param(
        "frobenius", "Divergence: a name, or its number: 2 squared error, 1 Kullback-Leibler, 0 Itakura-Saito."
    )
    tol: NonNegative = param(
        1e-4,
        "Share of the objective: the fit ends where single entries could lower it by no more, all together, and ten steps did not"
        " either; other divergences end where ten steps lower the root of the first one by no more.",
    )
    max_iter: PositiveInt = param(
        200, "Most steps; also those that codes of other divergences than squared error take."
    )
    random_state: Seed = param(None, "Seed of random starts.")
    alpha_W: NonNegative = param(0.0, "Penalty strength on codes, times the number of columns.")
    alpha_H: NonNegative | Literal["same"] = param(
        "same", "Penalty strength on components, times the number of rows; 'same' means ``alpha_W``."
    )
    l1_ratio: Probability = param(0.0, "Share of absolute values in the penalty; the rest are squares.")
    verbose: NonNegativeInt = VERBOSE
    shuffle: bool = param(
        False, "Whether scikit-learn visits coordinates in random order; here in theirs.", kind="hint"
    )

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:  # noqa: ARG002
        """Find the factors.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows without negative entries.
        **params : dict
            ``W`` and ``H`` to begin with, as in ``fit_transform``.
        """
        self._learn(*self._let_in(X), params.get("W"), params.get("H"))
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Find the factors, and return the codes of the rows.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows without negative entries.
        W : array-like of shape (n, k), optional
            Codes to begin with, for ``init="custom"``.
        H : array-like of shape (k, p), optional
            Components to begin with, for ``init="custom"``.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        table, seen = self._let_in(X)
        return self._learn(table, seen, W, H).astype(table.dtype, copy=False)

    def _learn(self, X: Any, seen: Fingerprint, W: Any, H: Any) -> Array:
        n, p = X.shape
        penalty, beta = steps.Penalty.of(self, n, p), steps.beta_of(self.beta_loss)
        W0, Ht0 = begin(self, X, W, H)
        rule = (int(self.max_iter), float(self.tol))
        with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
            if beta == 2:
                found = steps.descend(X, W0, Ht0, penalty, rule, progress)
            else:
                found = steps.multiply(X, W0, np.ascontiguousarray(Ht0.T), beta, penalty, rule, progress)
        return self._store(X, found, penalty, seen)


def begin(model: Any, X: Any, W: Any = None, H: Any = None) -> tuple[Array, Array]:
    """Return where factors begin, W and H'."""
    n, p = X.shape
    custom = model.init == "custom"
    if custom and (W is None or H is None):
        raise InvalidData("init='custom' needs W and H, which fit_transform(X, W=..., H=...) takes.")
    asked = model.n_components
    k = p if asked in ("auto", None) else int(asked)
    if not custom:
        return steps.start(X, k, model.init, generator(model.random_state))
    W0, H0 = (np.array(given, dtype=np.float64, order="C") for given in (W, H))
    k = len(H0) if asked in ("auto", None) else k
    if W0.shape != (n, k) or H0.shape != (k, p):
        raise InvalidData(f"W and H should be of shapes {(n, k)} and {(k, p)}, got {W0.shape} and {H0.shape}.")
    if not (np.isfinite(W0).all() and np.isfinite(H0).all() and W0.min() >= 0 and H0.min() >= 0):
        raise InvalidData("W and H must hold finite numbers without a negative one.")
    return W0, np.ascontiguousarray(H0.T)

"""Nonnegative matrix factorisation, a batch of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Probability,
    Seed,
    fitted,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.core._tables import is_sparse
from qed.decomposition import _nonnegative as steps
from qed.decomposition._nmf import NonnegativeFactors, begin

if TYPE_CHECKING:
    from qed.certificates import Fingerprint


class MiniBatchNMF(NonnegativeFactors):
    r"""Mini-batch NMF: nonnegative matrix factorisation with components learnt from batches of rows.

    Objective
    ---------
    .. math:: d(X, W H) + \alpha_W p \left( \rho \|W\|_1 + \tfrac{1 - \rho}{2} \|W\|_F^2 \right)
        + \alpha_H n \left( \rho \|H\|_1 + \tfrac{1 - \rho}{2} \|H\|_F^2 \right), \quad W, H \ge 0

    as for ``NMF``. Each batch lowers its codes, from those of the pass before, and then moves the components by a multiplicative
    step whose two parts are running sums over batches, older ones fading by ``forget_factor``.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of W or H lowers the objective by more than this (squared error); no
    multiplicative step of H does (other divergences). After ``fit`` it is about all rows, after ``partial_fit`` about those of
    the last call. Batches do not converge to a minimum, so the statement is weaker than that of ``NMF``.

    Cost
    ----
    A few products of a batch with k vectors a step, O((b + p) k) memory beyond X, and one pass over all rows at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import MiniBatchNMF
    >>> X = np.outer(np.arange(1.0, 41.0), [1.0, 0.0, 2.0])
    >>> model = MiniBatchNMF(1, batch_size=10, random_state=0).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-3)
    True
    """

    n_components: PositiveInt | Literal["auto"] | None = param(
        "auto", "How many components; 'auto' takes as many as there are columns."
    )
    _: KW_ONLY
    init: Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"] | None = param(
        None, "Where factors begin, as for ``NMF``."
    )
    batch_size: PositiveInt = param(1024, "Rows of a batch.")
    beta_loss: Literal["frobenius", "kullback-leibler", "itakura-saito"] | Annotated[float, Number()] = param(
        "frobenius", "Divergence: a name, or its number: 2 squared error, 1 Kullback-Leibler, 0 Itakura-Saito."
    )
    tol: NonNegative = param(1e-4, "Relative change of the components in a step at which to stop; 0 to go on.")
    max_no_improvement: PositiveInt | None = param(
        10, "Steps without a lower smoothed cost after which to stop; None to go on."
    )
    max_iter: PositiveInt = param(200, "Most passes over the rows.")
    alpha_W: NonNegative = param(0.0, "Penalty strength on codes, times the number of columns.")
    alpha_H: NonNegative | Literal["same"] = param(
        "same", "Penalty strength on components, times the number of rows; 'same' means ``alpha_W``."
    )
    l1_ratio: Probability = param(0.0, "Share of absolute values in the penalty; the rest are squares.")
    forget_factor: Annotated[float, Number(0, 1)] = param(
        0.7, "How much of older batches remains after as many rows as the table has."
    )
    fresh_restarts: bool = param(
        False,
        "Whether codes of a batch are found again in each pass, instead of going on from those of the pass before; those of other"
        " divergences than squared error always are.",
    )
    fresh_restarts_max_iter: PositiveInt = param(30, "Multiplicative steps for the codes of a batch.")
    transform_max_iter: PositiveInt | None = param(
        None, "Multiplicative steps for codes of other divergences than squared error; None means ``max_iter``."
    )
    random_state: Seed = param(None, "Seed of random starts.")
    verbose: NonNegativeInt = VERBOSE

    n_steps_: int = fitted("Batches seen.", low=0, answers=False)
    running_: Array = fitted(
        "Both parts of the step of the components, summed over batches, shape (2, k, p).",
        shape="(2, n_components_, p)",
        low=0,
        answers=False,
    )

    def _code_steps(self) -> int:
        return int(self.transform_max_iter or self.max_iter)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:  # noqa: ARG002
        """Find the factors, batch by batch.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows without negative entries.
        **params : dict
            ``W`` and ``H`` to begin with, for ``init="custom"``.
        """
        self._learn(*self._let_in(X), params.get("W"), params.get("H"))
        return self

    def _learn(self, X: Any, seen: Fingerprint, W: Any, H: Any) -> None:
        n, p = X.shape
        rows = X.tocsr() if is_sparse(X) else X
        W0, Ht = begin(self, X, W, H)
        components, self.running_, self.n_steps_ = np.ascontiguousarray(Ht.T), np.zeros((2, Ht.shape[1], p)), 0
        size = min(self.batch_size, n)
        fade = self.forget_factor ** (size / n)
        penalty = steps.Penalty.of(self, n, p)
        taken, outcome = 0, "max_iter"
        best, since, smooth = np.inf, 0, None
        try:
            with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
                for taken in range(1, self.max_iter + 1):  # noqa: B007  (counted)
                    for first in range(0, n, size):
                        x = rows[first : first + size]
                        before = components
                        codes = W0[first : first + size]  # from which the next pass goes on
                        if self.fresh_restarts:
                            codes[:] = 0.0
                        components, cost = self._step(x, codes, components, penalty, fade, converge=self.fresh_restarts)
                        smooth = cost if smooth is None else smooth + (cost - smooth) * min(1.0, size / (n + 1))
                        best, since = (smooth, 0) if smooth < best else (best, since + 1)
                        change = float(np.linalg.norm(components - before))
                        quiet = change <= self.tol * float(np.linalg.norm(components))
                        if quiet or (self.max_no_improvement is not None and since >= self.max_no_improvement):
                            outcome = "solved"
                            break
                    if outcome == "solved":
                        break
                    if progress.step(smooth) is STOP:
                        outcome = "stopped"
                        break
        except KeyboardInterrupt:
            outcome = "interrupted"
        found = steps.Factors(W0, np.ascontiguousarray(components.T), taken, outcome)
        self._store(X, found, penalty, seen)

    def _step(
        self, x: Any, codes: Array, H: Array, penalty: steps.Penalty, fade: float, *, converge: bool
    ) -> tuple[Array, float]:
        """Lower codes of a batch, and move the components; return them and the cost of a row before."""
        beta = steps.beta_of(self.beta_loss)
        if beta == 2:
            cost, up, down = steps.squared_slopes(x, codes, H, penalty, converge=converge)
        else:
            W = steps.multiplied_codes(x, H, beta, penalty, self.fresh_restarts_max_iter)
            cost = steps.divergence(x, W, H, beta) + penalty.on_codes(W)
            up, down = steps.component_slopes(x, W, H, beta)
        share = x.shape[0] / max(self.batch_size, 1)
        down += share * (penalty.l1_H + penalty.l2_H * H) / max(1, self.n_steps_ + 1)
        power = steps.power_of(beta)
        self.running_ = fade * self.running_ + np.stack([up * H ** (1 / power), down])
        self.n_steps_ += 1
        moved = (self.running_[0] / np.maximum(self.running_[1], steps.FLOOR)) ** power
        return moved, cost / x.shape[0]

    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:  # noqa: ARG002
        """Take a batch of rows in.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows without negative entries.
        W, H : array-like, optional
            Where factors begin in the first call, for ``init="custom"``.
        """
        is_first = "components_" not in self.__dict__
        x, seen = self._let_in(X, reset=is_first)
        if is_first:
            _, Ht = begin(self, x, W, H)
            components = np.ascontiguousarray(Ht.T)
            self.running_, self.n_steps_ = np.zeros((2, *components.shape)), 0
        else:
            components = self.components_
        penalty = steps.Penalty.of(self, *x.shape)
        codes = np.zeros((x.shape[0], len(components)))
        components, _ = self._step(x, codes, components, penalty, self.forget_factor, converge=True)
        found = steps.Factors(codes, np.ascontiguousarray(components.T), self.n_steps_, "max_iter")
        self._store(x, found, penalty, seen)
        return self

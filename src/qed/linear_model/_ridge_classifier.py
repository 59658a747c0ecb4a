"""Classes by least squares: labels as plus and minus one, and the sign of what is predicted."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import CompositeCertificate
from qed.core import KW_ONLY, Array, NonNegative, PositiveInt, Seed, fitted, param
from qed.core._class_weights import class_factors
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT
from qed.linear_model._classes import LinearClassifier, require_classes
from qed.linear_model._learn_online import stream
from qed.linear_model._ridge import Ridge


class RidgeClassifier(LinearClassifier):
    r"""Classifier by ridge regression on labels of plus and minus one.

    Objective
    ---------
    .. math:: \sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \|w\|^2, \qquad y_i = \pm 1

    once for two classes (the second is +1), and of several classes once for each, which is +1 against all others; the largest
    score wins. A score of zero or less is the first class of two.

    Certificate
    -----------
    CompositeCertificate: that of the least-squares fit inside, ``ridge_``; ``qed.verify`` makes the labels again and checks it.

    Cost
    ----
    That of `Ridge` with as many targets as there are classes: all of them share one pass and one factor.

    See Also
    --------
    RidgeClassifierCV : Chooses the strength.
    LogisticRegression : Probabilities, and no price for being far on the right side.

    Examples
    --------
    >>> from qed.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    max_iter: PositiveInt | None = param(
        None, "Most steps of the iterative solver, which only wide sparse designs need."
    )
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = param(
        "auto",
        "Solver that scikit-learn would use; the optimum is the same, and solver_used_ says what was done.",
        kind="hint",
    )
    positive: bool = param(
        False,
        "Whether coefficients must be nonnegative.",
        kind="refused",
        instead="Use sklearn.linear_model.RidgeClassifier(positive=True).",
    )
    random_state: Seed = param(None, "Seed of scikit-learn's stochastic solvers. Nothing here is random.", kind="hint")
    strict: bool = STRICT

    n_iter_: int = fitted("Steps of the fit inside; 1 if it was solved at once.", low=0, answers=False)
    ridge_: Ridge = fitted("The least-squares fit to the signs.")
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: CompositeCertificate = fitted("What is proved about the fit inside.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        signed = signs_of(self, X, y, sample_weight)
        ridge = self._ridge()
        ridge.fit(signed.X, signed.signs, signed.weight)
        store_signs(self, ridge, signed.classes)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the start.

        Parameters
        ----------
        classes : array-like, optional
            All labels there will be; needed in the first call.
        """
        data, first = stream(self, X, y, sample_weight, classes, "ridge_")
        codes = data.y.astype(np.float64)
        weight = np.ones(data.n_rows) if data.weight is None else data.weight
        factor = class_factors(type(self).__name__, self.class_weight, self.classes_, codes, weight)
        ridge = self._ridge() if first else self.ridge_
        ridge.partial_fit(data.X, _signs(codes, len(self.classes_)), data.weight if factor is None else weight * factor)
        store_signs(self, ridge, self.classes_)
        return self

    def _ridge(self) -> Ridge:
        return Ridge(
            self.alpha, fit_intercept=self.fit_intercept, max_iter=self.max_iter, tol=self.tol, strict=self.strict
        )


class Signed(NamedTuple):
    """Labels as signs, one column for two classes and one a class for more, with the weights of classes taken in."""

    X: Any
    signs: Array
    weight: Array | None
    codes: Array
    classes: Array


def signs_of(model: Any, X: Any, y: Any, sample_weight: Any) -> Signed:
    """Let the data of a fit in, and turn its labels into signs."""
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    data.raise_if_not_finite()
    weight = np.ones(data.n_rows) if data.weight is None else data.weight
    codes = data.y.astype(np.float64)
    name = type(model).__name__
    require_classes(name, data.classes, codes[weight > 0])
    factor = class_factors(name, model.class_weight, data.classes, codes, weight)
    signs = _signs(codes, len(data.classes))
    return Signed(data.X, signs, data.weight if factor is None else weight * factor, data.y, data.classes)


def _signs(codes: Array, n_classes: int) -> Array:
    label = np.ones(1) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes[:, np.newaxis] == label, 1.0, -1.0)


def store_signs(model: Any, ridge: Ridge, classes: Array) -> None:
    """Keep what a classifier takes from the least-squares fit inside."""
    model.ridge_, model.classes_ = ridge, classes
    model.coef_ = np.array(np.atleast_2d(ridge.coef_))
    model.intercept_ = np.broadcast_to(np.asarray(ridge.intercept_, dtype=np.float64), (len(model.coef_),)).copy()
    model.solver_used_ = ridge.solver_used_
    model.certificate_ = CompositeCertificate({"ridge": ridge.certificate_})
    if "n_iter_" in type(model)._results:  # noqa: SLF001
        model.n_iter_ = int(np.max(np.asarray(ridge.n_iter_ if ridge.n_iter_ is not None else 1), initial=1))

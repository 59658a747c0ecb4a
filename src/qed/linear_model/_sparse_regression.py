"""What squared-error models with a sparsifying penalty share: learn, predict, and coefficients as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from qed.certificates import DualityGapCertificate
from qed.convex import Squared
from qed.convex.solvers import CoordinateDescent
from qed.core import Array, InvalidData, Regressor, fitted
from qed.linear_model._inference import refused_table
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_convex
from qed.linear_model._linear import one_for_each_target, predict_linear

if TYPE_CHECKING:
    from qed.convex._penalty import Penalty


MANY = 2**31  # iterates, where the user sets no limit


def require_targets(model: Regressor, y: Array) -> None:
    """Refuse a single target where the model is about several."""
    traits, name = model._traits(), type(model).__name__  # noqa: SLF001
    if y.ndim == 1 and not traits.single_output:
        raise InvalidData(
            f"{name} is for several targets, y of shape (n, m), and got shape {y.shape}. For mono-task outputs use"
            f" {name.removeprefix('MultiTask')}."
        )


class SparseRegression(Regressor, sparse=True, chunks=True, multi_output=True):
    """A regressor whose penalty makes coefficients zero."""

    coef_: Array = fitted("Coefficients, shape (p,) or (m, p).", dtype="float", shape="(p,) or (m, p)")
    intercept_: float | Array = fitted("Intercept, a number or one for each target.", check=one_for_each_target)
    dual_gap_: float | Array = fitted(
        "Bound on objective minus optimum, as in the certificate.", low=0, shape="(m,)", answers=False
    )
    n_iter_: int | list[int] = fitted("Working sets that were solved for.", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source (`qed.scan`) brings its target and weights, and is read again for each step.
        """

        def declare(rows: TrainingData) -> ObjectiveSpec:  # once the door has looked at the parameters
            require_targets(self, rows.y)
            return ObjectiveSpec(Squared(rows.y), self._penalty())

        own = self.__dict__  # judged by the door
        most = MANY if own["max_iter"] is None else own["max_iter"]
        options = FitOptions(own["fit_intercept"], own["tol"], most, own["strict"], own["verbose"])

        try:
            learn_convex(self, X, y, sample_weight, declare=declare, solvers=(CoordinateDescent(),), options=options)
        finally:
            if "certificate_" in self.__dict__:  # also of a fit that was interrupted, or that strict refuses
                self.dual_gap_ = self.certificate_.gap
        return self

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Float32 for float32 rows, float64 otherwise.
        """
        return predict_linear(self, X)

    def coefficient_table(self, level: float = 0.95) -> NoReturn:  # noqa: ARG002
        """Refuse: classical standard errors are valid for least squares without a penalty alone.

        Parameters
        ----------
        level : float
            Probability that an interval would cover its coefficient.

        Raises
        ------
        InvalidData
            With the reason, and what to use instead.
        """
        refused_table(self)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a SciPy CSR matrix of shape (1, p) or (m, p)."""
        self._check_is_fitted()
        from scipy.sparse import csr_matrix  # noqa: PLC0415  (for those who ask)

        return csr_matrix(self.coef_)

    def _penalty(self) -> Penalty:
        """Translate the parameters to a penalty."""
        raise NotImplementedError

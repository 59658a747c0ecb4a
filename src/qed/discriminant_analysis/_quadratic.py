"""Normal classes, each with a covariance of its own: boundaries are quadratic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Probability,
    Vector,
    fitted,
    param,
)
from qed.core._posterior import PosteriorClassifier, by_rows, given_shares
from qed.core._threads import one_blas_thread
from qed.discriminant_analysis._axes import CIRCLE, Axes
from qed.discriminant_analysis._covariances import (
    class_covariances,
    estimate_error,
)
from qed.discriminant_analysis._from_class_moments import FromClassMoments, are_of_its_classes
from qed.discriminant_analysis._kernels import squared_lengths

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.core import FitData
    from qed.data import ClassMoments


ALIKE = 1e3  # largest ratio of deviations of columns for which a covariance is taken apart as it is


def _add_up_to_one(model: Any, priors: Array) -> str:  # noqa: ARG001
    return "" if abs(priors.sum() - 1) < 1e-9 else f"should add up to 1, and add up to {priors.sum():.6g}"


class QuadraticDiscriminantAnalysis(FromClassMoments, PosteriorClassifier, chunks=True):
    r"""Quadratic discriminant analysis (QDA): Gaussian classes, each with its own mean and covariance.

    Objective
    ---------
    .. math::
        \max_{\pi, \mu, \Sigma} \; \sum_i s_i \Big( \log \pi_{y_i} - \frac12 \log \det 2 \pi \Sigma_{y_i}
        - \frac12 (x_i - \mu_{y_i})^\top \Sigma_{y_i}^{-1} (x_i - \mu_{y_i}) \Big)

    at the shares, means and covariances (divided by the number of rows) of the classes. Then ``reg_param`` or ``shrinkage``
    draws the covariances towards simpler ones.

    Certificate
    -----------
    LikelihoodCertificate: shares, means and covariances are the best ones up to rounding, drawn as asked, the log-likelihood is
    as stated, and the axes reproduce the covariances with the stated backward error.

    Cost
    ----
    One pass over the rows, O(n p²), then O(K p³) for K classes; ``shrinkage="auto"`` takes a second pass. Memory O(K p²). A
    prediction O(K p²).

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes.
    qed.naive_bayes.GaussianNB : Columns that are independent within each class.

    Notes
    -----
    ``solver`` names the estimate, as in scikit-learn: ``"svd"`` goes with ``reg_param``, ``"eigen"`` with ``shrinkage``; the
    computation is the same. A class whose covariance has a variance of at most ``tol`` along some direction raises an error, as its
    density would be meaningless there.

    Rows can come in chunks and be added by ``partial_fit``. For that a model keeps its statistic ``moments_``, after ``fit`` if
    it takes no more than 16 MiB.

    Examples
    --------
    >>> from qed.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> model = QuadraticDiscriminantAnalysis().fit([[-1.0], [1.0], [-4.0], [4.0]], ["narrow", "narrow", "wide", "wide"])
    >>> model.predict([[0.0], [3.0], [-3.0]]).tolist()
    ['narrow', 'wide', 'wide']
    """

    _: KW_ONLY
    solver: Literal["svd", "eigen"] = param(
        "svd", "Which regularisation of the covariances is used: reg_param or shrinkage."
    )
    shrinkage: Literal["auto"] | Probability | None = param(
        None,
        "How far covariances are drawn towards equal variances without correlation: a share, 'auto' for that of Ledoit and"
        " Wolf, None for not at all. With solver='eigen'.",
    )
    priors: Vector | None = param(
        None, "Probabilities of the classes, in the order of ``classes_``; None for their shares."
    )
    reg_param: Probability = param(
        0.0, "How far covariances are drawn towards the identity: a share. With solver='svd'."
    )
    store_covariance: bool = param(False, "Whether to keep ``covariance_``.")
    tol: NonNegative = param(1e-4, "Least variance along a direction, after drawing, with which a class is accepted.")
    covariance_estimator: Any = param(
        None,
        "A model that estimates covariances.",
        kind="refused",
        instead="Use shrinkage, or sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis.",
    )

    priors_: Array = fitted("Probability of each class.", shape="(k,)", low=0, check=_add_up_to_one)
    means_: Array = fitted("Mean of each class, (k, p).", shape="(k, p)")
    rotations_: list[Array] = fitted(
        "For each class the axes of its covariance, (p, p), one a column.", length="k", shape="(p, p)"
    )
    scalings_: list[Array] = fitted(
        "For each class the variances along its axes, (p,), the largest first.", length="k", shape="(p,)", above=0
    )
    covariance_: list[Array] = fitted(
        "For each class its covariance, (p, p), if kept.", length="k", shape="(p, p)", optional=True
    )
    moments_: ClassMoments = fitted(
        "The statistic that everything follows from, if kept: more rows are merged into it.",
        optional=True,
        answers=False,
        check=are_of_its_classes,
    )

    def decision_function(self, X: Any) -> Array:
        """Return the logarithms of the posterior up to a number for each row: of two classes their difference.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Of two classes the second against the first, otherwise one column a class.
        """
        if self._is_binary():
            return by_rows(self, X, self._lead)
        return np.asarray(by_rows(self, X, self._comparable) + 0.5 * CIRCLE * self.means_.shape[1])

    def _draw(self, code: Any, stream: Generator) -> Array:
        X = stream.standard_normal((len(code), self.means_.shape[1]))
        for k, (axes, variances) in enumerate(zip(self.rotations_, self.scalings_, strict=True)):
            X[code == k] = self.means_[k] + (X[code == k] * np.sqrt(variances)) @ axes.T
        return X

    @property
    def n_parameters_(self) -> int:
        """Numbers that are learnt: a share less than classes, and for each a mean and a symmetric covariance."""
        k, p = self.means_.shape
        return int(k - 1 + k * p + k * (p * (p + 1) // 2))

    def _learn(self, moments: ClassMoments, classes: Array, data: FitData | None) -> None:
        """Store what follows from the statistic, and what is proved about it."""
        _require_way(self)
        _require_rows(moments, classes)
        k, p = moments.n_classes, moments.n_features
        share = moments.weight / moments.weight.sum()
        prior = share if self.priors is None else given_shares(type(self).__name__, "priors", self.priors, k)
        with one_blas_thread(p * p), np.errstate(divide="ignore"):
            rounding = estimate_error(moments, pooled=False)  # refuses what leaves the range, before it is solved with
            observed, _ = class_covariances(self, moments, None, None)
            drawn = observed
            if self.shrinkage is not None:
                drawn, off = class_covariances(self, moments, data, self.shrinkage)
                rounding = max(rounding, off)
            elif self.reg_param:
                drawn = [(1 - self.reg_param) * one + self.reg_param * np.eye(p) for one in observed]
            variances, axes = _axes_of(np.stack(drawn))
            _require_rank(self, variances, moments, classes)
            _require_told(np.stack(drawn), variances, rounding, classes)
            along = np.einsum("kjr,kjr->kr", np.stack(observed) @ axes, axes)
            densities = -0.5 * (CIRCLE + np.log(variances) + along / variances).sum(axis=1)
            backward = _missed(np.stack(drawn), variances, axes)
            log_prior = np.log(prior)
        self.classes_, self.priors_, self.means_ = classes, prior, moments.mean
        self.scalings_, self.rotations_ = list(variances), list(_signed(axes))
        self.__dict__.pop("covariance_", None)
        if self.store_covariance:
            self.covariance_ = drawn
        changed = ", drawn as asked," if self.shrinkage is not None or self.reg_param else ""
        self.certificate_ = LikelihoodCertificate(
            what=f"Shares, means and covariances of {k} classes{changed}",
            rows=int(moments.rows.sum()),
            log_likelihood=float(share @ (log_prior + densities)),
            rounding=rounding,
            backward_error=backward,
        )

    def _joint(self, rows: Any) -> Array:
        distances = [
            squared_lengths(rows, mean, R / np.sqrt(s))
            for mean, R, s in zip(self.means_, self.rotations_, self.scalings_, strict=True)
        ]
        joint = np.stack(distances, axis=1)
        joint *= -0.5
        joint += self._levels()
        return joint

    def _levels(self) -> Array:
        """Return what joint logarithms are at the means."""
        sizes = [(np.log(s) + CIRCLE).sum() for s in self.scalings_]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.priors_) - 0.5 * np.array(sizes))

    def _rescued(self, rows: Any) -> Array:
        """Compare distances of rows so far away that their squares overflow: in units of the largest of a row."""
        wide = np.longdouble
        z = np.stack(
            [
                (rows.astype(wide) - mean) @ (R / np.sqrt(s)).astype(wide)
                for mean, R, s in zip(self.means_, self.rotations_, self.scalings_, strict=True)
            ],
            axis=1,
        )
        size = np.abs(z).max(axis=(1, 2), keepdims=True)
        square = ((z / size) ** 2).sum(axis=2)
        levels = self._levels()
        possible = np.where(np.isfinite(levels), square, np.inf)
        further = possible - possible.min(axis=1, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.where(further > 0, 0.5 * further * size[:, :, 0] ** 2, 0.0).astype(np.float64)
        return np.asarray(levels - lost)


def _axes_of(covariances: Array) -> tuple[Array, Array]:
    """Return the variances of covariances along their axes, (k, p), the largest first, and the axes, (k, p, p)."""
    deviation = np.sqrt(np.einsum("kjj->kj", covariances))
    alike = deviation.max(axis=1) <= ALIKE * deviation.min(axis=1)
    variances, axes = np.empty_like(deviation), np.empty_like(covariances)
    found, turned = np.linalg.eigh(covariances[alike])
    variances[alike], axes[alike] = np.maximum(found[:, ::-1], 0.0), turned[:, :, ::-1]
    for k in np.flatnonzero(~alike):
        # columns of very different sizes: a factor of the covariance keeps small variances that the covariance itself has lost
        scaled = Axes.of(covariances[k], 0.0)
        factor = scaled.direction * np.sqrt(scaled.variance) * scaled.deviation[:, np.newaxis]
        axes[k], size, _ = np.linalg.svd(factor, full_matrices=True)
        variances[k] = np.concatenate([size**2, np.zeros(len(factor) - len(size))])
    return variances, axes


def _missed(covariances: Array, variances: Array, axes: Array) -> float:
    """Return the largest relative size of what the axes miss of a covariance."""
    missed = np.abs((axes * variances[:, np.newaxis]) @ axes.transpose(0, 2, 1) - covariances).max(axis=(1, 2))
    return float((missed / np.abs(covariances).max(axis=(1, 2), initial=1e-300)).max())


def _require_way(model: QuadraticDiscriminantAnalysis) -> None:
    if model.solver == "svd" and model.shrinkage is not None:
        raise InvalidParameter("shrinkage not supported with 'svd' solver: use solver='eigen', or reg_param.")
    if model.solver == "eigen" and model.reg_param:
        raise InvalidParameter("reg_param goes with solver='svd'; with solver='eigen' use shrinkage.")


def _require_rows(moments: ClassMoments, classes: Array) -> None:
    alone = (moments.rows <= 1) & (moments.weight <= 1)  # a row of weight two is the row twice
    if alone.any():
        k = int(np.flatnonzero(alone)[0])
        have = "only 1 sample" if moments.rows[k] else "no sample"
        raise InvalidData(
            f"y has {have} in class {classes[k]!s}, covariance is ill defined. Pass more rows of that class."
        )


def _require_rank(
    model: QuadraticDiscriminantAnalysis, variances: Array, moments: ClassMoments, classes: Array
) -> None:
    """Refuse classes without any variance along some direction."""
    for k, variance in enumerate(variances):
        if variance[-1] > model.tol:
            continue
        rows, p = int(moments.rows[k]), len(variance)
        way = "reg_param" if model.solver == "svd" else "shrinkage"
        few = f" It has {rows} rows for {p} columns." if rows <= p else ""
        raise InvalidData(
            f"The covariance matrix of class {classes[k]!s} is not full rank: along some direction its variance is"
            f" {variance[-1]:.3g}, and tol={model.tol:g} is not exceeded.{few} Increase {way}, or leave out columns that depend on"
            " others."
        )


def _require_told(covariances: Array, variances: Array, rounding: float, classes: Array) -> None:
    """Refuse classes whose least variance, of columns of variance one, is no more than rounding can make of nothing."""
    most = 4 * covariances.shape[1] * rounding
    for k in np.flatnonzero(variances[:, -1] <= most * variances[:, 0]):
        deviation = np.sqrt(covariances[k].diagonal())
        least = float(np.linalg.eigvalsh(covariances[k] / deviation / deviation[:, np.newaxis])[0])
        if least <= most:
            raise InvalidData(
                f"The covariance matrix of class {classes[k]!s} is not full rank: along some direction of its columns, divided by"
                f" their deviations, the variance is {least:.3g}, and rounding alone makes up to {most:.3g}. Increase reg_param or"
                " shrinkage, or leave out columns that depend on others."
            )


def _signed(axes: Array) -> Array:
    """Turn each axis so that its largest entry is positive: nothing else tells an axis from its opposite."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1, keepdims=True), axis=1)
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))

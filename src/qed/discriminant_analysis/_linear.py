"""Classes with one covariance: hyperplanes between them, and the directions that tell them apart."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import (
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NotSupported,
    PositiveInt,
    Probability,
    Transformer,
    Vector,
    fitted,
    param,
)
from qed.core._posterior import log_posterior, posterior, two_log_shares, two_shares
from qed.core._threads import one_blas_thread
from qed.data import ClassMoments  # noqa: TC001  (read from the annotation)
from qed.discriminant_analysis._axes import Axes
from qed.discriminant_analysis._covariances import (
    class_covariances,
    estimate_error,
    total_covariance,
)
from qed.discriminant_analysis._from_class_moments import FromClassMoments, are_of_its_classes
from qed.discriminant_analysis._kernels import project
from qed.linear_model._classes import LinearClassifier

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.core import FitData


def _has_what_its_solver_leaves(model: Any, means: Array) -> str:  # noqa: ARG001
    needed = {"svd": ("xbar_", "scalings_"), "eigen": ("scalings_",)}.get(model.solver, ())
    lacking = next((name for name in needed if name not in model.__dict__), None)
    return "" if lacking is None else f"goes with {lacking} for solver={model.solver!r}, which is missing"


class LinearDiscriminantAnalysis(
    FromClassMoments, LinearClassifier, Transformer, sparse=False, chunks=True, min_samples=2
):
    r"""Linear discriminant analysis (LDA): Gaussian classes with a common covariance; also supervised dimensionality reduction.

    Objective
    ---------
    .. math::
        \max_{\pi, \mu, \Sigma} \; \sum_i s_i \Big( \log \pi_{y_i} - \frac12 \log \det 2 \pi \Sigma
        - \frac12 (x_i - \mu_{y_i})^\top \Sigma^{-1} (x_i - \mu_{y_i}) \Big)

    at the shares, the means and the covariance within classes, divided by the number of rows. With ``shrinkage`` that
    covariance is drawn towards a simpler one. Scores are :math:`w_k^\top x + b_k` with :math:`\Sigma w_k = \mu_k` up to a
    vector that all classes share.

    Certificate
    -----------
    LikelihoodCertificate: shares, means and covariance are the best ones up to rounding, the log-likelihood is as stated, and
    the coefficients solve their equations with the stated backward error.

    Cost
    ----
    One pass over the rows, O(n p²), then O(p³); ``shrinkage="auto"`` takes a second pass. Memory O(K p²) for K classes.

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for each class.
    qed.linear_model.fisher_discriminant : The best direction between two classes.

    Notes
    -----
    All solvers are one here: the covariance within classes, its columns scaled, is decomposed once. ``solver`` says which of
    scikit-learn's estimates is meant. ``"svd"`` pools all rows and leaves out directions with a deviation of at most ``tol``
    of the scaled columns; ``"lsqr"`` and ``"eigen"`` weight the covariances of the classes by ``priors``, can shrink them, and
    leave out only what cannot be told from rounding. Where classes have given priors these estimates differ.

    Rows can come in chunks and be added by ``partial_fit``. For that a model keeps its statistic ``moments_``, after ``fit`` if
    it takes no more than 16 MiB. ``sample`` draws rows where ``covariance_`` is kept.

    Examples
    --------
    >>> from qed.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, 4.0], [4.0, 6.0]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[1.0, 1.0], [4.0, 5.0]]).tolist()
    [0, 1]
    >>> model.coef_.round(6).tolist(), model.intercept_.round(6).tolist()
    ([[4.5, 4.5]], [-23.25])
    """

    solver: Literal["svd", "lsqr", "eigen"] = param(
        "svd", "Which covariance is meant, and whether ``transform`` is wanted."
    )
    shrinkage: Literal["auto"] | Probability | None = param(
        None,
        "How far covariances are drawn towards equal variances without correlation: a share, 'auto' for that of Ledoit and"
        " Wolf, None for not at all. Not with solver='svd'.",
    )
    priors: Vector | None = param(
        None, "Probabilities of the classes, in the order of ``classes_``; None for their shares."
    )
    n_components: PositiveInt | None = param(
        None,
        "How many directions ``transform`` gives, at most one less than classes and at most the number of columns.",
    )
    store_covariance: bool = param(
        False, "Whether to keep ``covariance_``, weighted by ``priors``, with solver='svd'; the others keep it always."
    )
    tol: NonNegative = param(1e-4, "Least deviation of a direction in scaled columns that solver='svd' keeps.")
    covariance_estimator: Any = param(
        None,
        "A model that estimates covariances.",
        kind="refused",
        instead="Use shrinkage, or sklearn.discriminant_analysis.LinearDiscriminantAnalysis.",
    )

    means_: Array = fitted("Mean of each class, (k, p).", shape="(k, p)", check=_has_what_its_solver_leaves)
    priors_: Array = fitted("Probability of each class.", shape="(k,)", low=0)
    xbar_: Array = fitted(
        "Mean of the means, weighted by their probabilities; for solver='svd'.", shape="(p,)", optional=True
    )
    scalings_: Array = fitted(
        "Directions that separate classes, the best first, scaled to a variance of one; not for 'lsqr'.",
        shape="(p, *)",
        optional=True,
    )
    explained_variance_ratio_: Array = fitted(
        "Share of the variance between classes along each direction; not for 'lsqr'.",
        shape="(*,)",
        optional=True,
        nan=True,
    )
    covariance_: Array = fitted("Covariance within classes, (p, p), if kept.", shape="(p, p)", optional=True)
    moments_: ClassMoments = fitted(
        "The statistic that everything follows from, if kept: more rows are merged into it.",
        optional=True,
        answers=False,
        check=are_of_its_classes,
    )
    certificate_: LikelihoodCertificate = fitted("What is proved about the estimates and the coefficients.")

    def transform(self, X: Any) -> Array:
        """Return the place of each row along the directions that separate the classes best.

        Returns
        -------
        ndarray of shape (n, r)
            Float32 for float32 rows, float64 otherwise; the variance within classes is one along each direction.
        """
        if self.solver == "lsqr":
            raise NotSupported(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen'): it computes hyperplanes, and no projection."
            )
        rows = self._new_data(X)
        centre = self.xbar_ if self.solver == "svd" else np.zeros(self.means_.shape[1])
        return project(rows, centre, self.scalings_[:, : self._n_features_out()])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X).astype(np.float64, copy=False)
        return two_shares(scores) if scores.ndim == 1 else posterior(scores)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, which stay finite where probabilities vanish."""
        scores = self.decision_function(X).astype(np.float64, copy=False)
        return two_log_shares(scores) if scores.ndim == 1 else log_posterior(scores)

    def _draw(self, code: Any, stream: Generator) -> Array:
        if "covariance_" not in self.__dict__:
            raise InvalidParameter(
                "This LinearDiscriminantAnalysis kept no covariance to draw rows from: fit it with store_covariance=True."
            )
        variance, axes = np.linalg.eigh(self.covariance_)  # a covariance may be singular: rows then lie in a subspace
        factor = axes * np.sqrt(np.maximum(variance, 0.0))
        return np.asarray(self.means_[code] + stream.standard_normal((len(code), len(factor))) @ factor.T)

    @property
    def n_parameters_(self) -> int:
        """Numbers that are learnt: a share less than classes, their means, and one symmetric covariance."""
        k, p = self.means_.shape
        return int(k - 1 + k * p + p * (p + 1) // 2)

    def _n_features_out(self) -> int:
        return self._components(*self.means_.shape)

    def _components(self, k: int, p: int) -> int:
        most = min(k - 1, p)
        if self.n_components is not None and self.n_components > most:
            raise InvalidParameter(
                "n_components cannot be larger than min(n_features, n_classes - 1): LinearDiscriminantAnalysis.n_components is"
                f" {self.n_components}, and {most} is the most."
            )
        return most if self.n_components is None else self.n_components

    def _learn(self, moments: ClassMoments, classes: Array, data: FitData | None) -> None:
        """Store what follows from the statistic, and what is proved about it."""
        if self.solver == "svd" and self.shrinkage is not None:
            raise InvalidParameter("shrinkage not supported with 'svd' solver: use solver='lsqr' or 'eigen'.")
        _require_rows(moments, classes)
        components = self._components(len(classes), moments.n_features)
        prior = _priors(self, moments)
        with one_blas_thread(moments.n_features**2):
            found = self._solved(moments, prior, data)
        self.classes_, self.means_, self.priors_ = classes, moments.mean, prior
        for name in ("xbar_", "scalings_", "explained_variance_ratio_", "covariance_"):
            self.__dict__.pop(name, None)
        if self.solver == "svd":
            self.xbar_ = found.centre
        if self.solver != "lsqr":
            self.scalings_, self.explained_variance_ratio_ = found.scalings, found.ratio[:components]
        if self.store_covariance or self.solver != "svd":
            self.covariance_ = found.covariance
        self.coef_, self.intercept_ = np.ascontiguousarray(found.coef), found.intercept
        if len(classes) == 2:  # half the sum of the means lies where only the priors decide
            self.coef_ = found.coef[1:] - found.coef[:1]
            level = np.log(prior[1:]) - np.log(prior[:1])
            self.intercept_ = level - self.coef_ @ (0.5 * (moments.mean[0] + moments.mean[1]))
        self.certificate_ = found.certificate

    def _solved(self, moments: ClassMoments, prior: Array, data: FitData | None) -> _Solved:
        weight, mean = moments.weight, moments.mean
        pooled = moments.pooled() / weight.sum()
        error = estimate_error(moments, pooled=True)
        covariance, whole = pooled, None
        if self.solver != "svd" and (self.priors is not None or self.shrinkage is not None):
            each, off = class_covariances(self, moments, data, self.shrinkage)
            covariance, error = _weighted(prior, each), max(error, off)
        if self.solver == "eigen":
            whole, off = total_covariance(self, moments, data, self.shrinkage)
            error = max(error, off)
        least = float(np.sqrt(4 * moments.n_features * error))
        if self.solver == "svd":
            least = max(self.tol, least)
        axes = Axes.of(covariance, least)
        if not len(axes.variance):
            raise InvalidData(
                "The columns do not vary within the classes, and LinearDiscriminantAnalysis has no density there. Give it rows"
                " that differ, or a single column that tells the classes apart is rule enough."
            )
        centre = prior @ mean
        about = mean - centre if self.solver == "svd" else mean
        W = axes.solve(about)
        b = -0.5 * np.einsum("kj,kj->k", about, W) + np.log(prior)
        if self.solver == "svd":
            b = b - W @ centre
        scalings, ratio = self._directions(moments, prior, axes, None if whole is None else whole - covariance)
        share = weight / weight.sum()
        shrunk = "" if self.shrinkage is None else ", shrunk as asked,"
        certificate = LikelihoodCertificate(
            what=f"Shares and means of {len(prior)} classes and their common covariance{shrunk}",
            rows=int(moments.rows.sum()),
            log_likelihood=float(share @ np.log(prior)) + axes.mean_log_density(pooled),
            rounding=error,
            backward_error=axes.backward_error(covariance, about, W),
        )
        if self.solver == "svd" and self.store_covariance and self.priors is not None:
            covariance = _weighted(prior, class_covariances(self, moments, data, None)[0])
        return _Solved(centre, covariance, W, b, scalings, ratio, certificate)

    def _directions(
        self, moments: ClassMoments, prior: Array, axes: Axes, between: Array | None
    ) -> tuple[Array, Array]:
        """Return the directions with the largest variance between classes, and the shares of that variance."""
        if self.solver == "lsqr":
            return np.empty((0, 0)), np.empty(0)
        whitening = axes.whitening
        if between is None:
            k = len(prior)
            spread = np.sqrt(moments.weight.sum() * prior / (k - 1))[:, np.newaxis]
            _, size, turn = np.linalg.svd(
                spread * (moments.mean - prior @ moments.mean) @ whitening, full_matrices=False
            )
            # directions along which means hardly differ are left out: they would be noise
            kept = int(np.count_nonzero(size > self.tol * size[0]))
            squares, turn = size**2, turn[:kept].T
        else:
            squares, turn = np.linalg.eigh(whitening.T @ between @ whitening)
            squares, turn = squares[::-1], turn[:, ::-1]
        total = float(squares.sum())
        scalings = whitening @ turn
        # The largest entry of each direction is positive: nothing else tells a direction from its opposite.
        scalings *= np.where(scalings[np.abs(scalings).argmax(axis=0), np.arange(scalings.shape[1])] < 0, -1.0, 1.0)
        return scalings, np.asarray(squares / total if total > 0 else np.zeros_like(squares))


class _Solved(NamedTuple):
    """What the estimates give."""

    centre: Array
    covariance: Array
    coef: Array
    intercept: Array
    scalings: Array
    ratio: Array
    certificate: LikelihoodCertificate


def _weighted(prior: Array, covariances: list[Array]) -> Array:
    """Return the mean of covariances by the probabilities of their classes."""
    return np.asarray(np.sum([share * one for share, one in zip(prior, covariances, strict=True)], axis=0))


def _require_rows(moments: ClassMoments, classes: Array) -> None:
    rows = moments.rows
    if not rows.all():
        label = classes[int(np.flatnonzero(rows == 0)[0])]
        label = label.item() if isinstance(label, np.generic) else label
        raise InvalidData(
            f"LinearDiscriminantAnalysis has no row of positive weight in class {label!r}, and no hyperplane for it. Pass rows of"
            " every class."
        )
    if rows.sum() == len(rows) and moments.weight.sum() <= len(rows):
        raise InvalidData(
            f"The number of samples must be more than the number of classes: there are {len(rows)} of both, and a class with"
            " one row shows no spread."
        )


def _priors(model: LinearDiscriminantAnalysis, moments: ClassMoments) -> Array:
    if model.priors is None:
        return np.asarray(moments.weight / moments.weight.sum())
    prior = np.array(model.priors, dtype=np.float64)
    if prior.shape != (moments.n_classes,):
        raise InvalidParameter(
            f"LinearDiscriminantAnalysis.priors holds {prior.size} probabilities, and there are {moments.n_classes} classes."
        )
    if (prior < 0).any():
        raise InvalidParameter(f"priors must be non-negative, got {prior.tolist()!r:.200}.")
    if not prior.all():
        raise InvalidParameter(
            "LinearDiscriminantAnalysis.priors holds a zero: leave out the rows of that class instead."
        )
    if abs(prior.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=5)
        prior = prior / prior.sum()
    return np.asarray(prior)

"""Naive Bayes for measurements: within each class every column is normal, by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import KW_ONLY, Array, InvalidData, NonNegative, Vector, fitted, param
from qed.core._posterior import Generative, given_shares
from qed.data._class_spreads import ClassSpreads
from qed.naive_bayes._kernels import class_distances
from qed.naive_bayes._naive_bayes import NaiveBayes

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.data import Chunk


MIN_SUM_OF_SQUARES = 1e-280  # of sums of squares: what rounds below is far above where float64 loses digits
UNIT = 2.0**-53
CIRCLE = float(np.log(2 * np.pi))


def _adds_up_to_one(model: Any, prior: Array) -> str:  # noqa: ARG001
    return "" if abs(prior.sum() - 1) < 1e-8 else f"should add up to 1, and adds up to {prior.sum():.6g}"


def _has_its_shape(model: Any, moments: ClassSpreads) -> str:
    return "" if moments.mean.shape == model.theta_.shape else f"should be of a table of shape {model.theta_.shape}"


class GaussianNB(NaiveBayes, Generative, chunks=True):
    r"""Naive Bayes with Gaussian distributions: a mean and a variance for each class and column.

    Objective
    ---------
    .. math::
        \max_{\pi, \mu, v} \; \sum_i s_i \Big( \log \pi_{y_i} - \frac12 \sum_j \Big[ \log 2\pi v_{y_i j}
        + \frac{(x_{ij} - \mu_{y_i j})^2 + \varepsilon}{v_{y_i j}} \Big] \Big)

    The likelihood of the rows, each blurred by noise of variance :math:`\varepsilon`, which is ``var_smoothing`` times the
    largest variance of a column. Its maximum is at the shares, means and variances (divided by the number of rows) of the
    classes, with :math:`\varepsilon` added to the latter.

    Certificate
    -----------
    LikelihoodCertificate: shares, means and variances are the best ones up to rounding, and the log-likelihood is as stated.

    Cost
    ----
    One pass over the rows, O(n p), and O(K p) memory for K classes; a prediction O(K p). Rows can come in chunks, be added by
    ``partial_fit`` and taken out again by ``forget``.

    See Also
    --------
    qed.discriminant_analysis.QuadraticDiscriminantAnalysis : Columns that depend on each other within a class.

    Notes
    -----
    Columns need only be independent within each class. Where they are not, probabilities are too near to 0 and 1: a column
    that is there twice counts twice. Rows far from all classes are compared by the logarithms of their densities, with no
    underflow. :math:`\varepsilon` is that of all rows learnt so far, weights included; scikit-learn takes that of the last
    call of ``partial_fit``, without weights.

    Examples
    --------
    >>> from qed.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [3.0], [7.0], [9.0]], ["low", "low", "high", "high"])
    >>> model.predict([[4.0], [6.0]]).tolist()
    ['low', 'high']
    >>> model.predict_proba([[5.0]]).round(3).tolist()
    [[0.5, 0.5]]
    """

    _: KW_ONLY
    priors: Vector | None = param(
        None, "Probabilities of the classes, in the order of ``classes_``; None for their shares."
    )
    var_smoothing: NonNegative = param(
        1e-9, "What is added to variances, as a part of the largest variance of a column."
    )

    class_count_: Array = fitted("Weight of the rows of each class.", shape="(k,)", low=0)
    class_prior_: Array = fitted("Probability of each class.", shape="(k,)", low=0, check=_adds_up_to_one)
    theta_: Array = fitted("Mean of each column in each class, (k, p).", shape="(k, p)")
    var_: Array = fitted(
        "Variance of each column in each class, ``epsilon_`` included, (k, p).", shape="(k, p)", above=0
    )
    epsilon_: float = fitted("What was added to the variances.", low=0)
    moments_: ClassSpreads = fitted(
        "The statistic that everything follows from; more rows are merged into it.", check=_has_its_shape, answers=False
    )

    def _counted(self, chunk: Chunk, n_classes: int) -> ClassSpreads:
        return ClassSpreads.of(chunk, n_classes)

    def _class_shares(self) -> Array:
        return self.class_prior_

    def _draw(self, code: Any, stream: Generator) -> Array:
        noise = stream.standard_normal((len(code), self.theta_.shape[1]))
        return np.asarray(self.theta_[code] + noise * np.sqrt(self.var_[code]))

    @property
    def n_parameters_(self) -> int:
        """Numbers that are learnt: a share less than classes, and a mean and a variance for each class and column."""
        k, p = self.theta_.shape
        return int(k - 1 + 2 * k * p)

    def _learn(self, moments: ClassSpreads, classes: Array) -> None:
        """Store the parameters that follow from the statistic, and what is proved about them."""
        name = type(self).__name__
        if not moments.rows.any():
            raise InvalidData(f"{name} has no row of positive weight to learn from.")
        k = len(classes)
        weight = moments.weight[:, np.newaxis]
        divisor = np.where(weight > 0, weight, 1.0)
        with np.errstate(over="ignore"):  # refused in words right below
            widest = float(moments.variance_of_all().max())
            epsilon = self.var_smoothing * widest
            variance = moments.spread / divisor + epsilon
        share = moments.weight / moments.weight.sum()
        prior = share if self.priors is None else given_shares(name, "priors", self.priors, k)
        _require_range(self, widest, moments)
        _require_variances(self, variance, moments, classes)
        self.classes_, self.class_count_, self.class_prior_ = classes, moments.weight.copy(), prior
        self.theta_, self.var_, self.epsilon_ = moments.mean.copy(), variance, epsilon
        self.moments_ = moments
        deviation = np.sqrt(variance)
        of_mean = moments.mean_rounding * np.sqrt(moments.peak / divisor) + UNIT * np.abs(moments.mean)
        of_variance = (moments.rounding * moments.peak / divisor + 4 * UNIT * variance) / variance
        with np.errstate(divide="ignore"):
            level = np.log(np.where(moments.rows > 0, prior, 1.0))
        each = level - 0.5 * (np.log(variance) + CIRCLE + moments.spread / divisor / variance).sum(axis=1)
        self.certificate_ = LikelihoodCertificate(
            what=f"Shares, means and variances of {k} classes" + (f" plus {epsilon:.3g}" if epsilon else ""),
            rows=int(moments.rows.sum()),
            log_likelihood=float((share * each)[moments.rows > 0].sum()),
            rounding=float(np.maximum(of_mean / deviation, of_variance).max()),
        )

    def _joint(self, rows: Any) -> Array:
        joint = class_distances(rows, self.theta_, 1 / np.sqrt(self.var_))
        joint *= -0.5
        joint += self._levels()
        return joint

    def _levels(self) -> Array:
        """Return what joint logarithms are at the means."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.class_prior_) - 0.5 * (np.log(self.var_) + CIRCLE).sum(axis=1))

    def _rescued(self, rows: Any) -> Array:
        """Compare rows so far away that their squares overflow, by differences from the first class that do not cancel.

        With z the scaled deviations from the mean of a class, the difference of two squared lengths is the sum of
        ``(z - z0) (z + z0)``; where variances are equal, ``z - z0`` does not depend on the row.
        """
        wide = np.longdouble
        x = rows.astype(wide)[:, np.newaxis, :]
        scale = 1 / np.sqrt(self.var_.astype(wide))
        centre = self.theta_ * scale
        apart = x * (scale - scale[0]) - (centre - centre[0])
        around = x * (scale + scale[0]) - (centre + centre[0])
        relative = self._levels() - 0.5 * (apart * around).sum(axis=2)
        with np.errstate(over="ignore"):
            return np.asarray(relative - relative.max(axis=1, keepdims=True), dtype=np.float64)


def _require_range(model: GaussianNB, widest: float, moments: ClassSpreads) -> None:
    """Refuse weights that make sums of squares vanish although variances do not."""
    least = float(moments.weight[moments.rows > 0].min())
    if widest > 0.0 and not least * widest > MIN_SUM_OF_SQUARES:
        raise InvalidData(
            f"The rows of a class weigh {least:.3g} together, and the largest variance is {widest:.3g}: their product underflows"
            f" float64, and {type(model).__name__} cannot tell variances. Multiply weights or columns by a constant first."
        )


def _require_variances(model: GaussianNB, variance: Array, moments: ClassSpreads, classes: Array) -> None:
    """Refuse a variance of zero: a density would be infinite there, and zero everywhere else."""
    if not np.isfinite(variance).all():
        raise InvalidData(
            f"Sums of squares overflow float64: {type(model).__name__} cannot hold these variances. Divide the columns by a"
            " power of ten."
        )
    if ((variance > 0) & (variance < np.finfo(np.float64).tiny)).any():
        raise InvalidData(
            f"A variance is {variance[variance > 0].min():.3g}, less than float64 holds in full: {type(model).__name__} cannot tell"
            " such variances apart. Multiply the columns by a power of ten."
        )
    flat = (variance <= 0) & (moments.rows > 0)[:, np.newaxis]
    if not flat.any():
        variance[variance <= 0] = 1.0  # of a class that has no rows yet: its share is zero
        return
    k, j = map(int, np.argwhere(flat)[0])
    name = type(model).__name__
    if moments.rows.sum() == 1:
        raise InvalidData(f"{name} got 1 sample, and one sample has no variance. Pass more rows.")
    label = classes[k].item() if isinstance(classes[k], np.generic) else classes[k]
    instead = "leave out columns that are constant" if model.var_smoothing else "give var_smoothing a value above zero"
    raise InvalidData(
        f"The variance of column {j} within class {label!r} is zero, and {name} has no density there: {instead}."
    )

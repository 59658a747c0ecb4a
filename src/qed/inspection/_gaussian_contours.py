"""Gaussian densities over two columns, drawn as the ellipses that hold given shares of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.core._canvas import Display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

SHARES = (0.5, 0.9)
GRID = 200


def ellipse(mean: Array, covariance: Array, share: float, points: int = 121) -> Array:
    """Return points of the ellipse that holds a share of a Gaussian in two dimensions, (points, 2).

    The squared distance of such a Gaussian from its mean is exponential: a share s lies within -2 log(1 - s).
    """
    angle = np.linspace(0.0, 2.0 * np.pi, points)
    values, vectors = np.linalg.eigh(np.asarray(covariance, dtype=np.float64))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(
        mean + np.sqrt(-2.0 * np.log1p(-share)) * np.column_stack([np.cos(angle), np.sin(angle)]) @ root.T
    )


def draw_ellipses(
    ax: Any, mean: Array, covariance: Array, *, colour: str, shares: Sequence[float] = SHARES
) -> list[Any]:
    """Draw the ellipses of one Gaussian; inner ones are thicker."""
    widths = np.linspace(1.8, 0.9, len(shares)) if len(shares) > 1 else [1.4]
    return [
        ax.plot(*ellipse(mean, covariance, share).T, color=colour, linewidth=width)[0]
        for share, width in zip(sorted(shares), widths, strict=True)
    ]


def gaussians_of(model: Any) -> list[tuple[Array, Array]]:
    """Return mean and covariance of each Gaussian of a fitted model.

    Mixtures have a Gaussian for each component, Gaussian classifiers for each class, covariance estimators and multivariate
    Gaussians one.
    """
    if hasattr(model, "theta_") and hasattr(model, "var_"):  # naive Bayes
        return [(mean, np.diag(variance)) for mean, variance in zip(model.theta_, model.var_, strict=True)]
    if hasattr(model, "means_"):
        found = getattr(model, "covariances_", getattr(model, "covariance_", None))
        if found is None:
            raise InvalidParameter(
                f"{type(model).__name__} has not stored its covariances. Fit it with store_covariance=True."
            )
        return [(mean, _square(found, at, model.means_.shape)) for at, mean in enumerate(model.means_)]
    if hasattr(model, "location_"):
        return [(np.asarray(model.location_), np.asarray(model.covariance_))]
    if hasattr(model, "mean") and hasattr(model, "covariance"):
        mean, covariance = (one() if callable(one) else one for one in (model.mean, model.covariance))
        return [(np.asarray(mean), np.asarray(covariance))]
    raise InvalidParameter(
        f"{type(model).__name__} has no Gaussians to draw. Take a mixture, a Gaussian classifier or a covariance estimator, fitted."
    )


def _square(found: Any, at: int, shape: tuple[int, int]) -> Array:
    """Return the covariance matrix of one component, whatever structure the model gives its covariances."""
    k, p = shape
    if isinstance(found, list):
        return np.asarray(found[at])
    values = np.asarray(found)
    if values.shape == (k, p, p):
        return np.asarray(values[at])
    if values.ndim == 1:  # spherical
        return np.asarray(values[at] * np.eye(p))
    # of as many components as columns, one matrix for all is symmetric, and variances are hardly so
    is_shared = values.shape == (p, p) and (k != p or np.allclose(values, values.T))
    return values if is_shared else np.diag(values[at])


class GaussianContourDisplay(Display):
    """Ellipses that hold given shares of Gaussian densities over two columns.

    Parameters
    ----------
    means : array-like of shape (k, 2)
        Means.
    covariances : array-like of shape (k, 2, 2)
        Covariances.
    shares : sequence of float
        What the ellipses hold of each Gaussian.
    names : sequence of str, optional
        Names of the Gaussians.

    Attributes
    ----------
    ax_, figure_, lines_
        What matplotlib drew: for each Gaussian a line for each share.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.inspection import GaussianContourDisplay
    >>> from qed.mixture import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> display = GaussianContourDisplay.from_estimator(GaussianMixture(2, random_state=0).fit(X), X)
    >>> [len(lines) for lines in display.lines_]
    [2, 2]
    """

    ax_: Any
    figure_: Any
    lines_: list[list[Any]]

    def __init__(
        self, *, means: Any, covariances: Any, shares: Sequence[float] = SHARES, names: Sequence[str] = ()
    ) -> None:
        self.means, self.covariances = np.asarray(means, np.float64), np.asarray(covariances, np.float64)
        if self.means.ndim != 2 or self.means.shape[1] != 2 or self.covariances.shape != (len(self.means), 2, 2):
            raise InvalidData(
                f"Contours are drawn of Gaussians over two columns, got shapes {self.means.shape} and {self.covariances.shape}."
            )
        if not all(0 < share < 1 for share in shares):
            raise InvalidParameter(f"shares must lie between 0 and 1, got {list(shares)}.")
        self.shares, self.names = sorted(shares), list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, shares: Sequence[float] = SHARES, ax: Any = None) -> Self:
        """Draw the Gaussians of a fitted model.

        Parameters
        ----------
        estimator : fitted model
            A mixture, a Gaussian classifier, a covariance estimator or a multivariate Gaussian, of two columns.
        X : array-like of shape (n, 2), optional
            Rows, drawn as grey points.
        shares : sequence of float
            What the ellipses hold of each Gaussian.
        """
        found = gaussians_of(estimator)
        names = [str(one) for one in getattr(estimator, "classes_", [])]
        made = cls(means=[mean for mean, _ in found], covariances=[one for _, one in found], shares=shares, names=names)
        made.plot(ax)
        if X is not None:
            made.ax_.scatter(*np.asarray(X, np.float64).T, s=8, color=_canvas.GREY, alpha=0.5, zorder=0)
        return made

    def plot(self, ax: Any = None) -> Self:
        """Draw the ellipses."""
        self.ax_, self.figure_ = _canvas.axes(ax)
        self.lines_ = []
        for at, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            colour = _canvas.CURVES[at % len(_canvas.CURVES)]
            self.lines_.append(draw_ellipses(self.ax_, mean, covariance, colour=colour, shares=self.shares))
            self.ax_.plot(*mean, "x", color=colour, markersize=7)
            if self.names:
                self.lines_[-1][0].set_label(self.names[at])
        _canvas.legend(self.ax_, "best")
        _canvas.bare(self.ax_)
        return self


class ClassDensityDisplay(Display):
    """The densities of classes over two columns, and where one class becomes more probable than the others.

    Parameters
    ----------
    contours : GaussianContourDisplay
        The density of each class.
    xx0, xx1 : ndarray of shape (m, m)
        A grid.
    log_shares : ndarray of shape (m, m, k)
        Logarithms of the probabilities of the classes at the grid.
    rows, labels : ndarray
        The rows, and the class of each, as numbers.

    Attributes
    ----------
    ax_, figure_, boundaries_, points_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> from qed.inspection import ClassDensityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X[:, :2], y)
    >>> display = ClassDensityDisplay.from_estimator(model, X[:, :2], y)
    >>> len(display.boundaries_)
    3
    """

    ax_: Any
    figure_: Any
    boundaries_: list[Any]
    points_: list[Any]

    def __init__(
        self, *, contours: GaussianContourDisplay, xx0: Any, xx1: Any, log_shares: Any, rows: Any, labels: Any
    ) -> None:
        self.contours, self.xx0, self.xx1, self.log_shares = contours, xx0, xx1, log_shares
        self.rows, self.labels = rows, labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, shares: Sequence[float] = SHARES, ax: Any = None
    ) -> Self:
        """Draw the classes of a fitted Gaussian classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Gaussian naive Bayes, or linear or quadratic discriminant analysis that stores its covariances, of two columns.
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        shares : sequence of float
            What the ellipses hold of each class.
        """
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InvalidData(f"Class densities are drawn over two columns, got shape {rows.shape}.")
        found = gaussians_of(estimator)
        names = [str(one) for one in estimator.classes_]
        contours = GaussianContourDisplay(
            means=[mean for mean, _ in found], covariances=[one for _, one in found], shares=shares, names=names
        )
        every = np.vstack([rows, *(ellipse(mean, covariance, max(shares)) for mean, covariance in found)])
        room = 0.04 * np.ptp(every, axis=0)
        low, high = every.min(axis=0) - room, every.max(axis=0) + room
        xx0, xx1 = np.meshgrid(*(np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)))
        logs = np.asarray(estimator.predict_log_proba(np.column_stack([xx0.ravel(), xx1.ravel()])))
        labels = np.searchsorted(estimator.classes_, np.asarray(y))
        return cls(
            contours=contours, xx0=xx0, xx1=xx1, log_shares=logs.reshape(*xx0.shape, -1), rows=rows, labels=labels
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw rows, ellipses and boundaries."""
        self.contours.plot(ax)
        self.ax_, self.figure_ = self.contours.ax_, self.contours.figure_
        k = self.log_shares.shape[2]
        self.points_ = [
            self.ax_.scatter(
                *self.rows[self.labels == at].T, s=7, alpha=0.6, color=_canvas.CURVES[at % len(_canvas.CURVES)]
            )
            for at in range(k)
        ]
        self.boundaries_ = []
        for at in range(k):
            # how far a class is ahead of the best of the others: zero on its boundary
            ahead = self.log_shares[:, :, at] - np.delete(self.log_shares, at, axis=2).max(axis=2)
            self.boundaries_.append(
                self.ax_.contour(self.xx0, self.xx1, ahead, [0.0], colors="#22252a", linewidths=1.1)
            )
        return self

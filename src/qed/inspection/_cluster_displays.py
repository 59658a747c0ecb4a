"""Clusters, drawn: silhouettes, Voronoi cells, embeddings, and iterative fits step by step."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.core._canvas import Display
from qed.inspection._gaussian_contours import draw_ellipses, gaussians_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

GRID = 240  # points of a grid in each direction
MARKERS = "o^sDPv"  # of groups beyond the colours, which begin anew: each colour in one shape after the other


def colour_of(group: int) -> str:
    """Return the colour of a group."""
    return _canvas.CURVES[group % len(_canvas.CURVES)]


def marker_of(group: int) -> str:
    """Return the shape of the points of a group: no two of the first 36 have both colour and shape in common."""
    return MARKERS[group // len(_canvas.CURVES) % len(MARKERS)]


def _two_columns(X: Any, what: str) -> tuple[Array, list[str]]:
    names = [str(name) for name in getattr(X, "columns", [])] or ["", ""]
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.isfinite(rows).all():
        raise InvalidData(f"{what} is drawn over two columns of finite numbers, got shape {rows.shape}.")
    return rows, names


class SilhouetteDisplay(Display):
    """The silhouette of each row, cluster by cluster, largest first; the dashed line is the mean.

    Parameters
    ----------
    silhouettes : array-like of shape (n,)
        A silhouette for each row, between -1 and 1.
    labels : array-like of shape (n,)
        The cluster of each row.

    Attributes
    ----------
    ax_, figure_, shapes_, line_
        What matplotlib drew: a shape for each cluster, and the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.cluster import KMeans
    >>> from qed.inspection import SilhouetteDisplay
    >>> X = np.array([[0.0], [0.2], [5.0], [5.1], [5.3]])
    >>> display = SilhouetteDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
    >>> len(display.shapes_)
    2
    """

    ax_: Any
    figure_: Any
    shapes_: list[Any]
    line_: Any

    def __init__(self, *, silhouettes: Any, labels: Any) -> None:
        self.silhouettes, self.labels = np.asarray(silhouettes, dtype=np.float64), np.asarray(labels)
        if self.silhouettes.ndim != 1 or self.silhouettes.shape != self.labels.shape:
            raise InvalidData(
                f"There must be a silhouette and a label for each row, got {self.silhouettes.shape} and {self.labels.shape}."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, metric: Any = "euclidean", ax: Any = None) -> Self:
        """Draw the silhouettes of the clusters that a fitted model gives to rows.

        Parameters
        ----------
        estimator : fitted clustering
            With ``predict``, or with ``labels_`` of these rows.
        X : array-like of shape (n, p)
            Rows.
        metric : str or callable
            Distance.
        """
        labels = estimator.predict(X) if hasattr(estimator, "predict") else estimator.labels_
        return cls.from_labels(X, labels, metric=metric, ax=ax)

    @classmethod
    def from_labels(cls, X: Any, labels: Any, *, metric: Any = "euclidean", ax: Any = None) -> Self:
        """Draw the silhouettes of rows with given clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows.
        labels : array-like of shape (n,)
            The cluster of each row.
        metric : str or callable
            Distance.
        """
        from qed.metrics import silhouette_samples  # noqa: PLC0415  figures of given numbers do not need it

        return cls(silhouettes=silhouette_samples(X, labels, metric=metric), labels=labels).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the silhouettes."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 4.6))
        groups = np.unique(self.labels)
        gap = max(1.0, 0.02 * len(self.labels))
        top, ticks = 0.0, []
        self.shapes_ = []
        for at, group in enumerate(groups):
            own = np.sort(self.silhouettes[self.labels == group])[::-1]
            places = top + np.arange(len(own) + 1)
            self.shapes_.append(
                self.ax_.fill_betweenx(
                    places, 0.0, np.append(own, own[-1]), step="post", color=colour_of(at), linewidth=0
                )
            )
            ticks.append(top + len(own) / 2)
            top += len(own) + gap
        mean = float(self.silhouettes.mean())
        self.line_ = self.ax_.axvline(mean, color=_canvas.GREY, linestyle="--", label=f"mean {mean:.2f}")
        self.ax_.set(
            xlabel="silhouette", ylabel="cluster", xlim=(min(0.0, self.silhouettes.min()), 1.0), ylim=(top, -gap)
        )
        self.ax_.set_yticks(ticks, [str(group) for group in groups])
        _canvas.bare(self.ax_)
        _canvas.legend(self.ax_, "lower right")
        return self


class VoronoiDisplay(Display):
    """The cells of a clustering with centres over two columns: every point belongs to its nearest centre.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (m, m)
        A grid.
    cells : ndarray of int of shape (m, m)
        The cluster of each point of the grid.
    centres : ndarray of shape (k, 2)
        The centres.
    rows, labels : ndarray
        The rows, and the cluster of each.
    xlabel, ylabel : str
        Names of the columns.

    Attributes
    ----------
    ax_, figure_, surface_, points_, centres_
        What matplotlib drew.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.cluster import KMeans
    >>> from qed.inspection import VoronoiDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> VoronoiDisplay.from_estimator(KMeans(4, random_state=0).fit(X), X).centres.shape
    (4, 2)
    """

    ax_: Any
    figure_: Any
    surface_: Any
    points_: Any
    centres_: Any

    def __init__(
        self,
        *,
        xx0: Any,
        xx1: Any,
        cells: Any,
        centres: Any,
        rows: Any,
        labels: Any,
        xlabel: str = "",
        ylabel: str = "",
    ) -> None:
        self.xx0, self.xx1, self.cells, self.centres = xx0, xx1, cells, np.asarray(centres)
        self.rows, self.labels, self.xlabel, self.ylabel = rows, labels, xlabel, ylabel

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the cells of a fitted k-means, k-medoids or other clustering with centres.

        Parameters
        ----------
        estimator : fitted clustering
            With ``predict`` and ``cluster_centers_``, of two columns.
        X : array-like of shape (n, 2)
            Rows.
        """
        rows, names = _two_columns(X, "A Voronoi diagram")
        if not hasattr(estimator, "cluster_centers_"):
            raise InvalidParameter(f"{type(estimator).__name__} has no centres: take k-means or k-medoids.")
        room = 0.08 * (np.ptp(rows, axis=0) + 1e-12)
        low, high = rows.min(axis=0) - room, rows.max(axis=0) + room
        xx0, xx1 = np.meshgrid(*(np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)))
        with warnings.catch_warnings():  # the grid has no names, whatever the rows of the fit had
            warnings.simplefilter("ignore")
            cells = np.asarray(estimator.predict(np.column_stack([xx0.ravel(), xx1.ravel()]))).reshape(xx0.shape)
        made = cls(
            xx0=xx0, xx1=xx1, cells=cells, centres=estimator.cluster_centers_, rows=rows, labels=estimator.predict(X),
            xlabel=names[0], ylabel=names[1],
        )  # fmt: skip
        return made.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw cells, rows and centres."""
        self.ax_, self.figure_ = _canvas.axes(ax)
        k = len(self.centres)
        colours = [colour_of(group) for group in range(k)]
        self.surface_ = self.ax_.contourf(
            self.xx0, self.xx1, self.cells, levels=np.arange(k + 1) - 0.5, colors=colours, alpha=0.18
        )
        for group in range(k):  # a line for each cell: numbers of clusters between two others would add false ones
            self.ax_.contour(self.xx0, self.xx1, self.cells == group, levels=[0.5], colors=_canvas.GREY, linewidths=0.8)
        self.points_ = self.ax_.scatter(*self.rows.T, s=9, color=[colour_of(int(one)) for one in self.labels])
        self.centres_ = self.ax_.scatter(
            *self.centres.T, s=110, marker="X", color=colours, edgecolor="#22252a", zorder=3
        )
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)
        _canvas.bare(self.ax_)
        return self


class EmbeddingDisplay(Display):
    """Rows as points with two coordinates, coloured by a label or a number; the title says how far neighbourhoods are kept.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Coordinates.
    target : array-like of shape (n,), optional
        What colours the points: labels, or numbers with more than ten different values.
    trustworthiness, continuity : float, optional
        How far neighbourhoods are kept.

    Attributes
    ----------
    ax_, figure_, points_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.decomposition import PCA
    >>> from qed.inspection import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(PCA(2).fit(X), X, y)
    >>> display.points.shape, display.trustworthiness > 0.9
    ((150, 2), True)
    """

    ax_: Any
    figure_: Any
    points_: list[Any]

    def __init__(
        self,
        *,
        points: Any,
        target: Any = None,
        trustworthiness: float | None = None,
        continuity: float | None = None,
    ) -> None:
        self.points = np.asarray(points, dtype=np.float64)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise InvalidData(f"Points need two coordinates each, got shape {self.points.shape}.")
        self.target = None if target is None else np.asarray(target)
        if self.target is not None and self.target.shape != (len(self.points),):
            raise InvalidData(f"There are {len(self.points)} points, and target has shape {self.target.shape}.")
        self.trustworthiness, self.continuity = trustworthiness, continuity

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, target: Any = None, *, n_neighbors: int = 5, ax: Any = None
    ) -> Self:
        """Draw the rows of a fit.

        Parameters
        ----------
        estimator : fitted embedding
            With ``embedding_`` of these rows, or ``transform``; its first two coordinates are drawn.
        X : array-like of shape (n, p)
            The rows of the fit.
        target : array-like of shape (n,), optional
            What colours the points.
        n_neighbors : int
            Neighbours that are compared for trustworthiness and continuity.
        """
        from qed.manifold import continuity, trustworthiness  # noqa: PLC0415  figures of given points do not need them

        points = getattr(estimator, "embedding_", None)
        points = np.asarray(estimator.transform(X) if points is None else points)
        if points.ndim != 2 or points.shape[1] < 2:
            raise InvalidData(f"An embedding in two coordinates is drawn, and this one has shape {points.shape}.")
        points = points[:, :2]
        both = (function(X, points, n_neighbors=n_neighbors) for function in (trustworthiness, continuity))
        return cls(
            points=points, target=target, **dict(zip(("trustworthiness", "continuity"), both, strict=True))
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the points."""
        self.ax_, self.figure_ = _canvas.axes(ax)
        values = self.target
        if values is None:
            self.points_ = [self.ax_.scatter(*self.points.T, s=12, color=_canvas.BLUE)]
        elif values.dtype.kind in "fiu" and len(np.unique(values)) > 10:
            self.points_ = [self.ax_.scatter(*self.points.T, s=12, c=values, cmap="viridis")]
            self.figure_.colorbar(self.points_[0], ax=self.ax_, shrink=0.8)
        else:
            self.points_ = [
                self.ax_.scatter(
                    *self.points[values == one].T, s=12, color=colour_of(at), marker=marker_of(at), label=str(one)
                )
                for at, one in enumerate(np.unique(values))
            ]
            _canvas.legend(self.ax_, "best")
        if self.trustworthiness is not None and self.continuity is not None:
            self.ax_.set_title(
                f"trustworthiness {self.trustworthiness:.3f}, continuity {self.continuity:.3f}", fontsize=9
            )
        self.ax_.set(xlabel="first coordinate", ylabel="second coordinate")
        _canvas.bare(self.ax_)
        return self


class FitStepsDisplay(Display):
    """An iterative clustering after some of its steps: Lloyd's k-means, or EM of a Gaussian mixture.

    Every panel shows the rows in the colours of their clusters (of mixtures mixed by their probabilities), centres with the way
    they have come, and for mixtures the ellipses that hold 50 and 90 % of each component.

    Parameters
    ----------
    fits : list of fitted models
        The model after each number of steps.
    steps : sequence of int
        These numbers.
    rows : ndarray of shape (n, 2)
        The rows.
    xlabel, ylabel : str
        Names of the columns.

    Attributes
    ----------
    axes_, figure_
        What matplotlib drew on.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.cluster import KMeans
    >>> from qed.inspection import FitStepsDisplay
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> display = FitStepsDisplay.from_estimator(KMeans(3, init="random", n_init=1, random_state=0), X, steps=(1, 2, 5))
    >>> len(display.axes_)
    3
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, *, fits: list[Any], steps: Sequence[int], rows: Any, xlabel: str = "", ylabel: str = "") -> None:
        self.fits, self.steps, self.rows, self.xlabel, self.ylabel = fits, list(steps), np.asarray(rows), xlabel, ylabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, steps: Sequence[int] = (1, 2, 3, 5, 10, 30), axes: Any = None
    ) -> Self:
        """Fit a clustering for different numbers of steps from the same start, and draw them.

        Parameters
        ----------
        estimator : KMeans or GaussianMixture
            Its ``random_state`` must be a number, so that every fit has the same start.
        X : array-like of shape (n, 2)
            Rows.
        steps : sequence of int
            After how many steps to draw; in a new figure the first at which the fit rests is the last.
        axes : list of matplotlib Axes, optional
            One for each; a new figure when left out.

        Returns
        -------
        FitStepsDisplay
            With what was drawn.
        """
        rows, names = _two_columns(X, "A fit step by step")
        given = estimator.get_params(deep=False)
        if not isinstance(given.get("random_state"), int | np.integer) or "max_iter" not in given:
            raise InvalidParameter(
                "Steps need an estimator with max_iter and a number as random_state: the same start each time."
            )
        if not len(steps) or min(steps) < 1:
            raise InvalidParameter(f"steps must be numbers of at least 1, got {list(steps)}.")
        given = {name: value for name, value in given.items() if name != "warm_start"} | {"n_init": 1}
        with warnings.catch_warnings():  # stopping early is the point
            warnings.simplefilter("ignore")
            fits = [type(estimator)(**{**given, "max_iter": int(step)}).fit(X) for step in steps]
        if axes is None:
            resting = next(
                (at for at, (fit, step) in enumerate(zip(fits, steps, strict=True)) if fit.n_iter_ < step), len(fits)
            )
            fits, steps = fits[: resting + 1], list(steps)[: resting + 1]
        return cls(fits=fits, steps=steps, rows=rows, xlabel=names[0], ylabel=names[1]).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw all panels.

        Parameters
        ----------
        axes : list of matplotlib Axes, optional
            One for each number of steps; a new figure when left out.

        Returns
        -------
        self
            With what was drawn.
        """
        if axes is None:
            columns = min(3, len(self.steps))
            lines = -(-len(self.steps) // columns)
            axes, self.figure_ = _canvas.panels(len(self.steps), columns, size=(3.2 * columns, 3.0 * lines))
        else:
            axes = list(np.ravel(axes))
            self.figure_ = axes[0].figure
        if len(axes) != len(self.steps):
            raise InvalidParameter(f"There are {len(self.steps)} numbers of steps and {len(axes)} axes.")
        self.axes_ = axes
        way = [_centres(fit) for fit in self.fits]
        room = 0.15 * np.ptp(self.rows, axis=0) + 1e-12  # one frame for all panels
        low, high = self.rows.min(axis=0) - room, self.rows.max(axis=0) + room
        for at, (ax, fit, step) in enumerate(zip(axes, self.fits, self.steps, strict=True)):
            ax.scatter(*self.rows.T, s=8, color=_colours(fit, self.rows))
            for group, centre in enumerate(way[at]):
                path = np.array([one[group] for one in way[: at + 1]])
                ax.plot(*path.T, color="#22252a", linewidth=0.9)
                ax.scatter(*centre, s=80, marker="X", color=colour_of(group), edgecolor="#22252a", zorder=3)
            if hasattr(fit, "covariances_"):
                for group, (mean, covariance) in enumerate(gaussians_of(fit)):
                    draw_ellipses(ax, mean, covariance, colour=colour_of(group))
            done = f"{step} step{'s' if step > 1 else ''}"
            ax.set_title(done if fit.n_iter_ >= step else f"{done}: at rest after {fit.n_iter_}", fontsize=9)
            ax.set(xlabel=self.xlabel, ylabel=self.ylabel, xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            _canvas.bare(ax)
        return self


def _centres(fit: Any) -> Array:
    return np.asarray(fit.cluster_centers_ if hasattr(fit, "cluster_centers_") else fit.means_)


def _colours(fit: Any, rows: Array) -> Any:
    """Return a colour for each row: that of its cluster, or a mixture of those of its components."""
    from matplotlib.colors import to_rgb  # noqa: PLC0415  drawing alone needs it

    if not hasattr(fit, "predict_proba"):
        return [colour_of(int(one)) for one in fit.predict(rows)]
    pure = np.array([to_rgb(colour_of(group)) for group in range(len(fit.means_))])
    return np.clip(np.asarray(fit.predict_proba(rows)) @ pure, 0.0, 1.0)

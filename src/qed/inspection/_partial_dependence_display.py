"""Partial dependence and individual curves, drawn."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import InvalidParameter, _canvas, generator
from qed.core._canvas import Display
from qed.inspection._column_table import ColumnTable
from qed.inspection._partial_dependence import column_numbers, partial_dependence


class PartialDependenceDisplay(Display):
    """How predictions move with columns: a curve for one, contours for a pair.

    Parameters
    ----------
    pd_results : list of Bunch-like
        Results of `partial_dependence`, one for each panel.
    features : list of tuple of int
        Columns of each panel.
    feature_names : list of str
        Names of all columns.
    target_idx : int
        Which output to draw.
    deciles : dict of int to ndarray
        By column, marks along the axis.
    kind : {"average", "individual", "both"}
        What to draw of a single column.
    centered : bool
        Whether curves start from zero.

    Attributes
    ----------
    axes_, figure_, lines_, contours_
        What matplotlib drew, panel by panel.

    Examples
    --------
    >>> from qed.datasets import load_diabetes
    >>> from qed.ensemble import HistGradientBoostingRegressor
    >>> from qed.inspection import PartialDependenceDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    >>> display = PartialDependenceDisplay.from_estimator(model, X, [2, 8, (2, 8)], grid_resolution=10)
    >>> len(display.axes_)
    3
    """

    axes_: list[Any]
    figure_: Any
    lines_: list[list[Any]]
    contours_: list[Any]

    def __init__(
        self,
        pd_results: list[Any],
        *,
        features: list[tuple[int, ...]],
        feature_names: list[str],
        target_idx: int = 0,
        deciles: dict[int, Any],
        kind: Literal["average", "individual", "both"] = "average",
        centered: bool = False,
    ) -> None:
        self.pd_results, self.features, self.feature_names = pd_results, features, feature_names
        self.target_idx, self.deciles, self.kind, self.centered = target_idx, deciles, kind, centered

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Any,
        *,
        sample_weight: Any = None,
        categorical_features: Any = None,
        feature_names: Any = None,
        target: Any = None,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_cols: int = 3,
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        custom_values: Any = None,
        method: Literal["auto", "brute"] = "auto",
        line_kw: dict[str, Any] | None = None,
        ice_lines_kw: dict[str, Any] | None = None,
        pd_line_kw: dict[str, Any] | None = None,
        contour_kw: dict[str, Any] | None = None,
        ax: Any = None,
        kind: Literal["average", "individual", "both"] = "average",
        centered: bool = False,
        subsample: float = 1000,
        random_state: Any = None,
    ) -> Self:
        """Draw how predictions move with columns.

        Parameters
        ----------
        estimator : fitted estimator
            Any classifier or regressor.
        X : array-like or frame of shape (n, p)
            Rows to average over.
        features : list of int, str or pairs of them
            Columns, a panel for each.
        sample_weight, categorical_features, feature_names, response_method, grid_resolution, percentiles, custom_values, method
            As of `partial_dependence`.
        target : label or int, optional
            Which class of several to draw, or which output.
        n_cols : int
            Panels side by side, at most.
        line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, optional
            Passed to matplotlib: for all lines, those of rows, those of averages, and contours.
        ax : matplotlib Axes, optional
            Where to draw a single panel; a new figure by default.
        kind : {"average", "individual", "both"}
            Averages, a curve for each row, or both.
        centered : bool
            Whether curves start from zero.
        subsample : int or float
            Rows whose curves are drawn: a number, or a share. Averages are over all rows.
        random_state : None, int or Generator
            Seed of the rows whose curves are drawn.
        """
        table = ColumnTable(X)
        names = table.names if feature_names is None else [str(name) for name in feature_names]
        listed = [features] if isinstance(features, str | int | np.integer) else list(features)
        places = [tuple(column_numbers(table, one, feature_names)) for one in listed]
        results = []
        for pair in places:
            results.append(
                partial_dependence(
                    estimator,
                    X,
                    list(pair),
                    sample_weight=sample_weight,
                    categorical_features=categorical_features,
                    feature_names=feature_names,
                    response_method=response_method,
                    percentiles=percentiles,
                    grid_resolution=grid_resolution,
                    custom_values=custom_values,
                    method=method,
                    kind="average" if len(pair) == 2 else kind,
                )
            )
        for result in results:
            _keep_some(result, subsample, random_state)
        display = cls(
            results,
            features=places,
            feature_names=list(names),
            target_idx=_output(estimator, target, results[0]),
            deciles={place: _deciles(table.column(place)) for pair in places for place in pair},
            kind=kind,
            centered=centered,
        )
        return display.plot(
            ax=ax,
            n_cols=n_cols,
            line_kw=line_kw,
            ice_lines_kw=ice_lines_kw,
            pd_line_kw=pd_line_kw,
            contour_kw=contour_kw,
        )

    def plot(
        self,
        *,
        ax: Any = None,
        n_cols: int = 3,
        line_kw: dict[str, Any] | None = None,
        ice_lines_kw: dict[str, Any] | None = None,
        pd_line_kw: dict[str, Any] | None = None,
        contour_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw all panels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw a single panel; a new figure by default.
        n_cols : int
            Panels side by side, at most.
        line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, optional
            Passed to matplotlib.
        """
        count = len(self.features)
        if ax is not None and count > 1:
            raise InvalidParameter(f"ax takes one panel, and there are {count}. Leave it out, or draw them one by one.")
        if ax is not None:
            self.axes_, self.figure_ = [ax], ax.figure
        else:
            columns = min(n_cols, count)
            lines = -(-count // columns)
            self.axes_, self.figure_ = _canvas.panels(count, columns, size=(3.6 * columns, 3.2 * lines))
        self.lines_, self.contours_ = [], []
        for panel, pair, result in zip(self.axes_, self.features, self.pd_results, strict=True):
            if len(pair) == 2:
                self._draw_pair(panel, pair, result, contour_kw)
            else:
                own, average = {**(line_kw or {}), **(ice_lines_kw or {})}, {**(line_kw or {}), **(pd_line_kw or {})}
                self._draw_one(panel, pair[0], result, own, average)
        return self

    def _draw_one(self, ax: Any, place: int, result: Any, ice: dict[str, Any], average: dict[str, Any]) -> None:
        grid, drawn = result["grid_values"][0], []
        if "individual" in result:
            curves = result["individual"][self.target_idx]
            curves = curves - curves[:, :1] if self.centered else curves
            plain = _canvas.style({"color": _canvas.BLUE, "alpha": 0.2, "linewidth": 0.6}, ice)
            drawn += ax.plot(grid, curves.T, **plain)
        if "average" in result:
            curve = result["average"][self.target_idx]
            curve = curve - curve[0] if self.centered else curve
            strong = _canvas.style({"color": _canvas.CURVES[1] if "individual" in result else _canvas.BLUE}, average)
            drawn += ax.plot(grid, curve, marker="o" if len(grid) < 12 else None, **{"linewidth": 2.0, **strong})
        marks = self.deciles[place]
        if marks is not None:
            ax.plot(
                marks, np.zeros(len(marks)), "|", color=_canvas.GREY, transform=ax.get_xaxis_transform(), markersize=9
            )
        ax.set(xlabel=self.feature_names[place], ylabel="partial dependence")
        _canvas.bare(ax)
        self.lines_.append(drawn)

    def _draw_pair(self, ax: Any, pair: tuple[int, ...], result: Any, options: dict[str, Any] | None) -> None:
        first, second = result["grid_values"]
        surface = result["average"][self.target_idx].T
        filled = ax.contourf(
            first, second, surface, **{"levels": 9, "cmap": "viridis", "alpha": 0.85, **(options or {})}
        )
        lines = ax.contour(first, second, surface, levels=filled.levels, colors="white", linewidths=0.6)
        ax.clabel(lines, fontsize=7, fmt="%.3g")
        ax.set(xlabel=self.feature_names[pair[0]], ylabel=self.feature_names[pair[1]])
        self.contours_.append(filled)
        self.lines_.append([])


def _keep_some(result: Any, subsample: float, random_state: Any) -> None:
    if "individual" not in result:
        return
    n = result["individual"].shape[1]
    many = int(subsample * n) if isinstance(subsample, float) and subsample <= 1 else int(subsample)
    if many < 1:
        raise InvalidParameter(f"subsample must leave at least one row, got {subsample!r:.80}.")
    if many < n:
        kept = np.sort(generator(random_state).permutation(n)[:many])
        result["individual"] = result["individual"][:, kept]


def _output(estimator: Any, target: Any, result: Any) -> int:
    some = result["average"] if "average" in result else result["individual"]
    if len(some) == 1:
        return 0
    labels = [*np.asarray(getattr(estimator, "classes_", range(len(some)))).tolist()]
    if target not in labels:
        raise InvalidParameter(
            f"There are several outputs. Say which to draw: target={labels[0]!r} or another of {labels}."
        )
    return labels.index(target)


def _deciles(values: Any) -> Any:
    return np.nanquantile(values.astype(np.float64), np.linspace(0.1, 0.9, 9)) if values.dtype.kind in "fiu" else None

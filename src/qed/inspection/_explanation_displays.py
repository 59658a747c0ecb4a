"""Explanations, drawn: all rows, one row, one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidParameter, _canvas
from qed.core._canvas import Display

if TYPE_CHECKING:
    from qed.inspection._explanation import Explanation

Array = np.ndarray[Any, Any]
UP, DOWN = _canvas.CURVES[1], _canvas.BLUE


class _ExplanationDisplay(Display):
    """What figures of explanations share: one output, the columns in order, and how a value reads.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    output : str or int, optional
        Which output, where there are several.
    max_display : int
        Columns shown, the most important ones; the others are taken together.
    """

    ax_: Any
    figure_: Any

    def __init__(self, explanation: Explanation, *, output: Any = None, max_display: int = 12) -> None:
        if not isinstance(max_display, int | np.integer) or max_display < 1:
            raise InvalidParameter(f"max_display must be a whole number of at least 1, got {max_display!r:.80}.")
        self.explanation, self.max_display = explanation.of_output(output), int(max_display)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, output: Any = None, max_display: int = 12, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Explain rows, and draw the explanation.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            Any model.
        X : array-like or frame of shape (n, p)
            Rows to explain.
        output : str or int, optional
            Which output, where there are several.
        max_display : int
            Columns shown.
        **kwargs : object
            Passed to `explain`.

        Returns
        -------
        display
            With what was drawn.
        """
        from qed.inspection._explain import explain  # noqa: PLC0415

        return cls(explain(estimator, X, **kwargs), output=output, max_display=max_display).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        raise NotImplementedError

    def _ranked(self, size: Array) -> tuple[list[int], list[int]]:
        """Return the columns that are shown, the largest first, and the others."""
        order = np.argsort(-size, kind="stable").tolist()
        kept = self.max_display if len(order) <= self.max_display else self.max_display - 1
        return order[: max(kept, 1)], order[max(kept, 1) :]

    def _label(self) -> str:
        what, names = self.explanation.output, self.explanation.output_names
        named = "" if names == ("prediction",) else f" of {names[0]}"
        words = {
            "predict": "prediction",
            "predict_proba": "probability",
            "decision_function": "score",
            "log of predict": "log of the prediction",
        }
        return f"{words.get(what, what)}{named}"

    def _axes(self, ax: Any, lines: int) -> None:
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.8, 1.2 + 0.36 * lines))
        _canvas.bare(self.ax_)


class ContributionDisplay(_ExplanationDisplay):
    """Bars: the mean absolute contribution of each column, or the contributions to the one row that is explained.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    output : str or int, optional
        Which output, where there are several.
    max_display : int
        Columns shown, the most important ones; the others are taken together.

    Attributes
    ----------
    ax_, figure_, bars_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.inspection import ContributionDisplay
    >>> from qed.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> len(ContributionDisplay.from_estimator(DecisionTreeClassifier().fit(X, y), X, output=2).bars_)
    4
    """

    bars_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars, the longest on top; those of a single row add up to prediction minus base value."""
        found = self.explanation
        single = len(found) == 1
        lengths = found.values[0] if single else found.importance()
        shown, others = self._ranked(np.abs(lengths))
        names = [found.feature_names[j] for j in shown]
        widths = [float(lengths[j]) for j in shown]
        if others:
            names.append(f"{len(others)} others")
            widths.append(float(lengths[others].sum()))
        self._axes(ax, len(names))
        colours = [UP if width > 0 and single else DOWN for width in widths]
        self.bars_ = self.ax_.barh(np.arange(len(names)), widths, color=colours, height=0.65)
        self.ax_.bar_label(self.bars_, fmt="%+.3g" if single else "%.3g", padding=3, fontsize=8)
        self.ax_.axvline(0.0, color=_canvas.GREY, linewidth=0.8)
        kind = "contribution to the" if single else "mean absolute contribution to the"
        self.ax_.set(yticks=np.arange(len(names)), yticklabels=names, xlabel=f"{kind} {self._label()}")
        self.ax_.invert_yaxis()
        self.ax_.margins(x=0.12)
        return self


class BeeswarmDisplay(_ExplanationDisplay):
    """A dot for each row and column: where it lies is the contribution, its colour the value of the column.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    output : str or int, optional
        Which output, where there are several.
    max_display : int
        Columns shown, the most important ones.

    Attributes
    ----------
    ax_, figure_, points_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_diabetes
    >>> from qed.ensemble import RandomForestRegressor
    >>> from qed.inspection import BeeswarmDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y)
    >>> len(BeeswarmDisplay.from_estimator(model, X[:50], max_display=5).points_)
    5
    """

    points_: list[Any]

    def plot(self, ax: Any = None) -> Self:
        """Draw the dots, columns of large contributions on top."""
        found = self.explanation
        size = found.importance()
        shown = np.argsort(-size, kind="stable")[: self.max_display].tolist()
        self._axes(ax, len(shown) + 1)
        self.points_ = []
        for line, j in enumerate(shown):
            heights = line + _swarm(found.values[:, j])
            shade = _shades(found.shown_values(j))
            colours: dict[str, Any] = (
                {"color": _canvas.GREY} if shade is None else {"c": shade, "cmap": "coolwarm", "vmin": 0, "vmax": 1}
            )
            self.points_.append(self.ax_.scatter(found.values[:, j], heights, s=9, linewidths=0, alpha=0.85, **colours))
        self.ax_.axvline(0.0, color=_canvas.GREY, linewidth=0.8, zorder=0)
        names = [found.feature_names[j] for j in shown]
        self.ax_.set(
            yticks=np.arange(len(names)),
            yticklabels=names,
            ylim=(len(names) - 0.5, -0.5),
            xlabel=f"contribution to the {self._label()}",
        )
        coloured = [one for one in self.points_ if one.get_array() is not None]
        if coloured:
            bar = self.figure_.colorbar(coloured[0], ax=self.ax_, ticks=[0, 1], aspect=30, pad=0.02)
            bar.ax.set_yticklabels(["low", "high"])
            bar.set_label("value of the column", labelpad=-12)
            bar.outline.set_visible(False)
        return self


class WaterfallDisplay(_ExplanationDisplay):
    """From the base value to one prediction, a step for each column.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    row : int
        Which row.
    output : str or int, optional
        Which output, where there are several.
    max_display : int
        Steps shown, the largest ones; the others are taken together.

    Attributes
    ----------
    ax_, figure_, bars_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_diabetes
    >>> from qed.inspection import WaterfallDisplay, explain
    >>> from qed.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = explain(DecisionTreeRegressor(max_depth=3).fit(X, y), X[:2])
    >>> len(WaterfallDisplay(found, row=1, max_display=4).plot().bars_)
    4
    """

    bars_: Any

    def __init__(self, explanation: Explanation, *, row: int = 0, output: Any = None, max_display: int = 12) -> None:
        super().__init__(explanation, output=output, max_display=max_display)
        if not isinstance(row, int | np.integer) or not -len(explanation) <= row < len(explanation):
            raise InvalidParameter(
                f"row must be one of the {len(explanation)} rows that are explained, got {row!r:.80}."
            )
        self.row = int(row)

    def plot(self, ax: Any = None) -> Self:
        """Draw the steps, the largest on top and the base value below."""
        found = self.explanation
        values = found.values[self.row]
        shown, others = self._ranked(np.abs(values))
        names = [self._name(j) for j in shown] + ([f"{len(others)} others"] if others else [])
        steps = [float(values[j]) for j in shown] + ([float(values[others].sum())] if others else [])
        base, told = float(found.base_value), float(found.predictions[self.row])
        starts = told - np.cumsum(steps)  # read from below: base value, smallest step, ..., prediction
        self._axes(ax, len(names) + 1)
        lines = np.arange(len(names))
        self.bars_ = self.ax_.barh(
            lines, steps, left=starts, color=[UP if step > 0 else DOWN for step in steps], height=0.6
        )
        for line, (start, step) in enumerate(zip(starts, steps, strict=True)):
            self.ax_.plot(
                [start, start],
                [line + 0.3, line + 1 - 0.3 if line + 1 < len(names) else line + 0.6],
                color=_canvas.GREY,
                linewidth=0.7,
            )
            end = max(start, start + step)
            self.ax_.annotate(
                f"{step:+.3g}", (end, line), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
            )
        self.ax_.axvline(base, color=_canvas.GREY, linewidth=0.8, linestyle=":", zorder=0)
        self.ax_.axvline(told, color=_canvas.GREY, linewidth=0.8, zorder=0)
        self.ax_.set(
            yticks=lines,
            yticklabels=names,
            ylim=(len(names) - 0.4, -0.6),
            xlabel=self._label(),
            title=f"base value {base:.4g}  →  {told:.4g}",
        )
        self.ax_.use_sticky_edges = False
        self.ax_.margins(x=0.14)
        self.ax_.autoscale_view(scaley=False)
        return self

    def _name(self, j: int) -> str:
        values = self.explanation.shown_values(j)
        if values is None:
            return self.explanation.feature_names[j]
        value = values[self.row]
        text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
        return f"{self.explanation.feature_names[j]} = {text}"


class DependenceDisplay(_ExplanationDisplay):
    """The contribution of one column against its value, a dot for each row.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    feature : str or int
        The column.
    colour_by : str or int, optional
        A column whose values colour the dots: where colours part, the two columns interact.
    output : str or int, optional
        Which output, where there are several.

    Attributes
    ----------
    ax_, figure_, points_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import load_diabetes
    >>> from qed.inspection import DependenceDisplay, explain
    >>> from qed.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = explain(DecisionTreeRegressor(max_depth=3).fit(X, y), X[:40])
    >>> len(DependenceDisplay(found, feature=2).plot().points_.get_offsets())
    40
    """

    points_: Any

    def __init__(self, explanation: Explanation, *, feature: Any, colour_by: Any = None, output: Any = None) -> None:
        super().__init__(explanation, output=output)
        self.feature = self.explanation.column(feature)
        self.colour_by = None if colour_by is None else self.explanation.column(colour_by)
        if self.explanation.shown_values(self.feature) is None:
            raise InvalidParameter(
                f"{explanation.feature_names[self.feature]} is a group of columns, which has no single value."
            )

    def plot(self, ax: Any = None) -> Self:
        """Draw the dots."""
        found = self.explanation
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 4.0))
        _canvas.bare(self.ax_)
        shade = None if self.colour_by is None else found.shown_values(self.colour_by)
        colours: dict[str, Any] = (
            {"color": _canvas.BLUE} if shade is None else {"c": shade.astype(np.float64), "cmap": "coolwarm"}
        )
        values = found.shown_values(self.feature)
        self.points_ = self.ax_.scatter(values, found.values[:, self.feature], s=14, linewidths=0, alpha=0.8, **colours)
        self.ax_.axhline(0.0, color=_canvas.GREY, linewidth=0.8, zorder=0)
        self.ax_.set(xlabel=found.feature_names[self.feature], ylabel=f"contribution to the {self._label()}")
        if shade is not None and self.colour_by is not None:
            bar = self.figure_.colorbar(
                self.points_, ax=self.ax_, label=found.feature_names[self.colour_by], aspect=30, pad=0.02
            )
            bar.outline.set_visible(False)
        return self


def _shades(values: Array | None) -> Array | None:
    """Return the share of rows with smaller values, as a colour; None where values have no order."""
    if values is None or values.dtype.kind not in "fiub":
        return None
    known = np.sort(values[~np.isnan(values)] if values.dtype.kind == "f" else values)
    if len(known) < 2 or known[0] == known[-1]:
        return None
    return np.asarray(
        np.searchsorted(known, values, side="left") / max(np.searchsorted(known, known[-1], side="left"), 1)
    )


def _swarm(values: Array) -> Array:
    """Return heights, within a line, that keep dots of nearly equal values apart."""
    span = float(np.ptp(values)) or 1.0
    cells = np.floor((values - values.min()) / span * 60).astype(np.int64)
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells)
    rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    heights = np.empty(len(values))
    heights[order] = np.where(rank % 2 == 0, rank // 2, -(rank // 2) - 1)
    return np.asarray(heights * (0.38 / max(counts.max() / 2, 4.0)))

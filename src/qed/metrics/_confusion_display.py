"""The confusion matrix, drawn."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np

from qed.core._canvas import Display, axes, style
from qed.core._errors import InvalidData
from qed.metrics._classification import confusion_matrix
from qed.metrics._confusion import Confusion
from qed.metrics._scorers import role_of


class ConfusionMatrixDisplay(Display):
    """A confusion matrix as a table of colours and numbers.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (k, k)
        A row for each true label, a column for each predicted one.
    display_labels : array-like of shape (k,), optional
        What to call the labels; by default their numbers.

    Attributes
    ----------
    ax_, figure_, im_, text_
        What matplotlib drew; `text_` is None without values.

    Examples
    --------
    >>> from qed.metrics import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay.from_predictions(["cat", "dog", "dog"], ["cat", "dog", "cat"])
    >>> display.confusion_matrix
    array([[1, 0],
           [1, 1]])
    """

    ax_: Any
    figure_: Any
    im_: Any
    text_: Any

    def __init__(self, confusion_matrix: Any, *, display_labels: Any = None) -> None:
        self.confusion_matrix, self.display_labels = confusion_matrix, display_labels

    def plot(
        self,
        *,
        include_values: bool = True,
        cmap: Any = "viridis",
        xticks_rotation: Any = "horizontal",
        values_format: str | None = None,
        ax: Any = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        include_values : bool
            Whether to write the numbers.
        cmap : str or matplotlib Colormap
            The colours.
        xticks_rotation : {"vertical", "horizontal"} or float
            How the names below are turned.
        values_format : str, optional
            How numbers are written; by default whichever of an integer and two digits is shorter.
        colorbar : bool
            Whether to explain the colours.
        im_kw, text_kw : dict, optional
            Passed to matplotlib for the image and for the numbers.
        """
        table = np.asarray(self.confusion_matrix)
        k = len(table)
        side = min(9.0, 3.2 + 0.55 * k)
        self.ax_, self.figure_ = axes(ax, size=(side + 0.9 * colorbar, side))
        self.im_ = self.ax_.imshow(table, **style({"interpolation": "nearest", "cmap": cmap}, im_kw))
        self.text_ = None
        if include_values:
            self.text_ = np.empty((k, k), dtype=object)
            for i, j in product(range(k), range(k)):
                red, green, blue, _ = self.im_.cmap(self.im_.norm(table[i, j]))
                is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
                words = {"ha": "center", "va": "center", "color": "white" if is_dark else "black"}
                text = _written(table[i, j], values_format)
                self.text_[i, j] = self.ax_.text(j, i, text, **style(words, text_kw))
        names = np.arange(k) if self.display_labels is None else self.display_labels
        self.ax_.set(xlabel="Predicted label", ylabel="True label", ylim=(k - 0.5, -0.5))
        self.ax_.set_xticks(np.arange(k), [str(name) for name in names], rotation=xticks_rotation)
        self.ax_.set_yticks(np.arange(k), [str(name) for name in names])
        self.ax_.set_xticks(np.arange(k - 1) + 0.5, minor=True)
        self.ax_.set_yticks(np.arange(k - 1) + 0.5, minor=True)
        self.ax_.grid(visible=True, which="minor", color="white", linewidth=1.5)
        self.ax_.tick_params(which="both", length=0)
        for side_of in self.ax_.spines.values():
            side_of.set_visible(False)
        if colorbar:
            bar = self.figure_.colorbar(self.im_, ax=self.ax_, shrink=0.9)
            bar.outline.set_visible(False)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        normalize: str | None = None,
        display_labels: Any = None,
        include_values: bool = True,
        xticks_rotation: Any = "horizontal",
        values_format: str | None = None,
        cmap: Any = "viridis",
        ax: Any = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw what a fitted classifier predicts for rows; arguments as for `confusion_matrix` and `plot`."""
        if role_of(estimator) != "classifier":
            raise InvalidData(
                f"{cls.__name__}.from_estimator only supports classifiers, got {type(estimator).__name__}."
            )
        return cls.from_predictions(
            y,
            estimator.predict(X),
            labels=labels,
            sample_weight=sample_weight,
            normalize=normalize,
            display_labels=display_labels,
            include_values=include_values,
            xticks_rotation=xticks_rotation,
            values_format=values_format,
            cmap=cmap,
            ax=ax,
            colorbar=colorbar,
            im_kw=im_kw,
            text_kw=text_kw,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        normalize: str | None = None,
        display_labels: Any = None,
        include_values: bool = True,
        xticks_rotation: Any = "horizontal",
        values_format: str | None = None,
        cmap: Any = "viridis",
        ax: Any = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw true and predicted labels; arguments as for `confusion_matrix` and `plot`."""
        if display_labels is None:
            display_labels = Confusion.of(y_true, y_pred).labels if labels is None else labels
        table = confusion_matrix(y_true, y_pred, labels=labels, sample_weight=sample_weight, normalize=normalize)
        return cls(table, display_labels=display_labels).plot(
            include_values=include_values,
            xticks_rotation=xticks_rotation,
            values_format=values_format,
            cmap=cmap,
            ax=ax,
            colorbar=colorbar,
            im_kw=im_kw,
            text_kw=text_kw,
        )


def _written(value: Any, values_format: str | None) -> str:
    if values_format is not None:
        return format(value, values_format)
    short = format(value, ".2g")
    if np.asarray(value).dtype.kind != "f":
        whole = format(value, "d")
        return whole if len(whole) <= max(len(short), 4) else short
    return short

"""Curves, drawn: ROC, precision-recall and detection error tradeoff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._canvas import GREY, Display, axes, bare, legend, next_colour, positive_words, style, unit_square
from qed.core._errors import InvalidData
from qed.core._targets import as_target
from qed.metrics._areas import average_precision_score
from qed.metrics._curves import auc, det_curve, precision_recall_curve, roc_curve
from qed.metrics._read import row_weights
from qed.metrics._scorers import response, role_of

if TYPE_CHECKING:
    from qed.core._params import Array


def _response_of(
    estimator: Any, X: Any, response_method: Any, pos_label: Any, name: str | None
) -> tuple[Any, Any, str]:
    """Ask a binary classifier for scores, and name the curve after it."""
    if role_of(estimator) != "classifier":
        raise InvalidData(f"Expected 'estimator' to be a binary classifier. Got {type(estimator).__name__} instead.")
    classes = estimator.classes_
    if len(classes) != 2:
        raise InvalidData(f"Expected 'estimator' to be a binary classifier. Got {len(classes)} classes instead.")
    method = ("predict_proba", "decision_function") if response_method == "auto" else response_method
    score, positive = response(estimator, X, method, pos_label)
    return score, positive, name or type(estimator).__name__


def _positive(y_true: Any, pos_label: Any) -> Any:
    """Say what the positive label is when nobody said: 1, if that is one of the labels."""
    if pos_label is not None:
        return pos_label
    return 1 if as_target(y_true, "y_true").dtype.kind in "iufb" else None


def _titled(name: str | None, area: float | None, what: str) -> dict[str, str]:
    shown = "" if area is None else f"{what} = {area:0.2f}"
    if name is None:
        return {"label": shown} if shown else {}
    return {"label": f"{name} ({shown})" if shown else name}


class RocCurveDisplay(Display):
    """The ROC curve, drawn.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (k,)
        False and true positive rates.
    roc_auc : float, optional
        The area, for the legend.
    name : str, optional
        The name of the curve.
    pos_label : label, optional
        The positive label, for the axes.

    Attributes
    ----------
    ax_, figure_, line_, chance_level_
        What matplotlib drew; `chance_level_` is None when it was not asked for.

    Examples
    --------
    >>> from qed.metrics import RocCurveDisplay
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], plot_chance_level=True)
    >>> display.roc_auc
    0.75
    """

    ax_: Any
    figure_: Any
    line_: Any
    chance_level_: Any

    def __init__(
        self, *, fpr: Any, tpr: Any, roc_auc: float | None = None, name: str | None = None, pos_label: Any = None
    ) -> None:
        self.fpr, self.tpr, self.roc_auc, self.name, self.pos_label = fpr, tpr, roc_auc, name, pos_label

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        name : str, optional
            The name of the curve.
        curve_kwargs, chance_level_kw : dict, optional
            Passed to matplotlib for the curve and for the diagonal.
        plot_chance_level : bool
            Whether to draw the diagonal, which guessing achieves.
        despine : bool
            Whether to take away the frame above and to the right.
        """
        self.ax_, self.figure_ = axes(ax)
        titled = _titled(name or self.name, self.roc_auc, "AUC")
        drawn = style({"color": next_colour(self.ax_), "linewidth": 2.0, **titled}, curve_kwargs)
        self.chance_level_ = None
        if plot_chance_level:
            line = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "label": "Chance level (AUC = 0.5)"}
            (self.chance_level_,) = self.ax_.plot((0, 1), (0, 1), **style(line, chance_level_kw))
        (self.line_,) = self.ax_.plot(self.fpr, self.tpr, **drawn)
        words = positive_words(self.pos_label)
        unit_square(self.ax_, f"False Positive Rate{words}", f"True Positive Rate{words}", despine=despine)
        legend(self.ax_, "lower right")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = True,
        response_method: Any = "auto",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curve of a fitted classifier of two classes on rows; arguments as for `roc_curve` and `plot`."""
        score, pos_label, name = _response_of(estimator, X, response_method, pos_label, name)
        return cls.from_predictions(
            y,
            score,
            sample_weight=sample_weight,
            drop_intermediate=drop_intermediate,
            pos_label=pos_label,
            name=name,
            ax=ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = True,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curve of scores; arguments as for `roc_curve` and `plot`."""
        fpr, tpr, _ = roc_curve(
            y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, drop_intermediate=drop_intermediate
        )
        made = cls(
            fpr=fpr,
            tpr=tpr,
            roc_auc=auc(fpr, tpr),
            name=name or "Classifier",
            pos_label=_positive(y_true, pos_label),
        )
        return made.plot(
            ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
        )


class PrecisionRecallDisplay(Display):
    """The precision-recall curve, drawn as the steps that its area is of.

    Parameters
    ----------
    precision, recall : ndarray of shape (k,)
        As from `precision_recall_curve`.
    average_precision : float, optional
        The area, for the legend.
    name : str, optional
        The name of the curve.
    pos_label : label, optional
        The positive label, for the axes.
    prevalence_pos_label : float, optional
        The share of positive rows: the height of the line that guessing achieves.

    Attributes
    ----------
    ax_, figure_, line_, chance_level_
        What matplotlib drew; `chance_level_` is None when it was not asked for.

    Examples
    --------
    >>> from qed.metrics import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> float(display.prevalence_pos_label)
    0.5
    """

    ax_: Any
    figure_: Any
    line_: Any
    chance_level_: Any

    def __init__(
        self,
        precision: Any,
        recall: Any,
        *,
        average_precision: float | None = None,
        name: str | None = None,
        pos_label: Any = None,
        prevalence_pos_label: float | None = None,
    ) -> None:
        self.precision, self.recall, self.average_precision = precision, recall, average_precision
        self.name, self.pos_label, self.prevalence_pos_label = name, pos_label, prevalence_pos_label

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        name : str, optional
            The name of the curve.
        curve_kwargs, chance_level_kw : dict, optional
            Passed to matplotlib for the curve and for the base line.
        plot_chance_level : bool
            Whether to draw the share of positive rows, which guessing achieves.
        despine : bool
            Whether to take away the frame above and to the right.
        """
        if plot_chance_level and self.prevalence_pos_label is None:
            raise InvalidData(
                "The base line stands at the share of positive rows. You must provide prevalence_pos_label when making"
                " the display, or use from_estimator or from_predictions, which count it."
            )
        self.ax_, self.figure_ = axes(ax)
        titled = _titled(name or self.name, self.average_precision, "AP")
        drawn = style(
            {"color": next_colour(self.ax_), "linewidth": 2.0, "drawstyle": "steps-post", **titled}, curve_kwargs
        )
        self.chance_level_ = None
        if plot_chance_level:
            share = self.prevalence_pos_label
            line = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "label": f"Chance level (AP = {share:0.2f})"}
            (self.chance_level_,) = self.ax_.plot((0, 1), (share, share), **style(line, chance_level_kw))
        (self.line_,) = self.ax_.plot(self.recall, self.precision, **drawn)
        words = positive_words(self.pos_label)
        unit_square(self.ax_, f"Recall{words}", f"Precision{words}", despine=despine)
        legend(self.ax_, "lower left")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = False,
        response_method: Any = "auto",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curve of a fitted classifier; arguments as for `precision_recall_curve` and `plot`."""
        score, pos_label, name = _response_of(estimator, X, response_method, pos_label, name)
        return cls.from_predictions(
            y,
            score,
            sample_weight=sample_weight,
            drop_intermediate=drop_intermediate,
            pos_label=pos_label,
            name=name,
            ax=ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = False,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: dict[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curve of scores; arguments as for `precision_recall_curve` and `plot`."""
        precision, recall, _ = precision_recall_curve(
            y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, drop_intermediate=drop_intermediate
        )
        pos_label = _positive(y_true, pos_label)
        truth = as_target(y_true, "y_true").reshape(-1)
        s = row_weights(sample_weight, len(truth))
        made = cls(
            precision,
            recall,
            average_precision=average_precision_score(
                y_true, y_score, pos_label=pos_label, sample_weight=sample_weight
            ),
            name=name or "Classifier",
            pos_label=pos_label,
            prevalence_pos_label=float(np.average(truth == pos_label, weights=s)),
        )
        return made.plot(
            ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
        )


class DetCurveDisplay(Display):
    """The detection error tradeoff, drawn on axes on which normal scores give a straight line.

    Parameters
    ----------
    fpr, fnr : ndarray of shape (k,)
        False positive and false negative rates.
    estimator_name : str, optional
        The name of the curve.
    pos_label : label, optional
        The positive label, for the axes.

    Attributes
    ----------
    ax_, figure_, line_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.metrics import DetCurveDisplay
    >>> display = DetCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.fnr
    array([0. , 0.5, 0.5])
    """

    ax_: Any
    figure_: Any
    line_: Any

    TICKS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)

    def __init__(self, *, fpr: Any, fnr: Any, estimator_name: str | None = None, pos_label: Any = None) -> None:
        self.fpr, self.fnr, self.estimator_name, self.pos_label = fpr, fnr, estimator_name, pos_label

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        name : str, optional
            The name of the curve.
        **kwargs : dict
            Passed to matplotlib for the curve.
        """
        from scipy.special import ndtri  # noqa: PLC0415  drawing alone needs it

        self.ax_, self.figure_ = axes(ax)
        name = name or self.estimator_name
        drawn = style(
            {"color": next_colour(self.ax_), "linewidth": 2.0, **({} if name is None else {"label": name})}, kwargs
        )
        eps = np.finfo(np.float64).eps

        def deviate(rates: Array) -> Array:
            return np.asarray(ndtri(np.clip(rates, eps, 1 - eps)))

        (self.line_,) = self.ax_.plot(deviate(self.fpr), deviate(self.fnr), **drawn)
        words = positive_words(self.pos_label)
        self.ax_.set(
            xlabel=f"False Positive Rate{words}",
            ylabel=f"False Negative Rate{words}",
            xlim=(-3, 3),
            ylim=(-3, 3),
            aspect="equal",
        )
        places, names = ndtri(np.array(self.TICKS)), [f"{100 * tick:g}%" for tick in self.TICKS]
        self.ax_.set_xticks(places, names, rotation=45)
        self.ax_.set_yticks(places, names)
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        bare(self.ax_)
        legend(self.ax_, "upper right")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = True,
        response_method: Any = "auto",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier of two classes; arguments as for `det_curve` and `plot`."""
        score, pos_label, name = _response_of(estimator, X, response_method, pos_label, name)
        return cls.from_predictions(
            y,
            score,
            sample_weight=sample_weight,
            drop_intermediate=drop_intermediate,
            pos_label=pos_label,
            name=name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        drop_intermediate: bool = True,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores; arguments as for `det_curve` and `plot`."""
        fpr, fnr, _ = det_curve(y_true, y_score, pos_label, sample_weight, drop_intermediate)
        made = cls(fpr=fpr, fnr=fnr, estimator_name=name or "Classifier", pos_label=_positive(y_true, pos_label))
        return made.plot(ax, **kwargs)

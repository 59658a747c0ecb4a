"""Coefficients along strengths, drawn."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.core._canvas import Display

NAMED = 12  # curves up to which each has a name


class CoefficientPathDisplay(Display):
    """Coefficients as functions of the strength of a penalty.

    Parameters
    ----------
    alphas : array-like of shape (k,)
        Strengths.
    coefs : array-like of shape (p, k)
        Coefficients, one row each, as `lasso_path`, `enet_path` and `group_lasso_path` of `qed.linear_model` return them.
    names : sequence of str, optional
        Names of the columns.
    groups : array-like of shape (p,), optional
        The group of each column: groups have one colour.
    scale : {"log", "linear"}
        Of the strengths.

    Attributes
    ----------
    ax_, figure_, lines_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.inspection import CoefficientPathDisplay
    >>> from qed.linear_model import lasso_path
    >>> X, y = make_regression(50, 6, noise=1.0, random_state=0)
    >>> alphas, coefs, _ = lasso_path(X, y - y.mean())
    >>> len(CoefficientPathDisplay(alphas=alphas, coefs=coefs).plot().lines_)
    6
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(
        self, *, alphas: Any, coefs: Any, names: Any = None, groups: Any = None, scale: Literal["log", "linear"] = "log"
    ) -> None:
        self.alphas, self.coefs = np.asarray(alphas, dtype=np.float64), np.asarray(coefs, dtype=np.float64)
        if self.coefs.ndim != 2 or self.alphas.shape != self.coefs.shape[1:]:
            raise InvalidData(
                f"coefs must have one column for each alpha, shape (p, {self.alphas.size}), got {self.coefs.shape}. Paths of"
                " several targets are drawn one target at a time: coefs[0]."
            )
        p = len(self.coefs)
        for given, what in ((names, "names"), (groups, "groups")):
            if given is not None and len(given) != p:
                raise InvalidData(f"{what} must hold one entry for each of the {p} columns, got {len(given)}.")
        if scale not in ("log", "linear"):
            raise InvalidParameter(f"scale must be 'log' or 'linear', got {scale!r}.")
        self.names = None if names is None else [str(name) for name in names]
        self.groups = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        self.scale = scale

    def plot(self, ax: Any = None) -> Self:
        """Draw the path."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.4, 4.2))
        number = np.arange(len(self.coefs)) if self.groups is None else self.groups
        self.lines_ = []
        for j, values in enumerate(self.coefs):
            label = None
            if self.groups is not None and j == int(np.flatnonzero(number == number[j])[0]) and number.max() < NAMED:
                label = f"group {number[j]}"
            elif self.groups is None and self.names is not None and len(self.names) <= NAMED:
                label = self.names[j]
            colour = _canvas.CURVES[int(number[j]) % len(_canvas.CURVES)]
            # colours repeat after six: dashes then tell the curves apart
            style = ("-", "--", ":", "-.")[int(number[j]) // len(_canvas.CURVES) % 4]
            (line,) = self.ax_.plot(self.alphas, values, color=colour, linestyle=style, linewidth=1.5, label=label)
            self.lines_.append(line)
        self.ax_.axhline(0.0, color="#9ca3af", linewidth=0.8, zorder=0)
        if self.scale == "log" and self.alphas.min(initial=1.0) > 0:
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel=r"strength $\alpha$", ylabel="coefficient")
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        if self.ax_.get_legend_handles_labels()[1]:  # beside the curves, which leave no corner free
            self.ax_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        _canvas.bare(self.ax_)
        return self

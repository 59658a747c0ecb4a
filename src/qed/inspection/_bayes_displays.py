"""Bayesian estimates, drawn: prior, likelihood and posterior of a parameter; predictions with their uncertainty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.core._canvas import Display

POINTS = 400
REACH = 4.5  # standard deviations on either side that are drawn


class PosteriorDisplay(Display):
    """Prior, likelihood and posterior of one parameter.

    Parameters
    ----------
    parameter : array-like of shape (m,)
        Values of the parameter, rising.
    prior, likelihood, posterior : array-like of shape (m,)
        Densities there; the likelihood is scaled to area one, so that the three compare.
    name : str
        Name of the parameter.

    Attributes
    ----------
    ax_, figure_, lines_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.distributions import Beta, BetaBernoulli
    >>> from qed.inspection import PosteriorDisplay
    >>> display = PosteriorDisplay.from_pair(BetaBernoulli(), Beta(2.0, 2.0), [1, 1, 1, 0, 1])
    >>> float(display.parameter[display.posterior.argmax()].round(2))  # (2 + 4 - 1) / (4 + 5 - 2)
    0.71
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, *, parameter: Any, prior: Any, likelihood: Any, posterior: Any, name: str = "parameter") -> None:
        self.parameter, self.prior, self.likelihood, self.posterior = (
            np.asarray(one, np.float64) for one in (parameter, prior, likelihood, posterior)
        )
        shapes = {one.shape for one in (self.parameter, self.prior, self.likelihood, self.posterior)}
        if len(shapes) != 1 or self.parameter.ndim != 1 or np.any(np.diff(self.parameter) <= 0):
            raise InvalidData(
                f"parameter must rise, and every density have a value at each of its values, got shapes {shapes}."
            )
        self.name = name

    @classmethod
    def from_pair(cls, pair: Any, prior: Any, data: Any, *, name: str = "parameter", ax: Any = None) -> Self:
        """Draw what data say about the parameter of a conjugate pair.

        Parameters
        ----------
        pair : ConjugatePair
            With one parameter: BetaBernoulli, GammaPoisson or GaussianMean.
        prior : Distribution
            The prior.
        data : array-like of shape (n,)
            Values.
        name : str
            Name of the parameter.
        """
        posterior = pair.posterior(prior, data)
        if np.ndim(posterior.mean) or not hasattr(posterior, "log_density"):
            raise InvalidParameter(f"{type(pair).__name__} has several parameters: one is drawn.")
        ends = [(float(one.mean), REACH * float(np.sqrt(one.variance))) for one in (prior, posterior)]
        low, high = min(mean - half for mean, half in ends), max(mean + half for mean, half in ends)
        if type(prior).__name__ == "Beta":
            low, high = 0.0, 1.0
        elif type(prior).__name__ == "Gamma":
            low = 0.0
        edges = np.linspace(low, high, POINTS + 1)
        places = 0.5 * (edges[1:] + edges[:-1])  # away from ends where a density may be infinite
        before, after = (np.asarray(one.log_density(places), np.float64) for one in (prior, posterior))
        # by Bayes' rule the likelihood is posterior over prior, up to a factor
        ratio = after - before
        likelihood = np.exp(ratio - ratio.max())
        likelihood /= likelihood.sum() * (places[1] - places[0])
        return cls(
            parameter=places, prior=np.exp(before), likelihood=likelihood, posterior=np.exp(after), name=name
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the three densities."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 3.8))
        styles = (("prior", self.prior, _canvas.GREY, "--"), ("likelihood (scaled)", self.likelihood, _canvas.CURVES[1], ":"),
                  ("posterior", self.posterior, _canvas.BLUE, "-"))  # fmt: skip
        self.lines_ = [
            self.ax_.plot(self.parameter, density, color=colour, linestyle=style, label=label)[0]
            for label, density, colour, style in styles
        ]
        self.ax_.fill_between(self.parameter, self.posterior, color=_canvas.BLUE, alpha=0.12, linewidth=0)
        self.ax_.set(xlabel=self.name, ylabel="density", ylim=(0.0, None))
        _canvas.bare(self.ax_)
        _canvas.legend(self.ax_, "best")
        return self


class PredictiveBandDisplay(Display):
    """The prediction of a model over one column, with bands of one and two standard deviations of a new value.

    Parameters
    ----------
    x : array-like of shape (m,)
        Values of the column, rising.
    mean, deviation : array-like of shape (m,)
        Prediction, and its standard deviation.
    rows, targets : array-like, optional
        What was fitted, drawn as points.
    xlabel : str
        Name of the column.

    Attributes
    ----------
    ax_, figure_, line_, bands_
        What matplotlib drew.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.inspection import PredictiveBandDisplay
    >>> from qed.linear_model import BayesianRidge
    >>> x = np.linspace(0.0, 1.0, 20)[:, None]
    >>> model = BayesianRidge().fit(x, 3.0 * x.ravel() + np.sin(40.0 * x.ravel()))
    >>> display = PredictiveBandDisplay.from_estimator(model, x, 3.0 * x.ravel())
    >>> bool(display.deviation[0] > display.deviation[len(display.x) // 2])  # least certain at the ends
    True
    """

    ax_: Any
    figure_: Any
    line_: Any
    bands_: list[Any]

    def __init__(
        self, *, x: Any, mean: Any, deviation: Any, rows: Any = None, targets: Any = None, xlabel: str = ""
    ) -> None:
        self.x, self.mean, self.deviation = (np.asarray(one, np.float64) for one in (x, mean, deviation))
        if not self.x.shape == self.mean.shape == self.deviation.shape or self.x.ndim != 1:
            raise InvalidData(
                f"x, mean and deviation must be vectors of one length, got {self.x.shape} and {self.mean.shape}."
            )
        self.rows, self.targets, self.xlabel = rows, targets, xlabel

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, room: float = 0.15, ax: Any = None) -> Self:
        """Draw a fitted model that predicts with standard deviations.

        Parameters
        ----------
        estimator : fitted regressor
            Of one column, whose ``predict`` takes ``return_std=True``; a pipeline around one too, if it passes that on.
        X : array-like of shape (n, 1)
            Rows.
        y : array-like of shape (n,), optional
            Their targets, drawn as points.
        room : float
            How far beyond the rows to draw, as a share of their range.
        """
        names = [str(name) for name in getattr(X, "columns", [])] or [""]
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 1:
            raise InvalidData(f"A predictive band is drawn over one column, got shape {rows.shape}.")
        low, high = float(rows.min()), float(rows.max())
        far = room * (high - low)
        x = np.linspace(low - far, high + far, POINTS)
        mean, deviation = estimator.predict(x[:, None], return_std=True)
        made = cls(x=x, mean=mean, deviation=deviation, rows=rows.ravel(), targets=y, xlabel=names[0])
        return made.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw prediction, bands and rows."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 4.0))
        self.bands_ = [
            self.ax_.fill_between(
                self.x, self.mean - size * self.deviation, self.mean + size * self.deviation, color=_canvas.BLUE, alpha=0.14,
                linewidth=0, label="one and two standard deviations" if size == 2 else None,
            )
            for size in (2, 1)
        ]  # fmt: skip
        (self.line_,) = self.ax_.plot(self.x, self.mean, color=_canvas.BLUE, label="prediction")
        if self.rows is not None and self.targets is not None:
            self.ax_.scatter(self.rows, self.targets, s=14, color="#22252a", zorder=3)
        self.ax_.set(xlabel=self.xlabel)
        _canvas.bare(self.ax_)
        _canvas.legend(self.ax_, "best")
        return self

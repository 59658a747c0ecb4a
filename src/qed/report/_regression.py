"""The report of a linear regression: what it predicts, what it weighs, what is proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.report._figures import coefficient_intervals, predicted_against_actual
from qed.report._parts import Figure, Section, Table, Verdict
from qed.report._report import Report
from qed.report._svg import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CHECKER = (
    "qed.verify recomputes the claim from the data by its own code, which shares nothing with the solver. "
    "It accepts the model that was fitted, and refuses one whose coefficients were changed."
)


def regression_report(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    X_held: NDArray[np.float64],
    y_held: NDArray[np.float64],
    *,
    names: Sequence[str],
    target: str,
    title: str,
    lead: str,
    level: float = 0.95,
    delta: float = 0.05,
    groups: Sequence[str] | None = None,
    verdicts: Sequence[Verdict] = (),
    footer: str = "",
) -> Report:
    """Write the report of a fitted linear regression.

    Parameters
    ----------
    model : estimator
        Fitted on ``(X, y)``, with `certificate_`, `coefficient_table` and `certify`.
    X, y : ndarray
        The rows it was fitted on.
    X_held, y_held : ndarray
        Rows it never saw: they make the first figure and the bound on new errors.
    names : sequence of str
        Names of the columns.
    target : str
        Name and unit of the target.
    title, lead : str
        Heading and first paragraph of the page.
    level : float, default=0.95
        Confidence of the coefficients' intervals.
    delta : float, default=0.05
        Probability that the bound on new errors is wrong.
    groups : sequence of str or None
        A group for each held-out row, shown by shape and colour.
    verdicts : sequence of Verdict
        What `qed.verify` said about this model and about others.
    footer : str
        The last line of the page.

    Returns
    -------
    Report
        Figures, numbers, certificate and verdicts; ``report.save("report.html")`` writes the page.
    """
    fit = _Fit(
        model=model,
        X=X,
        y=y,
        X_held=X_held,
        y_held=y_held,
        names=tuple(names),
        target=target,
        level=level,
        held=model.certify(X_held, y_held, delta=delta),
        table=model.coefficient_table(level=level),
    )
    numbers = tuple(model.certificate_.numbers().items())
    sections = [
        Section("", figures=(_prediction_figure(fit, groups), _coefficient_figure(fit))),
        Section("In numbers", facts=_facts(fit), table=_table(fit)),
        Section("What is proven", words=(_about_this_fit(fit), _about_new_rows(fit)), facts=numbers),
    ]
    if verdicts:
        question = "Does anybody notice when a model is changed?"
        sections.append(Section(question, words=(CHECKER,), verdicts=tuple(verdicts)))
    return Report(title, lead, tuple(sections), footer)


@dataclass(frozen=True)
class _Fit:
    """A fitted model beside the rows it saw, the rows it did not see, and what is known of it."""

    model: Any
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_held: NDArray[np.float64]
    y_held: NDArray[np.float64]
    names: tuple[str, ...]
    target: str
    level: float
    held: Any
    table: Any

    @property
    def has_bound(self) -> bool:
        return math.isfinite(self.held.bound)


def _prediction_figure(fit: _Fit, groups: Sequence[str] | None) -> Figure:
    band = fit.held.bound if fit.has_bound else None
    predicted = fit.model.predict(fit.X_held)
    svg = predicted_against_actual(fit.y_held, predicted, band=band, label=fit.target, groups=groups)
    caption = f"{number(len(predicted))} rows that the fit never saw. On the dashed line a prediction is exact."
    if fit.has_bound:
        caption += (
            f" The band, ±{number(round(fit.held.bound))}, holds at least {fit.held.coverage:.0%} of all new rows;"
            f" this statement itself is true with {1 - fit.held.delta:.0%} confidence."
        )
    return Figure(svg, caption)


def _coefficient_figure(fit: _Fit) -> Figure:
    # in units of each column's spread the coefficients can be compared; a 0/1 column counts a whole step
    spread = np.array([1.0 if _is_binary(column) else float(np.std(column)) for column in fit.X.T])
    # the table ends with the intercept, which has no column
    ends = [spread * end[: len(spread)] for end in (fit.table.estimate, fit.table.lower, fit.table.upper)]
    note = f"Whiskers are {fit.level:.0%} confidence intervals."
    svg = coefficient_intervals(fit.names, *ends, label=f"change in {fit.target}", note=note)
    caption = (
        "What each column adds when it grows by one standard deviation, or from no to yes, others staying as they "
        f"are. Lines are {fit.level:.0%} confidence intervals; grey ones cannot be told from zero."
    )
    return Figure(svg, caption)


def _is_binary(column: NDArray[np.float64]) -> bool:
    return bool(np.isin(column, (0.0, 1.0)).all())


def _facts(fit: _Fit) -> tuple[tuple[str, str], ...]:
    error = np.abs(fit.y_held - fit.model.predict(fit.X_held))
    bound = number(round(fit.held.bound)) if fit.has_bound else "unknown"
    return (
        ("rows fitted", number(len(fit.y))),
        ("rows held out", number(len(fit.y_held))),
        ("columns", number(len(fit.names))),
        ("R² on held-out rows", f"{fit.model.score(fit.X_held, fit.y_held):.3f}"),
        (f"median error, {fit.target}", number(round(float(np.median(error))))),
        (f"{fit.held.coverage:.0%} of new errors below", bound),
    )


def _table(fit: _Fit) -> Table:
    head = ("column", "coefficient", "standard error", f"{fit.level:.0%} from", "to")
    columns = (fit.table.estimate, fit.table.standard_error, fit.table.lower, fit.table.upper)
    names = (*fit.names, *fit.table.names[len(fit.names) :])
    rows = [(name, *(_cell(float(column[row])) for column in columns)) for row, name in enumerate(names)]
    return Table(head, tuple(rows))


def _cell(value: float) -> str:
    return f"{value:,.2f}".replace("-", "\u2212")


def _about_this_fit(fit: _Fit) -> str:
    return (
        f"About this fit: {fit.model.certificate_.statement} The gap below bounds the distance to the best possible "
        "coefficients, rounding errors of its own computation included."
    )


def _about_new_rows(fit: _Fit) -> str:
    return (
        f"About new rows: {fit.held.statement} It comes from rows kept out of the fit, and assumes nothing "
        "but that new rows are drawn like those."
    )

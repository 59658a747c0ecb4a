"""What a fit proves: frozen records with a number, a sentence and a way to be printed.

A certificate is data. It is made by the package that fits, judged by ``qed.verify``, which shares no code with it, and it
travels inside model files. Two words are kept apart everywhere: a certificate is *true* when ``verify`` confirms its
statement, and the tolerance is *reached* when the number is small enough for what the user asked. An interrupted fit has a
true certificate whose tolerance is not reached.

===========================  =====================================================================================
record                       statement
===========================  =====================================================================================
``LeastSquaresCertificate``  no coefficients lower the sum of squares (plus penalty) by more than ``gap``
``DualityGapCertificate``    no coefficients lower the objective of a convex model by more than ``gap``
``SubsetCertificate``        no other subset of columns lowers the objective by more than ``gap``
``StationaryCertificate``    nothing near lowers an objective that is not convex by more than ``gap``
``HeldOutCertificate``       errors on new rows, with a stated confidence, from rows the fit never saw
``BracketCertificate``       one parameter a column is best up to ``gap``: slopes of opposite signs enclose the optimum
``MistakesCertificate``      mistakes made while learning, against the most that any order of the rows can cause
``ExactCertificate``         what was computed, from how many rows, and how far rounding can have moved it
``PartsCertificate``         each part of a model of models keeps its own certificate
``Uncertified``              nothing is claimed, and why
===========================  =====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BracketCertificate",
    "Certificate",
    "DualityGapCertificate",
    "ExactCertificate",
    "Fingerprint",
    "HeldOutCertificate",
    "LeastSquaresCertificate",
    "MistakesCertificate",
    "PartsCertificate",
    "StationaryCertificate",
    "SubsetCertificate",
    "Uncertified",
]


class Certificate:
    """What every certificate can do: say its statement, list its numbers, and print both."""

    __slots__ = ()

    @property
    def statement(self) -> str:
        """The claim, as one sentence that a theorem backs."""
        raise NotImplementedError

    @property
    def reached(self) -> bool:
        """Whether the claim is as tight as the tolerance asked for."""
        raise NotImplementedError

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement, by name, ready to print."""
        raise NotImplementedError

    def __str__(self) -> str:
        numbers = self.numbers()
        width = max(map(len, numbers), default=0)
        lines = [f"{type(self).__name__}: {self.statement}"]
        lines += [f"  {name:<{width}}  {value}" for name, value in numbers.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415  (notebooks only)

        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self.numbers().items()
        )
        title = escape(type(self).__name__)
        return (
            f"<div class='qed-certificate'><p><b>{title}</b>: {escape(self.statement)}</p><table>{cells}</table></div>"
        )


class GapCertificate(Certificate):
    """What certificates share that bound how far an objective is from its optimum."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of every record that is one
        gap: float
        rounding: float
        null_objective: float
        tol: float

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the null model's objective: what ``tol`` is compared with."""
        if self.null_objective > 0:
            return self.gap / self.null_objective
        return 0.0 if self.gap <= self.rounding else float("inf")

    @property
    def reached(self) -> bool:
        """Whether the gap, as far as it is more than rounding, is within ``tol`` of the null model's objective."""
        return self.gap - self.rounding <= self.tol * self.null_objective


@record("fingerprint")
class Fingerprint:
    """Moments that recognise a data set without holding it, whatever the order or the chunks of its rows.

    Optimality does not authenticate data: a model can be optimal for two data sets. The fingerprint tells them apart up to
    the rounding of float64 sums, and exposes no single row.

    Attributes
    ----------
    rows : int
        Rows with positive weight.
    weight : float
        Sum of the weights.
    mean : ndarray of shape (n_features + n_targets,)
        Weighted mean of every column, targets last.
    spread : ndarray of shape (n_features + n_targets,)
        Weighted sum of squared deviations from the mean, column by column.
    weight_doubt : float
        Bound on the rounding of ``weight``.
    mean_doubt, spread_doubt : ndarray of shape (n_features + n_targets,) or None
        Bounds on the rounding of ``mean`` and ``spread``; they grow when rows are forgotten. None in old files, which do not
        say.
    """

    rows: int
    weight: float
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    weight_doubt: float = 0.0
    mean_doubt: NDArray[np.float64] | None = None
    spread_doubt: NDArray[np.float64] | None = None

    def check(self) -> None:
        """Refuse a record that no data set can have."""
        vectors = [self.mean, self.spread, *(v for v in (self.mean_doubt, self.spread_doubt) if v is not None)]
        shapes_agree = self.mean.ndim == 1 and all(vector.shape == self.mean.shape for vector in vectors)
        if not shapes_agree or self.rows < 0 or not self.weight >= 0:
            msg = "the data fingerprint is malformed: its vectors disagree in shape or its counts are negative"
            raise ModelFileError(msg)
        if not self.weight_doubt >= 0 or not all(np.all(doubt >= 0) for doubt in vectors[2:]):
            msg = "the data fingerprint is malformed: a bound on rounding is negative or undefined"
            raise ModelFileError(msg)


@record("least-squares")
class LeastSquaresCertificate(GapCertificate):
    """How far a least-squares fit can be from the best one.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus optimum, in the units of the documented objective, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error rather than distance from the optimum.
    objective : float
        Objective at the fitted coefficients, summed over targets.
    null_objective : float
        Objective of the null model: the intercept alone, coefficients at their prior.
    backward_error : float
        Size of the smallest known relative change of the data for which the coefficients are exactly optimal.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    radius : float
        The statement holds against all coefficients closer than this to the fitted ones, each measured in units of the
        target: times the length of its column, offset included. ``inf`` means all there are.
    condition : float
        Estimated condition number of the design, columns scaled to unit length.
    rank : int
        Directions in which the objective is curved by more than rounding, so that the fit is determined along them. Without a
        penalty the numerical rank of the design (centred if there is an intercept), and after conjugate gradients, which
        never see it, an upper bound on that; with a penalty the number of columns, unless it is lost in rounding.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    backward_error: float
    tol: float
    radius: float
    condition: float
    rank: int
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        where = "No coefficients lower" if np.isinf(self.radius) else f"No coefficients within {self.radius:.3g} lower"
        return f"{where} the objective {self.objective:.8g} by more than {self.gap:.2g}."

    @property
    def _remark(self) -> str:
        if not self.reached:
            return ", tolerance not reached"
        return "" if self.gap <= self.tol * self.null_objective else ", as close as rounding allows"

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "gap": f"{self.gap:.3e} ({self.relative_gap:.1e} of the null model's objective, tol {self.tol:.0e})",
            "rounding in gap": f"{self.rounding:.3e}",
            "backward error": f"{self.backward_error:.1e}",
            "condition, rank": f"{self.condition:.2e}, {self.rank}",
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + self._remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (
            self.gap,
            self.rounding,
            self.backward_error,
            self.tol,
            self.radius,
            self.condition,
            self.null_objective,
        )
        if not all(number >= 0 for number in numbers) or self.rank < 0:
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("duality-gap")
class DualityGapCertificate(GapCertificate):
    """How far a convex fit can be from the best one, by a dual point.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus optimum, in the units of the documented objective, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error rather than distance from the optimum.
    objective : float
        Objective at the fitted coefficients, in the units of the documentation.
    null_objective : float
        Objective of the null model: the best intercept alone, no coefficients.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    radius : float
        The statement holds against all coefficients closer than this to the fitted ones, each measured by the root mean
        square of its column. ``inf`` means all there are.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"``, ``"stalled"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    dual : ndarray or None
        Dual variables of the rows of the fit, in their order, for losses with kinks, whose slope does not tell them. They can
        expose labels.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    tol: float
    radius: float
    outcome: str
    fingerprint: Fingerprint
    dual: NDArray[np.float64] | None = None

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        where = "No coefficients lower" if np.isinf(self.radius) else f"No coefficients within {self.radius:.3g} lower"
        return f"{where} the objective {self.objective:.8g} by more than {self.gap:.2g}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        return {
            "gap": f"{self.gap:.3e} ({self.relative_gap:.1e} of the null model's objective, tol {self.tol:.0e})",
            "rounding in gap": f"{self.rounding:.3e}",
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.objective, self.null_objective, self.tol, self.radius)
        if not all(number >= 0 for number in numbers):
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)
        if self.dual is not None and not (self.dual.ndim in (1, 2) and np.isfinite(self.dual).all()):
            msg = "the certificate holds dual variables that are not finite numbers, one for each row"
            raise ModelFileError(msg)


@record("subset-search")
class SubsetCertificate(GapCertificate):
    """How far a subset of columns can be from the best one.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus that of the best subset, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error.
    objective : float
        Sum of squares with these columns, and their price.
    null_objective : float
        Sum of squares of the intercept alone.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    nodes : int
        Sets of columns that the search looked at; 0 if it did not search and the bound is that of all columns together or of
        how nearly they are orthogonal.
    outcome : str
        ``"solved"``, ``"max_nodes"``, ``"stopped"``, ``"interrupted"`` or ``"not searched"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    tol: float
    nodes: int
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        return f"No other subset of columns lowers the objective {self.objective:.8g} by more than {self.gap:.2g}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        return {
            "gap": f"{self.gap:.3e} ({self.relative_gap:.1e} of the null model's objective, tol {self.tol:.0e})",
            "sets looked at": str(self.nodes),
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.objective, self.null_objective, self.tol, self.nodes)
        if not all(number >= 0 for number in numbers):
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("stationary")
class StationaryCertificate(GapCertificate):
    """How low an objective that is not convex can be near a fit.

    Attributes
    ----------
    gap : float
        No coefficients within ``radius`` lower the objective by more than this, rounding included; with a radius of zero, no
        step of the method lowers it by more.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error.
    radius : float
        How far predictions of the rows of the fit may differ from those of the model, each of them: within it the objective
        is convex along every line through the coefficients. Zero where it is not convex at the coefficients themselves.
    objective : float
        Objective at the fitted coefficients.
    null_objective : float
        Objective of the starting point that is always there: the weighted median alone.
    curvature : float
        Least curvature of the objective, as a share of that of least squares on the same rows; positive at a strict minimum.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"``, ``"stalled"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    gap: float
    rounding: float
    radius: float
    objective: float
    null_objective: float
    curvature: float
    tol: float
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        if self.radius > 0:
            return (
                f"No coefficients whose predictions differ by at most {self.radius:.3g} lower the objective {self.objective:.8g}"
                f" by more than {self.gap:.2g}; further away nothing is claimed."
            )
        return f"No reweighted fit lowers the objective {self.objective:.8g} by more than {self.gap:.2g}; no minimum is claimed."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        return {
            "gap": f"{self.gap:.3e} (tol {self.tol:.0e} of {self.null_objective:.4g})",
            "radius, in units of y": f"{self.radius:.3e}",
            "least curvature": f"{self.curvature:.3g} of that of least squares",
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.radius, self.objective, self.null_objective, self.tol)
        if not all(number >= 0 for number in numbers) or not self.curvature <= 1 + 1e-9:
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("held-out")
class HeldOutCertificate(Certificate):
    """A bound on errors for rows like the held-out ones, true with confidence ``1 - delta`` over their draw.

    Attributes
    ----------
    kind : str
        ``"error quantile"`` (regression: a share ``coverage`` of absolute errors stays below ``bound``) or
        ``"error rate"`` (classification: the probability of an error stays below ``bound``).
    observed : float
        The same quantity on the held-out rows themselves.
    bound : float
        The upper bound.
    coverage : float
        Share of new rows the bound speaks of; 1 for an error rate.
    delta : float
        Probability that the bound is wrong.
    rows : int
        Held-out rows.
    """

    kind: str
    observed: float
    bound: float
    coverage: float
    delta: float
    rows: int

    @property
    def reached(self) -> bool:
        """Whether there were rows enough to say anything."""
        return bool(np.isfinite(self.bound))

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        sure = f"with confidence {1 - self.delta:.4g}"
        if not self.reached:
            return f"{self.rows} held-out rows are too few to bound {self.coverage:.3g} of new errors {sure}."
        if self.kind == "error rate":
            return f"On new rows the error rate is at most {self.bound:.4g}, {sure}."
        return f"On new rows at least {self.coverage:.3g} of absolute errors are at most {self.bound:.4g}, {sure}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"observed": f"{self.observed:.6g}", "bound": f"{self.bound:.6g}", "held-out rows": str(self.rows)}


@record("exact")
class ExactCertificate(Certificate):
    """What was computed is a function of the rows and nothing else, up to rounding.

    Attributes
    ----------
    what : str
        What was computed.
    rows : int
        From how many rows.
    rounding : float
        Bound on the rounding, relative to the size of what was summed; 0 where nothing is rounded.
    """

    what: str
    rows: int
    rounding: float

    @property
    def reached(self) -> bool:
        """Nothing is approximated, so the tolerance is always reached."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        how = "exactly" if self.rounding == 0 else f"up to a relative rounding of {self.rounding:.1e}"
        return f"{self.what} of {self.rows} rows, {how}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"rows": str(self.rows), "rounding": f"{self.rounding:.1e}"}

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        if self.rows < 0 or not 0 <= self.rounding < 1:
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("mistakes")
class MistakesCertificate(Certificate):
    """How often an online learner was wrong before it learnt, and how often it can have been.

    With rows of length at most R and a plane that has them all on the right side at a distance of at least γ, a perceptron that
    starts from zero makes at most (R/γ)² mistakes, in any order and however often the rows come back.

    Attributes
    ----------
    rounds : int
        Rows shown, in all passes together.
    mistakes : int
        Rows that were on the wrong side, or on the plane, when they were shown; summed over the problems of several classes.
    radius : float
        R: the largest length of a row, with a one in place of the intercept. NaN for rows that were not kept.
    margins : ndarray of shape (k,)
        γ of each problem: the least signed distance of a row from the plane found. Not positive where it does not separate.
    bound : float
        The sum of (R/γ)², infinite where no plane was found or the theorem does not apply.
    fingerprint : Fingerprint or None
        The rows of ``fit``; None for a stream.
    """

    rounds: int
    mistakes: int
    radius: float
    margins: NDArray[np.float64]
    bound: float
    fingerprint: Fingerprint | None = None

    @property
    def reached(self) -> bool:
        """Whether a plane was found that has every row on its right side."""
        return bool(len(self.margins)) and bool((self.margins > 0).all())

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        made = f"{self.mistakes} mistakes in {self.rounds} rounds"
        if self.fingerprint is None:
            return f"{made}, each prediction made before its label was seen."
        if not self.reached:
            return f"{made}; the last coefficients do not separate the classes."
        most = f", and no order of the rows can cause more than {self.bound:.4g}" if np.isfinite(self.bound) else ""
        return f"{made}{most}; every row lies on its side, at a distance of {self.margins.min():.3g} at least."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        told = {"mistakes": f"{self.mistakes} of {self.rounds}"}
        if self.fingerprint is not None:
            told |= {
                "largest row": f"{self.radius:.6g}",
                "margin": f"{self.margins.min():.6g}",
                "bound": f"{self.bound:.6g}",
            }
        return told

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        shape = self.margins.ndim == 1 and not np.isnan(self.margins).any()
        if not shape or not 0 <= self.mistakes <= self.rounds * max(len(self.margins), 1) or not self.bound >= 0:
            msg = "the certificate counts mistakes that cannot have been made"
            raise ModelFileError(msg)


@record("bracket")
class BracketCertificate(Certificate):
    """The best value of one parameter for each column, enclosed.

    The objective of each column is convex in its parameter. Where its slope is negative at one end of an interval and
    positive at the other, the optimum lies between, and the objective at any value between is above the optimum by at most
    the size of the slope there times the width.

    Attributes
    ----------
    what : str
        What was chosen.
    rows : int
        From how many rows.
    low, high : ndarray of shape (p,)
        The ends of the intervals; NaN for columns without a choice.
    gap : float
        How much lower the objective of any column could be, per row.
    tol : float
        What was asked for.
    """

    what: str
    rows: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gap: float
    tol: float

    @property
    def reached(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        return f"{self.what} of {self.rows} rows: no other value lowers a column's objective by more than {self.gap:.1e} a row."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        with np.errstate(invalid="ignore"):
            width = float(np.nanmax(self.high - self.low)) if np.isfinite(self.low).any() else 0.0
        return {"gap": f"{self.gap:.1e}", "widest interval": f"{width:.1e}", "rows": str(self.rows)}

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        sound = (
            self.low.ndim == 1 and self.low.shape == self.high.shape and self.low.dtype == self.high.dtype == np.float64
        )
        if not sound or not (np.isnan(self.low) | (self.low <= self.high)).all():
            raise ModelFileError("the certificate holds intervals whose ends are no numbers in order")
        if self.rows < 0 or not 0 <= self.gap < np.inf or not self.tol > 0:
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("parts")
class PartsCertificate(Certificate):
    """A model of models proves what its parts prove.

    Attributes
    ----------
    parts : dict of str to Certificate
        The certificates of the parts, by name.
    """

    parts: dict[str, Any]

    @property
    def silent(self) -> list[str]:
        """The parts that claim nothing."""
        return [name for name, part in self.parts.items() if isinstance(part, Uncertified)]

    @property
    def reached(self) -> bool:
        """Whether every part that claims something reached its tolerance."""
        return all(part.reached for part in self.parts.values() if not isinstance(part, Uncertified))

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        claims = f"each of {len(self.parts)} parts has its own certificate"
        return f"{claims}; nothing is claimed of {', '.join(self.silent)}." if self.silent else f"{claims}."

    def numbers(self) -> dict[str, str]:
        """Return the statements of the parts."""
        return {name: f"{type(part).__name__}: {part.statement}" for name, part in self.parts.items()}

    def check(self) -> None:
        """Refuse parts that are no certificates."""
        if not all(isinstance(part, Certificate) for part in self.parts.values()):
            msg = "the certificate lists parts that are no certificates"
            raise ModelFileError(msg)


@record("uncertified")
class Uncertified(Certificate):
    """No claim is made.

    Attributes
    ----------
    reason : str
        Why nothing can be said.
    """

    reason: str

    @property
    def reached(self) -> bool:
        """Nothing was promised, so nothing is reached."""
        return False

    @property
    def statement(self) -> str:
        """The reason."""
        return f"nothing is claimed: {self.reason}."

    def numbers(self) -> dict[str, str]:
        """Return nothing: there are no numbers."""
        return {}

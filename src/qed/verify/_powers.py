"""Powers of columns, checked: the objective's slope, by definition and in extended precision, at the ends of each interval.

The objective of a column is convex in its power, so an interval whose ends have slopes of opposite signs holds the optimum. A power
at the end of the range that is allowed needs one slope: the one that points out of the range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._learnt import Learnt
from qed.verify._names import called
from qed.verify._scales import require_scaler
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import BracketCertificate


EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]
TOLERANCE = 1e-12  # nats a row: far below what any number of rows can tell apart


def check(model: Any, certificate: BracketCertificate, X: Any, sample_weight: Any) -> Verdict:
    """Enclose the best powers again; raise CertificateError when those of the model are others."""
    fit = Learnt(model, certificate, X if hasattr(X, "shape") else list(X), None, sample_weight)
    fit.require_columns()
    p, table, s = fit.p, fit.table, fit.s
    if type(certificate.rows) is not int or certificate.rows != fit.n:
        raise CertificateError(
            f"These are not the data of the certificate: it is about {certificate.rows} rows, these are {fit.n}. Pass the rows of"
            " the fit."
        )
    fit.require(certificate.what == f"powers of {p} columns", f"claims {certificate.what!r:.60} instead of {p} powers")
    fit.require(
        type(certificate.tol) is float and certificate.tol == TOLERANCE,
        f"claims a tolerance of {certificate.tol!r:.40}, which no fit has",
    )
    powers, low, high = (
        fit.numbers("lambdas_", (p,)),
        *(fit.numbers(end, (p,), owner=certificate) for end in ("low", "high")),
    )
    fit.require(np.isfinite(powers).all(), "stores powers that are no numbers")
    positive = model.method == "box-cox"
    worst, rounding_error, transformed = 0.0, 0.0, []
    for j, column in enumerate(table.columns):
        x = np.asarray(column.dense).astype(np.float64).astype(EXTENDED)  # models learn from doubles
        transformed.append(_transformed(x, powers[j], positive=positive))
        here = ~np.isnan(x) & (s > 0)
        if np.isnan(low[j]):
            fit.require(np.isnan(high[j]), f"encloses the power of {called(model, j)} on one side alone")
            _require_nothing_to_choose(model, j, x[here])
            continue
        own = _Column(x[here], s[here], positive=positive, single=fit.is_single)
        distance, slack = _distance(model, j, own, (float(low[j]), float(high[j])))
        worst, rounding_error = max(worst, distance), max(rounding_error, slack)
    gap = certificate.gap if isinstance(certificate.gap, float) else np.nan
    if not (worst <= gap + rounding_error and 0 <= gap < np.inf):
        raise CertificateError(
            f"PowerTransformer claims that no power is better by more than {gap:.3g} a row; the derivatives allow"
            f" {worst:.3g}. The model was changed, or the data are others."
        )
    if model.standardize:
        # An exponential is rounded relative to its exponent, which is at most that of the largest allowed power.
        unit = 2.0**-24 if fit.is_single else 2.0**-53
        columns = np.stack(transformed, axis=1).astype(np.float64)
        require_scaler(fit, model.scaler_, columns, 16 * unit + 8 * 340.0 * 2.0**-53)
    else:
        fit.nothing("scaler_")
    return Verdict(certificate.statement, 0.0, worst, rounding_error, gap, measure="")


def _require_nothing_to_choose(model: Any, j: int, x: Array) -> None:
    constant = not len(x) or np.max(x) - np.min(x) <= len(x) ** 1.5 * 2.3e-16 * np.max(np.abs(x))
    if not constant or model.lambdas_[j] != 1:
        raise CertificateError(
            f"PowerTransformer stores the power {model.lambdas_[j]:.6g} without an interval for {called(model, j)}: only columns"
            " that do not vary have none, and their power is one. The model was changed, or the data are others."
        )


def _transformed(x: Array, power: Any, *, positive: bool) -> Array:
    """Return the transformed entries, by definition."""

    def grown(base: Array, exponent: Any) -> Array:
        logs = np.log(base)
        return logs if exponent == 0 else np.expm1(exponent * logs) / exponent

    if positive:
        return grown(x, power)
    with np.errstate(over="ignore"):
        return np.where(x < 0, -grown(1 + np.abs(x), 2 - power), grown(1 + np.abs(x), power))


class _Column:
    """One column: logarithms with signs, and the range of powers that is allowed.

    Multiplying every ``1 + |x|`` (or x) by a constant adds a constant to the objective of entries of one sign. Their logarithms are
    therefore taken relative to a middle one: entries far from zero that hardly differ keep the digits in which they do.
    """

    def __init__(self, x: Array, s: Array, *, positive: bool, single: bool) -> None:
        self.share = s / s.sum()
        self.sign = np.ones(len(x), EXTENDED) if positive else np.where(x < 0, EXTENDED(-1), EXTENDED(1))
        base = x if positive else 1 + np.abs(x)
        self.logs = np.log(x) if positive else np.log1p(np.abs(x))
        is_mixed = bool((self.sign > 0).any() and (self.sign < 0).any())
        middle = EXTENDED(1) if is_mixed else np.sort(base)[len(base) // 2]
        size = np.abs(x)
        away = size - (middle - (0 if positive else 1))
        self.relative = (
            self.logs
            if is_mixed
            else np.where(np.abs(away) < middle / 2, np.log1p(away / middle), np.log(base / middle))
        )
        signed = self.sign * self.relative
        self.level = self.share @ signed
        self.spread = np.sqrt(self.share @ (signed - self.level) ** 2)
        self.range = self._allowed(80.0 if single else 340.0, positive=positive)

    def _allowed(self, most: float, *, positive: bool) -> tuple[float, float]:
        low, high = float(self.logs.min()), float(self.logs.max())
        if positive:
            room = self._room(max(abs(low), abs(high)))
            largest = most / high if high > 0 else room / -high if high < 0 else most / -low
            least = most / low if low < 0 else -room / low if low > 0 else -most / high
            return least, largest
        upper, lower = self.logs[self.sign > 0], self.logs[self.sign < 0]
        if len(upper) and len(lower):
            top = float(upper.max())
            return 2 - most / float(lower.max()), most / top if top > 0 else most
        ends = (-self._room(high) / low if low > 0 else -most / high), most / high
        return ends if len(upper) else (2 - ends[1], 2 - ends[0])

    def _room(self, size: float) -> float:
        """Return the exponent up to which entries whose logarithms have one sign still differ by 1e-11 of their size."""
        return max(1.0, float(np.log(1e11 * self.spread / size)))

    def slope(self, power: float) -> float:
        """Return the slope of the objective at a power."""
        value, turn = np.empty_like(self.logs), np.empty_like(self.logs)
        for sign, exponent in ((1, EXTENDED(power)), (-1, 2 - EXTENDED(power))):
            some = self.sign == sign
            L = self.relative[some]
            t = exponent * L
            near = np.abs(t) < 1e-3
            safe = np.where(near, 1, t)
            grown = np.expm1(t)
            value[some] = sign * L * np.where(near, 1 + t / 2 + t * t / 6 + t**3 / 24 + t**4 / 120, grown / safe)
            turn[some] = (
                L
                * L
                * np.where(
                    near,
                    EXTENDED(1) / 2 + t / 3 + t * t / 8 + t**3 / 30 + t**4 / 144,
                    (grown + 1 - grown / safe) / safe,
                )
            )
        value = value - self.share @ value
        return float((self.share @ (value * turn)) / (self.share @ (value * value)) - self.level)


def _distance(model: Any, j: int, column: _Column, ends: tuple[float, float]) -> tuple[float, float]:
    """Return how far above the optimum the objective can be, and how far rounding can have moved that."""
    power, (low, high) = float(model.lambdas_[j]), ends
    slack = 1e-9 * float(column.spread)
    least, largest = column.range
    at_least, at_most = (abs(power - end) <= 1e-9 * (1 + abs(end)) for end in (least, largest))
    sound = low <= power <= high
    sound = sound and (column.slope(low) <= slack or (at_least and low == power))
    sound = sound and (column.slope(high) >= -slack or (at_most and high == power))
    if not sound:
        raise CertificateError(
            f"PowerTransformer stores the power {power:.10g} for {called(model, j)} and encloses it between {low:.10g} and"
            f" {high:.10g}; the derivatives of the objective there do not. The model was changed, or the data are others."
        )
    return abs(column.slope(power)) * (high - low), slack * (high - low)

"""Powers of columns, checked: the objective's slope, by definition and in extended precision, at the ends of each interval.

The objective of a column is convex in its power, so an interval whose ends have slopes of opposite signs holds the optimum. A power
at the end of the range that is allowed needs one slope: the one that points out of the range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.core._mixed import read as read_columns
from qed.verify._names import called
from qed.verify._transformers import check_scaler
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.core._certificates import BracketCertificate

__all__ = ["check"]

EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]


def check(model: Any, certificate: BracketCertificate, X: Any, sample_weight: Any) -> Verdict:
    """Enclose the best powers anew; raise CertificateError when those of the model are others."""
    table = read_columns(X, "qed.verify")
    if table.n_rows != certificate.rows or len(table.columns) != len(model.lambdas_):
        raise CertificateError(
            f"These are not the data of the certificate: it is about {certificate.rows} rows of {len(model.lambdas_)} columns,"
            f" these are {table.n_rows} of {len(table.columns)}. Pass the rows of the fit."
        )
    s = np.ones(table.n_rows, EXTENDED) if sample_weight is None else np.asarray(sample_weight, dtype=EXTENDED)
    single = all(column.dense.dtype == np.float32 for column in table.columns)
    positive = model.method == "box-cox"
    worst, doubt, bent = 0.0, 0.0, []
    for j, column in enumerate(table.columns):
        x = np.asarray(column.dense, dtype=EXTENDED)
        power = EXTENDED(model.lambdas_[j])
        bent.append(_bent(x, power, positive=positive))
        here = ~np.isnan(x) & (s > 0)
        ends = certificate.low[j], certificate.high[j]
        if np.isnan(ends[0]):
            _require_nothing_to_choose(model, j, x[here])
            continue
        distance, slack = _distance(model, j, _Column(x[here], s[here], positive=positive, single=single), ends)
        worst, doubt = max(worst, distance), max(doubt, slack)
    if worst > certificate.gap + doubt:
        raise CertificateError(
            f"PowerTransformer claims that no power is better by more than {certificate.gap:.3g} a row; the slopes allow"
            f" {worst:.3g}. The model was changed, or the data are others."
        )
    if model.scaler_ is not None:
        kind = np.float32 if single else np.float64
        check_scaler(
            model.scaler_, np.stack(bent, axis=1).astype(np.float64), sample_weight, 8 * float(np.finfo(kind).eps)
        )
    return Verdict(certificate.statement, 0.0, worst, doubt, certificate.gap, measure="")


def _require_nothing_to_choose(model: Any, j: int, x: Array) -> None:
    constant = not len(x) or np.max(x) - np.min(x) <= len(x) ** 1.5 * 2.3e-16 * np.max(np.abs(x))
    if not constant or model.lambdas_[j] != 1:
        raise CertificateError(
            f"PowerTransformer stores the power {model.lambdas_[j]:.6g} without an interval for {called(model, j)}: only columns"
            " that do not vary have none, and their power is one. The model was changed, or the data are others."
        )


def _bent(x: Array, power: Any, *, positive: bool) -> Array:
    """Return the bent entries, by definition."""

    def grown(base: Array, exponent: Any) -> Array:
        logs = np.log(base)
        return logs if exponent == 0 else np.expm1(exponent * logs) / exponent

    if positive:
        return grown(x, power)
    with np.errstate(over="ignore"):
        return np.where(x < 0, -grown(1 + np.abs(x), 2 - power), grown(1 + np.abs(x), power))


class _Column:
    """One column: logarithms with signs, and the range of powers that is allowed."""

    def __init__(self, x: Array, s: Array, *, positive: bool, single: bool) -> None:
        self.share = s / s.sum()
        self.sign = np.ones(len(x), EXTENDED) if positive else np.where(x < 0, EXTENDED(-1), EXTENDED(1))
        self.logs = np.log(x) if positive else np.log1p(np.abs(x))
        self.signed = self.sign * self.logs
        self.level = self.share @ self.signed
        self.spread = np.sqrt(self.share @ (self.signed - self.level) ** 2)
        self.range = self._allowed(80.0 if single else 340.0, positive=positive)

    def _allowed(self, most: float, *, positive: bool) -> tuple[float, float]:
        low, high = float(self.logs.min()), float(self.logs.max())
        room = max(1.0, float(np.log(1e11 * self.spread / max(abs(low), abs(high)))))
        if positive:
            largest = most / high if high > 0 else room / -high if high < 0 else most / -low
            least = most / low if low < 0 else -room / low if low > 0 else -most / high
            return least, largest
        upper, lower = self.logs[self.sign > 0], self.logs[self.sign < 0]
        if len(upper) and len(lower):
            top = float(upper.max())
            return 2 - most / float(lower.max()), most / top if top > 0 else most
        ends = (-room / low if low > 0 else -most / high), most / high
        return ends if len(upper) else (2 - ends[1], 2 - ends[0])

    def slope(self, power: float) -> float:
        """Return the slope of the objective at a power."""
        value, turn = np.empty_like(self.logs), np.empty_like(self.logs)
        for sign, exponent in ((1, EXTENDED(power)), (-1, 2 - EXTENDED(power))):
            some = self.sign == sign
            L = self.logs[some]
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
            f" {high:.10g}; the slopes of the objective there do not. The model was changed, or the data are others."
        )
    return abs(column.slope(power)) * (high - low), slack * (high - low)

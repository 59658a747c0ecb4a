"""Scores of single columns, checked: variances, tests and mutual information, each from its definition.

A statistic F is compared as the share of the variance that it explains, which lies between 0 and 1 however large F is; its
p-value is computed again from the stored statistic, by the incomplete beta and gamma functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _tables
from qed.core._records import public_name
from qed.core._tables import is_sparse
from qed.verify._learnt import DOUBLE, EXTENDED
from qed.verify._scales import TERMS

if TYPE_CHECKING:
    from qed.verify._learnt import Learnt

Array = np.ndarray[Any, Any]
SPECIAL_ROUNDING = 1e-9  # of incomplete beta and gamma functions, relative to their value
HOME = "qed.feature_selection."


def check_variances(fit: Learnt) -> float:
    """Check variances, and that constant columns are known to be constant."""
    model, off = fit.model, 0.0
    fit.require_claim(f"variances of {fit.p} columns", fit.n, (TERMS + 8 * fit.n) * DOUBLE)
    stored = fit.numbers("variances_", (fit.p,))
    for j, column in enumerate(fit.summaries):
        if not column.entries:
            fit.compare("the variance", stored[j : j + 1], np.nan, 0.0, j)
            continue
        extent, size = column.high - column.low, column.square
        true = column.var if extent > 0 else EXTENDED(0)
        if model.threshold == 0:
            true = min(true, extent)
        fit.require((stored[j] > 0) == (extent > 0), "does not tell which columns are constant")
        off = max(off, fit.compare("the variance", stored[j : j + 1], true, 4 * fit.certificate.rounding * size, j))
    return off


def check_scores(fit: Learnt) -> float:
    """Check scores and p-values of a known function; those of a user's own function are asked for again."""
    model = fit.model
    fit.require_claim(f"scores of {fit.p} columns", fit.n, (fit.n + 64) * DOUBLE)
    fit.numbers("scores_", (fit.p,))
    known = {f"{HOME}{name}": check for name, check in _CHECKS.items()}.get(public_name(model.score_func))
    if known is not None:
        return float(known(fit))
    rows, _ = _tables.read(fit.X, "X", model._traits(), type(model).__name__)  # noqa: SLF001
    found = model.score_func(rows, None if fit.y is None else np.asarray(fit.y))
    scores, p_values = found if isinstance(found, tuple | list) and len(found) == 2 else (found, None)
    off = fit.compare("the score", model.scores_, scores, 1e-9 * (1 + np.abs(np.asarray(scores))))
    if p_values is None:
        fit.nothing("pvalues_")
        return off
    return max(off, fit.compare("the p-value", fit.numbers("pvalues_", (fit.p,)), p_values, SPECIAL_ROUNDING))


def _column(fit: Learnt, j: int) -> Array:
    if is_sparse(fit.X):
        return np.asarray(fit.X.tocsc()[:, [j]].todense()).reshape(-1).astype(EXTENDED)
    return np.asarray(fit.table.columns[j].dense).astype(np.float64).astype(EXTENDED)


def _target(fit: Learnt) -> Array:
    fit.require(fit.y is not None, "compares columns with a target, and y is None")
    y: Any = fit.y
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).reshape(-1)


def _codes(fit: Learnt) -> tuple[int, Array]:
    labels, codes = np.unique(_target(fit), return_inverse=True)
    return len(labels), codes.reshape(-1)


def _slack(fit: Learnt, x: Array) -> float:
    """Return what rounding does to a share of the scatter of a column far from zero."""
    scatter = float(np.sum((x - x.mean()) ** 2))
    offset = float(np.sqrt(np.sum(x**2) / scatter)) if scatter > 0 else 0.0
    return 64 * float(fit.certificate.rounding) * (1 + offset) ** 2


def _compare_shares(fit: Learnt, shares: list[Any], slack: list[float], low: float, high: float) -> float:
    """Compare stored statistics F as shares ``low F / (low F + high)``, then p-values with the stored statistics."""
    from scipy.special import betainc  # noqa: PLC0415

    stored = fit.model.scores_.astype(EXTENDED)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        own = np.where(np.isinf(stored), 1, low * stored / (low * stored + high))
        fit.require(not np.any(stored < 0), "stores a negative statistic")
        off = fit.compare(
            "the statistic, as a share of the variance,", own, np.array(shares, EXTENDED), np.array(slack)
        )
        rest = np.where(np.isinf(stored), 0, high / (high + low * stored)).astype(np.float64)
        true = np.where(np.isnan(rest), np.nan, betainc(high / 2, low / 2, np.where(np.isnan(rest), 0.5, rest)))
    _compare_p_values(fit, true)
    return off


def _compare_p_values(fit: Learnt, true: Array) -> None:
    p_values = fit.numbers("pvalues_", (fit.p,))
    fit.compare("the p-value", p_values, true, SPECIAL_ROUNDING * np.abs(np.where(np.isnan(true), 0, true)) + 1e-300)


def _check_analysis_of_variance(fit: Learnt) -> float:
    k, codes = _codes(fit)
    shares, slack = [], []
    for j in range(fit.p):
        x = _column(fit, j)
        total = np.sum((x - x.mean()) ** 2) if np.ptp(x) > 0 else EXTENDED(0)
        between = sum(len(x[codes == c]) * (x[codes == c].mean() - x.mean()) ** 2 for c in range(k))
        shares.append(between / total if total > 0 and fit.n > k else 1.0 if total > 0 else np.nan)
        slack.append(_slack(fit, x))
    return _compare_shares(fit, shares, slack, k - 1, fit.n - k)


def _correlations(fit: Learnt) -> tuple[list[Any], list[float]]:
    y = _target(fit).astype(np.float64).astype(EXTENDED)
    found, slack = [], []
    about = y - y.mean() if np.ptp(y) > 0 else np.zeros_like(y)
    for j in range(fit.p):
        x = _column(fit, j)
        z = x - x.mean() if np.ptp(x) > 0 else np.zeros_like(x)
        size = np.sqrt(np.sum(z * z) * np.sum(about * about))
        found.append(np.sum(z * about) / size if size > 0 else EXTENDED(0))
        slack.append(_slack(fit, x) + _slack(fit, y))
    return found, slack


def _check_correlations(fit: Learnt) -> float:
    true, slack = _correlations(fit)
    fit.nothing("pvalues_")
    return fit.compare("the correlation", fit.model.scores_, np.array(true, EXTENDED), np.array(slack))


def _check_regressions(fit: Learnt) -> float:
    true, slack = _correlations(fit)
    constant = np.array([not one for one in true])  # such columns score 0, with a p-value of 1
    fit.require(np.all(fit.model.scores_[constant] >= 0), "stores a negative statistic")
    return _compare_shares(fit, [one**2 for one in true], slack, 1, fit.n - 2)


def _check_counts(fit: Learnt) -> float:
    from scipy.special import gammaincc  # noqa: PLC0415

    k, codes = _codes(fit)
    share = np.array([np.mean(codes == c, dtype=EXTENDED) for c in range(k)])
    true, slack = [], []
    for j in range(fit.p):
        x = _column(fit, j)
        observed = np.array([x[codes == c].sum() for c in range(k)], EXTENDED)
        expected = share * x.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            true.append(np.sum((observed - expected) ** 2 / expected))
            slack.append(float(16 * fit.certificate.rounding * np.sum((observed + expected) ** 2 / expected)))
    stored = fit.model.scores_
    off = fit.compare("the statistic", stored, np.array(true, EXTENDED), np.nan_to_num(np.array(slack)))
    fit.require(not np.any(stored < 0), "stores a negative statistic")
    _compare_p_values(fit, gammaincc((k - 1) / 2, stored / 2) if k > 1 else np.where(stored > 0, 0.0, 1.0))
    return off


# -- mutual information ------------------------------------------------------------------------------------------


def _scaled(x: Array, noise: Array) -> Array:
    """Return a column in units of its standard deviation, with the noise that breaks its ties."""
    spread = np.std(x)
    plain = x / (spread if spread > 10 * np.finfo(np.float64).eps * np.max(np.abs(x), initial=0) else 1.0)
    return np.asarray(plain + 1e-10 * max(1.0, float(np.mean(np.abs(plain)))) * noise)


def _information(fit: Learnt, *, classes: bool) -> float:
    """Estimate by all pairs of rows: the definition, with the noise of the fixed seed."""
    k = 3
    fit.nothing("pvalues_")
    draws = np.random.RandomState(0)
    sparse = is_sparse(fit.X)
    columns = [_column(fit, j).astype(np.float64) for j in range(fit.p)]
    if not sparse:
        noise = draws.standard_normal(size=(fit.n, fit.p))
        columns = [_scaled(x, noise[:, j]) for j, x in enumerate(columns)]
    if classes:
        _, target = _codes(fit)
    else:
        target = _scaled(_target(fit).astype(np.float64), draws.standard_normal(size=fit.n))
    true = []
    for x in columns:
        if sparse:
            codes = np.unique(x, return_inverse=True)[1]
            true.append(_between_categories(codes, target) if classes else _with_categories(target, codes, k))
        else:
            true.append(_with_categories(x, target, k) if classes else _between_numbers(x, target, k))
    return fit.compare("the mutual information", fit.model.scores_, np.maximum(true, 0.0), 1e-9)


def _between_categories(a: Array, b: Array) -> float:
    pairs, counts = np.unique(np.stack([a, b]), axis=1, return_counts=True)
    share = (
        {label: np.mean(a == label) for label in np.unique(a)},
        {label: np.mean(b == label) for label in np.unique(b)},
    )
    return float(
        sum(
            count / len(a) * np.log(count / len(a) / (share[0][first] * share[1][second]))
            for (first, second), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
        )
    )


def _with_categories(x: Array, codes: Array, k: int) -> float:
    from scipy.special import psi  # noqa: PLC0415

    size = np.array([np.sum(codes == code) for code in codes])
    used = np.flatnonzero(size > 1)
    if not len(used):
        return 0.0
    terms = []
    for i in used:
        apart = np.abs(x - x[i])
        near = min(k, int(size[i]) - 1)
        radius = np.sort(apart[codes == codes[i]])[near]  # its own distance of zero comes first
        nearer = int(np.sum(apart[used] < radius)) if radius > 0 else int(np.sum(apart[used] == 0))
        terms.append(psi(near) - psi(size[i]) - psi(nearer))
    return float(psi(len(used)) + np.mean(terms))


def _between_numbers(x: Array, y: Array, k: int) -> float:
    from scipy.special import psi  # noqa: PLC0415

    terms = []
    for i in range(len(x)):
        along, across = np.abs(x - x[i]), np.abs(y - y[i])
        radius = np.sort(np.maximum(along, across))[k]
        terms.append(psi(max(np.sum(along < radius), 1)) + psi(max(np.sum(across < radius), 1)))
    return float(psi(len(x)) + psi(k) - np.mean(terms))


def _check_information_of_classes(fit: Learnt) -> float:
    return _information(fit, classes=True)


def _check_information_of_numbers(fit: Learnt) -> float:
    return _information(fit, classes=False)


_CHECKS: dict[str, Any] = {
    "chi2": _check_counts,
    "f_classif": _check_analysis_of_variance,
    "f_regression": _check_regressions,
    "mutual_info_classif": _check_information_of_classes,
    "mutual_info_regression": _check_information_of_numbers,
    "r_regression": _check_correlations,
}

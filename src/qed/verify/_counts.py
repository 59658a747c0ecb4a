"""Predictors that count, checked: shares of labels, best constants, best cuts, all by definition.

A share is a sum over the rows of a label. A best constant or cut is compared with every other one that could be better: the
losses of all of them are computed again, without the sorts and running sums of the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _targets
from qed.verify._quantiles import quantiles, rounding_of_halves
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate


Array = np.ndarray[Any, Any]
MISTAKES = "share of mistakes"


def _read(model: Any, certificate: ExactCertificate, y: Any, sample_weight: Any) -> tuple[Array, Array, float]:
    """Return targets, weights, and how far sums over as many rows may be off, relative to what was summed."""
    target = _targets.as_target(y, "y")
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    n = len(target)
    if n != certificate.rows:
        refuse(model, f"it learnt from {certificate.rows} rows, and these are {n}")
    weight = _targets.weights(sample_weight, n)
    s = np.ones(n, EXTENDED) if weight is None else weight.astype(EXTENDED)
    return target, s, (n + 16) * 2.0**-52


def _rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Array:
    table = read_data(model, X, y, sample_weight).X
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)


def check_shares(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Count the labels again."""
    target, s, near = _read(model, certificate, y, sample_weight)
    labels, prior, counts = model.classes_.tolist(), np.asarray(model.class_prior_), np.asarray(model.class_count_)
    if type(model.n_classes_) is not int or model.n_classes_ != len(labels):
        refuse(model, f"it has {len(labels)} labels, and says {model.n_classes_!r:.40}")
    if prior.shape != (len(labels),) or counts.shape != prior.shape:
        refuse(model, "it does not store one share and one count for each label")
    total, off = s.sum(), 0.0
    for label, share, count in zip(labels, prior, counts, strict=True):
        own = s[target == label].sum()
        if not (abs(own / total - share) <= near and abs(own - count) <= near * total):
            refuse(
                model, f"label {label!r} has a share of {float(own / total):.12g}, and {float(share):.12g} is stored"
            )
        off = max(off, float(abs(own / total - share)))
    return Verdict(certificate.statement, 1.0 - float(prior.max()), off, near, certificate.rounding, MISTAKES)


def check_constant(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Find the best number again."""
    target, s, near = _read(model, certificate, y, sample_weight)
    Y = target.astype(EXTENDED).reshape(len(target), -1)
    stored = np.asarray(model.constant_)
    if stored.shape != (1, Y.shape[1]) or type(model.n_outputs_) is not int or model.n_outputs_ != Y.shape[1]:
        refuse(model, f"there are {Y.shape[1]} targets")
    off = 0.0
    if model.strategy == "constant":
        given = np.broadcast_to(np.asarray(model.constant, dtype=np.float64).reshape(-1), (Y.shape[1],))
        if not np.array_equal(given, stored[0]):
            refuse(model, f"the constant asked for is {given}, and {stored[0]} is stored")
    else:
        level = {"mean": None, "median": 0.5}.get(model.strategy, model.quantile)
        off = max(
            _off_constant(model, number, values, s, level, near) for number, values in zip(stored[0], Y.T, strict=True)
        )
    return Verdict(certificate.statement, 0.0, off, near, certificate.rounding, "")


def _off_constant(model: Any, stored: Any, values: Array, s: Array, level: float | None, near: float) -> float:
    """Return how far a number is from the mean; a quantile must be the one of the fit, up to rounding."""
    total = s.sum()
    if level is None:
        mean = s @ values / total
        off = float(abs(mean - stored))
        if not off <= 4 * near * (s @ np.abs(values) / total):
            refuse(model, f"the mean of the target is {float(mean):.12g}, and {float(stored):.12g} is stored")
        return off
    values, s = values[s > 0], s[s > 0]
    found = quantiles(values, s, level, rounding_of_halves(len(values)))
    if not np.min(np.abs(found - stored)) <= 4 * near * np.abs(values).max():
        refuse(
            model, f"the quantile {level} of the target is {float(found[0]):.12g}, and {float(stored):.12g} is stored"
        )
    return 0.0


def check_threshold(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Compare a cut with every other cut of every column."""
    target, s, near = _read(model, certificate, y, sample_weight)
    rows, labels = _rows(model, X, y, sample_weight), model.classes_
    if model.class_weight is not None:
        s = s * _class_weights(model, target, s)
    used = s > 0
    rows, target, s = rows[used], target[used], s[used]
    total = s.sum()
    slack = near * total
    sides = np.asarray(model.sides_)
    fits = sides.shape == (2,) and sides.dtype.kind in "iu" and bool(((sides >= 0) & (sides < len(labels))).all())
    if not fits or type(model.column_) is not int or not 0 <= model.column_ < rows.shape[1]:
        refuse(model, "it cuts a column, or names a label, that there is not")
    column, cut = rows[:, model.column_], model.threshold_
    _require_middle(model, column, cut, sides)
    told = labels[np.where(column <= cut, *sides)]
    mistakes = s[told != target].sum()
    if not abs(mistakes - model.mistakes_) <= slack:
        refuse(
            model,
            f"its threshold makes mistakes of weight {float(mistakes):.12g}, and {model.mistakes_:.12g} is stored",
        )
    own = [(target == label) * s for label in labels.tolist()]
    fewest = total - max(part.sum() for part in own)
    for values in rows.T:
        for one in np.unique(values):
            low = values <= one
            right = max(part[low].sum() for part in own) + max(part[~low].sum() for part in own)
            fewest = min(fewest, total - right)
    if not mistakes <= fewest + slack:
        refuse(
            model,
            f"another threshold makes mistakes of weight {float(fewest):.12g}, and its own {float(mistakes):.12g}",
        )
    return Verdict(
        certificate.statement,
        float(mistakes),
        float(max(mistakes - fewest, 0)),
        float(slack),
        certificate.rounding,
        MISTAKES,
    )


def _require_middle(model: Any, column: Array, cut: Any, sides: Array) -> None:
    """Refuse a threshold that does not lie in the middle between two values of its column, or beyond all of them."""
    if not isinstance(cut, float) or np.isnan(cut):
        refuse(model, "its threshold is no number")
    below, above = column[column <= cut], column[column > cut]
    if not len(above) or not len(below):
        if not (np.isposinf(cut) and sides[0] == sides[1]):
            refuse(model, "its threshold has all rows on one side")
        return
    low, high = below.max(), above.min()
    middle = low / 2 + high / 2
    if cut != (middle if low <= middle < high else low):
        refuse(model, f"its threshold is {cut:.12g}, and {middle:.12g} lies between two values of its column")


def check_table(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Count the labels of every row again."""
    target, s, near = _read(model, certificate, y, sample_weight)
    rows, slack = _rows(model, X, y, sample_weight), near * s.sum()
    seen: dict[tuple[float, ...], dict[Any, Any]] = {}
    totals = dict.fromkeys(model.classes_.tolist(), EXTENDED(0))
    for row, label, weight in zip(rows.tolist(), target.tolist(), s, strict=True):
        if weight > 0:
            votes = seen.setdefault(tuple(row), {})
            votes[label] = votes.get(label, EXTENDED(0)) + weight
            totals[label] += weight
    codes, table = np.asarray(model.row_labels_), np.asarray(model.rows_)
    if (
        codes.shape != table.shape[:1]
        or codes.dtype.kind not in "iu"
        or not np.all((codes >= 0) & (codes < len(totals)))
    ):
        refuse(model, "it does not store one label for each row")
    stored = dict(zip(map(tuple, table.tolist()), model.classes_[codes].tolist(), strict=True))
    if stored.keys() != seen.keys() or len(table) != len(seen):
        refuse(model, f"{len(seen)} different rows occur, and {len(table)} are stored")
    mistakes = sum(sum(votes.values()) - votes.get(stored[row], 0) for row, votes in seen.items())
    fewest = sum(sum(votes.values()) - max(votes.values()) for votes in seen.values())
    if not (mistakes <= fewest + slack and abs(mistakes - model.mistakes_) <= slack):
        refuse(
            model, f"its table makes mistakes of weight {float(mistakes):.12g}, and {float(fewest):.12g} are possible"
        )
    for row, votes in seen.items():  # of labels that are equally frequent in a row the first
        best = min(label for label, often in votes.items() if often >= max(votes.values()) - slack)
        if votes.get(stored[row], 0) >= max(votes.values()) - slack and stored[row] < best:
            refuse(model, "of labels that are equally frequent in a row it does not store the first")
    default = model.default_
    if type(default) is not int or not 0 <= default < len(totals):
        refuse(model, "its default is no label")
    label = model.classes_[default].item() if hasattr(model.classes_[default], "item") else model.classes_[default]
    right = label == model.default if model.default is not None else totals[label] >= max(totals.values()) - slack
    if (
        right and model.default is None and sample_weight is None
    ):  # counts are exact: of equally frequent labels the first
        right = all(totals[other] < totals[label] for other in model.classes_[:default].tolist())
    if not right:
        refuse(model, f"its default is {label!r}, which is neither asked for nor the most frequent label")
    off = float(max(mistakes - fewest, 0))
    return Verdict(certificate.statement, float(mistakes), off, float(slack), certificate.rounding, MISTAKES)


def check_drawn(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Draw all hyperplanes again and count their mistakes."""
    target, s, near = _read(model, certificate, y, sample_weight)
    rows = _rows(model, X, y, sample_weight).astype(EXTENDED)
    signs = np.where(target == model.classes_[1], 1, -1)
    slack = near * s.sum()
    if len(model.classes_) != 2:
        refuse(model, f"it has {len(model.classes_)} labels, and tells two apart")
    wrongs = np.asarray(model.wrongs_)
    if wrongs.shape != (model.n_draws,) or type(model.draw_) is not int or not 0 <= model.draw_ < model.n_draws:
        refuse(model, "it does not store the mistakes of each draw")
    stream = np.random.default_rng(model.seed_)
    fewest, own = s.sum(), s.sum()
    for draw in range(model.n_draws):
        plane = stream.standard_normal(rows.shape[1] + 1)
        plane[-1] *= bool(model.fit_intercept)
        scores = signs * (rows @ plane[:-1] + plane[-1])
        # a score that rounding alone decides may count either way
        uncertain = np.abs(scores) <= 2.0**-50 * (np.abs(rows) @ np.abs(plane[:-1]) + abs(plane[-1]))
        least, most = s[(scores <= 0) & ~uncertain].sum(), s[(scores <= 0) | uncertain].sum()
        if not least - slack <= wrongs[draw] <= most + slack:
            refuse(
                model, f"draw {draw} makes mistakes of weight {float(least):.12g}, and {wrongs[draw]:.12g} is stored"
            )
        fewest = min(fewest, least)
        if draw == model.draw_:
            own = most
            if not (np.array_equal(plane[None, :-1], model.coef_) and np.array_equal(plane[-1:], model.intercept_)):
                refuse(model, f"its hyperplane is not draw {draw} of its seed")
    best = wrongs.min()
    if not (wrongs[model.draw_] <= best and model.mistakes_ == wrongs[model.draw_]):
        refuse(model, f"a draw makes mistakes of weight {float(best):.12g}, and {model.mistakes_:.12g} is stored")
    return Verdict(
        certificate.statement,
        float(own),
        float(max(wrongs[model.draw_] - best, 0.0)),
        float(slack),
        certificate.rounding,
        MISTAKES,
    )


def _class_weights(model: Any, y: Array, s: Array) -> Array:
    labels = model.classes_.tolist()
    if isinstance(model.class_weight, str):
        sums = {label: s[y == label].sum() for label in labels}
        return np.array([s.sum() / (len(labels) * sums[label]) for label in y.tolist()], EXTENDED)
    return np.array([model.class_weight.get(label, 1.0) for label in y.tolist()], EXTENDED)

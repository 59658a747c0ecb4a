"""Categories, labels and mean targets, checked: collected into sets, put in order, and averaged again."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.verify._learnt import DOUBLE, EXTENDED, Learnt, key, same_entries
from qed.verify._names import called

if TYPE_CHECKING:
    from collections.abc import Iterable

Array = np.ndarray[Any, Any]
NAN = ("NaN",)


def in_order(entries: Iterable[Any]) -> list[Any]:
    """Return distinct entries, or their keys, in their order, then None, then NaN."""
    distinct = {key(one) for one in entries}
    ends = [one for one in (None, NAN) if one in distinct]
    return sorted(distinct - {None, NAN}) + [np.nan if one == NAN else one for one in ends]


def _listed(fit: Learnt, given: Any, j: int) -> list[Any]:
    """Return the categories of a column: those that the user lists, or those that occur."""
    if isinstance(given, str):
        return in_order(fit.times(j))
    return list(given[j].tolist() if isinstance(given[j], np.ndarray) else given[j])


def _check_categories(fit: Learnt, given: Any) -> None:
    stored = fit.model.categories_
    fit.require(isinstance(stored, list) and len(stored) == fit.p, "does not store categories for each column")
    for j in range(fit.p):
        true = _listed(fit, given, j)
        name = called(fit.model, j)
        fit.require(
            same_entries(stored[j], true), f"stores other categories for {name} than {true!s:.80}, or in another order"
        )
        is_numeric = isinstance(given, str) and _is_numeric(fit, j)
        fit.require(not (is_numeric and stored[j].dtype == object), f"stores the numbers of {name} as objects")


def _is_numeric(fit: Learnt, j: int) -> bool:
    if is_source(fit.X):
        return j not in fit.X.schema.words
    return fit.table.columns[j].dense.dtype.kind in "biuf"


def check_one_hot(fit: Learnt) -> float:
    """Check categories, rare ones, and those without a column."""
    fit.require_claim(f"categories of {fit.p} columns", fit.n, 0.0)
    _check_categories(fit, fit.model.categories)
    rare = _check_rare(fit, apart=False)
    _check_dropped(fit, rare)
    return 0.0


def check_ordinal(fit: Learnt) -> float:
    """Check categories and rare ones."""
    fit.require_claim(f"categories of {fit.p} columns", fit.n, 0.0)
    _check_categories(fit, fit.model.categories)
    _check_rare(fit, apart=True)
    return 0.0


def check_levels(fit: Learnt) -> float:
    """Check levels."""
    fit.require_claim(f"levels of {fit.p} columns", fit.n, 0.0)
    _check_categories(fit, fit.model.levels)
    return 0.0


def check_parts(fit: Learnt) -> float:
    """Check what values are made of, place by place."""
    model, stored = fit.model, fit.model.categories_
    fit.require_claim(f"parts of {fit.p} columns", fit.n, 0.0)
    fit.require(isinstance(stored, list), "stores no list of parts")
    if model.factors is not None:
        fit.require(stored == [], "stores parts although its factors are given")
        return 0.0
    fit.require(len(stored) == fit.p, "does not store parts for each column")
    for j, column in enumerate(fit.table.columns):
        split = [str(one).split(model.separator) for one in set(column.dense.tolist())]
        places = [
            sorted({parts[place] for parts in split if len(parts) > place}) for place in range(max(map(len, split)))
        ]
        known = stored[j]
        good = isinstance(known, list) and len(known) == len(places)
        good = good and all(same_entries(own, true) for own, true in zip(known, places, strict=True))
        fit.require(good, f"stores other parts for {called(model, j)} than the rows hold")
    return 0.0


def _check_rare(fit: Learnt, *, apart: bool) -> list[list[int]]:
    """Check which categories are rare; ``apart`` says that NaN has a number of its own and is never rare."""
    model, found = fit.model, []
    least, most = model.min_frequency, model.max_categories
    fit.require(
        isinstance(model.rare_, list) and len(model.rare_) == fit.p, "does not say for each column what is rare"
    )
    for j in range(fit.p):
        known = [key(one) for one in model.categories_[j].tolist()]
        known = known[:-1] if apart and known[-1:] == [NAN] else known
        times = fit.times(j)
        limit = 0.0 if least is None else float(least) if isinstance(least, Integral) else least * fit.n
        rare = {place for place, one in enumerate(known) if times[one] < limit}
        if most is not None and most < len(known) - len(rare) + 1:
            order = sorted(range(len(known)), key=lambda place: (times[known[place]], place))
            rare |= set(order[: len(known) - (most - 1)])
        stored = model.rare_[j]
        if rare:
            good = isinstance(stored, np.ndarray) and stored.dtype.kind in "iu" and stored.ndim == 1
            good = good and stored.tolist() == sorted(rare)
        else:
            good = stored is None
        fit.require(
            good, f"stores other rare categories for {called(model, j)} than the rows give: {sorted(rare)!s:.60}"
        )
        found.append(sorted(rare))
    return found


def _check_dropped(fit: Learnt, rare: list[list[int]]) -> None:
    """Check the place of the category that has no column."""
    model = fit.model
    if model.drop is None:
        fit.nothing("drop_idx_")
        return
    true: list[int | None] = []
    for j in range(fit.p):
        size = len(model.categories_[j])
        groups = size - len(rare[j]) + bool(rare[j])
        first = next((place for place in range(size) if place not in rare[j]), 0)
        if isinstance(model.drop, str):
            true.append(first if model.drop == "first" or groups == 2 else None)
        else:
            known = [key(one) for one in model.categories_[j].tolist()]
            true.append(known.index(key(np.asarray(model.drop, dtype=object)[j])))
    stored = model.drop_idx_
    good = isinstance(stored, np.ndarray) and stored.shape == (fit.p,) and stored.tolist() == true
    fit.require(good, f"leaves out the categories at {stored!s:.60}, and those to leave out are at {true!s:.60}")


# -- labels ------------------------------------------------------------------------------------------------


def _plain(y: Any) -> list[Any]:
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if hasattr(y, "tolist") else list(y)
    return [one[0] if isinstance(one, list | tuple) and len(one) == 1 else one for one in values]


def check_labels(fit: Learnt) -> float:
    """Check the labels of a target and, of a binarizer, what the target is."""
    fit.require_claim("labels", fit.n, 0.0)
    model, y = fit.model, fit.X
    is_table = is_sparse(y) or (np.ndim(y) == 2 and np.shape(y)[1] > 1)
    labels = list(range(np.shape(y)[1])) if is_table else in_order(_plain(y))
    fit.require(same_entries(model.classes_, labels), f"stores other labels than {labels!s:.80}, or in another order")
    if "y_type_" in type(model)._results:  # noqa: SLF001  a binarizer
        kind = "multilabel-indicator" if is_table else "multiclass" if len(labels) > 2 else "binary"
        fit.require(model.y_type_ == kind, f"takes its target for {model.y_type_!r:.40}, and it is {kind!r}")
        fit.require(model.sparse_input_ is is_sparse(y), "remembers another kind of target than it was given")
    return 0.0


def check_sets(fit: Learnt) -> float:
    """Check the labels of sets of labels."""
    fit.require_claim("labels", fit.n, 0.0)
    given = fit.model.classes
    labels = sorted({one for row in fit.X for one in row}) if given is None else list(given)
    fit.require(
        same_entries(fit.model.classes_, labels), f"stores other labels than {labels!s:.80}, or in another order"
    )
    return 0.0


# -- mean targets ------------------------------------------------------------------------------------------


def check_targets(fit: Learnt) -> float:
    """Check the codes of categories: mean targets, drawn towards the mean of all."""
    model, p = fit.model, fit.p
    fit.require_claim(f"categories and mean targets of {p} columns", fit.n, (fit.n + 16) * DOUBLE)
    _check_categories(fit, model.categories)
    if is_source(fit.X):
        fit.y = np.concatenate([y[:, 0] for y, _ in fit.X.targets()])
    targets = _targets(fit)
    m, largest = targets.shape[1], float(np.max(np.abs(targets)))
    mean, spread = targets.mean(axis=0), targets.var(axis=0)
    slack = 16 * (fit.certificate.rounding + 2 * DOUBLE) * largest
    stored = np.asarray(model.target_mean_)
    good = stored.dtype.kind == "f" and stored.shape == ((m,) if model.target_type_ == "multiclass" else ())
    fit.require(good, "stores no mean of the target")
    off = fit.compare("the mean target", stored, mean, slack)
    codes = model.encodings_
    fit.require(isinstance(codes, list) and len(codes) == p * m, "does not store codes for each column")
    for j, known in enumerate(_moments_by_category(fit, targets)):
        for number in range(m):
            true = [_code(*own, mean[number], spread[number], model.smooth) for own in known[number]]
            own = codes[j * m + number]
            fit.require(isinstance(own, np.ndarray) and own.dtype.kind == "f", "stores codes that are no numbers")
            off = max(off, fit.compare("the code", own, true, slack, j))
    return off


def _targets(fit: Learnt) -> Array:
    """Return the target as columns of numbers, and check what the model takes it for."""
    model, y = fit.model, np.asarray(fit.y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    fit.require(y.shape == (fit.n,), f"learnt from one target a row, and y has the shape {y.shape}")
    kind = model.target_type
    if kind == "auto" and y.dtype.kind == "f" and (y != np.floor(y)).any():
        kind = "continuous"
    labels = [] if kind == "continuous" else in_order(y.tolist())
    if kind == "auto":
        kind = "binary" if len(labels) <= 2 else "multiclass"
    fit.require(model.target_type_ == kind, f"takes its target for {model.target_type_!r:.40}, and it is {kind!r}")
    if kind == "continuous":
        fit.nothing("classes_")
        return y.astype(np.float64).astype(EXTENDED)[:, np.newaxis]
    fit.require(same_entries(model.classes_, labels), f"stores other labels than {labels!s:.80}, or in another order")
    if kind == "binary":
        return np.asarray(y == labels[-1], dtype=EXTENDED)[:, np.newaxis] * EXTENDED(len(labels) > 1)
    return np.stack([np.asarray(y == one, dtype=EXTENDED) for one in labels], axis=1)


def _moments_by_category(fit: Learnt, targets: Array) -> list[list[list[tuple[int, Any, Any]]]]:
    """Return rows, mean and variance of the targets of each category, by column and target."""
    stored, found = fit.model.categories_, []
    for j in range(fit.p):
        listed = {key(one): place for place, one in enumerate(stored[j].tolist())}
        if is_source(fit.X):
            entries = [one for part in fit.X.each(partial(_entries_of, j=j)) for one in part.tolist()]
        else:
            entries = fit.table.columns[j].dense.tolist()
        places = np.array([listed.get(key(one), -1) for one in entries], dtype=np.intp)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(len(listed) + 1))
        rows = [order[a:b] for a, b in pairwise(ends)]
        found.append(
            [
                [(len(at), own[at].mean(), own[at].var()) if len(at) else (0, EXTENDED(0), EXTENDED(0)) for at in rows]
                for own in targets.T
            ]
        )
    return found


def _entries_of(chunk: Any, j: int) -> Array:
    return np.asarray(chunk.column(j).dense)


def _code(n: int, own: Any, within: Any, mean: Any, spread: Any, smooth: Any) -> Any:
    """Return the code of a category, from number, mean and variance of the targets of its rows."""
    if not n:
        return mean
    # As many rows of the overall mean as ``smooth`` says; 'auto' is the ratio of the variance within to the variance of all.
    if smooth == "auto":
        pull = spread * n
        share = pull / (pull + within) if pull + within > 0 else EXTENDED(0)
    else:
        share = EXTENDED(n) / (n + EXTENDED(smooth))
    return share * own + (1 - share) * mean

"""Vocabularies and codes of categories, checked: words and targets are counted again, in plain dictionaries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from qed.core import CertificateError
from qed.core._mixed import read as read_columns
from qed.core._tables import is_sparse
from qed.verify._names import called

__all__ = ["check_encodings", "check_rare", "check_vocabulary", "check_weights"]

EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]


def _refuse(model: Any, words: str) -> None:
    raise CertificateError(f"{type(model).__name__} {words}. The model was changed, or the data are others.")


def check_vocabulary(model: Any, texts: Any) -> float:
    """Check that a vocabulary holds exactly the words that occur as often as asked, in order."""
    stored = model.vocabulary_
    if sorted(stored.values()) != list(range(len(stored))):
        _refuse(model, "stores a vocabulary whose columns repeat or leave out a number")
    analysed = model.build_analyzer()
    found = [list(analysed(text)) for text in texts]
    in_texts = Counter(word for words in found for word in set(words))
    if model.vocabulary is None:
        n = len(found)
        most, least = (
            limit if isinstance(limit, int | np.integer) else limit * n for limit in (model.max_df, model.min_df)
        )
        true = {word for word, times in in_texts.items() if least <= times <= most}
        if model.max_features is not None and len(true) > model.max_features:
            total = Counter(word for words in found for word in words if word in true)
            # of words that are equally frequent, the first in order is kept
            true = set(sorted(true, key=lambda word: (-total[word], word))[: model.max_features])
        differ = sorted(true ^ set(stored))
        if differ:
            _refuse(model, f"stores another vocabulary than the texts give: they differ in {differ[:5]}")
        if [stored[word] for word in sorted(stored)] != list(range(len(stored))):
            _refuse(model, "does not store its vocabulary in the order of the words")
    off, weights = 0.0, model.__dict__.get("weights_")
    if weights is not None and weights.use_idf:
        names = sorted(stored, key=lambda word: stored[word])
        off = _compare_weights(model, weights, np.array([in_texts[word] for word in names]), len(found))
    return off


def check_weights(model: Any, X: Any) -> float:
    """Check the weights of words of a table of counts."""
    counts = (X.toarray() if is_sparse(X) else np.asarray(X)) != 0
    if not model.use_idf:
        if not (model.idf_ == 1).all():
            _refuse(model, "weighs words although use_idf is False")
        return 0.0
    return _compare_weights(model, model, counts.sum(axis=0), len(counts))


def _compare_weights(owner: Any, model: Any, in_texts: Array, n: int) -> float:
    smooth = int(model.smooth_idf)
    with np.errstate(divide="ignore"):
        true = np.log(EXTENDED(n + smooth) / (in_texts.astype(EXTENDED) + smooth)) + 1
    if model.idf_.shape != true.shape:
        _refuse(owner, f"stores weights of {len(model.idf_)} words, and there are {len(true)}")
    same = model.idf_ == true  # infinite for words in no text, without smoothing
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0, np.abs(model.idf_ - true))
    wrong = np.flatnonzero(~(off <= 16 * float(np.finfo(model.idf_.dtype).eps) * np.abs(np.where(same, 0, true))))
    wrong = wrong[~same[wrong]]
    if len(wrong):
        word = int(wrong[0])
        _refuse(owner, f"weighs word {word} by {model.idf_[word]:.10g}, and the texts give {float(true[word]):.10g}")
    return float(np.max(off, initial=0))


def _key(value: Any) -> Any:
    return "gap: NaN" if isinstance(value, float | np.floating) and np.isnan(value) else value


def check_rare(model: Any, X: Any) -> float:
    """Check which categories are rare."""
    if not model.get_params(deep=False).get("min_frequency") and not model.get_params(deep=False).get("max_categories"):
        if any(rare is not None for rare in model.rare_):
            _refuse(model, "stores rare categories, and none were asked for")
        return 0.0
    least, most = model.min_frequency, model.max_categories
    for j, column in enumerate(read_columns(X, "qed.verify").columns):
        entries = [_key(one) for one in column.dense.tolist()]
        times = Counter(entries)
        known = [_key(one) for one in model.categories_[j].tolist()]
        if type(model).__name__ == "OrdinalEncoder" and known[-1:] == ["gap: NaN"]:
            known = known[:-1]  # gaps have a number of their own
        limit = 0 if least is None else least if isinstance(least, int | np.integer) else least * len(entries)
        rare = {place for place, one in enumerate(known) if times[one] < limit}
        if most is not None and most < len(known) - len(rare) + 1:
            order = sorted(range(len(known)), key=lambda place: (times[known[place]], place))
            rare |= set(order[: len(known) - (most - 1)])
        stored = set() if model.rare_[j] is None else set(model.rare_[j].tolist())
        if stored != rare:
            _refuse(
                model,
                f"stores other rare categories for {called(model, j)} than the rows give: {sorted(stored ^ rare)[:5]}",
            )
    return 0.0


def check_encodings(model: Any, X: Any, y: Any, rounding: float) -> float:
    """Check the codes of categories: mean targets, drawn towards the mean of all."""
    labels = np.asarray(y).ravel()
    if model.classes_ is None:
        targets = labels.astype(EXTENDED)[:, np.newaxis]
    elif set(labels.tolist()) != set(model.classes_.tolist()):
        _refuse(model, "knows other labels than y holds")
    elif model.target_type_ == "binary":
        targets = (labels == model.classes_[-1]).astype(EXTENDED)[:, np.newaxis] * (len(model.classes_) > 1)
    else:
        targets = np.stack([(labels == one).astype(EXTENDED) for one in model.classes_], axis=1)
    mean, off = targets.mean(axis=0), 0.0
    slack = (rounding + 2.0**-50) * (1 + float(np.max(np.abs(targets))))
    if not (np.abs(np.atleast_1d(model.target_mean_) - mean) <= slack).all():
        _refuse(model, "stores another mean of the target than y has")
    spread = targets.var(axis=0)
    for j, column in enumerate(read_columns(X, "qed.verify").columns):
        entries = np.array([_key(one) for one in column.dense.tolist()], dtype=object)
        for number in range(targets.shape[1]):
            stored = model.encodings_[j * targets.shape[1] + number]
            if len(stored) != len(model.categories_[j]):
                _refuse(
                    model,
                    f"stores {len(stored)} codes for {len(model.categories_[j])} categories of {called(model, j)}",
                )
            for place, category in enumerate(model.categories_[j].tolist()):
                own = targets[entries == _key(category), number]
                true = _code(own, mean[number], spread[number], model.smooth)
                if not abs(stored[place] - true) <= 64 * slack:
                    _refuse(
                        model,
                        f"codes {category!r:.40} of {called(model, j)} by {stored[place]:.10g}, and the rows give {true:.10g}",
                    )
                off = max(off, float(abs(stored[place] - true)))
    return off


def _code(own: Array, mean: Any, spread: Any, smooth: Any) -> Any:
    if not len(own):
        return mean
    rows = (own.var() / spread if spread > 0 else np.inf) if smooth == "auto" else smooth
    if np.isinf(rows) or len(own) + rows == 0:
        return mean
    return (own.sum() + rows * mean) / (len(own) + rows)

"""Answers of transformers of texts and of dicts: words are counted again in dictionaries, hashed, and weighed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from qed.verify._answers._compare import Numbers, blocks_of, dense, require, table_of
from qed.verify._refusals import refuse_answer
from qed.verify._words import words_of

Array = np.ndarray[Any, Any]


def _texts(X: Any) -> list[Any]:
    if hasattr(X, "shape") and len(X.shape) == 2:  # a table of one column
        if hasattr(X, "iloc"):
            X = X.iloc[:, 0]
        elif hasattr(X, "to_series"):
            X = X.to_series()
        else:
            X = X.column(0) if hasattr(X, "column") else X[:, 0]
    for name in ("to_list", "to_pylist"):
        if hasattr(X, name):
            return list(getattr(X, name)())
    return list(X)


def _require_counts(model: Any, told: Any, rows: list[dict[int, float]], width: int, *, exact: bool) -> None:
    """Compare a sparse or dense table with dictionaries of columns and numbers, row by row."""
    if told.shape != (len(rows), width):
        refuse_answer(model, "transform")
    answers = told.tocsr() if hasattr(told, "tocsr") else None
    is_single = np.dtype(told.dtype) == np.float32
    near = 0.0 if exact else 2.0**-20 if is_single else 2.0**-44
    for number, own in enumerate(rows):
        if answers is not None:
            part = slice(answers.indptr[number], answers.indptr[number + 1])
            found: dict[int, float] = {}
            for place, value in zip(answers.indices[part].tolist(), answers.data[part].tolist(), strict=True):
                found[place] = found.get(place, 0.0) + value
        else:
            line = np.asarray(told[number])
            found = {int(place): float(line[place]) for place in np.flatnonzero(line)}
        for place in found.keys() | own.keys():
            first, second = own.get(place, 0.0), found.get(place, 0.0)
            if not (first == second or abs(first - second) <= near * max(abs(first), abs(second))):
                refuse_answer(model, "transform")


def _counted(model: Any, X: Any) -> list[dict[int, float]]:
    known = model.vocabulary_
    rows = []
    for text in _texts(X):
        count = Counter(known[word] for word in words_of(model, text) if word in known)
        rows.append({place: 1.0 if model.binary else float(times) for place, times in count.items()})
    return rows


def counts(model: Any, X: Any, told: Any) -> None:
    """Compare how often each word of the vocabulary is in a text."""
    _require_counts(model, told, _counted(model, X), len(model.vocabulary_), exact=True)


def _weighed(model: Any, weights: Any, row: dict[int, float]) -> dict[int, float]:
    """Multiply counts, or one plus their logarithms, by the weights of words, and divide by the length of the row."""
    found = {}
    for place, count in row.items():
        value = (1 + float(np.log(count))) if model.sublinear_tf else count
        found[place] = value * (float(weights[place]) if model.use_idf else 1.0)
    return _normed(model, found)


def _normed(model: Any, row: dict[int, float]) -> dict[int, float]:
    if model.norm is None:
        return row
    sizes = [abs(value) for value in row.values()]
    length = sum(sizes) if model.norm == "l1" else float(np.sqrt(sum(one * one for one in sizes)))
    return row if length < 10 * 2.0**-52 else {place: value / length for place, value in row.items()}


def weighed_counts(model: Any, X: Any, told: Any) -> None:
    """Compare counts of words that are multiplied by their weights."""
    inner = model.weights_
    rows = [_weighed(inner, inner.idf_, row) for row in _counted(model, X)]
    _require_counts(model, told, rows, len(model.vocabulary_), exact=False)


def weighed_table(model: Any, X: Any, told: Any) -> None:
    """Compare the entries of a table that are multiplied by the weights of their columns."""
    table = table_of(model, X)
    rows = []
    for _, block in blocks_of(table):
        rows += [{int(j): float(line[j]) for j in np.flatnonzero(line)} for line in block]
    if table.dtype == np.float32:
        told = told.astype(np.float32)
    _require_counts(model, told, [_weighed(model, model.idf_, row) for row in rows], table.shape[1], exact=False)


# -- hashed names ----------------------------------------------------------------------------------------------


def hash_of(name: Any) -> int:
    """Return the 32 bits of MurmurHash3 of a name, with its sign."""
    data = name.encode() if isinstance(name, str) else bytes(name)
    mask, state = 0xFFFFFFFF, 0

    def scrambled(word: int) -> int:
        word = word * 0xCC9E2D51 & mask
        return (word << 15 | word >> 17) * 0x1B873593 & mask

    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        state ^= scrambled(int.from_bytes(data[at : at + 4], "little"))
        state = ((state << 13 | state >> 19) & mask) * 5 + 0xE6546B64 & mask
    if whole < len(data):
        state ^= scrambled(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & mask
    return state - 2**32 if state >= 2**31 else state


def _into_columns(model: Any, pairs: list[tuple[Any, float]]) -> dict[int, float]:
    row: dict[int, float] = {}
    for name, value in pairs:
        code = hash_of(name)
        place = abs(code) % int(model.n_features)
        row[place] = row.get(place, 0.0) + (-value if model.alternate_sign and code < 0 else value)
    return row


def hashed_texts(model: Any, X: Any, told: Any) -> None:
    """Compare sums of words in the columns that their hashes name."""
    rows = []
    for text in _texts(X):
        words = words_of(model, text)
        row = _into_columns(model, [(word, 1.0) for word in words])
        if model.binary:
            row = dict.fromkeys(row, 1.0)
        rows.append(_normed(model, row))
    _require_counts(model, told, rows, int(model.n_features), exact=model.norm is None)


def hashed_names(model: Any, X: Any, told: Any) -> None:
    """Compare sums of values in the columns that the hashes of their names name."""
    rows = []
    for row in [X] if isinstance(X, dict) else list(X):
        if model.input_type == "dict":
            pairs = _named(row, "=")
        elif model.input_type == "string":
            pairs = [(name, 1.0) for name in row]
        else:
            pairs = [
                (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value)) for name, value in row
            ]
        rows.append(_into_columns(model, pairs))
    _require_counts(model, told, rows, int(model.n_features), exact=False)


def _named(row: Any, separator: str) -> list[tuple[Any, float]]:
    """Return names and numbers of a dict; a word counts once, under its name and itself."""
    pairs: list[tuple[Any, float]] = []
    for name, value in row.items():
        if isinstance(value, str):
            pairs.append((f"{name}{separator}{value}", 1.0))
        elif value is None or (np.ndim(value) == 0 and not isinstance(value, set | frozenset)):
            pairs.append((name, float("nan") if value is None else float(value)))
        else:
            pairs += [(f"{name}{separator}{word}", 1.0) for word in value]
    return pairs


def named_columns(model: Any, X: Any, told: Any) -> None:
    """Compare the values of dicts in the columns of their names."""
    known, listed = model.vocabulary_, [X] if isinstance(X, dict) else list(X)
    own = np.zeros((len(listed), len(known)))
    for number, row in enumerate(listed):
        for name, value in _named(row, model.separator):
            if name in known:
                own[number, known[name]] += value
    require(model, "transform", Numbers(own, np.abs(np.nan_to_num(own))), dense(told), is_single=True)

"""Vocabularies and weights of words, checked: texts are tokenised again and words counted in plain dictionaries."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import ExactCertificate
from qed.core._tables import is_sparse
from qed.verify._learnt import DOUBLE, EXTENDED, Learnt

if TYPE_CHECKING:
    from collections.abc import Iterable


Array = np.ndarray[Any, Any]
WEIGHING = ("norm", "use_idf", "smooth_idf", "sublinear_tf")


def _read(model: Any, text: Any) -> str:
    """Return a text as letters, from wherever the model is told that it comes."""
    if model.input == "filename":
        text = Path(text).read_bytes()
    elif model.input == "file":
        text = text.read()
    return text.decode(model.encoding, model.decode_error) if isinstance(text, bytes) else text


def _prepared(model: Any, text: str) -> str:
    if model.preprocessor is not None:
        return str(model.preprocessor(text))
    text = text.lower() if model.lowercase else text
    if callable(model.strip_accents):
        return str(model.strip_accents(text))
    if model.strip_accents is None:
        return text
    apart = unicodedata.normalize("NFKD", text)
    if model.strip_accents == "ascii":
        return "".join(letter for letter in apart if ord(letter) < 128)
    return "".join(letter for letter in apart if not unicodedata.combining(letter)) if apart != text else text


def words_of(model: Any, text: Any) -> list[str]:
    """Return what a model counts in a text, from the definition of its parameters."""
    if callable(model.analyzer):
        return list(model.analyzer(text if model.input == "content" else _read(model, text)))
    low, high = model.ngram_range
    prepared = _prepared(model, _read(model, text))
    if model.analyzer == "char":
        return _runs(re.sub(r"\s\s+", " ", prepared), low, high)
    if model.analyzer == "char_wb":
        padded = [f" {word} " for word in re.sub(r"\s\s+", " ", prepared).split()]
        return [run for word in padded for run in _within(word, low, high)]
    own = model.tokenizer
    words = re.findall(model.token_pattern, prepared) if own is None else list(own(prepared))
    if model.stop_words is not None:
        left_out = model.get_stop_words()  # a list of words, given or bundled: data
        words = [word for word in words if word not in left_out]
    return [" ".join(run) for run in _runs(words, low, high)] if high > 1 else words


def _runs(letters: Any, low: int, high: int) -> list[Any]:
    return [letters[at : at + n] for n in range(low, high + 1) for at in range(len(letters) - n + 1)]


def _within(word: str, low: int, high: int) -> list[str]:
    """Return the runs of letters within a word; a word shorter than a run counts once, as it is."""
    found: list[str] = []
    for n in range(low, high + 1):
        found += _runs(word, n, n) or [word]
        if n >= len(word):
            break
    return found


def _check_words(fit: Learnt) -> tuple[Counter[str], int]:
    """Check a vocabulary; return in how many texts each word is, and how many texts there are."""
    model, stored = fit.model, fit.model.vocabulary_
    texts = fit.X.to_list() if hasattr(fit.X, "to_list") else fit.X
    found = [words_of(model, text) for text in texts]
    in_texts = Counter(word for words in found for word in set(words))
    whole = isinstance(stored, dict) and all(
        isinstance(word, str) and isinstance(place, int) and not isinstance(place, bool)
        for word, place in stored.items()
    )
    fit.require(whole and len(stored) > 0, "stores no vocabulary of words and their columns")
    fit.require(model.fixed_vocabulary_ is (model.vocabulary is not None), "does not say where its words come from")
    true = _expected(model, found, in_texts) if model.vocabulary is None else _given(model.vocabulary)
    differ = sorted(set(true) ^ set(stored))
    fit.require(not differ, f"stores another vocabulary than the texts give: they differ in {differ[:5]}")
    fit.require(stored == true, "stores the words of its vocabulary in other columns")
    fit.require_claim(f"vocabulary of {len(true)} words", len(found), 0.0)
    return in_texts, len(found)


def _expected(model: Any, found: list[list[str]], in_texts: Counter[str]) -> dict[str, int]:
    n = len(found)
    most, least = (
        limit if isinstance(limit, int | np.integer) else limit * n for limit in (model.max_df, model.min_df)
    )
    kept: Iterable[str] = [word for word, times in in_texts.items() if least <= times <= most]
    if model.max_features is not None:
        total = in_texts if model.binary else Counter(word for words in found for word in words)
        # of words that are equally frequent, the first in order is kept
        kept = sorted(kept, key=lambda word: (-total[word], word))[: model.max_features]
    return {word: place for place, word in enumerate(sorted(kept))}


def _given(words: Any) -> dict[str, int]:
    if isinstance(words, dict):
        return {str(word): int(place) for word, place in words.items()}
    return {word: place for place, word in enumerate(sorted(words) if isinstance(words, set | frozenset) else words)}


def check_vocabulary(fit: Learnt) -> float:
    """Check that a vocabulary holds exactly the words that occur as often as asked, in order."""
    _check_words(fit)
    return 0.0


def check_weighed_vocabulary(fit: Learnt) -> float:
    """Check a vocabulary and the weights of its words."""
    in_texts, n = _check_words(fit)
    model, weights = fit.model, fit.model.weights_
    fit.require(type(weights).__name__ == "TfidfTransformer", f"holds {weights!r:.40} where weights belong")
    same = all(
        type(getattr(weights, name)) is type(getattr(model, name)) and getattr(weights, name) == getattr(model, name)
        for name in WEIGHING
    )
    fit.require(same, "weighs words with other parameters than its own")
    fit.require(type(weights.certificate_) is ExactCertificate, "holds weights without their certificate")
    stored = weights.__dict__.get("n_features_in_")
    fit.require(
        type(stored) is int and stored == len(model.vocabulary_),
        f"weighs {stored!r:.20} words, and there are {len(model.vocabulary_)}",
    )
    fit.require("feature_names_in_" not in weights.__dict__, "holds weights of named columns")
    names = sorted(model.vocabulary_, key=lambda word: model.vocabulary_[word])
    inner = Learnt(weights, weights.certificate_, None)
    return _compare_weights(inner, np.array([in_texts[word] for word in names]), n, np.dtype(model.dtype) == np.float32)


def check_weights(fit: Learnt) -> float:
    """Check the weights of words of a table of counts."""
    if is_sparse(fit.X):
        table = fit.X.tocsc(copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        in_texts = np.diff(table.indptr)
    else:
        in_texts = np.array([np.count_nonzero(np.asarray(column.dense)) for column in fit.table.columns])
    return _compare_weights(fit, in_texts, fit.n, fit.is_single)


def _compare_weights(fit: Learnt, in_texts: Array, n: int, is_single: bool) -> float:
    model, p = fit.model, len(in_texts)
    fit.require_claim(f"numbers of texts with each of {p} words", n, 4 * DOUBLE)
    stored = fit.numbers("idf_", (p,))
    fit.require(model.idf_.dtype == (np.float32 if is_single else np.float64), "stores weights of another type")
    smooth = int(model.smooth_idf)
    true = np.ones(p, EXTENDED)
    if model.use_idf:
        with np.errstate(divide="ignore"):  # infinite for words in no text, without smoothing
            true = np.log(EXTENDED(n + smooth) / (in_texts.astype(EXTENDED) + smooth)) + 1
    unit = 2.0**-24 if is_single else DOUBLE
    return fit.compare("the weight", stored, true, 8 * unit * np.where(np.isfinite(true), np.abs(true), 0))


def check_hashed(fit: Learnt) -> float:
    """Check that nothing is claimed of words that are hashed: nothing is learnt."""
    fit.require_claim("nothing is learnt", 0, 0.0)
    return 0.0


def check_names(fit: Learnt) -> float:
    """Check that columns are exactly the names that occur in dicts, those of words with their words, in order."""
    model, stored = fit.model, fit.model.vocabulary_
    rows = [fit.X] if isinstance(fit.X, dict) else fit.X
    found: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            is_number = value is None or (np.ndim(value) == 0 and not isinstance(value, str | set | frozenset))
            words = [value] if isinstance(value, str) else [] if is_number else list(value)
            found.update(dict.fromkeys([model.separator.join((name, word)) for word in words]))
            if is_number:
                found[name] = None
    names = sorted(found) if model.sort else list(found)
    good = isinstance(stored, dict) and all(type(place) is int for place in stored.values())
    fit.require(good, "stores no names with their columns")
    differ = sorted(set(names) ^ set(stored))
    fit.require(not differ, f"stores other names than the rows have: they differ in {differ[:5]}")
    fit.require([stored[name] for name in names] == list(range(len(names))), "stores names in other columns")
    fit.require_claim(f"{len(names)} names", len(rows), 0.0)
    return 0.0

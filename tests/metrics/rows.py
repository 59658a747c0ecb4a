"""Random rows for scores: labels, numbers, probabilities and scores with ties; weights with zeros, whole or not."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import strategies as st

KINDS = ("int", "negative", "bool", "str", "float")


def weights(random, n, kind):
    """None, whole numbers, or fractions; some are zero, never all."""
    if kind is None:
        return None
    s = random.integers(0, 4, n).astype(np.float64) if kind == "whole" else random.random(n) * (random.random(n) < 0.8)
    s[random.integers(n)] = 2.0
    return s


weight_kinds = st.sampled_from([None, "whole", "fraction"])
seeds = st.integers(0, 2**32 - 1)


def as_labels(codes, kind):
    if kind == "str":
        return np.array(["ash", "birch", "cedar", "durmast", "elm"])[codes]
    if kind == "bool":
        return codes > 0
    if kind == "negative":
        return codes * 3 - 4
    return codes.astype(np.float64) if kind == "float" else codes


@st.composite
def labelled(draw, most_classes=4, kinds=KINDS):
    """Truth, prediction and weights of labels."""
    random = np.random.default_rng(draw(seeds))
    n, k = draw(st.integers(1, 40)), draw(st.integers(2, most_classes))
    kind = draw(st.sampled_from(kinds))
    truth = random.integers(0, k, n)
    guess = np.where(random.random(n) < 0.5, truth, random.integers(0, k, n))
    return as_labels(truth, kind), as_labels(guess, kind), weights(random, n, draw(weight_kinds))


@st.composite
def numbered(draw, positive=False, most_outputs=3, least=2):
    """Truth, prediction and weights of numbers, of one output or several."""
    random = np.random.default_rng(draw(seeds))
    n, m = draw(st.integers(least, 40)), draw(st.integers(1, most_outputs))
    shape = n if m == 1 else (n, m)
    if positive:
        truth, guess = random.gamma(2.0, size=shape) + 0.01, random.gamma(2.0, size=shape) + 0.01
    else:
        truth = random.normal(size=shape) * 10.0 ** draw(st.integers(-3, 3)) + draw(st.sampled_from([0.0, 5.0]))
        guess = truth + random.normal(size=shape)
    if draw(st.booleans()):
        truth, guess = np.round(truth, 2) + 0.01 * positive, np.round(guess, 2) + 0.01 * positive
    if draw(st.booleans()):
        truth, guess = truth.astype(np.float32), guess.astype(np.float32)
    return truth, guess, weights(random, n, draw(weight_kinds))


@st.composite
def scored(draw, both=True, least=2):
    """Truth of two classes, scores (often tied) and weights; both classes have weight unless said otherwise."""
    random = np.random.default_rng(draw(seeds))
    n = draw(st.integers(max(least, 2), 60))
    truth = (random.random(n) < draw(st.sampled_from([0.1, 0.5, 0.8]))).astype(int)
    score = random.normal(size=n) + truth
    if draw(st.booleans()):
        score = np.round(score, draw(st.integers(0, 1)))
    if draw(st.booleans()):
        score = score.astype(np.float32)
    s = weights(random, n, draw(weight_kinds))
    if both:
        truth[:2] = 0, 1
        if s is not None:
            s[:2] = 1.0, 2.0
    return truth, score, s


@st.composite
def probable(draw, most_classes=4, least_classes=2):
    """Truth in which every class occurs, its probabilities, and weights."""
    random = np.random.default_rng(draw(seeds))
    k = draw(st.integers(least_classes, most_classes))
    n = draw(st.integers(k, 40))
    truth = np.concatenate([np.arange(k), random.integers(0, k, n - k)])
    table = random.gamma(1.0, size=(n, k)) + 0.2 * np.eye(k)[truth]
    table /= table.sum(axis=1, keepdims=True)
    return truth, table, weights(random, n, draw(weight_kinds))


def outcome(function, *args, **options):
    """What a function answers: its value and the kinds of warnings, or the kind of error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as error:  # errors are compared, not hidden
            kinds = (ValueError, NotImplementedError, TypeError)
            return None, next((kind for kind in kinds if isinstance(error, kind)), type(error)), set()
    # NumPy's own words about divisions are not part of the answer.
    return (
        value,
        None,
        {issubclass(w.category, UserWarning) for w in seen if not issubclass(w.category, RuntimeWarning)},
    )


def same_answer(ours, theirs, *args, rtol=1e-9, atol=1e-12, alike=True, **options):
    """Assert that two functions give the same value, warn alike (unless told not to look), or both refuse."""
    got, refused, warned = outcome(ours, *args, **options)
    want, refused_there, warned_there = outcome(theirs, *args, **options)
    assert refused == refused_there, (refused, refused_there, got, want)
    assert not alike or warned == warned_there, (warned, warned_there)
    compare(got, want, rtol, atol)


def compare(got, want, rtol, atol):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            compare(ours, theirs, rtol, atol)
    elif isinstance(want, dict):
        assert got.keys() == want.keys()
        for name in want:
            compare(got[name], want[name], rtol, atol)
    elif want is None or isinstance(want, str):
        assert got == want
    else:
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(
            np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64), rtol=rtol, atol=atol
        )

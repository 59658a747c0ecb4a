"""Bytes that are no text, and encodings that are none: errors of qed, which a file from a stranger can choose (M5)."""

from __future__ import annotations

import pytest

import qed
from qed.core._persistence import dumps, loads
from qed.preprocessing import CountVectorizer, HashingVectorizer


@pytest.mark.parametrize("encoding", ["zip", "rot13", "no such", "undefined"])
def test_encodings_that_are_none(encoding):
    model = CountVectorizer().fit(["the cat", "a dog"])
    model.encoding = encoding
    with pytest.raises(qed.InvalidParameter, match="does not turn bytes into text"):
        loads(dumps(model)).transform([b"a cat"])


@pytest.mark.parametrize("model", [CountVectorizer(vocabulary=["cat"]), HashingVectorizer(n_features=4)])
def test_bytes_in_another_encoding(model):
    with pytest.raises(qed.InvalidData, match="can't decode byte 0xff") as refused:
        model.transform([b"\xff"])
    assert isinstance(refused.value, UnicodeDecodeError)  # as scikit-learn's

"""Texts: agreement with scikit-learn over options, and small cases by hand."""

import re
import string

import numpy as np
import pytest
import sklearn.feature_extraction.text as theirs
from hypothesis import given
from hypothesis import strategies as st

import qed
from qed import preprocessing as ours
from qed.feature_extraction.text import CountVectorizer

DOCS = [
    "The quick brown fox, the lazy dog!",
    "Über den Wolken; the fox",
    "naïve café fox fox",
    "dog's life a b c",
    "",
    "fox dog fox",
] * 3
OPTIONS = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "lowercase": False},
    {"binary": True},
    {"stop_words": ["fox", "the"]},
    {"token_pattern": r"\w+"},
    {"min_df": 4},
    {"max_df": 0.5},
    {"max_features": 3},
    {"vocabulary": ["fox", "dog"]},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer"])
def test_counts_are_scikit_learns(name, options):
    a, b = getattr(ours, name)(**options), getattr(theirs, name)(**options)
    left, right = a.fit_transform(DOCS), b.fit_transform(DOCS)
    assert left.dtype == right.dtype
    np.testing.assert_allclose(left.toarray(), right.toarray(), rtol=1e-12)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    np.testing.assert_allclose(a.transform(DOCS[:2]).toarray(), b.transform(DOCS[:2]).toarray(), rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS[:10])
def test_hashes_are_scikit_learns(options):
    a, b = ours.HashingVectorizer(n_features=64, **options), theirs.HashingVectorizer(n_features=64, **options)
    np.testing.assert_allclose(a.transform(DOCS).toarray(), b.transform(DOCS).toarray(), rtol=1e-12)


@pytest.mark.covers("DAT-10")
def test_word_counts_and_similarity_to_a_reference():
    corpus = ["good good film", "bad film", "good story"]
    counter = ours.CountVectorizer().fit(corpus)
    assert counter.get_feature_names_out().tolist() == ["bad", "film", "good", "story"]
    assert counter.transform(corpus).toarray().tolist() == [[0, 1, 2, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
    positive = ours.CountVectorizer(vocabulary=["good"]).fit_transform(corpus).toarray().ravel()
    assert positive.tolist() == [2, 0, 1]
    rows = ours.normalize(counter.transform(corpus).astype(float)).toarray()
    np.testing.assert_allclose(rows @ rows[0], [1.0, 1 / np.sqrt(10), 2 / np.sqrt(10)])


def test_files_and_words_in_words(tmp_path):
    model = ours.TfidfVectorizer().fit(DOCS)
    model.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(
        qed.load(tmp_path / "model.qed").transform(DOCS).toarray(), model.transform(DOCS).toarray()
    )
    with pytest.raises(ValueError, match="string object received"):
        ours.CountVectorizer().fit("a text")
    with pytest.raises(ValueError, match="empty vocabulary"):
        ours.CountVectorizer().fit(["", "a"])
    with pytest.raises(ValueError, match="Pass the words themselves"):
        ours.CountVectorizer(stop_words="klingon").fit(DOCS)
    english = ours.CountVectorizer(stop_words="english").fit(DOCS)
    assert not {"the", "of", "and"} & set(english.vocabulary_)
    assert qed.verify(english, DOCS).holds
    assert CountVectorizer is ours.CountVectorizer


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60) | st.text(alphabet=string.printable, max_size=60))
def test_words_are_those_of_the_pattern(text):
    words = ours.CountVectorizer().build_tokenizer()
    assert words(text) == re.findall(r"(?u)\b\w\w+\b", text)

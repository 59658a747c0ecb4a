"""Files that once crashed, hung or asked for all memory: each is refused in words, or answers like an honest one.

Letters are those of the list of attacks. Files are written past the checks that refuse to save them.
"""

from __future__ import annotations

import re
import tracemalloc
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from model_files import framed, opened, sealed

from qed import _native
from qed.compose import ColumnTransformer, Pipeline
from qed.core import InvalidData, InvalidParameter, MemoryLimit, ModelFileError, QedError
from qed.core._persistence import dumps, loads
from qed.linear_model import LinearRegression, Ridge, SGDClassifier
from qed.model_selection import GridSearchCV
from qed.preprocessing import (
    Binarizer,
    CountVectorizer,
    FactoredEncoder,
    HashingVectorizer,
    KBinsDiscretizer,
    LabelEncoder,
    MultiLabelBinarizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TfidfVectorizer,
)
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

X = np.random.default_rng(1).normal(size=(60, 4))
Y = X @ [1.0, -2.0, 0.5, 3.0]
TEXTS = ["the cat", "a dog and the cat"]


def forged(model: Any) -> bytes:
    """Write a model as it stands, as somebody would who has no respect for the checks of the writer."""
    with mock.patch("qed.core._codec.check_state"), mock.patch("qed.core._codec._check_parameters"):
        return dumps(model)


def refuses(model: Any, message: str) -> None:
    """Neither the writer nor the reader takes it."""
    with pytest.raises(ModelFileError, match=message):
        dumps(model)
    with pytest.raises(ModelFileError, match=message):
        loads(forged(model))


# -- M1: a count that another attribute contradicts -----------------------------------------------------------------------


def test_m1_a_number_of_monomials_follows_from_degree_and_columns() -> None:
    part = ColumnTransformer([("p", PolynomialFeatures(2), [0, 1, 2, 3])], sparse_threshold=0)
    pipe = Pipeline([("u", part), ("r", Ridge())]).fit(sp.csr_matrix(X), Y)
    pipe.steps_[0][1].transformers_[0][1].n_output_features_ = 3
    refuses(pipe, r"PolynomialFeatures\.n_output_features_ should be 15, and is 3")


def test_m1_native_code_counts_products_itself() -> None:
    S = sp.csr_matrix(np.ones((2, 3)))
    starts, columns = S.indptr.astype(np.int64), S.indices.astype(np.int64)
    offsets, room = np.zeros(3, np.int64), 2 * 9

    def call(ends: Any, size: int, *, degrees: Any = (1, 2), at: Any = columns, rows: Any = starts) -> None:
        out = np.empty(size, np.int32), np.empty(size)
        _native.sparse_monomials(rows, at, S.data, 3, offsets, degrees, False, False, np.asarray(ends, np.int64), *out)

    call([0, 9, 18], room)
    for ends, size in (
        ([0, 8, 16], 16),
        ([0, 2**62, 2**63 - 1], 18),
        ([0, 20, 18], 18),
        ([1, 9, 18], 18),
        ([0, 9, 18], 17),
    ):
        with pytest.raises(ValueError, match="room for every product"):
            call(ends, size)
    for degrees in ((0, 2), (2, 1), (1, 2**62), (1, 5000)):
        with pytest.raises(ValueError, match=r"degrees|offsets"):
            call([0, 9, 18], room, degrees=degrees)
    with pytest.raises(ValueError, match="outside the table"):
        call([0, 9, 18], room, at=columns + 1)
    with pytest.raises(ValueError, match="starts must rise"):
        call([0, 9, 18], room, rows=np.array([0, 2**60, 6]))


def test_m1_dense_products_stay_in_their_columns() -> None:
    out = np.empty((2, 5))
    for run in ((2**63 - 1, 0, 1, 0), (0, 2**63 - 1, 1, 0), (0, 0, 6, 0), (4, 0, 2, 0), (0, 0, 1, 2), (0, 0, -1, 0)):
        with pytest.raises(ValueError, match="leaves the columns"):
            _native.monomials(np.ones((2, 2)), out, np.array([run], np.int64), 1)
    with pytest.raises(ValueError, match="room for the columns"):
        _native.monomials(np.ones((2, 2)), out, np.zeros((0, 4), np.int64), 2**63 - 1)


# -- M2: a vocabulary is a permutation, and no sparse result leaves its shape ---------------------------------------------


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
@pytest.mark.parametrize("column", [10**9, 5000, -1, 0, 2**40, True, "0"])
def test_m2_a_vocabulary_numbers_its_words(kind: Any, column: Any) -> None:
    model = kind().fit(TEXTS)
    model.vocabulary_ = {**model.vocabulary_, "cat": column}
    refuses(model, r"vocabulary_ should")


def test_m2_weights_have_one_number_for_each_word() -> None:
    model = TfidfVectorizer().fit(TEXTS)
    model.vocabulary_ = {**model.vocabulary_, "more": len(model.vocabulary_)}
    refuses(model, r"TfidfVectorizer\.weights_ should be of 5 words, and are of 4")


def test_m2_a_sparse_result_with_indices_outside_cannot_be_built() -> None:
    model = CountVectorizer().fit(TEXTS)
    model.vocabulary_["cat"] = 5000  # in memory: nobody checked it
    with pytest.raises(InvalidData, match="indices point outside its shape"):
        model.transform(["cat"])
    encoder = OneHotEncoder().fit([["a"], ["b"]])
    encoder.categories_[0] = np.array(["a"], dtype=object)
    with pytest.raises(QedError):
        encoder.transform([["b"]])


class _Careless(StandardScaler):
    """A part that gives a broken container, as one of another library might."""

    def transform(self, X: Any) -> Any:
        made = sp.csr_matrix(np.eye(len(X)))
        made.indices[0] = 10**6
        return made


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_m2_a_part_cannot_make_a_broken_container_dense(threshold: float) -> None:
    model = ColumnTransformer([("c", _Careless(), [0, 1])], sparse_threshold=threshold)
    with pytest.raises(InvalidData, match="The result of a part is a sparse container whose indices point outside"):
        model.fit_transform(X)


# -- M3: honest use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "degree", "count"), [(4, 60, 635376), (2, 61, 1953), (3, 60, 39711), (1, 64, 65)])
def test_m3_many_monomials_of_sparse_rows(columns: int, degree: int, count: int) -> None:
    model = PolynomialFeatures(degree)
    made = model.fit_transform(sp.csr_matrix(np.full((1, columns), 2.0)))
    assert made.shape == (1, count) == (1, model.n_output_features_)
    assert made.nnz == count
    assert made.max() == 2.0**degree
    assert sorted(made.indices.tolist()) == list(range(count))


def test_m3_sparse_and_dense_agree_for_every_form() -> None:
    table = np.where(np.random.default_rng(0).random((7, 4)) < 0.4, 0.0, np.arange(28).reshape(7, 4) / 8)
    for degree in (1, 2, 3, (2, 3), (3, 3), (2, 9), (0, 0), (5, 6)):
        for distinct in (False, True):
            model = PolynomialFeatures(degree, interaction_only=distinct).fit(table)
            dense = model.transform(table)
            assert np.array_equal(model.transform(sp.csr_matrix(table)).toarray(), dense), (degree, distinct)
            assert np.allclose(dense, np.prod(table[:, None] ** model.powers_, axis=2)), (degree, distinct)
            assert dense.shape[1] == len(model.get_feature_names_out()) == model.n_output_features_


def test_m3_parameters_changed_after_the_fit_ask_for_another_fit() -> None:
    model = PolynomialFeatures(2).fit(X).set_params(degree=3)
    for table in (X, sp.csr_matrix(X)):
        with pytest.raises(
            InvalidParameter, match=r"give 15 columns, and those that it has now give 35\. Call fit again"
        ):
            model.transform(table)
    with pytest.raises(InvalidParameter, match="Call fit again"):
        model.get_feature_names_out()


def test_m3_monomials_are_counted_by_formula() -> None:
    model = PolynomialFeatures(2).fit(sp.csr_matrix((1, 100_000)))
    assert model.n_output_features_ == 5_000_150_001
    with pytest.raises(InvalidParameter, match="5000150001 monomials are more than a sparse matrix can number"):
        model.transform(sp.csr_matrix((1, 100_000)))
    with pytest.raises(InvalidData, match="names are written for at most"):
        model.get_feature_names_out()
    with pytest.raises(InvalidParameter, match=r"more than 2\*\*63"):
        PolynomialFeatures(30).fit(np.ones((1, 100)))
    with pytest.raises(InvalidParameter, match=r"more than 2\*\*63"):
        PolynomialFeatures(90, interaction_only=True).fit(np.ones((1, 200)))


def test_m3_tables_too_large_for_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QED_MEMORY_LIMIT", "1000000")
    rows = np.ones((100, 20))
    for table in (rows, sp.csr_matrix(rows)):
        with pytest.raises(MemoryLimit, match="Lower the degree"):
            PolynomialFeatures(4).fit(table).transform(table)


# -- M4: small files that ask for much -------------------------------------------------------------------------------------


def test_m4_degrees_have_an_end() -> None:
    model = PolynomialFeatures(2).fit(X[:, :1])
    model.degree, model.n_output_features_ = 10**9, 10**9 + 1
    refuses(model, "degree must be at most 4096")


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_m4_patterns_that_texts_can_slow_down_are_not_in_files(kind: Any) -> None:
    slow = {"token_pattern": r"(?:\w+\s?)+!"}
    model = kind(**slow).fit(["oh no!"])  # a program may use it
    refuses(model, r"token_pattern is .*it repeats a group.*files do not hold it")
    refuses(FactoredEncoder(factors={"a": r"(a*)*b"}), "it repeats a group")


SIMPLE = [
    r"(?u)\b\w\w+\b",
    r"\w+",
    r"[a-z]+(?:'[a-z]+)?",
    r"[^ ,;]+",
    r"\d{2,4}-\d{2}",
    r"#?\w+",
    r"(?i)[a-z]+",
    r"(?<=a)\w+",
]
SLOW = [
    r"\w*\w*x",
    r"a?a?a?",
    r"(a|a)+",
    r"\w+a\w+",
    r"(\w)\1+",
    r"(?:ab){2,}",
    r"(?i)k+K*",
    r"\S+@\S+\.\w+",
    r"(?=\w+)x",
    "(",
]


@pytest.mark.parametrize("pattern", SIMPLE)
def test_m4_usual_patterns_are_in_files(pattern: str) -> None:
    model = CountVectorizer(token_pattern=pattern).fit(["ab cd's 12-34 ab"] * 2)
    assert loads(dumps(model)).vocabulary_ == model.vocabulary_


@pytest.mark.parametrize("pattern", SLOW)
def test_m4_patterns_with_several_ways_are_not(pattern: str) -> None:
    refuses(CountVectorizer(token_pattern=pattern), "token_pattern")


@pytest.mark.parametrize("text", ["a" * 3000, "ab" * 1500, "a " * 1500, "a'" * 1500 + "!"])
def test_m4_no_text_slows_a_pattern_of_a_file_down(text: str) -> None:
    for pattern in SIMPLE:  # a square of 3,000 steps is a tenth of a second; three times as many ways would never end
        assert len(re.findall(pattern, text)) <= len(text)


def test_m4_ngrams_have_a_longest() -> None:
    model = CountVectorizer(ngram_range=(1, 10**6)).fit
    with pytest.raises(InvalidParameter, match="more than 100"):
        model(TEXTS)
    loaded = loads(forged(CountVectorizer(ngram_range=(1, 10**6))))
    with pytest.raises(InvalidParameter, match="more than 100"):
        loaded.fit(TEXTS)


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("given", ["filename", "file"])
def test_m4_vectorizers_of_files_read_no_files(kind: Any, given: str) -> None:
    refuses(kind(input=given), "names of files; set it after loading")


def test_m4_bins_have_edges() -> None:
    model = KBinsDiscretizer(strategy="uniform").fit(X)
    model.n_bins_ = np.full(4, 2**40)
    refuses(model, r"KBinsDiscretizer\.bin_edges_ should have shape")


@pytest.mark.parametrize("kind", [Normalizer, Binarizer, PolynomialFeatures])
def test_m4_nobody_writes_a_thousand_million_names(kind: Any) -> None:
    model = kind().fit(X)
    model.n_features_in_ = 10**9
    if kind is PolynomialFeatures:
        model.n_output_features_ = model._count(10**9)
    with pytest.raises(InvalidData, match="names are written for at most"):
        loads(forged(model)).get_feature_names_out()


# -- M5: errors without a name ---------------------------------------------------------------------------------------------


def test_m5_integers_can_be_printed() -> None:
    refuses(CountVectorizer(vocabulary=10**5000), "integer of|more than 4096 bits")
    header, data = opened(dumps(CountVectorizer()))
    for digits in ("f" * 4200, "1" + "0" * 1024):  # the second has one bit more than is allowed
        header["model"]["estimator"][1]["max_features"] = {"int": "0x" + digits}
        with pytest.raises(ModelFileError, match="more than 4096 bits"):
            loads(sealed(header, data))
    assert "9999" in repr(loads(dumps(CountVectorizer(max_features=10**1000 - 1))))


def test_m5_attributes_that_no_class_declares_are_refused() -> None:
    model = Ridge().fit(X, Y)
    for name in ("alpha_", "class_prior_", "steps_", "_private"):
        setattr(model, name, 1.0)
        refuses(model, f"{name} is held, and Ridge declares no such attribute")
        delattr(model, name)
    del model.certificate_
    refuses(model, "certificate_ is missing")


# -- M6: headers of many small values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["[]", "{}", '""', "0", '{"":[]}'])
def test_m6_values_are_counted_before_they_are_made(piece: str) -> None:
    text = '{"arrays":[],"model":[' + ",".join([piece] * (20 * 2**20 // (len(piece) + 1))) + '],"qed":"0"}'
    data = framed(text.encode(), b"")
    del text
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="values, and 4,194,304 is the most"):
            loads(data)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(data)
    finally:
        tracemalloc.stop()


def test_m6_a_model_of_too_many_values_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qed.core._container.MOST_NODES", 5000)
    model = CountVectorizer(stop_words=["word"] * 5000)
    with pytest.raises(ModelFileError, match="keep long lists as NumPy arrays"):
        dumps(model)


# -- found since by the fuzzer ---------------------------------------------------------------------------------------------


def test_a_batch_has_no_more_rows_than_there_are() -> None:
    """Rows times classes wrapped round to nothing, and native code wrote past its steps."""
    labels = np.arange(60) % 4
    options = {"random_state": 0, "max_iter": 3, "tol": None}
    whole = SGDClassifier(batch_size=60, **options).fit(X, labels)
    for size in (2**62, 2**61, 2**40, 61):
        assert np.array_equal(SGDClassifier(batch_size=size, **options).fit(X, labels).coef_, whole.coef_)


@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf", "max_leaf_nodes", "max_depth"])
def test_limits_of_trees_may_be_larger_than_any_table(name: str) -> None:
    for kind, y in ((DecisionTreeRegressor, Y), (DecisionTreeClassifier, Y > 0)):
        model = kind(**{name: 2**63 - 1}).fit(X, y)
        assert (len(model.tree_.feature) == 1) == (name in ("min_samples_split", "min_samples_leaf"))


def test_searches_score_with_functions_of_models() -> None:
    model = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, scoring="r2").fit(X, Y)
    for wrong in (np.log, np.float32, {"a": np.log}):
        loaded = loads(dumps(model))
        loaded.scoring = wrong
        with pytest.raises(InvalidParameter, match=r"function of \(model, X, y\)"):
            loaded.score(X, Y)
        with pytest.raises(InvalidParameter, match=r"function of \(model, X, y\)"):
            GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring=wrong, refit="a").fit(X, Y)
    model.scoring = ["r2", "neg_max_error"]
    loaded = loads(dumps(model))
    with pytest.raises(InvalidParameter, match=r"must name one of the scores \['r2', 'neg_max_error'\]"):
        loaded.score(X, Y)


def test_sets_of_labels_are_sets() -> None:
    model = MultiLabelBinarizer().fit([("a", "b"), ("b",)])
    for wrong in (np.zeros(3), [1, 2], sp.csr_matrix(X), 3):
        with pytest.raises(InvalidData, match="one collection of labels for each row"):
            model.transform(wrong)
    with pytest.raises(InvalidData, match="have no order"):
        MultiLabelBinarizer().fit([("a", 1)])
    assert model.fit_transform(iter([("b",), ("c", "b")])).tolist() == [[1, 0], [1, 1]]


def test_parts_that_name_no_columns_are_named() -> None:
    model = ColumnTransformer([("s", StandardScaler(), [0, 1])]).fit(X)
    model.transformers_ = [("s", LabelEncoder().fit([1, 2]), [0, 1])]
    with pytest.raises(AttributeError, match=r"LabelEncoder .* names no columns"):
        model.get_feature_names_out()
    model = ColumnTransformer([("s", StandardScaler(), [0, 1])], verbose_feature_names_out=np.log).fit(X)
    with pytest.raises(InvalidParameter, match="function of the names"):
        model.get_feature_names_out()


def test_stop_words_are_words() -> None:
    for wrong in (np.array(1.0), np.ones(3), 3):
        with pytest.raises(InvalidParameter, match="list of words"):
            CountVectorizer(stop_words=wrong).fit(TEXTS)
    assert "cat" not in CountVectorizer(stop_words=np.array(["cat"])).fit(TEXTS).vocabulary_


def test_squares_of_residuals_are_as_many_as_targets() -> None:
    model = LinearRegression().fit(X, Y)
    for wrong in (np.zeros(0), np.ones(3)):
        model.squared_residuals_ = wrong
        refuses(model, r"LinearRegression\.squared_residuals_ should")

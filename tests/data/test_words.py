"""Columns of words in sources: the models of the same rows in memory, from categories that one pass finds; or a clear error."""

from __future__ import annotations

import pickle
from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from clusters import two_workers
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import qed
from qed.cluster import KMeans
from qed.compose import make_pipeline
from qed.core import clone
from qed.core._errors import CertificateError, InvalidData, InvalidDataType
from qed.data import Moments, fold
from qed.data._column_counts import ColumnCounts
from qed.data._sources import View
from qed.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.linear_model import LogisticRegression, Ridge, RidgeCV
from qed.model_selection import cross_validate
from qed.preprocessing import OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler, TargetEncoder

pytestmark = pytest.mark.filterwarnings("default")  # Dask warns of ports

RNG = np.random.default_rng(0)
N = 900
FRAME = pd.DataFrame(
    {
        "number": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green", "blue", "été"], N),
        "size": RNG.choice(["s", "m", "l"], N),
    }
)
FRAME.loc[RNG.random(N) < 0.05, "colour"] = None
score = FRAME["number"] + 2 * (FRAME["colour"] == "red") - (FRAME["size"] == "l") * (FRAME["colour"] == "blue")
FRAME["y"] = (score + RNG.normal(size=N) > 0).astype(float)
NAMES, WORDS = ["number", "colour", "size"], ["colour", "size"]
TABLE = pa.Table.from_pandas(FRAME[NAMES], preserve_index=False)
BOOSTED = HistGradientBoostingClassifier(max_iter=8, random_state=0)


def write(folder, features=NAMES, dictionary=(1,)):
    """Write three files; in some of them a column is a dictionary."""
    for number, (a, b) in enumerate(pairwise([0, 250, 600, N])):
        table = pa.Table.from_pandas(FRAME[a:b][[*features, "y"]], preserve_index=False)
        if number in dictionary:
            j = table.column_names.index("colour")
            table = table.set_column(j, "colour", table["colour"].dictionary_encode())
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=70)
    return qed.scan(str(folder / "*.parquet"), target="y", batch_rows=60)


def as_category(frame):
    return frame.assign(colour=frame["colour"].astype("category"))


SOURCES = {
    "files": write,
    "pandas": lambda _: qed.scan([FRAME[:100], FRAME[100:100], FRAME[100:]], target="y", batch_rows=64),
    "categories": lambda _: qed.scan([as_category(FRAME)[:300], as_category(FRAME)[300:]], target="y"),
    "polars": lambda _: qed.scan([pl.from_pandas(FRAME[:500]), pl.from_pandas(FRAME[500:])], target="y"),
    "arrow": lambda _: qed.scan(pa.Table.from_pandas(FRAME, preserve_index=False).to_batches(200), target="y"),
    "dask.dataframe": lambda _: qed.scan(dd.from_pandas(FRAME, npartitions=4), target="y"),
    "dask categories": lambda _: qed.scan(dd.from_pandas(as_category(FRAME), npartitions=4), target="y"),
}


def assert_same_trees(one, other):
    for name in ("sizes", "feature", "threshold", "missing_left", "weight", "by_set", "sets"):
        np.testing.assert_array_equal(getattr(one.trees_, name), getattr(other.trees_, name))
    np.testing.assert_allclose(one.trees_.value, other.trees_.value, rtol=1e-10, atol=1e-13)


def lists(model):
    return [known.tolist() for known in model.categories_]


@pytest.mark.parametrize("where", ["here", "cluster"])
@pytest.mark.parametrize("kind", SOURCES)
def test_boosting_by_words_is_that_in_memory(kind, where, tmp_path):
    source, whole = SOURCES[kind](tmp_path), clone(BOOSTED).fit(TABLE, FRAME["y"].astype(int))
    with qed.executor("threads" if where == "here" else two_workers()):
        model = clone(BOOSTED).fit(source)
        assert_same_trees(model, whole)
        assert lists(model) == lists(whole)
        np.testing.assert_array_equal(model.is_categorical_, [False, True, True])
        np.testing.assert_allclose(model.predict_proba(source), whole.predict_proba(TABLE), atol=1e-12)
        assert model.score(source) == pytest.approx(whole.score(TABLE, FRAME["y"]))
        assert qed.verify(model, source).holds
    assert qed.verify(model, TABLE, FRAME["y"].astype(int)).holds


@pytest.mark.parametrize("kind", ["files", "pandas", "dask.dataframe"])
@pytest.mark.parametrize(
    "encoder",
    [OneHotEncoder(sparse_output=False), OneHotEncoder(max_categories=3), OrdinalEncoder(), TargetEncoder()],
    ids=["one-hot", "rare", "ordinal", "target"],
)
def test_encoders_of_words_are_those_in_memory(kind, encoder, tmp_path):
    if kind == "files":
        source = write(tmp_path, WORDS)
    elif kind == "pandas":
        source = qed.scan([FRAME[:100], FRAME[100:]], target="y", features=WORDS)
    else:
        source = qed.scan(dd.from_pandas(FRAME, npartitions=3), target="y", features=WORDS)
    whole = clone(encoder).fit(TABLE.select(WORDS), FRAME["y"].astype(int))
    with qed.executor(two_workers()):
        model = clone(encoder).fit(source)
        rows = [chunk.X for chunk in model.transform(source).chunks()]
    assert lists(model) == lists(whole)
    dense = np.vstack([one if isinstance(one, np.ndarray) else one.toarray() for one in rows])
    expected = whole.transform(TABLE.select(WORDS))
    np.testing.assert_allclose(dense, expected if isinstance(expected, np.ndarray) else expected.toarray(), atol=1e-12)
    assert qed.verify(model, source).holds


def test_encoders_take_numbers_beside_words():
    coarse = FRAME.assign(number=FRAME["number"].round())
    whole = OrdinalEncoder().fit(pa.Table.from_pandas(coarse[NAMES], preserve_index=False))
    model = OrdinalEncoder().fit(qed.scan([coarse[:300], coarse[300:]], target="y"))
    assert lists(model) == lists(whole)
    assert model.categories_[0].dtype == whole.categories_[0].dtype == np.float64


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, N), max_size=5), batch_rows=st.sampled_from([1, 7, 50, 1000]))
def test_one_chunk_is_many_chunks(cuts, batch_rows):
    edges = [0, *sorted(cuts), N]
    source = qed.scan([FRAME[a:b] for a, b in pairwise(edges)], target="y", batch_rows=max(7, batch_rows))
    whole = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(TABLE, FRAME["y"].astype(int))
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(source)
    assert_same_trees(model, whole)
    assert lists(model) == lists(whole)


def test_pipelines_and_cross_validation(tmp_path):
    source = write(tmp_path, WORDS)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(source)
    whole = clone(model).fit(TABLE.select(WORDS), FRAME["y"].astype(int))
    assert model.score(source) == pytest.approx(whole.score(TABLE.select(WORDS), FRAME["y"]))
    assert qed.verify(model, source).holds
    for scoring in (None, "roc_auc"):
        found, expected = (
            cross_validate(clone(BOOSTED), *data, cv=3, scoring=scoring)["test_score"]
            for data in ((write(tmp_path),), (TABLE, FRAME["y"].astype(int)))
        )
        np.testing.assert_allclose(found, expected, atol=1e-12)
    piped = make_pipeline(clone(BOOSTED)).fit(source)
    assert piped.predict(source).shape == (N,)


def test_words_that_the_fit_has_not_met_are_missing(tmp_path):
    model = clone(BOOSTED).fit(write(tmp_path))
    strange = FRAME.assign(colour="mauve")
    missing = FRAME.assign(colour=pd.Series([None] * N, dtype="str"))
    np.testing.assert_array_equal(
        model.predict_proba(qed.scan(strange, features=NAMES)), model.predict_proba(qed.scan(missing, features=NAMES))
    )
    encoder = OneHotEncoder().fit(qed.scan(FRAME, features=WORDS))
    with pytest.raises(InvalidData, match=r"unknown categories \['mauve'\] in column 0"):
        list(encoder.transform(qed.scan(strange, features=WORDS)).chunks())
    empty = qed.scan([FRAME[:0], FRAME[:5]], features=WORDS)
    assert sum(chunk.n_rows for chunk in encoder.transform(empty).chunks()) == 5


def test_regression_names_and_early_stopping():
    frame = FRAME.assign(y=score)
    source = qed.scan([frame[:400], frame[400:]], target="y")
    for settings_ in (
        {"categorical_features": ["colour", "size"]},
        {"early_stopping": True, "n_iter_no_change": 2},
        {"max_leaf_nodes": 4, "loss": "absolute_error"},
    ):
        model = HistGradientBoostingRegressor(max_iter=12, random_state=1, **settings_)
        whole = clone(model).fit(TABLE, score)
        assert_same_trees(model.fit(source), whole)
        assert qed.verify(model, source).holds


@pytest.mark.parametrize(
    "model",
    [Ridge(), RidgeCV(cv=3), LogisticRegression(), KMeans(2), StandardScaler(), SimpleImputer()],
    ids=lambda model: type(model).__name__,
)
def test_models_of_numbers_name_the_column_of_words(model, tmp_path):
    with pytest.raises(
        InvalidDataType, match=rf"{type(model).__name__} takes numbers, and column 'colour' holds words.*OneHotEncoder"
    ):
        model.fit(write(tmp_path))


def test_whatever_reads_numbers_names_the_column_of_words(tmp_path):
    source = write(tmp_path)
    with pytest.raises(InvalidDataType, match=r"column 'colour' of 0.parquet holds words"):
        fold(source, Moments.of)
    numbers = Ridge().fit(FRAME[["number"]].assign(colour=0.0, size=1.0), FRAME["y"])
    with pytest.raises(InvalidDataType, match=r"Ridge takes numbers, and column 'colour' holds words"):
        numbers.predict(source)
    with pytest.raises(InvalidData, match=r"Column 'colour' of the source holds words, and .*does not name it"):
        HistGradientBoostingClassifier(categorical_features=None).fit(source)
    with pytest.raises(InvalidData, match=r"Column 'size' of the source holds words, and .*does not name it"):
        HistGradientBoostingClassifier(categorical_features=["colour"]).fit(source)
    with pytest.raises(InvalidData, match=r"Column 'colour' has more than max_bins=3 categories. .*TargetEncoder"):
        HistGradientBoostingClassifier(max_bins=3).fit(source)


class Endless(View):
    """Chunks of ever new words, counted."""

    def __init__(self, source):
        self._source, self.read = source, 0

    @property
    def schema(self):
        return self._source.schema

    def parts(self):
        return [Counted(self, part) for part in self._source.parts()]

    def targets(self):
        return self._source.targets()


class Counted:
    def __init__(self, owner, part):
        self.owner, self.part, self.n_rows, self.label = owner, part, part.n_rows, part.label

    def chunks(self):
        for chunk in self.part.chunks():
            self.owner.read += 1
            yield chunk


def test_parts_of_files_count_the_bytes_of_words(tmp_path):
    long = pa.table({"x": np.zeros(500), "word": [f"{i:0200}" for i in range(500)], "y": np.zeros(500)})
    parquet.write_table(long, tmp_path / "long.parquet", row_group_size=100)
    path = str(tmp_path / "long.parquet")
    held = sum(part.nbytes for part in qed.scan(path, target="y").parts())
    assert held > 200 * 500 + 3 * 8 * 500
    assert sum(part.nbytes for part in qed.scan(path, target="y", features=["x"]).parts()) == 2 * 8 * 500


def test_a_type_of_many_categories_is_short():
    words = [f"category {i}" for i in range(5000)]

    def frame(categories):
        return pd.DataFrame({"word": pd.Categorical(["category 7"] * 3, categories=categories), "y": [0.0, 1.0, 1.0]})

    source = qed.scan([frame(words), frame(words[::-1])], target="y")
    assert len(pickle.dumps(source.parts()[0].layout)) < 2000
    less, more = frame(words[:-2]), frame([*words, "a new one"])
    with pytest.raises(InvalidDataType) as caught:
        qed.scan([frame(words), more], target="y")
    assert len(str(caught.value)) < 500
    assert caught.match(
        r"Column .word. is Categorical of 5,000 words \(.*\) in the first partition and .* 5,001 words \(.* in partition 1\. "
    )
    assert caught.match(r".* only one of them lists: 1, .* 'a new one', in partition 1\. Convert")
    with pytest.raises(
        InvalidDataType, match=r"4,998 words .* only one of them lists: 2, .* 'category 4998', in the first"
    ):
        qed.scan([frame(words), less], target="y")
    parts = dd.from_map(lambda k: more if k else frame(words), [0, 1], meta=frame(words)[:0])
    with pytest.raises(InvalidDataType, match=r"5,000 words .* 5,001 words"):
        fold(qed.scan(parts, target="y"), ColumnCounts.of_words)


def test_too_many_words_end_a_pass_early_and_name_their_column(monkeypatch):
    n = 1000
    frame = pd.DataFrame({"a": np.arange(n) % 7.0, "few": ["u", "v"] * (n // 2), "many": [f"w{i}" for i in range(n)]})
    source = Endless(qed.scan([frame.assign(y=np.arange(n) % 2.0)], target="y", batch_rows=20))
    with (
        qed.executor("serial"),
        pytest.raises(InvalidData, match=r"Column 'many' has more than max_bins=30 categories. Join rare ones"),
    ):
        HistGradientBoostingClassifier(max_bins=30).fit(source)
    assert source.read < 10 < n // 20
    monkeypatch.setattr("qed.data._column_counts.Limit.__init__.__defaults__", (None, 100, ""))
    numbers = qed.scan([frame[["a"]].assign(b=np.arange(n) / 3)], batch_rows=20)
    for rows, advice in (
        (source, r"'many' has more than 100 distinct words, .* or join rare ones first"),
        (numbers, r"'b' has more than 100 distinct values, .* or round it first"),
    ):
        with pytest.raises(InvalidData, match=f"Column {advice}"):
            OrdinalEncoder().fit(rows)
    with pytest.raises(InvalidData, match=r"Column 'b' has more than 100 distinct values"):
        SimpleImputer(strategy="most_frequent").fit(numbers)


def test_files_and_partitions_that_differ(tmp_path):
    write(tmp_path)
    numbers = pa.Table.from_pandas(FRAME.assign(colour=1.0), preserve_index=False)
    parquet.write_table(numbers, tmp_path / "9.parquet")
    with pytest.raises(
        InvalidDataType, match=r"Column 'colour' is (large_)?string in 0.parquet and double in 9.parquet"
    ):
        qed.scan(str(tmp_path / "*.parquet"), target="y")
    other = as_category(FRAME.assign(colour="mauve"))
    with pytest.raises(
        InvalidDataType, match=r"Column 'colour' is Categorical of \[.*\] in the first partition and .*mauve"
    ):
        qed.scan([as_category(FRAME), other], target="y")
    with pytest.raises(
        InvalidDataType, match=r"Column 'colour' is String in the first partition and Float64 in partition 1"
    ):
        qed.scan([FRAME, FRAME.assign(colour=1.0)], target="y")
    with pytest.raises(
        InvalidDataType, match=r"Column 'colour' of partition 0 is String, and only numbers are accepted"
    ):
        qed.scan(FRAME, target="colour")
    with pytest.raises(InvalidDataType, match=r"Column 'colour' of 0.parquet is (large_)?string"):
        qed.scan(str(tmp_path / "0.parquet"), target="colour")


def test_infinite_numbers_beside_words_are_named(tmp_path):
    bad = FRAME.copy()
    bad.loc[700, "number"] = np.inf
    parquet.write_table(pa.Table.from_pandas(bad, preserve_index=False), tmp_path / "a.parquet", row_group_size=100)
    source = qed.scan(str(tmp_path / "a.parquet"), target="y", batch_rows=100)
    with pytest.raises(InvalidData, match=r"row 700 of a.parquet, column 'number'"):
        HistGradientBoostingClassifier(max_iter=2).fit(source)
    with pytest.raises(InvalidData, match=r"row 700 of a.parquet, column 'number'"):
        OrdinalEncoder().fit(source)


def test_the_checker_reads_the_words_itself(tmp_path):
    source = write(tmp_path)
    model = clone(BOOSTED).fit(source)
    model.categories_[1] = model.categories_[1][[1, 0, 2, 3, 4]]
    with pytest.raises(CertificateError, match=r"other categories of column 1"):
        qed.verify(model, source)
    model = clone(BOOSTED).fit(source)
    model.categories_[2] = np.append(model.categories_[2], ["xl"])
    with pytest.raises(CertificateError, match=r"other categories of column 2"):
        qed.verify(model, source)
    encoder = OrdinalEncoder().fit(write(tmp_path, WORDS))
    encoder.categories_[0] = encoder.categories_[0][[1, 0, 2, 3, 4]]
    with pytest.raises(CertificateError, match=r"other categories"):
        qed.verify(encoder, write(tmp_path, WORDS))

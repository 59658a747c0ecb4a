"""Findings of adversarial testing about use: commands and interrupts (C), memory (R), agreement with scikit-learn (D)."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import tracemalloc
import unicodedata
import warnings
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.compose
import sklearn.feature_extraction.text
import sklearn.metrics
import sklearn.pipeline
import sklearn.preprocessing
from scipy import sparse

import qed
import qed.study
from qed import metrics
from qed.cli import main
from qed.cli._files import write_whole
from qed.compose import ColumnTransformer, FeatureUnion, make_pipeline
from qed.convex._concomitant import Concomitant
from qed.convex._problem import Problem
from qed.core import InvalidData, InvalidParameter, MemoryLimit, clone
from qed.core._escape import escaped
from qed.core._interruptible import interruptible
from qed.decomposition import PCA
from qed.linear_model import (
    BoundedRegressor,
    GroupLasso,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    OrdinalRegressor,
    RidgeCV,
    SquareRootLasso,
    VotedPerceptron,
)
from qed.preprocessing import (
    CountVectorizer,
    FunctionTransformer,
    HashingVectorizer,
    KBinsDiscretizer,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TfidfTransformer,
    TfidfVectorizer,
)
from qed.study import read_table
from qed.study._clock import Clock

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["the cat sat", "a dog ran off", "the dog sat", "cat and dog"]
FRAMES = (pd.DataFrame, pl.DataFrame, pa.table)


def _dense(table: Any) -> Any:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


# -- C1: Ctrl-C --------------------------------------------------------------------------------------------


def _press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class _NeverEnding:
    """A call that Ctrl-C comes during, and that ends when the test says so."""

    def __init__(self) -> None:
        self.release, self.ended = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        _press()
        self.release.wait(60)
        self.ended.set()
        return arguments


def test_c1_a_long_call_is_not_waited_for() -> None:
    call = _NeverEnding()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call, 1, work=1e12)
    assert not call.ended.is_set()
    call.release.set()
    assert call.ended.wait(60)


def test_c1_long_calls_return_and_raise_as_short_ones_do() -> None:
    A = np.random.default_rng(0).normal(size=(20, 20))
    assert np.array_equal(interruptible(np.linalg.svd, A, work=1e12)[1], np.linalg.svd(A)[1])
    with pytest.raises(np.linalg.LinAlgError):
        interruptible(np.linalg.cholesky, -np.eye(2), work=1e12)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(np.divide, 1.0, np.zeros(2), work=1e12)
    assert interruptible(threading.current_thread, work=1.0) is threading.current_thread()


@pytest.mark.parametrize("model", [PCA(), RidgeCV()], ids=["PCA", "RidgeCV"])
def test_c1_decompositions_of_wide_tables_are_interrupted(model: Any, monkeypatch: Any) -> None:
    r = np.random.default_rng(0)
    X, y = r.normal(size=(300, 500)), r.normal(size=300)
    call = _NeverEnding()
    for name in ("eigh", "qr", "svd"):
        monkeypatch.setattr(f"numpy.linalg.{name}", call)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not call.ended.is_set()
    call.release.set()
    assert call.ended.wait(60)


@pytest.mark.parametrize(
    "model",
    [Lasso(alpha=1e-4), GroupLasso(alpha=1e-4, groups=np.arange(120) // 3), SquareRootLasso(alpha=0.02)],
    ids=["Lasso", "GroupLasso", "SquareRootLasso"],
)
def test_c1_an_interrupted_fit_is_proved_by_what_is_at_hand(model: Any, monkeypatch: Any) -> None:
    r = np.random.default_rng(0)
    X = r.normal(size=(50, 120))
    y = X[:, :5].sum(axis=1) + r.normal(size=50)
    whole = clone(model).fit(X, y).certificate_.objective
    asked: list[bool] = []
    for kind in (Problem, Concomitant):
        certify = kind.certify

        def recorded(self: Any, *words: Any, _certify: Any = certify, **options: Any) -> Any:
            asked.append(options.get("is_thorough", True))
            return _certify(self, *words, **options)

        monkeypatch.setattr(kind, "certify", recorded)

    def press_once(event: qed.Event) -> None:
        if event.kind == "step" and event.step == 1:
            asked.clear()
            _press()

    with qed.listen(press_once), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert asked == [False]
    certificate = model.certificate_
    assert certificate.objective - certificate.gap <= whole + 1e-9  # what is stated is true of the best there is
    qed.verify(model, X, y)


def test_c1_a_study_says_at_once_that_it_was_interrupted(tmp_path: Path) -> None:
    seen: list[str] = []

    def press_once(event: qed.Event) -> None:
        if event.kind == "step":
            seen.append(event.source)
        if event.source == "comparing" and seen.count("comparing") == 1 and event.kind == "step":
            _press()

    with qed.listen(press_once):
        study = qed.study.fit(_csv(tmp_path), "y", budget="30s")
    assert study.is_interrupted
    assert study.model.proof is not None
    own = [source for source in seen if source in ("comparing", "interrupted", "judging", "fitting", "checking")]
    assert own[:2] == ["comparing", "interrupted"]
    assert "comparing" not in own[1:]


def test_c1_no_traceback_while_modules_are_imported(monkeypatch: Any, capsys: Any) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qed.cli._parser.parser", pressed)
    assert main(["fit", "x.csv"]) == 130
    assert "Interrupted" in capsys.readouterr().err


# -- C2: one name, two programs ----------------------------------------------------------------------------


def _csv(folder: Path, names: tuple[str, str] = ("x", "y"), n: int = 60) -> str:
    r = np.random.default_rng(0)
    x = r.normal(size=n)
    path = folder / "data.csv"
    lines = [",".join(names), *(f"{a:.4f},{2 * a + b:.4f}" for a, b in zip(x, r.normal(size=n), strict=True))]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_c2_a_file_that_appeared_in_the_meantime_is_left_as_it_is(tmp_path: Path, capsys: Any) -> None:
    data, out = _csv(tmp_path), tmp_path / "m.qed"

    def other_program(event: qed.Event) -> None:
        if event.source == "reading" and event.kind == "end":
            out.write_text("of the other program", encoding="utf-8")

    words = ["fit", data, "--target", "y", "--budget", "2s", "--out", str(out), "--report", str(tmp_path / "r.html")]
    with qed.listen(other_program):
        assert main(words) == 2
    assert out.read_text(encoding="utf-8") == "of the other program"
    assert "--force" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "m.qed"]
    with qed.listen(other_program):
        assert main([*words, "--force"]) == 0
    assert qed.load(out)


@pytest.mark.parametrize("has_links", [True, False])
def test_c2_of_two_writers_one_succeeds(tmp_path: Path, monkeypatch: Any, has_links: bool) -> None:
    target = tmp_path / "t"
    if not has_links:

        def refused(*_: object) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr("os.link", refused)

    def second(path: Path) -> None:
        write_whole(str(target), lambda inner: inner.write_text("first") and None, replace=False)
        path.write_text("second")

    with pytest.raises(InvalidParameter, match="another program"):
        write_whole(str(target), second, replace=False)
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]
    write_whole(str(target), lambda path: path.write_text("third") and None, replace=True)
    assert target.read_text() == "third"


# -- C3: a budget that also bounds reading -----------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(x, y) AS (SELECT 1, 2 UNION ALL SELECT x + 1, y FROM n) SELECT {} FROM n"


class _Budget(Clock):
    """A clock that is over after some looks at it, so that no test waits."""

    def __init__(self, looks: int) -> None:
        super().__init__(60.0)
        self.looks = looks

    @property
    def left(self) -> float:
        self.looks -= 1
        return 60.0 if self.looks >= 0 else -1.0


def _database(folder: Path, kind: str, query: str) -> Path:
    path = folder / f"t.{kind}"
    connection: Any = sqlite3.connect(path) if kind == "db" else duckdb.connect(str(path))
    connection.execute(f"CREATE VIEW v AS {query}")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("columns", ["x, y", "count(*) AS x, 1 AS y"])
def test_c3_an_endless_view_of_sqlite_ends_with_the_budget(tmp_path: Path, columns: str) -> None:
    path = _database(tmp_path, "db", ENDLESS.format(columns))
    with pytest.raises(InvalidData, match="whole budget"):
        read_table(path, clock=_Budget(50))


def test_c3_an_endless_answer_of_duckdb_ends_with_the_budget(tmp_path: Path) -> None:
    path = _database(tmp_path, "duckdb", "SELECT i AS x, 1 AS y FROM range(1000000000000) t(i)")
    with pytest.raises(InvalidData, match="whole budget"):
        read_table(path, clock=_Budget(5))
    with pytest.raises(InvalidData, match="whole budget"):
        read_table("SELECT i AS x, 1 AS y FROM range(1000000000000) t(i)", clock=_Budget(5))


def test_c3_duckdb_is_interrupted_before_its_first_row(tmp_path: Path) -> None:
    path = _database(tmp_path, "duckdb", "SELECT count(*) AS x FROM range(100000000) a, range(100000000) b")
    with pytest.raises(InvalidData, match="whole budget"):
        read_table(path, clock=_Budget(0))


def test_c3_files_of_text_look_at_the_clock(tmp_path: Path) -> None:
    data = _csv(tmp_path, n=10_000)
    with pytest.raises(InvalidData, match="whole budget"):
        read_table(data, clock=_Budget(0))
    assert read_table(data, clock=_Budget(100)).n_rows == 10_000


@pytest.mark.parametrize("kind", ["db", "duckdb"])
def test_c3_memory_is_bounded_while_reading(tmp_path: Path, monkeypatch: Any, kind: str) -> None:
    endless = ENDLESS.format("x, y") if kind == "db" else "SELECT i AS x, 1 AS y FROM range(1000000000000) t(i)"
    path = _database(tmp_path, kind, endless)
    monkeypatch.setenv("QED_MEMORY_LIMIT", "4000000")
    with pytest.raises(MemoryLimit, match=r"rows of .* read so far"):
        read_table(path)


def test_c3_long_texts_are_read_in_small_batches(tmp_path: Path, monkeypatch: Any) -> None:
    text = "SELECT x, printf('%.100000c', 'k') || x AS y FROM n"
    path = _database(tmp_path, "db", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) " + text)  # noqa: S608
    monkeypatch.setenv("QED_MEMORY_LIMIT", "20000000")
    with pytest.raises(MemoryLimit, match=r"the [1-9][0-9]{2} rows"):
        read_table(path)


def test_c3_ctrl_c_ends_a_query(tmp_path: Path) -> None:
    path = _database(tmp_path, "db", ENDLESS.format("count(*) AS x"))

    class Pressed(Clock):
        @property
        def left(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_table(path, clock=Pressed(60.0))


# -- C4: signs that cannot be seen -------------------------------------------------------------------------


def test_c4_hidden_signs_are_named_in_pages(tmp_path: Path) -> None:
    turned, escape_sign = "pri\u202ece", "co\x1b[31mst"
    data = _csv(tmp_path, (turned, escape_sign))
    out, page = tmp_path / "m.qed", tmp_path / "r.html"
    words = [
        "fit",
        data,
        "--target",
        escape_sign,
        "--budget",
        "2s",
        "--out",
        str(out),
        "--report",
        str(page),
        "--quiet",
    ]
    assert main(words) == 0
    text = page.read_text(encoding="utf-8")
    assert "[U+202E]" in text
    assert "[U+001B]" in text
    hidden = {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign != "\n"}
    assert not hidden


@pytest.mark.parametrize(
    "sign", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x1b", "\x00", "\x7f", "\x9b", "\ud800", "\u2028", "\r"]
)
def test_c4_escaped_text_shows_what_it_holds(sign: str) -> None:
    assert escaped(f"a{sign}b") == f"a[U+{ord(sign):04X}]b"
    assert escaped("<é 你 😀>\n") == "&lt;é 你 😀&gt;\n"


# -- R1: the memory of a vote ------------------------------------------------------------------------------


def test_r1_a_vote_takes_blocks_of_rows() -> None:
    r = np.random.default_rng(0)
    X = r.normal(size=(1500, 3))
    model = VotedPerceptron(max_iter=20).fit(X, r.random(1500) < 0.5)
    mistakes, p = len(model.mistakes_), X.shape[1]
    assert mistakes > 5000
    tracemalloc.start()
    model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * mistakes * (p + 1) + 17 * max(mistakes, 262144) + 100_000 + 40 * len(X)
    assert peak < 8 * len(X) * mistakes / 4


def test_r1_votes_are_those_of_every_plane() -> None:
    r = np.random.default_rng(1)
    X = r.integers(-3, 4, size=(80, 2)).astype(float)
    model = VotedPerceptron(max_iter=5).fit(X, r.random(80) < 0.5, sample_weight=r.integers(1, 3, 80))
    planes = np.vstack([np.zeros(3), np.cumsum(model.mistakes_ * model.steps_[:, None], axis=0)])
    sides = np.where(X @ planes[:, :2].T + planes[:, 2] > 0, 1.0, -1.0)
    assert np.array_equal(model.decision_function(X), sides @ model.votes_ / model.votes_.sum())


# -- R2: products of many columns --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [HuberRegressor(), BoundedRegressor(), OrdinalRegressor()], ids=lambda m: type(m).__name__
)
def test_r2_products_of_many_columns_are_refused_by_formula(model: Any) -> None:
    r, n = np.random.default_rng(0), 60_000
    rows, columns = r.integers(0, n, (2, 4000))
    X = sparse.csr_array((r.normal(size=4000), (rows, columns)), shape=(n, n))
    y = np.arange(n) % 3 if isinstance(model, OrdinalRegressor) else r.normal(size=n)
    with pytest.raises(MemoryLimit, match=r"60000 columns needs .* GiB, and the limit is"):
        model.fit(X, y)


# -- D: agreement with scikit-learn ------------------------------------------------------------------------


def test_d1_one_class_left_by_weights_is_the_worst_not_the_best() -> None:
    truth, proba, s = [0, 1, 1], [0.2, 0.7, 0.6], [0, 1, 1]
    assert metrics.d2_log_loss_score(truth, proba, sample_weight=s) == -np.inf
    assert sklearn.metrics.d2_log_loss_score(truth, proba, sample_weight=s) < -1e10
    assert metrics.d2_brier_score(truth, proba, sample_weight=s) == -np.inf


@pytest.mark.parametrize("kind", ["CountVectorizer", "TfidfVectorizer"])
def test_d2_binary_counts_choose_words_by_texts(kind: str) -> None:
    texts = ["aa aa aa aa bb", "cc bb", "cc dd", "cc dd dd"]
    own = getattr(qed.preprocessing, kind)(binary=True, max_features=2).fit(texts)
    other = getattr(sklearn.feature_extraction.text, kind)(binary=True, max_features=2).fit(texts)
    assert own.vocabulary_ == other.vocabulary_
    assert np.allclose(_dense(own.transform(texts)), _dense(other.transform(texts)))


@pytest.mark.parametrize("frame", FRAMES)
def test_d3_a_column_of_texts_reaches_a_vectorizer(frame: Any) -> None:
    data = {"u": TEXTS, "v": [1.0, 2.0, 3.0, 5.0]}
    expected = _dense(
        sklearn.compose.ColumnTransformer(
            [("c", sklearn.feature_extraction.text.CountVectorizer(), "u")], remainder="passthrough"
        ).fit_transform(pd.DataFrame(data))
    )
    for vectorizer in (CountVectorizer(), sklearn.feature_extraction.text.CountVectorizer()):
        model = ColumnTransformer([("c", vectorizer, "u")], remainder="passthrough")
        assert np.array_equal(_dense(model.fit_transform(frame(data))), expected)
        assert np.array_equal(_dense(model.transform(frame(data))), expected)


@pytest.mark.parametrize("frame", FRAMES)
def test_d3_other_readers_of_texts_and_files(frame: Any, tmp_path: Any) -> None:
    table = frame({"u": TEXTS, "v": [1.0, 2.0, 3.0, 5.0]})
    parts = [
        ("t", make_pipeline(CountVectorizer(), TfidfTransformer()), ["u"]),
        ("h", HashingVectorizer(n_features=8), "u"),
        ("s", StandardScaler(), ["v"]),
    ]
    model = ColumnTransformer(parts)
    made = _dense(model.fit_transform(table))
    model.save(tmp_path / "m.qed")
    assert np.allclose(_dense(qed.load(tmp_path / "m.qed").transform(table)), made)
    with pytest.raises(InvalidParameter, match="one column of texts"):
        ColumnTransformer([("c", CountVectorizer(), ["u", "v"])]).fit(table)
    with pytest.raises(InvalidData, match="one column of texts"):
        CountVectorizer().fit(table)


@pytest.mark.parametrize(
    "given", [list, tuple, np.array, pd.Series, pl.Series, lambda texts: pa.chunked_array([texts])]
)
def test_d3_a_union_of_vectorizers_reads_texts(given: Any, tmp_path: Any) -> None:
    text = sklearn.feature_extraction.text
    parts = [("w", text.CountVectorizer()), ("c", text.TfidfVectorizer(analyzer="char"))]
    expected = _dense(sklearn.pipeline.FeatureUnion(parts).fit_transform(TEXTS))
    union = FeatureUnion([("w", CountVectorizer()), ("c", TfidfVectorizer(analyzer="char"))])
    assert np.allclose(_dense(union.fit_transform(given(TEXTS))), expected)
    union.save(tmp_path / "u.qed")
    assert np.allclose(_dense(qed.load(tmp_path / "u.qed").transform(given(TEXTS))), expected)
    assert qed.verify(union, TEXTS).distance < 1e-12
    assert len(make_pipeline(union, LogisticRegression()).fit(given(TEXTS), [0, 1, 1, 0]).predict(given(TEXTS))) == 4


def test_d3_a_union_of_texts_and_a_table() -> None:
    lengths = FunctionTransformer(lambda texts: np.array([[len(one)] for one in texts]))
    made = FeatureUnion([("w", CountVectorizer()), ("n", lengths)]).fit_transform(TEXTS)
    assert _dense(made)[:, -1].tolist() == [11, 13, 11, 11]
    with pytest.raises(InvalidData, match="2D"):
        FeatureUnion([("w", CountVectorizer()), ("s", StandardScaler())]).fit(TEXTS)


@pytest.mark.parametrize("values", [["a", "a", "b", "c", "d", "d"], [1.0, 1.0, 2.0, 3.0, 4.0, 4.0]])
def test_d4_rare_categories_come_back_as_infrequent(values: list[Any]) -> None:
    column = np.array([[one] for one in values], dtype=object)
    own, other = OrdinalEncoder(min_frequency=2), sklearn.preprocessing.OrdinalEncoder(min_frequency=2)
    assert np.array_equal(
        own.inverse_transform(own.fit_transform(column)), other.inverse_transform(other.fit_transform(column))
    )


def test_d4_gaps_and_rare_categories_are_told_apart() -> None:
    column = np.array([[1.0], [1.0], [2.0], [np.nan], [3.0], [np.nan]])
    encoder = OrdinalEncoder(min_frequency=2)
    found = encoder.inverse_transform(encoder.fit_transform(column)).ravel().tolist()
    assert found[:3] == [1.0, 1.0, "infrequent_sklearn"]
    assert found[4] == "infrequent_sklearn"
    assert np.isnan(found[3])
    assert np.isnan(found[5])


def test_d5_a_bin_without_rows_moves_to_the_farthest_row() -> None:
    r = np.random.default_rng(0)
    for _ in range(100):
        x = r.normal(size=(int(r.integers(20, 100)), 1)) ** 3
        own = KBinsDiscretizer(3, strategy="kmeans", encode="ordinal").fit(x)
        other = sklearn.preprocessing.KBinsDiscretizer(3, strategy="kmeans", encode="ordinal").fit(x)
        assert np.allclose(own.bin_edges_[0], other.bin_edges_[0], rtol=1e-9)


def test_d5_weights_of_bins_are_repetitions() -> None:
    r = np.random.default_rng(1)
    for _ in range(30):
        x, times = r.normal(size=(40, 1)) ** 3, r.integers(0, 4, 40)
        weighted = KBinsDiscretizer(4, strategy="kmeans").fit(x, sample_weight=times)
        repeated = KBinsDiscretizer(4, strategy="kmeans").fit(np.repeat(x, times, axis=0))
        assert np.allclose(weighted.bin_edges_[0], repeated.bin_edges_[0], rtol=1e-12)
        qed.verify(weighted, x, sample_weight=times)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_d5_periodic_splines_of_a_constant_column_are_numbers(degree: int) -> None:
    options: dict[str, Any] = {"extrapolation": "periodic", "degree": degree}
    X, more = np.array([[2.0, 0.0], [2.0, 1.0]]), np.array([[2.0, 0.3], [5.0, 7.9]])
    own = SplineTransformer(**options).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn divides by the period of zero
        other = sklearn.preprocessing.SplineTransformer(**options).fit(X)
        for rows in (X, more):
            assert np.allclose(own.transform(rows), other.transform(rows))


@pytest.mark.parametrize(
    "curve", ["roc_curve", "precision_recall_curve", "det_curve", "confusion_matrix_at_thresholds"]
)
def test_d6_labels_one_and_two_need_a_positive_label(curve: str) -> None:
    own = getattr(metrics, curve)
    for labels in ([1, 2, 2, 1], [1.0, 2.0, 1.0, 2.0], [1, 3, 3, 1]):
        with pytest.raises(ValueError, match="pos_label is not specified"):
            own(labels, [0.1, 0.4, 0.35, 0.8])
    with pytest.raises(ValueError, match="multiclass"):
        own([1, 2, 3, 1], [0.1, 0.4, 0.35, 0.8])
    assert len(own([1, 2, 2, 1], [0.1, 0.4, 0.35, 0.8], pos_label=2)[0])
    assert len(own([-1, 1, 1, -1], [0.1, 0.4, 0.35, 0.8])[0])

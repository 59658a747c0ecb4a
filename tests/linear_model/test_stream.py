"""Rows that come in parts, go away again, or never fit into memory: always the same model."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import qed
from qed.data import ArraySource
from qed.linear_model import LinearRegression, Ridge

rng = np.random.default_rng(21)
X = rng.normal(size=(3000, 6)) + 10
Y = X @ rng.normal(size=(6, 2)) + rng.normal(size=(3000, 2))
y = Y[:, 0]
s = rng.integers(0, 3, 3000).astype(float)


def close(a, b, rtol=1e-11):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=rtol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=rtol)


@pytest.mark.parametrize(
    "model", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(3.0), Ridge([1.0, 2.0])]
)
def test_parts_are_the_whole(model):
    whole = qed.clone(model).fit(X, Y, s)
    parts = qed.clone(model)
    for rows in np.array_split(np.arange(3000), 7):
        parts.partial_fit(X[rows], Y[rows], s[rows])
    close(parts, whole)
    assert parts.certificate_.reached
    assert qed.verify(parts, X, Y, s).holds
    assert parts.certificate_.fingerprint.rows == np.count_nonzero(s)


def test_fit_then_partial_fit_continues():
    model = LinearRegression().fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    close(model, LinearRegression().fit(X, y))


def test_forgetting_is_never_having_learnt():
    model = LinearRegression().fit(X, y).forget(X[:500], y[:500])
    close(model, LinearRegression().fit(X[500:], y[500:]))
    assert qed.verify(model, X[500:], y[500:]).holds
    assert model.moments_.rows == 2500


def test_forgetting_what_was_not_learnt_is_refused():
    model = LinearRegression().fit(X[:10], y[:10])
    with pytest.raises(qed.ForgetError, match="only 10 were learnt"):
        model.forget(X[:20], y[:20])
    with pytest.raises(qed.ForgetError, match="all the rows"):
        LinearRegression().fit(X[:10], y[:10]).forget(X[:10], y[:10])
    with pytest.raises(qed.NotFitted):
        LinearRegression().forget(X, y)


def test_forgetting_the_row_that_dwarfed_all_others_is_refused():
    giant = np.full((1, 6), 1e12)
    model = LinearRegression().fit(np.vstack([X, giant]), np.append(y, 0.0))
    before = model.coef_.copy()
    with pytest.raises(qed.ForgetError, match="Refit"):
        model.forget(giant, [0.0])
    np.testing.assert_array_equal(model.coef_, before)  # a refusal changes nothing


def test_more_targets_or_columns_than_learnt_are_refused():
    model = LinearRegression().fit(X, y)
    with pytest.raises(qed.InvalidData, match="y has 2 targets"):
        model.partial_fit(X, Y)
    with pytest.raises(qed.InvalidData, match="expecting 6 features"):
        model.partial_fit(X[:, :3], y)


def test_a_wide_fit_says_why_it_cannot_go_on():
    model = Ridge().fit(rng.normal(size=(20, 100)), rng.normal(size=20))
    with pytest.raises(qed.InvalidData, match="Learn by partial_fit from the start"):
        model.partial_fit(rng.normal(size=(5, 100)), rng.normal(size=5))


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sales")
    for k, rows in enumerate(np.array_split(np.arange(3000), 3)):
        columns = {f"x{j}": X[rows, j] for j in range(6)}
        pq.write_table(
            pa.table({**columns, "price": y[rows], "weight": s[rows]}), folder / f"part{k}.parquet", row_group_size=300
        )
    return str(folder / "*.parquet")


def test_from_files(parquet):
    source = qed.scan(parquet, target="price", weight="weight")
    model = LinearRegression().fit(source)
    close(model, LinearRegression().fit(X, y, s))
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(6)]
    assert qed.verify(model, source).holds
    with pytest.raises(qed.InvalidData, match="together with y"):
        LinearRegression().fit(source, y)
    with pytest.raises(qed.InvalidData, match="needs a target"):
        LinearRegression().fit(qed.scan(parquet, features=["x0"]))


def test_from_files_that_are_ill_conditioned(tmp_path):
    A = X.copy()
    A[:, 5] = A[:, 0] + 1e-9 * rng.normal(size=3000)
    names = [f"x{j}" for j in range(6)]
    pq.write_table(pa.table({**dict(zip(names, A.T, strict=True)), "t": y}), tmp_path / "a.parquet", row_group_size=512)
    source = qed.scan(str(tmp_path / "a.parquet"), target="t")
    model = LinearRegression().fit(source)
    assert model.solver_used_ == "qr"
    table = pd.DataFrame(A, columns=names)
    np.testing.assert_allclose(model.predict(table), LinearRegression().fit(A, y).predict(A), rtol=1e-6)


def test_the_executor_decides_where_and_never_what():
    source = ArraySource(X, Y, s, chunk_rows=256)
    reference = LinearRegression().fit(source).coef_
    for where in (1, 2, 5):
        with qed.executor(where):
            np.testing.assert_array_equal(LinearRegression().fit(source).coef_, reference)


def test_a_callback_stops_the_fold_and_the_model_speaks_of_the_rows_it_saw():
    source = ArraySource(X, Y, s, chunk_rows=500)
    with qed.listen(lambda event: qed.STOP if event.kind == "step" and event.step >= 1000 else None):
        model = LinearRegression().fit(source)
    assert model.certificate_.outcome == "stopped"
    close(model, LinearRegression().fit(X[:1000], Y[:1000], s[:1000]))
    assert qed.verify(model, X[:1000], Y[:1000], s[:1000]).holds


def test_ctrl_c_keeps_the_rows_so_far():
    source = ArraySource(X, Y, s, chunk_rows=500)

    def interrupt(event):
        if event.kind == "step" and event.step >= 1000:
            raise KeyboardInterrupt

    model = LinearRegression()
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(source)
    assert model.certificate_.outcome == "interrupted"
    assert model.certificate_.fingerprint.rows in (np.count_nonzero(s[:1000]), np.count_nonzero(s[:500]))


def test_partial_fit_honours_what_fit_honours(capsys):
    LinearRegression(verbose=1).partial_fit(X, y)
    assert "LinearRegression" in capsys.readouterr().err
    with pytest.raises(qed.InvalidParameter, match="n_jobs"):
        LinearRegression(n_jobs=0).partial_fit(X, y)
    with pytest.raises(qed.InvalidParameter, match="alpha"):
        Ridge(-1.0).partial_fit(ArraySource(X, Y, None))


@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget"])
def test_nothing_beside_a_source_is_ignored(method):
    model = Ridge().fit(X, Y)
    source = ArraySource(X[:10], Y[:10], None)
    with pytest.raises(qed.InvalidData, match="together with y"):
        getattr(model, method)(source, Y[:10])
    with pytest.raises(qed.InvalidData, match="together with y"):
        getattr(model, method)(source, sample_weight=s[:10])
    with pytest.raises(qed.InvalidData, match="names none"):
        getattr(model, method)(ArraySource(X[:10], None, None))


@pytest.mark.parametrize("target", [None, "price"])
def test_predictions_for_files_are_those_for_arrays(parquet, target):
    model = LinearRegression().fit(qed.scan(parquet, target="price", weight="weight"))
    features = [f"x{j}" for j in range(6)]
    predicted = model.predict(qed.scan(parquet, features=features, target=target))
    np.testing.assert_array_equal(predicted, model.predict(pd.DataFrame(X, columns=features)))
    with pytest.raises(qed.InvalidData, match="same order"):
        model.predict(qed.scan(parquet, features=features[::-1]))
    with pytest.raises(qed.NotFitted):
        LinearRegression().predict(qed.scan(parquet, features=features))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_for_chunks_are_those_for_the_whole(dtype):
    model = Ridge().fit(X, Y)
    rows = X.astype(dtype)
    predicted = model.predict(ArraySource(rows, chunk_rows=257))
    assert predicted.dtype == dtype
    np.testing.assert_array_equal(predicted, model.predict(rows))
    sparse = sp.csr_array(rows)
    np.testing.assert_array_equal(model.predict(ArraySource(sparse, chunk_rows=257)), model.predict(sparse))
    with pytest.raises(qed.InvalidData, match="expecting 6 features"):
        model.predict(ArraySource(rows[:, :3]))
    rows[1234, 2] = np.nan
    with pytest.raises(qed.InvalidData, match="row 1234, column 2"):  # of the whole table
        model.predict(ArraySource(rows, chunk_rows=257))


def test_predicting_from_files_holds_the_predictions_and_a_few_chunks(tmp_path):
    rows = np.zeros((200_000, 40))
    names = [f"x{j}" for j in range(40)]
    pq.write_table(pa.table(dict(zip(names, rows.T, strict=True))), tmp_path / "a.parquet", row_group_size=10_000)
    model = Ridge().fit(pd.DataFrame(rng.normal(size=(50, 40)), columns=names), rng.normal(size=50))
    source = qed.scan(str(tmp_path / "a.parquet"), batch_rows=5_000)
    model.predict(source)  # what is loaded and cached once
    tracemalloc.start()
    predicted = model.predict(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    chunk = 5_000 * 40 * 8
    assert peak < predicted.nbytes + 6 * chunk < rows.nbytes / 4, peak


def test_more_rows_from_a_source_have_the_columns_of_the_first(parquet):
    features = [f"x{j}" for j in range(6)]
    model = LinearRegression().partial_fit(pd.DataFrame(X, columns=features), y)
    before = model.certificate_
    for method in (model.partial_fit, model.forget):
        with pytest.raises(qed.InvalidData, match="same order"):
            method(qed.scan(parquet, features=features[::-1], target="price"))
        with pytest.raises(qed.InvalidData, match="now missing"):
            method(qed.scan(parquet, features=features[:3], target="price"))
    assert model.certificate_ is before
    model.partial_fit(qed.scan(parquet, features=features, target="price"))
    assert model.moments_.rows == 6000
    assert list(model.feature_names_in_) == features


@pytest.mark.parametrize("source", [False, True])
def test_products_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch, source):
    model = Ridge().partial_fit(X, y)
    before = model.certificate_
    monkeypatch.setenv("QED_MEMORY_LIMIT", "2000")
    rows = (ArraySource(X, y[:, None]),) if source else (X, y)
    for method in (model.partial_fit, model.forget, Ridge().partial_fit):
        with pytest.raises(qed.MemoryLimit, match="7 x 7 matrix of products"):
            method(*rows)
    assert model.certificate_ is before


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_squares_that_vanish_are_refused_before_anything_is_merged(make):
    faint = X[:50].copy()
    faint[:, 2] *= 1e-170
    for model in (LinearRegression(), LinearRegression().partial_fit(X, y), Ridge().partial_fit(X, y)):
        before = dict(vars(model))
        with pytest.raises(qed.InvalidData, match="underflow float64: column 2 of X lies between"):
            model.partial_fit(make(faint), y[:50])
        assert "moments_" not in vars(model) or vars(model) == before
    with pytest.raises(qed.InvalidData, match="underflow float64: target 0"):
        LinearRegression().partial_fit(X[:50], y[:50] * 1e-170)


def test_squares_that_vanish_between_parts_are_refused_too():
    model = LinearRegression().partial_fit([[0.0, 1.0], [0.0, 2.0]], [1.0, 2.0])
    model.partial_fit([[0.0, 3.0]], [1.0])  # a column of zeros is constant, and stays so
    with pytest.raises(qed.InvalidData, match="underflow float64: column 0"):
        model.partial_fit([[1e-170, 3.0]], [1.0])
    assert model.moments_.rows == 3
    model = LinearRegression().partial_fit([[1e-170], [1e-170], [1e-170]], [1.0, 2.0, 3.0])
    model.partial_fit([[1e-170]], [5.0])
    assert model.coef_ == [0.0]


def test_squares_that_overflow_together_are_refused():
    model = LinearRegression().partial_fit([[0.5e150], [-0.5e150]], [1.0, 2.0])
    with pytest.raises(qed.InvalidData, match="overflow float64: the one of column 0"):
        model.partial_fit(ArraySource(np.array([[0.3e150], [-0.3e150]]), np.ones((2, 1)), np.full(2, 5.0)))
    assert model.moments_.rows == 2

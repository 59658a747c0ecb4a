"""Rows that come in parts, go away again, or never fit into memory: always the same model."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    with pytest.raises(qed.Forgetting, match="only 10 were learnt"):
        model.forget(X[:20], y[:20])
    with pytest.raises(qed.Forgetting, match="all the rows"):
        LinearRegression().fit(X[:10], y[:10]).forget(X[:10], y[:10])
    with pytest.raises(qed.NotFitted):
        LinearRegression().forget(X, y)


def test_forgetting_the_row_that_dwarfed_all_others_is_refused():
    giant = np.full((1, 6), 1e12)
    model = LinearRegression().fit(np.vstack([X, giant]), np.append(y, 0.0))
    before = model.coef_.copy()
    with pytest.raises(qed.Forgetting, match="Refit"):
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

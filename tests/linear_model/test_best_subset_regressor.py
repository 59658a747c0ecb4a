"""The best subset as a model: all subsets as reference, its bound, its proof."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

import qed
from qed.core import CertificateError, ToleranceNotReached
from qed.linear_model import BestSubsetRegressor, LinearRegression

rng = np.random.default_rng(8)
N, P = 40, 9
X = rng.normal(size=(N, P)) @ (np.eye(P) + 0.5) + 2.0
Y = X[:, [1, 4, 6]] @ [1.0, -1.0, 0.5] + rng.normal(size=N) + 3.0
S = rng.integers(0, 3, size=N).astype(float)


def cost(columns, s, price, *, intercept=True):
    if not columns:
        rest = Y - np.average(Y, weights=s) if intercept else Y
        return float(s @ rest**2)
    model = LinearRegression(fit_intercept=intercept).fit(X[:, columns], Y, s)
    return float(s @ (Y - model.predict(X[:, columns])) ** 2) + price * len(columns)


@pytest.mark.covers("LIN-27")
@pytest.mark.parametrize(("size", "price"), [(0, 0.0), (2, 0.0), (4, 3.0), (None, 6.0)])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_subset_is_better(size, price, intercept):
    model = BestSubsetRegressor(size, penalty=price, fit_intercept=intercept).fit(X, Y, S)
    limit = P if size is None else size
    every = {
        c: cost(list(c), S, price, intercept=intercept) for k in range(limit + 1) for c in combinations(range(P), k)
    }
    best = min(every, key=every.get)
    assert model.columns_.tolist() == list(best)
    assert model.certificate_.objective == pytest.approx(every[best], rel=1e-9)
    assert model.certificate_.outcome == "solved"
    assert model.certificate_.reached
    assert qed.verify(model, X, Y, S).holds
    if best:
        inside = LinearRegression(fit_intercept=intercept).fit(X[:, list(best)], Y, S)
        np.testing.assert_allclose(model.coef_[list(best)], inside.coef_, rtol=1e-7)


def test_a_search_that_stops_early_says_how_far_it_may_be():
    wide = rng.normal(size=(60, 25)) @ (np.eye(25) + 0.3)
    y = wide @ rng.normal(size=25) + 3 * rng.normal(size=60)
    full = BestSubsetRegressor(6, max_nodes=200_000).fit(wide, y)
    early = BestSubsetRegressor(6, max_nodes=10).fit(wide, y)
    assert early.certificate_.outcome == "max_nodes"
    assert not early.certificate_.reached
    assert early.certificate_.objective - early.certificate_.gap <= full.certificate_.objective + 1e-9
    assert qed.verify(early, wide, y).holds


def test_many_columns_are_not_searched_and_bounded_by_their_coherence():
    n, p = 400, 120
    wide = np.linalg.qr(rng.normal(size=(n, p)))[0] * 3.0 + 1e-3 * rng.normal(size=(n, p))
    y = 5 * wide[:, 7] - 4 * wide[:, 99] + 0.1 * rng.normal(size=n)
    model = BestSubsetRegressor(2, fit_intercept=False).fit(wide, y)
    proof = model.certificate_
    assert model.columns_.tolist() == [7, 99]
    assert (proof.nodes, proof.outcome) == (0, "not searched")
    together = float(np.sum((y - wide @ np.linalg.lstsq(wide, y, rcond=None)[0]) ** 2))
    assert proof.gap < 0.9 * (
        proof.objective - together
    )  # nearly orthogonal columns prove more than all of them together
    assert qed.verify(model, wide, y).holds


def test_sparse_float32_and_repetition():
    table = np.where(rng.random((N, P)) < 0.5, X, 0.0)
    dense = BestSubsetRegressor(3).fit(table, Y, S)
    sparse = BestSubsetRegressor(3).fit(scipy.sparse.csr_array(table), Y, S)
    times = S.astype(int)
    repeated = BestSubsetRegressor(3).fit(np.repeat(table, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
    np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-9)
    half = BestSubsetRegressor(3).fit(X.astype(np.float32), Y)
    assert half.predict(X.astype(np.float32)).dtype == np.float32
    twice = np.column_stack([X, X])  # dependent columns explain nothing more
    assert BestSubsetRegressor(3).fit(twice, Y).certificate_.objective == pytest.approx(
        BestSubsetRegressor(3).fit(X, Y).certificate_.objective
    )


@pytest.mark.parametrize("n", [6, 20])
def test_empty_repeated_and_too_many_columns_are_searched_rightly(n):
    for _ in range(4):
        table = rng.normal(size=(n, 11)) * 10.0 ** rng.uniform(-3, 3, size=11)
        table[:, 2] = 0.0
        table[:, 5] = 3 * table[:, 1]
        table[:, 8] = table[:, 1] - 2 * table[:, 3]
        y = table @ (rng.normal(size=11) / np.abs(table).max(axis=0).clip(1e-9)) + 0.1 * rng.normal(size=n)
        rows, target = table - table.mean(axis=0), y - y.mean()
        unit = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
        rows = rows / unit

        def left(columns, rows=rows, target=target):
            part = rows[:, columns]
            return float(np.sum((target - part @ np.linalg.lstsq(part, target, rcond=1e-12)[0]) ** 2))

        best = min(left(list(columns)) for columns in combinations(range(11), 4))
        model = BestSubsetRegressor(4).fit(table, y)
        assert model.certificate_.objective == pytest.approx(best, rel=1e-6, abs=1e-12)
        assert qed.verify(model, table, y).holds


def test_changed_models_are_refused():
    def fitted(**options):
        return BestSubsetRegressor(3, **options).fit(X, Y)

    model = fitted()
    model.coef_ = 1.01 * model.coef_
    with pytest.raises(CertificateError, match="objective"):
        qed.verify(model, X, Y)
    worse = fitted()
    columns = [0, 2, 3]
    inside = LinearRegression().fit(X[:, columns], Y)
    worse.coef_ = np.zeros(P)
    worse.coef_[columns] = inside.coef_
    worse.columns_, worse.intercept_ = np.array(columns), inside.intercept_
    numbers = {name: getattr(worse.certificate_, name) for name in worse.certificate_.__dataclass_fields__}
    numbers["objective"] = cost(columns, np.ones(N), 0.0)
    worse.certificate_ = type(worse.certificate_)(**numbers)
    with pytest.raises(CertificateError, match="a subset may lower it"):
        qed.verify(worse, X, Y)
    model = fitted()
    model.size = 2
    with pytest.raises(CertificateError, match="3 columns have coefficients, and 2 are allowed"):
        qed.verify(model, X, Y)
    with pytest.raises(CertificateError, match="not the data"):
        qed.verify(fitted(), X + 1e-3, Y)


def test_a_search_can_be_stopped_interrupted_and_strict():
    wide = rng.normal(size=(60, 30)) @ (np.eye(30) + 0.3)
    y = wide @ rng.normal(size=30) + 3 * rng.normal(size=60)
    with qed.listen(lambda event: qed.STOP if event.kind == "step" and event.step >= 2 else None):
        stopped = BestSubsetRegressor(8).fit(wide, y)
    assert stopped.certificate_.outcome == "stopped"
    assert qed.verify(stopped, wide, y).holds

    def interrupt(event):
        if event.kind == "step":
            raise KeyboardInterrupt

    model = BestSubsetRegressor(8)
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(wide, y)
    assert model.certificate_.outcome == "interrupted"
    assert qed.verify(model, wide, y).holds
    with pytest.raises(ToleranceNotReached, match="The model so far is stored"):
        BestSubsetRegressor(8, max_nodes=3, strict=True).fit(wide, y)

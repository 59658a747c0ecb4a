"""Kernels of coordinate descent, and the columns they work on, against plain NumPy."""

import numpy as np
import pytest
import scipy.sparse
from tests.native.layouts import laid_out
from tests.native.test_dense import close
from tests.reference import kernels as twins

rng = np.random.default_rng(11)
A = rng.standard_normal((50, 90)) / 7
TARGET = A[:, :6] @ rng.standard_normal(6) + 0.1 * rng.standard_normal(50)
Q, LINEAR, CONSTANT = A.T @ A, A.T @ TARGET, 0.5 * float(TARGET @ TARGET)
GOAL = (1e-12, 5000)


def kinks(high, ridge=0.0, size=90, *, nonnegative=False):
    high = np.full(size, high)
    return (np.full(size, -np.inf) if nonnegative else -high), high, ridge


@pytest.mark.parametrize(
    "shape", [(0, 3, 1), (5, 0, 1), (1, 1, 0), (7, 13, 2), (130, 51, 5), (1300, 40, 8), (60, 4500, 3)], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
def test_column_sums(native, dtype, layout, shape, weighted):
    n, p, m = shape
    X = laid_out(rng.standard_normal((n, p)).astype(dtype), layout)
    U, shift, s = rng.standard_normal((n, m)), rng.standard_normal(p), rng.random(n) if weighted else None
    cross, squares = native.column_sums(X, U, s, shift)
    close(cross, twins.rmatmul(X - shift, U), scale=max(1, n) ** 0.5)
    close(squares, (np.ones(n) if s is None else s) @ (X.astype(np.float64) - shift) ** 2)


def test_taken_columns(native, dtype, layout):
    X = laid_out(rng.standard_normal((140, 30)).astype(dtype), layout)
    index, scale, shift = np.array([3, 29, 0, 3]), rng.random(140), rng.standard_normal(30)
    taken = native.take_columns(X, index, scale, shift)
    assert taken.flags.f_contiguous
    close(taken, (X.astype(np.float64) - shift)[:, index] * scale[:, None])
    close(native.take_columns(X, index, None, None), X.astype(np.float64)[:, index])
    with pytest.raises(ValueError, match="columns of X"):
        native.take_columns(X, np.array([30]), None, None)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_taken_sparse_columns(native, dtype, by_columns, index_type):
    table = scipy.sparse.random_array((60, 40), density=0.2, rng=np.random.default_rng(3), dtype=dtype)
    X = table.tocsc() if by_columns else table.tocsr()
    index, scale = np.array([5, 39, 0]), rng.random(60)
    arrays = (X.indptr.astype(index_type), X.indices.astype(index_type), X.data)
    starts, rows, values = native.csr_take_columns(arrays, X.shape, by_columns, index, scale)
    got = scipy.sparse.csc_array((values, rows, starts), shape=(60, 3)).toarray()
    close(got, table.toarray().astype(np.float64)[:, index] * scale[:, None])


@pytest.mark.parametrize(
    "penalty",
    [kinks(0.02), kinks(0.02, 0.1), kinks(0.02, nonnegative=True), kinks(0.3)],
    ids=["l1", "net", "nonnegative", "strong"],
)
def test_every_way_down_ends_at_the_same_place(native, penalty):
    want = twins.coordinate_descent(Q, LINEAR, penalty)
    w, gradient, sweeps, gap = native.descend_gram((Q, LINEAR, CONSTANT), penalty, GOAL, np.zeros(90))
    np.testing.assert_allclose(w, want, atol=1e-6)
    np.testing.assert_allclose(gradient, Q @ w - LINEAR, atol=1e-12)
    assert gap <= 1e-12
    assert sweeps >= 0
    dense = native.descend_columns(np.asfortranarray(A), penalty, GOAL, np.zeros(90), -TARGET)
    np.testing.assert_allclose(dense[0], want, atol=1e-6)
    np.testing.assert_allclose(dense[1], A @ dense[0] - TARGET, atol=1e-12)
    sparse = scipy.sparse.csc_array(A)
    columns = (sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data)
    nothing = (np.zeros(90), np.full(50, 50**-0.5))
    again = native.descend_sparse_columns(columns, nothing, penalty, GOAL, np.zeros(90), -TARGET)
    np.testing.assert_allclose(again[0], want, atol=1e-6)
    problem = ((Q, LINEAR, CONSTANT), penalty, GOAL, (np.zeros(90), None))
    both = native.descend_grams([(*problem, native.FaceFactor()) for _ in range(2)])
    np.testing.assert_array_equal(both[0][0], both[1][0])
    np.testing.assert_allclose(both[0][0], w, atol=1e-6)
    several = native.descend_targets(
        (Q, np.column_stack([LINEAR, LINEAR]), 2 * CONSTANT), penalty, GOAL, np.zeros((90, 2))
    )
    np.testing.assert_allclose(several[0], np.column_stack([want, want]), atol=1e-5)


@pytest.mark.parametrize(("rows", "counted", "old", "fresh"), [(1, 1, 0, 1), (300, 257, 0, 5), (1100, 1030, 66, 4)])
def test_products_of_fresh_columns_and_residuals_of_folds(native, rows, counted, old, fresh):
    count = old + fresh
    folds, models = [], []
    for place in (2, 0):
        columns = native.room(count + 3, rows)
        columns[:] = rng.standard_normal((count + 3, rows))
        weighted = np.asfortranarray((rng.random(counted)[:, None] * columns.T[:counted])[:, old:count])
        products = native.room(count + 1, count + 1)
        products[:] = 7.0
        folds.append((columns.T[:, :count], weighted, products))
        w = np.where(rng.random(count) < 0.3, 0.0, rng.standard_normal(count))
        models.append((columns.T[:, :count], w, rng.standard_normal(rows), rng.permutation(rows), place))
    native.extend_products(folds)
    for columns, weighted, products in folds:
        want = columns[:counted].T @ weighted
        np.testing.assert_allclose(products[:count, old:count], want, atol=1e-11)
        np.testing.assert_array_equal(products[old:count, :old], products[:old, old:count].T)
        assert np.all(products[:old, :old] == 7.0)
        assert np.all(products[count:] == 7.0)
    out = np.full((rows, 3), 5.0)
    native.fold_residuals(models, out)
    for columns, w, target, order, place in models:
        np.testing.assert_allclose(out[order, place], target - columns @ w, atol=1e-11)
    assert np.all(out[:, 1] == 5.0)
    with pytest.raises(ValueError, match="no such row"):
        native.fold_residuals([(*models[0][:3], models[0][3] + 1, 0)], out)


def test_compressed_columns_are_centred_on_the_way(native):
    table = np.where(rng.random((50, 90)) < 0.2, A, 0.0)
    root = np.sqrt(rng.random(50))
    root /= np.linalg.norm(root)
    centre = root**2 @ table
    centred = root[:, None] * (table - centre)
    target = root * (TARGET - root**2 @ TARGET)
    sparse = scipy.sparse.csc_array(root[:, None] * table)
    columns = (sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data)
    got = native.descend_sparse_columns(columns, (centre, root), kinks(1e-3), GOAL, np.zeros(90), -target)
    want = twins.coordinate_descent(centred.T @ centred, centred.T @ target, kinks(1e-3))
    np.testing.assert_allclose(got[0], want, atol=1e-5)
    np.testing.assert_allclose(got[1], centred @ got[0] - target, atol=1e-12)


def test_rows_by_their_lengths(native):
    targets = np.column_stack([TARGET, TARGET[::-1], A[:, 0]])
    linear = A.T @ targets
    for ridge in (0.0, 0.05):
        w, gradient, _, gap = native.descend_rows(
            (Q, linear, 0.5 * float((targets**2).sum())), (np.full(90, 0.05), ridge), GOAL, np.zeros((90, 3))
        )
        assert gap <= 1e-12
        pull = -(gradient + ridge * w)
        length = np.linalg.norm(w, axis=1)
        used = length > 0
        np.testing.assert_allclose(pull[used], 0.05 * w[used] / length[used, None], atol=1e-6)
        assert np.all(np.linalg.norm(pull, axis=1) <= 0.05 + 1e-6)


def test_dependent_and_empty_columns(native):
    B = np.column_stack([A[:, :5], A[:, :5], np.zeros((50, 2))])
    gram = B.T @ B
    w, _, _, gap = native.descend_gram((gram, B.T @ TARGET, CONSTANT), kinks(0.01, size=12), GOAL, np.zeros(12))
    assert gap <= 1e-12
    assert np.all(w[10:] == 0)
    alone = native.descend_gram(
        (Q[:5, :5].copy(), LINEAR[:5].copy(), CONSTANT), kinks(0.01, size=5), GOAL, np.zeros(5)
    )[0]
    np.testing.assert_allclose(w[:5] + w[5:10], alone, atol=1e-6)


def test_no_penalty_is_least_squares(native):
    gram, linear = Q[:20, :20].copy(), LINEAR[:20].copy()
    w = native.descend_gram((gram, linear, CONSTANT), kinks(0.0, size=20), (1e-13, 5000), np.zeros(20))[0]
    np.testing.assert_allclose(w, np.linalg.solve(gram, linear), atol=1e-9)


def test_shapes_are_checked(native):
    with pytest.raises(ValueError, match="low"):
        native.descend_gram((Q, LINEAR, CONSTANT), kinks(0.1, size=3), GOAL, np.zeros(90))
    with pytest.raises(ValueError, match="column after column"):
        native.descend_columns(np.ascontiguousarray(A), kinks(0.1), GOAL, np.zeros(90), TARGET)


def slow_minimum(loss, table, y, c, penalty, *, intercept):
    """Proximal gradient with momentum that starts anew uphill: slow, and nothing is shared with what is tested."""
    n, p = table.shape
    low, high, ridge = penalty
    A = np.hstack([table, np.ones((n, 1))]) if intercept else table
    low, high = (np.append(one, 0.0) if intercept else one for one in (low, high))
    ridges = np.full(A.shape[1], ridge)
    ridges[p:] = 0.0
    slopes = {
        "logistic": lambda t: -y / (1 + np.exp(y * t)),
        "squared_hinge": lambda t: -y * np.maximum(1 - y * t, 0.0),
        "tube": lambda t: np.sign(t - y) * np.maximum(np.abs(t - y) - 0.3, 0.0),
    }
    step = 1.0 / (np.linalg.norm(A * np.sqrt(c)[:, None], 2) ** 2 + ridge)
    z = ahead = np.zeros(A.shape[1])
    momentum = 1.0
    for _ in range(60_000):
        v = ahead - step * (A.T @ (c * slopes[loss](A @ ahead)) + ridges * ahead)
        new = np.maximum(v - step * high, 0.0) + np.minimum(v - step * low, 0.0)
        uphill = (ahead - new) @ (new - z) > 0
        longer = 1.0 if uphill else 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        moved = np.abs(new - z).max()
        ahead, z, momentum = new + (0.0 if uphill else (momentum - 1) / longer) * (new - z), new, longer
        if moved < 1e-13:
            break
    return z


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "tube"])
def test_curved_losses_end_where_small_steps_do(native, loss, ridge, intercept):
    random = np.random.default_rng(4)
    X = np.where(random.random((60, 25)) < 0.4, random.normal(size=(60, 25)), 0.0)
    score = X[:, :4] @ np.array([2.0, -1.0, 1.0, 0.5]) + 0.5 * random.normal(size=60)
    y = score if loss == "tube" else np.where(score > 0, 1.0, -1.0)
    c = random.random(60) + 0.5
    c /= c.sum()
    penalty = kinks(0.02, ridge, 25)
    want = slow_minimum(loss, X, y, c, penalty, intercept=intercept)
    free = np.full(60, np.inf)
    rows = (y, -free, free, 1.0, 0.3) if loss == "tube" else y
    centre = X.mean(axis=0) if intercept else None
    given = (loss, rows, c, X, centre, penalty, intercept, (1e-11, 200), (np.zeros(25), 0.0))
    w, b, t, slope, gradient, _, gap, _, _ = native.descend_narrow(*given)
    np.testing.assert_allclose(w, want[:25], atol=1e-5)
    assert gap <= 1e-11
    middle = 0.0 if centre is None else centre @ w
    if intercept:
        assert b - middle == pytest.approx(want[25], abs=1e-5)
    np.testing.assert_allclose(t, X @ w + b - middle, atol=1e-12)
    np.testing.assert_allclose(gradient, (X - (0.0 if centre is None else centre)).T @ (c * slope), atol=1e-13)
    if loss == "tube":
        return
    columns = scipy.sparse.csc_array(X)
    arrays = (columns.indptr, columns.indices, columns.data)
    goal = (1e-11, 10_000, 1e9)
    found = native.descend_curved(loss, (y, c), arrays, penalty, intercept, goal, (np.zeros(25), 0.0), np.zeros(6))
    np.testing.assert_allclose(found[0], want[:25], atol=1e-5)
    np.testing.assert_allclose(found[2], X @ found[0] + found[1], atol=1e-12)
    if intercept:
        assert found[1] == pytest.approx(want[25], abs=1e-5)


def test_curved_descents_have_the_same_bits_on_any_number_of_threads(native):
    random = np.random.default_rng(5)
    table = scipy.sparse.random_array((9000, 700), density=0.02, rng=random, format="csc")
    y = np.where(table @ random.normal(size=700) + random.normal(size=9000) > 0, 1.0, -1.0)
    c, penalty = np.full(9000, 1 / 9000), kinks(4e-4, 0.0, 700)
    arrays = (table.indptr, table.indices, table.data)
    dense = np.ascontiguousarray(table[:, :60].toarray())
    results = []
    for threads in (1, 2, 3):
        native.set_num_threads(threads)
        goal = (1e-9, 1000, 1e9)
        sparse = native.descend_curved(
            "logistic", (y, c), arrays, penalty, True, goal, (np.zeros(700), 0.0), np.zeros(6)
        )
        part = tuple(one[:60] for one in penalty[:2])
        narrow = native.descend_narrow(
            "squared_hinge", y, c, dense, None, (*part, 0.0), True, (1e-9, 100), (np.zeros(60), 0.0)
        )
        results.append((sparse, narrow))
    assert 0 < np.count_nonzero(results[0][0][0]) < 700
    for sparse, narrow in results[1:]:
        np.testing.assert_array_equal(sparse[0], results[0][0][0])
        np.testing.assert_array_equal(narrow[0], results[0][1][0])

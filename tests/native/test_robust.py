"""The kernels of robust models against plain NumPy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qed import _native


def scale_by_bisection(r, c, knee):
    if np.isinf(knee):
        return np.sqrt(c @ r**2)
    low, high = 0.0, np.sqrt(c @ r**2)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle > 0 and c @ np.minimum((r / middle) ** 2, knee**2) > 1:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("guess", [0.0, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("knee", [1.2, 1.35, 3.0, np.inf])
@pytest.mark.parametrize("n", [1, 7, 64, 1001])
def test_scale_and_spread(n, knee, guess):
    rng = np.random.default_rng(n)
    r, c = rng.standard_t(2, n), rng.random(n) + 0.1
    c /= c.sum()
    scale, spread = _native.scaled_spread(r, c, knee, guess)
    expected = scale_by_bisection(r, c, knee)
    assert scale == pytest.approx(expected, rel=1e-7, abs=1e-12)
    inner = np.minimum(np.abs(r), knee * scale)
    outer = knee * (np.abs(r) - inner) if np.isfinite(knee) else 0 * inner
    near = inner**2 / (2 * scale) if scale > 0 else 0 * inner
    assert spread == pytest.approx(scale / 2 + c @ (near + outer), rel=1e-12)


def test_no_residuals_have_no_scale():
    assert _native.scaled_spread(np.zeros(5), np.full(5, 0.2), 1.35, 1.0) == (0.0, 0.0)
    r = np.array([0.0, 0.0, 0.0, 0.0, 3.0])  # four rows in five are met: nothing is left to measure the last one by
    scale, spread = _native.scaled_spread(r, np.full(5, 0.2), 1.35, 0.0)
    assert scale == 0.0
    assert spread == pytest.approx(1.35 * 0.2 * 3.0)


def ascend(X, y, c, alpha, passes, *, sparse):
    """Run a hinge without intercept."""
    n, p = X.shape
    loss = (y, np.minimum(-y, 0.0), np.maximum(-y, 0.0), 0.0, 0.0)
    rows = (c, np.einsum("ij,ij->i", X, X), np.zeros(n), 0.0, alpha, 0.0)
    u, w, order, numbers = np.zeros(n), np.zeros(p), np.arange(n), np.zeros(7)
    numbers[4] = np.inf
    if sparse:
        S = csr_array(X)
        given = ((S.indptr, S.indices, S.data), S.shape)
        active, _ = _native.csr_dual_ascent(*given, False, loss, rows, u, w, order, n, numbers, 3, passes)
    else:
        active, _ = _native.dual_ascent(X, False, loss, rows, u, w, order, n, numbers, 3, passes)
    return u, w, order, active


@pytest.mark.parametrize("sparse", [False, True])
def test_dual_ascent_climbs_and_keeps_its_coefficients(sparse):
    rng = np.random.default_rng(0)
    X, c, alpha = rng.standard_normal((50, 3)), np.full(50, 0.02), 0.1
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(50) > 0, 1.0, -1.0)
    before = -np.inf
    for passes in (1, 2, 4, 8, 64):
        u, w, order, active = ascend(X, y, c, alpha, passes, sparse=sparse)
        np.testing.assert_allclose(w, -X.T @ (c * u) / alpha, atol=1e-12)
        assert np.all((-y * u >= 0) & (-y * u <= 1))
        np.testing.assert_array_equal(np.sort(order), np.arange(50))
        assert 0 <= active <= 50
        dual = -c @ (u * y) - 0.5 * alpha * w @ w
        assert dual >= before - 1e-12
        before = dual
    primal = c @ np.maximum(1 - y * (X @ w), 0) + 0.5 * alpha * w @ w
    assert primal - before <= 1e-6


def test_an_order_that_leaves_the_rows_is_refused():
    X = np.ones((3, 2))
    loss = (np.ones(3), -np.ones(3), np.zeros(3), 0.0, 0.0)
    rows = (np.full(3, 1 / 3), np.full(3, 2.0), np.zeros(3), 0.0, 1.0, 0.0)
    state = (np.zeros(3), np.zeros(2), np.array([0, 1, 9]))
    with pytest.raises(ValueError, match="order"):
        _native.dual_ascent(X, False, loss, rows, *state, 3, np.zeros(7), 1, 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_class_ascent_climbs_and_each_step_is_that_of_its_twin(sparse):
    rng = np.random.default_rng(0)
    n, p, k, alpha = 40, 3, 4, 0.05
    X, c = rng.standard_normal((n, p)), np.full(n, 1 / n)
    X[5] = 0.0  # an empty row pulls nothing
    y = (np.argmax(X @ rng.standard_normal((p, k)), axis=1)).astype(float)
    squares = np.einsum("ij,ij->i", X, X)
    S = csr_array(X)
    before = -np.inf
    for passes in (1, 3, 10, 5000):
        u, w, order, numbers = np.zeros((n, k)), np.zeros((k, p)), np.arange(n), np.array([np.inf, 0.0, 0.0])
        rest = ((y, c, squares, alpha), u, w, order, n, numbers, 3, passes)
        if sparse:
            _native.csr_class_ascent((S.indptr, S.indices, S.data), S.shape, *rest)
        else:
            _native.class_ascent(X, *rest)
        labels = np.eye(k)[y.astype(int)]
        np.testing.assert_allclose(w, -(X.T @ (c[:, None] * u)).T / alpha, atol=1e-12)
        np.testing.assert_allclose(u.sum(axis=1), 0.0, atol=1e-12)
        assert np.all(u + labels >= 0)
        dual = -c @ (u * labels).sum(axis=1) - 0.5 * alpha * np.sum(w**2)
        assert dual >= before - 1e-12
        before = dual
    t = X @ w.T
    primal = c @ (np.max(t + 1 - labels, axis=1) - (t * labels).sum(axis=1)) + 0.5 * alpha * np.sum(w**2)
    assert primal - before <= 1e-6
    u, w, numbers = np.zeros((1, k)), rng.standard_normal((k, p)), np.array([np.inf, 0.0, 0.0])
    ahead = w @ X[0] + (np.arange(k) != y[0])
    wanted = to_simplex((np.arange(k) == y[0]) + ahead * alpha / squares[0])
    _native.class_ascent(X[:1], (y[:1], np.ones(1), squares[:1], alpha), u, w, np.arange(1), 1, numbers, 3, 1)
    np.testing.assert_allclose(u[0] + (np.arange(k) == y[0]), wanted, atol=1e-12)
    with pytest.raises(ValueError, match="numbers of classes"):
        _native.class_ascent(
            X[:1], (np.array([9.0]), np.ones(1), squares[:1], alpha), u, w, np.arange(1), 1, numbers, 3, 1
        )


def to_simplex(v):
    """The nearest row of probabilities, by sorting."""
    high = np.sort(v)[::-1]
    level = (np.cumsum(high) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - level[np.flatnonzero(high > level)[-1]], 0.0)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("shape", [(3, 1), (40, 3), (131, 7)], ids=str)
def test_a_path_ends_where_its_conditions_hold(shape, copies):
    n, p = shape
    rng = np.random.default_rng(n)
    X, y, ridge, edge = rng.normal(size=(n, p)), rng.normal(size=n), 0.3, 0.2
    table = np.hstack([X, np.ones((n, 1))])
    length = n * copies + p
    # absolute errors, beyond a tube where there are two kinks a row; the first p coefficients have a kink too
    weight = np.append(np.full(n * copies, 1 / n), np.full(p, 1 / p))
    kink = np.append(y if copies == 1 else np.append(y - edge, y + edge), np.zeros(p))
    low = np.append(-np.ones(n) if copies == 1 else np.append(-np.ones(n), np.zeros(n)), np.full(p, -0.05))
    high = np.append(np.ones(n) if copies == 1 else np.append(np.zeros(n), np.ones(n)), np.full(p, 0.05))
    curvature = np.append(np.full(p, ridge), 0.0)
    w, above, below, u = np.zeros(p + 1), np.ones(length), np.ones(length), 0.5 * (low + high)
    columns = (curvature, np.zeros(p + 1), np.ones(p + 1))
    given = (table, copies, np.arange(p), (weight, kink, low, high), columns, True, 1.0)
    distance, steps, is_over = _native.follow_path(*given, (1e-10, 100), (w, above, below, u))
    assert distance <= 1e-10
    assert 0 < steps < 60
    assert not is_over
    scores = np.append(np.tile(table @ w, copies), w[:p])
    np.testing.assert_allclose(above - below, scores - kink, atol=1e-6)
    assert np.all((u >= low) & (u <= high))
    rows = (weight * u)[: n * copies].reshape(copies, n).sum(axis=0)
    slopes = table.T @ rows + curvature * w + np.append((weight * u)[n * copies :], 0.0)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-9)
    np.testing.assert_allclose((above * (high - u) + below * (u - low)) * weight, 0.0, atol=1e-9)

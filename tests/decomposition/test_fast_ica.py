"""Independent components: planted sources, white rows, the equations, agreement with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition as theirs

import qed
from qed import _native
from qed.core import InvalidData, InvalidParameter
from qed.decomposition import FastICA, fastica

rng = np.random.default_rng(3)
SOURCES = np.column_stack([rng.uniform(-1, 1, (4000, 2)), rng.laplace(size=(4000, 1))])
MIXING = np.array([[1.0, 0.4, -0.2], [0.3, 1.0, 0.5], [-0.6, 0.2, 1.0]])
X = SOURCES @ MIXING + 3


def likeness(a, b):
    """Return the correlation of each column of a with the one of b that is most like it."""
    return np.abs(np.corrcoef(a.T, b.T)[: a.shape[1], a.shape[1] :]).max(axis=1)


@pytest.mark.covers("DIM-21")
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_mixed_sources_are_recovered_up_to_order_sign_and_scale(algorithm, fun):
    model = FastICA(algorithm=algorithm, fun=fun, random_state=0)
    found = model.fit_transform(X)
    assert likeness(SOURCES, found).min() > 0.99
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(3), atol=1e-9)
    white = (X - X.mean(axis=0)) @ model.whitening_.T
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(found), X, atol=1e-9)
    assert model.certificate_.reached
    assert qed.verify(model, X).holds
    if algorithm == "parallel":  # one by one, what is found depends on what was found first
        other = theirs.FastICA(fun=fun, random_state=0, tol=1e-10, max_iter=1000).fit_transform(X)
        ours = FastICA(fun=fun, random_state=0, tol=1e-12, max_iter=1000).fit_transform(X)
        assert likeness(ours, other).min() > 1 - 1e-8


def test_fewer_sources_other_variances_and_rows_that_are_white_already():
    model = FastICA(2, whiten="arbitrary-variance", random_state=0).fit(X)
    np.testing.assert_allclose(np.var(model.transform(X), axis=0), 1 / 4000, rtol=1e-9)
    assert qed.verify(model, X).holds
    white = (X - X.mean(axis=0)) @ FastICA(random_state=1).fit(X).whitening_.T
    plain = FastICA(whiten=False, random_state=0).fit(white)
    np.testing.assert_allclose(plain.components_ @ plain.components_.T, np.eye(3), atol=1e-12)
    assert likeness(SOURCES, plain.transform(white)).min() > 0.99
    assert not hasattr(plain, "mean_")
    assert qed.verify(plain, white).holds
    with pytest.warns(UserWarning, match="n_components"):
        FastICA(2, whiten=False, random_state=0).fit(white)


def test_a_contrast_may_be_a_function():
    def cubes(x):
        return x**3, (3 * x**2).mean(axis=-1)

    one, other = FastICA(fun=cubes, random_state=0).fit(X), FastICA(fun="cube", random_state=0).fit(X)
    assert likeness(one.transform(X), other.transform(X)).min() > 1 - 1e-9
    assert qed.verify(one, X).holds


def test_the_function_returns_what_the_model_found():
    K, W, S, mean, steps = fastica(X, random_state=0, return_X_mean=True, return_n_iter=True)
    np.testing.assert_allclose(S, (X - mean) @ (W @ K).T, atol=1e-9)
    assert steps >= 1
    assert fastica(X, random_state=0, compute_sources=False)[2] is None


def test_changed_sources_are_refused():
    model = FastICA(random_state=0).fit(X)
    kept = model.components_
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(0.05), -np.sin(0.05)], [np.sin(0.05), np.cos(0.05)]]
    for changed in (turn @ kept, kept[[1, 0, 2]], -kept, 1.001 * kept):
        model.components_, model.mixing_ = changed, np.linalg.pinv(changed)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidData, match="variance"):
        FastICA().fit(np.ones((5, 2)))
    with pytest.raises(InvalidParameter, match="alpha"):
        FastICA(fun_args={"alpha": 3}).fit(X)
    with pytest.raises(InvalidParameter, match="w_init"):
        FastICA(w_init=np.eye(2)).fit(X)
    with pytest.raises(InvalidParameter, match="fun"):
        FastICA(fun=lambda x: (x, x[:, :1])).fit(X)
    with pytest.raises(InvalidData, match="sources"):
        FastICA(random_state=0).fit(X).inverse_transform(np.ones((2, 5)))
    assert len(FastICA(random_state=0).fit(np.column_stack([X, X[:, 0]])).components_) == 3


@pytest.mark.parametrize("name", ["logcosh", "exp", "cube"])
def test_moments_are_those_of_the_definition_on_any_number_of_threads(name):
    from qed.core import _threads  # noqa: PLC0415

    Z, W, before = rng.standard_normal((5003, 19)), rng.standard_normal((7, 19)) / 4, _threads.get_num_threads()
    y = Z @ W.T
    slope, curve, value = {
        "logcosh": (np.tanh(1.5 * y), 1.5 / np.cosh(1.5 * y) ** 2, np.log(np.cosh(1.5 * y)) / 1.5),
        "exp": (y * np.exp(-(y**2) / 2), (1 - y**2) * np.exp(-(y**2) / 2), -np.exp(-(y**2) / 2)),
        "cube": (y**3, 3 * y**2, y**4 / 4),
    }[name]
    found = []
    try:
        for threads in (1, 2, 3, 8, 64):
            _threads.set_num_threads(threads)
            found.append(_native.contrast_pass(Z, W, name, 1.5))
    finally:
        _threads.set_num_threads(before)
    for one, expected in zip(found[0], (slope.T @ Z, curve.sum(axis=0), value.sum(axis=0)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-8)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)

"""Partial least squares and canonical correlations: definitions, scikit-learn, and what cannot be done."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import qed
from qed.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression

KINDS = (PLSRegression, PLSCanonical, CCA, PLSSVD)
SHAPES = ((60, 5, 1, 1), (60, 6, 3, 2), (200, 10, 5, 4), (15, 30, 3, 2))


def tables(n: int, p: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5 * rng.normal(size=p)
    return X, 0.3 * X @ rng.normal(size=(p, m)) + rng.normal(size=(n, m))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [True, False])
def test_agrees_with_scikit_learn_at_rest(kind: type, shape: tuple[int, ...], scale: bool) -> None:
    """Its power method, run until it stands still, ends at the same weights with the same signs."""
    theirs = pytest.importorskip("sklearn.cross_decomposition")
    n, p, m, k = shape
    if kind is CCA and n < p + m:
        pytest.skip("every direction is perfectly correlated, and the pairs are arbitrary")
    X, Y = tables(n, p, m)
    rest = {} if kind is PLSSVD else {"tol": 1e-22, "max_iter": 100_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = getattr(theirs, kind.__name__)(k, scale=scale, **rest).fit(X, Y)
    model = kind(k, scale=scale).fit(X, Y)
    assert model.certificate_.reached
    for name in (
        "x_weights_",
        "y_weights_",
        "x_loadings_",
        "y_loadings_",
        "x_rotations_",
        "y_rotations_",
        "coef_",
        "intercept_",
    ):
        if hasattr(other, name):
            expected = getattr(other, name)
            np.testing.assert_allclose(getattr(model, name), expected, atol=1e-7 * np.abs(expected).max(), err_msg=name)
    for own, expected in zip(model.transform(X, Y), other.transform(X, Y), strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-7 * np.abs(expected).max())
    qed.verify(model, X, Y)


def test_canonical_correlations_are_those_of_the_definition() -> None:
    """The squares are eigenvalues of Sxx^-1 Sxy Syy^-1 Syx, and scores have them as correlations."""
    X, Y = tables(300, 6, 4)
    model = CCA(4).fit(X, Y)
    S = np.cov(np.hstack([X, Y]).T)
    inside = np.linalg.solve(S[:6, :6], S[:6, 6:]) @ np.linalg.solve(S[6:, 6:], S[6:, :6])
    expected = np.sqrt(np.sort(np.linalg.eigvals(inside).real)[::-1][:4])
    np.testing.assert_allclose(model.correlations_, expected, atol=1e-10)
    T, U = model.transform(X, Y)
    together = np.corrcoef(np.hstack([T, U]).T)
    np.testing.assert_allclose(together[:4, 4:], np.diag(expected), atol=1e-9)
    np.testing.assert_allclose(together[:4, :4], np.eye(4), atol=1e-9)


def test_covariances_of_scores_are_the_singular_values() -> None:
    """The scores of PLSSVD covary by the singular values of the covariance of both tables, and not across pairs."""
    X, Y = tables(100, 5, 3)
    model = PLSSVD(3, scale=False).fit(X, Y)
    T, U = model.transform(X, Y)
    np.testing.assert_allclose(T.T @ U / 99, np.diag(model.covariances_), atol=1e-10 * model.covariances_[0])
    S = np.cov(np.hstack([X, Y]).T)[:5, 5:]
    np.testing.assert_allclose(model.covariances_, np.linalg.svd(S, compute_uv=False), rtol=1e-10)


def test_all_components_are_least_squares() -> None:
    """With as many directions as columns, partial least squares is ordinary least squares."""
    X, Y = tables(80, 5, 2)
    model = PLSRegression(5).fit(X, Y)
    A = np.column_stack([np.ones(80), X])
    np.testing.assert_allclose(model.predict(X), A @ np.linalg.lstsq(A, Y, rcond=None)[0], atol=1e-9)


def test_rank_one_tables_have_one_pair() -> None:
    """What is left of both tables after the only direction is rounding: the second pair is zero."""
    t = np.linspace(-1, 1, 30)
    X, Y = np.outer(t, [1.0, 2.0, -1.0]), np.outer(t, [3.0, 1.0])
    for kind in KINDS:
        model = kind(2).fit(X, Y)
        assert not model.x_weights_[:, 1].any() or kind is PLSSVD
        qed.verify(model, X, Y)
        if kind is not PLSSVD:
            for back, given in zip(model.inverse_transform(*model.transform(X, Y)), (X, Y), strict=True):
                np.testing.assert_allclose(back, given, atol=1e-12)
    np.testing.assert_allclose(PLSRegression(2).fit(X, Y).predict(X), Y, atol=1e-12)


def test_a_constant_target_is_predicted_by_its_mean() -> None:
    """Nothing varies with a constant."""
    X, _ = tables(20, 3, 1)
    model = PLSRegression(2).fit(X, np.full(20, 7.0))
    np.testing.assert_array_equal(model.predict(X), np.full(20, 7.0))
    qed.verify(model, X, np.full(20, 7.0))


def test_predictions_have_the_shape_of_the_target() -> None:
    """A list of numbers in, a list of numbers out; one column stays a column."""
    X, Y = tables(20, 3, 1)
    assert PLSRegression(1).fit(X, Y[:, 0]).predict(X).shape == (20,)
    assert PLSRegression(1).fit(X, Y).predict(X).shape == (20, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_components(kind: type) -> None:
    """More pairs than the tables have."""
    X, Y = tables(20, 3, 2)
    with pytest.raises(ValueError, match="upper bound is"):
        kind(4).fit(X, Y)


def test_other_targets_are_refused() -> None:
    """As many as were learnt."""
    X, Y = tables(20, 3, 2)
    for kind in KINDS:
        with pytest.raises(ValueError, match="targets"):
            kind(1).fit(X, Y).transform(X, Y[:, :1])


@pytest.mark.parametrize("kind", KINDS)
def test_changed_models_are_refused(kind: type) -> None:
    """Another number anywhere that a prediction depends on."""
    X, Y = tables(40, 5, 3)
    for name in ("x_weights_", "y_weights_", "x_rotations_", "x_loadings_", "coef_", "x_std_"):
        model = kind(2).fit(X, Y)
        if hasattr(model, name):
            getattr(model, name).flat[1] *= 1 + 1e-5
            with pytest.raises(qed.CertificateError):
                qed.verify(model, X, Y)

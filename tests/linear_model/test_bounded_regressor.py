"""Losses that stop growing: weights that give the same fit, a minimum that nothing near is below, honesty about the rest."""

import numpy as np
import pytest
import scipy.sparse

import qed
from qed.convex import Bounded, Squared
from qed.core import CertificateError, InvalidParameter, ToleranceNotReached
from qed.linear_model import BoundedRegressor, HuberRegressor, LinearRegression

rng = np.random.default_rng(6)
N = 80
X = rng.normal(size=(N, 3)) + 1.0
TRUE = np.array([1.0, -2.0, 0.5])
Y = X @ TRUE + 4.0 + 0.2 * rng.normal(size=N)
Y[:20] += rng.normal(15, 3, size=20)
S = rng.integers(0, 3, size=N).astype(float)
SHAPES = ["exponential", "rational", "truncated"]


def objective(model, w, b, s=None):
    s = np.ones(N) if s is None else s
    loss = Bounded(Squared(Y), model.shape, 0.5 * model.threshold_**2)
    return float(s @ loss.value(X @ w + b) / s.sum())


@pytest.mark.covers("FND-20")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_with_the_implied_weights_is_the_same_fit(shape, intercept):
    model = BoundedRegressor(shape, fit_intercept=intercept).fit(X, Y, S)
    again = LinearRegression(fit_intercept=intercept).fit(X, Y, S * model.weights_)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-5)
    np.testing.assert_allclose(again.intercept_, model.intercept_, atol=1e-5)
    loss = Bounded(Squared(Y), shape, 0.5 * model.threshold_**2)
    np.testing.assert_allclose(model.weights_, loss.weights(model.predict(X)), atol=1e-9)
    assert model.certificate_.objective == pytest.approx(objective(model, model.coef_, model.intercept_, S))
    assert model.certificate_.reached
    assert qed.verify(model, X, Y, S).holds


@pytest.mark.parametrize("shape", SHAPES)
def test_outliers_do_not_count_and_the_truth_is_found(shape):
    model = BoundedRegressor(shape).fit(X, Y)
    np.testing.assert_allclose(model.coef_, TRUE, atol=0.1)
    assert model.weights_[:20].max() < 0.05
    assert np.median(model.weights_[20:]) > 0.5
    assert np.abs(LinearRegression().fit(X, Y).intercept_ - 4.0) > np.abs(model.intercept_ - 4.0)
    assert np.abs(HuberRegressor().fit(X, Y).intercept_ - 4.0) > np.abs(model.intercept_ - 4.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_within_the_radius_is_lower(shape):
    model = BoundedRegressor(shape).fit(X, Y)
    proof = model.certificate_
    assert proof.radius > 0
    here = objective(model, model.coef_, model.intercept_)
    for _ in range(300):
        d = rng.normal(size=4)
        d *= proof.radius * rng.uniform(0, 1) / np.abs(X @ d[:3] + d[3]).max()
        assert objective(model, model.coef_ + d[:3], model.intercept_ + d[3]) >= here - proof.gap


def test_the_third_derivatives_are_bounded_as_the_proof_says():
    z = np.linspace(0, 8, 200_001)
    assert np.abs((4 * z**3 - 6 * z) * np.exp(-(z**2))).max() <= 2.0
    assert np.abs(12 * z * (z**2 - 1) / (1 + z**2) ** 4).max() <= 2.34
    loss = {shape: Bounded(Squared(np.zeros(z.size)), shape, 0.5) for shape in ("exponential", "rational")}
    h = 1e-5
    for shape, third in (
        ("exponential", (4 * z**3 - 6 * z) * np.exp(-(z**2))),
        ("rational", 12 * z * (z**2 - 1) / (1 + z**2) ** 4),
    ):
        numeric = (loss[shape].curvature(z + h) - loss[shape].curvature(z - h)) / (2 * h)
        np.testing.assert_allclose(numeric, third, atol=1e-6)


def test_a_wide_threshold_is_least_squares_and_units_do_not_matter():
    wide = BoundedRegressor("rational", threshold=1e6).fit(X, Y)
    np.testing.assert_allclose(wide.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-6)
    one, other = BoundedRegressor().fit(X, Y), BoundedRegressor().fit(X, 1e4 * Y)
    np.testing.assert_allclose(other.coef_, 1e4 * one.coef_, rtol=1e-5)
    assert other.threshold_ == pytest.approx(1e4 * one.threshold_, rel=1e-6)


def test_sparse_rows_repetition_and_exact_fits():
    table = np.where(rng.random((N, 3)) < 0.6, X, 0.0)
    dense = BoundedRegressor().fit(table, Y, S)
    sparse = BoundedRegressor().fit(scipy.sparse.csr_array(table), Y, S)
    times = S.astype(int)
    repeated = BoundedRegressor().fit(np.repeat(table, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-6)
    assert dense.weights_.shape == (N,)
    exact = BoundedRegressor().fit(X, X @ TRUE + 1.0)
    np.testing.assert_allclose(exact.coef_, TRUE, atol=1e-7)
    wide = rng.normal(size=(20, 40))
    assert qed.verify(BoundedRegressor("rational").fit(wide, wide[:, 0]), wide, wide[:, 0]).holds


def test_refusals():
    with pytest.raises(InvalidParameter, match=r"BoundedRegressor.shape must be"):
        BoundedRegressor("flat").fit(X, Y)
    with pytest.raises(ToleranceNotReached, match="The model so far is stored"):
        BoundedRegressor(max_iter=1, tol=0.0, strict=True, threshold=3.0).fit(X, Y)


@pytest.mark.parametrize("shape", SHAPES)
def test_changed_models_are_refused(shape):
    def fitted():
        return BoundedRegressor(shape).fit(X, Y)

    model = fitted()
    model.coef_ = 1.001 * model.coef_
    with pytest.raises(CertificateError):
        qed.verify(model, X, Y)
    model = fitted()
    model.weights_ = np.where(np.arange(N) == 30, 0.2, model.weights_)
    with pytest.raises(CertificateError, match="weights_"):
        qed.verify(model, X, Y)
    model = fitted()
    numbers = {name: getattr(model.certificate_, name) for name in model.certificate_.__dataclass_fields__}
    model.certificate_ = type(model.certificate_)(**{**numbers, "radius": 2 * numbers["radius"]})
    with pytest.raises(CertificateError, match="need not be convex"):
        qed.verify(model, X, Y)
    model = fitted()
    shifted = model.intercept_ + 0.01
    value = objective(model, model.coef_, shifted)
    model.intercept_ = shifted
    loss = Bounded(Squared(Y), shape, 0.5 * model.threshold_**2)
    model.weights_ = loss.weights(model.predict(X))
    model.certificate_ = type(model.certificate_)(**{**numbers, "objective": value, "radius": 0.0})
    with pytest.raises(CertificateError, match=r"nearby it may be lower|it is curved by"):
        qed.verify(model, X, Y)


@pytest.mark.parametrize("after", [1, 12, 40])
def test_ctrl_c_leaves_a_model_with_a_true_certificate(after):
    heard = []

    def interrupt(event):
        if event.kind == "step":
            heard.append(event)
            if len(heard) == after:
                raise KeyboardInterrupt

    model = BoundedRegressor()
    with qed.listen(interrupt):
        try:
            model.fit(X, Y)
        except KeyboardInterrupt:
            assert model.certificate_.outcome == "interrupted"
        else:
            assert len(heard) < after
    assert qed.verify(model, X, Y).holds

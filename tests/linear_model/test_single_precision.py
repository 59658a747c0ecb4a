"""Coefficients of float32 rows are float32 numbers, certified as they are stored; where that costs the tolerance, they are not."""

import numpy as np
import pytest
from scipy import sparse

import qed
from qed.data import ArraySource
from qed.linear_model import (
    ElasticNet,
    GroupLasso,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLasso,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)

MODELS = {
    "least squares": LinearRegression(),
    "ridge": Ridge(0.5),
    "ridge of products": Ridge(0.5, solver="sparse_cg"),
    "ridge, folds": RidgeCV(),
    "lasso": Lasso(0.05),
    "elastic net": ElasticNet(0.05),
    "lasso, folds": LassoCV(cv=3),
    "several targets": MultiTaskLasso(0.05),
    "logistic": LogisticRegression(C=0.7),
    "sparse logistic": LogisticRegression(C=0.7, l1_ratio=1.0),
    "penalised intercept": LogisticRegression(C=0.7, solver="liblinear"),
    "logistic, folds": LogisticRegressionCV(Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False),
    "ridge classifier": RidgeClassifier(),
    "counts": PoissonRegressor(alpha=0.1),
    "median": QuantileRegressor(alpha=0.01),
}
SHAPES = {"tall": (200, 7), "wide": (25, 60), "far from zero": (200, 7)}


def rows(shape, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=SHAPES[shape]) + (500.0 if shape == "far from zero" else 0.0)
    score = (X - X.mean(axis=0)) @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
    return X.astype(np.float32), score + 0.3 * rng.normal(size=len(X))


def target(name, y):
    if name in ("logistic", "sparse logistic", "logistic, folds", "ridge classifier"):
        return np.digitize(y, [-0.5, 0.5])
    if name == "penalised intercept":
        return y > 0
    if name == "several targets":
        return np.column_stack([y, np.sin(3 * y)])
    return np.round(np.exp(y)) if name == "counts" else y


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_float32_rows_give_float32_coefficients_and_a_proof_at_them(name, shape, tmp_path):
    X, y = rows(shape)
    goal = target(name, y)
    model = qed.clone(MODELS[name]).fit(X, goal)
    assert model.coef_.dtype == np.float32
    assert model.certificate_.reached
    assert qed.verify(model, X, goal).holds
    double = qed.clone(MODELS[name]).fit(X.astype(np.float64), goal)
    assert double.coef_.dtype == np.float64
    model.save(tmp_path / "model.qed")
    again = qed.load(tmp_path / "model.qed")
    assert again.coef_.dtype == np.float32
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_gap_bounds_what_rounding_costs(alpha, shape):
    X, y = rows(shape, seed=3)
    model = (Ridge(alpha) if alpha else LinearRegression()).fit(X, y)
    wide, kept = X.astype(np.float64), model.coef_.astype(np.float64)
    centred, goal = wide - wide.mean(axis=0), y - y.mean()
    best = np.linalg.lstsq(
        np.vstack([centred, np.sqrt(alpha) * np.eye(X.shape[1])]), np.append(goal, np.zeros(X.shape[1])), rcond=None
    )[0]

    def objective(w, b):
        return np.sum((y - wide @ w - b) ** 2) + alpha * w @ w

    excess = objective(kept, model.intercept_) - objective(best, y.mean() - wide.mean(axis=0) @ best)
    rounding = 1e-12 * np.sum(goal**2)  # of the two sums that are compared here, and of lstsq
    assert excess <= model.certificate_.gap + rounding
    assert model.certificate_.gap <= model.certificate_.tol * model.certificate_.null_objective


def test_digits_are_kept_where_rounding_would_cost_the_tolerance():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[:, 1] = X[:, 0] * (1 + np.float32(1e-6) * rng.normal(size=300).astype(np.float32))
    y = 3e5 * (X[:, 0].astype(float) - X[:, 1]) + rng.normal(size=300)
    model = LinearRegression(tol=1e-12).fit(X, y)
    assert np.abs(model.coef_).max() > 1e4
    assert model.coef_.dtype == np.float64
    assert model.certificate_.reached
    assert qed.verify(model, X, y).holds
    tiny = LinearRegression().fit(X * np.float32(1e-30), y * 1e20)  # coefficients beyond the range of float32
    assert tiny.coef_.dtype == np.float64


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.5), Lasso(0.05), LogisticRegression()])
def test_sparse_rows_and_sources_do_the_same(model):
    X, y = rows("tall")
    goal = y > 0 if isinstance(model, LogisticRegression) else y
    some = sparse.csr_array(X * (np.abs(X) > 0.5))
    found = qed.clone(model).fit(some, goal)
    assert found.coef_.dtype == np.float32
    assert qed.verify(found, some, goal).holds
    source = ArraySource(X, goal.astype(np.float64).reshape(-1, 1), chunk_rows=64)
    assert qed.clone(model).fit(source).coef_.dtype == np.float32


@pytest.mark.parametrize("seed", range(40))
def test_rounded_groups_are_accepted(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 4)).astype(np.float32)
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(40)
    s = 10 ** rng.uniform(-7, 7, 40)
    model = GroupLasso(alpha=0.1, groups=[0, 0, 1, 1]).fit(X, y, s)
    assert qed.verify(model, X, y, s).holds


ONLINE = {
    "hinge": SGDClassifier(random_state=0),
    "hinge, several classes": SGDClassifier(random_state=0, penalty="elasticnet"),
    "log loss, mean": SGDClassifier("log_loss", random_state=0, average=True, class_weight="balanced"),
    "squares": SGDRegressor(random_state=0),
    "sparse Huber": SGDRegressor("huber", random_state=0, penalty="l1", alpha=0.01),
    "perceptron": Perceptron(),
    "perceptron, several classes": Perceptron(variant="averaged"),
}


def online_target(name, y):
    if name in ("squares", "sparse Huber"):
        return y
    return np.digitize(y, [-0.5, 0.5]) if "several" in name else y > 0


@pytest.mark.parametrize("shape", ["tall", "wide"])  # steps diverge far from zero
@pytest.mark.parametrize("name", ONLINE)
def test_online_learners_round_and_prove_what_they_store(name, shape, tmp_path):
    X, y = rows(shape, seed=5)
    goal, weight = online_target(name, y), np.random.default_rng(6).uniform(0.5, 2.0, len(y))
    for table in (X, sparse.csr_array(X * (np.abs(X) > 0.5))):
        model = qed.clone(ONLINE[name]).fit(table, goal, weight)
        assert model.coef_.dtype == np.float32
        assert qed.verify(model, table, goal, weight).holds
        model.save(tmp_path / "model.qed")
        again = qed.load(tmp_path / "model.qed")
        assert again.coef_.dtype == np.float32
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
        largest = np.unravel_index(np.abs(model.coef_).argmax(), model.coef_.shape)
        model.coef_[largest] *= np.float32(1.01)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, table, goal, weight)
    assert qed.clone(ONLINE[name]).fit(X.astype(np.float64), goal, weight).coef_.dtype == np.float64


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), SGDRegressor(random_state=0), Perceptron()])
def test_a_stream_of_float32_rows_does_the_same_and_goes_on_from_all_digits(model):
    X, y = rows("tall", seed=7)
    labels = {} if isinstance(model, SGDRegressor) else {"classes": [False, True]}
    goal = y > 0 if labels else y
    short, double = qed.clone(model), qed.clone(model)
    for part in (slice(0, 80), slice(80, 200)):
        short.partial_fit(X[part], goal[part], **labels)
        double.partial_fit(X[part].astype(np.float64), goal[part], **labels)
    assert short.coef_.dtype == np.float32
    np.testing.assert_array_equal(short.coef_, double.coef_.astype(np.float32))


def test_a_perceptron_keeps_the_digits_that_separate_its_rows():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, -1.0]], dtype=np.float32)
    y, weight = np.array([1, 1, 1, 0]), np.array([1.0 + 2.0**-26, 1.0, 1.0, 1.0])
    model = Perceptron(shuffle=False, fit_intercept=False).fit(X, y, weight)
    # rounded to float32, the third row would lie on the hyperplane
    np.testing.assert_array_equal(model.coef_, [[1.0 + 2.0**-26, 1.0]])
    assert (model.certificate_.margins > 0).all()
    assert qed.verify(model, X, y, weight).holds
    model = Perceptron(shuffle=False, fit_intercept=False).fit(X[[0, 1, 3]], y[[0, 1, 3]], weight[[0, 1, 3]])
    assert model.coef_.dtype == np.float32


def test_coefficients_beyond_the_range_of_float32_keep_their_digits():
    X, y = rows("tall")
    model = Perceptron(eta0=1e-40).fit(X, y > 0)
    assert model.coef_.dtype == np.float64
    assert qed.verify(model, X, y > 0).holds

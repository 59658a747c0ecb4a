"""What the checker accepts of explanations of more columns than have all their coalitions evaluated."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

import qed
from qed.compose import Pipeline
from qed.core import CertificateError, InvalidData
from qed.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.inspection import explain, shapley_values
from qed.linear_model import LinearRegression, Ridge
from qed.naive_bayes import GaussianNB
from qed.neighbors import KNeighborsRegressor
from qed.neural_network import MLPRegressor
from qed.preprocessing import StandardScaler
from qed.tree import DecisionTreeRegressor
from qed.verify import _explanations

P = 15


def table(n=120):
    random = np.random.default_rng(3)
    X = random.normal(size=(n, P))
    X[:, 4] = random.integers(0, 5, n)
    y = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 4] == 2) + 0.3 * X[:, 3:].sum(axis=1)
    return X, y


def models():
    X, y = table()
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    return [
        DecisionTreeRegressor().fit(gaps, y),
        RandomForestRegressor(4, random_state=0).fit(X, np.column_stack([y, -y])),
        RandomForestClassifier(4, random_state=0).fit(X, y > 0),
        GradientBoostingClassifier(n_estimators=4).fit(X, np.digitize(y, [-0.5, 0.7])),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, categorical_features=[4]).fit(gaps, y),
    ]


def moved(found, row=0, by=0.5):
    """The same with two contributions of a row changed, so that they still add up."""
    values = found.values.copy()
    values[row, 5] += by
    values[row, 9] -= by
    return dataclasses.replace(found, values=values)


def stated(found, **numbers):
    return dataclasses.replace(found, certificate=dataclasses.replace(found.certificate, **numbers))


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_trees_of_many_columns_against_a_background_are_computed_again(model):
    X, _ = table()
    background = X[40:70]
    found = shapley_values(model, X[:6], background=background)
    verdict = qed.verify(found, model, background)
    assert verdict.distance <= 1e-12
    assert "all 6 rows" in verdict.statement
    for row in range(6):
        with pytest.raises(CertificateError, match=f"row {row} "):
            qed.verify(moved(found, row, 1e-6), model, background)
    with pytest.raises(CertificateError, match="base value"):
        qed.verify(dataclasses.replace(found, base_value=found.base_value + 1e-6), model, background)
    with pytest.raises(CertificateError):
        qed.verify(found, model, X[41:71])


def sampled(n=3):
    X, y = table()
    model = KNeighborsRegressor().fit(X, y)
    return shapley_values(model, X[:n], background=X[:10], random_state=0), model, X[:10]


def test_a_sample_is_not_exact_whatever_it_is_called():
    found, model, background = sampled()
    assert qed.verify(found, model, background).holds
    none = dataclasses.replace(found, standard_errors=np.zeros_like(found.standard_errors))
    for method in ("permutations", "enumeration", "trees", "linear", "naive Bayes"):
        with pytest.raises(CertificateError):
            qed.verify(stated(none, standard_error=0.0, method=method), model, background)
    with pytest.raises(CertificateError, match="standard error"):
        qed.verify(stated(found, standard_error=0.0), model, background)


@pytest.mark.parametrize("factor", [1e-3, 0.02, 30.0, 1e6])
def test_standard_errors_agree_with_a_second_sample(factor, monkeypatch):
    monkeypatch.setattr(_explanations, "PREDICTIONS", 100_000)
    found, model, background = sampled(1)
    assert qed.verify(found, model, background).holds
    errors = found.standard_errors * factor
    changed = stated(dataclasses.replace(found, standard_errors=errors), standard_error=float(errors.max()))
    with pytest.raises(CertificateError, match="standard errors"):
        qed.verify(changed, model, background)
    with pytest.raises(CertificateError):
        qed.verify(moved(changed), model, background)


def test_samples_of_few_and_of_many_orders_are_verified():
    X, y = table()
    model = KNeighborsRegressor().fit(X, y)
    for most in (80, 6000):
        for seed in range(3):
            found = shapley_values(model, X[:1], background=X[:5], max_evals=most, random_state=seed)
            assert found.certificate.method == "permutations"
            assert qed.verify(found, model, X[:5]).holds


def test_an_exact_claim_for_too_many_coalitions_is_refused(monkeypatch):
    X, y = table()
    model = KNeighborsRegressor().fit(X[:, :13], y)
    found = shapley_values(model, X[:1, :13], background=X[:4, :13], max_evals=2**13)
    assert found.certificate.method == "enumeration"
    assert qed.verify(found, model, X[:4, :13]).holds
    with pytest.raises(CertificateError, match="row 0"):
        qed.verify(moved(found, by=1e-6), model, X[:4, :13])
    monkeypatch.setattr(_explanations, "PREDICTIONS", 10_000)
    with pytest.raises(CertificateError, match="claims to be exact"):
        qed.verify(found, model, X[:4, :13])


@pytest.mark.parametrize("kind", ["trees", "path", "linear", "naive Bayes", "permutations"])
def test_stated_rounding_and_residual_are_no_tolerance(kind):
    X, y = table()
    background = None if kind in ("path", "naive Bayes") else X[:10]
    model = {
        "linear": LinearRegression(),
        "naive Bayes": GaussianNB(),
        "permutations": KNeighborsRegressor(),
    }.get(kind, RandomForestRegressor(3, random_state=0))
    model.fit(X, y > 0 if kind == "naive Bayes" else y)
    found = shapley_values(model, X[:2], background=background, random_state=0)
    assert qed.verify(found, model, background).holds
    for numbers in ({"rounding": 1.0}, {"residual": 1.0}, {"rounding": 1.0, "residual": 1.0}):
        with pytest.raises(CertificateError):
            qed.verify(stated(found, **numbers), model, background)
        with pytest.raises(CertificateError):
            qed.verify(moved(stated(found, **numbers)), model, background)
    unequal = dataclasses.replace(found, values=found.values + 0.01)
    with pytest.raises(CertificateError):
        qed.verify(stated(unequal, residual=0.01 * P), model, background)


def test_every_row_is_computed_again_or_the_verdict_says_how_many(monkeypatch):
    X, y = table()
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    for background in (None, X[:5]):
        monkeypatch.undo()
        found = shapley_values(model, X[:100], background=background)
        assert "all 100 rows" in qed.verify(found, model, background).statement
        with pytest.raises(CertificateError, match="row 1 "):  # which 32 rows of 100, evenly, leave out
            qed.verify(moved(found, 1), model, background)
        monkeypatch.setattr(_explanations, "BUDGET", 1)
        assert "1 of 100 rows" in qed.verify(found, model, background).statement
        values = found.values.copy()
        values[50, 3] += 1e-6
        with pytest.raises(CertificateError, match="off prediction"):
            qed.verify(dataclasses.replace(found, values=values), model, background)


def test_predictions_of_naive_bayes_are_checked():
    X, y = table()
    model = GaussianNB().fit(X, y > 0)
    found = shapley_values(model, X[:5])
    for by in (1e-3, 1.0):
        changed = dataclasses.replace(found, predictions=found.predictions + by)
        with pytest.raises(CertificateError, match="predictions"):
            qed.verify(stated(changed, residual=by, rounding=found.certificate.rounding), model)
    with pytest.raises(CertificateError, match="base value"):
        qed.verify(dataclasses.replace(found, base_value=found.base_value + 0.1), model)


def test_single_precision_is_verified():
    X, y = table()
    single = X.astype(np.float32)
    for model in (LinearRegression(), RandomForestRegressor(3, random_state=0), KNeighborsRegressor()):
        model.fit(single, y)
        found = shapley_values(model, single[:3], background=single[:9], random_state=0)
        assert qed.verify(found, model, single[:9]).holds


def test_all_coalitions_in_single_precision_are_verified():
    X, y = table()
    single = X[:, :6].astype(np.float32)
    model = MLPRegressor(max_iter=20, random_state=0).fit(single, y)
    found = shapley_values(model, single[:2], background=single[:5])
    assert found.certificate.method == "enumeration"
    assert qed.verify(found, model, single[:5]).holds
    values = found.values.copy()
    values[0, :2] += [1e-4, -1e-4]
    with pytest.raises(CertificateError, match="row 0"):
        qed.verify(dataclasses.replace(found, values=values), model, single[:5])


def test_of_a_pipeline_the_last_step_is_verified():
    X, y = table()
    model = Pipeline([("scale", StandardScaler()), ("model", Ridge())]).fit(X, y)
    with pytest.raises(CertificateError, match="last step") as caught:
        qed.verify(explain(model, X[:3], background=X), model, X)
    assert isinstance(caught.value, InvalidData)
    prepared = model[:-1].transform(X)
    assert qed.verify(shapley_values(model[-1], prepared), model[-1]).holds


def test_checking_the_explanation_of_a_frame_warns_of_nothing():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["age", "income", "debt"])
    model = DecisionTreeRegressor(max_depth=3).fit(frame, frame["age"] * frame["debt"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert qed.verify(shapley_values(model, frame), model, frame).holds

"""Changed models that were once accepted, and honest ones that were once refused; the letters are those of the list of attacks."""

from __future__ import annotations

import itertools
import re
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.verify.attack_data import (
    X,
    coin,
    number,
    pipe,
    refused,
    three,
    through_file,
    weight,
)

import qed
from qed.certificates import CompositeCertificate, Uncertified
from qed.compose import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
    TransformedTargetRegressor,
)
from qed.core._records import public_name
from qed.discriminant_analysis import LinearDiscriminantAnalysis
from qed.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from qed.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrdinalRegressor,
    Perceptron,
    PowerRegressor,
    QuantileRegressor,
    RandomLinearClassifier,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    ThresholdClassifier,
    VotedPerceptron,
)
from qed.model_selection import (
    DummyClassifier,
    DummyRegressor,
    GridSearchCV,
    LookupClassifier,
)
from qed.naive_bayes import GaussianNB
from qed.preprocessing import StandardScaler
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor
from qed.verify._families import all_entries

# -- V1: the class decides what is checked ---------------------------------------------------------------------


def test_v1_a_certificate_of_another_kind_is_refused():
    model, other = LogisticRegression().fit(X, coin), DummyClassifier().fit(X, coin)
    model.coef_ = -model.coef_
    model.certificate_ = other.certificate_
    refused(model, X, coin, match="should be DualityGapCertificate")
    model.class_prior_ = other.class_prior_
    refused(model, X, coin, match="class_prior_ is held")


def test_v1_parts_of_a_model_without_parts_are_refused():
    model, scaler = Ridge().fit(X, number), StandardScaler().fit(X)
    model.coef_ *= -9
    model.steps_ = [("s", scaler)]
    model.certificate_ = CompositeCertificate({"s": scaler.certificate_})
    refused(model, X, number, match="steps_ is held")
    del model.steps_
    refused(model, X, number, match="should be LeastSquaresCertificate")


def test_v1_statistics_of_naive_bayes_do_not_verify_a_linear_model():
    model, other = LogisticRegression().fit(X, coin), GaussianNB().fit(X, coin)
    model.coef_ = -model.coef_
    for name in ("theta_", "var_", "class_prior_", "class_count_", "epsilon_", "moments_", "certificate_"):
        setattr(model, name, getattr(other, name))
    refused(model, X, coin)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, coin)
    tree.certificate_ = DummyClassifier().fit(X, coin).certificate_
    refused(tree, X, coin, match="should be TreeCertificate")


@pytest.mark.parametrize("certificate", [None, Uncertified("x"), 3, "claim"], ids=repr)
def test_v1_a_class_that_claims_must_carry_its_claim(certificate):
    model = Ridge().fit(X, number)
    model.certificate_ = certificate
    refused(model, X, number)
    del model.certificate_
    refused(model, X, number, match="certificate_ is missing")


def test_v1_a_missing_attribute_and_a_method_of_the_instance_are_refused():
    model = LassoCV(alphas=5, cv=3).fit(X, number)
    del model.alpha_
    refused(model, X, number, match="alpha_ is missing")
    model = Ridge().fit(X, number)
    model.predict = lambda rows: np.zeros(len(rows))
    refused(model, X, number, match="predict is held")


def test_v1_a_class_of_somebody_else_is_refused_in_words():
    class Mine(Ridge):
        """Predicts something else."""

        def predict(self, X):
            return np.zeros(len(X))

    refused(Mine().fit(X, number), X, number, match="does not know the class .*It derives from Ridge")


def test_v1_every_public_class_has_a_check_or_a_reason():
    public = {public_name(kind) for _, kind in qed.all_estimators()}
    known = all_entries()
    assert public == known.keys()
    for _, kind in qed.all_estimators():
        entry, hint = known[public_name(kind)], kind._results.get("certificate_")
        assert bool(entry.checks or entry.parts) != bool(entry.claims_nothing)
        if entry.claims_nothing or hint is None:
            assert hint is None or hint.written == "Uncertified"
            continue
        carried = {one.__name__ for one in entry.checks} | ({"CompositeCertificate"} if entry.parts else set())
        declared = set(hint.written.split(" | ")) - {"Uncertified"}
        assert declared == carried, kind


# -- V3: objectives come from declarations ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "target", "changes"),
    [
        (Ridge(1e6), number, {"alpha": 1.0, "alpha_": 1e6}),
        (Lasso(10.0), number, {"alpha": 0.1, "alpha_": 10.0}),
        (ElasticNet(0.1, l1_ratio=1.0), number, {"l1_ratio": 0.0, "l1_ratio_": 1.0}),
        (LogisticRegression(C=1e-6), coin, {"C": 1.0, "C_": 1e-6}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v3_injected_strengths_are_not_read(model, target, changes):
    model.fit(X, target)
    vars(model).update(changes)
    refused(model, X, target, match="is held")
    del vars(model)[next(name for name in changes if name.endswith("_"))]
    refused(model, X, target)


# -- V4: nothing infinite is small -----------------------------------------------------------------------------


def test_v4_overflowing_objectives_are_refused():
    model = OrdinalRegressor().fit(X, three)
    model.coef_ = np.full(4, 1e6)
    refused(model, X, three)
    model = OrdinalRegressor().fit(X, three)
    model.thresholds_[-1] = 1e5
    refused(model, X, three)
    for value in (np.inf, np.nan, 1e300):
        model = PowerRegressor(np.inf).fit(X, number)
        model.intercept_ = value
        refused(model, X, number)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=repr)
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (Ridge(), number),
        (Lasso(0.1), number),
        (QuantileRegressor(alpha=0.1), number),
        (LogisticRegression(), coin),
        (OrdinalRegressor(), three),
        (PowerRegressor(np.inf), number),
        (Perceptron(), coin),
        (DummyRegressor(), number),
        (GaussianNB(), coin),
        (LinearDiscriminantAnalysis(), three),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v4_no_number_that_is_not_finite_passes(model, target, value):
    model.fit(X, target)
    for name, stored in list(vars(model).items()):
        if name in ("coef_", "intercept_", "thresholds_", "constant_", "theta_", "var_", "means_", "scalings_"):
            changed = deepcopy(model)
            vars(changed)[name] = np.asarray(stored, dtype=float) * 0 + value if np.ndim(stored) else value
            refused(changed, X, target)
    fields = ("gap", "rounding", "objective", "null_objective", "radius", "log_likelihood")
    for name in fields:
        if hasattr(model.certificate_, name) and not (name in ("radius", "rounding") and np.isposinf(value)):
            changed = deepcopy(model)
            changed.certificate_ = replace(model.certificate_, **{name: value})
            refused(changed, X, target)


# -- V5: labels are those of the targets -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        RidgeClassifierCV(),
        RandomLinearClassifier(random_state=0),
        Perceptron(),
        VotedPerceptron(),
        LogisticRegression(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2),
        DummyClassifier(),
        ThresholdClassifier(),
        LookupClassifier(),
        SGDClassifier(),
        VotingClassifier([("a", LogisticRegression())]),
        StackingClassifier([("a", LogisticRegression())], LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_v5_renamed_labels_are_refused(model, tmp_path):
    model.fit(X, coin)
    assert qed.verify(model, X, coin).holds
    for labels in (["NEVER", "yes"], ["healthy", "sick"], ["nz", "zz"], ["yes", "no"], ["no"], ["no", "yes", "zz"]):
        changed = deepcopy(model)
        changed.classes_ = np.array(labels)
        refused(changed, X, coin)


# -- V6, V7, V8: what a certificate states is bounded ----------------------------------------------------------


def test_v6_an_infinite_radius_is_not_believed_where_directions_are_free():
    noise = np.random.default_rng(1)
    a, b = noise.normal(size=4096), noise.normal(size=4096)
    table = np.c_[a, a + b * 2.0**-40]
    target = (table[:, 1] - table[:, 0]) * 2.0**40
    model = LinearRegression(fit_intercept=False).fit(table, target)
    assert qed.verify(model, table, target).holds
    model.certificate_ = replace(model.certificate_, radius=np.inf, gap=1e-6, rounding=0.0)
    refused(model, table, target, match="is false")


@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-3])
def test_v6_a_radius_that_makes_the_claim_empty_is_refused(radius):
    model = LinearRegression().fit(X, number)
    model.coef_ *= -3
    model.intercept_ = float(number.mean() - X.mean(0) @ model.coef_)
    objective = float(((number - model.predict(X)) ** 2).sum())
    model.certificate_ = replace(model.certificate_, objective=objective, gap=1e-9, radius=radius)
    refused(model, X, number)
    convex = QuantileRegressor(alpha=0.0).fit(X, number)
    assert qed.verify(convex, X, number).holds
    convex.certificate_ = replace(convex.certificate_, radius=radius)
    refused(convex, X, number)


def test_v7_a_stated_rounding_is_not_believed_without_limit():
    scaler = StandardScaler().fit(X)
    scaler.mean_ += 0.1
    scaler.certificate_ = replace(scaler.certificate_, rounding=0.9)
    refused(scaler, X, match="rounding")
    dummy = DummyRegressor().fit(X, number)
    dummy.constant_ += 1e-3
    for rounding in (1e-3, 0.9, 1e9):
        dummy.certificate_ = replace(dummy.certificate_, rounding=rounding)
        refused(dummy, X, number)


def test_v8_a_fingerprint_of_nan_fits_no_data(tmp_path):
    for model, target in ((Ridge(), number), (Lasso(0.1), number), (LogisticRegression(), coin)):
        model.fit(X, target)
        seen = model.certificate_.fingerprint
        forged = replace(seen, mean=seen.mean * np.nan, spread=seen.spread * np.nan)
        model.certificate_ = replace(model.certificate_, fingerprint=forged)
        refused(model, X, target, match="no number")
    refused(through_file(model, tmp_path), X, target)


# -- V10, V11: other attributes --------------------------------------------------------------------------------


def test_v10_votes_and_mistakes_are_those_of_the_passes():
    model = VotedPerceptron(max_iter=5).fit(X, coin, weight)
    assert qed.verify(model, X, coin, weight).holds
    for name in ("votes_", "mistakes_", "steps_"):
        stored = getattr(model, name)
        for other in (stored[::-1], np.roll(stored, 1, axis=0), stored[:-1]):
            changed = deepcopy(model)
            setattr(changed, name, other.copy())
            refused(changed, X, coin, weight)
    plain = VotedPerceptron(shuffle=False).fit(X, coin)
    assert qed.verify(plain, X, coin).holds


def test_v10_everything_that_changes_an_answer_is_derived_again():
    lookup = LookupClassifier().fit(np.round(X), coin)
    assert qed.verify(lookup, np.round(X), coin).holds
    lookup.default_ = 1 - lookup.default_
    refused(lookup, np.round(X), coin, match="default")
    target = TransformedTargetRegressor(Ridge(), func=np.exp, inverse_func=np.log).fit(X, number)
    target.flat_ = False
    refused(target, X, number)
    code = OutputCodeClassifier(LogisticRegression(), code_size=3.0, random_state=0).fit(X, three)
    for change in (1, -1, 2):
        changed = deepcopy(code)
        changed.code_book_[0, 0] += change
        refused(changed, X, three)
    dummy = DummyClassifier().fit(X, coin)
    dummy.n_classes_ = 7
    refused(dummy, X, coin)
    analysis = LinearDiscriminantAnalysis().fit(X, three)
    assert qed.verify(analysis, X, three).holds
    analysis.scalings_ = analysis.scalings_[:, ::-1].copy()
    refused(analysis, X, three)
    cut = ThresholdClassifier().fit(X, coin)
    cut.threshold_ *= 1.0001
    refused(cut, X, coin)


def test_v11_cached_values_are_dropped():
    model = DecisionTreeClassifier(max_depth=3).fit(X, coin)
    honest = model.predict(X)
    cached = [name for name in vars(model.tree_) if name not in type(model.tree_).__dataclass_fields__]
    assert "labels" in cached
    vars(model.tree_)["labels"] = 1 - np.asarray(model.tree_.labels)
    assert not np.array_equal(model.predict(X), honest)
    assert qed.verify(model, X, coin).holds
    assert np.array_equal(model.predict(X), honest)


# -- V12: only CertificateError --------------------------------------------------------------------------------

ODD = [None, "x", np.nan, -1, 10**6, [], np.zeros((2, 2))]


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (Ridge(), number),
        (RidgeCV(), number),
        (Lasso(0.1), number),
        (LogisticRegressionCV(Cs=3, cv=3), coin),
        (RidgeClassifier(), coin),
        (SGDClassifier(), three),
        (Perceptron(), three),
        (VotedPerceptron(), coin),
        (OrdinalRegressor(), three),
        (LinearDiscriminantAnalysis(), three),
        (GaussianNB(), three),
        (DecisionTreeRegressor(max_depth=1), number),
        (ThresholdClassifier(), coin),
        (RandomLinearClassifier(random_state=0), coin),
        (DummyRegressor(), number),
        (pipe(), number),
        (VotingRegressor([("a", Ridge())]), number),
        (StackingRegressor([("a", Ridge())], Ridge(), cv=2), number),
        (OneVsOneClassifier(LogisticRegression()), three),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2), number),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v12_whatever_a_model_holds_the_error_is_one(model, target):
    model.fit(X, target)
    state = dict(vars(model))
    for name in state:
        for value in ODD:
            changed = deepcopy(model)
            vars(changed)[name] = value
            try:
                qed.verify(changed, X, target)
            except qed.CertificateError:
                continue
    for name in [field.name for field in fields(model.certificate_)] if is_dataclass(model.certificate_) else []:
        for value in ODD:
            changed = deepcopy(model)
            carrier = changed if "certificate_" in vars(changed) else changed.best_estimator_
            carrier.certificate_ = replace(model.certificate_, **{name: value})
            try:
                qed.verify(changed, X, target)
            except qed.CertificateError:
                continue


def test_v12_the_users_own_mistakes_are_told_as_such():
    model = Ridge().fit(X, number)
    for data in (
        (X[:, :3], number),
        (np.where(X > 2, np.nan, X), number),
        (X, None),
        (X, number[:5]),
        (X, number, -weight),
    ):
        with pytest.raises(qed.InvalidData):
            qed.verify(model, *data)
    with pytest.raises(qed.InvalidParameter):
        qed.verify("Ridge", X, number)
    with pytest.raises(qed.NotFitted):
        qed.verify(Ridge(), X, number)


# -- the checker reads, computes and answers by itself ---------------------------------------------------------

ALLOWED = {
    "_agree.py": {"getattr"},  # the one place where parts are asked; every answer is compared with its definition
    "_neighbors.py": {"getattr", "kneighbors", "score_samples"},  # answers that are compared with all rows
    "_sparse_components.py": {"transform"},  # codes for given atoms, which dual points bound
    "_rounds.py": {"predict"},  # means and deviations of a posterior, which are compared with it
    "_refits.py": {"fit", "predict"},  # proposals, verified before they are used; estimators of the user
    "_explanations.py": {"getattr"},  # of a model that is explained, which may be anybody's
}


def test_the_checker_calls_no_method_of_a_model_that_learns_or_answers():
    banned = re.compile(
        r"\.(_fit_data|_new_data|predict|predict_proba|decision_function|kneighbors|fit|fit_transform|transform|inverse_transform"
        r"|score_samples)\(|(getattr)\([^()]*(?:\([^()]*\))?[^()]*\)\((?!\))"
    )
    folder = Path(qed.verify.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        code = "\n".join(
            line for line in path.read_text().splitlines() if not line.lstrip().startswith((">>>", '"', 'f"', "#"))
        )
        found = {one for pair in banned.findall(code) for one in pair if one}
        assert found <= ALLOWED.get(path.name, set()), path.name


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_v7_a_bound_on_trees_speaks_of_depths_that_were_searched(criterion):
    """A bound over trees of depth two says nothing about deeper ones, which may leave nothing at all."""
    table = np.repeat(np.array(list(itertools.product([0.0, 1.0], repeat=3))), 3, axis=0)
    target = np.repeat(np.arange(8.0) ** 1.5, 3)
    model = DecisionTreeRegressor(max_depth=2, criterion=criterion).fit(table, target)
    assert qed.verify(model, table, target).holds
    assert model.certificate_.depth == 2
    for depth in (0, 1, 3, 4):
        model.certificate_ = replace(model.certificate_, depth=depth)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, table, target)


@pytest.mark.parametrize(
    "model", [HuberRegressor(), SGDRegressor(loss="huber", random_state=0), SGDClassifier(random_state=0)]
)
def test_the_objective_of_the_null_model_is_neither_raised_nor_lowered(model):
    """Where its best constant has no closed form it was compared from above only."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + draw.standard_t(2, 40)
    y = np.where(y > 0, "yes", "no") if isinstance(model, SGDClassifier) else y
    model.fit(X, y)
    certificate = model.certificate_
    assert qed.verify(model, X, y).holds
    for factor in (0.999, 1.001):
        model.certificate_ = replace(certificate, null_objective=factor * certificate.null_objective)
        with pytest.raises(qed.CertificateError, match="null model"):
            qed.verify(model, X, y)

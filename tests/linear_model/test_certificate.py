"""The certificate bounds the truth: against rational arithmetic, on a thousand problems of every nasty kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.exact_least_squares import objective, optimum
from tests.reference.problems import KINDS, problem

import qed
from qed.linear_model import LinearRegression, Ridge

SEEDS = range(1000)


def fitted(q):
    if q.alpha or q.prior is not None:
        return Ridge(q.alpha, fit_intercept=q.intercept, prior=q.prior).fit(q.X, q.y, q.s)
    return LinearRegression(fit_intercept=q.intercept).fit(q.X, q.y, q.s)


def distance(q, model):
    """Objective minus optimum, exact."""
    value = objective(q.X, q.y, q.weights, model.coef_, model.intercept_, q.alpha, q.prior)
    return float(value - optimum(q.X, q.y, q.weights, q.alpha, q.prior, intercept=q.intercept))


@pytest.mark.parametrize("batch", range(10))
def test_true_distance_never_exceeds_the_gap(batch):
    judged = 0
    for seed in SEEDS[batch::10]:
        q = problem(seed)
        model = fitted(q)
        certificate = model.certificate_
        assert certificate.reached, (seed, str(certificate))
        assert qed.verify(model, q.X, q.y, q.s).holds
        if np.isinf(certificate.radius):  # a finite radius excludes optima that rounding cannot tell from infinity
            judged += 1
            assert distance(q, model) <= certificate.gap, (seed, str(certificate))
    assert judged > 60


@pytest.mark.parametrize("batch", range(10))
def test_a_model_that_is_worse_than_twice_the_gap_is_rejected(batch):
    rejected = 0
    for seed in SEEDS[batch::20]:
        q = problem(seed)
        model = fitted(q)
        verdict = qed.verify(model, q.X, q.y, q.s)
        rng = np.random.default_rng(seed)
        model.coef_[rng.integers(len(model.coef_))] += (
            1e-3 * 10.0 ** -rng.integers(0, 6) * (1 + np.abs(model.coef_).max())
        )
        if (
            np.isinf(model.certificate_.radius)
            and distance(q, model) > 2 * model.certificate_.gap + 2 * verdict.rounding
        ):
            with pytest.raises(qed.CertificateError, match=r"false|objective"):
                qed.verify(model, q.X, q.y, q.s)
            rejected += 1
    assert rejected > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_finite_radius_is_only_for_columns_that_do_not_determine_the_coefficients(kind):
    for seed in range(40):
        q = problem(seed, kind)
        certificate = fitted(q).certificate_
        rank = np.linalg.matrix_rank((q.X - q.X.mean(axis=0) if q.intercept else q.X).astype(float))
        if np.isfinite(certificate.radius):
            assert certificate.rank < q.X.shape[1] or certificate.condition > 1e6 or rank < q.X.shape[1]


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_reached_and_true_are_different(no_squares):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 200), density=0.05, random_state=rng, format="csr")
    y = rng.normal(size=300)
    model = Ridge(1e-3, max_iter=2).fit(X, y)
    assert model.certificate_.outcome == "max_iter"
    assert not model.certificate_.reached
    assert qed.verify(model, X, y).holds  # the statement, with the gap it has, is true all the same


def test_text_and_html_say_the_statement():
    model = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    certificate = model.certificate_
    assert certificate.statement in str(certificate)
    assert certificate.statement in certificate._repr_html_()
    assert "backward error" in str(certificate)
    assert certificate.backward_error < 1e-10


def test_what_is_not_a_model_of_qed_is_refused_in_words():
    steps = make_pipeline(StandardScaler(), Ridge()).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    with pytest.raises(qed.InvalidParameter, match=r"got Pipeline.*pipeline\[-1\]"):
        qed.verify(steps, [[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    seen = steps[:-1].transform([[0.0], [1.0], [3.0]])
    assert qed.verify(steps[-1], seen, [0.0, 1.0, 2.0]).holds


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("targets", [1, 2])
def test_a_constant_target_is_certified_against_all_coefficients(method, targets):
    """Dependent columns and nothing to explain: a radius of zero would be a statement about nothing."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    X = np.column_stack([X, X[:, 0]])
    y = np.full((40, targets), 3.0)[:, 0 if targets == 1 else slice(None)]
    model = getattr(LinearRegression(), method)(X, y)
    assert model.certificate_.radius == np.inf
    assert model.certificate_.gap < 1e-20
    assert qed.verify(model, X, y).holds
    model.coef_ = model.coef_ + 1e-6
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)
    origin = LinearRegression(fit_intercept=False).fit(X, 0 * y)
    assert (origin.certificate_.radius, origin.certificate_.gap) == (np.inf, 0.0)

"""The log-likelihood of mixtures, taken apart in their certificates: expected log-likelihood, entropy, divergence."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, poisson

import qed
from qed.certificates import BoundDecomposition
from qed.core import CertificateError
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.mixture import (
    BayesianGaussianMixture,
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    GaussianMixtureClassifier,
    PoissonMixture,
    mixture_parameters,
)

seeds = st.integers(0, 2**32 - 1)
ALPHA = 0.5


def table(seed, n=50):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 2 * rng.integers(0, 2, (n, 1))
    return X, np.where(rng.random(n) < 0.4, -1, X[:, 0] > 1), rng.integers(1, 4, n).astype(float)


def gaussian_joint(model, X):
    parts = mixture_parameters(model)
    logs = [multivariate_normal(m, c).logpdf(X) for m, c in zip(parts.means, parts.covariances, strict=True)]
    blur = np.array([0.5 * model.reg_covar * np.trace(np.linalg.inv(c)) for c in parts.covariances])
    return np.log(parts.weights) + np.stack(logs, axis=1) - blur


def wishart(model):
    parts, p = mixture_parameters(model), model.means_.shape[1]
    inverses = np.linalg.inv(parts.covariances)
    logs = np.linalg.slogdet(parts.covariances)[1]
    traces = np.trace(model.covariance_prior * inverses, axis1=1, axis2=2)
    return float(np.sum(-0.5 * (2 * p + 1) * logs - 0.5 * traces))


def poisson_joint(model, X):
    return np.log(model.weights_) + poisson(model.rates_[None]).logpmf(X[:, None]).sum(axis=2)


def bernoulli_joint(model, X):
    theta = model.probabilities_[None]
    logs = np.where(X[:, None] > 0, np.log(theta), np.log1p(-theta))
    return np.log(model.weights_) + logs.sum(axis=2)


def categorical_joint(model, X):
    logs = sum(np.log(one).T[x.astype(int)] for one, x in zip(model.probabilities_, X.T, strict=True))
    return np.log(model.weights_) + logs


def poisson_prior(model, X, s):
    mean = (s @ X + 1) / (s.sum() + 1)
    return float(ALPHA * np.sum(mean * np.log(model.rates_) - model.rates_))


def labelled_joint(model, X, y):
    joint = gaussian_joint(model, X)
    code = np.where(y == -1, -1, np.searchsorted(model.classes_, y))
    possible = (code[:, None] == -1) | (code[:, None] == model.component_classes_)
    return np.where(possible, joint, -np.inf)


# -- a mixture, the rows it is fitted on, and its joint log-densities and log-prior, by other code
GAUSSIAN = {
    "full": ({}, None),
    "tied": ({"covariance_type": "tied"}, None),
    "diag": ({"covariance_type": "diag"}, None),
    "spherical, blurred": ({"covariance_type": "spherical", "reg_covar": 0.1}, None),
    "with a prior": ({"covariance_prior": 0.7}, wishart),
    "hard": ({"algorithm": "hard"}, None),
    "hard, with a prior": ({"algorithm": "hard", "covariance_prior": 0.7}, wishart),
}
CASES = [*GAUSSIAN, "bernoulli", "poisson", "categorical", "classes"]


def case(name, seed, steps):
    """Return a model, what it was fitted on, its joint log-densities of any fit, and logarithms of its prior."""
    X, y, s = table(seed)
    options = {"random_state": seed % 1000, "tol": 0.0, "max_iter": steps}
    counts = np.round(np.abs(X))
    if name in GAUSSIAN:
        given_, prior = GAUSSIAN[name]
        model = GaussianMixture(2, **{"reg_covar": 1e-6, **given_}, **options)
        return model, (X, None, s), lambda m: gaussian_joint(m, X), prior or (lambda m: 0.0)
    if name == "classes":
        model = GaussianMixtureClassifier(2, unlabeled=-1, **options)
        return model, (X, y, s), lambda m: labelled_joint(m, X, y), lambda m: 0.0
    if name == "bernoulli":
        model = BernoulliMixture(2, alpha=ALPHA, **options)
        prior = lambda m: ALPHA * np.sum(np.log(m.probabilities_) + np.log1p(-m.probabilities_))  # noqa: E731
        return model, (counts, None, s), lambda m: bernoulli_joint(m, counts), prior
    if name == "poisson":
        model = PoissonMixture(2, alpha=ALPHA, **options)
        return model, (counts, None, s), lambda m: poisson_joint(m, counts), lambda m: poisson_prior(m, counts, s)
    model = CategoricalMixture(2, alpha=ALPHA, **options)
    prior = lambda m: ALPHA * sum(np.sum(np.log(one)) for one in m.probabilities_)  # noqa: E731
    return model, (counts, None, s), lambda m: categorical_joint(m, counts), prior


@pytest.mark.covers("MIX-06", "MIX-18", "MIX-19", "MIX-25")
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, steps=st.integers(1, 4))
def test_the_parts_of_a_likelihood_are_those_of_its_rows(name, seed, steps):
    model, (X, y, s), joint_of, prior = case(name, seed, steps)
    model.fit(X, y, sample_weight=s)
    after = case(name, seed, steps + 1)[0].fit(X, y, sample_weight=s)  # the same start, one step further
    told = model.certificate_.decomposition
    here, beyond = joint_of(model), joint_of(after)
    if getattr(model, "algorithm", "soft") == "hard":
        q = np.eye(here.shape[1])[np.argmax(here, axis=1)]
    else:
        q = np.exp(here - logsumexp(here, axis=1, keepdims=True))

    def mean(values):
        return s @ np.sum(np.where(q > 0, q * np.where(q > 0, values, 0.0), 0.0), axis=1) / s.sum()

    logs = np.log(np.where(q > 0, q, 1.0))
    likelihoods = [
        s @ logsumexp(one, axis=1) / s.sum() + prior(m) / s.sum() for one, m in ((here, model), (beyond, after))
    ]
    expected = [mean(one) + prior(m) / s.sum() for one, m in ((here, model), (beyond, after))]
    near = {"rel": 1e-7, "abs": 1e-9}
    assert told.expected == pytest.approx(expected[0], **near)
    assert told.entropy == pytest.approx(-mean(logs), **near)
    assert told.divergence == pytest.approx(mean(logs - here) + likelihoods[0] - prior(model) / s.sum(), **near)
    assert told.log_likelihood == pytest.approx(likelihoods[0], **near)
    assert told.lower_bound == pytest.approx(model.certificate_.objective, **near)
    assert told.maximisation_gain == pytest.approx(expected[1] - expected[0], **near)
    assert told.next_divergence == pytest.approx(likelihoods[1] - expected[1] + mean(logs), **near)
    assert qed.verify(model, X, y, sample_weight=s)


@pytest.mark.covers("MIX-19", "MIX-06")
@pytest.mark.parametrize("name", [name for name in CASES if "hard" not in name])
def test_what_a_step_gains_is_that_of_the_maximisation_plus_a_divergence(name):
    model, (X, y, s), _, _ = case(name, 3, 2)
    certificate = model.fit(X, y, sample_weight=s).certificate_
    told = certificate.decomposition
    assert told.divergence == 0  # an expectation step leaves none
    assert told.maximisation_gain > 0
    assert told.next_divergence > 0
    assert certificate.gain == pytest.approx(told.maximisation_gain + told.next_divergence, rel=1e-9)


@pytest.mark.covers("MIX-08", "MIX-19")
def test_hard_assignments_leave_a_divergence():
    """Each row is put into one component: what the lower bound lacks is the information that this ignores."""
    X = table(1)[0]
    model = GaussianMixture(2, algorithm="hard", random_state=0, reg_covar=0.0).fit(X)
    told = model.certificate_.decomposition
    assert told.entropy == 0
    assert told.divergence == pytest.approx(-np.log(model.predict_proba(X).max(axis=1)).mean(), rel=1e-9)
    assert told.divergence > 1e-3
    assert told.log_likelihood == pytest.approx(model.score(X), rel=1e-9)
    assert "KL 0.0" in str(model.certificate_)


@pytest.mark.parametrize("field", [f.name for f in fields(BoundDecomposition)])
@pytest.mark.parametrize("name", CASES)
def test_changed_parts_are_refused(name, field):
    model, (X, y, s), _, _ = case(name, 5, 1)
    own = model.fit(X, y, sample_weight=s).certificate_
    told = own.decomposition
    changed = [getattr(told, field) + 1e-6, getattr(told, field) + 1.0, np.nan, np.inf, None]
    changed += [0.0, 2 * getattr(told, field)] if getattr(told, field) else []
    for value in changed:
        model.certificate_ = replace(own, decomposition=replace(told, **{field: value}))
        with pytest.raises(CertificateError):
            qed.verify(model, X, y, sample_weight=s)


def test_a_decomposition_is_kept_in_files():
    X = table(2)[0]
    model = GaussianMixture(2, random_state=0).fit(X)
    again = loads(dumps(model))
    assert again.certificate_.decomposition == model.certificate_.decomposition
    assert qed.verify(again, X)


@pytest.mark.parametrize(
    "model",
    [
        BayesianGaussianMixture(2, random_state=0),
        qed.decomposition.FactorAnalysis(1),
        qed.decomposition.LatentDirichletAllocation(2, random_state=0),
        qed.cluster.SoftKMeans(2, random_state=0),
        qed.linear_model.BayesianRidge(),
        qed.linear_model.ARDRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_without_hidden_components_take_nothing_apart(model):
    X = np.abs(table(4)[0])
    y = X @ [1.0, 2.0, 3.0] + table(5)[0][:, 0]
    model.fit(X, y)
    assert model.certificate_.decomposition is None
    assert qed.verify(model, X, y)
    told = BoundDecomposition(model.certificate_.objective, 0.0, 0.0, 0.0, 0.0)
    model.certificate_ = replace(model.certificate_, decomposition=told)
    with pytest.raises(CertificateError, match="apart"):
        qed.verify(model, X, y)


@pytest.mark.parametrize("name", ["hard", "with a prior", "poisson", "classes"])
def test_rows_in_chunks_give_the_same_parts(name):
    model, (X, y, s), _, _ = case(name, 6, 3)
    target = None if y is None else y.astype(float)
    whole = model.fit(X, target, sample_weight=s).certificate_.decomposition
    model.fit(ArraySource(X, target, s, chunk_rows=17))
    told = model.certificate_.decomposition
    for field in fields(BoundDecomposition):
        assert getattr(told, field.name) == pytest.approx(getattr(whole, field.name), rel=1e-6, abs=1e-9)

"""Draws of all generative classifiers: the fitted shares and moments come back."""

from __future__ import annotations

import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter, NotFitted
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB

RNG = np.random.default_rng(4)
Y = np.array(["a", "b", "b", "c", "c", "c"] * 20)
NUMBER = np.searchsorted(["a", "b", "c"], Y)
NORMAL = RNG.normal(size=(120, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.3], [0, 0, 2]]) + 2 * NUMBER[:, None]
COUNTS = RNG.poisson(1 + NUMBER[:, None] * np.array([1.0, 0.0, 2.0]))
CATEGORIES = RNG.integers(0, 2 + NUMBER[:, None] * np.array([1, 0, 1]), (120, 3))
N = 40_000
SIGMAS = 7  # a false alarm once in 4e11 comparisons


def expectation(model, X):
    """Return mean and variance of the columns in each class by definition, from the fitted parameters."""
    name = type(model).__name__
    if name == "GaussianNB":
        return model.theta_, model.var_
    if name == "LinearDiscriminantAnalysis":
        return model.means_, np.tile(np.diag(model.covariance_), (3, 1))
    if name == "QuadraticDiscriminantAnalysis":
        return model.means_, np.stack([np.diag(one) for one in model.covariance_])
    if name == "PoissonNB":
        return np.exp(model.feature_log_prob_), np.exp(model.feature_log_prob_)
    if name == "BernoulliNB":
        p = np.exp(model.feature_log_prob_)
        return p + model.binarize, p * (1 - p)
    tables = [np.exp(logs) for logs in model.feature_log_prob_]
    means = np.stack([table @ np.arange(table.shape[1]) for table in tables], axis=1)
    squares = np.stack([table @ np.arange(table.shape[1]) ** 2 for table in tables], axis=1)
    return means, squares - means**2


def shares(model):
    prior = getattr(model, "priors_", getattr(model, "class_prior_", None))
    return np.exp(model.class_log_prior_) if prior is None else prior


@pytest.mark.covers("GEN-24")
@pytest.mark.parametrize(
    ("model", "X"),
    [
        (GaussianNB(), NORMAL),
        (LinearDiscriminantAnalysis(store_covariance=True), NORMAL),
        (LinearDiscriminantAnalysis("eigen", shrinkage=0.3, priors=[0.2, 0.2, 0.6]), NORMAL),
        (QuadraticDiscriminantAnalysis(store_covariance=True), NORMAL),
        (PoissonNB(), COUNTS),
        (BernoulliNB(binarize=1.0), COUNTS),
        (CategoricalNB(), CATEGORIES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shares_and_moments_come_back(model, X):
    model.fit(X, Y)
    drawn, labels = model.sample(N, random_state=0)
    means, variances = expectation(model, X)
    for k, (label, share) in enumerate(zip(model.classes_, shares(model), strict=True)):
        mine = drawn[labels == label]
        assert abs(len(mine) - N * share) <= SIGMAS * np.sqrt(N * share * (1 - share))
        assert np.all(np.abs(mine.mean(axis=0) - means[k]) <= SIGMAS * np.sqrt(variances[k] / len(mine)))
        squares = (mine - means[k]) ** 2
        assert np.all(np.abs(squares.mean(axis=0) - variances[k]) <= SIGMAS * squares.std(axis=0) / np.sqrt(len(mine)))
    again = model.sample(N, random_state=0)
    assert np.array_equal(drawn, again[0])
    assert np.array_equal(labels, again[1])
    assert model.sample(0)[0].shape == (0, 3)


@pytest.mark.covers("GEN-24")
def test_correlations_come_back():
    for model in (
        LinearDiscriminantAnalysis(store_covariance=True).fit(NORMAL, Y),
        QuadraticDiscriminantAnalysis(store_covariance=True).fit(NORMAL, Y),
    ):
        drawn, labels = model.sample(N, random_state=1)
        for k, label in enumerate(model.classes_):
            covariance = model.covariance_ if isinstance(model, LinearDiscriminantAnalysis) else model.covariance_[k]
            z = drawn[labels == label] - model.means_[k]
            products = z[:, :, None] * z[:, None, :]
            error = SIGMAS * products.std(axis=0) / np.sqrt(len(z))
            assert np.all(np.abs(products.mean(axis=0) - covariance) <= error)


@pytest.mark.covers("GEN-24")
def test_words_and_mixed_columns():
    model = MultinomialNB().fit(COUNTS, Y)
    drawn, labels = model.sample(N, random_state=2, n_words=9)
    assert np.all(drawn.sum(axis=1) == 9)
    for k, label in enumerate(model.classes_):
        p = np.exp(model.feature_log_prob_[k])
        mine = drawn[labels == label]
        assert np.all(np.abs(mine.mean(axis=0) - 9 * p) <= SIGMAS * np.sqrt(9 * p * (1 - p) / len(mine)))
    mixed = MixedNB(["gaussian", "poisson", "categorical", "bernoulli"]).fit(
        np.column_stack([NORMAL[:, 0], COUNTS[:, 0], CATEGORIES[:, 0], COUNTS[:, 1] > 1]), Y
    )
    drawn, labels = mixed.sample(N, random_state=3)
    again = MixedNB(mixed.distributions).fit(drawn, labels)  # what was drawn is fitted by what it was drawn from
    assert np.all(np.abs(again.class_prior_ - mixed.class_prior_) <= SIGMAS * np.sqrt(0.25 / N))
    for kind, ours, found in zip(mixed.kinds_, mixed.parameters_, again.parameters_, strict=True):
        rows = N * mixed.class_prior_[:, None] / 1.2
        spread = (
            np.sqrt(ours * (1 - ours))
            if kind in ("categorical", "bernoulli")
            else np.sqrt(2) * np.maximum(ours[:, -1:], 1)
        )
        assert np.all(np.abs(found[:, : ours.shape[1]] - ours) <= SIGMAS * spread / np.sqrt(rows) + 1e-3)


def test_what_cannot_be_drawn():
    assert not hasattr(ComplementNB(), "sample")  # it is no distribution of rows
    model = GaussianNB()
    with pytest.raises(NotFitted):
        model.sample()
    model.fit(NORMAL, Y)
    for wrong in (-1, 2.5, "3", True):
        with pytest.raises(InvalidParameter, match="n_samples must be an integer >= 0"):
            model.sample(wrong)
    with pytest.raises(InvalidParameter, match="store_covariance=True"):
        LinearDiscriminantAnalysis().fit(NORMAL, Y).sample()
    with pytest.raises(InvalidParameter, match="n_words"):
        MultinomialNB().fit(COUNTS, Y).sample(n_words=-1)


@pytest.mark.parametrize("model", [PoissonNB(), GaussianNB(), BernoulliNB()], ids=lambda model: type(model).__name__)
def test_numbers_that_are_no_distribution(model):
    model.fit([[1], [0], [3]], [0, 1, 1])
    name = "class_prior_" if isinstance(model, GaussianNB) else "class_log_prior_"
    setattr(model, name, np.array([np.nan, 0.0]))
    with pytest.raises(InvalidData, match="no distribution that rows can be drawn from"):
        model.sample(5, random_state=0)

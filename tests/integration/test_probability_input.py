"""Zero variances, singular covariances, too few rows, improper priors, negative counts, probabilities that do not sum to one.

Every case has a defined behaviour: an error that says what came and what to do, or an answer that is finite and verified.
"""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.core import InvalidData, InvalidParameter
from qed.covariance import (
    OAS,
    EllipticEnvelope,
    EmpiricalCovariance,
    GraphicalLasso,
    GraphicalLassoCV,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.distributions import (
    Beta,
    BetaBernoulli,
    Categorical,
    Dirichlet,
    DirichletCategorical,
    Gamma,
    GammaPoisson,
    Gaussian,
    GaussianInverseWishart,
    InverseWishart,
    Multinomial,
    MultivariateGaussian,
    NormalInverseWishart,
    Poisson,
    cross_entropy,
    entropy,
    expectation,
    information_content,
    jensen_shannon,
    kl_divergence,
    mutual_information,
    renyi_divergence,
)
from qed.linear_model import BayesianLinearRegression, BayesianRidge
from qed.mixture import (
    BayesianGaussianMixture,
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    GaussianMixtureClassifier,
    PoissonMixture,
    choose_components,
)
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.arange(30) % 3
STILL = X.copy()
STILL[Y == 1] = 2.0  # a class without variance
FLAT = X.copy()
FLAT[:, 2] = FLAT[:, 0] + FLAT[:, 1]  # a singular covariance
CONSTANT = np.ones((20, 2))
COUNTS = RNG.poisson(3.0, (30, 3)).astype(float)


def name(value):
    return type(value).__name__ if not callable(value) else None


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (GaussianNB(var_smoothing=0), "variance of column 0 within class 1 is zero.*var_smoothing"),
        (MixedNB(var_smoothing=0), "variance of column 0 within a class is zero.*var_smoothing"),
        (QuadraticDiscriminantAnalysis(), "class 1 is not full rank.*reg_param"),
        (QuadraticDiscriminantAnalysis(solver="eigen"), "class 1 is not full rank.*shrinkage"),
        (GaussianMixtureClassifier(reg_covar=0), "ill-defined empirical covariance.*reg_covar"),
    ],
    ids=name,
)
def test_a_class_without_variance_is_refused(model, match):
    with pytest.raises(InvalidData, match=match):
        model.fit(STILL, Y)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        MixedNB(),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianMixtureClassifier(),
    ],
    ids=name,
)
def test_a_class_without_variance_by_other_means(model):
    model.fit(STILL, Y)
    assert np.all(model.predict(STILL[Y == 1]) == 1)
    assert np.isfinite(model.predict_proba(STILL)).all()
    qed.verify(model, STILL, Y)


@pytest.mark.parametrize(
    ("model", "rows", "match"),
    [
        (GaussianMixture(2, reg_covar=0), FLAT, "ill-defined"),
        (GaussianMixture(2, reg_covar=0), CONSTANT, "ill-defined"),
        (GaussianMixture(2, reg_covar=0, covariance_type="diag"), CONSTANT, "ill-defined"),
        (GraphicalLasso(), CONSTANT, "Column 0 is constant"),
        (GraphicalLassoCV(), CONSTANT, "Column 0 is constant"),
    ],
    ids=name,
)
def test_singular_covariances_are_refused(model, rows, match):
    with pytest.raises(InvalidData, match=match):
        model.fit(rows)


@pytest.mark.parametrize("rows", [FLAT, CONSTANT], ids=["flat", "constant"])
@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture(2, random_state=0),
        BayesianGaussianMixture(2, random_state=0),
        EmpiricalCovariance(),
        ShrunkCovariance(),
        LedoitWolf(),
        OAS(),
        MinCovDet(random_state=0),
        EllipticEnvelope(random_state=0),
    ],
    ids=name,
)
def test_singular_covariances_with_a_defined_answer(model, rows):
    model.fit(rows)
    distances = model.score_samples(rows) if hasattr(model, "score_samples") else model.mahalanobis(rows)
    assert np.isfinite(distances).all()
    qed.verify(model, rows)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: MultivariateGaussian([0, 0], np.ones((2, 2))), "positive definite"),
        (lambda: MultivariateGaussian.fit(FLAT), "singular.*prior"),
        (lambda: Gaussian.fit([2.0, 2.0]), "values are all equal"),
        (lambda: BayesianLinearRegression(np.zeros((4, 4))).fit(X, Y), "prior_covariance must be positive definite"),
    ],
)
def test_singular_matrices_have_no_density(call, match):
    with pytest.raises((InvalidData, InvalidParameter), match=match):
        call()


@pytest.mark.parametrize(
    "kind", [GaussianMixture, BayesianGaussianMixture, BernoulliMixture, PoissonMixture, CategoricalMixture]
)
def test_fewer_rows_than_components(kind):
    with pytest.raises(InvalidData, match=r"n_components = 5, n_samples = 3\. Ask for fewer components"):
        kind(5).fit(COUNTS[:3])
    with pytest.raises(InvalidData, match="n_components = 5, n_samples = 3"):
        kind(5).fit(COUNTS, sample_weight=[1.0] * 3 + [0.0] * 27)  # a row of no weight is no row


def test_fewer_rows_than_components_of_a_class():
    with pytest.raises(InvalidData, match="class 0 has 1 rows of positive weight and n_components=5"):
        GaussianMixtureClassifier(5).fit(X[:3], [0, 1, 1])
    with pytest.raises(InvalidData, match="number of splits"):
        choose_components(GaussianMixture(), X[:4], range(1, 4))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Beta(0, 0), r"Beta.a must be a finite number in \(0, inf\)"),
        (lambda: Gamma(0, 1), "Gamma.shape"),
        (lambda: Gamma(1, 0), "Gamma.rate"),
        (lambda: Dirichlet([0, 0]), "finite positive numbers"),
        (lambda: Gaussian(0, np.inf), "Gaussian.variance must be a finite number"),
        (lambda: InverseWishart(0.5, np.eye(2)), r"InverseWishart.degrees must be a finite number in \(1, inf\)"),
        (lambda: NormalInverseWishart([0, 0], 0, 3, np.eye(2)), "NormalInverseWishart.strength"),
        (lambda: BayesianLinearRegression(np.inf).fit(X, Y), "prior_covariance must be a real number > 0"),
        (lambda: BayesianLinearRegression(0).fit(X, Y), "prior_covariance must be a real number > 0"),
        (lambda: BayesianLinearRegression(-np.eye(4)).fit(X, Y), "prior_covariance must be positive definite"),
        (lambda: BayesianLinearRegression(np.eye(2)).fit(X, Y), "prior_covariance must be a square matrix of 4 rows"),
        (lambda: BayesianLinearRegression(prior_mean=[1.0]).fit(X, Y), "prior_mean must hold 4 numbers"),
        (lambda: BayesianLinearRegression(noise_variance=0).fit(X, Y), "noise_variance"),
        (lambda: BayesianLinearRegression(noise_variance=None, noise_shape=0).fit(X, Y), "noise_shape"),
        (lambda: BayesianRidge(alpha_1=-1).fit(X, Y), "alpha_1 must be a real number >= 0"),
        (lambda: BayesianGaussianMixture(2, degrees_of_freedom_prior=1).fit(X), "no distribution"),
        (lambda: BayesianGaussianMixture(2, weight_concentration_prior=0).fit(X), "weight_concentration_prior"),
        (lambda: BayesianGaussianMixture(2, mean_precision_prior=0).fit(X), "mean_precision_prior"),
        (lambda: BayesianGaussianMixture(2, covariance_prior=-np.eye(3)).fit(X), "positive-definite"),
        (lambda: MultinomialNB(alpha=-1).fit(COUNTS, Y), "alpha must be a real number >= 0"),
    ],
)
def test_improper_priors(call, match):
    with pytest.raises((InvalidData, InvalidParameter), match=match):
        call()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Poisson.fit([-1]), "nonnegative integers, got -1"),
        (lambda: Multinomial.fit([[1, -1]]), "nonnegative integers, got -1"),
        (lambda: Categorical.fit([-1]), "nonnegative integers, got -1"),
        (lambda: Multinomial(-1, [1.0]), "Multinomial.trials"),
        (lambda: GammaPoisson().posterior(Gamma(1, 1), [-1]), "nonnegative integers, got -1"),
        (lambda: GammaPoisson().log_evidence(Gamma(1, 1), [0.5]), "nonnegative integers, got 0.5"),
        (lambda: DirichletCategorical().posterior(Dirichlet([1, 1]), [-1]), "nonnegative integers, got -1"),
        (lambda: BetaBernoulli().posterior(Beta(1, 1), [-1]), "zeros and ones"),
        (lambda: PoissonMixture(2).fit(-COUNTS), "Negative values"),
        (lambda: CategoricalMixture(2).fit(-COUNTS), "Negative values"),
        (lambda: PoissonNB().fit(-COUNTS, Y), "Negative values"),
        (lambda: MultinomialNB().fit(-COUNTS, Y), "Negative values"),
        (lambda: ComplementNB().fit(-COUNTS, Y), "Negative values"),
        (lambda: CategoricalNB().fit(-COUNTS, Y), "Negative values"),
        (lambda: MixedNB("poisson").fit(-COUNTS, Y), "Negative values in column 0"),
        (lambda: MixedNB("categorical").fit(-COUNTS, Y), "numbered from 0"),
        (lambda: BernoulliNB(binarize=None).fit(-COUNTS, Y), "zeros and ones"),
        (lambda: PoissonNB().fit(COUNTS, Y).predict(-COUNTS), "Negative values"),
        (
            lambda: GaussianInverseWishart().posterior(NormalInverseWishart([0, 0], 1, 3, np.eye(2)), X),
            "about 2 columns",
        ),
    ],
)
def test_negative_counts(call, match):
    with pytest.raises((InvalidData, InvalidParameter), match=match):
        call()


def test_impossible_values_have_no_probability():
    assert Poisson(2).density(-1) == 0
    assert Categorical([0.5, 0.5]).density([-1, 2, 0.5]).tolist() == [0, 0, 0]
    assert Multinomial(2, [0.5, 0.5]).density([3, -1]) == 0
    assert Dirichlet([1, 1]).density([0.5, 0.6]) == 0
    assert Beta(2, 2).density([-0.1, 1.1]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Categorical([0.5, 0.6]), "sum to one, got a sum of 1.1"),
        (lambda: Multinomial(2, [0.5, 0.6]), "sum to one, got a sum of 1.1"),
        (lambda: entropy([0.2]), "sum to one"),
        (lambda: entropy([1.5, -0.5]), "nonnegative"),
        (lambda: kl_divergence([0.5, 0.5], [0.5, 0.6]), "sum to one"),
        (lambda: cross_entropy([0.5, 0.5], [0.5, 0.6]), "sum to one"),
        (lambda: mutual_information([[0.5, 0.6]]), "sum to one"),
        (lambda: jensen_shannon([1, 0], [0.5, 0.6]), "sum to one"),
        (lambda: renyi_divergence([1, 0], [0.5, 0.6], 2), "sum to one"),
        (lambda: expectation([1, 2], [0.5, 0.6]), "sum to one"),
        (lambda: information_content(-0.1), r"lies in \[0, 1\]"),
        (lambda: GaussianMixture(2, weights_init=[0.5, 0.6]).fit(X), "sum to one.*1.1"),
        (lambda: GaussianMixture(2, weights_init=[-0.5, 1.5]).fit(X), "real numbers >= 0"),
        (lambda: GaussianNB(priors=[0.5, 0.6, 0.7]).fit(X, Y), "should be 1: that of GaussianNB.priors is 1.8"),
        (lambda: MixedNB(priors=[0.5, 0.6, 0.7]).fit(X, Y), "should be 1"),
        (lambda: QuadraticDiscriminantAnalysis(priors=[0.5, 0.6, 0.7]).fit(X, Y), "should be 1"),
        (lambda: MultinomialNB(class_prior=[0.5, 0.6, 0.7]).fit(COUNTS, Y), "should be 1"),
        (lambda: LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, Y), "2 probabilities, and there are 3 classes"),
        (lambda: LinearDiscriminantAnalysis(priors=[0.5, 0.5, -0.1]).fit(X, Y), "non-negative"),
    ],
)
def test_probabilities_that_do_not_sum_to_one(call, match):
    with pytest.raises((InvalidData, InvalidParameter), match=match):
        call()


def test_priors_of_linear_discriminants_are_divided_by_their_sum():
    """As scikit-learn has it: a warning."""
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1.0, 1.0, 2.0]).fit(X, Y)
    np.testing.assert_allclose(model.priors_, [0.25, 0.25, 0.5])

"""Figures of clusters, embeddings and probability: what is drawn is what the models say."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from qed.cluster import AgglomerativeClustering, KMeans
from qed.core import InvalidData, InvalidParameter
from qed.covariance import EmpiricalCovariance
from qed.decomposition import PCA
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.distributions import (
    Beta,
    BetaBernoulli,
    Dirichlet,
    DirichletCategorical,
    Gamma,
    GammaPoisson,
    Gaussian,
    GaussianMean,
    MultivariateGaussian,
)
from qed.inspection import (
    ClassDensityDisplay,
    EmbeddingDisplay,
    FitStepsDisplay,
    GaussianContourDisplay,
    PosteriorDisplay,
    PredictiveBandDisplay,
    SilhouetteDisplay,
    VoronoiDisplay,
)
from qed.linear_model import BayesianRidge, Ridge
from qed.manifold import trustworthiness
from qed.metrics import silhouette_samples
from qed.mixture import GaussianMixture
from qed.naive_bayes import GaussianNB

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 40)
X = RNG.normal(size=(120, 2)) @ np.array([[1.0, 0.5], [0.0, 0.6]]) + np.array([[0, 0], [4, 0], [1, 4]])[Y]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_silhouettes_are_those_of_the_metric():
    model = KMeans(3, random_state=0).fit(X)
    display = SilhouetteDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.silhouettes, silhouette_samples(X, model.labels_))
    assert display.line_.get_xdata()[0] == pytest.approx(display.silhouettes.mean())
    assert len(display.shapes_) == 3
    tree = AgglomerativeClustering(2).fit(X)
    assert len(SilhouetteDisplay.from_estimator(tree, X).shapes_) == 2  # labels of the fit, where nothing predicts
    with pytest.raises(InvalidData, match="for each row"):
        SilhouetteDisplay(silhouettes=[0.1, 0.2], labels=[0])


def test_cells_are_those_of_the_nearest_centre():
    model = KMeans(4, random_state=0).fit(X)
    display = VoronoiDisplay.from_estimator(model, X)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    distances = ((grid[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(display.cells.ravel(), distances.argmin(axis=1))
    with pytest.raises(InvalidParameter, match="no centres"):
        VoronoiDisplay.from_estimator(GaussianMixture(2, random_state=0).fit(X), X)
    with pytest.raises(InvalidData, match="two columns"):
        VoronoiDisplay.from_estimator(model, X[:, :1])


def test_no_two_of_ten_groups_look_the_same():
    display = EmbeddingDisplay(points=np.eye(10)[:, :2], target=np.arange(10)).plot()
    looks = {(dots.get_facecolor().tobytes(), dots.get_paths()[0].vertices.tobytes()) for dots in display.points_}
    assert len(looks) == 10


def test_embeddings_say_how_faithful_they_are():
    rows = np.column_stack([X, RNG.normal(size=120)])
    model = PCA(2).fit(rows)
    display = EmbeddingDisplay.from_estimator(model, rows, np.array(["a", "b", "c"])[Y])
    np.testing.assert_array_equal(display.points, model.transform(rows))
    assert display.trustworthiness == trustworthiness(rows, display.points)
    assert f"{display.trustworthiness:.3f}" in display.ax_.get_title()
    assert len(display.points_) == 3
    assert len(EmbeddingDisplay.from_estimator(model, rows, rows[:, 0]).points_) == 1  # numbers are shades
    with pytest.raises(InvalidData, match="two coordinates"):
        EmbeddingDisplay.from_estimator(PCA(1).fit(rows), rows)
    with pytest.raises(InvalidData, match="120 points"):
        EmbeddingDisplay(points=display.points, target=[1, 2])


@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(3, init="random", n_init=1, random_state=1),
        GaussianMixture(3, init_params="random_from_data", random_state=1),
    ],
)
def test_steps_lead_from_one_start_to_the_fit(estimator):
    display = FitStepsDisplay.from_estimator(estimator, X, steps=(1, 2, 200))
    assert [fit.n_iter_ for fit in display.fits[:2]] == [1, 2]
    assert "at rest after" in display.axes_[2].get_title()
    costs = [getattr(fit, "inertia_", -getattr(fit, "lower_bound_", 0.0)) for fit in display.fits]
    assert costs[0] > costs[1] > costs[2]
    with pytest.raises(InvalidParameter, match="random_state"):
        FitStepsDisplay.from_estimator(KMeans(3), X)
    with pytest.raises(InvalidParameter, match="at least 1"):
        FitStepsDisplay.from_estimator(estimator, X, steps=(0, 1))
    display = FitStepsDisplay.from_estimator(estimator, X, steps=(1, 200, 300))
    assert display.steps == [1, 200]  # the fit rests: more steps show nothing new


@pytest.mark.covers("MIX-27")
@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("k", [2, 3])
def test_ellipses_have_one_density_and_hold_their_share(structure, k):
    model = GaussianMixture(k, covariance_type=structure, random_state=0).fit(X)
    display = GaussianContourDisplay.from_estimator(model, X, shares=(0.3, 0.95))
    for at in range(k):
        ring = np.column_stack(display.lines_[at][0].get_data())
        centred = ring - display.means[at]
        squared = np.sum(centred @ np.linalg.inv(display.covariances[at]) * centred, axis=1)
        np.testing.assert_allclose(squared, -2 * np.log(0.7))  # the share within is 1 - exp(-r²/2)
    drawn = np.column_stack([model.weights_ @ display.means])
    np.testing.assert_allclose(drawn.ravel(), model.weights_ @ model.means_)


def test_contours_of_other_gaussians():
    display = GaussianContourDisplay.from_estimator(EmpiricalCovariance().fit(X))
    np.testing.assert_allclose(display.covariances[0], np.cov(X.T, bias=True))
    joint = MultivariateGaussian([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
    np.testing.assert_array_equal(GaussianContourDisplay.from_estimator(joint).means, [[1.0, 2.0]])
    with pytest.raises(InvalidParameter, match="no Gaussians"):
        GaussianContourDisplay.from_estimator(KMeans(2))
    with pytest.raises(InvalidParameter, match="store_covariance"):
        GaussianContourDisplay.from_estimator(QuadraticDiscriminantAnalysis().fit(X, Y))
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        GaussianContourDisplay.from_estimator(joint, shares=(1.5,))


@pytest.mark.covers("GEN-30")
@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    ],
)
def test_on_a_boundary_two_classes_are_equally_probable(model):
    model.fit(X, Y)
    display = ClassDensityDisplay.from_estimator(model, X, Y)
    for lines in display.boundaries_:
        ends = np.vstack([path.vertices for path in lines.get_paths()])
        top = np.sort(model.predict_proba(ends), axis=1)[:, -2:]
        assert np.abs(top[:, 1] - top[:, 0]).max() < 0.2  # a grid of 200 by 200


@pytest.mark.parametrize(
    ("pair", "prior", "data"),
    [
        (BetaBernoulli(), Beta(2.0, 3.0), [1, 0, 1, 1]),
        (GammaPoisson(), Gamma(2.0, 1.0), [3, 1, 4]),
        (GaussianMean(1.5), Gaussian(0.0, 4.0), [1.0, 2.5]),
    ],
)
def test_posterior_is_prior_times_likelihood(pair, prior, data):
    display = PosteriorDisplay.from_pair(pair, prior, data)
    width = display.parameter[1] - display.parameter[0]
    product = display.prior * display.likelihood
    np.testing.assert_allclose(product / (product.sum() * width), display.posterior, rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(display.posterior, pair.posterior(prior, data).density(display.parameter))
    for density in (display.likelihood, display.posterior):
        assert density.sum() * width == pytest.approx(1, rel=1e-3)
    with pytest.raises(InvalidParameter, match="several parameters"):
        PosteriorDisplay.from_pair(DirichletCategorical(), Dirichlet([1.0, 1.0, 1.0]), [0, 1, 2])


@pytest.mark.covers("BAY-41")
def test_bands_are_the_standard_deviations_of_the_model():
    x = np.sort(RNG.uniform(size=30))[:, None]
    y = 2 * x.ravel() + 0.1 * RNG.normal(size=30)
    model = BayesianRidge().fit(x, y)
    display = PredictiveBandDisplay.from_estimator(model, x, y)
    mean, deviation = model.predict(display.x[:, None], return_std=True)
    np.testing.assert_array_equal(display.mean, mean)
    np.testing.assert_array_equal(display.deviation, deviation)
    heights = sorted(
        (float(ends[:, 1].min()), float(ends[:, 1].max()))
        for band in display.bands_
        for ends in [band.get_paths()[0].vertices]
    )
    wanted = [(float((mean - z * deviation).min()), float((mean + z * deviation).max())) for z in (2, 1)]
    np.testing.assert_allclose(heights, sorted(wanted))
    assert display.x[0] < x.min() < x.max() < display.x[-1]
    with pytest.raises(InvalidData, match="one column"):
        PredictiveBandDisplay.from_estimator(model, X)
    with pytest.raises(TypeError):
        PredictiveBandDisplay.from_estimator(Ridge().fit(x, y), x)

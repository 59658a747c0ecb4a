"""What transformers and stacks learnt is recomputed: a model that was changed is rejected."""

import numpy as np
import pytest
import scipy.sparse as sp

import qed
from qed.core import CertificateError
from qed.ensemble import StackingClassifier, StackingRegressor
from qed.linear_model import Lasso, LogisticRegression, Ridge
from qed.preprocessing import (
    CountVectorizer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PiecewiseBasis,
    QuantileTransformer,
    RadialBasis,
    SimpleImputer,
    SplineTransformer,
    TargetEncoder,
    TfidfTransformer,
    TfidfVectorizer,
)

RNG = np.random.default_rng(11)
X = np.column_stack([RNG.normal(size=400), RNG.exponential(size=400), RNG.integers(0, 50, 400)])
S = RNG.integers(0, 3, 400).astype(float)
WORDS = np.array(["ant", "bee", "cat", "dog", "emu"], object)[RNG.choice(5, (400, 2), p=[0.4, 0.3, 0.2, 0.07, 0.03])]
TEXTS = [" ".join(row) for row in WORDS] + ["a fox", "the fox and the cat"]
COUNTS = sp.random(40, 6, 0.4, format="csr", random_state=3)


def rejected(model, X, y=None, sample_weight=None):
    with pytest.raises(CertificateError):
        qed.verify(model, X, y, sample_weight)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "kmeans"])
@pytest.mark.parametrize("subsample", [None, 399])
@pytest.mark.parametrize("weight", [None, S])
def test_bins(strategy, subsample, weight):
    model = KBinsDiscretizer(4, strategy=strategy, subsample=subsample, random_state=0).fit(X, sample_weight=weight)
    assert qed.verify(model, X, sample_weight=weight).holds
    for column, move in ((2, 11.0),) if strategy == "kmeans" else ((0, 1.5), (1, -0.9)):
        changed = KBinsDiscretizer(4, strategy=strategy, subsample=subsample, random_state=0).fit(
            X, sample_weight=weight
        )
        changed.bin_edges_[column][2] += move
        rejected(changed, X, None, weight)
    if subsample is None and strategy != "kmeans":
        model.bin_edges_[0][2] += 1e-9  # no rounding is that large
        rejected(model, X, None, weight)


@pytest.mark.parametrize("method", ["linear", "inverted_cdf", "hazen"])
def test_bins_of_other_quantiles(method):
    model = KBinsDiscretizer(5, quantile_method=method, subsample=None).fit(X[:, :2])
    assert qed.verify(model, X[:, :2]).holds
    model.bin_edges_[1][3] *= 1.05
    rejected(model, X[:, :2])


@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("extrapolation", ["constant", "periodic"])
@pytest.mark.parametrize("weight", [None, S])
def test_knots(knots, extrapolation, weight):
    model = SplineTransformer(knots=knots, extrapolation=extrapolation).fit(X, sample_weight=weight)
    assert qed.verify(model, X, sample_weight=weight).holds
    for place in (0, 5, -1):
        model = SplineTransformer(knots=knots, extrapolation=extrapolation).fit(X, sample_weight=weight)
        model.knots_[place, 1] += 1e-9
        rejected(model, X, None, weight)


def test_pieces_bumps_and_given_knots():
    given = SplineTransformer(knots=np.array([[0.0] * 3, [1.0] * 3])).fit(X)
    assert qed.verify(given, X).holds
    given.knots_[3, 0] += 0.1
    rejected(given, X)
    pieces, bumps = PiecewiseBasis().fit(X), RadialBasis().fit(X)
    assert qed.verify(pieces, X).holds
    assert qed.verify(bumps, X).holds
    pieces.knots_[1][0] += 1e-9
    rejected(pieces, X)
    bumps.width_ = bumps.width_ * 1.001
    rejected(bumps, X)
    placed = RadialBasis(centers=[[0.0, 0.0, 0.0]], width=2.0).fit(X)
    assert qed.verify(placed, X).holds
    placed.centers_ = placed.centers_ + 1.0
    rejected(placed, X)


@pytest.mark.parametrize("subsample", [None, 200])
def test_quantiles(subsample):
    gaps = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    model = QuantileTransformer(n_quantiles=50, subsample=subsample, random_state=0).fit(gaps)
    assert qed.verify(model, gaps).holds
    model.quantiles_[25, 0] += 1e-9 if subsample is None else 1.0
    if subsample is not None:
        model.quantiles_[26:, 0] += 1.0
    rejected(model, gaps)
    sparse = sp.csr_array(np.where(X > 0.5, np.abs(X), 0.0))
    for ignore in (False, True):
        model = QuantileTransformer(n_quantiles=20, ignore_implicit_zeros=ignore).fit(sparse)
        assert qed.verify(model, sparse).holds
        model.quantiles_[19, 1] += 1e-9
        rejected(model, sparse)


@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"max_df": 0.5}, {"max_features": 3}, {"ngram_range": (1, 2)}])
@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
def test_vocabularies(kind, options):
    model = kind(**options).fit(TEXTS)
    assert qed.verify(model, TEXTS).holds
    assert qed.verify(model, (text for text in TEXTS)).holds
    first = next(iter(model.vocabulary_))
    model.vocabulary_ = {("yak" if word == first else word): place for word, place in model.vocabulary_.items()}
    rejected(model, TEXTS)
    model = kind(**options).fit(TEXTS)
    model.vocabulary_ = dict(zip(model.vocabulary_, reversed(model.vocabulary_.values()), strict=True))
    rejected(model, TEXTS)


def test_weights_of_words():
    for smooth in (True, False):
        model = TfidfVectorizer(smooth_idf=smooth).fit(TEXTS)
        model.weights_.idf_[2] *= 1.0001
        rejected(model, TEXTS)
        weights = TfidfTransformer(smooth_idf=smooth).fit(COUNTS)
        assert qed.verify(weights, COUNTS).holds
        assert qed.verify(weights, COUNTS.toarray()).holds
        weights.idf_[0] += 1e-9
        rejected(weights, COUNTS)


@pytest.mark.parametrize("kind", [OneHotEncoder, OrdinalEncoder])
@pytest.mark.parametrize("options", [{"min_frequency": 40}, {"min_frequency": 0.1}, {"max_categories": 3}])
def test_rare_categories(kind, options):
    model = kind(**options).fit(WORDS)
    assert qed.verify(model, WORDS).holds
    model.rare_[0] = np.array([0, 1])
    rejected(model, WORDS)
    model.rare_[0] = None
    rejected(model, WORDS)


@pytest.mark.parametrize("smooth", ["auto", 0.0, 10.0])
@pytest.mark.parametrize(
    "y", [X[:, 0] + (WORDS[:, 0] == "cat"), X[:, 0] > 0, np.array(["u", "v", "w"])[RNG.integers(0, 3, 400)]]
)
def test_codes_of_categories(smooth, y):
    model = TargetEncoder(smooth=smooth).fit(WORDS, y)
    assert qed.verify(model, WORDS, y).holds
    model.encodings_[1][2] += 1e-6
    rejected(model, WORDS, y)
    model = TargetEncoder(smooth=smooth).fit(WORDS, y)
    rejected(model, WORDS, y[::-1])
    model.target_mean_ = model.target_mean_ + 1e-6
    rejected(model, WORDS, y)
    model = TargetEncoder(smooth=smooth).fit(WORDS, y)
    model.categories_[0] = model.categories_[0][::-1].copy()
    rejected(model, WORDS, y)


def test_most_frequent_fillings():
    table = np.where(RNG.random(WORDS.shape) < 0.1, None, WORDS)
    model = SimpleImputer(missing_values=None, strategy="most_frequent").fit(table)
    assert qed.verify(model, table).holds
    model.statistics_[0] = "emu"
    rejected(model, table)
    numbers = np.where(RNG.random(X.shape) < 0.1, np.nan, np.round(X))
    model = SimpleImputer(strategy="most_frequent").fit(numbers)
    assert qed.verify(model, numbers).holds
    model.statistics_[1] += 1
    rejected(model, numbers)


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("weight", [None, S])
def test_the_final_model_of_a_stack_is_verified(passthrough, weight):
    y = X @ [1.0, 2.0, -0.1] + RNG.normal(size=400)
    members = [("ridge", Ridge()), ("lasso", Lasso(alpha=0.1))]
    stack = StackingRegressor(members, Ridge(alpha=2.0), passthrough=passthrough).fit(X, y, sample_weight=weight)
    assert qed.verify(stack, X, y, sample_weight=weight).holds
    stack.final_estimator_.coef_ = stack.final_estimator_.coef_ * 1.01
    rejected(stack, X, y, weight)
    labels = np.where(y > 0, "yes", "no")
    voted = StackingClassifier([("weak", LogisticRegression(C=0.1))], LogisticRegression(), passthrough=passthrough)
    voted.fit(X, labels, sample_weight=weight)
    assert qed.verify(voted, X, labels, sample_weight=weight).holds
    voted.final_estimator_.coef_ = voted.final_estimator_.coef_ * 1.1
    rejected(voted, X, labels, weight)
    prefit = StackingRegressor([(n, m.fit(X, y)) for n, m in members], Ridge(), cv="prefit").fit(X, y)
    assert qed.verify(prefit, X, y).holds
    prefit.final_estimator_.intercept_ += 0.1
    rejected(prefit, X, y)

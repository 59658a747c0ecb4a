"""Naive Bayes models of counts, properties and categories."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import sklearn.naive_bayes
from sklearn.datasets import make_multilabel_classification

import qed
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.linear_model import margins, robustness_radius
from qed.metrics import log_loss
from qed.model_selection import GridSearchCV, StratifiedKFold
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from qed.preprocessing import CountVectorizer

rng = np.random.default_rng(0)
X = rng.poisson(0.7, size=(90, 6)).astype(float)
Y = rng.integers(0, 3, 90)
X[Y == 1, 0] += 1
S = rng.integers(0, 4, 90).astype(float)
KINDS = [MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]
every_kind = pytest.mark.parametrize("kind", KINDS)


def theirs(model):
    return getattr(sklearn.naive_bayes, type(model).__name__)(**model.get_params())


def same_logs(a, b):
    stacked = [np.hstack(one) if isinstance(one, list) else one for one in (a, b)]
    np.testing.assert_allclose(*stacked, rtol=1e-12, atol=1e-13)


@every_kind
@pytest.mark.parametrize(
    "options", [{}, {"alpha": 0.25}, {"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}], ids=str
)
def test_agrees_with_scikit_learn(kind, options):
    model = kind(**options)
    ours, other = model.fit(X, Y), theirs(model).fit(X.astype(int), Y)
    same_logs(ours.feature_log_prob_, other.feature_log_prob_)
    np.testing.assert_allclose(ours.class_log_prior_, other.class_log_prior_, rtol=1e-13)
    np.testing.assert_allclose(ours.predict_log_proba(X), other.predict_log_proba(X.astype(int)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), other.predict_joint_log_proba(X.astype(int)), rtol=1e-10, atol=1e-12
    )
    assert np.array_equal(ours.predict(X), other.predict(X.astype(int)))


def test_options_of_their_own_agree_too():
    for model in (ComplementNB(norm=True), BernoulliNB(binarize=1.5), MultinomialNB(alpha=np.arange(6) / 4.0)):
        np.testing.assert_allclose(
            model.fit(X, Y).predict_proba(X), theirs(model).fit(X, Y).predict_proba(X), atol=1e-12
        )
    model = CategoricalNB(min_categories=[9, 8, 7, 9, 8, 7]).fit(X, Y)
    assert model.n_categories_.tolist() == [9, 8, 7, 9, 8, 7]
    same_logs(model.feature_log_prob_, theirs(model).fit(X.astype(int), Y).feature_log_prob_)
    assert (
        BernoulliNB(binarize=None).fit(X > 0, Y).predict(X > 0).tolist() == BernoulliNB().fit(X, Y).predict(X).tolist()
    )


@every_kind
def test_weights_chunks_streams_and_forgetting_are_exact(kind):
    whole = kind().fit(X, Y, S)
    stream, chunks = kind(), ArraySource(X, Y, S, chunk_rows=13)
    for start in range(0, 90, 40):
        rows = slice(start, start + 40)
        stream.partial_fit(X[rows], Y[rows], [0, 1, 2], S[rows])
    repeated = kind().fit(np.repeat(X, S.astype(int), axis=0), np.repeat(Y, S.astype(int)))
    folded = kind().fit(chunks)
    for other in (stream, repeated, folded):
        for one, same in (
            zip(np.atleast_1d(other.feature_log_prob_), np.atleast_1d(whole.feature_log_prob_), strict=True)
            if (kind is not CategoricalNB)
            else zip(other.feature_log_prob_, whole.feature_log_prob_, strict=True)
        ):
            np.testing.assert_array_equal(one, same)
        np.testing.assert_array_equal(other.class_count_, whole.class_count_)
    assert np.array_equal(folded.predict(chunks), whole.predict(X))
    left = kind().fit(X, Y).forget(X[:20], Y[:20])
    same_logs(left.feature_log_prob_, kind().fit(X[20:], Y[20:]).feature_log_prob_)
    with pytest.raises(qed.ForgetError):
        left.forget(X, Y)


@pytest.mark.parametrize("kind", KINDS[:3])
def test_sparse_and_narrow_tables_give_the_same_model(kind):
    dense = kind().fit(X, Y, S)
    for rows in (scipy.sparse.csr_array(X), scipy.sparse.csc_array(X), scipy.sparse.csr_matrix(X.astype(np.float32))):
        model = kind().fit(rows, Y, S)
        np.testing.assert_array_equal(model.feature_count_, dense.feature_count_)
        np.testing.assert_allclose(model.predict_log_proba(rows), dense.predict_log_proba(X), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(kind().fit(X.astype(np.float32), Y, S).feature_count_, dense.feature_count_)
    counts, labels = make_multilabel_classification(200, 30, n_classes=1, random_state=0)
    assert kind().fit(scipy.sparse.csr_array(counts), labels[:, 0]).score(counts, labels[:, 0]) > 0.5


@pytest.mark.covers("GEN-11")
@pytest.mark.parametrize("kind", KINDS[:3])
def test_scores_are_linear_as_those_of_linear_models(kind):
    two = Y < 2
    model = kind().fit(X[two], Y[two])
    counts = (X > 0) if kind is BernoulliNB else X
    scores = counts @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-10)
    assert np.array_equal(model.predict(X), (scores > 0).astype(int))
    three = kind().fit(X, Y)
    np.testing.assert_allclose(
        three.decision_function(X), counts @ three.coef_.T + three.intercept_, rtol=1e-10, atol=1e-12
    )
    rows = np.asarray(counts, dtype=float)[two]  # properties as they are counted
    assert (margins(model, rows, Y[two]) > 0).mean() == model.score(X[two], Y[two])
    if kind is MultinomialNB:
        radius = robustness_radius(model, X)
        np.testing.assert_allclose(radius, np.abs(scores) / np.linalg.norm(model.coef_[0]), rtol=1e-9)


@pytest.mark.covers("GEN-09", "GEN-13")
def test_shares_of_values_and_the_full_joint_table():
    model = CategoricalNB(alpha=0.0).fit(X, Y)
    for j, logs in enumerate(model.feature_log_prob_):
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, rtol=1e-13)  # over the values of a column
        for k in range(3):
            for value in range(logs.shape[1]):
                share = np.mean(X[k == Y, j] == value)
                assert np.exp(logs[k, value]) == pytest.approx(share, abs=1e-14)
    # all columns as one: 2^d cells a class; it is the naive model only where columns are independent within classes
    bits = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    independent = np.repeat(bits, [4, 2, 2, 1], axis=0)  # P(a) P(b) = 2/3, 1/3 each
    dependent = np.repeat(bits, [4, 1, 1, 3], axis=0)
    for rows, agree in ((independent, True), (dependent, False)):
        both = np.vstack([rows, bits])
        labels = np.repeat([0, 1], [len(rows), 4])
        cells = CategoricalNB(alpha=0.0).fit(both @ [[2], [1]], labels)
        assert cells.category_count_[0].size == 2**3
        naive = CategoricalNB(alpha=0.0).fit(both, labels)
        same = np.allclose(cells.predict_proba(bits @ [[2], [1]]), naive.predict_proba(bits), atol=1e-12)
        assert same == agree


@pytest.mark.covers("GEN-10")
def test_smoothing_is_a_prior_and_its_strength_can_be_chosen():
    rows, labels = np.array([[0], [0], [0], [1]]), np.array([0, 0, 1, 1])
    plain, smooth = CategoricalNB(alpha=0.0).fit(rows, labels), CategoricalNB(alpha=1.0).fit(rows, labels)
    assert np.exp(plain.feature_log_prob_[0][0, 1]) == 0
    # Dirichlet(1 + alpha): the mode is (count + alpha) / (rows + alpha * values)
    assert np.exp(smooth.feature_log_prob_[0][0, 1]) == pytest.approx(1 / 4)
    one = BernoulliNB(alpha=1.0).fit([[1], [0]], [0, 1])  # one positive: Beta(2, 2) puts the mode at 2/3
    assert np.exp(one.feature_log_prob_[0, 0]) == pytest.approx(2 / 3)
    folds = StratifiedKFold(3)
    strengths = [0.01, 0.1, 1.0, 10.0, 100.0]
    search = GridSearchCV(MultinomialNB(), {"alpha": strengths}, scoring="neg_log_loss", cv=folds).fit(X, Y)
    losses = [
        np.mean(
            [
                log_loss(
                    Y[test], MultinomialNB(alpha=alpha).fit(X[train], Y[train]).predict_proba(X[test]), labels=[0, 1, 2]
                )
                for train, test in folds.split(X, Y)
            ]
        )
        for alpha in strengths
    ]
    assert search.best_params_["alpha"] == strengths[int(np.argmin(losses))]
    np.testing.assert_allclose(search.best_score_, -min(losses), rtol=1e-12)


@pytest.mark.covers("GEN-29")
def test_spam():
    texts = ["win money", "win win", "meet today", "money today"]
    words = CountVectorizer()
    model = MultinomialNB().fit(words.fit_transform(texts), ["spam", "spam", "other", "other"])
    share = dict(zip(words.get_feature_names_out(), np.exp(model.feature_log_prob_).T, strict=True))
    assert share["win"][1] == pytest.approx(1 / 2)
    assert share["today"][0] == pytest.approx(3 / 8)
    assert model.predict_proba(words.transform(["win money"]))[0, 1] == pytest.approx(0.8)


def test_what_no_class_can_produce_gets_the_priors_and_never_nan():
    model = MultinomialNB(alpha=0.0).fit([[1, 0], [1, 0], [0, 1]], [0, 0, 1])
    assert np.array_equal(model.predict_proba([[1, 0], [0, 1]]), [[1, 0], [0, 1]])
    np.testing.assert_allclose(model.predict_proba([[1, 1]]), [[2 / 3, 1 / 3]])
    bits = BernoulliNB(alpha=0.0).fit([[1, 0], [1, 0], [0, 1]], [0, 0, 1])
    assert np.array_equal(bits.predict_proba([[1, 0], [0, 1]]), [[1, 0], [0, 1]])
    np.testing.assert_allclose(bits.predict_proba([[1, 1]]), [[2 / 3, 1 / 3]])
    values = CategoricalNB(alpha=0.0).fit([[0], [0], [1]], [0, 0, 1])
    np.testing.assert_allclose(values.predict_proba([[0], [7]]), [[1, 0], [2 / 3, 1 / 3]])
    with pytest.raises(qed.InvalidData, match="alpha above zero"):
        ComplementNB(alpha=0.0).fit([[1, 0], [0, 1]], [0, 1])
    huge = MultinomialNB().fit(X, Y)
    assert np.isfinite(huge.predict_proba(np.full((1, 6), 1e300))).all()
    with pytest.warns(UserWarning, match="alpha too small"):
        MultinomialNB(alpha=0.0, force_alpha=False).fit(X, Y)


def test_refusals_in_words():
    for model, rows, words in (
        (MultinomialNB(), -X, "Negative values"),
        (CategoricalNB(), -X, "Negative values"),
        (BernoulliNB(binarize=None), X, "zeros and ones"),
        (BernoulliNB(), np.where(X > 2, np.nan, X), "NaN"),
        (CategoricalNB(), X * 1e9, "values at most"),
    ):
        with pytest.raises(qed.InvalidData, match=words):
            model.fit(rows, Y)
    for model, words in (
        (MultinomialNB(alpha=[1.0, 2.0]), "n_features"),
        (CategoricalNB(min_categories=[1, 2]), "min_categories"),
        (MultinomialNB(class_prior=[0.5, 0.5]), "Number of priors"),
    ):
        with pytest.raises(qed.InvalidParameter, match=words):
            model.fit(X, Y)


@every_kind
def test_files(kind):
    model = kind().fit(X, Y, S)
    again = loads(dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.moments_ == model.moments_
    broken = loads(dumps(model))
    broken.class_log_prior_ = np.full(3, np.nan)
    with pytest.raises(qed.ModelFileError):
        loads(dumps(broken))


@pytest.mark.parametrize("kind", KINDS[:2])
def test_rank_of_scores_is_that_of_probabilities(kind):
    two = Y < 2
    model = kind().fit(X[two], Y[two])
    scores, shares = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert np.array_equal(np.argsort(scores, kind="stable"), np.argsort(shares, kind="stable"))


@pytest.mark.covers("GEN-04")
def test_the_joint_gives_the_conditional_and_not_conversely():
    values, labels = np.array([[0], [0], [1], [1]]), np.array([0, 1, 0, 1])
    one = CategoricalNB(alpha=0.0).fit(values, labels, [1, 1, 1, 3])
    other = CategoricalNB(alpha=0.0).fit(values, labels, [5, 5, 1, 3])
    np.testing.assert_allclose(one.predict_proba([[0], [1]]), [[0.5, 0.5], [0.25, 0.75]], rtol=1e-14)
    np.testing.assert_allclose(other.predict_proba([[0], [1]]), one.predict_proba([[0], [1]]), rtol=1e-14)
    np.testing.assert_allclose(np.exp(one.score_samples([[0], [1]])), [1 / 3, 2 / 3], rtol=1e-14)
    np.testing.assert_allclose(np.exp(other.score_samples([[0], [1]])), [10 / 14, 4 / 14], rtol=1e-14)

"""Several classes by classifiers of two: books of codes, votes, and how answers are read."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import multiclass as theirs
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC as TheirSVC

import qed
from qed import CertificateError, InvalidParameter
from qed.compose import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier, binary_codes
from qed.convex import CrammerSinger, Hinge, Squared, joint_risk, risk
from qed.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from qed.preprocessing import PolynomialFeatures
from qed.svm import LinearSVC

X, y = load_iris(return_X_y=True)
names = np.array(["setosa", "versicolor", "virginica"])[y]
weights = np.random.default_rng(0).integers(0, 3, len(y))


def tight():
    return LinearSVC(tol=1e-10)


def planes(model, coef, intercept):
    """Set the planes of a fitted model of models by hand."""
    for part, w, b in zip(model.estimators_, coef, intercept, strict=True):
        part.coef_, part.intercept_ = np.array([w], dtype=float), np.array([b], dtype=float)
    return model


@pytest.mark.covers("MUL-01", "MUL-06")
@pytest.mark.parametrize("kind", ["OneVsRestClassifier", "OneVsOneClassifier"])
def test_agrees_with_scikit_learn(kind):
    ours = {"OneVsRestClassifier": OneVsRestClassifier, "OneVsOneClassifier": OneVsOneClassifier}[kind](tight())
    ours.fit(X, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = getattr(theirs, kind)(TheirSVC(dual=False, tol=1e-9, max_iter=100_000)).fit(X, names)
    assert len(ours.estimators_) == 3  # classes, and pairs of them
    np.testing.assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    np.testing.assert_array_equal(ours.predict(csr_array(X)), ours.predict(X))
    if kind == "OneVsRestClassifier":
        scores = np.stack([part.decision_function(X) for part in ours.estimators_], axis=1)
        np.testing.assert_array_equal(ours.predict(X), ours.classes_[scores.argmax(axis=1)])
    assert qed.verify(ours, X, names).holds
    ours.estimators_[1].coef_ = 1.1 * ours.estimators_[1].coef_
    with pytest.raises(CertificateError):
        qed.verify(ours, X, names)


@pytest.mark.parametrize("kind", [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier])
def test_a_weight_is_a_repetition(kind):
    options = {"random_state": 0, "code_size": 2.0} if kind is OutputCodeClassifier else {}
    weighed = kind(tight(), **options).fit(X, names, weights)
    repeated = kind(tight(), **options).fit(np.repeat(X, weights, axis=0), np.repeat(names, weights))
    for a, b in zip(weighed.estimators_, repeated.estimators_, strict=True):
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)
    assert qed.verify(weighed, X, names, weights).holds
    with pytest.raises(InvalidParameter, match="must be a classifier"):
        kind(None).fit(X, y)


def test_probabilities_sum_to_one_and_two_classes_need_one_classifier():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, names)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    other = theirs.OneVsRestClassifier(LogisticRegression()).fit(X, names)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    pair = OneVsRestClassifier(LogisticRegression()).fit(X[y < 2], names[y < 2])
    assert len(pair.estimators_) == 1
    assert pair.decision_function(X).shape == (150,)
    assert not hasattr(OneVsRestClassifier(LinearSVC()).fit(X, y), "predict_proba")


@pytest.mark.covers("MUL-02")
def test_scores_of_longer_coefficients_win_only_without_normalisation():
    rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]] * 2
    point = [[1.0, 0.9]]
    for normalise, flips in ((False, True), (True, False)):
        model = OneVsRestClassifier(LinearSVC(), normalise=normalise).fit(rows, ["a", "b", "c"] * 2)
        planes(model, [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])
        before = model.predict(point)[0]
        planes(model, [[1.0, 0.0], [0.0, 5.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])
        assert before == "a"
        assert (model.predict(point)[0] != before) == flips


@pytest.mark.covers("MUL-03")
def test_rows_that_no_class_or_two_classes_claim_are_reported():
    model = OneVsRestClassifier(LinearSVC()).fit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]] * 2, [0, 1, 2] * 2)
    planes(model, [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [-1.0, -1.0, -1.0])
    found = model.claims([[2.0, 0.0], [2.0, 2.0], [0.0, 0.0], [-3.0, 0.0]])
    assert found.counts.tolist() == [1, 2, 0, 1]
    assert found.several.tolist() == [1]
    assert found.none.tolist() == [2]


@pytest.mark.covers("MUL-04")
def test_each_classifier_sees_one_row_in_c_on_its_positive_side():
    book = OneVsRestClassifier(LinearSVC()).fit(np.eye(50), np.arange(50)).code_book_
    np.testing.assert_array_equal((book > 0).mean(axis=0), np.full(50, 1 / 50))
    np.testing.assert_array_equal((book < 0).sum(axis=0), np.full(50, 49))
    # each of them is the optimum for its own class against all others, one row in three of the flowers
    model = OneVsRestClassifier(LogisticRegression(C=0.5, tol=1e-14)).fit(X, names)
    for k, part in enumerate(model.estimators_):
        p = 1 / (1 + np.exp(-(X @ part.coef_[0] + part.intercept_[0])))
        assert p.mean() == pytest.approx(1 / 3, abs=1e-9)
        np.testing.assert_allclose(0.5 * X.T @ ((y == k) - p), part.coef_[0], atol=1e-6)
    # rows that say nothing: every classifier is left with the share of its class
    silent = OneVsRestClassifier(LogisticRegression(C=np.inf, tol=1e-13)).fit(np.zeros((1000, 1)), np.arange(1000) % 20)
    np.testing.assert_allclose([part.intercept_[0] for part in silent.estimators_], -np.log(19), rtol=1e-8)


@pytest.mark.covers("MUL-05")
def test_a_class_between_two_others_is_not_linear_against_the_rest():
    line, labels = np.arange(9.0)[:, None], np.repeat(["a", "b", "c"], 3)
    machine = LinearSVC(C=1000.0)
    rest = OneVsRestClassifier(machine).fit(line, labels)
    assert np.all(rest.estimators_[1].predict(line[3:6]) == 0)  # its own rows are not told from the others
    assert OneVsOneClassifier(machine).fit(line, labels).score(line, labels) == 1.0
    lifted = PolynomialFeatures(2, include_bias=False).fit_transform(line - 4)
    assert OneVsRestClassifier(machine).fit(lifted, labels).score(lifted, labels) == 1.0
    with pytest.raises(qed.InvalidData, match="No hyperplane separates"):
        OneVsRestClassifier(LinearSVC(C=np.inf)).fit(line, labels)


@pytest.mark.covers("MUL-06", "MUL-07")
def test_votes_sum_to_the_pairs_and_cycles_are_ties():
    model = OneVsOneClassifier(LinearSVC()).fit([[0.0], [1.0], [2.0]] * 2, [0, 1, 2] * 2)
    planes(model, [[0.0]] * 3, [-1.0, -1.0, 1.0])  # 0 beats 1, 0 beats 2, 2 beats 1
    assert model.votes([[0.0]]).tolist() == [[2, 0, 1]]
    assert model.predict([[0.0]]).tolist() == [0]
    assert model.tied([[0.0]]).tolist() == []
    planes(model, [[0.0]] * 3, [-1.0, 1.0, -1.0])  # 0 beats 1, 2 beats 0, 1 beats 2
    assert model.votes([[0.0]]).tolist() == [[1, 1, 1]]
    assert model.tied([[0.0]]).tolist() == [0]
    assert model.predict([[0.0]]).tolist() == [0]  # equal sums of scores: the first
    planes(model, [[0.0]] * 3, [-1.0, 5.0, -1.0])
    assert model.predict([[0.0]]).tolist() == [2]  # the larger sum of scores decides
    assert np.all(model.votes(X[:, :1]).sum(axis=1) == 3)


@pytest.mark.covers("MUL-09", "MUL-10")
def test_the_joint_hinge_and_its_slope():
    scores = np.array([[3.0, 1.9, 0.0], [3.0, 2.5, 0.0], [1.0, 2.0, 4.0], [2.0, 1.0, 0.0]])
    loss = CrammerSinger(np.zeros(4), 3)
    by_hand = [max(0.0, 1 + max(row[1:]) - row[0]) for row in scores]
    np.testing.assert_allclose(loss.value(scores), by_hand)
    assert loss.value(scores)[[0, 3]].tolist() == [0.0, 0.0]  # zero iff ahead by one
    slope = loss.slope(scores)
    assert slope[0].tolist() == [0.0, 0.0, 0.0]
    assert slope[1].tolist() == [-1.0, 1.0, 0.0]  # right, and yet short of the margin
    assert slope[2].tolist() == [-1.0, 0.0, 1.0]
    pairs = np.random.default_rng(0).normal(size=(30, 2))
    label = np.arange(30) % 2
    signs = np.where(label == 0, 1.0, -1.0)
    np.testing.assert_allclose(CrammerSinger(label, 2).value(pairs), Hinge(signs).value(pairs[:, 0] - pairs[:, 1]))


@pytest.mark.covers("MUL-12")
def test_binary_codes_are_the_shortest():
    for c, bits in ((2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)):
        book = binary_codes(c)
        assert book.shape == (c, bits)
        np.testing.assert_array_equal((book > 0) @ (1 << np.arange(bits)[::-1]), np.arange(c))
    model = OutputCodeClassifier(tight(), code_book="binary", decoding="hamming").fit(X, names)
    assert len(model.estimators_) == 2
    parity = np.column_stack([(binary_codes(4) > 0), np.ones(4)]).astype(float)
    exact = OutputCodeClassifier(LinearSVC(C=100.0), code_book="binary").fit(parity, list("abcd"))
    assert exact.predict(parity).tolist() == list("abcd")


@pytest.mark.covers("MUL-13")
def test_every_single_wrong_bit_of_a_hamming_code_is_corrected():
    data = (np.arange(16)[:, None] >> np.arange(4)) & 1
    d1, d2, d3, d4 = data.T
    book = 2 * np.column_stack([d1 ^ d2 ^ d4, d1 ^ d3 ^ d4, d1, d2 ^ d3 ^ d4, d2, d3, d4]) - 1
    apart = (book[:, None, :] != book[None, :, :]).sum(axis=2)
    assert apart[~np.eye(16, dtype=bool)].min() == 3
    model = OutputCodeClassifier(LinearSVC(C=100.0), code_book=book, decoding="hamming").fit(book, np.arange(16))
    planes(model, np.eye(7), np.zeros(7))  # the classifiers repeat the bits of the row
    assert model.predict(book).tolist() == list(range(16))
    for bit in range(7):
        flipped = book * np.where(np.arange(7) == bit, -1, 1)
        assert model.predict(flipped).tolist() == list(range(16))
        assert np.all(model.distances(flipped).min(axis=1) == 1)
    few = OutputCodeClassifier(LinearSVC(), code_book=[[1, 1, 1], [-1, -1, -1]], decoding="hamming").fit(
        [[1.0], [0.0]], [0, 1]
    )
    planes(few, [[1.0]] * 3, [0.0, 0.0, -1.0])
    assert few.predict([[0.5]]).tolist() == [0]  # (+, +, -) is no word: the nearest is the first


@pytest.mark.parametrize("decoding", ["euclidean", "hamming", "hinge", "exponential"])
def test_random_codes_and_their_decodings(decoding):
    model = OutputCodeClassifier(LogisticRegression(), code_size=6, random_state=3, decoding=decoding).fit(X, names)
    assert model.code_book_.shape == (3, 18)
    assert model.score(X, names) > 0.6
    assert qed.verify(model, X, names).holds
    again = OutputCodeClassifier(LogisticRegression(), code_size=6, random_state=3, decoding=decoding).fit(X, names)
    np.testing.assert_array_equal(model.code_book_, again.code_book_)
    said = np.stack([part.decision_function(X) for part in model.estimators_], axis=1)
    book = model.code_book_.astype(float)
    by_hand = {
        "euclidean": lambda s: np.sqrt(((s - book) ** 2).sum(axis=1)),
        "hamming": lambda s: (np.where(s > 0, 1, -1) != book).sum(axis=1),
        "hinge": lambda s: np.maximum(1 - s * book, 0).sum(axis=1),
        "exponential": lambda s: np.exp(-s * book).sum(axis=1),
    }[decoding]
    np.testing.assert_allclose(model.distances(X[::30]), [by_hand(s) for s in said[::30]])


def test_books_that_tell_nothing_are_refused_in_words():
    for book, words in (
        ("decimal", "must be 'binary'"),
        ([[1], [-1]], "a row of"),
        ([[1, 1], [1, -1], [1, 1]], "another code word"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            OutputCodeClassifier(LinearSVC(), code_book=book).fit(X, y)
    with pytest.raises(InvalidParameter, match="larger code_size"):
        OutputCodeClassifier(LinearSVC(), code_size=0.34).fit(X, y)


@pytest.mark.covers("MUL-16")
def test_probabilities_by_one_vector_less_than_classes():
    model = LogisticRegression(C=2.0, tol=1e-14).fit(X, y)
    for reference in model.classes_:
        w, b = model.log_odds_coefficients(reference)
        assert (w.shape, b.shape) == ((2, 4), (2,))
        power = np.exp(X @ w.T + b)  # exponents are positive: a larger score is a likelier class
        own = 1 / (1 + power.sum(axis=1))
        p = np.insert(power * own[:, None], reference, own, axis=1)
        np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-9)
    np.testing.assert_allclose(2.0 * (np.eye(3)[y] - p).T @ X, model.coef_, atol=1e-6)  # the optimum
    pair = LogisticRegression(C=2.0, tol=1e-14).fit(X[y > 0], y[y > 0])
    (w,), (b,) = pair.log_odds_coefficients()  # one vector, and the probability is sigma(w x + b)
    np.testing.assert_array_equal(w, pair.coef_[0])
    p = 1 / (1 + np.exp(-(X @ w + b)))
    np.testing.assert_allclose(pair.predict_proba(X)[:, 1], p, rtol=1e-9)
    (against,), (level,) = pair.log_odds_coefficients(2)
    np.testing.assert_allclose(pair.predict_proba(X)[:, 0], 1 / (1 + np.exp(-(X @ against + level))), rtol=1e-9)
    with pytest.raises(InvalidParameter, match="must be one of the labels"):
        pair.log_odds_coefficients(0)
    np.testing.assert_allclose(2.0 * ((y == 2) - p)[y > 0] @ X[y > 0], pair.coef_[0], atol=1e-6)


@pytest.mark.covers("LIN-39")
def test_regressing_on_numbers_of_classes_depends_on_the_numbering():
    centred = X - X.mean(axis=0)

    def told(model, target, strength):  # with the closed form beside it
        found = model.fit(X, target).predict(X)
        w = np.linalg.solve(centred.T @ centred + strength * np.eye(4), centred.T @ target)
        np.testing.assert_allclose(found, target.mean(axis=0) + centred @ w, rtol=1e-8, atol=1e-10)
        return found

    plain = np.rint(told(LinearRegression(), y, 0.0)).clip(0, 2).astype(int)
    hot = told(Ridge(1e-3), np.eye(3)[y], 1e-3).argmax(axis=1)
    assert np.mean(hot == y) > 0.8
    for order in np.array([[1, 0, 2], [2, 0, 1], [0, 2, 1]]):
        other = np.rint(told(LinearRegression(), order[y], 0.0)).clip(0, 2).astype(int)
        assert np.any(order[plain] != other)
        hot_other = told(Ridge(1e-3), np.eye(3)[order[y]], 1e-3).argmax(axis=1)
        np.testing.assert_array_equal(order[hot], hot_other)


@pytest.mark.covers("MUL-19")
def test_losses_of_several_outputs_add_up_and_their_slopes_stand_in_blocks():
    random = np.random.default_rng(0)
    numbers, signs = random.normal(size=(20, 2)), random.choice([-1.0, 1.0], 20)
    first, second = random.normal(size=(20, 2)), random.normal(size=20)
    losses = [Squared(numbers), Hinge(signs)]
    value, slopes = joint_risk(losses, [first, second])
    by_hand = np.mean(0.5 * np.sum((first - numbers) ** 2, axis=1)) + np.mean(np.maximum(1 - signs * second, 0))
    assert value == pytest.approx(by_hand)
    assert value == pytest.approx(risk(losses[0], first) + risk(losses[1], second))
    for i, k in ((0, 0), (7, 1), (19, 0)):
        moved = np.array(first)
        moved[i, k] += 1e-6
        assert (joint_risk(losses, [moved, second])[0] - value) / 1e-6 == pytest.approx(slopes[0][i, k], abs=1e-5)
        np.testing.assert_array_equal(joint_risk(losses, [moved, second])[1][1], slopes[1])  # the other block stays
    np.testing.assert_allclose(slopes[1], np.where(signs * second < 1, -signs, 0.0) / 20)
    with pytest.raises(qed.InvalidData, match="same rows"):
        joint_risk(losses, [first, second[:3]])


def test_regressors_answer_by_how_far_they_are_from_one_half():
    from sklearn.linear_model import LinearRegression as Theirs  # noqa: PLC0415
    from sklearn.multiclass import OneVsRestClassifier as TheirRest  # noqa: PLC0415

    from qed.linear_model import LinearRegression  # noqa: PLC0415

    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 3))
    y = np.argmax(X @ [[1.0, 0.0, -1.0], [0.0, 1.0, 0.5], [0.0, 0.3, 1.0]], axis=1)
    ours = OneVsRestClassifier(LinearRegression()).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), TheirRest(Theirs()).fit(X, y).predict(X))


@pytest.mark.parametrize(
    "inner",
    [
        LinearSVC(tol=1e-12),
        LinearSVC(tol=1e-12, fit_intercept=False, C=20.0),
        LinearSVC(tol=1e-12, intercept_scaling=10.0),
        LogisticRegression(tol=1e-12),
        LogisticRegression(tol=1e-12, fit_intercept=False, C=20.0),
    ],
)
def test_planes_found_at_once_are_those_found_one_by_one(inner):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 6, 300)
    rows = rng.normal(size=(300, 7)) + 2.0
    rows[np.arange(300), labels] += 1.5
    for kind, more in (
        (OneVsOneClassifier, {}),
        (OneVsRestClassifier, {}),
        (OutputCodeClassifier, {"random_state": 0}),
    ):
        model = kind(inner, **more).fit(rows, labels)
        assert inner._fit_coded(model._fit_data(rows, labels, None), model.code_book_) is not None
        sides = model.code_book_[labels]
        for k, part in enumerate(model.estimators_):
            used = sides[:, k] != 0
            alone = qed.clone(inner).fit(rows[used], (sides[used, k] > 0).astype(int))
            np.testing.assert_allclose(part.coef_, alone.coef_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(part.intercept_, alone.intercept_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(part.certificate_.objective, alone.certificate_.objective, rtol=1e-11)
            np.testing.assert_allclose(part.certificate_.null_objective, alone.certificate_.null_objective)
            assert part.certificate_.reached
            assert part.certificate_.gap >= part.certificate_.objective - alone.certificate_.objective
            assert {*part.__dict__} == {*alone.__dict__}
        assert qed.verify(model, rows, labels).holds
        narrow = kind(inner, **more).fit(rows.astype(np.float32), labels)
        np.testing.assert_allclose(narrow.estimators_[0].coef_, model.estimators_[0].coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("inner", [LinearSVC(), LogisticRegression()])
def test_planes_found_at_once_have_the_same_bits_on_any_number_of_threads(inner):
    before = qed.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            found.append(np.concatenate([part.coef_ for part in OneVsOneClassifier(inner).fit(X, y).estimators_]))
    finally:
        qed.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_logistic_planes_at_once_bound_what_is_left_for_any_tolerance_and_scale():
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 4, 500)
    rows = rng.normal(size=(500, 5)) * [1.0, 1e-3, 1e4, 1.0, 3.0] + [0.0, 1.0, 1e5, -50.0, 0.0]
    rows[:, 0] += labels
    best = OneVsRestClassifier(LogisticRegression(tol=1e-13)).fit(rows, labels)
    for tol in (1e-1, 1e-4, 1e-8):
        model = OneVsRestClassifier(LogisticRegression(tol=tol)).fit(rows, labels)
        for part, least in zip(model.estimators_, best.estimators_, strict=True):
            proof = part.certificate_
            assert proof.reached
            assert proof.gap >= proof.objective - least.certificate_.objective
            sign = np.where(labels == model.estimators_.index(part), 1.0, -1.0)
            odds = sign * (rows @ part.coef_[0] + part.intercept_[0])
            told = np.logaddexp(0.0, -odds).sum() + 0.5 * np.sum(part.coef_**2)
            np.testing.assert_allclose(proof.objective, told, rtol=1e-11)
        assert qed.verify(model, rows, labels).holds


def test_rows_with_several_labels():
    has = np.column_stack([y == 0, y > 0, X[:, 0] > 5.8]).astype(int)
    ours = OneVsRestClassifier(tight()).fit(X, has)
    other = theirs.OneVsRestClassifier(TheirSVC(dual=False, tol=1e-9, max_iter=100_000)).fit(X, has)
    np.testing.assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    assert ours.multilabel_
    assert ours.score(X, has) == pytest.approx(other.score(X, has))
    assert qed.verify(ours, X, has).holds
    with pytest.raises(CertificateError):
        qed.verify(ours, X, 1 - has)
    sparse = OneVsRestClassifier(LogisticRegression()).fit(X, csr_array(has), sample_weight=weights)
    shares = sparse.predict_proba(X)
    np.testing.assert_allclose(shares[:, 0], sparse.estimators_[0].predict_proba(X)[:, 1])
    with pytest.raises(qed.InvalidData, match="Column 1 of y holds only 1"):
        OneVsRestClassifier(tight()).fit(X, np.column_stack([y == 0, y >= 0]))
    assert not OneVsRestClassifier(tight()).fit(X, y).multilabel_


@pytest.mark.parametrize("kind", [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier])
def test_books_of_codes_learn_from_streams(kind):
    random = np.random.default_rng(5)
    rows = random.normal(size=(240, 4))
    labels = np.array(list("abcd"))[np.digitize(rows[:, 0] + 0.3 * random.normal(size=240), [-0.7, 0.0, 0.7])]
    options = {"random_state": 0} if kind is OutputCodeClassifier else {}
    weights = random.integers(0, 3, 240)
    streamed = kind(RidgeClassifier(), **options)
    for first in range(0, 240, 24):
        part = slice(first, first + 24)
        streamed.partial_fit(rows[part], labels[part], classes=list("abcd"), sample_weight=weights[part])
    whole = kind(RidgeClassifier(), **options).fit(rows, labels, weights)
    for one, other in zip(streamed.estimators_, whole.estimators_, strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(streamed.predict(rows), whole.predict(rows))
    assert qed.verify(streamed, rows, labels, sample_weight=weights).holds
    with pytest.raises(qed.InvalidData, match="'z'"):
        streamed.partial_fit(rows[:1], ["z"])
    with pytest.raises(qed.InvalidParameter, match="classes must be passed"):
        kind(RidgeClassifier(), **options).partial_fit(rows, labels)
    assert not hasattr(kind(LogisticRegression(), **options), "partial_fit")


@pytest.mark.parametrize("model", [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier])
def test_one_weight_for_all_rows_is_verified(model):
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30) % 3
    assert qed.verify(model(LinearSVC()).fit(X, y, sample_weight=2.0), X, y, 2.0).holds


@pytest.mark.parametrize("decoding", ["euclidean", "hinge", "exponential"])
def test_words_are_told_apart_however_large_the_answers(decoding):
    rows = X - X.mean(axis=0)
    model = OutputCodeClassifier(LinearSVC(fit_intercept=False), code_book="binary", decoding=decoding).fit(rows, y)
    far = model.predict(1e4 * rows)
    for size in (1e20, 1e250):  # answers are linear in the rows
        np.testing.assert_array_equal(model.predict(size * rows), far)
        assert np.isfinite(model.distances(size * rows)).all()


def test_a_model_that_learns_other_columns_still_predicts():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    model.fit(X[:, :2], y)
    assert model.predict(X[:, :2]).shape == (150,)


@pytest.mark.parametrize(
    "model", [OneVsRestClassifier(LinearSVC()), OneVsOneClassifier(LinearSVC()), RidgeClassifier()], ids=str
)
def test_frames_are_verified_without_a_warning(model):
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert qed.verify(model.fit(frame, y), frame, y).holds


def test_planes_found_a_few_at_a_time_are_the_same_and_can_be_interrupted(monkeypatch):
    random = np.random.default_rng(3)
    rows, labels = random.normal(size=(300, 4)), random.integers(0, 6, 300)
    at_once = OneVsOneClassifier(LinearSVC()).fit(rows, labels)
    monkeypatch.setattr("qed.linear_model._coded.AT_ONCE", 1)
    told = []
    with qed.listen(lambda event: told.append((event.source, event.kind, event.step))):
        in_parts = OneVsOneClassifier(LinearSVC()).fit(rows, labels)
    assert [step for source, kind, step in told if (source, kind) == ("planes", "step")] == [4, 8, 12, 15]
    for one, other in zip(at_once.estimators_, in_parts.estimators_, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)

    def interrupt(event):
        if event.kind == "step":
            raise KeyboardInterrupt

    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        OneVsOneClassifier(LinearSVC()).fit(rows, labels)
    with qed.listen(lambda event: qed.STOP if event.kind == "step" else None):
        stopped = OneVsOneClassifier(LinearSVC()).fit(rows, labels)
    assert {part.certificate_.outcome for part in stopped.estimators_} <= {"stopped", "solved"}

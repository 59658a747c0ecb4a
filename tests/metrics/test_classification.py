"""Scores of labels agree with scikit-learn, for every option; and the counts of the curriculum."""

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.rows import labelled, outcome, same_answer

from qed import metrics as ours
from qed.core import InvalidData, InvalidParameter, UndefinedMetricWarning
from qed.model_selection import DummyClassifier

flags = st.booleans()
averages = st.sampled_from(["micro", "macro", "weighted", None])
zero_divisions = st.sampled_from(["warn", 0, 1.0, np.nan])


@given(rows=labelled(), normalize=flags)
def test_accuracy_and_losses(rows, normalize):
    y, t, s = rows
    for name in ("accuracy_score", "zero_one_loss"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, normalize=normalize, sample_weight=s)
    same_answer(ours.hamming_loss, theirs.hamming_loss, y, t, sample_weight=s)


@given(rows=labelled(), normalize=st.sampled_from(["true", "pred", "all", None]), some=st.integers(0, 5))
def test_confusion_matrix(rows, normalize, some):
    y, t, s = rows
    labels = None if some == 0 else np.unique(y)[::-1][:some]
    options = {"labels": labels, "normalize": normalize, "sample_weight": s}
    same_answer(ours.confusion_matrix, theirs.confusion_matrix, y, t, **options)
    got, _, _ = outcome(ours.confusion_matrix, y, t, labels=np.unique([y, t]))
    assert got.dtype == np.int64
    assert got.sum() == len(y)


@given(rows=labelled(), adjusted=flags)
def test_balanced_accuracy_and_correlation(rows, adjusted):
    y, t, s = rows
    same_answer(
        ours.matthews_corrcoef,
        theirs.matthews_corrcoef,
        y,
        t,
        sample_weight=s,
        atol=1e-9,
        alike=len(np.unique([y, t])) > 1,
    )
    if len(np.unique(y)) > 1:  # with one true class the adjusted score is 0 / 0 in both
        name = "balanced_accuracy_score"
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, sample_weight=s, adjusted=adjusted)


@given(rows=labelled(), how=st.sampled_from([None, "linear", "quadratic"]), some=st.integers(0, 3))
def test_kappa(rows, how, some):
    y, t, s = rows
    labels = None if some == 0 else np.unique(y)[:some]
    same_answer(
        ours.cohen_kappa_score, theirs.cohen_kappa_score, y, t, weights=how, sample_weight=s, labels=labels, atol=1e-9
    )


@given(rows=labelled(), average=averages, zero=zero_divisions, beta=st.sampled_from([0.5, 1, 2, 0, np.inf]))
def test_precision_recall_and_f(rows, average, zero, beta):
    y, t, s = rows
    options = {"average": average, "zero_division": zero, "sample_weight": s}
    for name in ("precision_score", "recall_score", "f1_score"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, **options)
    same_answer(ours.fbeta_score, theirs.fbeta_score, y, t, beta=beta, **options)
    name = "precision_recall_fscore_support"
    same_answer(getattr(ours, name), getattr(theirs, name), y, t, beta=beta, **options)


@given(rows=labelled(), average=averages, some=st.integers(1, 4), zero=zero_divisions)
def test_labels_choose_and_order(rows, average, some, zero):
    y, t, s = rows
    labels = np.unique(np.concatenate([y, t]))[::-1][:some]
    options = {"labels": labels, "average": average, "sample_weight": s}
    same_answer(ours.precision_score, theirs.precision_score, y, t, zero_division=zero, **options)
    if not isinstance(zero, float) or not np.isnan(zero):
        same_answer(ours.jaccard_score, theirs.jaccard_score, y, t, zero_division=zero, **options)


@given(rows=labelled(most_classes=2, kinds=("int", "str", "bool", "float")), zero=zero_divisions)
def test_binary_average(rows, zero):
    y, t, s = rows
    for pos_label in (1, "birch", 0):
        options = {"pos_label": pos_label, "zero_division": zero, "sample_weight": s}
        for name in ("precision_score", "recall_score", "f1_score"):
            same_answer(getattr(ours, name), getattr(theirs, name), y, t, **options)
    same_answer(ours.class_likelihood_ratios, theirs.class_likelihood_ratios, y, t, sample_weight=s)


@given(
    seed=st.integers(0, 2**32 - 1),
    average=st.sampled_from(["micro", "macro", "weighted", "samples", None]),
    weighted=flags,
    zero=st.sampled_from(["warn", 0, 1.0]),
)
def test_several_labels_a_row(seed, average, weighted, zero):
    random = np.random.default_rng(seed)
    y, t = random.integers(0, 2, (2, 12, 3))
    s = random.random(12) + 0.1 if weighted else None
    for name in ("accuracy_score", "zero_one_loss", "hamming_loss"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, sample_weight=s)
    options = {"average": average, "sample_weight": s, "zero_division": zero}
    for name in ("precision_score", "recall_score", "f1_score", "jaccard_score"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, **options)
    for samplewise in (False, True):
        name = "multilabel_confusion_matrix"
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, sample_weight=s, samplewise=samplewise)


@given(rows=labelled())
def test_one_against_all(rows):
    y, t, s = rows
    name = "multilabel_confusion_matrix"
    same_answer(getattr(ours, name), getattr(theirs, name), y, t, sample_weight=s)


@given(rows=labelled(), digits=st.integers(0, 4), as_dict=flags, zero=zero_divisions)
def test_report(rows, digits, as_dict, zero):
    y, t, s = rows
    # Without one hit scikit-learn prints supports as fractions; sums of fractions differ in their last digit.
    as_dict = as_dict or not (y == t).any() or (s is not None and (s != np.floor(s)).any())
    options = {"digits": digits, "output_dict": as_dict, "zero_division": zero, "sample_weight": s}
    same_answer(ours.classification_report, theirs.classification_report, y, t, **options)
    same_answer(ours.classification_report, theirs.classification_report, y, t, labels=np.unique(y)[:2], **options)


def test_report_takes_names_and_indicators():
    y, t = [0, 1, 2, 2, 0], [0, 0, 2, 1, 0]
    for names in (["a", "bb", "long name indeed"], ["a", "b"]):
        same_answer(ours.classification_report, theirs.classification_report, y, t, target_names=names)
    y, t = np.array([[1, 0, 1], [0, 1, 1]]), np.array([[1, 1, 1], [0, 0, 1]])
    same_answer(ours.classification_report, theirs.classification_report, y, t)


@pytest.mark.covers("MET-07", "MET-08", "MET-09")
def test_counts_of_the_curriculum():
    """TP 8, FP 2, FN 4, TN 86."""
    y = np.array([1] * 8 + [0] * 2 + [1] * 4 + [0] * 86)
    t = np.array([1] * 10 + [0] * 90)
    (tn, fp), (fn, tp) = ours.confusion_matrix(y, t)
    assert (tp, fp, fn, tn) == (8, 2, 4, 86)
    positives, negatives = tp + fn, tn + fp  # real
    assert positives + negatives == (tp + fp) + (tn + fn) == len(y) == 100
    assert ours.accuracy_score(y, t) == 0.94
    assert ours.precision_score(y, t) == 0.8
    assert ours.recall_score(y, t) == tp / positives == 8 / 12
    f1 = ours.f1_score(y, t)
    assert f1 == pytest.approx(8 / 11, rel=1e-15)
    assert f1 == pytest.approx(2 / (1 / 0.8 + 12 / 8), rel=1e-15)
    assert f1 == pytest.approx(2 * tp / (2 * tp + fp + fn), rel=1e-15)
    fpr, tpr, thresholds = ours.roc_curve(y, t)
    at = list(thresholds).index(1)
    assert tpr[at] == ours.recall_score(y, t)
    assert fpr[at] == pytest.approx(1 / 44, rel=1e-15)


@pytest.mark.covers("MET-01")
def test_risk_splits_by_class_and_the_majority_predictor_looks_good():
    y = np.array([1] * 5 + [0] * 95)
    t = np.array([1, 1, 0, 0, 0] + [1] * 4 + [0] * 91)
    (_, fp), (fn, _) = ours.confusion_matrix(y, t)
    assert fn / 100 + fp / 100 == pytest.approx(ours.zero_one_loss(y, t), rel=1e-12)
    assert ours.accuracy_score(y, np.zeros(100, dtype=int)) == 0.95


@pytest.mark.covers("MET-10")
def test_undefined_ratios_have_a_documented_value_and_raise_nothing():
    y, nobody = np.array([0, 1, 1, 0]), np.zeros(4, dtype=int)
    with pytest.warns(UndefinedMetricWarning, match="no predicted samples"):
        assert ours.precision_score(y, nobody) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="no true samples"):
        assert ours.recall_score(nobody, y) == 0.0
    assert ours.precision_score(y, nobody, zero_division=1.0) == 1.0
    assert np.isnan(ours.recall_score(nobody, y, zero_division=np.nan))


@pytest.mark.covers("MET-11")
def test_a_coin_has_equal_rates():
    random = np.random.default_rng(0)
    n, p = 200_000, 0.3
    y = random.random(n) < 0.2
    rows = np.zeros((n, 1))
    coin = DummyClassifier(strategy="stratified", random_state=1).fit(rows[:10], np.arange(10) < 10 * p)
    np.testing.assert_allclose(coin.predict_proba(rows[:1000]).mean(axis=0), [1 - p, p], atol=7 * np.sqrt(0.25 / 1000))
    t = coin.predict(rows)
    slack = 7 * np.sqrt(p * (1 - p) / min(y.sum(), (~y).sum()))  # seven deviations: false alarm below 1e-11
    (tn, fp), (fn, tp) = ours.confusion_matrix(y, t)
    assert abs(tp / (tp + fn) - p) < slack
    assert abs(fp / (fp + tn) - p) < slack
    assert ours.recall_score(y, t) == tp / (tp + fn)
    fpr, tpr, _ = ours.roc_curve(y, t)  # the point of the coin, between nobody and everybody
    np.testing.assert_allclose([fpr[1], tpr[1]], [p, p], atol=slack)


@pytest.mark.covers("MET-19", "MUL-20")
def test_three_animals():
    table = np.array([[5, 2, 0], [3, 7, 0], [1, 0, 6]])  # rows predicted, columns true
    names = np.array(["cat", "dog", "elephant"])
    predicted, true = (np.repeat(names[part.ravel()], table.ravel()) for part in np.indices(table.shape))
    assert (ours.confusion_matrix(true, predicted) == table.T).all()
    assert ours.accuracy_score(true, predicted) == 18 / 24
    precision, recall, _, _ = ours.precision_recall_fscore_support(true, predicted)
    assert precision[0] == pytest.approx(5 / 7)
    assert recall[0] == pytest.approx(5 / 9)
    assert recall[2] == 1
    assert ours.f1_score(true, predicted, average="micro") == ours.accuracy_score(true, predicted)


REFUSED = [
    (([0, 1], [0]), "inconsistent numbers of samples.*y_true has 2 rows, y_pred has 1"),
    (([], []), "empty"),
    (([0, 1], [0.2, 0.9]), "continuous is not supported.*predicted labels"),
    (([0, 1], ["a", "b"]), "Mix of label input types"),
    (([0.0, np.nan], [0, 1]), "NaN"),
    (([[0, 1], [1, 2]], [[0, 1], [1, 2]]), "multiclass-multioutput"),
    (([0, 1], [[0, 1], [1, 0]]), "mix of labels and multilabel"),
    ((["a", None], ["a", "a"]), "NaN.*row 1"),
]


@pytest.mark.parametrize(("rows", "words"), REFUSED)
def test_what_is_refused_and_how(rows, words):
    with pytest.raises(InvalidData, match=words):
        ours.accuracy_score(*rows)
    assert outcome(theirs.accuracy_score, *rows)[1] is not None


def test_options_are_checked():
    y, t = [0, 1, 2], [0, 1, 1]
    with pytest.raises(InvalidData, match="average='binary'"):
        ours.f1_score(y, t)
    with pytest.raises(InvalidParameter, match="average must be one of"):
        ours.f1_score(y, t, average="mean")
    with pytest.raises(InvalidParameter, match="zero_division"):
        ours.f1_score(y, t, average="macro", zero_division=2)
    with pytest.raises(InvalidParameter, match="normalize must be"):
        ours.confusion_matrix(y, t, normalize="rows")
    with pytest.raises(InvalidParameter, match="beta"):
        ours.fbeta_score(y, t, beta=-1, average="macro")
    with pytest.raises(InvalidData, match="pos_label=3"):
        ours.recall_score([0, 1], [1, 1], pos_label=3)
    with pytest.raises(InvalidData, match="Negative values"):
        ours.accuracy_score([0, 1], [0, 1], sample_weight=[1, -1])
    with pytest.raises(InvalidData, match="in y_true"):
        ours.confusion_matrix([0, 1], [0, 1], labels=[7])


def test_containers_are_all_the_same():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, t, s = ["a", "b", "b", "a"], ["a", "a", "b", "a"], [1.0, 2.0, 0.5, 0.5]
    want = ours.accuracy_score(y, t, sample_weight=s)
    for make in (np.array, tuple, pandas.Series, polars.Series, lambda v: np.array(v, dtype=object)):
        assert ours.accuracy_score(make(y), make(t), sample_weight=np.array(s)) == want
    frame = pandas.DataFrame({"y": y, "t": t, "s": s}, index=[5, 3, 1, 0])
    assert ours.accuracy_score(frame.y, frame.t, sample_weight=frame.s) == want
    assert ours.accuracy_score(frame.y.astype("category"), frame.t.astype("category"), sample_weight=frame.s) == want
    assert ours.accuracy_score([True, False], np.array([[1], [0]])) == 1.0
    masked = np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
    with pytest.raises(InvalidData, match="masked"):
        ours.accuracy_score(y, t, sample_weight=masked)
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[1, 0], [0, 1], [1, 1]])
    assert ours.accuracy_score(sparse.csr_array(rows), sparse.csc_array(rows)) == 1.0


def test_many_labels_need_no_square_table():
    n = 20_000
    y = np.arange(n) * 10**9
    assert ours.accuracy_score(y, y) == 1.0
    assert ours.f1_score(y, np.roll(y, 1), average="macro", zero_division=0) == 0.0

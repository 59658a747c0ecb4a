"""Curves and areas: agreement with scikit-learn, the theorems about them, and the worked example of the curriculum."""

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.metrics.rows import probable, same_answer, scored

from qed import metrics as ours
from qed.core import InvalidData, InvalidParameter, UndefinedMetricWarning

flags = st.booleans()
EXAMPLE = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]


@given(rows=scored(both=False), drop=flags)
def test_curves(rows, drop):
    y, score, s = rows
    for name in ("roc_curve", "precision_recall_curve", "det_curve"):
        # With fractions as weights scikit-learn decides by rounding which points lie on a line.
        kept = drop and (s is None or (s == np.floor(s)).all())
        options = {"sample_weight": s, "drop_intermediate": kept}
        if name == "det_curve" and s is not None and len(np.unique(y[s > 0])) < 2:
            continue  # scikit-learn divides by zero; we refuse
        same_answer(getattr(ours, name), getattr(theirs, name), y, score, **options)


@given(rows=scored(), pos_label=st.sampled_from(["yes", "no"]))
def test_positive_label(rows, pos_label):
    y, score, s = rows
    words = np.where(y, "yes", "no")
    for name in ("roc_curve", "precision_recall_curve", "confusion_matrix_at_thresholds"):
        same_answer(getattr(ours, name), getattr(theirs, name), words, score, pos_label=pos_label, sample_weight=s)
        same_answer(getattr(ours, name), getattr(theirs, name), words, score, sample_weight=s)
    same_answer(
        ours.average_precision_score, theirs.average_precision_score, words, score, pos_label=pos_label, sample_weight=s
    )
    same_answer(ours.roc_auc_score, theirs.roc_auc_score, words, score, sample_weight=s)


@given(rows=scored(both=False), most=st.sampled_from([None, 0.1, 0.5, 1.0]))
def test_areas_of_two_classes(rows, most):
    y, score, s = rows
    assume(s is None or len(np.unique(y[s > 0])) == len(np.unique(y)))  # else scikit-learn answers by 0 / 0
    same_answer(ours.roc_auc_score, theirs.roc_auc_score, y, score, sample_weight=s, max_fpr=most)
    same_answer(ours.average_precision_score, theirs.average_precision_score, y, score, sample_weight=s)


@given(rows=probable(least_classes=3), average=st.sampled_from(["macro", "weighted", "micro", None]))
def test_areas_of_more_classes(rows, average):
    y, p, s = rows
    assume(s is None or len(np.unique(y[s > 0])) == p.shape[1])
    for how in ("ovr", "ovo", "raise"):
        same_answer(ours.roc_auc_score, theirs.roc_auc_score, y, p, multi_class=how, average=average, sample_weight=s)
        same_answer(ours.roc_auc_score, theirs.roc_auc_score, y, p, multi_class=how, average=average)
    same_answer(ours.average_precision_score, theirs.average_precision_score, y, p, average=average, sample_weight=s)


@given(
    seed=st.integers(0, 2**32 - 1),
    average=st.sampled_from(["macro", "weighted", "micro", "samples", None]),
    weighted=flags,
)
def test_areas_of_several_labels_a_row(seed, average, weighted):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, (15, 4))
    y[:2] = [[0, 1, 0, 1], [1, 0, 1, 0]]
    y[:, :2] = np.where((y.sum(axis=1) % 4 == 0)[:, np.newaxis], [0, 1], y[:, :2])  # both values in every row
    score = np.round(random.random((15, 4)), 1)
    s = random.random(15) + 0.1 if weighted else None
    for name in ("roc_auc_score", "average_precision_score"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, score, average=average, sample_weight=s)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20), falls=flags)
def test_trapezoids(seed, n, falls):
    random = np.random.default_rng(seed)
    x, y = np.sort(random.random(n)), random.random(n)
    same_answer(ours.auc, theirs.auc, x[::-1] if falls else x, y)
    same_answer(ours.auc, theirs.auc, random.random(n), y)


def test_integer_scores_stay_integers():
    y, score = np.array([0, 1, 1, 0]), np.array([3, 7, 3, 1])
    for given_scores in (score, score.tolist()):
        thresholds = ours.precision_recall_curve(y, given_scores)[2]
        assert thresholds.dtype == np.int64
        assert (thresholds == theirs.precision_recall_curve(y, given_scores)[2]).all()


@pytest.mark.covers("MET-13", "MET-16")
def test_the_worked_example():
    precision, recall, thresholds = ours.precision_recall_curve(*EXAMPLE)
    points = list(zip(recall[::-1], precision[::-1], strict=True))
    assert points == [(0.0, 1.0), (0.5, 1.0), (0.5, 0.5), (1.0, 2 / 3), (1.0, 0.5)]
    assert list(thresholds) == [0.1, 0.7, 0.8, 0.9]
    assert (np.diff(recall) <= 0).all()  # thresholds rise along the way
    assert (np.diff(precision) > 0).any()
    assert (np.diff(precision) < 0).any()
    assert ours.average_precision_score(*EXAMPLE) == pytest.approx(5 / 6, rel=1e-15)


@pytest.mark.covers("MET-16")
def test_guessing_has_the_prevalence_as_precision_recall_area():
    y = np.array([1] * 3 + [0] * 7)
    assert ours.average_precision_score(y, np.ones(10)) == 0.3
    assert ours.average_precision_score(y, y) == 1.0
    random = np.random.default_rng(0)
    n = 400_000
    rare = random.random(n) < 0.1
    share = rare.mean()
    # The area is close to an average of precisions; its deviation is of the order of 1 / sqrt(positives).
    assert abs(ours.average_precision_score(rare, random.random(n)) - share) < 7 / np.sqrt(rare.sum()) * np.sqrt(share)


@pytest.mark.covers("MET-14")
@given(rows=scored())
def test_roc_rises_from_corner_to_corner_and_does_not_see_monotone_maps(rows):
    y, score, s = rows
    fpr, tpr, thresholds = ours.roc_curve(y, score, sample_weight=s)
    assert (fpr[0], tpr[0], thresholds[0]) == (0, 0, np.inf)
    assert (fpr[-1], tpr[-1]) == (1, 1)
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(tpr) >= 0).all()
    for again in (np.arctan(score.astype(np.float64)), 3 * score.astype(np.float64) - 7):
        other = ours.roc_curve(y, again, sample_weight=s)
        np.testing.assert_array_equal(other[0], fpr)
        np.testing.assert_array_equal(other[1], tpr)


@pytest.mark.covers("MET-15")
@given(rows=scored())
def test_area_is_the_chance_of_the_right_order(rows):
    y, score, s = rows
    s = np.ones(len(y)) if s is None else s
    positive, negative = y == 1, y == 0
    ahead = np.subtract.outer(score[positive], score[negative])
    wins = (ahead > 0) + 0.5 * (ahead == 0)
    weight = np.outer(s[positive], s[negative])
    want = (wins * weight).sum() / weight.sum()
    got = ours.roc_auc_score(y, score, sample_weight=s)
    assert got == pytest.approx(want, rel=1e-12)
    assert ours.roc_auc_score(y, -score, sample_weight=s) == pytest.approx(1 - got, rel=1e-12, abs=1e-12)
    assert ours.auc(*ours.roc_curve(y, score, sample_weight=s)[:2]) == pytest.approx(got, rel=1e-12)


@pytest.mark.covers("MET-15")
def test_areas_that_are_known():
    assert ours.roc_auc_score(*EXAMPLE) == 0.75
    y = np.array([0, 1, 1, 0, 1])
    assert ours.roc_auc_score(y, y) == 1.0
    assert ours.roc_auc_score(y, 1 - y) == 0.0
    assert ours.roc_auc_score(y, np.full(5, 0.3)) == 0.5
    random = np.random.default_rng(1)
    n = 100_000
    assert abs(ours.roc_auc_score(random.random(n) < 0.5, random.random(n)) - 0.5) < 7 * np.sqrt(1 / 3 / n)


@pytest.mark.covers("MET-12")
@given(rows=scored())
def test_a_threshold_is_a_prediction(rows):
    y, score, s = rows
    tns, fps, fns, tps, thresholds = ours.confusion_matrix_at_thresholds(y, score, sample_weight=s)
    for i, threshold in enumerate(thresholds):
        table = ours.confusion_matrix(y, (score >= threshold).astype(int), labels=[0, 1], sample_weight=s)
        np.testing.assert_allclose(table, [[tns[i], fps[i]], [fns[i], tps[i]]], atol=1e-12)
    fpr, tpr, cuts = ours.roc_curve(y, score, sample_weight=s)
    assert cuts[0] == np.inf  # nobody is positive
    assert (fpr[0], tpr[0]) == (0, 0)
    assert cuts[-1] == (score if s is None else score[s > 0]).min()  # everybody is
    assert (fpr[-1], tpr[-1]) == (1, 1)


@pytest.mark.covers("MET-17")
@given(seed=st.integers(0, 2**32 - 1), closer=flags)
def test_one_dominates_in_roc_where_it_dominates_in_precision_and_recall(seed, closer):
    random = np.random.default_rng(seed)
    y = np.array([1] * 8 + [0] * 12)
    worse = random.permutation(20).astype(float)
    better = worse.copy()
    if closer:  # moving positive rows up dominates by construction
        better[y == 1] += random.integers(0, 10, 8)
    else:
        better = random.permutation(20).astype(float)

    def dominates(curve, other):
        """Whether for every count of false positives at each recall the curve is at least as good."""
        return all(curve[tp] <= other[tp] for tp in other)

    def false_positives(score):
        _, fps, _, tps, _ = ours.confusion_matrix_at_thresholds(y, score + np.arange(20) * 1e-9)
        least = {}
        for fp, tp in zip(fps, tps, strict=True):
            least[tp] = min(fp, least.get(tp, np.inf))
        return {tp: fp / 12 for tp, fp in least.items() if tp}

    def imprecision(score):
        precision, recall, _ = ours.precision_recall_curve(y, score + np.arange(20) * 1e-9)
        best = {}
        _, _, fns, tps, _ = ours.confusion_matrix_at_thresholds(y, score + np.arange(20) * 1e-9)
        known = set(np.round(tps / (tps + fns), 12))
        assert {round(r, 12) for r in recall} <= known | {0.0}  # shares of the same positives
        for p, r in zip(precision[:-1], recall[:-1], strict=True):
            tp = round(8 * r)
            assert 8 * r == pytest.approx(tp, abs=1e-12)
            best[tp] = min(1 - p, best.get(tp, np.inf))
        return {tp: q for tp, q in best.items() if tp}

    in_roc = dominates(false_positives(better), false_positives(worse))
    assert in_roc == dominates(imprecision(better), imprecision(worse))
    if closer:
        assert in_roc


@pytest.mark.covers("MET-18")
@given(
    rows=scored(), least=st.sampled_from([0.0, 0.5, 0.8]), aim=st.sampled_from(["f1", "recall", "precision", "youden"])
)
def test_operating_point_is_the_best_of_all_thresholds(rows, least, aim):
    y, score, s = rows
    found = []
    for threshold in np.unique(score if s is None else score[s > 0])[::-1]:
        t = (score >= threshold).astype(int)
        precision, recall, f1, _ = ours.precision_recall_fscore_support(
            y, t, sample_weight=s, average="binary", zero_division=0
        )
        rate = 1 - ours.recall_score(y, t, pos_label=0, sample_weight=s)
        value = {"f1": f1, "recall": recall, "precision": precision, "youden": recall - rate}[aim]
        if precision >= least - 1e-12:
            found.append((value, threshold, precision))
    if not found:
        with pytest.raises(InvalidData, match="No threshold has a precision"):
            ours.operating_point(y, score, maximize=aim, precision=least, sample_weight=s)
        return
    point = ours.operating_point(y, score, maximize=aim, precision=least - 1e-12 if least else 0.0, sample_weight=s)
    best = max(value for value, _, _ in found)
    mine = next((value, precision) for value, threshold, precision in found if threshold == point.threshold)
    assert mine[0] == pytest.approx(best, abs=1e-12)
    assert mine[1] == pytest.approx(point.precision, abs=1e-12)


def test_refusals():
    with pytest.raises(InvalidData, match="multiclass format"):
        ours.roc_curve([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidData, match=r"y_score contains NaN\. It stands in row 1"):
        ours.roc_auc_score([0, 1], [0.1, np.nan])
    with pytest.raises(InvalidData, match="infinity"):
        ours.roc_curve([0, 1], [0.1, np.inf])
    with pytest.raises(InvalidData, match="inconsistent"):
        ours.roc_curve([0, 1], [0.1])
    with pytest.raises(InvalidData, match="Only one class"):
        ours.det_curve([1, 1], [0.1, 0.2])
    with pytest.raises(InvalidParameter, match="max_fpr"):
        ours.roc_auc_score([0, 1], [0.1, 0.2], max_fpr=0)
    with pytest.raises(InvalidData, match="neither increasing nor decreasing"):
        ours.auc([0, 2, 1], [0, 1, 2])
    with pytest.raises(InvalidData, match="probabilities for multiclass"):
        ours.roc_auc_score([0, 1, 2], np.ones((3, 3)), multi_class="ovr")
    with pytest.warns(UndefinedMetricWarning, match="Only one class"):
        assert np.isnan(ours.roc_auc_score([1, 1], [0.1, 0.2]))
    with pytest.raises(InvalidData, match="so no threshold is better"):
        ours.operating_point([1, 1], [0.1, 0.2])

"""Scores of probabilities and decision values agree with scikit-learn, for every option."""

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.rows import as_labels, probable, same_answer, scored

from qed import metrics as ours
from qed.core import InvalidData, InvalidParameter

flags = st.booleans()
kinds = st.sampled_from(["int", "str", "negative", "float"])


@given(rows=probable(), kind=kinds, normalize=flags, single=flags)
def test_log_loss(rows, kind, normalize, single):
    y, p, s = rows
    p = p.astype(np.float32) if single else p
    options = {"normalize": normalize, "sample_weight": s, "rtol": 1e-4 if single else 1e-9}
    same_answer(ours.log_loss, theirs.log_loss, as_labels(y, kind), p, **options)
    slack = {"rtol": 1e-4, "atol": 1e-4} if single else {"rtol": 1e-8, "atol": 1e-8}
    same_answer(ours.d2_log_loss_score, theirs.d2_log_loss_score, as_labels(y, kind), p, sample_weight=s, **slack)
    if p.shape[1] == 2:
        same_answer(ours.log_loss, theirs.log_loss, y, p[:, 1], **options)


@given(rows=probable(), kind=kinds)
def test_labels_that_do_not_occur(rows, kind):
    y, p, s = rows
    every = as_labels(np.arange(p.shape[1]), kind)
    some = y < p.shape[1] - 1
    s = None if s is None else s[some] + 0.5
    same_answer(ours.log_loss, theirs.log_loss, as_labels(y, kind)[some], p[some], labels=every, sample_weight=s)
    same_answer(ours.log_loss, theirs.log_loss, as_labels(y, kind)[some], p[some], sample_weight=s)


@given(rows=probable(), kind=kinds, half=st.sampled_from([True, False, "auto"]))
def test_brier(rows, kind, half):
    y, p, s = rows
    options = {"sample_weight": s, "scale_by_half": half}
    same_answer(ours.brier_score_loss, theirs.brier_score_loss, as_labels(y, kind), p, **options)
    slack = {"rtol": 1e-8, "atol": 1e-8}
    same_answer(ours.d2_brier_score, theirs.d2_brier_score, as_labels(y, kind), p, sample_weight=s, **slack)
    if p.shape[1] == 2:
        for pos_label in (None, 1, "birch"):
            more = {**options, "pos_label": pos_label}
            same_answer(ours.brier_score_loss, theirs.brier_score_loss, as_labels(y, kind), p[:, 1], **more)


@given(rows=probable(), scale=st.sampled_from([1.0, 5.0]))
def test_hinge(rows, scale):
    y, p, s = rows
    decision = scale * np.log(p)
    if p.shape[1] == 2:
        decision = decision[:, 1] - decision[:, 0]
    same_answer(ours.hinge_loss, theirs.hinge_loss, y, decision, sample_weight=s)
    some = y < p.shape[1] - 1
    if p.shape[1] > 2 and some.any():
        every = np.arange(p.shape[1])
        s = None if s is None else s[some] + 0.5
        same_answer(ours.hinge_loss, theirs.hinge_loss, y[some], decision[some], labels=every, sample_weight=s)


@given(rows=probable(most_classes=5), k=st.integers(1, 5), normalize=flags, ties=flags)
def test_top_k(rows, k, normalize, ties):
    y, p, s = rows
    p = np.round(p, 1) if ties else p
    p = p[:, 1] if p.shape[1] == 2 else p
    options = {"k": k, "normalize": normalize, "sample_weight": s}
    same_answer(ours.top_k_accuracy_score, theirs.top_k_accuracy_score, y, p, **options)


@given(rows=scored(), k=st.integers(1, 2))
def test_top_k_of_two(rows, k):
    y, score, s = rows
    same_answer(ours.top_k_accuracy_score, theirs.top_k_accuracy_score, y, score, k=k, sample_weight=s)


REFUSED = [
    (([0, 1], [0.2, 1.2]), "greater than 1: 1.2"),
    (([0, 1], [0.2, -0.1]), "lower than 0: -0.1"),
    (([0, 0], [0.2, 0.1]), "only one label"),
    (([0, 1], [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]), "different number of classes: 2 vs 3"),
    (([0, 1], [0.2]), "inconsistent"),
    (([0, 1], [0.2, np.nan]), "y_proba contains NaN"),
    (([0.5, 1], [0.2, 0.3]), "continuous"),
]


@pytest.mark.parametrize(("rows", "words"), REFUSED)
def test_what_is_refused_and_how(rows, words):
    with pytest.raises(InvalidData, match=words):
        ours.log_loss(*rows)


def test_other_refusals():
    with pytest.raises(InvalidData, match="not belonging to the passed labels"):
        ours.log_loss([0, 3], [0.2, 0.3], labels=[0, 1])
    with pytest.raises(InvalidData, match="pos_label is not specified"):
        ours.brier_score_loss(["a", "b"], [0.2, 0.3])
    with pytest.raises(InvalidParameter, match="k must be"):
        ours.top_k_accuracy_score([0, 1, 2], np.eye(3), k=0)
    with pytest.raises(InvalidData, match="ordered"):
        ours.top_k_accuracy_score([0, 1, 2], np.eye(3), labels=[2, 1, 0])
    with pytest.raises(InvalidData, match="3 classes and shape"):
        ours.hinge_loss([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.warns(UserWarning, match="sum to one"):
        ours.log_loss([0, 1], [[0.5, 0.1], [0.2, 0.2]])
    with pytest.warns(UserWarning, match="ordered lexicographically"):
        ours.log_loss([0, 1], [[0.5, 0.5], [0.2, 0.8]], labels=[1, 0])

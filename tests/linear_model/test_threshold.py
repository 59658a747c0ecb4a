"""Cuts through one column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qed
from qed.linear_model import ThresholdClassifier

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=10)


def fewest(x, y, s):
    """Try all n + 1 cuts with both orders of the labels."""
    cuts = [-np.inf, *np.unique(x)]
    orders = ((0, 1), (1, 0), (0, 0), (1, 1))
    return min(s[np.where(x <= cut, low, high) != y].sum() for cut in cuts for low, high in orders)


@pytest.mark.covers("FND-29")
@given(rows=ROWS)
def test_no_cut_is_better(rows):
    x, y, s = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    if s.sum() == 0:
        return
    model = ThresholdClassifier().fit(x[:, None], y, s)
    assert model.mistakes_ == fewest(x, y, s)
    assert s[model.predict(x[:, None]) != y].sum() == model.mistakes_
    assert qed.verify(model, x[:, None], y, s).holds


@pytest.mark.covers("FND-29")
def test_a_row_on_the_threshold_is_below_it():
    model = ThresholdClassifier().fit([[1.0], [3.0]], ["low", "high"])
    assert model.threshold_ == 2.0
    assert model.predict([[2.0], [np.nextafter(2.0, 3)]]).tolist() == ["low", "high"]
    assert model.decision_function([[2.0]])[0] > 0  # "low" is the second label in sorted order


def test_the_best_column_and_three_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 2] <= 0.3, "a", np.where(rng.random(60) < 0.2, "b", "c"))
    model = ThresholdClassifier().fit(X, y)
    assert model.column_ == 2
    assert model.classes_[model.sides_].tolist() == ["a", "c"]
    assert model.mistakes_ == (y == "b").sum()


def test_neighbouring_numbers_and_huge_ones():
    low = 1.0
    model = ThresholdClassifier().fit([[low], [np.nextafter(low, 2)]], [0, 1])
    assert model.predict([[low], [np.nextafter(low, 2)]]).tolist() == [0, 1]
    assert ThresholdClassifier().fit([[-1.7e308], [1.7e308]], [0, 1]).threshold_ == 0.0


def test_costs_of_classes_move_the_cut():
    x, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 0, 1])
    assert ThresholdClassifier(class_weight={0: 1.0, 1: 9.0}).fit(x, y).threshold_ == 1.5
    assert ThresholdClassifier(class_weight={0: 9.0, 1: 1.0}).fit(x, y).threshold_ == 3.5


def test_a_moved_cut_is_refused():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    model = ThresholdClassifier(class_weight="balanced").fit(X, y)
    assert qed.verify(model, X, y).holds
    honest = model.threshold_
    model.threshold_ += 0.7
    with pytest.raises(qed.CertificateError, match="threshold"):
        qed.verify(model, X, y)
    model.threshold_, model.mistakes_ = honest, 0.0
    with pytest.raises(qed.CertificateError, match="mistakes"):
        qed.verify(model, X, y)

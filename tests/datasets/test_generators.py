"""Generators: the same for the same seed, shaped as ordered, and exact without noise."""

import inspect

import numpy as np
import pytest
import sklearn.datasets as theirs

from qed import datasets as ours
from qed.core import InvalidParameter
from qed.linear_model import LinearRegression, LogisticRegression
from qed.preprocessing import PolynomialFeatures

NAMES = [
    "make_blobs",
    "make_circles",
    "make_classification",
    "make_friedman1",
    "make_friedman2",
    "make_friedman3",
    "make_low_rank_matrix",
    "make_moons",
    "make_multilabel_classification",
    "make_s_curve",
    "make_sparse_spd_matrix",
    "make_sparse_uncorrelated",
    "make_spd_matrix",
    "make_swiss_roll",
]


def made(name, **options):
    result = getattr(ours, name)(*([30] if name == "make_spd_matrix" else []), **options)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", [*NAMES, "make_polynomial", "make_sine"])
def test_a_seed_fixes_the_bits_and_another_changes_them(name):
    first, again, other = made(name, random_state=3), made(name, random_state=3), made(name, random_state=4)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    if name not in ("make_sparse_spd_matrix",):  # of one row
        assert any(not np.array_equal(one, two) for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_names_defaults_and_shapes_are_scikit_learns(name):
    mine, yours = (inspect.signature(getattr(module, name)).parameters for module in (ours, theirs))
    for parameter, value in mine.items():
        assert parameter in yours
        if value.default is not inspect.Parameter.empty and parameter != "scale":
            assert value.default == yours[parameter].default
    want = getattr(theirs, name)(*([30] if name == "make_spd_matrix" else []))
    for one, two in zip(made(name), want if isinstance(want, tuple) else (want,), strict=True):
        assert one.shape == two.shape


@pytest.mark.covers("DAT-14")
def test_without_noise_values_are_exact():
    X, y = ours.make_polynomial(40, coefficients=[1.0, -2.0, 0.5], noise=0.0, random_state=0)
    np.testing.assert_allclose(y, 1 - 2 * X[:, 0] + 0.5 * X[:, 0] ** 2, rtol=1e-14)
    line, y = ours.make_polynomial(40, noise=0.0, random_state=0)
    np.testing.assert_array_equal(y, line[:, 0])
    X, y = ours.make_sine(40, periods=2.0, noise=0.0, random_state=0)
    np.testing.assert_array_equal(y, np.sin(4 * np.pi * X[:, 0]))
    X, y = ours.make_circles(41, factor=0.4, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.where(y == 0, 1.0, 0.4), atol=1e-15)
    X, y = ours.make_moons((30, 10), random_state=0)
    assert np.bincount(y).tolist() == [30, 10]
    centre = np.where(y[:, np.newaxis] == 0, [0.0, 0.0], [1.0, 0.5])
    np.testing.assert_allclose(np.linalg.norm(X - centre, axis=1), 1.0, atol=1e-15)
    centres = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]])
    X, y = ours.make_blobs([50, 5, 1], centers=centres, cluster_std=0.0, random_state=0)  # unbalanced
    np.testing.assert_array_equal(X, centres[y])
    assert np.bincount(y).tolist() == [50, 5, 1]
    X, y = ours.make_blobs(4000, centers=[[0.0, 0.0]], cluster_std=[[10.0, 0.1]], random_state=0)  # elongated
    assert X.std(axis=0) == pytest.approx([10.0, 0.1], rel=0.1)
    noisy, y = ours.make_sine(20_000, noise=0.3, random_state=1)
    assert np.std(y - np.sin(2 * np.pi * noisy[:, 0])) == pytest.approx(0.3, rel=0.05)
    X, y = ours.make_friedman1(30, random_state=0)
    want = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    np.testing.assert_allclose(y, want)
    X, y = ours.make_friedman2(30, random_state=0)
    np.testing.assert_allclose(y**2, X[:, 0] ** 2 + (X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])) ** 2)
    X, y = ours.make_friedman3(30, random_state=0)
    np.testing.assert_allclose(np.tan(y) * X[:, 0], X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3]))


def test_classes_are_as_ordered():
    _, y = ours.make_classification(
        2000, 12, weights=[0.7, 0.2], n_classes=3, n_informative=4, flip_y=0.0, random_state=0
    )
    assert np.bincount(y).tolist() == [1400, 400, 200]
    plain, labels = ours.make_classification(
        300, 9, n_informative=3, n_redundant=2, n_repeated=1, shuffle=False, flip_y=0.0, random_state=1
    )
    assert np.linalg.matrix_rank(plain[:, :6] - plain[:, :6].mean(axis=0)) == 3  # mixtures and copies add nothing
    assert np.linalg.matrix_rank(plain) == 6
    wide, labels = ours.make_classification(
        500, 5, n_informative=5, n_redundant=0, class_sep=5.0, flip_y=0.0, random_state=2
    )
    assert LogisticRegression().fit(wide, labels).score(wide, labels) > 0.8
    _, all_flipped = ours.make_classification(4000, flip_y=1.0, random_state=3)
    moved, _ = ours.make_classification(200, shift=None, scale=None, hypercube=False, random_state=4)
    assert moved.std(axis=0).max() > 10
    assert abs(np.mean(all_flipped) - 0.5) < 0.05
    counts, topics = ours.make_multilabel_classification(200, allow_unlabeled=False, random_state=0)
    assert topics.sum(axis=1).min() == 1
    assert (counts == np.round(counts)).all()
    assert counts.sum(axis=1).mean() == pytest.approx(50, rel=0.1)


def test_matrices_have_their_structure():
    values = np.linalg.svd(ours.make_low_rank_matrix(60, 40, effective_rank=5, tail_strength=0.0, random_state=0))[1]
    assert values[0] == pytest.approx(1.0)
    assert (values[15:] < 1e-3).all()
    definite = ours.make_spd_matrix(20, random_state=0)
    np.testing.assert_allclose(definite, definite.T, atol=1e-12)
    edges = np.linalg.eigvalsh(definite)  # of ones, and of a diagonal between 0 and 1
    assert 0 < edges[0] <= edges[-2] <= 1
    assert 20 <= edges[-1] <= 21
    sparse = ours.make_sparse_spd_matrix(40, norm_diag=True, random_state=0)
    assert np.linalg.eigvalsh(sparse)[0] > 0
    assert np.mean(sparse == 0) > 0.7
    np.testing.assert_allclose(np.diag(sparse), 1.0)
    X, y = ours.make_sparse_uncorrelated(20_000, 6, random_state=0)
    np.testing.assert_allclose(np.linalg.lstsq(X, y, rcond=None)[0], [1, 2, -2, -1.5, 0, 0], atol=0.05)
    X, t = ours.make_swiss_roll(500, hole=True, random_state=0)
    np.testing.assert_allclose(np.hypot(X[:, 0], X[:, 2]), t)
    inside = (np.abs(t / (1.5 * np.pi) - 2) < 1 / 3) & (np.abs(X[:, 1] / 21 - 0.5) < 1 / 6)
    assert not inside.any()
    X, t = ours.make_s_curve(500, random_state=0)
    np.testing.assert_allclose(X[:, 0], np.sin(t))


@pytest.mark.covers("DAT-18")
def test_some_rows_have_labels():
    data, labels = np.arange(20.0).reshape(10, 2), np.array([0, 1, -1, 1, -1, 0, 0, -1, 1, 1])
    part = ours.PartlyLabelled.of(data, labels)
    assert (part.n_labelled, part.n_unlabelled) == (7, 3)
    np.testing.assert_array_equal(part.labelled[0], data[labels >= 0])
    np.testing.assert_array_equal(part.labelled[1], labels[labels >= 0])
    np.testing.assert_array_equal(part.unlabelled, data[labels < 0])
    np.testing.assert_array_equal(part.masked_target(), labels)
    named = ours.PartlyLabelled.of(data[:3], np.array(["a", None, "b"], object), unlabelled=None)
    assert named.is_labelled.tolist() == [True, False, True]
    assert ours.PartlyLabelled.of(data[:2], [np.nan, 1.0], unlabelled=np.nan).n_unlabelled == 1
    hidden = ours.PartlyLabelled.hiding(data, np.arange(10), 0.6, random_state=0)
    assert (hidden.n_labelled, hidden.n_unlabelled) == (4, 6)
    np.testing.assert_array_equal(hidden.target, np.arange(10))
    with pytest.raises(ValueError, match="as many labels"):
        ours.PartlyLabelled(data, labels[:3], labels >= 0)
    with pytest.raises(InvalidParameter, match="share"):
        ours.PartlyLabelled.hiding(data, labels, 1.5)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("make_blobs", {"n_samples": [1, 2], "centers": 3}, "each of 3 centers"),
        ("make_blobs", {"cluster_std": [1.0, 2.0]}, "cluster_std"),
        ("make_blobs", {"centers": [1.0, 2.0]}, "table of shape"),
        ("make_circles", {"factor": 1.0}, "factor"),
        ("make_moons", {"n_samples": (1, 2, 3)}, "two of them"),
        ("make_classification", {"n_features": 3}, "at least n_informative"),
        ("make_classification", {"n_classes": 5}, "corners"),
        ("make_classification", {"weights": [0.9, 0.9]}, "weights"),
        ("make_friedman1", {"n_features": 4}, "at least five"),
        ("make_low_rank_matrix", {"tail_strength": 2.0}, "tail_strength"),
        ("make_polynomial", {"coefficients": []}, "coefficients"),
        ("make_sparse_uncorrelated", {"n_features": 3}, "at least four"),
        ("make_sine", {"n_samples": 0}, "n_samples"),
    ],
)
def test_what_cannot_be_drawn_is_said(name, options, words):
    with pytest.raises(InvalidParameter, match=words):
        made(name, **options)


@pytest.mark.covers("DAT-13")
def test_exclusive_or_in_both_codings():
    X, y = ours.make_xor()
    assert X.tolist() == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    np.testing.assert_array_equal(y, X[:, 0] * X[:, 1])
    bits, label = ours.make_xor(coding="bits")
    np.testing.assert_array_equal(bits, (X + 1) / 2)
    assert label.tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(label, bits[:, 0].astype(int) ^ bits[:, 1].astype(int))
    directions = np.random.default_rng(0).normal(size=(500, 2))
    right = [np.mean((X @ w + b > 0) == (y > 0)) for w in directions for b in (-1.5, 0.0, 1.5)]
    assert max(right) == 0.75  # of four corners a linear classifier gets at most three
    product = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X)
    np.testing.assert_allclose(LinearRegression().fit(product, y).coef_, [0, 0, 1], atol=1e-12)
    many, labels = ours.make_xor(101, noise=0.1, random_state=3)
    np.testing.assert_array_equal(labels, np.sign(many[:, 0] * many[:, 1]))
    np.testing.assert_array_equal(many, ours.make_xor(101, noise=0.1, random_state=3)[0])
    assert abs(np.std(many - np.sign(many)) - 0.1) < 7 * 0.1 / np.sqrt(2 * 202)
    with pytest.raises(InvalidParameter, match="coding must be"):
        ours.make_xor(coding="letters")
    with pytest.raises(InvalidParameter, match="noise must be"):
        ours.make_xor(noise=-1.0)
    with pytest.raises(InvalidParameter, match="n_samples must be"):
        ours.make_xor(0)

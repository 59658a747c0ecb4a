"""Planes: sides, distances, margins and radii, and whether a plane separates two classes."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from qed import InvalidData, InvalidParameter
from qed.linear_model import (
    Hyperplane,
    LogisticRegression,
    Ridge,
    VotedPerceptron,
    fisher_criterion,
    fisher_discriminant,
    margins,
    robustness_radius,
    separating_hyperplane,
    signed_distance,
)
from qed.preprocessing import OneHotEncoder, PolynomialFeatures
from qed.svm import LinearSVC

rng = np.random.default_rng(0)
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
X = rng.normal(size=(60, 3))
two = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=60) > 0, "b", "a")
three = np.digitize(X[:, 0] + 0.1 * rng.normal(size=60), [-0.5, 0.5])


@pytest.mark.covers("CLS-01")
def test_a_plane_has_one_number_more_than_columns_and_its_boundary_is_positive():
    plane = Hyperplane(np.array([1.0, -2.0]), 0.5)
    assert plane.n_parameters == 3
    rows = np.vstack([rng.normal(size=(20, 2)), [[1.5, 1.0], [-0.5, 0.0]]])
    np.testing.assert_array_equal(plane.side(rows), np.where(rows @ [1.0, -2.0] + 0.5 >= 0, 1, -1))
    np.testing.assert_array_equal(plane.side(rows), Hyperplane(7 * plane.coef, 7 * plane.intercept).side(rows))
    assert plane.side([[1.5, 1.0]]).tolist() == [1]  # exactly on the plane


@pytest.mark.covers("CLS-02", "CLS-03")
def test_scores_are_distances_only_of_normals_of_length_one():
    plane = Hyperplane(np.array([3.0, 4.0]), -10.0)
    rows = rng.normal(size=(30, 2))
    feet = plane.project(rows)
    np.testing.assert_allclose(plane.score(feet), 0.0, atol=1e-12)
    np.testing.assert_allclose((feet[0] - feet[1]) @ plane.coef, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(plane.distance(rows)), np.linalg.norm(rows - feet, axis=1))
    assert abs(plane.distance([[0.0, 0.0]])[0]) == pytest.approx(10 / 5)
    assert not np.allclose(plane.score(rows), plane.distance(rows))
    unit = Hyperplane(plane.coef / 5, plane.intercept / 5)
    np.testing.assert_allclose(unit.score(rows), plane.distance(rows))
    model = LogisticRegression().fit(X, two)
    np.testing.assert_allclose(signed_distance(model, X), Hyperplane.of(model).distance(X), rtol=1e-12)


@pytest.mark.covers("CLS-04")
def test_margins_stay_when_coefficients_are_multiplied_and_scores_do_not():
    model = LinearSVC().fit(X, two)
    by_hand = np.where(two == "b", 1, -1) * (X @ model.coef_[0] + model.intercept_) / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(margins(model, X, two), by_hand)
    plain = margins(model, X, two, normalised=False)
    model.coef_, model.intercept_ = 3 * model.coef_, 3 * model.intercept_
    np.testing.assert_allclose(margins(model, X, two).min(), by_hand.min())
    np.testing.assert_allclose(margins(model, X, two, normalised=False), 3 * plain)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("labels", ["two", "three"])
def test_no_change_within_the_radius_moves_a_label_and_one_just_beyond_does(norm, labels):
    y = two if labels == "two" else three
    model = LinearSVC().fit(X, y)
    radius, said = robustness_radius(model, X, norm=norm), model.predict(X)
    w = model.coef_ if labels == "three" else np.vstack([np.zeros(3), model.coef_])
    for i in range(0, 60, 7):
        steps = rng.normal(size=(200, 3))
        steps /= np.linalg.norm(steps, norm, axis=1, keepdims=True)
        assert np.all(model.predict(X[i] + 0.999 * radius[i] * steps) == said[i])
        own = int(np.flatnonzero(model.classes_ == said[i])[0])
        worst = []
        for other in range(len(w)):
            along = w[other] - w[own]
            step = {1: np.sign(along) * (np.arange(3) == np.abs(along).argmax()), 2: along, np.inf: np.sign(along)}[
                norm
            ]
            if other != own:
                worst.append(X[i] + 1.001 * radius[i] * step / np.linalg.norm(step, norm))
        assert np.any(model.predict(np.array(worst)) != said[i])


def separable_by_a_linear_program(rows, signs, *, through_origin):
    wide = rows if through_origin else np.hstack([rows, np.ones((len(rows), 1))])
    found = linprog(np.zeros(wide.shape[1]), -signs[:, None] * wide, -np.ones(len(rows)), bounds=(None, None))
    return found.status == 0


@pytest.mark.covers("CLS-05")
def test_separability_is_decided_with_a_proof_either_way():
    assert separating_hyperplane(CORNERS, [0, 0, 0, 1]).separable  # AND
    assert separating_hyperplane(CORNERS, [0, 1, 1, 1]).separable  # OR
    assert not separating_hyperplane(CORNERS, [0, 1, 1, 0]).separable  # XOR
    assert not separating_hyperplane([[0.0], [1.0], [1.0]], [0, 0, 1]).separable  # on the plane is not beside it
    decided = set()
    for seed in range(40):
        random = np.random.default_rng(seed)
        n, p = int(random.integers(3, 12)), int(random.integers(1, 5))
        rows, y = random.normal(size=(n, p)), np.r_[0, 1, random.integers(0, 2, n - 2)]
        for through_origin in (False, True):
            found = separating_hyperplane(rows, y, through_origin=through_origin)
            expected = separable_by_a_linear_program(rows, np.where(y, 1.0, -1.0), through_origin=through_origin)
            assert found.separable == expected
            assert found.holds(rows, y)
            decided.add((through_origin, expected))
            if expected:
                assert found.margin <= found.bound <= found.margin * (1 + 1e-6)
                assert not found.holds(rows, 1 - y)
    assert len(decided) == 4
    sparse = separating_hyperplane(csr_array(CORNERS), [0, 0, 0, 1])
    assert sparse.margin == pytest.approx(np.sqrt(2) / 4)
    with pytest.raises(InvalidData, match="two classes"):
        separating_hyperplane(CORNERS, [0, 1, 2, 0])
    with pytest.raises(InvalidParameter, match="norm must be"):
        robustness_radius(LinearSVC().fit(X, two), X, norm=3)


@pytest.mark.covers("CLS-35")
def test_lifting_makes_circles_and_exclusive_or_linear():
    signs = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    labels = np.array([1, 0, 0, 1])
    assert not separating_hyperplane(signs, labels).separable
    lifted = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(signs)
    found = separating_hyperplane(lifted, labels, through_origin=True)
    assert found.separable
    np.testing.assert_allclose(found.coef, [0.0, 0.0, 1.0], atol=1e-12)
    angles = np.linspace(0, 6, 20)
    ring = np.vstack([r * np.column_stack([np.cos(angles), np.sin(angles)]) for r in (1.0, 2.0)])
    inside = np.repeat([0, 1], 20)
    assert not separating_hyperplane(ring, inside).separable
    squares = PolynomialFeatures(2, include_bias=False).fit_transform(ring)[:, [2, 4]]
    circle = separating_hyperplane(squares, inside)
    assert circle.separable
    assert circle.coef[0] == pytest.approx(circle.coef[1])


@pytest.mark.covers("CLS-37")
def test_every_labelling_of_distinct_points_is_separable_after_one_hot_lifting():
    points = np.array([["p"], ["q"], ["r"], ["s"]])
    lifted = OneHotEncoder(sparse_output=False).fit_transform(points)
    for labels in product([-1.0, 1.0], repeat=4):
        plane = Hyperplane(np.array(labels), 0.0)
        np.testing.assert_array_equal(plane.score(lifted), labels)
        if len(set(labels)) == 2:
            assert separating_hyperplane(lifted, labels, through_origin=True).separable


@pytest.mark.covers("CLS-32", "CLS-33", "CLS-34")
def test_no_direction_beats_the_discriminant():
    first, second = rng.normal(size=(40, 3)) * [1.0, 2.0, 0.5], rng.normal(size=(30, 3)) + np.array([1.0, 1.0, 0.0])
    rows, labels = np.vstack([first, second]), np.repeat([0, 1], [40, 30])
    found = fisher_discriminant(rows, labels)
    S1, S2 = (np.cov(part.T, bias=True) for part in (first, second))
    apart = second.mean(axis=0) - first.mean(axis=0)
    along = np.linalg.solve(S1 + S2, apart)
    np.testing.assert_allclose(found.coef, along / np.linalg.norm(along), atol=1e-12)
    assert found.criterion == pytest.approx(apart @ along)
    assert fisher_criterion(rows, labels, -17 * found.coef) == pytest.approx(found.criterion)
    for direction in rng.normal(size=(300, 3)):
        assert fisher_criterion(rows, labels, direction) <= found.criterion
    for part, mean, variance, S in (
        (first, *found.means[:1], *found.variances[:1], S1),
        (second, *found.means[1:], *found.variances[1:], S2),
    ):
        assert mean == pytest.approx((part @ found.coef).mean())
        assert mean == pytest.approx(found.coef @ part.mean(axis=0))
        assert variance == pytest.approx((part @ found.coef).var())
        assert variance == pytest.approx(found.coef @ S @ found.coef)
    with pytest.raises(InvalidData, match="without any spread"):
        fisher_discriminant([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1, 1])


def test_scores_that_are_not_those_of_a_plane_have_no_radius():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = np.where(X @ [1.0, 0.3] + 0.4 * random.normal(size=60) > 0, 1, 0)
    voted = VotedPerceptron().fit(X, y)
    for ask in (robustness_radius, signed_distance):
        with pytest.raises(InvalidData, match="scores of VotedPerceptron are not those of the hyperplanes"):
            ask(voted, X)
    with pytest.raises(InvalidData, match="not those of the hyperplanes"):
        margins(voted, X, y)
    with pytest.raises(InvalidData, match="Ridge is not a fitted linear classifier"):
        robustness_radius(Ridge().fit(X, y), X)

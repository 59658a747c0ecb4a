"""Laws of every loss: Fenchel and Young, slopes and curvatures by differences, proximal steps, dual points, traits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import losses as reference
from tests.reference.every_loss import RECIPES, duals, scores

from qed.convex import losses

EPS = 2.0**-52
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from([1e-6, 1e-2, 1.0, 1.0, 5.0, 30.0])
every_loss = pytest.mark.parametrize("name", RECIPES)


def made(name, seed, n=12):
    random = np.random.default_rng(seed)
    return RECIPES[name](random, n), random


CONVEX = [name for name in RECIPES if made(name, 0)[0].traits.is_convex]
every_convex_loss = pytest.mark.parametrize("name", CONVEX)


def size(a):
    """One size for each row."""
    a = np.abs(a)
    return a if a.ndim == 1 else a.sum(axis=1)


def dot(a, b):
    return a * b if a.ndim == 1 else np.sum(a * b, axis=1)


def wide(row, t):
    """A number for each row, in a shape that multiplies t."""
    return row if t.ndim == 1 else row[:, np.newaxis]


def test_every_loss_has_a_recipe():
    """A new loss is tested the day it is born."""
    described = {type(RECIPES[name](np.random.default_rng(0), 3)).__name__ for name in RECIPES}
    assert described == set(losses.__all__)
    assert set(reference.VALUES) == set(reference.CONJUGATES) == set(losses.__all__)


@every_loss
@given(seed=seeds, spread=spreads)
def test_shapes(name, seed, spread):
    loss, random = made(name, seed)
    t = scores(loss, random, spread)
    u, c = duals(loss, random, spread), np.full(len(t), 1 / len(t))
    for row in (loss.value(t), loss.conjugate(u), loss.excess(t, u)):
        assert row.shape == (len(t),)
        assert row.dtype == np.float64
    likes = (loss.slope(t), loss.curvature(t), loss.curvature_product(t, t), loss.project(u), loss.balanced(u, c))
    for like in (*likes, loss.prox(t, 0.5)):
        assert like.shape == t.shape
        assert like.dtype == np.float64
    assert np.shape(loss.constant(c)) == t.shape[1:]
    assert np.all(np.isfinite(loss.constant(c)))


@every_loss
@given(seed=seeds, spread=spreads)
def test_value_is_its_definition(name, seed, spread):
    loss, random = made(name, seed)
    t = scores(loss, random, spread)
    expected = reference.value(loss, t)
    moved = size(loss.slope(t)) * (size(t) + size(loss.y) + 1)
    assert np.all(loss.value(t) >= 0)
    assert np.all(np.abs(loss.value(t) - expected) <= 8 * EPS * (expected + moved + 1))


@every_loss
@given(seed=seeds, spread=spreads)
def test_conjugate_is_its_definition(name, seed, spread):
    loss, random = made(name, seed)
    u = duals(loss, random, spread)
    expected = reference.conjugate(loss, u)
    mass = size(u) + size(loss.y) + 1
    terms = np.abs(expected) + mass * (size(u) + np.log1p(mass))  # products with y, and entropies
    assert np.all(np.abs(loss.conjugate(u) - expected) <= 64 * EPS * terms)


@every_loss
@given(seed=seeds, spread=spreads, other=spreads)
def test_fenchel_young(name, seed, spread, other):
    loss, random = made(name, seed)
    t, u = scores(loss, random, spread), duals(loss, random, other)
    total = loss.value(t) + loss.conjugate(u)
    rounding = 64 * EPS * (loss.value(t) + np.abs(loss.conjugate(u)) + (size(t) + size(loss.y) + 1) * (size(u) + 1))
    assert np.all(total >= dot(t, u) - rounding)
    if loss.traits.is_convex:
        slope = loss.slope(t)
        value, conjugate = loss.value(t), loss.conjugate(slope)
        rounding = 64 * EPS * (value + np.abs(conjugate) + (size(t) + size(loss.y) + 1) * (size(slope) + 1))
        assert np.all(np.abs(value + conjugate - dot(t, slope)) <= rounding)


@every_convex_loss
@given(seed=seeds, spread=spreads)
def test_no_score_beats_the_conjugate(name, seed, spread):
    """The conjugate at a slope is attained there; nowhere on a wide and a fine grid is there more."""
    loss, random = made(name, seed, n=4)
    at = scores(loss, random, min(spread, 5.0))
    u = loss.slope(at)
    attained = dot(at, u) - loss.value(at)
    conjugate = loss.conjugate(u)
    assert np.all(np.abs(conjugate - attained) <= 1e-12 * (1 + np.abs(conjugate) + size(at) * size(u)))
    for width in (1e-3, 1.0, 1e3):
        for _ in range(30):
            t = at + width * random.normal(size=at.shape)
            with np.errstate(over="ignore"):
                there = dot(t, u) - loss.value(t)
            assert np.all(there <= conjugate + 1e-11 * (1 + np.abs(conjugate) + size(t) * (1 + size(u))))


@every_loss
@given(seed=seeds, spread=spreads)
def test_the_domain_is_where_projection_does_nothing(name, seed, spread):
    loss, random = made(name, seed)
    u = scores(loss, random, spread)
    projected = loss.project(u)
    inside = np.isfinite(loss.conjugate(u))
    same = np.all((np.abs(projected - u) <= 1e-14).reshape(len(u), -1), axis=1)
    np.testing.assert_array_equal(inside, same)
    assert np.all(np.isfinite(loss.conjugate(projected)))
    np.testing.assert_allclose(loss.project(projected), projected, rtol=0, atol=1e-15)
    # the nearest: no other point of the domain is closer
    other = loss.project(scores(loss, random, 1.0))
    far = np.sum((u - projected).reshape(len(u), -1) ** 2, axis=1)
    assert np.all(far <= np.sum((u - other).reshape(len(u), -1) ** 2, axis=1) * (1 + 1e-12) + 1e-30)


@every_loss
@given(seed=seeds, spread=spreads, apart=st.sampled_from([0.0, 1e-9, 1e-5, 1e-2, 1.0, 10.0]))
def test_excess_near_a_slope_keeps_its_digits(name, seed, spread, apart):
    """Between a score and the slope at another, against extended precision: the error follows from rounding t alone."""
    loss, random = made(name, seed)
    t = scores(loss, random, spread)
    other = t + apart * random.normal(size=t.shape)
    u = loss.project(loss.slope(other))
    excess, expected = loss.excess(t, u), reference.excess(loss, t, u)
    assert np.all(excess >= 0)
    off = wide(8 * EPS * (size(t) + size(loss.y) + 1), t)  # scores are known to this
    turn = np.maximum(size(loss.slope(t + off) - u), size(loss.slope(t - off) - u))
    if not loss.traits.is_convex:
        turn = turn + size(loss.slope(t))
    rounding = 4 * (size(off) * turn + 8 * EPS * (size(u) + size(loss.y) + 1) * size(other - t))
    mass = size(t) + size(loss.y) + 1
    terms = reference.value(loss, t) + np.abs(reference.conjugate(loss, u)) + mass * (size(u) + np.log1p(mass))
    cancelled = 2.0**-58 * terms  # in the definition, long doubles as they are
    allowed = rounding + cancelled + 256 * EPS * np.abs(expected)
    assert np.all(np.abs(excess - expected) <= allowed)


@every_loss
@given(seed=seeds, spread=spreads, other=spreads)
def test_excess_of_any_pair(name, seed, spread, other):
    loss, random = made(name, seed)
    t, u = scores(loss, random, spread), duals(loss, random, other)
    excess, expected = loss.excess(t, u), reference.excess(loss, t, u)
    terms = reference.value(loss, t) + np.abs(reference.conjugate(loss, u))
    terms = terms + (size(t) + size(loss.y) + 1) * (size(u) + size(loss.y) + 1)
    assert np.all(excess >= 0)
    assert np.all(np.abs(excess - expected) <= 64 * EPS * terms)


@every_loss
@given(seed=seeds)
def test_extremes_are_never_nan(name, seed):
    loss, random = made(name, seed)
    ends = [1e300, -1e300, 1e150, -1e150, 1e-300, -1e-300, 5e-324, 710.0, -746.0, 0.0]
    t = random.choice(ends, scores(loss, random, 1.0).shape)
    with np.errstate(over="ignore", under="ignore"):
        slope = loss.project(np.clip(loss.slope(t), -1e300, 1e300))
        for u in (slope, loss.project(random.choice(ends, t.shape)), np.zeros_like(t)):
            assert not np.any(np.isnan(loss.conjugate(u)))
            assert np.all(loss.excess(t, u) >= 0)
            balanced = loss.balanced(u, np.full(len(t), 1 / len(t)))
            assert not np.any(np.isnan(balanced))
        assert np.all(loss.value(t) >= 0)
        assert not np.any(np.isnan(loss.slope(t)))
        assert not np.any(np.isnan(loss.curvature(t)))


@every_convex_loss
@given(seed=seeds, spread=spreads)
def test_slopes_enclose_differences(name, seed, spread):
    """A chord is as steep as some slope between its ends; slopes never fall."""
    loss, random = made(name, seed)
    t = scores(loss, random, min(spread, 5.0))
    d = random.normal(size=t.shape)
    h = 1e-5 * (1 + np.max(np.abs(t)))
    chord = (loss.value(t + h * d) - loss.value(t - h * d)) / (2 * h)
    low, high = dot(loss.slope(t - h * d), d), dot(loss.slope(t + h * d), d)
    rounding = 1e-10 * (1 + loss.value(t) + size(loss.slope(t + h * d)) * size(d))
    assert np.all(low - rounding <= chord)
    assert np.all(chord <= high + rounding)
    assert np.all(low - rounding <= dot(loss.slope(t), d))
    assert np.all(dot(loss.slope(t), d) <= high + rounding)


@every_loss
@given(seed=seeds, spread=spreads)
def test_curvature_by_differences(name, seed, spread):
    loss, random = made(name, seed)
    traits = loss.traits
    t, d = scores(loss, random, min(spread, 5.0)), random.normal(size=(12,))
    d = d if t.ndim == 1 else random.normal(size=t.shape)
    product, h = loss.curvature_product(t, d), 1e-6 * (1 + size(t))
    if t.ndim == 1:
        np.testing.assert_allclose(product, loss.curvature(t) * d, rtol=1e-12, atol=1e-15)
    else:
        units = [
            loss.curvature_product(t, np.tile(unit, (len(t), 1)))[:, k] for k, unit in enumerate(np.eye(t.shape[1]))
        ]
        np.testing.assert_allclose(loss.curvature(t), np.stack(units, axis=1), rtol=1e-10, atol=1e-14)
    if traits.is_convex and not traits.has_curvature:
        assert not np.any(product)  # straight between kinks
        return
    step = wide(h, t) * d
    before, after = loss.curvature_product(t - step, d), loss.curvature_product(t + step, d)
    slack = 1e-3 * (size(before) + size(after)) + 1e-4
    smooth = np.isfinite(size(product)) & (size(after - before) <= slack)  # no kink of the slope in between
    smooth[smooth] &= size(product[smooth] - before[smooth]) <= slack[smooth]
    difference = (loss.slope(t + step) - loss.slope(t - step)) / (2 * wide(h, t))
    gap = size(difference[smooth] - product[smooth])
    assert np.all(gap <= (slack + 1e-8 * size(loss.slope(t)))[smooth])


@every_loss
@given(seed=seeds, spread=spreads)
def test_traits_bound_slope_and_curvature(name, seed, spread):
    loss, random = made(name, seed, n=40)
    traits = loss.traits
    t, s = scores(loss, random, spread), scores(loss, random, spread)
    norms = np.sqrt(dot(loss.slope(t), loss.slope(t)))
    assert np.all(norms <= traits.steepest * (1 + 1e-12))
    d = random.normal(size=t.shape)
    bent = loss.curvature_product(t, d)
    assert np.all(np.sqrt(dot(bent, bent)) <= traits.curvature_bound * np.sqrt(dot(d, d)) * (1 + 1e-12))
    change = loss.slope(t) - loss.slope(s)
    apart = np.sqrt(dot(t - s, t - s)) * (1 + 1e-9) + 1e-12
    assert np.isinf(traits.curvature_bound) or np.all(np.sqrt(dot(change, change)) <= traits.curvature_bound * apart)
    if traits.is_quadratic:
        constant = np.sum(loss.curvature(t)[0] * d[0]) / np.sum(d[0])
        np.testing.assert_allclose(change, constant * (t - s), rtol=1e-12, atol=1e-12)
    assert t.ndim == (1 if traits.n_scores == 1 else 2)


@pytest.mark.parametrize("name", [name for name in RECIPES if made(name, 0)[0].traits.pieces is not None])
@given(seed=seeds, spread=spreads)
def test_pieces_tell_the_conjugate(name, seed, spread):
    loss, random = made(name, seed)
    curvature, width = loss.traits.pieces
    u = duals(loss, random, spread)
    pieces = u * (0.5 * curvature * u + loss.y) + width * np.abs(u)
    told = pieces if u.ndim == 1 else pieces.sum(axis=1)
    scale = size(u * loss.y) + size(u) ** 2 + width * size(u)
    assert np.all(np.abs(loss.conjugate(u) - told) <= 16 * EPS * scale)


@pytest.mark.parametrize("name", [name for name in CONVEX if np.isfinite(made(name, 0)[0].traits.steepest)])
@given(seed=seeds, spread=spreads)
def test_steepest_is_attained(name, seed, spread):
    """The bound on slopes is no idle promise: far out they reach it."""
    loss, random = made(name, seed, n=40)
    t = np.concatenate([1e4 * (1 + spread) * np.ones(20), -1e4 * (1 + spread) * np.ones(20)])
    if loss.traits.n_scores > 1:
        t = np.stack([t] + [random.permutation(t) for _ in range(loss.traits.n_scores - 1)], axis=1)
    norms = np.sqrt(dot(loss.slope(t), loss.slope(t)))
    assert norms.max() >= loss.traits.steepest * (1 - 1e-12)


@every_loss
def test_convexity_is_as_stated(name):
    """The middle of a chord lies above the loss if it is convex; below it somewhere if it is not."""
    loss, random = made(name, 11, n=4000)
    a, b = scores(loss, random, 3.0), scores(loss, random, 3.0)
    ends, middle = 0.5 * loss.value(a) + 0.5 * loss.value(b), loss.value(0.5 * a + 0.5 * b)
    above = middle - ends > 1e-12 * (1 + ends)
    assert np.any(above) != loss.traits.is_convex


@every_loss
@given(seed=seeds, spread=spreads, magnitude=st.sampled_from([1e-8, 1.0, 1e8]))
def test_balanced_points(name, seed, spread, magnitude):
    loss, random = made(name, seed, n=50)
    c = random.exponential(size=50) + 1e-6
    c = c / c.sum()
    u = loss.project(magnitude * duals(loss, random, spread))
    balanced = loss.balanced(u, c)
    assert np.all(np.isfinite(loss.conjugate(balanced)))
    np.testing.assert_allclose(loss.project(balanced), balanced, rtol=0, atol=1e-15)
    weight = math.fsum(c * size(u)) + (1.0 if loss.traits.n_scores > 1 and loss.y.ndim == 1 else 0.0)
    for column in balanced.reshape(50, -1).T:
        assert abs(math.fsum(c * column)) <= 1e-15 * weight
    np.testing.assert_allclose(loss.balanced(balanced, c), balanced, rtol=1e-12, atol=1e-14 * (1 + np.max(np.abs(u))))


@every_loss
@given(seed=seeds, spread=spreads, step=st.sampled_from([1e-3, 0.5, 1.0, 20.0]), is_array=st.booleans())
def test_a_proximal_step_minimises(name, seed, spread, step, is_array):
    loss, random = made(name, seed)
    v = scores(loss, random, min(spread, 5.0))
    steps = np.full(len(v), step) * (random.uniform(0.5, 2.0, len(v)) if is_array else 1.0)
    p = loss.prox(v, steps if is_array else step)

    def objective(t):
        return loss.value(t) + dot(t - v, t - v) / (2 * steps)

    least = objective(p)
    tries = [p + width * random.normal(size=p.shape) for width in (1e-6, 1e-3, 0.1, 1.0, 1.0, 5.0) for _ in range(5)]
    for t in (*tries, v, p + loss.slope(p)):
        with np.errstate(over="ignore"):
            assert np.all(least <= objective(t) + 1e-13 * (1 + least))
    if loss.traits.is_convex:
        pull = (v - p) / wide(steps, v)  # a subgradient at p
        inside = loss.project(pull)
        rounding = 1e-13 * (1 + size(v) + size(loss.y)) * (1 + 1 / steps)
        assert np.all(size(pull - inside) <= rounding)
        assert np.all(loss.excess(p, inside) <= rounding * (1 + size(loss.slope(p)) + size(inside)))


@every_loss
@given(seed=seeds, n=st.integers(1, 15))
def test_the_constant_minimises(name, seed, n):
    loss, random = made(name, seed, n)
    c = random.exponential(size=n)
    c = c / c.sum()
    b = np.asarray(loss.constant(c))
    shape = (n,) if b.ndim == 0 else (n, len(b))

    def mean(b):
        return float(c @ loss.value(np.broadcast_to(b, shape).astype(np.float64)))

    least = mean(b)
    widths = (1e-7, 1e-4, 1e-2) if not loss.traits.is_convex else (1e-7, 1e-4, 1e-2, 1.0, 10.0)
    for width in widths:
        for _ in range(5):
            assert least <= mean(b + width * random.normal(size=b.shape)) + 1e-13 * (1 + least)
    if b.ndim == 0:
        assert least <= min(mean(target) for target in (loss.y.min(), loss.y.max(), 0.0)) + 1e-13 * (1 + least)


@every_loss
@given(seed=seeds, spread=spreads)
def test_taking_rows(name, seed, spread):
    loss, random = made(name, seed)
    t, u = scores(loss, random, spread), duals(loss, random, spread)
    for rows in (slice(2, 9), np.array([3, 3, 0]), random.random(12) < 0.5):
        part = loss.take(rows)
        assert part.traits.curvature_bound <= loss.traits.curvature_bound
        assert part.traits.steepest <= loss.traits.steepest
        assert replace(part.traits, curvature_bound=0.0, steepest=0.0) == replace(
            loss.traits, curvature_bound=0.0, steepest=0.0
        )
        np.testing.assert_array_equal(part.y, loss.y[rows])
        np.testing.assert_array_equal(part.value(t[rows]), loss.value(t)[rows])
        np.testing.assert_array_equal(part.slope(t[rows]), loss.slope(t)[rows])
        np.testing.assert_array_equal(part.curvature(t[rows]), loss.curvature(t)[rows])
        np.testing.assert_array_equal(part.conjugate(u[rows]), loss.conjugate(u)[rows])
        np.testing.assert_array_equal(part.excess(t[rows], u[rows]), loss.excess(t, u)[rows])
    near = loss.take(slice(2, 9)).prox(t[2:9], 0.5)
    np.testing.assert_allclose(near, loss.prox(t, 0.5)[2:9], rtol=1e-12, atol=1e-12)


@every_loss
@given(seed=seeds)
def test_infimum_is_zero(name, seed):
    """Every loss comes as near to zero as one likes, and never below."""
    loss, _ = made(name, seed)
    if loss.y.ndim == 2:
        best = loss.value(loss.y)
    elif loss.traits.n_scores > 1:
        best = loss.value(100.0 * np.eye(loss.traits.n_scores)[loss.y.astype(int)])
    else:
        near = [loss.y, 100.0 * loss.y, np.log(np.maximum(loss.y, 1e-30))]
        best = np.min([loss.value(t) for t in near], axis=0)
    assert np.all(best >= 0)
    assert np.all(best <= 1e-15)

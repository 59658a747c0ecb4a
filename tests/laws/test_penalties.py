"""Laws of every penalty: Fenchel and Young, Moreau, proximal steps, feasible dual points, traits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import penalties as reference
from tests.reference.every_penalty import RECIPES, P

from qed.convex import L1, L2, Box, Nonnegative, penalties
from qed.core import InvalidParameter

EPS = 2.0**-52
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from([1e-6, 1e-2, 1.0, 1.0, 30.0])
columns = st.sampled_from([None, 1, 2])
every_penalty = pytest.mark.parametrize("name", RECIPES)
SEPARABLE = [name for name in RECIPES if RECIPES[name](np.random.default_rng(0)).traits.is_separable]


def made(name, seed, k=None):
    """A penalty and coefficients in the shape asked for; a prior by coordinate is for vectors only."""
    random = np.random.default_rng(seed)
    penalty = RECIPES[name](random)
    flat = k is None or np.ndim(getattr(penalty, "prior", 0.0)) == 1
    return penalty, random, (P,) if flat else (P, k)


def anywhere(random, shape, spread):
    """Numbers, some of them zero and some on a grid where the kinks are."""
    w = spread * random.normal(size=shape)
    kind = random.random(shape)
    return np.where(kind < 0.2, 0.0, np.where(kind < 0.4, np.round(2 * w) / 2, w))


def allowed(penalty, random, shape, spread):
    """Coefficients of finite penalty."""
    return penalty.prox(anywhere(random, shape, spread), 0.1)


def test_every_penalty_has_a_recipe():
    """A new penalty is tested the day it is born."""
    described = {type(RECIPES[name](np.random.default_rng(0))).__name__ for name in RECIPES}
    assert described == set(penalties.__all__)
    assert set(penalties.__all__) <= set(reference.VALUES)
    assert set(penalties.__all__) <= set(reference.CONJUGATES)


@every_penalty
@given(seed=seeds, spread=spreads, k=columns)
def test_value_and_conjugate_are_their_definitions(name, seed, spread, k):
    penalty, random, shape = made(name, seed, k)
    for w in (allowed(penalty, random, shape, spread), anywhere(random, shape, spread)):
        expected = reference.value(penalty, w)
        assert penalty.value(w) >= 0
        assert penalty.value(w) == expected or abs(penalty.value(w) - expected) <= 32 * EPS * expected + 1e-300
    z = penalty.project(anywhere(random, shape, spread))
    z = z if penalty.traits.is_separable else (1 - 4 * EPS) * z  # a length on its bound is over it by rounding
    expected = reference.conjugate(penalty, z)
    terms = abs(expected) + np.sum(np.abs(z)) * (1 + np.max(np.abs(getattr(penalty, "prior", 0.0))))
    assert abs(penalty.conjugate(z) - expected) <= 32 * EPS * terms


@every_penalty
@given(seed=seeds, spread=spreads, other=spreads, k=columns)
def test_fenchel_young(name, seed, spread, other, k):
    penalty, random, shape = made(name, seed, k)
    w, z = anywhere(random, shape, spread), anywhere(random, shape, other)
    rounding = 64 * EPS * (1 + np.sum(np.abs(w) * (np.abs(z) + 10)) + np.sum(z * z))
    assert penalty.value(w) + penalty.conjugate(z) >= np.sum(w * z) - rounding


@every_penalty
@given(seed=seeds, spread=spreads, other=spreads, k=columns)
def test_excess_is_its_definition(name, seed, spread, other, k):
    penalty, random, shape = made(name, seed, k)
    w, z = allowed(penalty, random, shape, spread), penalty.project(anywhere(random, shape, other))
    value, more = penalty.excess(w, z, np.zeros(shape))
    expected = reference.excess(penalty, w, z)
    terms = reference.value(penalty, w) + abs(reference.conjugate(penalty, z)) + np.sum(np.abs(w * z))
    assert value >= 0
    assert more == 0
    assert abs(value - expected) <= 32 * EPS * terms


@every_penalty
@given(seed=seeds, spread=spreads, step=st.sampled_from([1e-3, 1.0, 50.0]), k=columns)
def test_moreau(name, seed, spread, step, k):
    """What a proximal step takes off v is the step times a dual point that meets Fenchel and Young with equality."""
    penalty, random, shape = made(name, seed, k)
    v = anywhere(random, shape, spread)
    w = penalty.prox(v, step)
    pull = (v - w) / step
    z = penalty.project(pull)
    rounding = 64 * EPS * (np.max(np.abs(v)) + np.max(np.abs(w)) + 1) * (1 + 1 / step)
    assert np.all(np.abs(pull - z) <= rounding)
    excess, _ = penalty.excess(w, z, np.zeros(shape))
    assert excess <= rounding * (1 + np.sum(np.abs(w)))


@every_penalty
@given(seed=seeds, spread=spreads, step=st.sampled_from([1e-3, 1.0, 50.0]), k=columns)
def test_a_proximal_step_minimises(name, seed, spread, step, k):
    penalty, random, shape = made(name, seed, k)
    v = anywhere(random, shape, spread)
    w = penalty.prox(v, step)

    def objective(w):
        return penalty.value(w) + np.sum((w - v) ** 2) / (2 * step)

    least = objective(w)
    assert np.isfinite(least)
    for width in (1e-5, 1e-2, 1.0, 10.0):
        for _ in range(5):
            other = w + width * random.normal(size=shape)
            for trial in (other, penalty.prox(other, 1e-9), np.maximum(other, 0.0)):
                assert least <= objective(trial) * (1 + 1e-12) + 1e-13
    assert least <= objective(np.zeros(shape)) * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize("name", SEPARABLE)
@given(seed=seeds, spread=spreads)
def test_separable_steps_may_differ_by_coordinate(name, seed, spread):
    penalty, random, _ = made(name, seed)
    v, steps = anywhere(random, (P,), spread), random.choice([1e-3, 0.5, 2.0], P)
    together = penalty.prox(v, steps)
    alone = [penalty.take(np.array([j])).prox(v[[j]], float(steps[j]))[0] for j in range(P)]
    np.testing.assert_allclose(together, alone, rtol=1e-15, atol=0)
    parts = [penalty.take(np.array([j])).value(together[[j]]) for j in range(P)]
    np.testing.assert_allclose(penalty.value(together), sum(parts), rtol=1e-13)
    for name_of in ("slope", "curvature", "project"):
        part = [getattr(penalty.take(np.array([j])), name_of)(together[[j]])[0] for j in range(P)]
        np.testing.assert_allclose(getattr(penalty, name_of)(together), part, rtol=1e-15, atol=0)


@every_penalty
def test_what_is_not_separable_shows_it(name):
    """Somewhere the step of one coordinate depends on another; in matrices, rows are coordinates."""
    random = np.random.default_rng(3)
    penalty = RECIPES[name](random)
    k = 2 if getattr(penalty, "groups", 0) is None else 1
    v = random.normal(size=(P, k)) if k == 2 else random.normal(size=P)
    moved = np.array(v)
    moved[1] *= 5.0  # the second coordinate, or the second row
    if k == 2:
        moved = np.array(v)
        moved[:, 1] *= 5.0
    first, then = penalty.prox(v, 0.5), penalty.prox(moved, 0.5)
    same = (
        np.array_equal(first[:, 0], then[:, 0]) if k == 2 else np.array_equal(np.delete(first, 1), np.delete(then, 1))
    )
    assert same == penalty.traits.is_separable


@every_penalty
@given(seed=seeds, spread=spreads, k=columns)
def test_the_domain_is_where_projection_does_nothing(name, seed, spread, k):
    penalty, random, shape = made(name, seed, k)
    z = anywhere(random, shape, spread)
    projected = penalty.project(z)
    np.testing.assert_allclose(penalty.project(projected), projected, rtol=4 * EPS, atol=0)
    if np.isfinite(penalty.conjugate(z)):
        np.testing.assert_array_equal(projected, z)
    else:
        assert np.any(projected != z)
    assert np.isfinite(penalty.conjugate((1 - 4 * EPS) * projected))
    other = penalty.project(anywhere(random, shape, 1.0))
    assert np.sum((z - projected) ** 2) <= np.sum((z - other) ** 2) * (1 + 1e-12)


@every_penalty
@given(seed=seeds, spread=spreads, k=columns, relative=st.sampled_from([0.0, 1e-9, 0.1]))
def test_shrinking_brings_into_the_domain(name, seed, spread, k, relative):
    penalty, random, shape = made(name, seed, k)
    z, rounding_error = anywhere(random, shape, spread), relative * random.random(shape)
    factor = penalty.shrink(z, rounding_error)
    assert 0.0 <= factor <= 1.0
    ends = [
        z + rounding_error,
        z - rounding_error,
        z + np.sign(z) * rounding_error,
        z + rounding_error * random.uniform(-1, 1, shape),
    ]
    for end in ends:
        point = factor * end
        np.testing.assert_allclose(penalty.project(point), point, rtol=8 * EPS, atol=8 * EPS * np.max(np.abs(point)))
    # and no larger factor does, where the error may lie along z: of a group, lengths are added
    factor = penalty.shrink(z, relative * np.abs(z))
    if factor < 1.0:
        end = (1.001 * factor + 1e-9) * (1 + relative) * z
        assert np.any(penalty.project(end) != end)


@every_penalty
@given(seed=seeds, spread=spreads, other=spreads, relative=st.sampled_from([1e-9, 1e-3, 1.0]), k=columns)
def test_rounding_bounds_what_excess_may_be(name, seed, spread, other, relative, k):
    penalty, random, shape = made(name, seed, k)
    w, z = allowed(penalty, random, shape, spread), penalty.project(anywhere(random, shape, other))
    rounding_error = relative * random.random(shape)
    value, more = penalty.excess(w, z, rounding_error)
    for _ in range(10):
        off = penalty.project(z + rounding_error * random.choice([-1.0, 1.0, 0.3], shape))
        if np.all(np.abs(off - z) <= rounding_error):
            there, _ = penalty.excess(w, off, np.zeros(shape))
            assert there <= (value + more) * (1 + 1e-12) + 1e-15 * (1 + np.sum(np.abs(w)))


@every_penalty
@given(seed=seeds, spread=spreads, k=columns)
def test_slopes_support_the_penalty(name, seed, spread, k):
    """A slope is a subgradient, and of all there are the one that ever smaller proximal steps take: the shortest."""
    penalty, random, shape = made(name, seed, k)
    w = allowed(penalty, random, shape, spread)
    slope = penalty.slope(w)
    for width in (1e-3, 1.0, 10.0):
        other = w + width * random.normal(size=shape)
        bound = penalty.value(w) + np.sum(slope * (other - w))
        assert penalty.value(other) >= bound - 1e-12 * (1 + abs(bound) + penalty.value(w))
    step = 1e-7 * min(1.0, np.min(np.abs(w[w != 0]), initial=1.0))
    near = (w - penalty.prox(w, step)) / step
    np.testing.assert_allclose(near, slope, rtol=1e-5, atol=1e-5 + 8 * EPS * np.max(np.abs(w)) / step)


@every_penalty
@given(seed=seeds, k=columns)
def test_free_coordinates_are_smooth(name, seed, k):
    penalty, random, shape = made(name, seed, k)
    w, z = allowed(penalty, random, shape, 1.0), anywhere(random, shape, 2.0)
    step = np.full(P, 0.5)
    free = penalty.free(w, z, step)
    assert free.shape == (P,)
    assert free.dtype == bool
    at = penalty.prox(w + 0.5 * z, 0.5)
    clear = free & (np.abs(at.reshape(P, -1)) > 1e-3).all(axis=1)
    walls = np.abs(at.reshape(P, -1) - penalty.prox(at + 1e-3, 1e-9).reshape(P, -1)) > 9e-4
    walls &= np.abs(at.reshape(P, -1) - penalty.prox(at - 1e-3, 1e-9).reshape(P, -1)) > 9e-4
    h = 1e-6
    for j in np.flatnonzero(clear & walls.all(axis=1)):
        for m in range(at.reshape(P, -1).shape[1]):
            d = np.zeros(shape)
            d.reshape(P, -1)[j, m] = h
            rise = (penalty.slope(at + d) - penalty.slope(at - d)).reshape(P, -1)[j, m] / (2 * h)
            np.testing.assert_allclose(penalty.curvature(at).reshape(P, -1)[j, m], rise, rtol=1e-3, atol=1e-3)


@every_penalty
@given(seed=seeds, spread=spreads, factor=st.sampled_from([0.125, 1.0, 3.0]), k=columns)
def test_times_a_factor(name, seed, spread, factor, k):
    penalty, random, shape = made(name, seed, k)
    times = factor * penalty
    w, v = allowed(penalty, random, shape, spread), anywhere(random, shape, spread)
    z = 0.999 * penalty.project(anywhere(random, shape, spread))
    np.testing.assert_allclose(times.value(w), factor * penalty.value(w), rtol=1e-14)
    np.testing.assert_allclose(times.prox(v, 0.5), penalty.prox(v, 0.5 * factor), rtol=1e-14, atol=1e-14 * spread)
    near = 1e-13 * (1 + np.sum(np.abs(z)))
    np.testing.assert_allclose(times.conjugate(factor * z), factor * penalty.conjugate(z), rtol=1e-12, atol=near)


@every_penalty
def test_convexity_is_as_stated(name):
    """The penalty less m/2 |w|**2 is convex for the stated m, and for no larger one."""
    random = np.random.default_rng(5)
    penalty = RECIPES[name](random)
    m = penalty.traits.convexity
    shape = (P, 2) if getattr(penalty, "groups", 0) is None else (P,)
    worst = np.inf
    for _ in range(400):
        a, b = (penalty.prox(0.5 * random.normal(size=shape), 1e-3) for _ in range(2))
        if random.random() < 0.7:
            b = np.array(a)
            b[random.integers(P)] *= 1.5  # along one coordinate without crossing zero
            b = penalty.prox(b, 1e-9)
        apart = float(np.sum((a - b) ** 2))
        if apart > 1e-6:
            chord = 0.5 * penalty.value(a) + 0.5 * penalty.value(b) - penalty.value(0.5 * a + 0.5 * b)
            worst = min(worst, 8 * chord / apart)
    assert worst >= m - 1e-6
    assert worst <= m + 1e-3 + 0.05 * (shape != (P,) or "Group" in name)


@every_penalty
@given(seed=seeds)
def test_bounding_is_as_stated(name, seed):
    """A penalty bounds if its conjugate is finite in every direction near zero."""
    penalty, random, shape = made(name, seed)
    ends = [penalty.conjugate(1e-3 * sign * direction) for direction in np.eye(P) for sign in (-1.0, 1.0)]
    assert np.all(np.isfinite(ends)) == penalty.traits.is_bounding
    assert penalty.conjugate(np.zeros(shape)) == 0.0
    assert np.isfinite(penalty.value(np.zeros(shape)))  # the null model is allowed
    assert min(penalty.value(np.zeros(shape)), penalty.value(penalty.prox(np.zeros(shape), 1e15))) <= 1e-12
    if penalty.traits.is_smooth:
        w = random.normal(size=shape)
        for j in range(P):
            on = np.array(w)
            on[j] = 0.0
            d = np.zeros(P)
            d[j] = 1e-9
            assert np.all(np.abs(penalty.slope(on + d) - penalty.slope(on - d)) <= 1e-8)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidParameter, match="lo <= 0 <= hi"):
        Box(0.5, 1.0)
    with pytest.raises(InvalidParameter, match="least at zero"):
        Nonnegative(L2(1.0, np.array([0.0, 1.0])))
    assert Nonnegative(L1(np.ones(3))).take([0, 2]).other.alpha.shape == (2,)

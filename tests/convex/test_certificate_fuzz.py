"""The law of the convex floor: no gap is below the true distance from the optimum, and most are close to it.

The distance is that from the best point anybody has found: an interior-point solver outside, or Newton steps from there, the
objective summed in long double. Any such point is above the optimum, so that a gap below the distance would be a true finding.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.convex_programs import LOSSES, PENALTIES, points, say

PAIRS = [(loss, penalty) for loss in LOSSES for penalty in PENALTIES]
FEW = settings().max_examples // 6


def judged(seed, loss, penalty):
    """Return the problem, its null objective, and gap and distance at each of some points."""
    said = say(seed, loss, penalty)
    random = np.random.default_rng([seed, 1])
    found = points(said, random)
    worth = [said.objective(w, b) for w, b, _ in found]
    rows = []
    for (w, b, u), own in zip(found, worth, strict=True):
        gap = said.problem.certify(w, b, u)
        others = [value for (v, _, _), value in zip(found, worth, strict=True) if said.within(v, w, gap.radius)]
        rows.append((gap, float(own - min(others))))
    return said, float(worth[0]), rows


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
@settings(max_examples=FEW)
@given(seed=st.integers(0, 2**40))
def test_no_gap_is_below_the_distance(seed, loss, penalty):
    _, null, rows = judged(seed, loss, penalty)
    for gap, distance in rows:
        assert gap.value >= distance
        assert gap.rounding <= gap.value
    assert np.isfinite(rows[0][0].value) or not np.isfinite(null)


def test_slopes_that_cancel_are_charged():
    """Counts that are all met exactly leave slopes of 1e-13, differences of numbers near one, whose digits are few."""
    _, _, rows = judged(639040955266, "Poisson", "Zero")
    for gap, distance in rows:
        assert gap.value >= distance


def test_products_that_cancel_are_charged():
    """Sparse columns of ones with a spread of 1e-8 are centred after they were multiplied: nothing is left of their squares."""
    _, _, rows = judged(504928906694, "Poisson", "Zero")
    for gap, distance in rows:
        assert gap.value >= distance


@pytest.mark.parametrize("loss", LOSSES)
def test_most_gaps_are_tight(loss):
    """Near the optimum, a gap is of the order of the distance, or of rounding."""
    tight = total = 0
    for penalty in PENALTIES:
        for seed in (3, 7):
            _, null, rows = judged(seed, loss, penalty)
            for gap, distance in rows[1:]:
                total += 1
                tight += gap.value <= 1e3 * distance + 1e-9 * null + 2 * gap.rounding
    assert tight > 0.8 * total

"""Search by chance."""

import numpy as np
import pytest

from qed.certificates import Uncertified
from qed.core import InvalidParameter
from qed.optimize import (
    Function,
    acceptance_probability,
    gradient_descent,
    quadratic,
    random_restarts,
    random_search,
    simulated_annealing,
)


def forbidden(w):
    raise AssertionError("the gradient was called")


def well(w):
    """Two dips, near -1 and +1; the left one is lower."""
    return float((w[0] ** 2 - 1) ** 2 + 0.3 * w[0])


WELL = Function(well, lambda w: 4 * w * (w**2 - 1) + 0.3)


@pytest.mark.covers("OPT-19")
def test_random_search_never_goes_up():
    bowl = Function(lambda w: float(0.5 * w @ w), forbidden)
    result = random_search(bowl, [3.0, 3.0], scale=0.1, max_iter=5000, random_state=0, keep_points=True)
    assert np.all(np.diff(result.trace.values) <= 0)
    assert result.value < 1e-2
    assert result.calls.value == 5001
    np.testing.assert_array_equal(
        result.trace.values[-10:], [0.5 * w @ w for w in result.trace.points[-10:]]
    )  # what is kept is the best
    again = random_search(bowl, [3.0, 3.0], scale=0.1, max_iter=5000, random_state=0)
    np.testing.assert_array_equal(again.point, result.point)
    assert isinstance(result.certificate, Uncertified)


@pytest.mark.covers("OPT-20")
def test_simulated_annealing():
    assert acceptance_probability(0.7, 0.5) == pytest.approx(np.exp(-1.4))
    assert acceptance_probability(-0.1, 0.5) == 1.0
    assert acceptance_probability(1e-12, 0.0) == 0.0
    cold = simulated_annealing(WELL, [1.0], temperature=0.0, scale=0.3, max_iter=500, random_state=0)
    assert np.all(np.diff(cold.trace.values) <= 0)  # greedy
    nearly = simulated_annealing(WELL, [1.0], temperature=1e-12, scale=0.3, max_iter=500, random_state=0)
    np.testing.assert_array_equal(nearly.trace.values, cold.trace.values)
    # on a flat staircase every rise is 1, so accepted rises are a coin of probability exp(-1/T)
    stairs = Function(lambda w: float(round(abs(w[0])) % 2), forbidden)
    run = simulated_annealing(stairs, [0.0], temperature=0.8, scale=50.0, max_iter=6000, random_state=1)
    low, high = run.trace.values[:-1] == 0, run.trace.values[1:] == 1
    share = np.mean(high[low])  # half of all proposals go up
    assert share == pytest.approx(0.5 * np.exp(-1 / 0.8), abs=0.02)
    hot = simulated_annealing(
        WELL, [1.0], temperature=lambda t: 1.0 / np.sqrt(t), scale=0.5, max_iter=3000, random_state=2
    )
    assert hot.point[0] == pytest.approx(-1.035, abs=0.05)  # the lower dip, from the other one
    assert hot.value == min(hot.trace.values)
    assert gradient_descent(WELL, [1.0]).point[0] > 0.9  # where descent stays


@pytest.mark.covers("OPT-35")
def test_restarts_keep_the_best():
    left, right = (gradient_descent(WELL, [start]) for start in (-0.5, 0.5))
    assert left.point[0] < -1 < 0.9 < right.point[0]
    assert left.value < right.value - 0.3
    runs = random_restarts(
        lambda w: gradient_descent(WELL, w), lambda rng: rng.uniform(-2, 2, 1), n_restarts=8, random_state=3
    )
    assert np.all(np.diff(runs.best_so_far) <= 0)
    np.testing.assert_array_equal(runs.best_so_far, np.minimum.accumulate(runs.values))
    assert runs.best.value == pytest.approx(left.value, abs=1e-9)
    assert np.ptp(runs.values) > 0.3  # the start decided
    fewer = random_restarts(
        lambda w: gradient_descent(WELL, w), lambda rng: rng.uniform(-2, 2, 1), n_restarts=3, random_state=3
    )
    np.testing.assert_array_equal(fewer.values, runs.values[:3])
    with pytest.raises(InvalidParameter, match="draw must be a callable"):
        random_restarts(lambda w: gradient_descent(quadratic([[1.0]]), w), 3)

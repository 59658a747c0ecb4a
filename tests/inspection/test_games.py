"""Coalition games: values in fractions, axioms, and estimates with their standard errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from qed.core import InvalidParameter
from qed.inspection import (
    CoalitionGame,
    banzhaf_value,
    check_axioms,
    least_squares_value,
    leave_one_out_value,
    probabilistic_value,
    random_order_value,
    sampled_value,
    shapley_kernel,
    shapley_value,
    shapley_weights,
    weighted_voting_game,
)

HALF, THIRD, SIXTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)


def glove():
    return CoalitionGame(3, lambda s: int(0 in s and len(s) > 1))


def drawn(n, seed):
    worth = np.random.default_rng(seed).integers(-9, 10, 1 << n)
    worth[0] = 0
    return CoalitionGame(n, lambda s: Fraction(int(worth[sum(1 << j for j in s)])))


@pytest.mark.covers("INT-04", "INT-06")
def test_single_changes_say_nothing_of_or():
    game = CoalitionGame(2, lambda s: int(len(s) > 0))
    assert leave_one_out_value(game).tolist() == [0, 0]
    assert shapley_value(game).tolist() == [HALF, HALF]


@pytest.mark.covers("INT-05")
def test_a_game_starts_from_nothing_and_additive_games_return_their_weights():
    with pytest.raises(InvalidParameter, match="empty coalition is worth 1"):
        CoalitionGame(2, lambda s: 1 + len(s))
    weights = [Fraction(3), Fraction(-2), Fraction(5, 7)]
    shifted = CoalitionGame(3, lambda s: 1 + sum(weights[j] for j in s), zero=True)
    for value in (shapley_value, banzhaf_value, leave_one_out_value):
        assert value(shifted).tolist() == weights
    assert shifted.worth([0, 2]) == Fraction(26, 7)


@pytest.mark.covers("INT-06", "INT-08", "INT-09")
def test_glove_game():
    assert leave_one_out_value(glove()).tolist() == [1, 0, 0]
    assert banzhaf_value(glove()).tolist() == [Fraction(3, 4), Fraction(1, 4), Fraction(1, 4)]
    assert shapley_value(glove()).tolist() == [Fraction(2, 3), SIXTH, SIXTH]
    assert shapley_weights(4) == [
        Fraction(math.factorial(s) * math.factorial(3 - s), math.factorial(4)) for s in range(4)
    ]


@pytest.mark.covers("INT-07")
def test_probabilistic_values_are_linear_and_their_weights_are_checked():
    with pytest.raises(InvalidParameter, match=r"p must hold 3 weights"):
        probabilistic_value(glove(), [HALF, HALF, HALF])
    p = [Fraction(1, 2), Fraction(1, 8), Fraction(1, 4)]
    for seed in range(5):
        one, other = drawn(3, seed), drawn(3, seed + 100)
        both = CoalitionGame(3, lambda s, one=one, other=other: 2 * one.worth(s) - other.worth(s))
        expected = 2 * probabilistic_value(one, p) - probabilistic_value(other, p)
        assert probabilistic_value(both, p).tolist() == expected.tolist()


@pytest.mark.covers("INT-10")
def test_orders():
    game = drawn(4, 3)
    assert random_order_value(game, itertools.permutations(range(4))).tolist() == shapley_value(game).tolist()
    assert random_order_value(glove(), [(0, 1, 2)]).tolist() == [0, 1, 0]
    uneven = random_order_value(game, [(0, 1, 2, 3), (3, 2, 1, 0)], [Fraction(1, 4), Fraction(3, 4)])
    assert sum(uneven.tolist()) == game.worth(range(4))
    assert uneven.tolist() != shapley_value(game).tolist()


@pytest.mark.covers("INT-11")
def test_axioms():
    assert all(check_axioms(shapley_value, n_games=60).values())
    for value in (banzhaf_value, leave_one_out_value):
        kept = check_axioms(value, n_games=60)
        assert [name for name, holds in kept.items() if not holds] == ["efficiency"]


@pytest.mark.covers("INT-12")
def test_marginal_samples_are_unbiased_and_count_their_calls():
    game, n = drawn(5, 1), 5
    exact = shapley_value(game).astype(float)
    scores = []
    for seed in range(300):
        found = sampled_value(game, 40, method="marginal", random_state=seed)
        scores.append(found.values - exact)
    mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0) / math.sqrt(300)
    assert (np.abs(mean) < 7 * spread).all()
    sizes = []

    def worth(s):
        sizes.append(len(s))
        return 0.0

    fresh = CoalitionGame(12, worth)
    sampled_value(fresh, 30, method="marginal", random_state=0)
    assert fresh.calls <= 2 * 12 * 30 + 1
    # the size of the others is uniform: C(n-1, s) p_s = 1/n, so that sizes with and without the player average n / 2
    sums = [
        sampled_value(CoalitionGame(n, lambda s: float(len(s) == 1)), 400, method="marginal", random_state=k)
        for k in range(5)
    ]
    assert np.abs(np.mean([one.values for one in sums]) - 0.0) < 0.1


@pytest.mark.covers("INT-12", "INT-15")
def test_errors_halve_in_square_when_samples_double_and_standard_errors_are_true():
    worth = np.random.default_rng(1).standard_normal(1 << 8)
    worth[0] = 0
    game = CoalitionGame(8, lambda s: worth[sum(1 << j for j in s)])
    exact = shapley_value(game)
    for method in ("marginal", "permutation", "least_squares"):
        errors = {}
        for m in (30, 60):
            found = [sampled_value(game, m, method=method, random_state=seed) for seed in range(300)]
            errors[m] = np.mean([(one.values - exact) ** 2 for one in found])
            stated = np.mean([one.standard_errors**2 for one in found])
            assert 0.75 < errors[m] / stated < 1.35, method
        assert 0.4 < errors[60] / errors[30] < 0.6, method


@pytest.mark.covers("INT-13")
def test_least_squares_value_is_the_constrained_fit():
    quarter = [Fraction(1, 4)] * 3
    assert least_squares_value(glove(), quarter).tolist() == [Fraction(2, 3), SIXTH, SIXTH]
    game, n = drawn(4, 7), 4
    p = [Fraction(1, 2), Fraction(1, 18), Fraction(1, 18), Fraction(1, 6)]
    found = least_squares_value(game, p).astype(float)
    # a fit apart: minimise sum q_s (u(S) - x(S))^2 subject to x(N) = u(N), by its linear system
    numbers = range(1, (1 << n) - 1)
    Z = np.array([[number >> j & 1 for j in range(n)] for number in numbers], dtype=float)
    q = np.array([float(p[number.bit_count()] + p[number.bit_count() - 1]) for number in numbers])
    u = np.array([float(game.of_bits([number])[0]) for number in numbers])
    system = np.block([[Z.T @ (q[:, None] * Z), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    right = np.append(Z.T @ (q * u), float(game.worth(range(n))))
    assert np.allclose(np.linalg.solve(system, right)[:n], found, atol=1e-12)


@pytest.mark.covers("INT-14")
def test_shapley_kernel():
    assert shapley_kernel(5) == [Fraction(1, 4), Fraction(1, 12), Fraction(1, 12), Fraction(1, 4)]
    for n in range(2, 8):
        weights = shapley_weights(n)
        assert shapley_kernel(n) == [weights[s] + weights[s - 1] for s in range(1, n)]


@pytest.mark.covers("INT-15")
def test_least_squares_samples_share_their_evaluations():
    game = drawn(6, 2)
    exact = sampled_value(game, 31, method="least_squares", random_state=0)
    assert np.allclose(exact.values, shapley_value(game).astype(float), atol=1e-12)
    assert not exact.standard_errors.any()
    fresh = drawn(10, 2)
    found = sampled_value(fresh, 50, method="least_squares", random_state=0)
    assert fresh.calls <= 2 * 50 + 2
    assert math.isclose(found.values.sum(), float(fresh.worth(range(10))), abs_tol=1e-9)


@pytest.mark.covers("INT-16")
def test_voting_power():
    game = weighted_voting_game(51, [50, 49, 1])
    assert shapley_value(game).tolist() == [Fraction(2, 3), SIXTH, SIXTH]
    assert banzhaf_value(weighted_voting_game(2, [1, 1, 1])).tolist() == [HALF] * 3
    assert shapley_value(weighted_voting_game(2, [1, 1, 1])).tolist() == [THIRD] * 3


def test_worth_is_asked_once_and_bad_input_is_named():
    game = glove()
    shapley_value(game)
    banzhaf_value(game)
    assert game.calls == 8
    vectorised = CoalitionGame(3, lambda S: (S[:, 0] & (S.sum(axis=1) > 1)).astype(float), vectorised=True)
    assert np.allclose(shapley_value(vectorised), [2 / 3, 1 / 6, 1 / 6])
    for call in (
        lambda: CoalitionGame(0, len),
        lambda: game.worth([5]),
        lambda: shapley_value(CoalitionGame(40, len)),
        lambda: random_order_value(game, [(0, 1)]),
        lambda: sampled_value(game, 1),
        lambda: sampled_value(game, 5, method="other"),
        lambda: sampled_value(game, 5, p=[1, 0, 0]),
        lambda: weighted_voting_game(0, [1]),
    ):
        with pytest.raises(InvalidParameter):
            call()

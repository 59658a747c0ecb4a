"""Entropy, divergences and mutual information."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qed.core import InvalidData, InvalidParameter
from qed.distributions import (
    Bernoulli,
    Gaussian,
    MultivariateGaussian,
    Poisson,
    conditional_entropy,
    cross_entropy,
    entropy,
    f_divergence,
    fisher_divergence,
    information_content,
    information_gain,
    jensen_shannon,
    joint_table,
    kl_divergence,
    mutual_information,
    renyi_divergence,
)
from qed.metrics import log_loss


def table(shape, seed):
    p = np.random.default_rng(seed).random(shape)
    return p / p.sum()


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.covers("INF-01", "INF-02", "INF-03")
def test_content_and_entropy():
    assert information_content([0.5, 0.25], "bits").tolist() == [1, 2]
    assert information_content(0.0) == np.inf
    assert entropy(np.full(5, 0.2)) == pytest.approx(np.log(5))
    assert entropy([1.0, 0.0]) == 0
    assert entropy([0.5, 0.5], "bits") == pytest.approx(1)
    for k in range(20):
        assert 0 <= entropy(table(5, k)) <= np.log(5)
    curve = np.array([Bernoulli(p).entropy("bits") for p in np.linspace(0, 1, 101)])
    assert curve[50] == pytest.approx(1)
    assert curve[0] == curve[-1] == 0
    np.testing.assert_allclose(curve, curve[::-1], atol=1e-12)
    assert np.all(np.diff(curve, 2) < 0)
    with pytest.raises(InvalidParameter, match="'nats' or 'bits'"):
        entropy([1.0], "bytes")
    with pytest.raises(InvalidParameter, match="sum to one"):
        entropy([0.5, 0.4])
    with pytest.raises(InvalidParameter, match="lies in"):
        information_content(1.5)


@pytest.mark.covers("INF-04", "INF-05", "INF-12")
@given(seeds)
def test_chain_rules(seed):
    joint = table((3, 4), seed)
    x, y = joint.sum(axis=1), joint.sum(axis=0)
    mutual = mutual_information(joint)
    assert conditional_entropy(joint) <= entropy(x) + 1e-12
    assert entropy(joint) == pytest.approx(entropy(y) + conditional_entropy(joint))
    assert mutual == pytest.approx(mutual_information(joint.T))
    assert mutual == pytest.approx(entropy(x) + entropy(y) - entropy(joint), abs=1e-12)
    assert mutual == pytest.approx(entropy(x) - conditional_entropy(joint), abs=1e-12)
    assert mutual == pytest.approx(kl_divergence(joint.ravel(), np.outer(x, y).ravel()))
    assert mutual_information(np.outer(x, y)) == pytest.approx(0, abs=1e-12)
    p, q = table(6, seed), table(6, seed + 1)
    assert (
        kl_divergence(p, q) >= -np.log(np.sum(p * (q / p))) - 1e-12 == pytest.approx(0, abs=1e-11)
    )  # Jensen, with -log


def test_mutual_information_of_copies():
    assert mutual_information(np.diag([0.5, 0.5]), "bits") == pytest.approx(1)
    assert conditional_entropy([[0.2, 0, 0.3], [0, 0.5, 0]]) == 0  # X is a function of Y


@pytest.mark.covers("INF-06", "INF-07")
def test_divergence_and_cross_entropy():
    p, q = table(4, 0), table(4, 1)
    assert kl_divergence(p, p) == 0
    assert kl_divergence(p, q) > 0
    assert kl_divergence(p, q) != pytest.approx(kl_divergence(q, p))
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert cross_entropy(p, q) == pytest.approx(-p @ np.log(q))
    assert cross_entropy(p, q, "bits") == pytest.approx(-p @ np.log2(q))
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + kl_divergence(p, q))
    a, b = Gaussian(1.0, 2.0), Gaussian(-1.0, 3.0)
    assert kl_divergence(a, b) == pytest.approx(np.log(np.sqrt(3 / 2)) + (2 + 4) / 6 - 0.5)
    y, predicted = np.array([1, 0, 1]), np.array([0.8, 0.3, 0.6])
    mean = np.mean([cross_entropy([1 - t, t], [1 - f, f]) for t, f in zip(y, predicted, strict=True)])
    assert mean == pytest.approx(log_loss(y, predicted))
    with pytest.raises(InvalidData, match="categories"):
        kl_divergence([1.0], [0.5, 0.5])
    with pytest.raises(InvalidData, match="of one kind"):
        kl_divergence(Gaussian(), [1.0])


@pytest.mark.covers("INF-08")
def test_f_divergences():
    p, q = table(5, 2), table(5, 3)
    direct = {
        "kl": kl_divergence(p, q),
        "reverse-kl": kl_divergence(q, p),
        "chi-squared": np.sum((p - q) ** 2 / q),
        "jensen-shannon": jensen_shannon(p, q),
        "total-variation": np.abs(p - q).sum() / 2,
        "hellinger": np.sum((np.sqrt(p) - np.sqrt(q)) ** 2),
    }
    for name, value in direct.items():
        assert f_divergence(p, q, name) == pytest.approx(value)
        assert f_divergence(p, p, name) == pytest.approx(0, abs=1e-15)
    assert f_divergence(p, q, lambda t: (t - 1) ** 2) == pytest.approx(direct["chi-squared"])
    a, b = [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]
    assert f_divergence(a, b, "jensen-shannon") == pytest.approx(jensen_shannon(a, b))
    assert f_divergence(a, b, "total-variation") == pytest.approx(0.5)
    assert f_divergence(a, b, "kl") == np.inf
    assert jensen_shannon([1, 0], [0, 1], "bits") == pytest.approx(1)  # the largest value
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p))
    with pytest.raises(InvalidParameter, match="one of"):
        f_divergence(p, q, "other")
    for one in (jensen_shannon, lambda a, b: f_divergence(a, b, "kl"), lambda a, b: renyi_divergence(a, b, 2)):
        with pytest.raises(InvalidData, match="tables of probabilities"):
            one(Poisson(1), Poisson(2))
        with pytest.raises(InvalidData, match="2 and 3 categories"):
            one([0.5, 0.5], [0.2, 0.3, 0.5])
    with pytest.raises(InvalidData, match="limit"):
        f_divergence(a, b, lambda t: (t - 1) ** 2)


@pytest.mark.covers("INF-09")
def test_renyi():
    p, q = [0.75, 0.25], [0.25, 0.75]  # randomised response
    assert renyi_divergence(p, q, 2) == pytest.approx(0.8473, abs=1e-4)
    assert renyi_divergence(p, q, 1) == pytest.approx(0.5 * np.log(3))
    assert renyi_divergence(p, q, np.inf) == pytest.approx(np.log(3))
    values = [renyi_divergence(p, q, a) for a in (0.2, 0.5, 1, 2, 5, 50, np.inf)]
    assert np.all(np.diff(values) >= 0)
    S = np.array([[2.0, 0.4], [0.4, 1.0]])
    step = np.array([0.7, -0.2])
    a, b = MultivariateGaussian([0, 0], S), MultivariateGaussian(step, S)
    for order in (0.5, 3.0):
        assert renyi_divergence(a, b, order) == pytest.approx(order / 2 * step @ np.linalg.solve(S, step))
    assert renyi_divergence(Gaussian(0, 1), Gaussian(0, 2), 1.0001) == pytest.approx(
        kl_divergence(Gaussian(0, 1), Gaussian(0, 2)), rel=1e-3
    )
    assert renyi_divergence(Gaussian(0, 2), Gaussian(0, 1), 3) == np.inf
    with pytest.raises(InvalidParameter, match="at least 0"):
        renyi_divergence(p, q, -1)


@pytest.mark.covers("INF-10")
def test_fisher():
    a, b = 2.0, 0.7
    assert fisher_divergence(Gaussian(0, b), Gaussian(0, a)) == pytest.approx(0.5 * (1 / a - 1 / b) ** 2 * b)
    p = MultivariateGaussian([1, 2], [[2.0, 0.3], [0.3, 1.0]])
    q = MultivariateGaussian([0, 1], [[1.0, -0.2], [-0.2, 1.5]])
    x = p.sample(200_000, random_state=0)
    drawn = 0.5 * np.sum((p.score(x) - q.score(x)) ** 2, axis=1)
    assert fisher_divergence(p, q) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(len(x)))
    assert fisher_divergence(p, p) == 0
    with pytest.raises(InvalidData, match="Gaussians alone"):
        fisher_divergence([0.5, 0.5], [0.5, 0.5])


@pytest.mark.covers("INF-11")
def test_information_gain():
    weather = ["sun", "sun", "rain", "rain", "rain", "fog"]
    play = [1, 1, 0, 0, 1, 0]
    joint = joint_table(weather, play)
    assert joint.shape == (3, 2)
    assert information_gain(weather, play, "bits") == pytest.approx(mutual_information(joint, "bits"))
    assert information_gain(weather, play, "bits") == pytest.approx(1 - 0.5 * entropy([1 / 3, 2 / 3], "bits"))
    s = [2, 1, 0, 1, 1, 1]
    repeated = [np.repeat(column, s) for column in (weather, play)]
    assert information_gain(weather, play, sample_weight=s) == pytest.approx(information_gain(*repeated))
    for wrong, match in (([1, 1], "expected"), ([-1] * 6, "Negative"), ([0] * 6, "positive weight")):
        with pytest.raises(InvalidData, match=match):
            joint_table(weather, play, wrong)
    with pytest.raises(InvalidData, match="same, positive length"):
        information_gain([1], [1, 2])

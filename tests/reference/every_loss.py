"""One recipe for every loss there is, so that laws run over all of them."""

from __future__ import annotations

import numpy as np

from qed.convex import losses


def numbers(random, n):
    """Targets: half of them on a coarse grid, so that residuals are often exactly zero or on a kink."""
    return np.where(random.random(n) < 0.5, np.round(2 * random.normal(size=n)) / 2, random.normal(size=n))


def signs(random, n):
    return random.choice([-1.0, 1.0], n)


def classes(random, n, k):
    return random.integers(0, k, n).astype(np.float64)


def counts(random, n):
    return random.choice([0.0, 0.0, 1.0, 2.0, 0.25, 7.0, 100.0], n)


def costs(random, n):
    return random.choice([0.5, 1.0, 8.0], n)


def of(name, targets, **options):
    return lambda random, n: getattr(losses, name)(targets(random, n), **options)


def bounded(inner, **options):
    return lambda random, n: losses.Bounded(RECIPES[inner](random, n), **options)


RECIPES = {
    "Absolute": of("Absolute", numbers),
    "CrammerSinger": lambda random, n: losses.CrammerSinger(classes(random, n, 4), 4),
    "CrammerSinger of 2": lambda random, n: losses.CrammerSinger(classes(random, n, 2), 2),
    "EpsilonInsensitive": of("EpsilonInsensitive", numbers, epsilon=0.5),
    "EpsilonInsensitive of width 0": of("EpsilonInsensitive", numbers, epsilon=0.0),
    "Hinge": of("Hinge", signs),
    "SquaredHinge of 3 planes": lambda random, n: losses.SquaredHinge(random.choice([-1.0, 1.0], (n, 3))),
    "Huber": of("Huber", numbers, knee=1.0),
    "Huber, small knee": of("Huber", numbers, knee=1e-3),
    "Logistic": of("Logistic", signs),
    "Perceptron": of("Perceptron", signs),
    "Poisson": of("Poisson", counts),
    "Power": of("Power", numbers, p=3.0),
    "Power of 2": of("Power", numbers, p=2.0),
    "Power of 1.5": of("Power", numbers, p=1.5),
    "Power of 6.25": of("Power", numbers, p=6.25),
    "Quantile": of("Quantile", numbers, tau=0.5),
    "Quantile of 0.9": of("Quantile", numbers, tau=0.9),
    "SmoothedHinge": of("SmoothedHinge", signs, knee=1.0),
    "SmoothedHinge, small knee": of("SmoothedHinge", signs, knee=0.25),
    "SmoothedHinge, large knee": of("SmoothedHinge", signs, knee=3.0),
    "Softmax": lambda random, n: losses.Softmax(classes(random, n, 3), 3),
    "Squared": of("Squared", numbers),
    "Squared of 3": lambda random, n: losses.Squared(random.normal(size=(n, 3))),
    "SquaredEpsilonInsensitive": of("SquaredEpsilonInsensitive", numbers, epsilon=0.5),
    "SquaredHinge": of("SquaredHinge", signs),
    "ZeroOne": of("ZeroOne", signs),
    "Weighted": lambda random, n: losses.Weighted(losses.Quantile(numbers(random, n), 0.25), 4.0),
    "Weighted by row": lambda random, n: losses.Weighted(losses.Hinge(signs(random, n)), costs(random, n)),
    "Weighted smooth": lambda random, n: losses.Weighted(losses.Logistic(signs(random, n)), costs(random, n)),
    "Weighted classes": lambda random, n: losses.Weighted(
        losses.CrammerSinger(classes(random, n, 3), 3), costs(random, n)
    ),
    "Bounded": bounded("Squared", shape="exponential"),
    "Bounded, rational": bounded("Squared", shape="rational", scale=2.0),
    "Bounded, truncated": bounded("Huber", shape="truncated", scale=0.5),
    "Bounded of margins": bounded("Logistic", shape="exponential", scale=0.5),
    "Bounded of classes": bounded("Softmax", shape="rational"),
}


def scores(loss, random, spread):
    """Scores at distance ``spread`` from the targets; some of them exactly on a grid where the kinks are."""
    n, k = len(loss.y), loss.traits.n_scores
    shape = loss.y.shape if loss.y.ndim == 2 else (n,) if k == 1 else (n, k)
    t = spread * random.normal(size=shape)
    around = loss.y if loss.y.shape == shape and random.random() < 0.5 else 0.0
    t = t + around
    on_grid = random.random(shape) < 0.25
    return np.where(on_grid, np.round(2 * np.clip(t, -50, 50)) / 2, t)


def duals(loss, random, spread):
    """Dual points in the domain; some of them on its boundary."""
    t = scores(loss, random, spread)
    u = loss.project(np.where(random.random(t.shape) < 0.5, spread * random.normal(size=t.shape), loss.slope(t)))
    return loss.project(u)

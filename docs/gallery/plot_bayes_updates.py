"""Bayesian estimates: prior, likelihood, posterior, and predictive bands.

Left: a coin. The prior prefers fair coins; ten throws with eight heads pull the posterior away from it. Middle: the ellipses
that hold 50 % and 90 % of two Gaussians. Right: Bayesian linear regression. The bands are one and two
standard deviations of a new value: they widen where there are no rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.distributions import Beta, BetaBernoulli
from qed.inspection import GaussianContourDisplay, PosteriorDisplay, PredictiveBandDisplay
from qed.linear_model import BayesianRidge
from qed.mixture import GaussianMixture


def main():
    """Draw the three figures."""
    rng = np.random.default_rng(0)
    figure, (coin, ellipses, line) = plt.subplots(1, 3, figsize=(13.0, 4.0), layout="constrained")
    throws = [1, 1, 0, 1, 1, 1, 1, 0, 1, 1]
    PosteriorDisplay.from_pair(BetaBernoulli(), Beta(5.0, 5.0), throws, name="probability of heads", ax=coin)
    X = np.vstack([rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) @ [[1.0, 0.9], [0.0, 0.4]] + [4.0, 1.0]])
    GaussianContourDisplay.from_estimator(GaussianMixture(2, random_state=0).fit(X), X, ax=ellipses)
    x = rng.uniform(0.0, 1.0, (8, 1))
    y = 2.0 * x.ravel() + rng.normal(size=8) / 4
    PredictiveBandDisplay.from_estimator(BayesianRidge().fit(x, y), x, y, room=1.5, ax=line)
    return figure

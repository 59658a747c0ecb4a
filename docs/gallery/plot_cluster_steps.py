"""k-means and EM, step by step.

Three groups of points. Above, Lloyd's k-means from three random rows: every step assigns each point to its nearest centre and
moves the centres to the means. Below, EM for a Gaussian mixture from three random rows: every step mixes the colours of a point by
its probabilities, and refits means and covariances. The black lines are the ways of the centres. The ellipses hold 50 % and 90 %
of each component.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.cluster import KMeans
from qed.inspection import FitStepsDisplay
from qed.mixture import GaussianMixture


def points():
    """Return a round, a tilted and a small group."""
    rng = np.random.default_rng(0)
    tilted = rng.normal(size=(60, 2)) @ [[1.0, 0.8], [0.0, 0.5]] + [4.0, 1.0]
    return np.vstack([rng.normal(size=(60, 2)), tilted, rng.normal(size=(60, 2)) / 2 + [1.0, 4.0]])


def main():
    """Draw both methods after some of their steps."""
    X = points()
    figure, panels = plt.subplots(2, 4, figsize=(11.0, 5.6), layout="constrained")
    start = KMeans(3, init="random", n_init=1, random_state=3)
    FitStepsDisplay.from_estimator(start, X, steps=(1, 2, 3, 7), axes=panels[0])
    mixture = GaussianMixture(3, init_params="random_from_data", random_state=1)
    FitStepsDisplay.from_estimator(mixture, X, steps=(1, 3, 10, 30), axes=panels[1])
    return figure

"""One tree, many trees, and trees that correct one another.

A curve with noise, and what is predicted by a single tree, by a random forest and by boosting. On the right the forest's error on
rows out of its trees' samples, with its interval, as trees are added; and the training loss of boosting after every round, which
the certificate states and the checker derives again.
"""

import matplotlib.pyplot as plt
import numpy as np

import qed
from qed.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from qed.tree import DecisionTreeRegressor

COLOURS = ("#8a8a8a", "#2f6db3", "#c9641b")


def curve(n=200, seed=0):
    """Return places and heights of a wave that grows, with noise."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 3, n))
    return x[:, None], x * np.sin(3 * x) + 0.4 * rng.normal(size=n)


def main():
    """Fit and draw the three."""
    X, y = curve()
    grid = np.linspace(0, 3, 600)[:, None]
    models = {
        "a tree": DecisionTreeRegressor(),
        "a forest": RandomForestRegressor(min_samples_leaf=3, random_state=0),
        "boosting": HistGradientBoostingRegressor(max_iter=60, min_samples_leaf=10),
    }
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=[1.6, 1])
    panels[0].plot(X[:, 0], y, "o", markersize=2.5, color="#bbbbbb")
    for (name, model), colour in zip(models.items(), COLOURS, strict=True):
        model.fit(X, y)
        qed.verify(model, X, y)
        panels[0].plot(grid[:, 0], model.predict(grid), color=colour, linewidth=1.2, label=name)
        print(model.certificate_.statement)
    panels[0].legend(frameon=False, fontsize=8)
    sizes = (5, 10, 20, 40, 80, 160)
    found = [RandomForestRegressor(k, min_samples_leaf=3, random_state=0).fit(X, y).certificate_ for k in sizes]
    panels[1].fill_between(sizes, [one.low for one in found], [one.high for one in found], color=COLOURS[1], alpha=0.15)
    panels[1].plot(
        sizes, [one.error for one in found], "o-", markersize=3, color=COLOURS[1], label="forest, out of bag"
    )
    losses = 2 * models["boosting"].certificate_.losses
    panels[1].plot(np.arange(1, len(losses)), losses[1:], color=COLOURS[2], label="boosting, training")
    panels[1].set(xlabel="trees", ylabel="squared error", xscale="log")
    panels[1].legend(frameon=False, fontsize=8)
    return figure

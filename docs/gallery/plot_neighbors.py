"""Nearest neighbours and kernel density estimation.

Penguins by bill and flipper length. Left: the prediction of one neighbour, which is constant on each Voronoi cell.
Middle: the vote of fifteen neighbours removes isolated cells. Right: a kernel density estimate.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from qed.datasets import load_penguins
from qed.inspection import DecisionBoundaryDisplay
from qed.neighbors import KernelDensity, KNeighborsClassifier
from qed.preprocessing import StandardScaler

COLOURS = ("#2f6db3", "#c9641b", "#3f8f5f")


def birds():
    """Return bill and flipper of the birds, standardised, and their species."""
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    lengths = np.column_stack([column["bill_length_mm"], column["flipper_length_mm"]])
    species = np.where(column["species_Gentoo"] == 1, "Gentoo", "Adelie")
    species = np.where(column["species_Chinstrap"] == 1, "Chinstrap", species)
    return StandardScaler().fit_transform(lengths), species


def main():
    """Draw cells, votes and a density."""
    X, y = birds()
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6))
    for axes, k in zip(panels, (1, 15), strict=False):
        model = KNeighborsClassifier(k).fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            model, X, eps=0.4, ax=axes, cmap=ListedColormap(COLOURS), alpha=0.2, grid_resolution=150
        )
        words = f"{k} neighbour{'s' if k > 1 else ''}"
        print(f"{words}: {np.mean(model.predict(None) == y):.1%} leave-one-out accuracy")
        axes.set(title=words)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    density = KernelDensity(bandwidth="scott").fit(X)
    logs = density.score_samples(np.column_stack([across.ravel(), up.ravel()]))
    panels[2].contourf(across, up, np.exp(logs).reshape(across.shape), levels=9, cmap="Greys", alpha=0.7)
    panels[2].set(title="density")
    for axes in panels:
        for label, colour in zip(np.unique(y), COLOURS, strict=True):
            axes.scatter(*X[y == label].T, s=5, color=colour, label=label)
        axes.set(xticks=[], yticks=[])
    panels[0].set(xlabel="length of bill", ylabel="length of flipper")
    panels[1].legend(frameon=False, fontsize=8, loc="upper left")
    return figure

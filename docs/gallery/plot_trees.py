"""Decision trees and their certificates.

Three penguin species by bill and flipper length. Left: a tree of depth two. Middle: its regions. Right: the regions of
a tree that is grown until every leaf is pure. The certificates state how much impurity a better tree of depth two could
avoid, and that the pure tree has none.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from qed.datasets import load_penguins
from qed.inspection import DecisionBoundaryDisplay
from qed.tree import DecisionTreeClassifier, plot_tree

COLOURS = ("#2f6db3", "#c9641b", "#2e8b57")


def birds():
    """Return bill and flipper of all birds, in millimetres, and their species."""
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    lengths = np.column_stack([column["bill_length_mm"], column["flipper_length_mm"]])
    species = np.where(column["species_Gentoo"] == 1, "Gentoo", "Adelie")
    return lengths, np.where(column["species_Chinstrap"] == 1, "Chinstrap", species)


def main():
    """Fit and draw two trees."""
    X, y = birds()
    figure, panels = plt.subplots(1, 3, figsize=(13.5, 3.6), width_ratios=[2.2, 1, 1])
    shallow, deep = DecisionTreeClassifier(max_depth=2).fit(X, y), DecisionTreeClassifier().fit(X, y)
    names = {"feature_names": ["bill", "flipper"], "class_names": shallow.classes_}
    plot_tree(shallow, filled=True, rounded=True, impurity=False, ax=panels[0], fontsize=6, **names)
    for axes, model in ((panels[1], shallow), (panels[2], deep)):
        DecisionBoundaryDisplay.from_estimator(
            model, X, eps=3, grid_resolution=120, ax=axes, cmap=ListedColormap(COLOURS), alpha=0.2
        )
        for label, colour in zip(model.classes_, COLOURS, strict=True):
            axes.plot(*X[y == label].T, "o", markersize=2.5, color=colour, label=label)
        axes.set(xlabel="length of bill", title=f"{model.get_n_leaves()} leaves")
        axes.title.set_fontsize(10)
        print(model.certificate_.statement)
    panels[1].set_ylabel("length of flipper")
    panels[2].legend(frameon=False, fontsize=8, loc="upper left")
    return figure

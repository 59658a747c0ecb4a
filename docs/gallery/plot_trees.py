"""A tree as questions, as regions, and as deep as it likes.

Three species of penguins by bill and flipper. On the left the questions of a tree of depth two; in the middle the regions that
they cut; on the right those of a tree that grows until every leaf is pure. The certificates say what the first leaves that a tree
of its depth need not leave, and that the last leaves nothing.
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

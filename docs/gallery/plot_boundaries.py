"""Decision boundaries of linear classifiers.

Two penguin species by bill and flipper length. The perceptron stops at some separating line. Logistic regression uses
every sample. The support vector machine depends only on the samples within its margin. Dashed lines show decision
values of one and minus one, which for the support vector machine are the edges of the margin. On the right, multinomial
logistic regression for all three species.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from qed.datasets import load_penguins
from qed.inspection import DecisionBoundaryDisplay
from qed.linear_model import LogisticRegression, Perceptron
from qed.preprocessing import StandardScaler
from qed.svm import LinearSVC

COLOURS = ("#2f6db3", "#c9641b", "#3f8f5f")


def birds():
    """Return bill and flipper of all birds, standardised, and their species."""
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    lengths = np.column_stack([column["bill_length_mm"], column["flipper_length_mm"]])
    species = np.where(column["species_Gentoo"] == 1, "Gentoo", "Adelie")
    species = np.where(column["species_Chinstrap"] == 1, "Chinstrap", species)
    return StandardScaler().fit_transform(lengths), species


def draw(axes, model, X, y):
    """Draw the regions of a fitted model and the birds."""
    labels = model.classes_
    colours = COLOURS[: len(labels)]
    DecisionBoundaryDisplay.from_estimator(model, X, eps=0.4, ax=axes, cmap=ListedColormap(colours), alpha=0.18)
    for label, colour in zip(labels, colours, strict=True):
        axes.scatter(*X[y == label].T, s=9, color=colour, label=label)
    axes.set(xticks=[], yticks=[], title=type(model).__name__)
    axes.title.set_fontsize(10)


def main():
    """Fit and draw four models."""
    X, y = birds()
    two = y != "Gentoo"
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.2))
    for axes, model in zip(panels, (Perceptron(random_state=0), LogisticRegression(), LinearSVC()), strict=False):
        draw(axes, model.fit(X[two], y[two]), X[two], y[two])
        print(f"{type(model).__name__}: {np.mean(model.predict(X[two]) != y[two]):.1%} misclassified")
    draw(panels[3], LogisticRegression().fit(X, y), X, y)
    panels[0].set(xlabel="length of bill", ylabel="length of flipper")
    panels[3].legend(frameon=False, fontsize=8, loc="upper left")
    return figure

"""Naive Bayes, LDA and QDA: three Gaussian models of the classes.

Three penguin species by bill and flipper length. Every model fits a normal density to each species. The ellipses
contain 50 % and 90 % of it. Naive Bayes has axis-aligned ellipses. Linear discriminant analysis has one covariance
matrix for all species, and linear boundaries. Quadratic discriminant analysis has one for each. On a black line two
species are equally probable.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.datasets import load_penguins
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.naive_bayes import GaussianNB

COLOURS = ("#2f6db3", "#c9641b", "#3f8f5f")
HALF, NINE_TENTHS = np.sqrt(-2 * np.log(0.5)), np.sqrt(-2 * np.log(0.1))  # radii in two dimensions


def birds():
    """Return bill and flipper of all birds, and their species."""
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    species = np.where(column["species_Gentoo"] == 1, "Gentoo", "Adelie")
    species = np.where(column["species_Chinstrap"] == 1, "Chinstrap", species)
    return np.column_stack([column["bill_length_mm"], column["flipper_length_mm"]]), species


def shapes(model):
    """Return mean and covariance of every class."""
    if isinstance(model, GaussianNB):
        return model.theta_, [np.diag(variance) for variance in model.var_]
    one = isinstance(model, LinearDiscriminantAnalysis)
    return model.means_, [model.covariance_] * len(model.means_) if one else model.covariance_


def draw(axes, model, X, y):
    """Draw birds, ellipses and boundaries."""
    circle = np.linspace(0, 2 * np.pi, 90)
    for label, colour, mean, covariance in zip(model.classes_, COLOURS, *shapes(model), strict=True):
        axes.scatter(*X[y == label].T, s=6, color=colour, alpha=0.6, label=label)
        for radius, width in ((HALF, 1.8), (NINE_TENTHS, 0.9)):
            ring = radius * np.linalg.cholesky(covariance) @ [np.cos(circle), np.sin(circle)]
            axes.plot(*(mean[:, np.newaxis] + ring), color=colour, linewidth=width)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    a, b = np.meshgrid(np.linspace(left, right, 160), np.linspace(low, high, 160))
    ordered = model.predict_log_proba(np.column_stack([a.ravel(), b.ravel()]))
    for k in range(3):
        # how far a class is ahead of the best of the others: zero on its boundary
        others = np.delete(ordered, k, axis=1).max(axis=1)
        axes.contour(a, b, (ordered[:, k] - others).reshape(a.shape), [0.0], colors="#22252a", linewidths=1.1)
    axes.set(title=f"{type(model).__name__}\n{model.score(X, y):.1%} right", xlabel="bill, mm")
    axes.title.set_fontsize(9)


def main():
    """Fit and draw three models."""
    X, y = birds()
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), sharex=True, sharey=True)
    models = (
        GaussianNB(),
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    )
    for axes, model in zip(panels, models, strict=True):
        draw(axes, model.fit(X, y), X, y)
        print(
            f"{type(model).__name__}: {model.certificate_.log_likelihood:.4f} a bird, {model.n_parameters_} parameters"
        )
    panels[0].set_ylabel("flipper, mm")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure

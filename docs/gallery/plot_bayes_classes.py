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
from qed.inspection import ClassDensityDisplay
from qed.naive_bayes import GaussianNB


def birds():
    """Return bill and flipper of all birds, and their species."""
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    species = np.where(column["species_Gentoo"] == 1, "Gentoo", "Adelie")
    species = np.where(column["species_Chinstrap"] == 1, "Chinstrap", species)
    return np.column_stack([column["bill_length_mm"], column["flipper_length_mm"]]), species


def main():
    """Fit and draw three models."""
    X, y = birds()
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.8), sharex=True, sharey=True, layout="constrained")
    models = (
        GaussianNB(),
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    )
    for axes, model in zip(panels, models, strict=True):
        display = ClassDensityDisplay.from_estimator(model.fit(X, y), X, y, ax=axes)
        display.ax_.set(title=f"{type(model).__name__}\n{model.score(X, y):.1%} right", xlabel="bill, mm")
        display.ax_.title.set_fontsize(9)
        axes.get_legend().remove()
        print(
            f"{type(model).__name__}: {model.certificate_.log_likelihood:.4f} a bird, {model.n_parameters_} parameters"
        )
    panels[0].set_ylabel("flipper, mm")
    figure.legend(
        *panels[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower center", ncols=3
    )
    return figure

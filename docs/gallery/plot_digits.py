"""Handwritten digits: which are taken for which.

1797 images of 8 times 8 pixels. A logistic regression learns from half of them. Left: the images of the other half along their two
leading principal components, coloured by digit. Right: those of which the model was surest, and wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.datasets import load_digits
from qed.decomposition import PCA
from qed.linear_model import LogisticRegression
from qed.model_selection import train_test_split


def main():
    """Fit, and draw components and mistakes."""
    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(digits.data / 16, digits.target, test_size=0.5, random_state=0)
    model = LogisticRegression().fit(X_train, y_train)
    components = PCA(2).fit(X_train).transform(X_test)
    chance, said = model.predict_proba(X_test).max(axis=1), model.predict(X_test)
    wrong = np.flatnonzero(said != y_test)
    worst = wrong[np.argsort(-chance[wrong])][:12]
    print(model.certificate_.statement)
    print(f"{len(wrong)} of {len(y_test)} images are taken for another digit.")
    figure = plt.figure(figsize=(10, 4.6))
    left, right = figure.subfigures(1, 2, width_ratios=(1.1, 1))
    axes = left.subplots()
    points = axes.scatter(*components.T, c=y_test, cmap="tab10", s=9, vmin=-0.5, vmax=9.5)
    left.colorbar(points, ax=axes, ticks=range(10), label="digit")
    axes.set(xlabel="first component", ylabel="second component")
    for place, image in zip(right.subplots(3, 4).ravel(), worst, strict=True):
        place.imshow(X_test[image].reshape(8, 8), cmap="gray_r")
        place.set_axis_off()
        place.set_title(f"{y_test[image]} read as {said[image]}", fontsize=9)
    return figure

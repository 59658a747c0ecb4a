"""Choosing the penalty strength of ridge regression by leave-one-out cross-validation.

With many correlated columns and few samples, an unpenalised fit overfits. `RidgeCV` computes the leave-one-out error
for every penalty strength from one decomposition. It agrees with the error on test samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.datasets import make_regression
from qed.linear_model import Ridge, RidgeCV


def main():
    """Fit, compare, draw."""
    X, y = make_regression(2000, 60, n_informative=60, noise=60.0, condition=300.0, random_state=0)
    train, new = slice(0, 120), slice(120, None)
    strengths = np.logspace(-4, 3, 29)
    model = RidgeCV(alphas=strengths).fit(X[train], y[train])
    errors = []
    for strength in strengths:
        fitted = Ridge(alpha=strength).fit(X[train], y[train])
        errors.append(np.mean((y[new] - fitted.predict(X[new])) ** 2) ** 0.5)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    axes.semilogx(strengths, errors, color="#2f6db3", label="error on test samples")
    axes.axvline(model.alpha_, color="#c9641b", linestyle="--", label="strength chosen by leave-one-out")
    axes.set_xlabel("strength of the penalty")
    axes.set_ylabel("root mean square error")
    axes.legend(frameon=False)
    best = strengths[int(np.argmin(errors))]
    print(f"chosen {model.alpha_:.3g}; best on test samples {best:.3g}")
    return figure

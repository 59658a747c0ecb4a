"""The lasso path.

Coefficients as a function of the penalty strength, from the value at which all are zero to a thousandth of it. Each
coefficient is piecewise linear in the strength. Cross-validation chooses the strength.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.datasets import make_regression
from qed.linear_model import LassoCV, lasso_path


def main():
    """Fit, choose, draw."""
    X, y = make_regression(120, 60, n_informative=6, noise=30.0, random_state=3)
    alphas, coefs, gaps = lasso_path(X - X.mean(axis=0), y - y.mean(), tol=1e-8)
    chosen = LassoCV(cv=5).fit(X, y)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for line in coefs:
        used = bool(np.abs(line[alphas >= chosen.alpha_]).max(initial=0.0) > 0)
        axes.semilogx(alphas, line, color="#2f6db3" if used else "#b9c4d0", linewidth=1.6 if used else 0.8)
    axes.axvline(chosen.alpha_, color="#c9641b", linestyle="--", label="strength chosen by cross-validation")
    axes.invert_xaxis()
    axes.set_xlabel("strength of the penalty")
    axes.set_ylabel("coefficient")
    axes.legend(frameon=False)
    print(f"chosen {chosen.alpha_:.3g} with {np.count_nonzero(chosen.coef_)} columns; largest gap {gaps.max():.1e}")
    return figure

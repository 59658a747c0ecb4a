"""The smallest change that verify detects.

One coefficient of a certified fit is changed by a relative amount between 1e-12 and 10 %. The objective grows with the
square of the change. `qed.verify` rejects the model as soon as the increase exceeds what its certificate allows.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np

import qed
from qed.datasets import load_penguins
from qed.linear_model import LinearRegression


def is_accepted(model, X, y):
    """Ask the checker."""
    try:
        qed.verify(model, X, y)
    except qed.CertificateError:
        return False
    return True


def main():
    """Change, check, draw."""
    X, y = load_penguins(return_X_y=True)
    model = LinearRegression().fit(X, y)
    column = X[:, 2] - X[:, 2].mean()
    changes = np.logspace(-12, -1, 23)
    rises, verdicts = [], []
    for change in changes:
        tampered = copy.deepcopy(model)
        tampered.coef_ = model.coef_.copy()
        tampered.coef_[2] *= 1 + change
        tampered.intercept_ = model.intercept_ - change * model.coef_[2] * X[:, 2].mean()
        rises.append((change * model.coef_[2]) ** 2 * (column @ column))
        verdicts.append(is_accepted(tampered, X, y))
    rises, verdicts = np.array(rises), np.array(verdicts)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    axes.loglog(changes[verdicts], rises[verdicts], "o", color="#1f8a70", label="accepted")
    axes.loglog(changes[~verdicts], rises[~verdicts], "x", color="#b3312c", label="rejected")
    axes.axhline(model.certificate_.gap, color="grey", linestyle="--", label="certified gap")
    axes.set_xlabel("relative change of one coefficient")
    axes.set_ylabel("rise of the objective")
    axes.legend(frameon=False)
    print(f"certified gap {model.certificate_.gap:.1e}; smallest change rejected {changes[~verdicts].min():.0e}")
    return figure

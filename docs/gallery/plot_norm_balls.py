"""Why the lasso gives zero coefficients and ridge does not.

Contours of the squared error grow around the unconstrained solution until they touch the norm ball: a corner of the L1
ball, a smooth point of the L2 ball. The path of the group lasso shows the same for whole groups of columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.inspection import CoefficientPathDisplay, NormBallDisplay
from qed.linear_model import group_lasso_path


def main():
    """Solve, draw three panels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    y = X @ [0.4, 1.6] + 0.3 * rng.normal(size=80)
    figure, axes = plt.subplots(1, 3, figsize=(14.5, 4.4), layout="constrained")
    for norm, ax in zip(("l1", "l2"), axes, strict=False):
        display = NormBallDisplay.from_data(X, y, radius=1.0, norm=norm, ax=ax)
        print(f"{norm}: {display.solution.round(3)} instead of {display.free.round(3)}")
    groups = np.repeat(np.arange(5), 3)
    wide = rng.normal(size=(100, 15))
    target = wide[:, :3] @ [1.0, -2.0, 0.5] + wide[:, 6:9].sum(axis=1) + rng.normal(size=100)
    alphas, coefs, gaps = group_lasso_path(wide, target, groups=groups, fit_intercept=True, tol=1e-8)
    CoefficientPathDisplay(alphas=alphas, coefs=coefs, groups=groups).plot(axes[2])
    print(f"{len(alphas)} strengths, largest gap {gaps.max():.1e}")
    return figure

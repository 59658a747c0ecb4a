"""Gradient descent, momentum, coordinate descent and Newton's method.

Five optimisers minimise the same ill-conditioned quadratic from the same start. A constant step is slow along the flat
direction. An exact line search zigzags at right angles. Momentum overshoots and returns. Coordinate descent needs six
sweeps. Newton's method, which uses the Hessian, needs one step.
"""

import matplotlib.pyplot as plt

from qed.optimize import ExactLineSearch, coordinate_descent, gradient_descent, newton, quadratic


def main():
    """Run, draw paths and values side by side."""
    bowl = quadratic([[1.0, 0.6], [0.6, 6.0]], [1.0, 0.0])
    start, keep = [-4.0, 1.6], {"keep_points": True}
    runs = {
        "constant step": gradient_descent(bowl, start, step=0.15, **keep),
        "exact line search": gradient_descent(bowl, start, step=ExactLineSearch(), **keep),
        "momentum 0.8": gradient_descent(bowl, start, step=0.06, momentum=0.8, **keep),
        "coordinates": coordinate_descent(bowl, start, gradient_tol=1e-6, **keep),
        "Newton": newton(bowl, start, **keep),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=(1.25, 1))
    left.set(xlim=(-4.6, 2.6), ylim=(-0.9, 2.0))
    best = runs["Newton"].value
    for name, run in runs.items():
        run.trace.plot_path(bowl, left, label=name)
        run.trace.plot("value", right, floor=best - 1e-14, label=name, color=left.get_lines()[-1].get_color())
        print(f"{name:>18}: {run.n_iter:3} iterations, gap {run.certificate.gap:.1e}")
    right.set(ylabel="value above the optimum", ylim=(1e-13, None), xlim=(-1, 60))
    left.legend(framealpha=0.9, edgecolor="none", fontsize=9)
    return figure

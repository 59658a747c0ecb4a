"""Penalty, barrier and projection methods.

The point of a constrained set that is nearest to a target. The set is a disc, cut off by a line. The penalty method
approaches the solution from outside, the barrier method from inside. Projected gradient descent moves along the
boundary.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.optimize import (
    HalfSpace,
    Intersection,
    L2Ball,
    Program,
    affine,
    barrier_method,
    penalty_method,
    projected_gradient,
    quadratic,
)


def main():
    """Solve three times, draw the paths over the feasible set."""
    target = np.array([1.6, 1.1])
    objective = quadratic(2 * np.eye(2), 2 * target, float(target @ target))
    disc = quadratic(2 * np.eye(2), c=-1.0)  # |w|^2 <= 1
    line = affine([1.0, 0.4], -0.8)  # w_1 + 0.4 w_2 <= 0.8
    program = Program(objective, [disc, line])
    region = Intersection(L2Ball(1.0), HalfSpace([1.0, 0.4], 0.8), tol=1e-10)
    runs = {
        "penalty": penalty_method(program, [-0.2, -0.7], keep_points=True),
        "barrier": barrier_method(program, [-0.2, -0.7], keep_points=True),
        "projection": projected_gradient(objective, region, [-0.2, -0.7], step=0.1, keep_points=True),
    }
    figure, axes = plt.subplots(figsize=(5.6, 4.8))
    axes.set(xlim=(-1.1, 1.9), ylim=(-1.1, 1.4), aspect="equal")
    x, y = np.meshgrid(np.linspace(-1.1, 1.9, 300), np.linspace(-1.1, 1.4, 300))
    inside = (x**2 + y**2 <= 1) & (x + 0.4 * y <= 0.8)
    axes.contourf(x, y, inside, levels=[0.5, 1.5], colors=["#e6eef7"])
    for name, run in runs.items():
        run.trace.plot_path(objective, axes, label=name)
        print(f"{name:>10}: {run.outcome} at {run.point.round(4)}; {run.certificate.statement}")
    axes.legend(frameon=False, loc="lower right")
    return figure

"""Step sizes of stochastic gradient descent.

Least squares with one sample at a time. With a constant step the objective decreases fast and then fluctuates, because
of the gradient noise. Steps like 1/t satisfy the Robbins–Monro conditions and converge. So does the average of the
iterates with a constant step.
"""

import matplotlib.pyplot as plt
import numpy as np

from qed.convex import Problem, Squared, Zero
from qed.designs import design
from qed.optimize import Constant, InverseTime, newton, robbins_monro, stochastic_gradient_descent


def main():
    """Run, draw what is left above the optimum."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + rng.standard_normal(400)
    problem = Problem(design(X), Squared(y), Zero(), np.full(400, 1 / 400), free_intercept=False)
    best = newton(problem, np.zeros(5)).value
    settings = {"max_iter": 8000, "evaluate_every": 50, "random_state": 1}
    runs = {}
    for name, step in {"constant 0.05": Constant(0.05), "0.3 / (1 + t / 20)": InverseTime(0.3, 0.05)}.items():
        runs[name] = stochastic_gradient_descent(problem, np.zeros(5), step=step, **settings)
        print(f"{name:>19}: {robbins_monro(step).words}")
    mean = stochastic_gradient_descent(problem, np.zeros(5), step=0.05, average_from=500, **settings)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for name, run in runs.items():
        run.trace.plot("value", axes, floor=best, label=name, linewidth=1.0)
    mean.trace.plot("average", axes, floor=best, label="mean of constant steps")
    axes.set(xlabel="samples seen", ylabel="objective above the optimum")
    axes.legend(frameon=False)
    return figure

"""Many rows, few columns: one pass over memory is the floor."""

from functools import partial

import numpy as np

from benchmarks.problems._problem import Problem, gaussian

TALL = (1_000_000, 50)
single = partial(gaussian, dtype=np.float32)

PROBLEMS = (
    Problem("tall-ols", "LinearRegression 1e6×50", TALL, gaussian, "LinearRegression"),
    Problem("tall-ridge", "Ridge 1e6×50", TALL, gaussian, "Ridge", {"alpha": 1.0}),
    Problem("tall-ols-f32", "LinearRegression 1e6×50, float32", TALL, single, "LinearRegression"),
    Problem("tall-ridge-f32", "Ridge 1e6×50, float32", TALL, single, "Ridge", {"alpha": 1.0}),
    Problem("tall-predict", "predict 1e6×50", TALL, gaussian, "LinearRegression", measure="predict"),
    Problem(
        "multi-output",
        "LinearRegression 200000×50, 10 targets",
        (200_000, 50),
        partial(gaussian, targets=10),
        "LinearRegression",
    ),
    Problem(
        "ridgecv-loo",
        "RidgeCV, exact leave-one-out, 10 strengths, 50000×200",
        (50_000, 200),
        gaussian,
        "RidgeCV",
        {"alphas": [float(alpha) for alpha in np.logspace(-3, 6, 10)]},
    ),
)

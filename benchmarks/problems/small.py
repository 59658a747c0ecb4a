"""Where overhead is everything: a fresh process, a thousand rows."""

from benchmarks.problems._problem import Problem, gaussian

PROBLEMS = (
    Problem(
        "first-fit",
        "import and first small fit, whole process (1000×20)",
        (1000, 20),
        gaussian,
        "LinearRegression",
        measure="process",
    ),
    Problem("small-ols", "LinearRegression 1000×20", (1000, 20), gaussian, "LinearRegression"),
    Problem("small-ridge", "Ridge 1000×20", (1000, 20), gaussian, "Ridge", {"alpha": 1.0}),
    Problem("small-predict", "predict 1000×20", (1000, 20), gaussian, "LinearRegression", measure="predict"),
)

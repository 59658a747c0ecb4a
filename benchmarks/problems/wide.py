"""More columns than rows: the dual, and its Gram matrix."""

from benchmarks.problems._problem import Problem, gaussian

PROBLEMS = (
    Problem("wide-ridge", "Ridge 2000×20000", (2000, 20_000), gaussian, "Ridge", {"alpha": 1.0}, scales=(True, True)),
)

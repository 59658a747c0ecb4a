"""A whole process: import a library, fit a small problem once, stop. Timed from outside."""

import sys

from benchmarks.adapters import adapter
from benchmarks.problems import chosen

LACKS = 3  # exit status of a library that has no such model

if __name__ == "__main__":
    rival, name = sys.argv[1:]
    problem = chosen(name)[0]
    data = problem.data()
    model = adapter(rival).estimator(problem.task, **problem.params)
    if model is None:
        sys.exit(LACKS)
    model.fit(data.X, data.y)

"""A whole process: import a library, fit a small problem once, stop. Timed from outside."""

import sys

from benchmarks.adapters import adapter
from benchmarks.problems import chosen

if __name__ == "__main__":
    rival, name = sys.argv[1:]
    problem = chosen(name)[0]
    data = problem.data()
    adapter(rival).estimator(problem.task, **problem.params).fit(data.X, data.y)

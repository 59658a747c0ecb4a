"""Limits and other powers: coefficients of limited size or number, and errors that are neither squared nor absolute."""

from __future__ import annotations

from benchmarks.problems._problem import Problem, gaussian
from benchmarks.problems.robust import heavy

PROBLEMS = (
    Problem("limit-ridge", "ConstrainedRidge 20000×50", (20_000, 50), gaussian, "ConstrainedRidge", {"radius": 2.0}),
    Problem("limit-lasso", "ConstrainedLasso 2000×20", (2000, 20), gaussian, "ConstrainedLasso", {"radius": 3.0}),
    Problem("power-low", "PowerRegressor 5000×20, power 1.5", (5000, 20), heavy, "PowerRegressor", {"p": 1.5}),
    Problem("power-high", "PowerRegressor 5000×20, power 4", (5000, 20), gaussian, "PowerRegressor", {"p": 4.0}),
    # by hand every subset is tried: 1140 of them
    Problem("subset", "BestSubsetRegressor 500×20, 3 columns", (500, 20), gaussian, "BestSubsetRegressor", {"size": 3}),
)

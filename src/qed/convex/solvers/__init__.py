"""Solvers, one file each: what it needs (traits), what it costs, and a generator of iterates."""

from __future__ import annotations

from qed.convex.solvers._coordinate_descent import CoordinateDescent
from qed.convex.solvers._lbfgs import LBFGS
from qed.convex.solvers._newton import Newton
from qed.convex.solvers._newton_cg import NewtonCG
from qed.convex.solvers._newton_scores import NewtonScores
from qed.convex.solvers._proximal_gradient import ProximalGradient

__all__ = ["LBFGS", "CoordinateDescent", "Newton", "NewtonCG", "NewtonScores", "ProximalGradient"]

"""Solvers, one file each: what it needs (traits), what it costs, and a generator of iterates."""

from __future__ import annotations

from qed.convex.solvers._coordinate_descent import CoordinateDescent
from qed.convex.solvers._proximal_gradient import ProximalGradient

__all__ = ["CoordinateDescent", "ProximalGradient"]

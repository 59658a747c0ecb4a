"""Solvers, one file each: what it needs (traits), what it costs, and a generator of iterates."""

from __future__ import annotations

from qed.convex.solvers._dual_ascent import DualAscent
from qed.convex.solvers._gradient_descent import GradientDescent
from qed.convex.solvers._interior_point import InteriorPoint
from qed.convex.solvers._proximal_gradient import ProximalGradient
from qed.convex.solvers._scaled_lasso import ScaledLasso
from qed.convex.solvers._scaled_newton import ScaledNewton

__all__ = [
    "DualAscent",
    "GradientDescent",
    "InteriorPoint",
    "ProximalGradient",
    "ScaledLasso",
    "ScaledNewton",
]

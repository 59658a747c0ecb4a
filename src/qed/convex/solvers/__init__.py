"""Solvers, one file each: what it needs (traits), what it costs, and a generator of iterates."""

from __future__ import annotations

from qed.convex.solvers._class_ascent import ClassAscent
from qed.convex.solvers._class_multipliers import ClassMultipliers
from qed.convex.solvers._coordinate_descent import CoordinateDescent
from qed.convex.solvers._dual_ascent import DualAscent
from qed.convex.solvers._gradient_descent import GradientDescent
from qed.convex.solvers._group_descent import GroupDescent
from qed.convex.solvers._interior_point import InteriorPoint
from qed.convex.solvers._lbfgs import LBFGS
from qed.convex.solvers._multipliers import Multipliers
from qed.convex.solvers._narrow import NarrowNewton
from qed.convex.solvers._newton import Newton
from qed.convex.solvers._newton_cg import NewtonCG
from qed.convex.solvers._newton_kinks import NewtonKinks
from qed.convex.solvers._newton_scores import NewtonScores
from qed.convex.solvers._newton_targets import NewtonTargets
from qed.convex.solvers._proximal_gradient import ProximalGradient
from qed.convex.solvers._proximal_newton import ProximalNewton
from qed.convex.solvers._scaled_lasso import ScaledLasso
from qed.convex.solvers._scaled_newton import ScaledNewton

__all__ = [
    "LBFGS",
    "ClassAscent",
    "ClassMultipliers",
    "CoordinateDescent",
    "DualAscent",
    "GradientDescent",
    "GroupDescent",
    "InteriorPoint",
    "Multipliers",
    "NarrowNewton",
    "Newton",
    "NewtonCG",
    "NewtonKinks",
    "NewtonScores",
    "NewtonTargets",
    "ProximalGradient",
    "ProximalNewton",
    "ScaledLasso",
    "ScaledNewton",
]

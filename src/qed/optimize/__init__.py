"""Optimisers of functions, each with a trace that can be drawn and a certificate that says what is proved.

One rule: **a function states what is known of it, an optimiser says what it needs, and the answer says what is true.**

::

    _function, _evaluate       what is minimised; the door between functions and optimisers
    _drive, _result, _trace    one loop for all methods; its answer; what happened on the way, drawn by _draw
    _certificates              gap, gradient, optimality conditions
    _schedules, _steps, _line  step sizes: by the clock, by what happened, by search along a line
    _gradient_descent          descent, ascent, stability          _stochastic, _monitor  a few examples at a time
    _coordinate, _newton       one block at a time; parabolas      _proximal, _sets       penalties and projections
    _program, _constrained     Lagrangian and dual; penalties, barriers, prices
    _quadratic_program         quadratic and linear programmes     _random_search         chance
    _check_gradient, _check_convexity, _costs                      looking before running

Objectives of `qed.convex` are functions too: ``gradient_descent(problem, start)`` takes a ``Problem``, whose coefficients it
sees as one vector, the intercept last.
"""

from __future__ import annotations

from qed.optimize._certificates import GapCertificate, GradientCertificate, KKTCertificate
from qed.optimize._check_convexity import ConvexityReport, check_convex_set, check_convexity
from qed.optimize._check_gradient import (
    Comparison,
    GradientCheck,
    check_gradient,
    compare_implementations,
    numerical_gradient,
)
from qed.optimize._constrained import augmented_lagrangian, barrier_method, log_barrier, penalised, penalty_method
from qed.optimize._coordinate import AlternatingResult, alternating_minimization, coordinate_descent
from qed.optimize._costs import LeastSquaresCost, least_squares_cost
from qed.optimize._evaluate import Calls
from qed.optimize._function import Bound, Function, Proximal, Split, as_function, maximum, quadratic
from qed.optimize._gradient_descent import gradient_ascent, gradient_descent, largest_curvature, step_advice
from qed.optimize._line import LineMinimum, line_minimum
from qed.optimize._monitor import UpdateAdvice, monitor_updates
from qed.optimize._newton import newton
from qed.optimize._program import (
    DualityReport,
    DualPoint,
    Program,
    affine,
    duality_on_points,
    lagrange_dual,
    maximize_dual,
)
from qed.optimize._proximal import projected_gradient, proximal_gradient, soft_threshold
from qed.optimize._quadratic_program import linear_program, quadratic_program
from qed.optimize._random_search import (
    RestartsResult,
    acceptance_probability,
    random_restarts,
    random_search,
    simulated_annealing,
)
from qed.optimize._result import Interrupted, OptimizationResult
from qed.optimize._schedules import (
    Capped,
    Constant,
    InverseRoot,
    InverseTime,
    PowerDecay,
    RobbinsMonro,
    Schedule,
    StepDecay,
    robbins_monro,
)
from qed.optimize._sets import (
    AffineSubspace,
    Box,
    ConvexSet,
    HalfSpace,
    Intersection,
    L1Ball,
    L2Ball,
    LInfBall,
    NonnegativeOrthant,
    Simplex,
)
from qed.optimize._steps import Backtracking, BoldDriver, ExactLineSearch, SwitchedMomentum
from qed.optimize._stochastic import BatchSampler, batch_variance, stochastic_gradient_descent
from qed.optimize._trace import Trace

__all__ = [
    "AffineSubspace",
    "AlternatingResult",
    "Backtracking",
    "BatchSampler",
    "BoldDriver",
    "Bound",
    "Box",
    "Calls",
    "Capped",
    "Comparison",
    "Constant",
    "ConvexSet",
    "ConvexityReport",
    "DualPoint",
    "DualityReport",
    "ExactLineSearch",
    "Function",
    "GapCertificate",
    "GradientCertificate",
    "GradientCheck",
    "HalfSpace",
    "Interrupted",
    "Intersection",
    "InverseRoot",
    "InverseTime",
    "KKTCertificate",
    "L1Ball",
    "L2Ball",
    "LInfBall",
    "LeastSquaresCost",
    "LineMinimum",
    "NonnegativeOrthant",
    "OptimizationResult",
    "PowerDecay",
    "Program",
    "Proximal",
    "RestartsResult",
    "RobbinsMonro",
    "Schedule",
    "Simplex",
    "Split",
    "StepDecay",
    "SwitchedMomentum",
    "Trace",
    "UpdateAdvice",
    "acceptance_probability",
    "affine",
    "alternating_minimization",
    "as_function",
    "augmented_lagrangian",
    "barrier_method",
    "batch_variance",
    "check_convex_set",
    "check_convexity",
    "check_gradient",
    "compare_implementations",
    "coordinate_descent",
    "duality_on_points",
    "gradient_ascent",
    "gradient_descent",
    "lagrange_dual",
    "largest_curvature",
    "least_squares_cost",
    "line_minimum",
    "linear_program",
    "log_barrier",
    "maximize_dual",
    "maximum",
    "monitor_updates",
    "newton",
    "numerical_gradient",
    "penalised",
    "penalty_method",
    "projected_gradient",
    "proximal_gradient",
    "quadratic",
    "quadratic_program",
    "random_restarts",
    "random_search",
    "robbins_monro",
    "simulated_annealing",
    "soft_threshold",
    "step_advice",
    "stochastic_gradient_descent",
]

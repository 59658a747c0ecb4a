"""Optimisers of functions, each with a trace that can be drawn and a certificate that says what is proved.

One rule: **a function states what is known of it, an optimiser says what it needs, and the answer says what is true.**

::

    _function, _evaluate       what is minimised; the interface between functions and optimisers
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

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

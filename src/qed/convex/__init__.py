"""Convex problems: a model is a loss, a penalty and a design; solver and certificate follow.

One rule: **losses and penalties state traits, solvers see traits and never names, and duality is written once.**

::

    _loss, losses/         one convex function of the score for each row
    _penalty, penalties/   one convex function of the coefficients
    _problem               weighted mean loss + penalty, and the gap of a point
    _dual_points           dual points that make the gap tight; _mixture mixes those at hand, _bowl needs none
    _function              a problem as a function of one vector, for the optimisers of qed.optimize
    _balance, _centres     dual points that sum to zero; constants that fit best
    _risk, _display        the mean of a loss; losses, drawn
    _solve, solvers/       one driver loop; solvers are generators of iterates; the choice by predicted cost

Mathematics. With c the weights as shares of one, ``t = Xw + b``, a dual point u and ``z = -X'(c u)``, the Fenchel-Young
inequality ``ℓ(t) + ℓ*(u) >= t u`` for every row and ``Ω(w) + Ω*(z) >= w z`` add up to a lower bound of the objective at every
(w, b), so that the sum of what separates them from equality bounds the distance from the optimum.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

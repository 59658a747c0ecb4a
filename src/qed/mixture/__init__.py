"""Mixtures: rows that come from one of several distributions, nobody says which.

One rule: **a step never lowers the objective**, and the certificate shows every step. A family of components says how to expect and
how to maximise; one loop does the rest.

::

    _gaussian     Gaussian mixtures         _gaussians    covariances, and the two halves of a step
    _ascent       the loop                  _starts       where it begins
    _likelihood   Q, divergence and gradient
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

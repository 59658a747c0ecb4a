"""Plots of models: decision boundaries, coefficient paths, norm balls, predictions and residuals.

One rule: **a figure shows what the model says, at every point that it shows.**

::

    _decision_boundary   regions, boundaries and margins over two columns
    _coefficient_path    coefficients along strengths
    _loss_curve          the objective from pass to pass
    _norm_ball           a limit on two coefficients, and the contours of the squared error
    _scree               variances of principal components
    _fit_pictures        residuals of one column; target, fit and residual as a triangle
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

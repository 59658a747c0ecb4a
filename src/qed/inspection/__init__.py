"""Models, looked at: boundaries of classifiers, paths and limits of coefficients, a fit and what it leaves.

One rule: **a figure shows what the model says, at every point that it shows.**

::

    _decision_boundary   regions, boundaries and margins in the plane of two columns
    _coefficient_path    coefficients along strengths
    _loss_curve          the objective from pass to pass
    _norm_ball           a limit on two coefficients, and the contours of the squared error
    _scree               variances of principal components
    _fit_pictures        residuals of one column; target, fit and residual as a triangle
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.inspection._coefficient_path import CoefficientPathDisplay
from qed.inspection._decision_boundary import DecisionBoundaryDisplay
from qed.inspection._fit_pictures import FitDisplay, ProjectionDisplay
from qed.inspection._loss_curve import LossCurveDisplay
from qed.inspection._norm_ball import NormBallDisplay
from qed.inspection._scree import ScreeDisplay

__all__ = [
    "CoefficientPathDisplay",
    "DecisionBoundaryDisplay",
    "FitDisplay",
    "LossCurveDisplay",
    "NormBallDisplay",
    "ProjectionDisplay",
    "ScreeDisplay",
]

__getattr__ = lacking(__name__)

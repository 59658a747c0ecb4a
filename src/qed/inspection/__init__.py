"""Models, looked at: where a classifier draws its boundaries.

One rule: **a figure shows what the model says, at every point that it shows.**

::

    _decision_boundary   regions, boundaries and margins in the plane of two columns
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.inspection._decision_boundary import DecisionBoundaryDisplay

__all__ = ["DecisionBoundaryDisplay"]

__getattr__ = lacking(__name__)

"""Calibration: curves that only rise, and scores turned into probabilities by them.

One rule: **a calibrated score is a monotone function of one number.**

::

    _classifier      any classifier, its scores turned into probabilities on folds left out
    _isotonic        the best rising (or falling) curve, by pooling adjacent violators
    _curve           predicted probabilities against what happened, counted and drawn
    _kernels         the interface to compiled code
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

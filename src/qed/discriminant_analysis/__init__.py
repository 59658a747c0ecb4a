"""Discriminant analysis: normal classes with a shared covariance (LDA) or one for each class (QDA).

One rule: **everything follows from the mean and the products of the columns of each class, which merge.**

::

    _linear          one covariance: hyperplanes between classes, and the directions that tell them apart
    _quadratic       a covariance for each class: curved boundaries
    _covariances     covariances of classes, and how they are shrunk
    _axes            decomposition of a covariance: directions, and variances along them
    _kernels         the interface to compiled code
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

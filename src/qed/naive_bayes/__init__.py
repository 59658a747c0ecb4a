"""Naive Bayes: columns that are independent of each other once the class is known.

One rule: **a model is a statistic by class that merges; parameters and probabilities follow from it by formula.**

::

    _gaussian      measurements, normal within each class
    _kernels       the door to compiled code

Probabilities are kept as logarithms throughout: products of many small numbers would vanish.
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.naive_bayes._gaussian import GaussianNB

__all__ = ["GaussianNB"]

__getattr__ = lacking(__name__)

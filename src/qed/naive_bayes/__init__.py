"""Naive Bayes: columns that are independent of each other once the class is known.

One rule: **a model is a statistic by class that merges; parameters and probabilities follow from it by formula.**

::

    _gaussian      measurements, normal within each class
    _counting      what models of counts share: smoothing, priors, linear scores
    _multinomial   how often words occur, in a class or in its complement
    _bernoulli     whether they occur
    _categorical   columns with a few values each
    _kernels       the interface to compiled code

Probabilities are kept as logarithms throughout: products of many small numbers would vanish.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

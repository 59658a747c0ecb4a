"""Naive Bayes: columns that are independent of each other once the class is known.

One rule: **a model is a statistic by class that merges; parameters and probabilities follow from it by formula.**

::

    _gaussian      measurements, normal within each class
    _counting      what models of counts share: smoothing, priors, linear scores
    _multinomial   how often words occur, in a class or in its complement
    _bernoulli     whether they occur
    _categorical   columns with a few values each
    _kernels       the door to compiled code

Probabilities are kept as logarithms throughout: products of many small numbers would vanish.
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.naive_bayes._bernoulli import BernoulliNB
from qed.naive_bayes._categorical import CategoricalNB
from qed.naive_bayes._gaussian import GaussianNB
from qed.naive_bayes._multinomial import ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

__getattr__ = lacking(__name__)

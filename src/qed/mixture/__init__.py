"""Mixtures: rows that come from one of several distributions, nobody says which.

One rule: **a step never lowers the objective**, and the certificate shows every step. A family of components says how to expect and
how to maximise; one loop does the rest.

::

    _gaussian     Gaussian mixtures         _gaussians    covariances, and the two halves of a step
    _bayesian     with a prior              _variational  their posterior
    _discrete     ones, counts, categories  _independent  their declarations, and the two halves of a step
    _classifier   a mixture for each class  _chunked      rows in chunks, rows with labels
    _ascent       the loop                  _starts       where it begins
    _choose       how many components       _likelihood   Q, divergence and gradient
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

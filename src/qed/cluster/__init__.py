"""Clustering: k-means, with a bound on its distance from the optimum.

One rule: **a group is known by its centre, and how good centres are is proved against all others**, found or not.

::

    _kmeans     centres and labels          _seeding    where centres begin; _plusplus, that as a function
    _lloyd      one run from given centres  _bound      how good any centres can be
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

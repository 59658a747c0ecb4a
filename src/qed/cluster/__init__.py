"""Rows put into groups.

One rule: **a group is known by its centre, and how good centres are is proved against all others**, found or not.

::

    _kmeans     centres and labels          _seeding    where centres begin
    _lloyd      one run from given centres  _bound      how good any centres can be
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._missing import later

if TYPE_CHECKING:
    from qed.cluster._kmeans import KMeans

__all__ = ["KMeans"]

_HOMES = {"_kmeans": ("KMeans",)}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

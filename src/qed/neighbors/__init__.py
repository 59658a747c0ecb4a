"""Nearest neighbours and kernel densities, by exact search.

One rule: **a search leaves nothing out.** What is passed by is proved to be too far away; equal distances are settled by the
order of the rows, so that trees, scans and any number of threads give the same answer.

::

    _metric             distances by name           _index              rows arranged for searching
    _rows               which rows a model keeps    _model              what models of nearest neighbours share
    _weights            how much neighbours count   _windows            windows of densities
    _nearest_neighbors  neighbours themselves       _classifier, _regressor, _kernel_density
    _local              windows of local averages
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

"""Manifold learning: rows as points in few dimensions, near ones together.

One rule: **an embedding says what it kept**. Every method finds points that make an objective small; its certificate states that
objective, how far the points are from rest, and how many neighbours of a row stay its neighbours. Points are centred and turned
to their principal axes where the objective leaves that open, so that a fit has one answer.

::

    _embedding         what all share            _neighborhoods       nearest rows, graphs, their components
    _classical_mds     distances, at once        _faithfulness        trustworthiness and continuity
    _mds               distances, step by step   _eigenvectors        few eigenvectors of large matrices
    _isomap            distances along a graph   _local_weights       how a row is put together from its neighbours
    _lle               local linear patches      _tsne, _tsne_loss    neighbours as probabilities
    _spectral          a graph's Laplacian       _umap, _fuzzy_graph  neighbours as fuzzy sets
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

"""A design is what it can do: product, transposed product, weighted Gram matrix, column norms.

Solvers see nothing else, so the same solver works on arrays, sparse matrices, standardised columns and files larger
than memory. Map: `Design` is the protocol, `design` picks one for what it is given; `Dense`, `Sparse`, `Standardised`
(wraps, never copies) and `Chunked` (each product is a fold). All results are float64, whatever the type of the data.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

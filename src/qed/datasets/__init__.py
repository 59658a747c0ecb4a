"""Small bundled tables and seeded generators: data to try things on, always the same for the same seed.

Rule of the package: nothing is fetched. A loader reads a table that is part of the wheel and says where it came from;
a generator draws from the stream its `random_state` names, and those that scikit-learn has too draw its numbers. Both need
NumPy (matrices also SciPy); pandas is imported only when a frame is asked for.

Map
---
`_dataset`     the frozen record every loader returns
`_penguins`    body mass of 333 penguins
`_bundled`     other real tables: iris, wine, tumours, diabetes, digits, weather; their words as they stand in the file
`_regression`  linear problems with a chosen number of useful columns, noise, rank and condition number
`_classics`    two textbook tables, drawn: a geyser's waiting times, house prices
`_shapes`      classes in two columns: blobs, moons, rings, exclusive or; `_classification`: classes among many columns
`_curves`      functions of known form, and curved surfaces; `_matrices`: matrices of known structure
`_blocks`      shells around a centre; tables whose rows and columns fall into blocks
`_stream`      where their numbers come from
`_partly_labelled`  rows of which some have a label
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

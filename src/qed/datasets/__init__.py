"""Small bundled tables and seeded generators: data to try things on, always the same for the same seed.

Rule of the package: nothing is fetched. A loader reads a table that is part of the wheel and says where it came from;
a generator draws from the stream its `random_state` names. Both need NumPy alone; pandas is imported only when a
frame is asked for.

Map
---
`_dataset`     the frozen record every loader returns
`_penguins`    body mass of 333 penguins
`_bundled`     other real tables: iris, wine, tumours, diabetes, digits, weather; their words as they stand in the file
`_regression`  linear problems with a chosen number of useful columns, noise, rank and condition number
`_classics`    two textbook tables, drawn: a geyser's waiting times, house prices
`_shapes`      classes in the plane: blobs, moons, rings, exclusive or; `_classification`: classes among many columns
`_curves`      functions of known form, and bent surfaces; `_matrices`: matrices of known structure
`_partly_labelled`  rows of which some have a label
"""

from qed.core._missing import lacking
from qed.datasets._bundled import (
    Digits,
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_table,
    load_weather,
    load_wine,
)
from qed.datasets._classics import make_geyser, make_house_prices
from qed.datasets._classification import make_classification, make_multilabel_classification
from qed.datasets._curves import (
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_polynomial,
    make_s_curve,
    make_sine,
    make_swiss_roll,
)
from qed.datasets._dataset import Dataset
from qed.datasets._matrices import (
    make_low_rank_matrix,
    make_sparse_spd_matrix,
    make_sparse_uncorrelated,
    make_spd_matrix,
)
from qed.datasets._partly_labelled import PartlyLabelled
from qed.datasets._penguins import load_penguins
from qed.datasets._regression import make_regression
from qed.datasets._shapes import make_blobs, make_circles, make_moons, make_xor

__all__ = [
    "Dataset",
    "Digits",
    "PartlyLabelled",
    "load_breast_cancer",
    "load_diabetes",
    "load_digits",
    "load_iris",
    "load_penguins",
    "load_table",
    "load_weather",
    "load_wine",
    "make_blobs",
    "make_circles",
    "make_classification",
    "make_friedman1",
    "make_friedman2",
    "make_friedman3",
    "make_geyser",
    "make_house_prices",
    "make_low_rank_matrix",
    "make_moons",
    "make_multilabel_classification",
    "make_polynomial",
    "make_regression",
    "make_s_curve",
    "make_sine",
    "make_sparse_spd_matrix",
    "make_sparse_uncorrelated",
    "make_spd_matrix",
    "make_swiss_roll",
    "make_xor",
]
__getattr__ = lacking(__name__)

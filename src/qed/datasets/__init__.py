"""Small bundled tables and seeded generators: data to try things on, always the same for the same seed.

Rule of the package: nothing is fetched. A loader reads a table that is part of the wheel and says where it came from;
a generator draws from the stream its `random_state` names. Both need NumPy alone; pandas is imported only when a
frame is asked for.

Map
---
`_dataset`     the frozen record every loader returns
`_penguins`    one real table: body mass of 333 penguins
`_regression`  linear problems with a chosen number of useful columns, noise, rank and condition number
`_classics`    two textbook tables, drawn: a geyser's waiting times, house prices
"""

from qed.core._missing import lacking
from qed.datasets._classics import make_geyser, make_house_prices
from qed.datasets._dataset import Dataset
from qed.datasets._penguins import load_penguins
from qed.datasets._regression import make_regression

__all__ = ["Dataset", "load_penguins", "make_geyser", "make_house_prices", "make_regression"]
__getattr__ = lacking(__name__)

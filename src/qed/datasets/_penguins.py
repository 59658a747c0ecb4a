"""Body mass of penguins: the one real table of qed."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from qed.datasets._dataset import Dataset, framed

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEASURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm")
SPECIES = ("Chinstrap", "Gentoo")  # Adelie is the reference: a third column would repeat the intercept
FEATURES = (*MEASURES, "sex_male", *(f"species_{name}" for name in SPECIES))
TARGET = "body_mass_g"

DESCR = """\
Body mass of penguins at Palmer Station, Antarctica
---------------------------------------------------
333 adult penguins, 2007-2009: every bird of the 344 in the published table whose measures and sex are known.

    bill_length_mm      length of the bill, millimetres
    bill_depth_mm       depth of the bill, millimetres
    flipper_length_mm   length of the flipper, millimetres
    sex_male            1 for a male, 0 for a female
    species_Chinstrap   1 for a Chinstrap penguin; both species columns are 0 for an Adelie
    species_Gentoo      1 for a Gentoo penguin
    body_mass_g         the target: body mass, grams

Collected by Kristen Gorman and the Palmer Station LTER programme.
Gorman KB, Williams TD, Fraser WR (2014), Ecological sexual dimorphism and environmental variability within a
community of Antarctic penguins (genus Pygoscelis), PLoS ONE 9(3): e90081.
Gathered as palmerpenguins by Horst, Hill and Gorman (2020). Terms: CC0 1.0, public domain.
"""


@overload
def load_penguins(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Dataset: ...
@overload
def load_penguins(
    *, return_X_y: Literal[True], as_frame: Literal[False] = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
@overload
def load_penguins(*, return_X_y: Literal[True], as_frame: bool) -> tuple[Any, Any]: ...
def load_penguins(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset | tuple[Any, Any]:
    """Load the penguins: predict body mass from bill, flipper, sex and species.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).

    Returns
    -------
    Dataset or (data, target)
        333 rows, 6 columns; `DESCR` tells their meaning, origin and terms.

    Examples
    --------
    >>> from qed.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> penguins.data.shape
    (333, 6)
    >>> penguins.feature_names[:3]
    ('bill_length_mm', 'bill_depth_mm', 'flipper_length_mm')
    """
    rows = _complete_rows()
    data = np.array([_features(row) for row in rows])
    target = np.array([float(row[TARGET]) for row in rows])
    dataset = Dataset(data, target, FEATURES, TARGET, DESCR)
    if as_frame:
        dataset = framed(dataset)
    return (dataset.data, dataset.target) if return_X_y else dataset


def _complete_rows() -> list[dict[str, str]]:
    table = files("qed.datasets").joinpath("_tables/penguins.csv")
    with table.open(encoding="utf-8") as lines:
        needed = (*MEASURES, TARGET, "sex", "species")
        return [row for row in csv.DictReader(lines) if all(row[name] != "NA" for name in needed)]


def _features(row: dict[str, str]) -> list[float]:
    measures = [float(row[name]) for name in MEASURES]
    return [*measures, float(row["sex"] == "male"), *(float(row["species"] == name) for name in SPECIES)]

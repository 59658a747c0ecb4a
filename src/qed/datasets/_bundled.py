"""Classical tables, bundled: read from the wheel, described, with their origin and terms."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from qed.core import InvalidParameter
from qed.datasets._dataset import Dataset, framed


@dataclass(frozen=True)
class _Table:
    """A bundled file: its target, its classes in the order of their numbers, and its story."""

    file: str
    target: str
    classes: tuple[str, ...]
    story: str


_TABLES = {
    "iris": _Table(
        "iris.csv",
        "species",
        ("setosa", "versicolor", "virginica"),
        """\
Iris flowers
------------
150 flowers, 50 of each of three species: length and width of sepals and petals in centimetres. One species stands apart; the
other two overlap.

Collected by Edgar Anderson; Fisher RA (1936), The use of multiple measurements in taxonomic problems, Annals of Eugenics 7.
In the UCI Machine Learning Repository, doi:10.24432/C56C76. Terms: CC BY 4.0; file as distributed with scikit-learn (BSD-3-Clause).
""",
    ),
    "wine": _Table(
        "wine.csv",
        "cultivar",
        ("class_0", "class_1", "class_2"),
        """\
Wines of three cultivars
------------------------
178 wines of one region in Italy: thirteen chemical measures, and which of three cultivars the grapes came from.

Forina M et al, PARVUS, Institute of Pharmaceutical and Food Analysis and Technologies, Genoa (1991).
In the UCI Machine Learning Repository, doi:10.24432/C5PC7J. Terms: CC BY 4.0; file as distributed with scikit-learn (BSD-3-Clause).
""",
    ),
    "breast_cancer": _Table(
        "breast_cancer.csv.gz",
        "diagnosis",
        ("malignant", "benign"),
        """\
Tumours of the breast, Wisconsin
--------------------------------
569 tumours: ten measures of cell nuclei in a picture of a needle biopsy, each as mean, standard error and worst value; 212
malignant and 357 benign.

Street WN, Wolberg WH, Mangasarian OL (1993), Nuclear feature extraction for breast tumor diagnosis, SPIE 1905.
In the UCI Machine Learning Repository, doi:10.24432/C5DW2B. Terms: CC BY 4.0; file as distributed with scikit-learn (BSD-3-Clause).
""",
    ),
    "diabetes": _Table(
        "diabetes.csv",
        "progression",
        (),
        """\
Progress of diabetes
--------------------
442 patients: age, sex (1 or 2), body mass index, blood pressure and six measures of blood serum (s1 to s6); the target measures
how far the disease went within a year.

Efron B, Hastie T, Johnstone I, Tibshirani R (2004), Least angle regression, Annals of Statistics 32.
Terms: file as distributed with scikit-learn (BSD-3-Clause).
""",
    ),
    "digits": _Table(
        "digits.csv.gz",
        "digit",
        tuple("0123456789"),
        """\
Handwritten digits
------------------
1797 pictures of 8 by 8 points, each from 0 (paper) to 16 (ink), and the digit that was written.

Alpaydin E, Kaynak C (1998), Optical recognition of handwritten digits; the part for testing.
In the UCI Machine Learning Repository, doi:10.24432/C50P49. Terms: CC BY 4.0; file as distributed with scikit-learn (BSD-3-Clause).
""",
    ),
    "weather": _Table(
        "weather.csv",
        "weather",
        ("drizzle", "fog", "rain", "snow", "sun"),
        """\
Weather in Seattle
------------------
1461 days, 2012 to 2015: date, precipitation in millimetres, highest and lowest temperature in degrees Celsius, wind in metres a
second, and the kind of weather. Two kinds are rare.

United States National Oceanic and Atmospheric Administration: public domain. Gathered for vega-datasets; the file is that of the
Python package vega_datasets 0.9.0 (MIT), with units in the names of columns and dates as 2012-01-01.
""",
    ),
    "penguins": _Table("penguins.csv", "body_mass_g", (), ""),
}


def load_table(name: str) -> dict[str, list[str]]:
    """Load a bundled table as it stands in its file: with string columns and missing values.

    Parameters
    ----------
    name : {"breast_cancer", "diabetes", "digits", "iris", "penguins", "weather", "wine"}
        Which one.

    Returns
    -------
    dict of str to list of str
        The columns, in order; what `qed.study.fit` takes.

    Examples
    --------
    >>> from qed.datasets import load_table
    >>> penguins = load_table("penguins")
    >>> penguins["species"][0], penguins["sex"][3]
    ('Adelie', 'NA')
    """
    if name not in _TABLES:
        raise InvalidParameter(
            f"load_table: there is no table {str(name)[:40]!r}. There are {', '.join(sorted(_TABLES))}."
        )
    head, *rows = csv.reader(table_bytes(name).decode().splitlines())
    return {title: [row[at] for row in rows] for at, title in enumerate(head)}


def table_bytes(name: str) -> bytes:
    """Return the content of a bundled file, unpacked."""
    file = _TABLES[name].file
    content = files("qed.datasets").joinpath("_tables", file).read_bytes()
    return gzip.decompress(content) if file.endswith(".gz") else content


def _dataset(name: str) -> Dataset:
    """Read a table whose columns are numbers but for the target."""
    spec = _TABLES[name]
    columns = load_table(name)
    words = columns.pop(spec.target)
    data = np.array([[float(entry) for entry in column] for column in columns.values()]).T
    place = {label: at for at, label in enumerate(spec.classes)}
    target = np.array([place[word] for word in words] if place else [float(word) for word in words])
    names = "\n".join(f"    {one}" for one in (*columns, f"{spec.target}: the target"))
    return Dataset(
        np.ascontiguousarray(data),
        target,
        tuple(columns),
        spec.target,
        f"{spec.story}\n{names}\n",
        target_names=np.array(spec.classes) if spec.classes else None,
    )


def _given(dataset: Dataset, *, return_X_y: bool, as_frame: bool) -> Any:
    dataset = framed(dataset, "target") if as_frame else dataset  # the name that scikit-learn's scripts know
    return (dataset.data, dataset.target) if return_X_y else dataset


def load_iris(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Fisher's iris flowers: which of three species, from four measures.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).

    Returns
    -------
    Dataset or (data, target)
        150 rows, 4 columns; classes 0, 1, 2, named by `target_names`.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> load_iris()
    Dataset(150 rows, 4 features, target 'species')
    """
    return _given(_dataset("iris"), return_X_y=return_X_y, as_frame=as_frame)


def load_wine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Italian wines: which of three cultivars, from thirteen chemical measures.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).

    Returns
    -------
    Dataset or (data, target)
        178 rows, 13 columns; classes 0, 1, 2, named by `target_names`.

    Examples
    --------
    >>> from qed.datasets import load_wine
    >>> load_wine()
    Dataset(178 rows, 13 features, target 'cultivar')
    """
    return _given(_dataset("wine"), return_X_y=return_X_y, as_frame=as_frame)


def load_breast_cancer(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load tumours of the breast: malignant (0) or benign (1), from thirty measures of cell nuclei.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).

    Returns
    -------
    Dataset or (data, target)
        569 rows, 30 columns; classes 0 and 1, named by `target_names`.

    Examples
    --------
    >>> from qed.datasets import load_breast_cancer
    >>> load_breast_cancer().target_names.tolist()
    ['malignant', 'benign']
    """
    return _given(_dataset("breast_cancer"), return_X_y=return_X_y, as_frame=as_frame)


def load_diabetes(*, return_X_y: bool = False, as_frame: bool = False, scaled: bool = True) -> Any:
    """Load patients with diabetes: how far the disease goes in a year, from ten measures.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).
    scaled : bool, default=True
        Centre every column and give it length one, as the authors did; otherwise the measured units.

    Returns
    -------
    Dataset or (data, target)
        442 rows, 10 columns.

    Examples
    --------
    >>> from qed.datasets import load_diabetes
    >>> load_diabetes(scaled=False).data[0, :3]
    array([59. ,  2. , 32.1])
    """
    dataset = _dataset("diabetes")
    if scaled:
        centred = dataset.data - dataset.data.mean(axis=0)
        dataset = replace(dataset, data=centred / np.sqrt((centred**2).sum(axis=0)))
    return _given(dataset, return_X_y=return_X_y, as_frame=as_frame)


class Digits(Dataset):
    """Handwritten digits: a dataset whose rows can also be seen as pictures."""

    @property
    def images(self) -> Any:
        """The rows as pictures, of shape (n_samples, 8, 8)."""
        return np.asarray(self.data, np.float64).reshape(-1, 8, 8)


def load_digits(*, n_class: int = 10, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load handwritten digits: which one, from 8 by 8 points.

    Parameters
    ----------
    n_class : int, default=10
        Leave out the digits from this one on; at least 1.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed).

    Returns
    -------
    Digits or (data, target)
        1797 rows, 64 columns, for all ten.

    Examples
    --------
    >>> from qed.datasets import load_digits
    >>> load_digits(n_class=2).images.shape
    (360, 8, 8)
    """
    if not isinstance(n_class, int) or not 1 <= n_class <= 10:
        raise InvalidParameter(f"load_digits: n_class must be a whole number from 1 to 10, got {n_class!r}.")
    whole = _dataset("digits")
    kept = whole.target < n_class
    labels = np.arange(n_class)
    dataset = Digits(
        whole.data[kept], whole.target[kept], whole.feature_names, whole.target_name, whole.DESCR, None, labels
    )
    return _given(dataset, return_X_y=return_X_y, as_frame=as_frame)


def load_weather(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load four years of weather: of which kind a day was, from date, rain, temperatures and wind.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the whole record.
    as_frame : bool, default=False
        Return pandas objects (pandas must be installed); the date is then a date.

    Returns
    -------
    Dataset or (data, target)
        1461 rows, 5 columns, the first of them days since 2012-01-01; the target holds words.

    Examples
    --------
    >>> from qed.datasets import load_weather
    >>> weather = load_weather()
    >>> weather.data.shape, str(weather.target[0])
    ((1461, 5), 'drizzle')
    """
    columns = load_table("weather")
    target = np.array(columns.pop("weather"))
    dates = np.array(columns.pop("date"), "datetime64[D]")
    days = (dates - dates[0]).astype(np.float64)
    data = np.column_stack([days, *[np.array(column, np.float64) for column in columns.values()]])
    spec = _TABLES["weather"]
    labels = np.array(spec.classes)
    dataset = Dataset(data, target, ("date", *columns), "weather", spec.story, target_names=labels)
    if as_frame:
        dataset = framed(dataset)
        dated = dataset.frame.assign(date=dates.astype("datetime64[ns]"))
        dataset = replace(dataset, frame=dated, data=dated.drop(columns="weather"))
    return (dataset.data, dataset.target) if return_X_y else dataset

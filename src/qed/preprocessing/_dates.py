"""Dates as numbers that a model can use."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, InvalidParameter, Transformer, fitted, param
from qed.core._mixed import Column, fit_table, new_table
from qed.core._roles import _input_names

Array = np.ndarray[Any, Any]


# How many steps a part has before it begins again; None for parts that never do.
_PERIODS: dict[str, int | None] = {
    "year": None,
    "quarter": 4,
    "month": 12,
    "day": 31,
    "weekday": 7,
    "dayofyear": 366,
    "hour": 24,
    "minute": 60,
    "second": 60,
    "days_since": None,
}


class DateFeatures(Transformer, strings=True, keeps_dtype=False, allow_nan=True):
    r"""Date features: year, month, weekday, hour, days since a date; optionally cyclic (sine and cosine).

    Objective
    ---------
    .. math:: z = \text{part}(x), \quad\text{or}\quad (\sin, \cos)(2 \pi \, \text{part}(x) / \text{period})

    Certificate
    -----------
    ExactCertificate: a calendar is exact; with ``cyclic`` sine and cosine are rounded.

    Cost
    ----
    One pass over the entries.

    Notes
    -----
    Columns hold dates of NumPy, pandas, polars or Arrow, of Python's ``datetime``, or words in ISO form; plain numbers are days
    since 1970. Months and days count from 1, weekdays from 0 (Monday), as in Python. A gap gives NaN.

    Examples
    --------
    >>> from qed.preprocessing import DateFeatures
    >>> DateFeatures(["year", "month", "weekday"]).fit_transform([["2024-02-29"]])
    array([[2.024e+03, 2.000e+00, 3.000e+00]])
    """

    parts: Any = param(("year", "month", "day", "weekday"), f"Which parts: of {', '.join(_PERIODS)}.")
    _: KW_ONLY
    cyclic: bool = param(
        False, "Whether parts that begin again become sine and cosine, so that December is next to January."
    )
    origin: str = param("1970-01-01", "Date that ``days_since`` counts from.")

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Look at the columns; nothing is learnt.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows of dates.
        """
        self._validate_params()
        self._parts()
        table = fit_table(self, X)
        for j, column in enumerate(table.columns):
            _dates(column, j)
        self.certificate_ = ExactCertificate("a calendar", table.n_rows, 4 * 2.0**-53 if self.cyclic else 0.0)
        return self

    def _parts(self) -> list[str]:
        listed = self.parts if isinstance(self.parts, list | tuple) or np.ndim(self.parts) == 1 else [self.parts]
        strange = [part for part in listed if not isinstance(part, str) or part not in _PERIODS]
        if strange or not len(listed) or listed is not self.parts:
            raise InvalidParameter(f"DateFeatures.parts must be a list of {', '.join(_PERIODS)}; got {strange!r}.")
        try:
            np.datetime64(self.origin)
        except (TypeError, ValueError) as error:
            raise InvalidParameter(f"DateFeatures.origin must be a date in ISO form, got {self.origin!r}.") from error
        return list(self.parts)

    def transform(self, X: Any) -> Any:
        """Take dates apart.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows of dates.

        Returns
        -------
        ndarray or frame
            The parts of each column, column after column.
        """
        self._check_is_fitted()
        table = new_table(self, X)
        columns = []
        for j, column in enumerate(table.columns):
            moments = _dates(column, j)
            gap = np.isnat(moments)
            filled = np.where(gap, np.datetime64(0, "us"), moments)
            for part in self._parts():
                number, period = _part(filled, part, self.origin), _PERIODS[part]
                if self.cyclic and period is not None:
                    # a part that begins again is a small whole number: sine and cosine are looked up
                    angles = 2 * np.pi * np.arange(period + 1) / period
                    found = [circle[number.astype(np.int64)] for circle in (np.sin(angles), np.cos(angles))]
                else:
                    found = [number]
                columns += [np.where(gap, np.nan, one) for one in found]
        return np.stack(columns, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``<name>_<part>``, on a circle ``_sin`` and ``_cos``."""
        self._check_is_fitted()
        names = []
        for name in _input_names(self, input_features):
            for part in self._parts():
                circle = self.cyclic and _PERIODS[part] is not None
                names += [f"{name}_{part}_{axis}" for axis in ("sin", "cos")] if circle else [f"{name}_{part}"]
        return np.asarray(names, dtype=object)


def _dates(column: Column, j: int) -> Array:
    """Read a column as moments to the microsecond."""
    values = column.dense
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    if values.dtype.kind in "fiu":
        days = values.astype(np.float64)
        whole = np.where(np.isnan(days), 0, days * 86_400e6)
        if (np.abs(whole) >= 2.0**62).any():
            raise InvalidData(f"Column {j} holds days too far from 1970 for a calendar.")
        return np.where(np.isnan(days), np.datetime64("NaT", "us"), whole.astype(np.int64).astype("datetime64[us]"))
    if values.dtype.kind == "O":
        values = np.array([_plain(one) for one in values], dtype=object)
    try:
        return values.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise InvalidData(
            f"Column {j} holds what is no date: {error}. DateFeatures' argument must be dates, a string in ISO form or a number"
            " of days."
        ) from error


def _plain(one: Any) -> Any:
    if one is None or one != one:  # noqa: PLR0124  NaN and NaT
        return None
    if getattr(one, "tzinfo", None) is not None:
        return one.replace(tzinfo=None)
    if isinstance(one, int | float):
        return np.datetime64(round(one * 86_400e6), "us")
    return one.to_datetime64() if hasattr(one, "to_datetime64") else one


def _part(moments: Array, part: str, origin: str) -> Array:
    number: Any
    if part == "year":
        number = moments.astype("datetime64[Y]").astype(np.int64) + 1970
    elif part in ("quarter", "month"):
        month = moments.astype("datetime64[M]").astype(np.int64) % 12
        number = month // 3 + 1 if part == "quarter" else month + 1
    elif part in ("day", "dayofyear"):
        days = moments.astype("datetime64[D]")
        number = (days - days.astype("datetime64[M]" if part == "day" else "datetime64[Y]")).astype(np.int64) + 1
    elif part == "weekday":
        number = (moments.astype(np.int64) // 86_400_000_000 + 3) % 7  # the first of January 1970 was a Thursday
    elif part == "days_since":
        number = (moments - np.datetime64(origin, "us")).astype(np.int64) / 86_400e6
    else:
        unit = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}[part]
        number = moments.astype(np.int64) // unit % (24 if part == "hour" else 60)
    return np.asarray(number, dtype=np.float64)

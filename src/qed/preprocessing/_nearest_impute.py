"""Gaps filled from the nearest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, InvalidParameter, PositiveInt, Transformer, fitted, param
from qed.core._params import AnyFunction, needed_with
from qed.core._shared_params import COPY
from qed.preprocessing._categories import is_nan
from qed.preprocessing._impute import MissingIndicator, beside, names_with_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]

BLOCK_DISTANCES = 1 << 22  # distances at once: 32 MB


def _why_no_number(value: Any) -> str:
    return "" if isinstance(value, int | float | np.number) else "should be a number or NaN"


class KNNImputer(Transformer):
    r"""Imputation by nearest neighbours: missing values are replaced by the mean of the nearest rows that have a value.

    Objective
    ---------
    .. math:: z_{ij} = \frac{\sum_{l \in N_j(i)} w_{il} x_{lj}}{\sum_{l \in N_j(i)} w_{il}}, \qquad
        d_{il}^2 = \frac{p}{|C_{il}|} \sum_{c \in C_{il}} (x_{ic} - x_{lc})^2

    N_j(i) are the nearest rows of the fit with a value in column j, and C_il the columns in which both rows have one.

    Certificate
    -----------
    ExactCertificate: the rows that gaps are filled from are exactly those of the fit.

    Cost
    ----
    Two products of matrices for the distances of rows with gaps to all n rows of the fit, and one selection among n for each gap.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import KNNImputer
    >>> X = [[1.0, 2.0, np.nan], [3.0, 4.0, 3.0], [np.nan, 6.0, 5.0], [8.0, 8.0, 7.0]]
    >>> KNNImputer(n_neighbors=2).fit_transform(X)
    array([[1. , 2. , 4. ],
           [3. , 4. , 3. ],
           [5.5, 6. , 5. ],
           [8. , 8. , 7. ]])
    """

    _: KW_ONLY
    missing_values: Any = param(np.nan, "What stands for a gap: NaN or a number.", in_files=_why_no_number)
    n_neighbors: PositiveInt = param(5, "How many rows fill a gap.")
    weights: Literal["uniform", "distance"] | AnyFunction | None = param(
        "uniform", "Whether these rows count equally, by one over their distance, or as a function of distances says."
    )
    metric: Literal["nan_euclidean"] | AnyFunction = param(
        "nan_euclidean",
        "Distance; or a function of two rows with NaN for gaps, and of ``missing_values``, which is NaN.",
    )
    copy: bool = COPY
    add_indicator: bool = param(False, "Whether columns that mark the gaps are put beside.")
    keep_empty_features: bool = param(False, "Whether columns without a single value are kept, filled with zeros.")

    rows_: Array = fitted(
        "The rows of the fit, NaN for gaps.", dtype="float", shape="(n, p)", nan=True, length="at least 1"
    )
    indicator_: MissingIndicator | None = fitted(
        "The model that marks the gaps; None without ``add_indicator``.", check=needed_with("add_indicator")
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Any:
        return super()._traits()._replace(allow_nan=is_nan(self.missing_values))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Keep the rows that gaps are filled from."""
        self._validate_params()
        if _why_no_number(self.missing_values):
            raise InvalidParameter(
                f"KNNImputer.missing_values must be NaN or a number, got {self.missing_values!r:.60}. Distances are of numbers."
            )
        rows = self._with_nan(self._fit_data(X).X)
        self.rows_ = rows
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(missing_values=self.missing_values, error_on_new=False).fit(X)
        self.certificate_ = ExactCertificate(f"rows of {rows.shape[1]} columns", rows.shape[0], 0.0)
        return self

    def _with_nan(self, rows: Array) -> Array:
        """Return a copy with NaN for gaps."""
        out = np.array(rows, order="C")
        if not is_nan(self.missing_values):
            out[out == self.missing_values] = np.nan
        return out

    @property
    def _kept(self) -> Array:
        p = self.rows_.shape[1]
        return np.arange(p) if self.keep_empty_features else np.flatnonzero(~np.isnan(self.rows_).all(axis=0))

    def transform(self, X: Any) -> Any:
        """Fill the gaps.

        Returns
        -------
        ndarray or frame
            Rows without gaps; columns that were empty in the fit are left out.
        """
        self._check_is_fitted()
        given = self._new_data(X)
        rows = self._with_nan(given)
        empty: Array = np.asarray(np.isnan(self.rows_).all(axis=0))
        rows[:, empty] = 0.0
        self._fill(rows, empty)
        filled = rows
        if not self.copy and given is X and given.flags.writeable:
            given[...] = filled
            filled = given
        filled = filled if self.keep_empty_features or not empty.any() else filled[:, ~empty]
        return filled if self.indicator_ is None else beside(filled, self.indicator_.transform(X))

    def _fill(self, rows: Array, empty: Array) -> None:
        """Fill the gaps of rows in place."""
        mask = np.isnan(rows)
        places = np.flatnonzero(mask.any(axis=1))
        asked = np.where(empty, np.nan, rows)[places]
        there = [np.flatnonzero(~np.isnan(column)) for column in self.rows_.T]
        for start, distances in self._distances(asked):
            here = places[start : start + len(distances)]
            for j in np.flatnonzero(mask[here].any(axis=0)).tolist():
                own = np.flatnonzero(mask[here, j])
                rows[here[own], j] = self._means(asked[start + own], distances[own][:, there[j]], there[j], j)

    def _distances(self, asked: Array) -> Iterator[tuple[int, Array]]:
        """Yield the distances of rows to those of the fit, some rows at once; NaN where no column is common.

        Up to a factor, and to rounding relative to the largest entry: they choose the neighbours, and are not weights.
        """
        step = max(1, BLOCK_DISTANCES // len(self.rows_))
        if callable(self.metric):
            for start in range(0, len(asked), step):
                yield start, self._by_function(asked[start : start + step], self.rows_)
            return
        known = self.rows_.astype(np.float64)
        some = ~np.isnan(known)
        with np.errstate(invalid="ignore", over="ignore"):
            centre = np.where(some, known / np.maximum(some.sum(axis=0), 1), 0).sum(axis=0)
        largest = max(
            float(np.nanmax(np.abs(one), initial=0.0)) for one in (known / 2 - centre / 2, asked / 2 - centre / 2)
        )
        scale = 2.0 * largest or 1.0

        def parts(table: Array) -> tuple[Array, Array]:
            moved = (table / 2 - centre / 2) / (scale / 2)
            here = ~np.isnan(moved)
            return np.where(here, moved, 0.0), here.astype(np.float64)

        right, right_here = parts(known)
        factors = np.hstack([right_here, right * right, -2.0 * right]).T
        for start in range(0, len(asked), step):
            left, left_here = parts(asked[start : start + step].astype(np.float64))
            squares = np.hstack([left * left, left_here, left]) @ factors
            common = left_here @ right_here.T
            with np.errstate(invalid="ignore", divide="ignore"):
                yield start, np.where(common > 0, np.maximum(squares, 0.0) / common, np.nan)

    def _by_function(self, left: Array, right: Array) -> Array:
        metric: Any = self.metric
        return np.array(
            [[metric(one, other, missing_values=np.nan) for other in right] for one in left], dtype=np.float64
        )

    def _means(self, asked: Array, distances: Array, donors: Array, j: int) -> Array:
        """Return what fills the gaps of column j of some rows, from their distances to the rows that have a value there."""
        values = self.rows_[donors, j].astype(np.float64)
        k = min(self.n_neighbors, len(donors))
        nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]  # NaN comes last
        found = np.take_along_axis(distances, nearest, axis=1)
        if self.weights in (None, "uniform"):
            weight = np.ones(found.shape)
        else:
            exact = found if callable(self.metric) else _differences(asked, self.rows_[donors[nearest]])
            weight = self._weight(exact)
        weight = np.where(np.isnan(found) | np.isnan(weight), 0.0, weight)
        total = weight.sum(axis=1)
        alone = np.isnan(found).all(axis=1)  # no row has a common column: the mean of all
        if not (total[~alone] > 0).all():
            raise InvalidData(
                "weights is a function that gave all neighbours of a row no weight. Give one of them more than 0."
            )
        share = weight / np.where(alone, 1.0, total)[:, np.newaxis]
        return np.asarray(np.where(alone, np.sum(values / len(values)), (share * values[nearest]).sum(axis=1)))

    def _weight(self, distances: Array) -> Array:
        if callable(self.weights):
            weight = np.array(self.weights(distances), dtype=np.float64)
            if weight.shape != distances.shape or np.isinf(weight).any() or (weight < 0).any():
                raise InvalidData(
                    f"weights is a function that must turn distances of shape {distances.shape} into finite weights >= 0 of the"
                    f" same shape; it gave an array of shape {weight.shape} or other values."
                )
            return weight
        least = np.fmin.reduce(distances, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):  # relative to the nearest: ratios stay finite
            return np.where(least == 0, distances == 0, least / distances)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out.

        Returns
        -------
        ndarray of str
            The names, then those of the marks.
        """
        self._check_is_fitted()
        return names_with_marks(self, input_features)


def _differences(asked: Array, others: Array) -> Array:
    """Return the distances of rows to some others each, from differences: zero for equal rows."""
    apart = asked.astype(np.float64)[:, np.newaxis] / 2 - others.astype(np.float64) / 2  # halves do not overflow
    common = ~np.isnan(apart)
    largest = np.where(common, np.abs(apart), 0.0).max(axis=2, keepdims=True)
    part = np.where(common, apart / np.where(largest == 0, 1.0, largest), 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = (part * part).sum(axis=2) / common.sum(axis=2)
        return np.asarray(2 * largest[:, :, 0] * np.sqrt(asked.shape[1] * mean))

"""The data a certificate is about, recognised by its moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("fingerprint", earlier={f"{part}_doubt": f"{part}_rounding" for part in ("weight", "mean", "spread")})
class Fingerprint:
    """Moments that recognise a data set without holding it, whatever the order or the chunks of its rows.

    Optimality does not authenticate data: a model can be optimal for two data sets. The fingerprint tells them apart up to
    the rounding of float64 sums, and exposes no single row.

    Attributes
    ----------
    rows : int
        Rows with positive weight.
    weight : float
        Sum of the weights.
    mean : ndarray of shape (n_features + n_targets,)
        Weighted mean of every column, targets last.
    spread : ndarray of shape (n_features + n_targets,)
        Weighted sum of squared deviations from the mean, column by column.
    weight_rounding : float
        Bound on the rounding of ``weight``.
    mean_rounding, spread_rounding : ndarray of shape (n_features + n_targets,) or None
        Bounds on the rounding of ``mean`` and ``spread``; they grow when rows are forgotten. None in old files, which do not
        say.
    """

    rows: int
    weight: float
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    weight_rounding: float = 0.0
    mean_rounding: NDArray[np.float64] | None = None
    spread_rounding: NDArray[np.float64] | None = None

    def check(self) -> None:
        """Refuse a record that no data set can have."""
        vectors = [self.mean, self.spread, *(v for v in (self.mean_rounding, self.spread_rounding) if v is not None)]
        shapes_agree = self.mean.ndim == 1 and all(vector.shape == self.mean.shape for vector in vectors)
        if not shapes_agree or self.rows < 0 or not self.weight >= 0:
            msg = "the data fingerprint is malformed: its vectors disagree in shape or its counts are negative"
            raise ModelFileError(msg)
        if not self.weight_rounding >= 0 or not all(np.all(rounding_error >= 0) for rounding_error in vectors[2:]):
            msg = "the data fingerprint is malformed: a bound on rounding is negative or undefined"
            raise ModelFileError(msg)

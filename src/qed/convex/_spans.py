"""What problems know of the columns of their design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core._once import cached_property

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.designs import Design


class Spans:
    """The lengths of the columns, centred and as they are multiplied."""

    if TYPE_CHECKING:  # fields of every problem
        design: Design
        share: Vector
        centre: Vector | None
        lengths: Vector | None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.design.shape

    @cached_property
    def spans(self) -> Vector:
        """Root mean squares of the centred columns: what a radius measures coefficients by."""
        return self.design.column_norms(self.share, self.centre) if self.lengths is None else self.lengths

    @cached_property
    def sizes(self) -> Vector:
        """Root mean squares of the columns as they are multiplied: what rounding is measured by."""
        if self.centre is None or self.design.centres_first:
            return self.spans
        return np.hypot(self.spans, self.centre)  # products are centred after they are summed

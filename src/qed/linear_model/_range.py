"""What is looked at before anything is solved: the range of columns, as for every design, and that of a prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core import InvalidParameter
from qed.designs._range import MAX_MAGNITUDE

if TYPE_CHECKING:
    from qed.certificates import Fingerprint
    from qed.linear_model._quadratic import Penalty


def require_prior(penalty: Penalty, seen: Fingerprint) -> None:
    """Refuse a prior whose penalty, or the squares of whose predictions, leave float64."""
    if not penalty.prior.any():
        return
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(seen.spread + seen.weight * seen.mean**2)[: len(penalty.prior)]
        squares = (length @ np.abs(penalty.prior)) ** 2 + penalty.alpha * np.sum(penalty.prior**2, axis=0)
    if not np.sum(squares) < MAX_MAGNITUDE:
        largest = float(np.max(np.abs(penalty.prior)))
        raise InvalidParameter(
            f"Ridge.prior holds {largest:.3g}, and the squares of what it predicts for these rows (or its penalty) overflow"
            f" float64: they must sum to less than {MAX_MAGNITUDE:g}. Give the prior in the units of target / column."
        )

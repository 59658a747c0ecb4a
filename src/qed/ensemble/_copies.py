"""Copies of one estimator, each with a seed of its own: what bagging and AdaBoost share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.compose._steps import models_of_codes
from qed.core import Array, Estimator, InvalidParameter, clone
from qed.core._parts import copies_with, traits_of
from qed.ensemble import _kernels

if TYPE_CHECKING:
    from qed.core import Traits


class CopiesModel(Estimator, sparse=True, allow_nan=True):
    """A model that is made of fitted copies of one estimator, known by the estimator contract alone."""

    def _template(self) -> Any:
        """Return the estimator to copy, or the one that is copied where none is given."""
        raise NotImplementedError

    def _traits(self) -> Traits:
        own = super()._traits()
        try:
            inner = traits_of(self._template())
        except (TypeError, ValueError, AttributeError):
            return own
        return own._replace(sparse=inner.sparse, allow_nan=inner.allow_nan, multi_output=False)

    def _copy(self, seed: int, number: int) -> Any:
        """Return an unfitted copy whose random states, of its parts too, follow from a seed."""
        model = self._template()
        if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise InvalidParameter(
                f"{type(self).__name__}.estimator must be an instance with fit and predict, got {model!r:.80}."
            )
        return seeded(clone(model), seed, number)


def seeded(model: Any, seed: int, number: int) -> Any:
    """Set every random state of a model and of its parts to a number of 31 bits mixed from a seed."""
    names = sorted(
        name for name in model.get_params(deep=True) if name == "random_state" or name.endswith("__random_state")
    )
    bits = [int(_kernels.mix((seed + 2**20 * number + at) % 2**64, 1)[0] >> np.uint64(33)) for at in range(len(names))]
    return model.set_params(**dict(zip(names, bits, strict=True))) if names else model


def copies_of_codes(model: Any, parts: Any) -> str:
    """Say what is wrong with fitted copies: they predict numbers of labels."""
    return copies_with_predict(model, parts) or models_of_codes(model, parts, len(model.classes_))


copies_with_predict = copies_with("predict")


def codes_of(said: Any, n_rows: int, k: int) -> Array:
    """Return predictions as numbers of labels; refuse others."""
    found = np.asarray(said)
    if found.shape != (n_rows,) or found.dtype.kind not in "biu" or not ((found >= 0) & (found < k)).all():
        raise InvalidParameter("A member predicts labels that its fit has not seen. Choose another estimator.")
    return found.astype(np.intp)


def numbers_of(said: Any, n_rows: int) -> Array:
    """Return predictions as one number a row; refuse others."""
    found = np.asarray(said)
    if found.shape not in ((n_rows,), (n_rows, 1)) or found.dtype.kind not in "biuf":
        raise InvalidParameter(
            f"A member predicts {found.dtype} of shape {found.shape} for {n_rows} rows. Choose a regressor of one target."
        )
    return found.reshape(n_rows).astype(np.float64)


def row_numbers(times: Array) -> Array:
    """Return the rows that were drawn, each as often as it was."""
    return np.repeat(np.arange(len(times)), times)


def whole_total(s: Array | None, n_rows: int) -> int:
    """Return how many rows weights that are whole numbers stand for; the number of rows where they are none."""
    is_whole = s is not None and bool((s == np.rint(s)).all()) and s.sum() < 2**31
    return int(s.sum()) if is_whole and s is not None else n_rows

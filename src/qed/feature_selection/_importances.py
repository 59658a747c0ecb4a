"""How much a fitted model makes of each of its columns."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from qed.core import Array


def importances(model: Any, getter: Any, norm_order: float) -> Array:
    """Return one number >= 0 for each column: sizes of coefficients, or importances of features.

    Parameters
    ----------
    model : object
        A fitted model.
    getter : str or callable
        'auto' for ``coef_`` or ``feature_importances_``, the path of an attribute, or a function of the model.
    norm_order : float
        Which norm of the coefficients of several targets or classes.
    """
    if callable(getter):
        found = _asked(getter, model)
    elif isinstance(getter, str) and getter == "auto":
        name = next((name for name in ("coef_", "feature_importances_") if hasattr(model, name)), None)
        if name is None:
            raise InvalidData(
                f"when `importance_getter=='auto'`, the underlying estimator {type(model).__name__} should have `coef_` or"
                " `feature_importances_` attribute. Name another attribute or pass a function of the model."
            )
        found = getattr(model, name)
    else:
        try:
            found = attrgetter(getter)(model)
        except (AttributeError, TypeError) as error:
            raise InvalidParameter(
                f"importance_getter is {getter!r}, and the fitted {type(model).__name__} has no such attribute."
            ) from error
    try:
        table = np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"importance_getter={getter!r:.60} leads to {found!r:.60}, which is no numbers."
        ) from error
    return np.abs(table) if table.ndim == 1 else np.asarray(np.linalg.norm(table, axis=0, ord=norm_order))


def _asked(getter: Any, model: Any) -> Any:
    try:
        return getter(model)
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidParameter(
            f"importance_getter={getter!r:.60} is no function of a fitted {type(model).__name__}: {error}."
        ) from error


def require_model(owner: str, estimator: Any) -> None:
    """Refuse what is no model."""
    if estimator is None or isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InvalidParameter(
            f"{owner}.estimator must be a model with fit, got {estimator!r:.200}. Pass an instance, such as Lasso()."
        )

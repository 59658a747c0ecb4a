"""The hyperplane with the widest margin: no row may be on the wrong side, and the hulls of the classes prove how wide it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core import InvalidData, InvalidParameter
from qed.linear_model._separation import UNIT, Separation, plane_between
from qed.svm._planes import finish

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.linear_model._learn_convex import FitOptions, TrainingData


def fit_hard_margin(model: Any, rows: TrainingData, options: FitOptions) -> None:
    """Find the widest margin of each class against the others (of two classes, of the second against the first)."""
    _require_plain(model)
    n_classes = len(model.classes_)
    labels = [1] if n_classes == 2 else list(range(n_classes))
    planes, duals, gaps, objectives = [], [], [], []
    for label in labels:
        sign = np.where(rows.y == label, 1.0, -1.0)
        found = plane_between(
            rows.X, sign, through_origin=not model.fit_intercept, tol=0.1 * options.tol, max_iter=options.max_iter
        )
        if not found.separable:
            raise _refusal(model, found, label, sign)
        planes.append((found.coef / found.margin, found.intercept / found.margin))
        duals.append(found.weights)
        # margin one: half the squared length of the coefficients is 1 / (2 margin²), and no margin is beyond the bound
        objectives.append(0.5 / found.margin**2)
        below = (found.bound - found.margin) / found.bound  # a share: squares of both would leave the range
        gaps.append(objectives[-1] * below * (1 + found.margin / found.bound))
    model.coef_ = np.stack([w for w, _ in planes])
    model.intercept_ = np.array([b for _, b in planes])
    model.n_iter_, model.solver_used_ = 1, "wolfe"
    objective = float(sum(objectives))
    rounding = (model.coef_.shape[1] + 16) * UNIT * objective  # of lengths; margins and bounds include their own
    gap = float(sum(gaps)) + rounding
    model.certificate_ = DualityGapCertificate(
        gap=gap,
        rounding=rounding,
        objective=objective,
        null_objective=objective,
        tol=float(options.tol),
        radius=np.inf,
        outcome="solved" if gap - rounding <= options.tol * objective else "max_iter",
        fingerprint=rows.seen,
        dual=duals[0] if len(duals) == 1 else np.stack(duals, axis=1),
    )
    finish(model, options)


def _require_plain(model: Any) -> None:
    """Refuse what a hard margin has no use for."""
    wrong = {
        "penalty": model.penalty != "l2",
        "class_weight": model.class_weight is not None,
        "intercept_scaling": float(model.intercept_scaling) != 1.0,
        "multi_class": model.multi_class == "crammer_singer" and len(model.classes_) > 2,
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise InvalidParameter(
                f"LinearSVC.{name} must be left at its default with C=inf, got {getattr(model, name)!r}. A hard margin lets no"
                " row fall short, so that weights do not matter, and its intercept is free."
            )


def _refusal(model: Any, found: Separation, label: int, sign: Vector) -> InvalidData:
    """Say which rows prove that there is no plane; the proof itself is the error's ``separation``."""
    mixed = np.flatnonzero(found.weights)
    one, other = (int(np.sum(sign[mixed] == side)) for side in (1.0, -1.0))
    where = "through the origin " if found.through_origin else ""
    error = InvalidData(
        f"No hyperplane {where}separates {model.classes_.tolist()[label]!r} from the rest, so there is no hard margin: a"
        f" mixture of {one} of its rows coincides with a mixture of {other} others (within {2 * found.bound:.1g}), rows"
        f" {mixed.tolist()[:12]}{' and more' if len(mixed) > 12 else ''}. Pass a finite C. The weights of the mixtures are in"
        " this error's separation."
    )
    error.separation = found  # type: ignore[attr-defined]
    return error

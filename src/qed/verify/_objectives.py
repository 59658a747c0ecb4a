"""The objectives of the documentation, one line for each estimator: read from public parameters, never from a certificate.

An objective is ``factor Σ s ℓ(Xw + b) + penalty``. A name that is not in the table cannot be verified, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._declared import declares
from qed.verify._losses import HALF, Logistic, Loss, Pinball, Poisson, Scaled, Softmax, Squared
from qed.verify._margins import Hinges, JointHinge, Power, Tube
from qed.verify._penalty import Penalty
from qed.verify._ramps import Ramp, Signs
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from collections.abc import Callable


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sums:
    """What an objective may depend on besides parameters: the weight of all rows, of each class, and how many rows there are."""

    weight: Any
    classes: Array | None = None  # weights, in the order of ``classes_``
    rows: int = 0  # how many rows have a weight at all


@dataclass(frozen=True)
class Objective:
    """A loss, what its weighted sum is multiplied by, and a penalty.

    Attributes
    ----------
    loss : Loss
        Of each row.
    factor : extended
        Of the sum of weighted losses.
    penalty : Penalty
        Of the coefficients.
    class_weight : ndarray or None
        What the weights of rows are multiplied by, class by class.
    constant : extended or None
        Value of a column at the end whose coefficient, penalised like the others, gives the intercept.
    """

    loss: Loss
    factor: Any
    penalty: Penalty
    class_weight: Array | None = None
    constant: Any = None
    slack: Callable[[Array], Any] | None = (
        None  # of coefficients: what a limit leaves, at its price; negative beyond it
    )
    limit: int = 1  # the norm that the limit is on; its price does not say, for it may be zero


def _mean(loss: Loss, sums: Sums, **penalty: Any) -> Objective:
    return Objective(loss, 1 / EXTENDED(sums.weight), Penalty(**penalty))


def _chosen(model: Any, name: str, default: Any = None) -> Any:
    """Return what a class declares: the value that its fit chose, where it declares one, else its parameter.

    What a model holds besides its declarations is never looked at.
    """
    if declares(model, f"{name}_"):
        return getattr(model, f"{name}_")
    return getattr(model, name) if declares(model, name) else default


def _net(model: Any, sums: Sums, *, by_rows: bool = False) -> Objective:
    """Half the mean square, plus alpha times a mixture of both penalties."""
    alpha, ratio = EXTENDED(_chosen(model, "alpha")), EXTENDED(_chosen(model, "l1_ratio", 1.0))
    positive = bool(_chosen(model, "positive", False))
    return _mean(Squared(), sums, l1=alpha * ratio, l2=alpha * (1 - ratio), by_rows=by_rows, positive=positive)


def _grouped(model: Any, sums: Sums) -> Objective:
    """Half the mean square, plus alpha times the lengths of groups, each times the root of its size or a given weight."""
    number = _group_numbers(model)
    weights = (
        np.sqrt(np.bincount(number).astype(EXTENDED)) if model.weights is None else np.asarray(model.weights, EXTENDED)
    )
    same = np.array_equal(number, model.groups_) and np.allclose(
        np.asarray(model.weights_, EXTENDED), weights, 1e-12, 0
    )
    if not same:
        raise CertificateError(
            "The groups_ or weights_ of this GroupLasso are not those that its parameters name: they were changed after the"
            " fit. Fit again, or load the model from its file."
        )
    return _mean(Squared(), sums, l1=EXTENDED(model.alpha) * weights[:, None], groups=number)


def _group_numbers(model: Any) -> Array:
    """Read the groups of columns from the parameter, by other code than the fit's."""
    groups, p = model.groups, model.n_features_in_
    if groups is None:
        return np.arange(p)
    if isinstance(groups, int | np.integer):
        return np.asarray(np.arange(p) // min(int(groups), p))
    if all(np.ndim(one) == 0 for one in groups):
        order = {label: at for at, label in enumerate(sorted(set(np.asarray(groups).tolist())))}
        return np.array([order[label] for label in np.asarray(groups).tolist()])
    names = [str(name) for name in vars(model).get("feature_names_in_", ())]
    where = {}
    for number, columns in enumerate(groups):
        where.update({names.index(one) if isinstance(one, str) else int(one): number for one in columns})
    return np.array([where.get(column, -1) for column in range(p)])


def _logistic(model: Any, sums: Sums) -> Objective:
    """C times the sum of cross-entropies, plus a mixture of both penalties; without a penalty the sum alone."""
    if sums.classes is None:
        raise CertificateError(
            f"{type(model).__name__} was fitted to labels, and these targets have none. Pass those of the fit."
        )
    strength = _chosen(model, "C")
    if np.ndim(strength) and len(np.unique(strength)) > 1:
        raise CertificateError(
            f"{type(model).__name__} has one penalty strength for each class, which no single objective explains."
        )
    strength = float(np.ravel(strength)[0])
    kind, ratio = _chosen(model, "penalty", "deprecated"), _chosen(model, "l1_ratio")
    ratio = float(np.ravel(0.0 if ratio is None else ratio)[0])
    ratio = {"l1": 1.0, "l2": 0.0}.get(kind, ratio)
    bare = kind is None or not np.isfinite(strength)
    penalty = Penalty() if bare else Penalty(l1=EXTENDED(ratio), l2=EXTENDED(1) - EXTENDED(ratio))
    loss: Loss = Logistic() if len(sums.classes) == 2 else Softmax()
    weights = _class_weights(model, sums)
    is_penalised = _chosen(model, "solver") == "liblinear" and model.fit_intercept and not bare
    constant = EXTENDED(model.intercept_scaling) if is_penalised else None
    return Objective(loss, EXTENDED(1) if bare else EXTENDED(strength), penalty, weights, constant)


def _class_weights(model: Any, sums: Sums) -> Array | None:
    """Return what the weights of each class are multiplied by."""
    given = model.class_weight
    if given is None or sums.classes is None:
        return None
    if isinstance(given, str):  # "balanced"
        return np.asarray(sums.weight / (len(sums.classes) * sums.classes))
    return np.array([given.get(label, 1.0) for label in model.classes_.tolist()], dtype=EXTENDED)


def _machine(model: Any, sums: Sums) -> Objective:
    """C times the sum of hinges, plus squares or sizes; a class against all others is weighted where it stands alone."""
    if sums.classes is None:
        raise CertificateError("LinearSVC was fitted to labels, and these targets have none. Pass those of the fit.")
    several, joint = len(sums.classes) > 2, model.multi_class == "crammer_singer"
    weights = _class_weights(model, sums)
    constant = EXTENDED(model.intercept_scaling) if model.fit_intercept else None
    half = 1 if several or not joint else HALF  # the planes of two classes are opposite, and their difference is stored
    penalty = Penalty(l1=EXTENDED(1)) if model.penalty == "l1" else Penalty(l2=EXTENDED(1) * half)
    if several and joint:
        return Objective(JointHinge(), EXTENDED(model.C), penalty, weights, constant)
    loss = Hinges(model.loss == "squared_hinge" and not joint, weights if several else None)
    return Objective(loss, EXTENDED(model.C), penalty, None if several else weights, constant)


def _tube(model: Any, _: Sums) -> Objective:
    """C times the sum of what lies beyond the tube, plus squares."""
    loss = Tube(model.epsilon, model.loss == "squared_epsilon_insensitive")
    constant = EXTENDED(model.intercept_scaling) if model.fit_intercept else None
    return Objective(loss, EXTENDED(model.C), Penalty(l2=EXTENDED(1)), None, constant)


def _limited(model: Any, sums: Sums) -> Objective:
    """Squares plus the price of the limit times the size; what the limit leaves is added to the distance."""
    alpha, radius = EXTENDED(model.alpha_), EXTENDED(model.radius)
    if type(model).__name__ == "ConstrainedRidge":
        return Objective(
            Squared(),
            EXTENDED(2),
            Penalty(l2=2 * alpha),
            slack=lambda w: alpha * (radius**2 - np.sum(w * w)),
            limit=2,
        )
    found = _mean(Squared(), sums, l1=alpha)
    return replace(found, slack=lambda w: alpha * (radius - np.sum(np.abs(w))))


def _stochastic(model: Any, sums: Sums) -> Objective:
    """Weighted losses, summed and divided by the number of rows, plus alpha times a mixture of both penalties."""
    if sums.classes is not None and len(sums.classes) != 2:
        raise CertificateError(
            "One certificate of SGDClassifier speaks of two classes; several have one for each of them."
        )
    width = float(model.epsilon)
    loss: Any = {
        "hinge": Hinges(squares=False),
        "squared_hinge": Hinges(squares=True),
        "log_loss": Logistic(),
        "modified_huber": Ramp(4.0, 2.0, start=1.0),
        "perceptron": Ramp(1.0, 0.0, start=0.0),
        "squared_error": Squared(),
        "huber": Ramp(width, width),
        "epsilon_insensitive": Tube(width, squares=False),
        "squared_epsilon_insensitive": Tube(width, squares=True),
    }[model.loss]
    of_numbers = model.loss in ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    if of_numbers and sums.classes is not None:
        loss = Signs(loss)
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, model.l1_ratio or 0.0)
    alpha = EXTENDED(0 if model.penalty is None else model.alpha)
    weights = None if sums.classes is None else _class_weights(model, sums)
    penalty = Penalty(l1=alpha * EXTENDED(ratio), l2=alpha * (1 - EXTENDED(ratio)))
    return Objective(loss, 1 / EXTENDED(sums.rows), penalty, weights)


def _power(p: float) -> Loss:
    """Return the loss of a power: twice the median's of halves, squares, or the power itself."""
    return Squared() if p == 2 else Tube(0.0, squares=False) if p == 1 else Power(p)


TABLE: dict[str, Callable[[Any, Sums], Objective]] = {
    "Lasso": _net,
    "LassoCV": _net,
    "ElasticNet": _net,
    "ElasticNetCV": _net,
    "GroupLasso": _grouped,
    "MultiTaskLasso": lambda model, sums: _net(model, sums, by_rows=True),
    "MultiTaskLassoCV": lambda model, sums: _net(model, sums, by_rows=True),
    "MultiTaskElasticNet": lambda model, sums: _net(model, sums, by_rows=True),
    "MultiTaskElasticNetCV": lambda model, sums: _net(model, sums, by_rows=True),
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "PoissonRegressor": lambda model, sums: _mean(Poisson(), sums, l2=model.alpha),
    "HuberRegressor": lambda model, _: Objective(Scaled(model.epsilon), EXTENDED(1), Penalty(l2=2 * model.alpha)),
    "SGDClassifier": _stochastic,
    "SGDRegressor": _stochastic,
    "LinearSVC": _machine,
    "LinearSVR": _tube,
    "ConstrainedRidge": _limited,
    "ConstrainedLasso": _limited,
    "PowerRegressor": lambda model, sums: _mean(_power(model.p), sums),
    "QuantileRegressor": lambda model, sums: _mean(Pinball(model.quantile), sums, l1=model.alpha),
    "SquareRootLasso": lambda model, sums: _mean(Scaled(np.inf), Sums(2 * sums.weight), l1=model.alpha),
}


def objective_of(model: Any, sums: Sums) -> Objective:
    """Look the objective of a model up."""
    if type(model).__name__ in TABLE:
        return TABLE[type(model).__name__](model, sums)
    msg = (
        f"The checker has no objective for {type(model).__name__}, so that it can confirm nothing. It knows "
        f"{', '.join(sorted(TABLE))}."
    )
    raise CertificateError(msg)

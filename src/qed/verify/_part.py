"""One part of a model of models: what it is called, which parameters it must have, and what reached it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, Estimator
from qed.core._records import _equal, public_name
from qed.core._targets import as_target
from qed.verify._declared import declares
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from qed.verify._verdict import Verdict

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """One part of a model of models.

    Attributes
    ----------
    name : str
        What the certificate of the whole calls it.
    model : Estimator
        The fitted part.
    template : Estimator or None
        The model with the parameters that the part must have; None where the whole has said so in other words.
    X, y, weight : object
        What reached it.
    is_listed : bool
        Whether the certificate of the whole repeats its certificate.
    """

    name: str
    model: Any
    template: Any
    X: Any
    y: Any = None
    weight: Any = None
    is_listed: bool = True


@dataclass(frozen=True)
class Stated:
    """What a model of models claims besides its parts, checked by whoever yields it.

    Attributes
    ----------
    name : str
        What the certificate of the whole calls it.
    verdict : Verdict
        What was found.
    """

    name: str
    verdict: Verdict


def certificate_of(model: Any) -> Any:
    """Return what a model carries; a search carries what its best model does."""
    state = getattr(model, "__dict__", {})
    if isinstance(model, Estimator) and public_name(type(model)) in _SEARCHES:
        best = state.get("best_estimator_")
        return None if best is None or best is model else certificate_of(best)
    return state.get("certificate_")


HALVING = ("qed.model_selection.HalvingGridSearchCV", "qed.model_selection.HalvingRandomSearchCV")
_SEARCHES = ("qed.model_selection.GridSearchCV", "qed.model_selection.RandomizedSearchCV", *HALVING)


def require_template(model: Any, part: Part) -> None:
    """Refuse a part of another class, or with other parameters, than the parameters of the whole say."""
    if not isinstance(part.model, Estimator):
        raise CertificateError(
            f"The part {part.name!r} of this {type(model).__name__} is {public_name(type(part.model))}, which the checker does"
            " not know: it carries no certificate. Verify the models of qed in it one by one, each with the rows that reached it."
        )
    if part.template is None:
        return
    if type(part.model) is not type(part.template):
        refuse_changed(
            model,
            f"has a {type(part.model).__name__} as {part.name!r}, and its parameters name a {type(part.template).__name__}",
        )
    if not same_parameters(part.template, part.model):
        refuse_changed(model, f"has a part {part.name!r} whose parameters are not those that the whole names")


def same_parameters(a: Any, b: Any) -> bool:  # noqa: PLR0911  one line per kind of parameter
    """Say whether two parameters are the same, models by their own parameters; what cannot be compared by its kind."""
    if a is b:
        return True
    if type(a) is not type(b):
        return isinstance(a, int | float) and isinstance(b, int | float) and a == b and not isinstance(a, bool)
    if isinstance(a, Estimator):
        return all(same_parameters(getattr(a, name), getattr(b, name)) for name in type(a)._fields)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_parameters, a, b))
    if isinstance(a, dict):
        return list(map(str, a)) == list(map(str, b)) and all(map(same_parameters, a.values(), b.values()))
    if isinstance(a, np.random.Generator | np.random.RandomState):
        return True  # a fit draws from it
    try:
        if bool(_equal(a, b)):
            return True
    except (TypeError, ValueError):
        return False
    if inspect.isroutine(a):
        return getattr(a, "__qualname__", None) == getattr(b, "__qualname__", None)
    state = getattr(a, "__dict__", None)
    own: Any = type(a).__eq__
    return own is object.__eq__ and (state is None or same_parameters(dict(state), dict(b.__dict__)))


def is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def named(model: Any, attribute: str, width: int) -> list[tuple[Any, ...]]:
    """Return what a model stores as pairs or triples that begin with a name."""
    stored = vars(model)[attribute]
    listed = isinstance(stored, list | tuple) and all(
        isinstance(one, tuple | list) and len(one) == width for one in stored
    )
    if not listed or not all(isinstance(one[0], str) for one in stored):
        refuse_changed(model, f"stores no names and models in {attribute}")
    return [tuple(one) for one in stored]


def require_names(model: Any, found: list[str], wanted: list[str]) -> None:
    if found != wanted or len(set(found)) != len(found):
        refuse_changed(model, f"has the parts {found!r:.200}, and its parameters name {wanted!r:.200}, in this order")


def takes_weight(model: Any) -> bool:
    return "sample_weight" in inspect.signature(type(model).fit).parameters


def weight_for(part: Any, sample_weight: Any) -> Any:
    return sample_weight if isinstance(part, Estimator) and takes_weight(part) else None


def folds_of(model: Any, n_rows: int, cv: Any) -> Array:
    """Return the fold of each row that the model stores, once it can be one."""
    fold = vars(model).get("folds_")
    if fold is None:
        raise CertificateError(
            f"{type(model).__name__} does not say which row was in which fold: it was saved by an earlier version, or its folds"
            " leave rows out of training and test alike. Fit again, with folds such as KFold."
        )
    fold = np.asarray(fold)
    if fold.shape != (n_rows,) or fold.dtype.kind not in "ui":
        raise OtherData(f"The folds of this {type(model).__name__} are of {fold.shape} rows, and these are {n_rows}.")
    count = len(np.unique(fold))
    wanted = 5 if cv is None else int(cv) if isinstance(cv, int | np.integer) else count
    if count != wanted or count < 2 or not np.array_equal(np.unique(fold), np.arange(count)):
        refuse_changed(model, f"stores {count} folds, and its parameters ask for {wanted}")
    return fold


def numbered(model: Any, y: Any) -> Array:
    """Return targets as the members saw them: of a classifier the numbers of the labels, which were compared before."""
    target = as_target(y, "y")
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    return np.searchsorted(model.classes_, target) if declares(model, "classes_") else target

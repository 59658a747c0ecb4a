"""Explanations of whichever model is at hand, in the columns that its user knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.inspection._model_game import table_of
from qed.inspection._shapley import n_columns, n_rows, owners_of, shapley_values

if TYPE_CHECKING:
    from qed.inspection._explanation import Explanation

Array = np.ndarray[Any, Any]
MOST_PROBED = 256  # rows that show which prepared columns follow from which


def explain(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    players: Any = None,
    feature_names: Any = None,
    max_evals: int | None = None,
    random_state: Any = None,
) -> Explanation:
    """Explain the predictions of any fitted model: what each column of its input contributes.

    A pipeline is explained in the columns of its input: the prepared columns are explained, and those that follow from the same
    column of the input are one player. Which ones do is found by changing the input, column by column. Where a prepared column
    follows from several (principal components, for example), the pipeline is explained as a whole, by its predictions.

    Parameters
    ----------
    model : fitted estimator or pipeline
        Trees, forests, boosting, linear models and naive Bayes are explained exactly; other models by their predictions.
    X : array-like or frame of shape (n, p)
        Rows to explain.
    background : array-like or frame of shape (B, p), optional
        Rows that unknown columns take their values from: some rows of the fit, for example. Trees and naive Bayes do without;
        others take ``X`` itself.
    players : sequence of int of shape (p,), optional
        By column of X, the number of the group that it belongs to: an encoded block of columns is one group.
    feature_names : sequence of str, optional
        Names of the columns, or of the groups; by default those of the frame or of the fit.
    max_evals : int, optional
        For models that are sampled, most coalitions evaluated a row, as in `shapley_values`.
    random_state : None, int or Generator
        Seed, for models that are sampled.

    Returns
    -------
    Explanation
        Contributions, base value, predictions and a certificate. `BeeswarmDisplay`, `ContributionDisplay` and
        `WaterfallDisplay` draw it.

    See Also
    --------
    shapley_values : The same of a single model, with more choices.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.ensemble import RandomForestClassifier
    >>> from qed.inspection import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> found = explain(RandomForestClassifier(20, random_state=0).fit(X, y), X[:3])
    >>> found.values.shape, found.certificate.residual < 1e-12
    ((3, 4, 3), True)
    """
    if n_rows(X) == 0:
        raise InvalidData("X has no rows to explain. Pass at least one.")
    sampling = {"max_evals": max_evals, "random_state": random_state}
    steps = getattr(model, "steps_", None) or getattr(model, "steps", None)
    if not steps:
        found = shapley_values(model, X, background=background, players=players, **sampling)
    else:
        found = _of_pipeline(model, X, background, players, sampling)
    if feature_names is None:
        return found
    names = tuple(str(name) for name in feature_names)
    if len(names) != len(found.feature_names):
        raise InvalidParameter(f"feature_names must name {len(found.feature_names)} columns, got {len(names)}.")
    return replace(found, feature_names=names)


def _of_pipeline(model: Any, X: Any, background: Any, players: Any, sampling: dict[str, Any]) -> Explanation:
    owners, count = owners_of(players, n_columns(X))
    last = model[-1]
    if len(model) == 1:
        return shapley_values(last, X, background=background, players=players, **sampling)
    prepare = model[:-1].transform
    prepared = _dense(prepare(X))
    source = _sources(prepare, X if background is None else background, owners, prepared.shape[1])
    if source is None:
        return shapley_values(model, X, background=background, players=players, **sampling)
    others = None if background is None else _dense(prepare(background))
    # groups that no prepared column follows from contribute nothing
    used, numbers = np.unique(source, return_inverse=True)
    found = shapley_values(last, prepared, background=others, players=numbers, **sampling)
    return _spread(found, X, used, owners, count)


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "tocsr") else X)


def _sources(prepare: Any, X: Any, owners: Array, width: int) -> Array | None:
    """Return the group of input columns that each prepared column follows from; None if one follows from several or none."""
    table = table_of(X)
    if len(table) < 2:
        return None
    rows = np.arange(min(len(table), MOST_PROBED))
    source = np.full(width, -1)
    before = _dense(prepare(_picked(table, [rows] * len(owners))))
    for group in range(int(owners.max()) + 1):
        changed = np.zeros(width, dtype=bool)
        for shift in (1, len(rows) // 2, len(rows) // 3):
            moved = [np.roll(rows, shift) if owner == group else rows for owner in owners]
            after = _dense(prepare(_picked(table, moved)))
            changed |= _differs(before, after)
        if (source[changed] >= 0).any():
            return None
        source[changed] = group
    # columns that stayed the same here (marks of gaps, rare categories) stand beside those that they follow from
    for place in np.flatnonzero(source < 0):
        source[place] = _by_name(prepare, int(place), source)
    return None if (source < 0).any() else source


def _differs(before: Array, after: Array) -> Array:
    same = before == after
    if before.dtype.kind == "f":
        same |= np.isnan(before) & np.isnan(after)
    return np.asarray(~same.all(axis=0))


def _by_name(prepare: Any, place: int, source: Array) -> int:
    """Return the group of a prepared column whose name begins like that of a column whose group is known; -1 if none does."""
    names = prepare.__self__.get_feature_names_out()
    stem = str(names[place]).rpartition("_")[0]
    known = {int(source[j]) for j in np.flatnonzero(source >= 0) if stem and str(names[j]).startswith(stem)}
    return known.pop() if len(known) == 1 else -1


def _picked(table: Any, places: list[Array]) -> Any:
    """Return a table whose columns are rows of the given numbers."""
    if hasattr(table, "X"):
        return np.column_stack([table.X[place, j] for j, place in enumerate(places)])
    import narwhals as nw  # noqa: PLC0415

    parts = [table.frame[place.tolist(), [name]] for name, place in zip(table.frame.columns, places, strict=True)]
    return nw.concat([nw.maybe_reset_index(part) for part in parts], how="horizontal").to_native()


def _spread(found: Explanation, X: Any, used: Array, owners: Array, count: int) -> Explanation:
    """Put contributions of prepared columns in the places of the input's columns."""

    def wide(numbers: Array) -> Array:
        made = np.zeros((len(numbers), count, *numbers.shape[2:]))
        made[:, used] = numbers
        return made

    table = table_of(X)
    data = table.X if hasattr(table, "X") else np.asarray(table.frame.to_numpy(), dtype=object)
    names = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(len(owners))])]
    return replace(
        found,
        values=wide(found.values),
        standard_errors=wide(found.standard_errors),
        data=data,
        players=owners,
        feature_names=tuple(" + ".join(names[j] for j in np.flatnonzero(owners == group)) for group in range(count)),
        certificate=replace(found.certificate, players=count),
    )

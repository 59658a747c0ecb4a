"""Models of models, taken apart: every part with the parameters it must have, and the rows, targets and weights that reached it.

A function for each class yields the parts in their order, compared by name and number with the parameters of the whole; the
caller verifies each before the next is asked for. The rows that a transformer hands on are those of its own ``transform``: by then
its learnt numbers have been verified. Where a fit hands on something else than ``transform`` gives, which is so for encoders that
code each row by the other folds, the codes are computed here.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from qed.core import CertificateError, Estimator, clone
from qed.core._mixed import read as read_columns
from qed.core._records import _equal, public_name
from qed.core._targets import as_target
from qed.verify._declared import declares
from qed.verify._rows import EXTENDED, OtherData, read_data

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def certificate_of(model: Any) -> Any:
    """Return what a model carries; a search carries what its best model does."""
    state = getattr(model, "__dict__", {})
    if isinstance(model, Estimator) and public_name(type(model)) in _SEARCHES:
        best = state.get("best_estimator_")
        return None if best is None or best is model else certificate_of(best)
    return state.get("certificate_")


_HALVING = ("qed.model_selection.HalvingGridSearchCV", "qed.model_selection.HalvingRandomSearchCV")
_SEARCHES = ("qed.model_selection.GridSearchCV", "qed.model_selection.RandomizedSearchCV", *_HALVING)


def _refuse(model: Any, what: str) -> NoReturn:
    raise CertificateError(
        f"This {type(model).__name__} {what}. It was changed after the fit. Fit again, or load the model from its file."
    )


# -- parameters ------------------------------------------------------------------------------------------------


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
        _refuse(
            model,
            f"has a {type(part.model).__name__} as {part.name!r}, and its parameters name a {type(part.template).__name__}",
        )
    if not _same(part.template, part.model):
        _refuse(model, f"has a part {part.name!r} whose parameters are not those that the whole names")


def _same(a: Any, b: Any) -> bool:  # noqa: PLR0911  one line per kind of parameter
    """Say whether two parameters are the same, models by their own parameters; what cannot be compared by its kind."""
    if a is b:
        return True
    if type(a) is not type(b):
        return isinstance(a, int | float) and isinstance(b, int | float) and a == b and not isinstance(a, bool)
    if isinstance(a, Estimator):
        return all(_same(getattr(a, name), getattr(b, name)) for name in type(a)._fields)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(map(str, a)) == list(map(str, b)) and all(map(_same, a.values(), b.values()))
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
    return own is object.__eq__ and (state is None or _same(dict(state), dict(b.__dict__)))


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _named(model: Any, attribute: str, width: int) -> list[tuple[Any, ...]]:
    """Return what a model stores as pairs or triples that begin with a name."""
    stored = vars(model)[attribute]
    listed = isinstance(stored, list | tuple) and all(
        isinstance(one, tuple | list) and len(one) == width for one in stored
    )
    if not listed or not all(isinstance(one[0], str) for one in stored):
        _refuse(model, f"stores no names and models in {attribute}")
    return [tuple(one) for one in stored]


def _require_names(model: Any, found: list[str], wanted: list[str]) -> None:
    if found != wanted or len(set(found)) != len(found):
        _refuse(model, f"has the parts {found!r:.200}, and its parameters name {wanted!r:.200}, in this order")


def _takes_weight(model: Any) -> bool:
    return "sample_weight" in inspect.signature(type(model).fit).parameters


def _weight_for(part: Any, sample_weight: Any) -> Any:
    return sample_weight if isinstance(part, Estimator) and _takes_weight(part) else None


# -- one after the other ---------------------------------------------------------------------------------------


def pipeline(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield steps, each with the rows that the steps before it hand on."""
    steps = _named(model, "steps_", 2)
    _require_names(model, [name for name, _ in steps], [name for name, _ in model.steps])
    weighted = vars(model).get("weighted_")  # None in files of versions that did not keep it
    for at, ((name, part), (_, template)) in enumerate(zip(steps, model.steps, strict=True)):
        if _is_nothing(template):
            if not _is_nothing(part):
                _refuse(model, f"has a model as {name!r}, and its parameters pass the rows through")
            continue
        weight = _weight_for(part, sample_weight) if weighted is None or name in weighted else None
        yield Part(name, part, template, X, y, weight)
        if at + 1 < len(steps):
            X = _handed_on(part, X, y)


def _handed_on(part: Any, X: Any, y: Any) -> Any:
    """Return the rows that a fit of a verified transformer hands on."""
    if not _is_cross_fitted(part):
        return part.transform(X)
    name, state = public_name(type(part)), vars(part)
    if name == "qed.preprocessing.TargetEncoder":
        rows = _cross_fitted_codes(part, X, y)
    elif name == "qed.compose.Pipeline":
        *first, last = [step for _, step in state["steps_"] if not _is_nothing(step)]
        for step in first:
            X = _handed_on(step, X, y)
        return last.transform(X)
    else:
        triples = [(one[1], one[2] if len(one) == 3 else None) for one in state["transformers_"]]
        rows = _side_by_side(part, [_block(step, X, y, columns) for step, columns in triples])
    container = state.get("_output", "default")
    if container in (None, "default"):
        return rows
    from qed.core import _frames  # noqa: PLC0415

    return _frames.in_container(rows, part.get_feature_names_out(), X, container)


def _is_cross_fitted(part: Any) -> bool:
    """Say whether a fit hands on other rows than ``transform`` gives."""
    name, state = public_name(type(part)), vars(part)
    if name == "qed.preprocessing.TargetEncoder":
        return True
    inside = state.get("steps_", [])[:-1] if name == "qed.compose.Pipeline" else state.get("transformers_", [])
    known = ("qed.compose.Pipeline", "qed.compose.ColumnTransformer", "qed.compose.FeatureUnion")
    return name in known and any(isinstance(one[1], Estimator) and _is_cross_fitted(one[1]) for one in inside)


def _block(part: Any, X: Any, y: Any, columns: Any) -> Any:
    rows = X if columns is None else _picked(X, columns)
    if isinstance(part, str):
        return None if part == "drop" else rows
    return _handed_on(part, rows, y)


def _side_by_side(model: Any, blocks: list[Any]) -> Any:
    weights = model.transformer_weights or {}
    names = [one[0] for one in vars(model)["transformers_"]]
    scaled = [b * weights.get(name, 1) for name, b in zip(names, blocks, strict=True) if b is not None]
    sparse = any(hasattr(block, "tocsr") for block in scaled)
    if sparse and vars(model).get("sparse_output_", True):
        from scipy import sparse as containers  # noqa: PLC0415

        return containers.hstack(scaled).tocsr()
    return np.hstack([block.toarray() if hasattr(block, "toarray") else np.asarray(block) for block in scaled])


def _cross_fitted_codes(encoder: Any, X: Any, y: Any) -> Array:
    """Code each row by the rows of the other folds, from the definition."""
    fold = _folds(encoder, len(as_target(y, "y")), encoder.cv)
    target = as_target(y, "y").reshape(-1)
    if encoder.target_type_ == "continuous":
        columns = [target.astype(EXTENDED)]
    else:
        labels = encoder.classes_[1:2] if encoder.target_type_ == "binary" else encoder.classes_
        columns = [(target == label).astype(EXTENDED) for label in labels.tolist()]
        columns = columns or [np.zeros(len(target), EXTENDED)]
    blocks = []
    for column, known in zip(read_columns(X, "qed.verify").columns, encoder.categories_, strict=True):
        place = _places(column.dense.tolist(), known.tolist())
        for numbers in columns:
            out = np.empty(len(numbers))
            for number in np.unique(fold):
                here, others = fold == number, fold != number
                out[here] = _codes(place, numbers, others, len(known), encoder.smooth)[place[here]]
            blocks.append(out)
    return _to_the_last_bit(encoder, np.column_stack(blocks), X, y)


def _to_the_last_bit(encoder: Any, codes: Array, X: Any, y: Any) -> Array:
    """Return the codes as the encoder rounds them, once they are those computed here: steps behind it may look at every bit."""
    own = np.asarray(encoder._coded_by_folds(X, y))  # noqa: SLF001
    size = np.max(np.abs(codes), initial=0.0)
    if own.shape != codes.shape or not np.all(np.abs(own - codes) <= 1e-12 * size):
        _refuse(encoder, "codes the rows of its fit in another way than its folds and targets give")
    return own


def _places(entries: list[Any], known: list[Any]) -> Array:
    """Return the number of each entry among the categories; the last one for entries that are none."""

    def key(value: Any) -> Any:
        return "a gap" if value is None or (isinstance(value, float) and value != value) else (value,)  # noqa: PLR0124

    number = {key(value): at for at, value in enumerate(known)}
    return np.array([number.get(key(value), len(known)) for value in entries], dtype=np.intp)


def _codes(place: Array, numbers: Array, used: Array, count: int, smooth: Any) -> Array:
    """Return the code of each category from some of the rows, and the mean of these rows for all others."""
    some = numbers[used]
    mean = some.mean() if len(some) else EXTENDED(numbers.mean())
    variance = np.mean((some - mean) ** 2) if len(some) else EXTENDED(0)
    codes = np.full(count + 1, mean, EXTENDED)
    for category in range(count):
        own = numbers[used & (place == category)]
        if not len(own):
            continue
        own_mean = own.mean()
        if isinstance(smooth, str):
            prior, whole = variance * len(own), variance * len(own) + np.mean((own - own_mean) ** 2)
            share = prior / whole if whole > 0 else EXTENDED(0)
        else:
            share = EXTENDED(len(own)) / (len(own) + EXTENDED(smooth))
        codes[category] = share * own_mean + (1 - share) * mean
    return np.asarray(codes.astype(np.float64))


def _folds(model: Any, n_rows: int, cv: Any) -> Array:
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
        _refuse(model, f"stores {count} folds, and its parameters ask for {wanted}")
    return fold


# -- side by side ----------------------------------------------------------------------------------------------


def column_transformer(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield transformers with their columns; which columns those are is settled anew."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    parts, blocks = _named(model, "transformers_", 3), []
    names, p = column_names(X), int(X.shape[1])
    wanted = _assigned(model, X, names, p)
    _require_names(model, [name for name, _, _ in parts], [name for name, _, _ in wanted])
    for (name, part, columns), (_, template, right) in zip(parts, wanted, strict=True):
        if list(columns) != right:
            _refuse(model, f"gives the columns {columns!r:.100} to {name!r}, and its parameters name {right!r:.100}")
        if isinstance(template, str):
            if not isinstance(part, str) or part != template:
                _refuse(model, f"has {part!r:.60} as {name!r}, and its parameters say {template!r}")
        else:
            yield Part(name, part, template, _picked(X, columns), y, _weight_for(part, sample_weight))
        blocks.append(_block(part, X, y, columns))
    _require_layout(model, [name for name, _, _ in parts], blocks)


def _require_layout(model: Any, names: list[str], blocks: list[Any]) -> None:
    """Compare where the columns of each part stand in the result, and whether that is sparse."""
    widths = [0 if block is None else int(block.shape[1]) for block in blocks]
    ends = np.cumsum(widths)
    right = {name: slice(int(end - width), int(end)) for name, width, end in zip(names, widths, ends, strict=True)}
    given = [block for block in blocks if block is not None]
    sparse = False
    if any(hasattr(block, "tocsr") for block in given):
        stored = sum(block.nnz if hasattr(block, "tocsr") else block.shape[0] * block.shape[1] for block in given)
        total = sum(block.shape[0] * block.shape[1] for block in given)
        sparse = total > 0 and stored / total < model.sparse_threshold
    if model.output_indices_ != right or model.sparse_output_ is not sparse:
        _refuse(model, "stores another layout of its result than its parts give")


def _assigned(model: Any, X: Any, names: Any, p: int) -> list[tuple[str, Any, list[Any]]]:
    """Settle the columns of every part, and of the part for all others; parts without columns are left out."""
    parts: list[tuple[str, Any, list[Any]]] = []
    used: set[int] = set()
    for name, template, wanted in model.transformers:
        columns = _chosen(wanted, X, names, p)
        used.update(names.index(one) if isinstance(one, str) else one for one in columns)
        if columns:
            parts.append((name, template, columns))
    rest = [j for j in range(p) if j not in used]
    if rest:
        by_name = names is not None and all(isinstance(one, str) for _, _, columns in parts for one in columns)
        parts.append(("remainder", model.remainder, [names[j] for j in rest] if by_name else rest))
    return parts


def _chosen(wanted: Any, X: Any, names: Any, p: int) -> list[Any]:
    """Return the names or numbers of the columns that a parameter means."""
    wanted = wanted(X) if callable(wanted) else wanted
    if isinstance(wanted, slice):
        first = names.index(wanted.start) if isinstance(wanted.start, str) else wanted.start
        last = names.index(wanted.stop) + 1 if isinstance(wanted.stop, str) else wanted.stop
        return list(range(p)[slice(first, last, wanted.step)])
    listed = [wanted] if isinstance(wanted, str | int | np.integer) else list(wanted)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return [j for j, chosen in enumerate(listed) if chosen]
    return [str(one) if isinstance(one, str) else int(one) + p if one < 0 else int(one) for one in listed]


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame, if they are all words."""
    columns = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    if columns is None or callable(columns) or hasattr(X, "tocsr"):
        return None
    names = list(columns)
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None


def _picked(X: Any, columns: list[Any]) -> Any:
    if columns and isinstance(columns[0], str):
        return X.select(columns) if hasattr(X, "select") else X[columns]
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    if hasattr(X, "column_names"):
        return X.select([X.column_names[at] for at in columns])
    return X[:, columns]


def feature_union(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:  # noqa: ARG001
    """Yield transformers that all see the same rows; none of them is given weights."""
    parts = _named(model, "transformers_", 2)
    _require_names(model, [name for name, _ in parts], [name for name, _ in model.transformer_list])
    X = X if hasattr(X, "shape") else np.asarray(X)
    for (name, part), (_, template) in zip(parts, model.transformer_list, strict=True):
        if isinstance(template, str):
            if not isinstance(part, str) or part != template:
                _refuse(model, f"has {part!r:.60} as {name!r}, and its parameters say {template!r}")
        else:
            yield Part(name, part, template, X, y)


# -- several models of the same rows ---------------------------------------------------------------------------


def voting(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the members, each with the numbers of the labels, or with the targets."""
    target = _numbered(model, y)
    for name, part, template in _members(model):
        yield Part(name, part, template, X, target, sample_weight)


def stacking(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the members, those fitted on all folds but one, and the final model with what the latter say of the fold left out."""
    target, members, state = _numbered(model, y), _members(model), vars(model)
    _require_methods(model, members)
    prefit = isinstance(model.cv, str) and model.cv == "prefit"
    for name, part, template in members:
        yield Part(name, part, part if prefit else template, X, target, sample_weight)
    asked = [_asked(part, method, X) for (_, part, _), method in zip(members, model.stack_method_, strict=True)]
    if not prefit:
        fold, inner = _folds(model, len(target), model.cv), state.get("fold_estimators_")
        count = int(fold.max()) + 1
        sized = isinstance(inner, list) and [len(one) for one in inner if isinstance(one, list)] == [count] * len(
            members
        )
        if not sized or len(inner) != len(members):
            _refuse(model, "does not hold a model of each member for each fold")
        for (name, part, template), of_folds, method, said in zip(
            members, inner, model.stack_method_, asked, strict=True
        ):
            said[...] = np.nan if said.dtype.kind == "f" else 0
            for number, one in enumerate(of_folds):
                used, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
                weight = None if sample_weight is None else np.asarray(sample_weight)[used]
                where = f"{name}, without fold {number}"
                yield Part(where, one, template, _rows_of(X, used), target[used], weight, is_listed=False)
                answers = _asked(one, method, _rows_of(X, held))
                said[held] = _by_class(answers, one, part, method) if method != "predict" else answers
    table = _stacked(model, asked, X)
    last = state["final_estimator_"]
    template = model.final_estimator
    if template is None:  # the default of its kind, with the parameters of its class
        usual = "LogisticRegression" if declares(model, "classes_") else "RidgeCV"
        if public_name(type(last)) != f"qed.linear_model.{usual}":
            _refuse(model, f"has a {type(last).__name__} as its final model, and without a name for one it is {usual}")
        template = type(last)()
    yield Part("final_estimator", last, template, table, target, _weight_for(last, sample_weight))


def _require_methods(model: Any, members: list[tuple[str, Any, Any]]) -> None:
    """Refuse other questions to the members than those that the parameters lead to."""
    wanted = getattr(model, "stack_method", "predict")
    order = ("predict_proba", "decision_function", "predict") if wanted == "auto" else (wanted,)
    right = [
        next((one for one in order if hasattr(type(part), one) and hasattr(part, one)), None) for _, part, _ in members
    ]
    if list(model.stack_method_) != right:
        _refuse(model, f"asks its members for {model.stack_method_!r:.100}, and its parameters lead to {right!r:.100}")


def _asked(part: Any, method: str, X: Any) -> Array:
    """Return what a verified model says of some rows, as a table or a column of numbers."""
    return np.array(getattr(part, method)(X))


def _by_class(answers: Array, one: Any, whole: Any, method: str) -> Array:
    """Put the columns of a fold that lacks a class where they belong; the class that it cannot know gets the least value."""
    known, every = np.asarray(getattr(one, "classes_", ())), np.asarray(getattr(whole, "classes_", ()))
    if answers.ndim == 1 or len(known) == len(every):
        return answers
    least = 0.0 if method == "predict_proba" else float(np.finfo(answers.dtype).min)
    full = np.full((len(answers), len(every)), least, dtype=answers.dtype)
    full[:, np.searchsorted(every, known)] = answers
    return full


def _stacked(model: Any, said: list[Array], X: Any) -> Any:
    columns = []
    for one, method in zip(said, model.stack_method_, strict=True):
        block = one[:, np.newaxis] if one.ndim == 1 else one
        columns.append(block[:, 1:] if method == "predict_proba" and block.shape[1] == 2 else block)
    if not model.passthrough:
        return np.hstack(columns)
    if hasattr(X, "tocsr"):
        from scipy import sparse  # noqa: PLC0415

        return sparse.hstack([*columns, X]).tocsr()
    return np.hstack([*columns, X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)])


def _members(model: Any) -> list[tuple[str, Any, Any]]:
    """Return names, fitted members and their templates, those left out that the parameters drop."""
    kept = [(name, one) for name, one in model.estimators if not (isinstance(one, str) and one == "drop")]
    found = vars(model)["estimators_"]
    if not isinstance(found, list | tuple) or len(found) != len(kept):
        _refuse(model, f"does not hold one fitted model for each of {[name for name, _ in kept]!r:.200}")
    return [(name, part, template) for (name, template), part in zip(kept, found, strict=True)]


def _numbered(model: Any, y: Any) -> Array:
    """Return targets as the members saw them: of a classifier the numbers of the labels, which were compared before."""
    target = as_target(y, "y")
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    return np.searchsorted(model.classes_, target) if declares(model, "classes_") else target


def multi_output(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield one model for each target."""
    target, parts = as_target(y, "y"), vars(model)["estimators_"]
    if target.ndim != 2 or not isinstance(parts, list | tuple) or len(parts) != target.shape[1]:
        raise OtherData(f"This {type(model).__name__} does not hold one model for each of these targets.")
    for number, part in enumerate(parts):
        yield Part(f"target {number}", part, model.estimator, X, target[:, number], sample_weight)
    if declares(model, "classes_"):
        own = model.classes_
        if len(own) != len(parts) or not all(
            _equal(a, vars(b).get("classes_")) for a, b in zip(own, parts, strict=True)
        ):
            _refuse(model, "has other labels than its parts")


def transformed_target(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the transformer of the target, and the regressor with what it makes of it."""
    given = as_target(y, "y")
    if model.flat_ is not (given.ndim == 1):
        raise OtherData(f"This {type(model).__name__} was fitted to targets of another shape than {given.shape}.")
    table = (given if given.dtype.kind == "f" else given.astype(np.float64)).reshape(len(given), -1)
    changed, part = table, model.transformer_
    if (model.transformer is None) != (part is None):
        _refuse(model, "has a fitted transformer, or lacks one, against its parameters")
    if part is not None:
        weight = _weight_for(part, sample_weight)
        yield Part("transformer", part, model.transformer, table, None, weight)
        changed = np.asarray(part.transform(table))
    elif model.func is not None:
        changed = np.asarray(model.func(table))
    target = changed[:, 0] if changed.ndim == 2 and changed.shape[1] == 1 else changed
    last = model.regressor_
    yield Part("regressor", last, model.regressor, X, target, _weight_for(last, sample_weight))


def search(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the best model, whose parameters must be those that the table of scores calls the best."""
    state = vars(model)
    results, best = model.cv_results_, state.get("best_index_")
    settings = results["params"]
    if type(best) is not int or not 0 <= best < len(settings) or not _same(state["best_params_"], settings[best]):
        _refuse(model, "stores other best parameters than its table of scores")
    if public_name(type(model)) in _HALVING:
        _require_rounds(model, results)
    _require_scores(model, results, best)
    template = clone(model.estimator).set_params(**clone(state["best_params_"]))
    part = state["best_estimator_"]
    yield Part("best_estimator", part, template, X, y, _weight_for(part, sample_weight), is_listed=False)


def _require_scores(model: Any, results: dict[str, Any], best: int) -> None:
    """Check that means, ranks and the choice follow from the scores of the folds, which themselves are not computed again."""
    several = model.multimetric_ is True
    for name in [key.removeprefix("rank_test_") for key in results if key.startswith("rank_test_")]:
        folds = np.stack([results[f"split{k}_test_{name}"] for k in range(model.n_splits_)], axis=1)
        mean = results[f"mean_test_{name}"]
        known = np.where(np.isnan(mean), -np.inf, mean)
        rank = np.array([1 + int(np.sum(known > value)) for value in known])
        near = np.isclose(folds.mean(axis=1), mean, rtol=1e-12, atol=1e-300, equal_nan=True)
        if not near.all() or not np.array_equal(rank, results[f"rank_test_{name}"]):
            _refuse(model, "stores means or ranks that do not follow from the scores of its folds")
        chooses = not callable(model.refit) and (model.refit == name if several else True)
        last = (
            results["iter"] == results["iter"].max()
            if public_name(type(model)) in _HALVING
            else np.ones(len(rank), bool)
        )
        if chooses and (
            best != int(np.argmin(np.where(last, rank, len(rank) + 1)))
            or not _same(float(mean[best]), model.best_score_)
        ):
            _refuse(model, "stores a best score or index that does not follow from its table of scores")


def _require_rounds(model: Any, results: dict[str, Any]) -> None:
    """Check that each round of a halving search holds the best settings of the round before, with the resource it names."""
    rounds, mean, settings = results["iter"], results["mean_test_score"], results["params"]
    counts = [int(np.sum(rounds == number)) for number in range(model.n_iterations_)]
    short = counts[-1] < model.n_candidates_[-1] and model.outcome_ != "searched"  # a round that was not finished
    if sum(counts) != len(rounds) or (counts[:-1] if short else counts) != model.n_candidates_[: len(counts) - short]:
        _refuse(model, "stores rounds of other sizes than its table of scores")
    if not np.array_equal(results["n_resources"], np.repeat(model.n_resources_, counts)):
        _refuse(model, "stores another resource of its rounds than its table of scores")
    for number in range(1, len(counts)):
        before, now = np.flatnonzero(rounds == number - 1), np.flatnonzero(rounds == number)
        known = np.where(np.isnan(mean[before]), -np.inf, mean[before])
        kept = before[np.argsort(known, kind="stable")[-model.n_candidates_[number] :]][: len(now)]
        own = [{**settings[k], model.resource: model.n_resources_[number]} for k in kept]
        if model.resource == "n_samples":
            own = [settings[k] for k in kept]
        if not all(map(_same, own, (settings[k] for k in now))):
            _refuse(model, "keeps other settings from round to round than the best of its table of scores")


# -- several classes by models of two --------------------------------------------------------------------------


def one_vs_rest(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each class, or for each column of a table of zeros and ones."""
    table = y.toarray() if hasattr(y, "toarray") else as_target(y, "y")
    several = (
        table.ndim == 2 and table.shape[1] > 1 and table.dtype.kind in "biuf" and bool(np.isin(table, (0, 1)).all())
    )
    if model.multilabel_ is not several:
        raise OtherData("This OneVsRestClassifier was fitted to labels of another form than these.")
    k = len(model.classes_)
    book = np.array([[-1], [1]]) if k == 2 and not several else 2 * np.eye(k, dtype=int) - 1
    if not several:
        yield from _coded(model, book, X, y, sample_weight)
        return
    if not np.array_equal(model.classes_, np.arange(table.shape[1])):
        raise OtherData(f"This OneVsRestClassifier was fitted to {k} labels, and y has {table.shape[1]} columns.")
    _require_book(model, book)
    rows, labels = read_data(model, X, table[:, 0], sample_weight, finite=False).X, table.astype(np.intp)
    for number, part in enumerate(_coded_parts(model, k)):
        yield Part(f"code {number}", part, model.estimator, rows, labels[:, number], sample_weight)


def one_vs_one(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each pair of classes, with their rows."""
    k = len(model.classes_)
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    book = np.zeros((k, len(pairs)), dtype=int)
    for number, (first, second) in enumerate(pairs):
        book[first, number], book[second, number] = -1, 1
    yield from _coded(model, book, X, y, sample_weight)


def output_code(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each column of the code matrix: that of the parameters, or one that a draw can have given."""
    k, stored = len(model.classes_), np.asarray(model.code_book_)
    if isinstance(model.code_book, str):
        bits = (k - 1).bit_length()
        book = np.array([[1 if (number >> bit) & 1 else -1 for bit in reversed(range(bits))] for number in range(k)])
    elif model.code_book is not None:
        book = np.asarray(model.code_book)
    else:
        book = stored
        sides = stored.ndim == 2 and all({-1, 1} == set(column) for column in stored.T.tolist())
        wide = stored.shape == (k, max(1, int(k * model.code_size)))
        if not sides or not wide or len(np.unique(stored, axis=0)) != k:
            _refuse(model, "has a code matrix that no draw gives")
    yield from _coded(model, book, X, y, sample_weight)


def _require_book(model: Any, book: Array) -> None:
    stored = np.asarray(model.code_book_)
    if stored.dtype != np.int8 or not np.array_equal(stored, book):
        _refuse(model, "has another code matrix than its parameters and classes give")


def _coded_parts(model: Any, count: int) -> list[Any]:
    parts = vars(model)["estimators_"]
    if not isinstance(parts, list | tuple) or len(parts) != count:
        _refuse(model, f"does not hold {count} classifiers of two classes")
    return list(parts)


def _coded(model: Any, book: Array, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield classifiers of two classes, with the rows of the classes that their column names."""
    _require_book(model, book)
    data = read_data(model, X, y, sample_weight, finite=False)
    place = np.searchsorted(model.classes_, data.classes)
    sides = book[place[data.y.astype(np.intp)]]
    for number, part in enumerate(_coded_parts(model, book.shape[1])):
        used = np.flatnonzero(sides[:, number])
        if not len(used) and isinstance(part, Estimator) and not _has_learnt(part):
            continue  # a stream has not brought it a row yet
        every = len(used) == data.n_rows
        weight = None if data.weight is None else data.weight if every else data.weight[used]
        rows = data.X if every else _rows_of(data.X, used)
        yield Part(f"code {number}", part, model.estimator, rows, (sides[used, number] > 0).astype(np.intp), weight)


def _has_learnt(part: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(part))


def _rows_of(X: Any, used: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[used]
    if hasattr(X, "tocsr"):
        return X.tocsr()[used]
    if type(X).__module__.startswith("pyarrow"):
        return X.take(used)
    return X[used] if hasattr(X, "shape") else [X[int(one)] for one in used]


def ridge_classifier(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the least-squares fit inside a classifier, with the signs of its labels."""
    part: Any = vars(model)["ridge_"]
    if public_name(type(part)) != "qed.linear_model.Ridge":
        _refuse(model, "holds no least-squares fit")
    alpha = model.alpha_ if declares(model, "alpha_") else model.alpha
    same = np.array_equal(np.atleast_2d(part.coef_), model.coef_) and model.intercept_.shape == model.coef_.shape[:1]
    same = same and bool(np.all(np.asarray(part.intercept_) == model.intercept_))
    same = same and _same(float(part.alpha), float(alpha)) and part.fit_intercept is model.fit_intercept
    if not same or part.prior is not None:
        _refuse(model, "has coefficients or parameters that are not those of the fit inside")
    if declares(model, "alphas") and alpha not in np.atleast_1d(np.asarray(model.alphas, dtype=np.float64)):
        _refuse(model, f"has chosen the strength {alpha:g}, which was not offered")
    data = read_data(model, X, y, sample_weight)
    labels = np.asarray(data.classes)[data.y.astype(np.intp)]
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    signs = np.where(labels[:, None] == positive, 1.0, -1.0)
    yield Part("ridge", part, None, data.X, signs, _with_class_weights(model, labels, data.weight))


def each_class(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield each class against the others, as a classifier of two classes with its coefficients and its proof."""
    labels = as_target(y, "y").reshape(-1)
    classes, names = model.classes_.tolist(), [str(label) for label in model.classes_]
    k = len(classes)
    if k < 3 or model.coef_.shape[:1] != (k,) or model.intercept_.shape != (k,):
        _refuse(model, f"does not have coefficients for each of its {k} classes")
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
    factor = _class_factors(model, labels, weight)
    claims = certificate_of(model).parts
    _require_names(model, list(claims), names)
    for number, (name, label) in enumerate(zip(names, classes, strict=True)):
        part = type(model)(**model.get_params(deep=False))
        part.__dict__.update(vars(model))
        part.classes_ = np.array([False, True])
        part.coef_, part.intercept_ = model.coef_[number : number + 1], model.intercept_[number : number + 1]
        own = {f.name: getattr(model.memory_, f.name) for f in fields(model.memory_)}
        part.memory_ = replace(
            model.memory_, **{key: one[number : number + 1] for key, one in own.items() if np.shape(one)[:1] == (k,)}
        )
        part.certificate_ = claims[name]
        part.class_weight = None if model.class_weight is None else {True: factor[label], False: 1.0}
        yield Part(name, part, None, X, labels == label, sample_weight)


def _with_class_weights(model: Any, labels: Array, weight: Array | None) -> Array | None:
    """Multiply weights by those of the classes."""
    if model.class_weight is None:
        return weight
    weight = np.ones(len(labels)) if weight is None else weight
    factor = _class_factors(model, labels, weight)
    return np.asarray(weight * np.array([factor[label] for label in labels.tolist()]))


def _class_factors(model: Any, labels: Array, weight: Array) -> dict[Any, float]:
    """Return what the weights of each class are multiplied by."""
    known = model.classes_.tolist()
    if isinstance(model.class_weight, str):  # "balanced"
        sums = {label: weight[labels == label].sum() for label in known}
        return {label: weight.sum() / (len(sums) * total) for label, total in sums.items()}
    return {label: (model.class_weight or {}).get(label, 1.0) for label in known}

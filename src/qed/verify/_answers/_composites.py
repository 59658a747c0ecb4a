"""Answers of models of models: what their parts answer, put together by definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._agree import agreed
from qed.verify._answers._columns import chosen
from qed.verify._answers._compare import Labels, Numbers, both, dense, require, softmax, table_of
from qed.verify._blocks import picked, side_by_side, stacked
from qed.verify._refusals import refuse_answer

Array = np.ndarray[Any, Any]


def _same(model: Any, method: str, own: Any, told: Any) -> None:
    """Refuse answers that are not exactly those of a part."""
    if isinstance(own, list):
        if not isinstance(told, list) or len(own) != len(told):
            refuse_answer(model, method)
        for one, other in zip(own, told, strict=True):
            _same(model, method, one, other)
        return
    first, second = dense(own), dense(told)
    numbers = first.dtype.kind in "biuf" and second.dtype.kind in "biuf"
    if first.shape != second.shape or not np.array_equal(first, second, equal_nan=numbers):
        refuse_answer(model, method)


def _require(model: Any, method: str, values: Any, size: Any, told: Any) -> None:
    answers = dense(told)
    require(model, method, Numbers(np.asarray(values), size), answers, is_single=answers.dtype == np.float32)


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


# -- one after the other, and side by side ---------------------------------------------------------------------


def pipeline(method: str) -> Any:
    """Ask the last step about what the steps before it make of rows; backwards, every step in turn."""

    def rule(model: Any, X: Any, told: Any) -> None:
        steps = [one for _, one in model.steps_ if not _is_nothing(one)]
        if method == "inverse_transform":
            for one in reversed(steps):
                X = agreed(one, method, X)
            _same(model, method, X, told)
            return
        last = None if _is_nothing(model.steps_[-1][1]) else steps.pop()
        for one in steps:
            X = agreed(one, "transform", X)
        _same(model, method, X if last is None else agreed(last, method, X), told)

    return rule


def inside(name: str, method: str) -> Any:
    """Ask the model that a search, or an elimination of columns, has left."""

    def rule(model: Any, X: Any, told: Any) -> None:
        rows = X if name == "best_estimator_" else table_of(model, X)[:, np.flatnonzero(chosen(model))]
        _same(model, method, agreed(vars(model)[name], method, rows), told)

    return rule


def classifier_inside(method: str) -> Any:
    """Ask the classifier whose scores are cut at a threshold."""

    def rule(model: Any, X: Any, told: Any) -> None:
        _same(model, method, agreed(model.estimator_, method, X), told)

    return rule


def cut_label(model: Any, X: Any, told: Any) -> None:
    """Predict the positive label where the score of the classifier inside reaches the threshold."""
    part, asked = model.estimator_, model.response_method
    if asked == "auto":
        asked = "predict_proba" if hasattr(part, "predict_proba") else "decision_function"
    scoring = getattr(model, "scoring", None)
    options = getattr(scoring, "_kwargs", {})  # scores by name say nothing of a label
    labels = np.asarray(part.classes_)
    positive = options.get("pos_label") if scoring is not None else model.pos_label
    place = 1 if positive is None else labels.tolist().index(positive)
    said = np.asarray(agreed(part, asked, X), dtype=np.float64)
    scores = said[:, place] if asked == "predict_proba" else (said if place == 1 else -said)
    limit = vars(model)["best_threshold_"] if scoring is not None else model.threshold
    if isinstance(limit, str):
        limit = 0.5 if asked == "predict_proba" else 0.0
    _same(model, "predict", np.where(scores >= limit, labels[place], labels[1 - place]), told)


def columns(model: Any, X: Any, told: Any) -> None:
    """Put side by side what transformers make of their columns."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    blocks = []
    for _, part, own in model.transformers_:
        rows = picked(X, list(own))
        blocks.append((None if part == "drop" else rows) if isinstance(part, str) else agreed(part, "transform", rows))
    _joined(model, blocks, told)


def union(model: Any, X: Any, told: Any) -> None:
    """Put side by side what transformers make of the same rows."""
    blocks = []
    for _, part in model.transformers_:
        blocks.append((None if part == "drop" else X) if isinstance(part, str) else agreed(part, "transform", X))
    _joined(model, blocks, told)


def _joined(model: Any, blocks: list[Any], told: Any) -> None:
    if all(block is None for block in blocks):
        if told.shape[1]:
            refuse_answer(model, "transform")
        return
    _same(model, "transform", side_by_side(model, blocks), told)


def function(name: str, options: str) -> Any:
    """Apply the user's function again; nobody else knows it."""

    def rule(model: Any, X: Any, told: Any) -> None:
        apply = getattr(model, name)
        rows = table_of(model, X) if model.validate else X
        own = rows if apply is None else apply(rows, **(getattr(model, options) or {}))
        _same(model, "transform", own, told)

    return rule


def functions(model: Any, X: Any, told: Any) -> None:
    """Check the shape of what the user's functions make of each column; nobody else knows them."""
    if dense(told).shape != (table_of(model, X).shape[0], model.n_features_in_ * len(model.functions)):
        refuse_answer(model, "transform")


def target(model: Any, X: Any, told: Any) -> None:
    """Bring predictions back to the units of the target."""
    said = np.asarray(agreed(model.regressor_, "predict", X))
    table = said[:, None] if said.ndim == 1 else said
    if model.transformer_ is not None:
        table = np.asarray(agreed(model.transformer_, "inverse_transform", table))
    elif model.inverse_func is not None:
        table = np.asarray(model.inverse_func(table))
    flat = model.flat_ and table.ndim == 2 and table.shape[1] == 1
    _same(model, "predict", table[:, 0] if flat else table, told)


# -- several models of the same rows ---------------------------------------------------------------------------


def _weights(model: Any) -> Array:
    kept = [not (isinstance(one, str) and one == "drop") for _, one in model.estimators]
    given = np.ones(len(kept)) if model.weights is None else np.asarray(model.weights, dtype=np.float64)
    return np.asarray(given[np.array(kept)])


def _all_answers(model: Any, method: str, X: Any) -> list[Array]:
    return [np.asarray(agreed(part, method, X)) for part in model.estimators_]


def mean_of_members(model: Any, X: Any, told: Any) -> None:
    """Average predictions."""
    said, weight = np.column_stack(_all_answers(model, "predict", X)).astype(np.float64), _weights(model)
    _require(model, "predict", said @ (weight / weight.sum()), np.abs(said) @ (weight / weight.sum()), told)


def answers_of_members(model: Any, X: Any, told: Any) -> None:
    """Put predictions, or shares of labels, side by side."""
    soft = vars(model).get("voting", getattr(model, "voting", "hard")) == "soft"
    said = _all_answers(model, "predict_proba" if soft else "predict", X)
    if soft:
        _same(model, "transform", np.hstack(said) if model.flatten_transform else np.asarray(said), told)
    else:
        _same(model, "transform", np.column_stack(said), told)


def _votes(model: Any, X: Any) -> tuple[Array, float]:
    weight, k = _weights(model), len(model.classes_)
    if model.voting == "soft":
        shares = np.stack(_all_answers(model, "predict_proba", X)).astype(np.float64)
        return np.einsum("m,mij->ij", weight / weight.sum(), shares), 1.0
    said = _all_answers(model, "predict", X)
    return sum(w * (one[:, None] == np.arange(k)) for w, one in zip(weight, said, strict=True)), float(weight.sum())


def voted_chances(model: Any, X: Any, told: Any) -> None:
    """Average shares of labels."""
    shares, size = _votes(model, X)
    _require(model, "predict_proba", shares, size, told)


def voted_label(model: Any, X: Any, told: Any) -> None:
    """Predict the label of most votes, or of the largest mean share."""
    require(model, "predict", Labels(*_votes(model, X), model.classes_), dense(told))


def stack(method: str) -> Any:
    """Ask the final model about what the members answer."""

    def rule(model: Any, X: Any, told: Any) -> None:
        said = [
            np.asarray(agreed(part, how, X)) for part, how in zip(model.estimators_, model.stack_method_, strict=True)
        ]
        table = stacked(model, said, X)
        if method == "transform":
            _same(model, method, table, told)
            return
        own = np.asarray(agreed(model.final_estimator_, method, table))
        if method == "predict" and "classes_" in vars(model):
            own = np.asarray(model.classes_)[own.astype(np.intp)]
        _same(model, method, own, told)

    return rule


def member_shares(part: Any, rows: Any, width: int) -> Array:
    """Return shares of labels of a copy of a classifier, by the numbers that its labels are; one for its label if it has none."""
    found = np.zeros((rows.shape[0], width))
    if hasattr(part, "predict_proba"):
        found[:, np.asarray(part.classes_, dtype=np.intp)] = agreed(part, "predict_proba", rows)
    else:
        found[np.arange(len(found)), np.asarray(agreed(part, "predict", rows)).astype(np.intp)] = 1.0
    return found


def _bagged(model: Any, X: Any) -> tuple[Array, Array]:
    rows = table_of(model, X)
    total: Any = 0.0
    size: Any = 0.0
    for part, own in zip(model.estimators_, np.asarray(model.estimators_features_), strict=True):
        if "classes_" in vars(model):
            said = member_shares(part, rows[:, own], len(model.classes_))
        else:
            said = np.asarray(agreed(part, "predict", rows[:, own]), dtype=np.float64).reshape(-1, 1)
        total, size = total + said, size + np.abs(said)
    return total / len(model.estimators_), size


def bagged_number(model: Any, X: Any, told: Any) -> None:
    """Average the predictions of copies."""
    values, size = _bagged(model, X)
    _require(model, "predict", values[:, 0], size[:, 0], told)


def bagged_chances(model: Any, X: Any, told: Any) -> None:
    """Average the shares of labels of copies."""
    _require(model, "predict_proba", *_bagged(model, X), told)


def bagged_label(model: Any, X: Any, told: Any) -> None:
    """Predict the label with the largest mean share."""
    require(model, "predict", Labels(*_bagged(model, X), model.classes_), dense(told))


def _boosted_votes(model: Any, X: Any) -> Array:
    rows, k = table_of(model, X), len(model.classes_)
    votes = np.zeros((rows.shape[0], k))
    for part, weight in zip(model.estimators_, np.asarray(model.estimator_weights_).tolist(), strict=True):
        said = np.asarray(agreed(part, "predict", rows)).astype(np.intp)
        votes += np.where(said[:, None] == np.arange(k), weight, -weight / max(k - 1, 1))
    return np.asarray(votes / np.sum(model.estimator_weights_))


def _shown(model: Any, votes: Array) -> Array:
    k = len(model.classes_)
    if k == 1:
        return np.zeros(len(votes))
    return np.asarray(votes[:, 1] - votes[:, 0] if k == 2 else votes)


def boosted_decision(model: Any, X: Any, told: Any) -> None:
    """Return the mean votes of rounds, of two labels how far the second is ahead."""
    _require(model, "decision_function", _shown(model, _boosted_votes(model, X)), len(model.estimators_), told)


def boosted_chances(model: Any, X: Any, told: Any) -> None:
    """Return shares of exponentials of votes."""
    votes, k = _boosted_votes(model, X), len(model.classes_)
    if k == 1:
        own = np.ones((len(votes), 1))
    else:
        own = softmax(_shown(model, votes)[:, None] * np.array([-0.5, 0.5]) if k == 2 else votes / (k - 1))
    _require(model, "predict_proba", own, len(model.estimators_), told)


def boosted_label(model: Any, X: Any, told: Any) -> None:
    """Predict the label of most votes."""
    require(model, "predict", Labels(_boosted_votes(model, X), len(model.estimators_), model.classes_), dense(told))


def weighted_median(model: Any, X: Any, told: Any) -> None:
    """Predict the least prediction of a round up to which rounds have half of all weight."""
    rows, answers = table_of(model, X), dense(told)
    said = np.column_stack([np.asarray(agreed(part, "predict", rows), dtype=np.float64) for part in model.estimators_])
    weight = np.asarray(model.estimator_weights_, dtype=np.float64)
    if answers.shape != (len(said),):
        refuse_answer(model, "predict")
    near = 2.0**-20 if answers.dtype == np.float32 else 2.0**-40
    close = np.abs(said - answers[:, None]) <= near * np.abs(said).max(axis=1, keepdims=True)
    up_to = ((said <= answers[:, None]) | close) @ weight
    beneath = ((said < answers[:, None]) & ~close) @ weight
    half, slack = weight.sum() / 2, 2.0**-40 * weight.sum()
    if not (close.any(axis=1) & (up_to >= half - slack) & (beneath <= half + slack)).all():
        refuse_answer(model, "predict")


# -- several targets, several classes --------------------------------------------------------------------------


def each_target(method: str) -> Any:
    """Ask one model for each target."""

    def rule(model: Any, X: Any, told: Any) -> None:
        said = [agreed(part, method, X) for part in model.estimators_]
        _same(model, method, said if method == "predict_proba" else np.column_stack(said), told)

    return rule


def _one_column(answer: Any, labels: Any) -> Array:
    found = np.asarray(answer)
    if found.dtype.kind not in "biuf":
        found = np.searchsorted(np.asarray(labels), found)
    return found.astype(np.float64) if found.ndim == 1 else found[:, -1].astype(np.float64)


def chain(method: str) -> Any:
    """Ask each model about the rows and what the models before it answer."""

    def rule(model: Any, X: Any, told: Any) -> None:
        rows, how = table_of(model, X), vars(model).get("chain_method_", "predict")
        known: list[Array] = []
        answers: dict[int, Any] = {}
        for place, part in zip(model.order_.tolist(), model.estimators_, strict=True):
            seen = rows
            if known and hasattr(rows, "tocsr"):
                from scipy import sparse  # noqa: PLC0415

                seen = sparse.hstack([rows, np.column_stack(known)]).tocsr()
            elif known:
                seen = np.hstack([rows, np.column_stack(known)])
            answers[place] = agreed(part, method, seen)
            own = answers[place] if how == method else agreed(part, how, seen)
            known.append(_one_column(own, getattr(part, "classes_", None)))
        listed = [answers[place] for place in range(len(answers))]
        _same(
            model,
            method,
            np.column_stack(listed if method == "predict" else [_one_column(one, None) for one in listed]),
            told,
        )

    return rule


def side_of(part: Any, rows: Any) -> Array:
    """Return what a model of two classes says for the second: a score, a share, or a sign."""
    if not any(name.endswith("_") and not name.startswith("_") for name in vars(part)):
        return np.zeros(rows.shape[0])
    if hasattr(part, "decision_function"):
        return np.asarray(agreed(part, "decision_function", rows), dtype=np.float64).ravel()
    if hasattr(part, "predict_proba"):
        return np.asarray(2.0 * np.asarray(agreed(part, "predict_proba", rows), dtype=np.float64)[:, 1] - 1.0)
    said = np.asarray(agreed(part, "predict", rows))
    return np.where(said > 0, 1.0, -1.0) if "classes_" in vars(part) else 2.0 * said.astype(np.float64).ravel() - 1.0


def _sides(model: Any, X: Any) -> Array:
    rows = table_of(model, X)
    return np.column_stack([side_of(part, rows) for part in model.estimators_])


def _rest_scores(model: Any, X: Any) -> Array:
    scores = _sides(model, X)
    if model.normalise:
        lengths = [float(np.linalg.norm(dense(part.coef_))) for part in model.estimators_]
        scores = scores / np.array([one if one > 0 else 1.0 for one in lengths])
    return scores


def rest_decision(model: Any, X: Any, told: Any) -> None:
    """Return the score of each class against the others."""
    scores = _rest_scores(model, X)
    own = scores[:, 0] if scores.shape[1] == 1 else scores
    _require(model, "decision_function", own, np.abs(own), told)


def rest_label(model: Any, X: Any, told: Any) -> None:
    """Predict the class with the largest score; every class with a positive one where a row may have several."""
    scores = _rest_scores(model, X)
    if model.multilabel_:
        _same(model, "predict", (scores > 0).astype(np.intp), told)
        return
    by_class = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    require(
        model, "predict", Labels(by_class, np.abs(by_class).max(axis=1, keepdims=True), model.classes_), dense(told)
    )


def rest_chances(model: Any, X: Any, told: Any) -> None:
    """Divide the shares of classes against the others by their sum."""
    rows = table_of(model, X)
    shares = np.column_stack([np.asarray(agreed(part, "predict_proba", rows))[:, 1] for part in model.estimators_])
    shares = shares.astype(np.float64)
    if shares.shape[1] == 1:
        shares = both(shares[:, 0])
    elif not model.multilabel_:
        total = shares.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1])
    _require(model, "predict_proba", shares, 1.0, told)


def _pair_votes(model: Any, X: Any) -> Array:
    """Count the duels that each class wins; the sum of its scores, below a third of a vote, tells between equals."""
    said, book = _sides(model, X), np.asarray(model.code_book_, dtype=np.float64)
    if len(model.classes_) == 2:
        return said[:, 0]
    learnt = np.array(
        [any(n.endswith("_") and not n.startswith("_") for n in vars(part)) for part in model.estimators_]
    )
    for_second, for_first = ((side & learnt).astype(np.float64) for side in (said > 0, said <= 0))
    wins = for_second @ (book.T > 0).astype(np.float64) + for_first @ (book.T < 0).astype(np.float64)
    total = said @ book.T
    return np.asarray(wins + total / (3.0 * (np.abs(total) + 1.0)))


def pair_decision(model: Any, X: Any, told: Any) -> None:
    """Return votes of duels."""
    own = _pair_votes(model, X)
    _require(model, "decision_function", own, np.abs(own) + len(model.estimators_), told)


def pair_label(model: Any, X: Any, told: Any) -> None:
    """Predict the class that wins most duels."""
    own = _pair_votes(model, X)
    scores = np.column_stack([np.zeros(len(own)), own]) if own.ndim == 1 else own
    size = np.abs(scores).max(axis=1, keepdims=True) + len(model.estimators_)
    require(model, "predict", Labels(scores, size, model.classes_), dense(told))


def code_label(model: Any, X: Any, told: Any) -> None:
    """Predict the class whose code is nearest to the answers, in the way that the parameters name."""
    said, book = _sides(model, X), np.asarray(model.code_book_, dtype=np.float64)
    margins = said[:, None, :] * book
    if model.decoding == "hamming":
        far = (np.abs(book).sum(axis=1) - np.where(said > 0, 1.0, -1.0) @ book.T) / 2
    elif model.decoding == "euclidean":
        far = (book**2).sum(axis=1) - 2 * margins.sum(axis=2)
    elif model.decoding == "hinge":
        far = np.where(book != 0, np.maximum(1 - margins, 0), 0).sum(axis=2)
    else:
        far = np.logaddexp.reduce(np.where(book != 0, -margins, -np.inf), axis=2)
    size = np.abs(margins).sum(axis=2).max(axis=1, keepdims=True) + book.shape[1]
    require(model, "predict", Labels(-far, size, model.classes_), dense(told))


def curve_scores(part: Any, X: Any) -> Array:
    """Return the scores that a curve is fitted to: those of a decision function, or shares of labels."""
    method = "decision_function" if hasattr(part, "decision_function") else "predict_proba"
    said = np.asarray(agreed(part, method, X), dtype=np.float64)
    return said.reshape(-1, 1) if said.ndim == 1 else said[:, -1:] if said.shape[1] == 2 else said


def class_scores(part: Any, X: Any) -> Array:
    """Return the scores that a temperature divides: one for each label, of shares their logarithms."""
    if hasattr(part, "decision_function"):
        said = np.asarray(agreed(part, "decision_function", X), dtype=np.float64)
        said = said[:, 0] if said.ndim == 2 and said.shape[1] == 1 else said
        return np.stack([-said, said], axis=1) if said.ndim == 1 else said
    return np.log(np.asarray(agreed(part, "predict_proba", X), dtype=np.float64) + 2.0**-52)


def _calibrated(model: Any, X: Any) -> Array:
    total: Any = 0.0
    if model.method == "temperature":
        for part, temperature in zip(model.estimators_, model.temperatures_.tolist(), strict=True):
            total = total + softmax(class_scores(part, X) / temperature)
        return np.asarray(total / len(model.estimators_))
    for part, curves in zip(model.estimators_, model.calibrators_, strict=True):
        scores, own = curve_scores(part, X), []
        for place, curve in enumerate(curves):
            column = scores[:, place : place + 1]
            is_step = model.method == "isotonic"
            said = agreed(curve, "predict" if is_step else "predict_proba", column)
            own.append(np.asarray(said if is_step else np.asarray(said)[:, 1], dtype=np.float64))
        shares = np.column_stack(own)
        if shares.shape[1] == 1:
            shares = both(shares[:, 0])
        else:
            sums = shares.sum(axis=1, keepdims=True)
            shares = np.where(sums > 0, shares / np.where(sums > 0, sums, 1), 1 / shares.shape[1])
        total = total + shares
    return np.asarray(total / len(model.estimators_))


def calibrated_chances(model: Any, X: Any, told: Any) -> None:
    """Average shares of labels that curves make of scores."""
    _require(model, "predict_proba", _calibrated(model, X), 1.0, told)


def calibrated_label(model: Any, X: Any, told: Any) -> None:
    """Predict the label with the largest mean share."""
    require(model, "predict", Labels(_calibrated(model, X), 1.0, model.classes_), dense(told))


# -- what is the same for every row ----------------------------------------------------------------------------


def usual_label(model: Any, X: Any, told: Any) -> None:
    """Predict the most frequent label, a given one, or labels that a seed draws."""
    answers = dense(told)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if model.strategy in ("stratified", "uniform"):
        good = np.isin(answers, model.classes_).all() and answers.shape == (n,)
        if not good:
            refuse_answer(model, "predict")
        return
    require(model, "predict", Labels(np.tile(_usual_shares(model), (n, 1)), 0.0, model.classes_), answers)


def _usual_shares(model: Any) -> Array:
    if model.strategy == "constant":
        given = np.asarray(model.constant).reshape(-1).tolist()[0]
        return np.array([float(label == given) for label in np.asarray(model.classes_).tolist()])
    shares = np.asarray(model.class_prior_, dtype=np.float64)
    # of labels that are equally frequent the first is meant
    return np.where(np.arange(len(shares)) == shares.argmax(), 1.0, 0.0)


def usual_chances(model: Any, X: Any, told: Any) -> None:
    """Return the shares of all labels, or certainty of the label that is predicted."""
    n, k = X.shape[0] if hasattr(X, "shape") else len(X), len(model.classes_)
    if model.strategy == "stratified":
        answers = dense(told)
        if (
            answers.shape != (n, k)
            or not ((answers.sum(axis=1) == 1) & ((answers == 0) | (answers == 1)).all(axis=1)).all()
        ):
            refuse_answer(model, "predict_proba")
        return
    shares = {"prior": np.asarray(model.class_prior_), "uniform": np.full(k, 1.0 / k)}.get(model.strategy)
    _require(model, "predict_proba", np.tile(_usual_shares(model) if shares is None else shares, (n, 1)), 1.0, told)


def usual_number(model: Any, X: Any, told: Any) -> None:
    """Predict a constant."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    own = np.tile(np.asarray(model.constant_, dtype=np.float64).reshape(1, -1), (n, 1))
    own = own[:, 0] if model.n_outputs_ == 1 else own
    _require(model, "predict", own, np.abs(own), told)

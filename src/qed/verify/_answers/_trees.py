"""Answers of trees: rows are sent down from node to node, and what leaves hold is averaged or added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._agree import agreed
from qed.verify._answers._compare import Labels, Numbers, both, dense, require, sigmoid, softmax, table_of
from qed.verify._answers._entries import columns_of, places_of
from qed.verify._boosting import leaf_of, trees_of
from qed.verify._category_sets import goes_left
from qed.verify._forest_nodes import levels_of, nodes_of
from qed.verify._random_trees import usual_length
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


# -- single trees ----------------------------------------------------------------------------------------------


def _leaf_of_one(model: Any, X: Array) -> Array:
    """Return the leaf of each row in a tree that names its children."""
    tree, at = model.tree_, np.zeros(len(X), dtype=np.int64)
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    for _ in range(len(left)):
        open_ = np.flatnonzero(left[at] >= 0)
        if not len(open_):
            return at
        here = at[open_]
        value = X[open_, tree.feature[here]]
        is_left = np.where(np.isnan(value), tree.missing_go_to_left[here] == 1, value <= tree.threshold[here])
        for node, words in zip(np.asarray(tree.by_set).tolist(), tree.sets, strict=True):
            own = here == node
            is_left[own] = goes_left(words, value[own], tree.missing_go_to_left[node] == 1)
        at[open_] = np.where(is_left, left[here], right[here])
    return at


def tree_number(model: Any, X: Array) -> Numbers:
    """Predict what the leaf of a row holds, one number for each target."""
    value = np.asarray(model.tree_.value, dtype=np.float64)[_leaf_of_one(model, X)].reshape(len(X), -1)
    return Numbers(
        value[:, 0] if model.n_outputs_ == 1 else value, np.abs(value[:, 0] if model.n_outputs_ == 1 else value)
    )


def _tree_shares(model: Any, X: Array) -> Array:
    value = np.asarray(model.tree_.value, dtype=np.float64)[_leaf_of_one(model, X)]
    return np.asarray(value / value.sum(axis=2, keepdims=True))


def tree_chances(model: Any, X: Any, told: Any) -> None:
    """Compare shares of labels with those of the leaf of a row; of several targets there is a table for each."""
    rows = table_of(model, X)
    shares = _tree_shares(model, _dense(rows))
    several = isinstance(model.classes_, list)
    listed = told if several else [told]
    for c, one in enumerate(listed):
        count = len(model.classes_[c] if several else model.classes_)
        own = Numbers(shares[:, c, :count], 1.0)
        require(model, "predict_proba", own, dense(one), is_single=rows.dtype == np.float32)
    if several and len(listed) != len(model.classes_):
        refuse_answer(model, "predict_proba")


def tree_label(model: Any, X: Any, told: Any) -> None:
    """Compare labels with those of most weight in the leaf of a row."""
    shares, answers = _tree_shares(model, _dense(table_of(model, X))), dense(told)
    if not isinstance(model.classes_, list):
        require(model, "predict", Labels(shares[:, 0, : len(model.classes_)], 1.0, model.classes_), answers)
        return
    if answers.shape != shares.shape[:2]:
        refuse_answer(model, "predict")
    for c, labels in enumerate(model.classes_):
        require(model, "predict", Labels(shares[:, c, : len(labels)], 1.0, labels), answers[:, c])


def _dense(rows: Any) -> Array:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)


def _shares_by_values(model: Any, X: Any) -> Array:
    """Follow the branch of each value; one that a node has not met ends there."""
    tree, table = model.tree_, columns_of(model, X)
    codes = np.column_stack([places_of(column, known) for column, known in zip(table, model.categories_, strict=True)])
    at = np.zeros(len(codes), dtype=np.int64)
    for _ in range(len(tree.feature)):
        open_ = np.flatnonzero(np.asarray(tree.feature)[at] >= 0)
        column = np.asarray(tree.feature)[at[open_]]
        value = codes[open_, column]
        child = np.where(
            value >= 0, np.asarray(tree.children)[np.asarray(tree.starts)[at[open_]] + np.maximum(value, 0)], -1
        )
        moves = child >= 0
        if not moves.any():
            break
        at[open_[moves]] = child[moves]
    value = np.asarray(tree.value, dtype=np.float64)[at].reshape(len(at), -1)
    return np.asarray(value / value.sum(axis=1, keepdims=True))


def branch_chances(model: Any, X: Any, told: Any) -> None:
    """Compare shares of labels with those where the branches of a row end."""
    require(model, "predict_proba", Numbers(_shares_by_values(model, X), 1.0), dense(told))


def branch_label(model: Any, X: Any, told: Any) -> None:
    """Compare labels with those of most weight where the branches of a row end."""
    require(model, "predict", Labels(_shares_by_values(model, X), 1.0, model.classes_), dense(told))


# -- many trees ------------------------------------------------------------------------------------------------


def _forest(model: Any, X: Array) -> Numbers:
    """Average what the leaves of a row hold, of classes their shares."""
    trees = model.trees_
    total: Any = EXTENDED(0)
    size: Any = 0.0
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        own = tree.value[levels_of(model, tree, X)]
        own = own / own.sum(axis=1, keepdims=True) if "classes_" in vars(model) else own
        total, size = total + own.astype(EXTENDED), size + np.abs(own)
    return Numbers(total / len(trees.sizes), size)


def forest_number(model: Any, X: Array) -> Numbers:
    """Predict means over trees."""
    found = _forest(model, X)
    return Numbers(*(one[:, 0] if model.n_outputs_ == 1 else one for one in found))


def _forest_blocks(model: Any, X: Any) -> tuple[Any, list[tuple[Array, Numbers]]]:
    """Return the rows, and the labels of each column of y with their mean shares over trees."""
    rows = table_of(model, X)
    found, several = _forest(model, _dense(rows)), isinstance(model.classes_, list)
    classes = model.classes_ if several else [model.classes_]
    ends = np.cumsum([len(labels) for labels in classes])[:-1]
    parts = zip(*(np.split(len(classes) * one, ends, axis=1) for one in found), strict=True)
    return rows, list(zip(classes, (Numbers(*part) for part in parts), strict=True))


def forest_chances(model: Any, X: Any, told: Any) -> None:
    """Compare mean shares of labels over trees; of several targets there is a table for each."""
    rows, blocks = _forest_blocks(model, X)
    listed = told if isinstance(model.classes_, list) else [told]
    if len(listed) != len(blocks):
        refuse_answer(model, "predict_proba")
    for (_, own), one in zip(blocks, listed, strict=True):
        require(model, "predict_proba", own, dense(one), is_single=rows.dtype == np.float32)


def forest_label(model: Any, X: Any, told: Any) -> None:
    """Compare labels with those of the largest mean share."""
    _, blocks = _forest_blocks(model, X)
    answers = dense(told)
    answers = answers if isinstance(model.classes_, list) else answers[:, None]
    if answers.shape != (answers.shape[0], len(blocks)):
        refuse_answer(model, "predict")
    for c, (labels, own) in enumerate(blocks):
        require(model, "predict", Labels(*own, labels), answers[:, c])


def start_scores(model: Any, X: Array) -> Array:
    """Return what trees are added to: a constant for each class, or what an estimator says, as scores."""
    base = np.tile(np.asarray(model.baseline_, dtype=np.float64).reshape(-1), (len(X), 1))
    if "init_" not in model.__dict__:
        return base
    rows = np.asarray(X, dtype=np.float64)
    if "classes_" not in model.__dict__:
        return base + np.asarray(agreed(model.init_, "predict", rows), dtype=np.float64).reshape(-1, 1)
    chance = np.asarray(agreed(model.init_, "predict_proba", rows), dtype=np.float64)
    if chance.shape[1] == 1:
        return base
    least = 2.0**-23  # as near to certain as single precision tells
    chance = np.minimum(np.maximum(chance, least), 1 - least)
    if base.shape[1] == 1:
        odds = np.log(chance[:, 1:] / (1 - chance[:, 1:]))
        return base + (odds / 2 if model.loss == "exponential" else odds)
    return np.asarray(base + np.log(chance) - np.log(chance).mean(axis=1, keepdims=True))


def _boosted(model: Any, X: Array) -> Numbers:
    """Add up a constant and what the leaves of a row hold, one column for each class."""
    k = int(model.n_trees_per_iteration_)
    total = start_scores(model, X).astype(EXTENDED)
    size = np.abs(total)
    for number, tree in enumerate(trees_of(model, model.trees_)):
        own = tree.value[leaf_of(tree, X)]
        total[:, number % k] += own
        size[:, number % k] += np.abs(own)
    return Numbers(total, size)


def boosted_number(model: Any, X: Array) -> Numbers:
    """Predict sums over trees, or their exponentials where the loss is of counts."""
    values, size = (one[:, 0] for one in _boosted(model, X))
    if model.loss in ("poisson", "gamma"):
        return Numbers(np.exp(values), np.exp(values) * (1 + size))
    return Numbers(values, size)


def boosted_decision(model: Any, X: Array) -> Numbers:
    """Return sums over trees, of two classes those of the second."""
    found = _boosted(model, X)
    return Numbers(*(one[:, 0] if found.values.shape[1] == 1 else one for one in found))


def boosted_chances(model: Any, X: Array) -> Numbers:
    """Return chances from sums over trees."""
    found = _boosted(model, X)
    size = 1 + 2 * found.size.max(axis=1, keepdims=True)
    if found.values.shape[1] > 1:
        return Numbers(softmax(found.values), size)
    return Numbers(both(sigmoid((2 if model.loss == "exponential" else 1) * found.values[:, 0])), size)


def boosted_label(model: Any, X: Array) -> Labels:
    """Predict the label with the largest sum over trees."""
    found = _boosted(model, X)
    scores, size = found.values, found.size.max(axis=1, keepdims=True)
    scores = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    return Labels(scores, size, model.classes_)


def path_scores(model: Any, X: Array) -> Numbers:
    """Return minus two to the power of minus the mean path length over the usual one."""
    trees, total = model.trees_, np.zeros(len(X), EXTENDED)
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        total += tree.value[levels_of(model, tree, X), 0]
    usual = len(trees.sizes) * float(usual_length(np.array([model.max_samples_]))[0])
    return Numbers(-np.exp2(-(total / usual if usual > 0 else np.ones(len(X)))), 1.0 + total / max(usual, 1e-300))


def path_decision(model: Any, X: Array) -> Numbers:
    """Return how far the score of a row is above the threshold."""
    found = path_scores(model, X)
    return Numbers(found.values - EXTENDED(model.offset_), found.size + abs(model.offset_))


def path_label(model: Any, X: Array) -> Labels:
    """Say 1 of usual rows and -1 of outliers, whose score is below the threshold."""
    found = path_decision(model, X)
    # a row on the threshold is usual
    scores = np.column_stack(
        [np.zeros(len(X)), np.where(found.values >= 0, np.maximum(found.values, 1e-300), found.values)]
    )
    return Labels(scores, np.asarray(found.size)[:, None], np.array([-1, 1]))


def leaves(model: Any, X: Any, told: Any) -> None:
    """Compare which leaf of each tree a row is in."""
    rows = _dense(table_of(model, X))
    trees, first, columns = model.trees_, 0, []
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        place = np.cumsum(tree.feature < 0) - 1
        columns.append(first + place[levels_of(model, tree, rows)])
        first += int((tree.feature < 0).sum())
    if told.shape != (len(rows), first):
        refuse_answer(model, "transform")
    own = np.sort(np.column_stack(columns), axis=1)
    if hasattr(told, "tocsr"):
        answers = told.tocsr()
        answers.sum_duplicates()
        good = (
            answers.nnz == own.size
            and (answers.data == 1).all()
            and np.array_equal(answers.indices.reshape(own.shape), own)
        )
    else:
        table = dense(told)
        good = np.count_nonzero(table) == own.size and (np.take_along_axis(table, own, axis=1) == 1).all()
    if not good:
        refuse_answer(model, "transform")

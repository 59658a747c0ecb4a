"""Explanations, checked: predictions again, sums again, and the contributions of some rows by other algorithms.

Trees: the polynomial of every leaf is expanded by the sizes of coalitions, in extended precision, where the maker integrates it
numerically. Against a background, and of models of any kind: the game is evaluated at all coalitions, and shared out by dividends.
Linear models: coefficients times distances from the mean. Sampled contributions: a second sample must agree with the first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn

import numpy as np

from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.verify._verdict import Verdict

Array = np.ndarray[Any, Any]
MOST_ROWS = 32
BUDGET = 30_000_000  # numbers of the polynomials of all leaves, or predictions
MOST_PLAYERS = 12
Z_SCORE = 7.0  # of a second sample; a false alarm in 1e11 contributions


class _Nodes(NamedTuple):
    """Leaves of all trees: conditions along their paths, values and weights."""

    feature: Array
    threshold: Array
    missing_left: Array
    sets: dict[int, Array]
    starts: Array
    values: Array  # by node, zeros above leaves
    weight: Array  # by node
    groups: int


def check(explanation: Any, model: Any, background: Any) -> Verdict:
    """Recompute what an explanation states; raise CertificateError where it is not so."""
    certificate = explanation.certificate
    certificate.check()
    values, base, said = _shaped(explanation)
    n = len(values)
    stated = (certificate.rows, certificate.players)
    if stated != values.shape[:2] or not np.isfinite(values).all():
        _refuse(f"it states {stated[0]} rows and {stated[1]} columns, and holds shape {values.shape}")
    residual = float(np.abs(values.astype(np.longdouble).sum(axis=1) + base - said).max(initial=0.0))
    if not residual <= certificate.residual + certificate.rounding:
        _refuse(
            f"contributions are {residual:.3g} off prediction minus base value; {certificate.residual:.3g} is stated"
        )
    if hasattr(model, "steps"):
        raise InvalidParameter(
            "Of a pipeline verify the explanation of its last step: qed.verify(shapley_values(pipeline[-1], prepared),"
            " pipeline[-1]) with prepared = pipeline[:-1].transform(X)."
        )
    if certificate.method != "naive Bayes":
        _check_predictions(explanation, model, said)
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp)) if n else np.empty(0, dtype=np.intp)
    data = _background(certificate, explanation, background)
    worst = 0.0
    for done, row in enumerate(rows):
        found, cost = _again(explanation, model, data, int(row))
        if found is None:
            break
        slack = 64 * certificate.rounding + 1e-12 * float(np.abs(said).max(initial=0.0) + np.abs(base).max(initial=0.0))
        off = float(np.abs(found - values[row]).max(initial=0.0))
        errors = explanation.standard_errors.reshape(values.shape)[row]
        allowed = slack if certificate.standard_error == 0 else slack + Z_SCORE * 1.5 * float(errors.max(initial=0.0))
        if not off <= allowed:
            _refuse(f"the contributions of row {row} are others, by up to {off:.3g}")
        worst = max(worst, off)
        if cost * (done + 2) > BUDGET:
            break
    return Verdict(
        certificate.statement,
        float(n),
        max(residual, worst),
        certificate.rounding,
        certificate.residual,
        "rows explained",
    )


def _shaped(explanation: Any) -> tuple[Array, Array, Array]:
    values = np.asarray(explanation.values)
    values = values[:, :, None] if values.ndim == 2 else values
    base = np.atleast_1d(np.asarray(explanation.base_value, dtype=np.float64))
    said = np.asarray(explanation.predictions, dtype=np.float64).reshape(len(values), -1)
    if values.ndim != 3 or said.shape != (len(values), values.shape[2]) or base.shape != (values.shape[2],):
        _refuse("its values, predictions and base value do not fit together")
    return values, base, said


def _check_predictions(explanation: Any, model: Any, said: Array) -> None:
    found = _predict(explanation, model, explanation.data)
    scale = float(np.abs(found).max(initial=0.0))
    if not (np.abs(found - said) <= 1e-6 * max(scale, 1e-300)).all():
        _refuse("the predictions are not those of this model")


def _predict(explanation: Any, model: Any, X: Array) -> Array:
    method = explanation.output
    told = np.asarray(getattr(model, method.removeprefix("log of "))(X), dtype=np.float64)
    told = np.log(told) if method.startswith("log of ") else told
    told = told.reshape(len(X), -1)
    return told[:, 1:] if method == "predict_proba" and told.shape[1] == 2 else told


def _background(certificate: Any, explanation: Any, background: Any) -> Array | None:
    if certificate.game != "interventional":
        return None
    data = np.asarray(explanation.data if background is None else background)
    if data.ndim != 2 or len(data) != certificate.background_rows or data.shape[1] != explanation.data.shape[1]:
        raise InvalidData(
            f"The explanation was made against {certificate.background_rows} rows. Pass them: qed.verify(explanation, model,"
            " background)."
        )
    return data


def _again(explanation: Any, model: Any, background: Array | None, row: int) -> tuple[Array | None, float]:
    """Return the contributions of one row by another algorithm, and what that costs; None where it costs too much."""
    certificate, x = explanation.certificate, explanation.data[row]
    owners = np.asarray(explanation.players)
    if certificate.method == "naive Bayes":
        return _naive_bayes(model, x, owners, certificate.players, explanation), 1.0
    if background is None:
        nodes = _nodes(model)
        return _path_values(nodes, x, owners, certificate.players), float(40 * len(nodes.feature))
    if certificate.method == "linear":
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.longdouble))
        terms = coef.T * (x.astype(np.longdouble) - background.astype(np.longdouble).mean(axis=0))[:, None]
        total = np.zeros((certificate.players, coef.shape[0]))
        np.add.at(total, owners, terms.astype(np.float64))
        return total, 1.0
    if certificate.players <= MOST_PLAYERS and (1 << certificate.players) * len(background) <= BUDGET:
        return _by_dividends(explanation, model, background, x, owners), float(
            (1 << certificate.players) * len(background)
        )
    return _second_sample(explanation, model, background, x, owners, row), float(BUDGET)


def _naive_bayes(model: Any, x: Array, owners: Array, n_players: int, explanation: Any) -> Array:
    """Return differences of logarithms of likelihoods, column by column; refuse a base value other than the prior's."""
    x = x.astype(np.longdouble)
    state = vars(model)
    prior = np.log(model.class_prior_) if "theta_" in state else np.asarray(model.class_log_prior_)
    if "theta_" in state:
        away = (x - model.theta_) ** 2 / model.var_
        logs = -(np.log(2 * np.pi * np.asarray(model.var_, dtype=np.longdouble)) + away) / 2
    elif "feature_log_absence_" in state:
        met = x > model.binarize if model.binarize is not None else x > 0
        logs = np.where(met, model.feature_log_prob_, model.feature_log_absence_)
    elif isinstance(model.feature_log_prob_, list):
        logs = np.stack([table[:, int(x[j])] for j, table in enumerate(model.feature_log_prob_)], axis=1)
    else:
        logs = np.where(x == 0, 0, x * model.feature_log_prob_)
        if "norm" in vars(type(model)) and len(prior) > 1:  # the complement's weights know no prior
            prior = np.zeros(len(prior))
    two = len(prior) == 2
    terms = logs[1:] - logs[:1] if two else logs - logs.mean(axis=0)
    base = prior[1:] - prior[:1] if two else prior - prior.mean()
    if not np.abs(base - explanation.base_value).max() <= 1e-12 * (1 + np.abs(base).max()):
        _refuse("its base value is not that of the prior")
    total = np.zeros((n_players, len(terms)))
    np.add.at(total, owners, terms.T.astype(np.float64))
    return total


def _by_dividends(explanation: Any, model: Any, background: Array, x: Array, owners: Array) -> Array:
    """Share out the dividend of each coalition, what it is worth beyond its parts, among its players."""
    n = int(explanation.certificate.players)
    worth = []
    for number in range(1 << n):
        table = background.copy()
        inside = (number >> owners) & 1 == 1
        table[:, inside] = x[inside]
        worth.append(_predict(explanation, model, table).mean(axis=0))
    dividends = np.array(worth, dtype=np.longdouble)
    numbers = np.arange(1 << n)
    for j in range(n):
        above = numbers[(numbers >> j) & 1 == 1]
        dividends[above] -= dividends[above ^ (1 << j)]
    sizes = np.array([max(int(number).bit_count(), 1) for number in numbers])[:, None]
    return np.array([(dividends / sizes)[(numbers >> j) & 1 == 1].sum(axis=0) for j in range(n)], dtype=np.float64)


def _second_sample(explanation: Any, model: Any, background: Array, x: Array, owners: Array, row: int) -> Array | None:
    """Return means over as many orders as were drawn before, of another stream; None where standard errors claim exactness."""
    if explanation.certificate.standard_error == 0:
        return None
    n = int(explanation.certificate.players)
    random = np.random.default_rng([row, 20_011])
    total = np.zeros((n, np.atleast_2d(explanation.values[row].T).shape[0]))
    orders = 128
    for _ in range(orders // 2):
        order = random.permutation(n)
        for sequence in (order, order[::-1]):
            table, before = background.copy(), _predict(explanation, model, background).mean(axis=0)
            for player in sequence:
                table[:, owners == player] = x[owners == player]
                now = _predict(explanation, model, table).mean(axis=0)
                total[player] += (now - before) / orders
                before = now
    return total


# -- trees -----------------------------------------------------------------------------------------------------


def _nodes(model: Any) -> _Nodes:
    """Read the nodes of a tree, a forest or boosted trees; values are what a leaf adds to the output."""
    if "tree_" in vars(model):
        return _single_nodes(model)
    trees = model.trees_
    feature = np.asarray(trees.feature, dtype=np.int64)
    inner = feature >= 0
    threshold, left = np.zeros(len(feature)), np.zeros(len(feature), dtype=bool)
    threshold[inner] = trees.threshold
    left[inner] = np.unpackbits(trees.missing_left, count=int(inner.sum())) != 0
    places = np.flatnonzero(inner)
    sets = {int(places[number]): np.asarray(words) for number, words in zip(trees.by_set, trees.sets, strict=True)}
    own = np.asarray(trees.value, dtype=np.float64)
    weight, k = np.asarray(trees.weight, dtype=np.float64), 1
    if "baseline_" in vars(model):
        k = int(model.n_trees_per_iteration_)
    else:
        if "classes_" in vars(model):
            weight = own.sum(axis=1)
            own = own / weight[:, None]
            own = own[:, 1:] if own.shape[1] == 2 else own
        own = own / len(trees.sizes)
    values, weights = np.zeros((len(feature), own.shape[1])), np.zeros(len(feature))
    values[~inner], weights[~inner] = own, weight
    starts = np.concatenate([[0], np.cumsum(trees.sizes)])
    return _Nodes(feature, threshold, left, sets, starts, values, weights, k)


def _single_nodes(model: Any) -> _Nodes:
    tree = model.tree_
    own = np.asarray(tree.value, dtype=np.float64).reshape(len(tree.feature), -1)
    if "classes_" in vars(model) and own.shape[1] == 2:
        own = own[:, 1:]
    inner = np.asarray(tree.children_left) >= 0
    feature = np.where(inner, tree.feature, -1).astype(np.int64)
    weight = np.where(inner, 0.0, tree.weighted_n_node_samples)
    left = np.asarray(tree.missing_go_to_left) != 0
    values = np.where(inner[:, None], 0.0, own)
    return _Nodes(feature, tree.threshold, left, {}, np.array([0, len(feature)]), values, weight, 1)


def _path_values(nodes: _Nodes, x: Array, owners: Array, n_players: int) -> Array:
    """Add up the contributions of all leaves: recursion over nodes, polynomials by the number of present players."""
    width = nodes.values.shape[1]
    total = np.zeros((n_players, nodes.groups * width), dtype=np.longdouble)
    by_size: dict[int, list[tuple[list[int], list[float], list[bool], Array]]] = {}
    for number in range(len(nodes.starts) - 1):
        group = number % nodes.groups
        for players, shares, met, value in _leaves(nodes, int(nodes.starts[number]), x, owners):
            full = np.zeros(nodes.groups * width)
            full[group * width : (group + 1) * width] = value
            by_size.setdefault(len(players), []).append((players, shares, met, full))
    for m, leaves in by_size.items():
        if m == 0:
            continue
        players = np.array([leaf[0] for leaf in leaves])
        z = np.array([leaf[1] for leaf in leaves], dtype=np.longdouble)
        o = np.array([leaf[2] for leaf in leaves], dtype=np.longdouble)
        value = np.array([leaf[3] for leaf in leaves], dtype=np.longdouble)
        weights = np.array([1 / (m * math.comb(m - 1, s)) for s in range(m)], dtype=np.longdouble)
        for j in range(m):
            sizes = np.zeros((len(leaves), m), dtype=np.longdouble)  # coalitions of the others, by size
            sizes[:, 0] = 1
            for k in range(m):
                if k != j:
                    sizes[:, 1:] = sizes[:, 1:] * z[:, k, None] + sizes[:, :-1] * o[:, k, None]
                    sizes[:, 0] *= z[:, k]
            np.add.at(total, players[:, j], ((o[:, j] - z[:, j]) * (sizes @ weights))[:, None] * value)
    return total.astype(np.float64)


def _leaves(nodes: _Nodes, root: int, x: Array, owners: Array) -> Any:
    """Yield players, shares of the cover, conditions met and value of each leaf of a tree."""
    cover, right = _covers(nodes, root)
    stack: list[tuple[int, dict[int, tuple[float, bool]]]] = [(root, {})]
    while stack:
        node, path = stack.pop()
        if nodes.feature[node] < 0:
            yield list(path), [one[0] for one in path.values()], [one[1] for one in path.values()], nodes.values[node]
            continue
        player = int(owners[nodes.feature[node]])
        share, met = path.get(player, (1.0, True))
        goes_left = _goes_left(nodes, node, float(x[nodes.feature[node]]))
        for child, is_left in ((node + 1, True), (int(right[node - root]), False)):
            part = share * float(cover[child - root] / cover[node - root])
            stack.append((child, {**path, player: (part, met and goes_left == is_left)}))


def _goes_left(nodes: _Nodes, node: int, value: float) -> bool:
    words = nodes.sets.get(node)
    if words is None:
        return bool(nodes.missing_left[node]) if math.isnan(value) else value <= nodes.threshold[node]
    if not 0 <= value < 256 or not int(words[8 + int(value) // 32]) >> int(value) % 32 & 1:
        return bool(nodes.missing_left[node])
    return bool(int(words[int(value) // 32]) >> int(value) % 32 & 1)


def _covers(nodes: _Nodes, root: int) -> tuple[Array, Array]:
    """Return the weight at each node of a tree and its right child; a left child follows its parent."""
    last = int(nodes.starts[np.searchsorted(nodes.starts, root, side="right")])
    count = last - root
    cover, right, end = np.zeros(count), np.full(count, -1), np.zeros(count, dtype=np.int64)
    for node in range(count - 1, -1, -1):
        if nodes.feature[root + node] < 0:
            cover[node], end[node] = nodes.weight[root + node], node + 1
            continue
        other = end[node + 1]
        right[node], end[node] = root + other, end[other]
        cover[node] = cover[node + 1] + cover[other]
    return cover, right


def _refuse(what: str) -> NoReturn:
    raise CertificateError(
        f"This explanation is not true of this model: {what}. It was changed, or made of another model."
    )

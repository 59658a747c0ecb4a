"""Trees with a branch for each value, checked: rows are dealt out node by node, counted and weighed again.

The children of a node must part its rows by the values of its column, no column may be asked twice on a path, and no other column
that was free may score better. A leaf must have a reason: it is pure, too small, as deep as allowed, or its rows agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, _targets
from qed.core._mixed import read as read_columns
from qed.verify._categories import in_order
from qed.verify._learnt import key, same_entries
from qed.verify._names import called
from qed.verify._refusals import refuse
from qed.verify._rows import require_columns
from qed.verify._trees import TIE_TOLERANCE
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import TreeCertificate

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-9  # relative, of sums in double precision, and of what scores are compared by
UNIT = 2.0**-51


def check(model: Any, certificate: TreeCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute every node and the bound; raise CertificateError when they are not as stated."""
    table = read_columns(X, type(model).__name__)
    require_columns(model, len(table.columns), table.names)
    if y is None:
        raise InvalidData(f"{type(model).__name__} learnt from a target, and y is None. Pass the targets of the fit.")
    given = np.asarray(y).reshape(-1)
    labels, listed = _targets.read(given, table.n_rows, model._traits(), type(model).__name__)  # noqa: SLF001
    classes = np.asarray(listed)
    if not np.array_equal(classes, model.classes_):
        refuse(model, f"the labels are {classes.tolist()!r:.100}")
    weight = _targets.weights(sample_weight, table.n_rows)
    s = np.ones(table.n_rows) if weight is None else weight
    columns = []
    for j, column in enumerate(table.columns):
        entries = column.dense.tolist()
        if not same_entries(model.categories_[j], in_order(entries)):
            refuse(model, f"the values of {called(model, j)} are others, or in another order")
        place = {key(one): code for code, one in enumerate(model.categories_[j].tolist())}
        columns.append([place[key(one)] for one in entries])
    used = s > 0
    codes = np.array(columns).T[used]
    walk = _Walk(model, codes, np.eye(len(classes))[labels.astype(np.intp)][used] * s[used][:, None])
    objective, null = walk.run()
    _, group = np.unique(codes, axis=0, return_inverse=True)
    lower = sum(walk.mass(walk.own[group.reshape(-1) == g].sum(axis=0)) for g in range(int(group.max()) + 1))
    lower /= float(s.sum())
    rounding = (len(codes) + 16) * UNIT * max(null, 1.0) + TIE_TOLERANCE * null
    slack = 2 * rounding + RELATIVE_TOLERANCE * null
    leaves = int((model.tree_.feature < 0).sum())
    claims = (certificate.rows, certificate.leaves, certificate.depth, certificate.is_greedy)
    if claims != (len(codes), leaves, 0, True):
        refuse(model, f"it states {certificate.rows} rows, {certificate.leaves} leaves and depth {certificate.depth}")
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    for what, stated, found in (
        ("its leaves leave", certificate.objective, objective),
        ("its root leaves", certificate.null_objective, null),
    ):
        if not abs(stated - found) <= slack:
            refuse(model, f"{what} an impurity of {found:.10g}, not {stated:.10g}")
    if not certificate.lower <= lower + slack:
        refuse(model, f"equal rows leave {lower:.10g}, and at least {certificate.lower:.10g} is claimed")
    return Verdict(certificate.statement, objective, max(objective - lower, 0.0), slack, certificate.gap)


class _Walk:
    """The rows of a model, followed from the root."""

    def __init__(self, model: Any, codes: Array, own: Array) -> None:
        self.model, self.tree, self.codes, self.own = model, model.tree_, codes, own

    def mass(self, weights: Array) -> float:
        """Return weight times impurity, from weights of classes."""
        total = float(weights.sum())
        share = weights[weights > 0] / total
        if self.model.criterion == "gini":
            return total * float((share * (1 - share)).sum())
        return -total * float((share * np.log2(share)).sum())

    def run(self) -> tuple[float, float]:
        """Check every node; return the mean impurity of the leaves, and that of the root."""
        tree, n_nodes = self.tree, len(self.tree.feature)
        stack: list[tuple[int, Array, tuple[int, ...]]] = [(0, np.arange(len(self.codes)), ())]
        seen, left = 0, 0.0
        total = float(self.own.sum())
        root = self.mass(self.own.sum(axis=0)) / total
        while stack:
            node, rows, path = stack.pop()
            seen += 1
            if seen > n_nodes or not len(rows):
                refuse(self.model, "its children are not those of a tree")
            weights = self.own[rows].sum(axis=0)
            mass = self.mass(weights)
            self._check_node(node, rows, weights, mass)
            column = int(tree.feature[node])
            if column < 0:
                self._check_leaf(node, rows, weights, path)
                left += mass
                continue
            if column in path:
                refuse(self.model, f"node {node} asks about {called(self.model, column)} again")
            self._check_choice(node, rows, mass, path, root)
            values = self.codes[rows, column]
            first = int(tree.starts[node])
            children = tree.children[first : first + int(tree.n_categories[column])]
            present = np.unique(values)
            if not np.array_equal(np.flatnonzero(children >= 0), present) or len(present) < 2:
                refuse(self.model, f"the branches of node {node} are not the values of its rows")
            stack += [(int(children[value]), rows[values == value], (*path, column)) for value in present]
        if seen != n_nodes:
            refuse(self.model, "a node is reached by no row")
        return left / total, root

    def _check_node(self, node: int, rows: Array, weights: Array, mass: float) -> None:
        tree, total = self.tree, float(weights.sum())
        fine = (
            tree.n_node_samples[node] == len(rows)
            and abs(tree.weighted_n_node_samples[node] - total) <= RELATIVE_TOLERANCE * total
            and np.all(np.abs(tree.value[node] - weights / total) <= RELATIVE_TOLERANCE)
            and abs(tree.impurity[node] - mass / total) <= RELATIVE_TOLERANCE
        )
        if not fine:
            refuse(self.model, f"node {node} holds other rows, weights, shares or impurity than it states")

    def _check_leaf(self, node: int, rows: Array, weights: Array, path: tuple[int, ...]) -> None:
        model = self.model
        free = [j for j in range(self.codes.shape[1]) if j not in path]
        may_split = (
            (weights > 0).sum() > 1
            and len(rows) >= model.min_samples_split
            and (model.max_depth is None or len(path) < model.max_depth)
            and any(np.ptp(self.codes[rows, j]) > 0 for j in free)
        )
        if may_split or self.tree.feature[node] != -2 or self.tree.starts[node] != -1:
            refuse(model, f"leaf {node} is mixed and could be split")

    def _check_choice(self, node: int, rows: Array, mass: float, path: tuple[int, ...], root: float) -> None:
        model, own = self.model, self.own[rows]
        total = float(own.sum())
        limits = (len(rows) >= model.min_samples_split) and (model.max_depth is None or len(path) < model.max_depth)
        gains, spreads = {}, {}
        for j in range(self.codes.shape[1]):
            _, group = np.unique(self.codes[rows, j], return_inverse=True)
            if j in path or group.max() == 0:
                continue
            parts = [own[group.reshape(-1) == g].sum(axis=0) for g in range(int(group.max()) + 1)]
            share = np.array([part.sum() for part in parts]) / total
            gains[j] = max(mass - sum(self.mass(part) for part in parts), 0.0) / total
            spreads[j] = -float((share * np.log2(share)).sum())
        column = int(self.tree.feature[node])
        near = (TIE_TOLERANCE + RELATIVE_TOLERANCE) * max(root, 1.0)
        is_best = limits and column in gains
        if is_best and model.criterion == "gain_ratio":
            mean = sum(gains.values()) / len(gains)
            rivals = [gains[j] / spreads[j] for j in gains if gains[j] >= mean + near]
            is_best = gains[column] >= mean - near
            near /= min(spreads.values())  # a gain that is rounded, divided by a small number
            is_best = is_best and gains[column] / spreads[column] >= max(rivals, default=0.0) - near
        elif is_best:
            is_best = gains[column] >= max(gains.values()) - near
        if not is_best:
            refuse(
                model, f"another column than {called(model, column)} is better at node {node}, or it may not be split"
            )

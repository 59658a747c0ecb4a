"""Between what the nodes of a forest's tree must predict where predictions rise or fall in a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._cuts import LABELS, Directions, Sample
from qed.verify._refusals import refuse
from qed.verify._trees import directions_of

if TYPE_CHECKING:
    from qed.verify._forest_nodes import Nodes

Array = np.ndarray[Any, Any]


class Bounds(NamedTuple):
    """Columns in which predictions rise or fall, and between what each node must keep; None if all are free."""

    directions: Array | None
    low: Array
    high: Array
    near: float  # rounding

    @classmethod
    def of(cls, model: Any, number: int, tree: Nodes, sample: Sample, levels: Any) -> Bounds:
        """Find the bounds from the root down; raise CertificateError where a split moves predictions against its direction."""
        n_nodes, directions = len(tree.feature), directions_of(model, model.trees_.n_features)
        low, high = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
        if directions is None:
            return cls(None, low, high, 0.0)
        if sample.target.shape[1] > (2 if sample.criterion in LABELS else 1) or sample.criterion == "absolute_error":
            refuse(model, "its monotonic_cst is for two labels, or for the means of one target")
        last = sample.target[:, -1]
        weight, held = np.zeros(n_nodes), np.zeros(n_nodes)
        for here, at in levels:
            weight += np.bincount(at, sample.s[here], minlength=n_nodes)
            held += np.bincount(at, sample.s[here] * last[here], minlength=n_nodes)
        mean, near = held / weight, 1e-9 * float(np.abs(last).max(initial=0.0))
        for node in np.flatnonzero(tree.feature >= 0).tolist():  # a parent stands before its children
            left, right, direction = node + 1, int(tree.right[node]), int(directions[tree.feature[node]])
            low[[left, right]], high[[left, right]] = low[node], high[node]
            if not direction:
                continue
            ends = mean[[left, right]]
            inside = (ends >= low[node] - near).all() and (ends <= high[node] + near).all()
            if not (inside and (ends[1] - ends[0]) * direction >= -near):
                refuse(model, f"node {node} of tree {number} moves predictions against the direction of its column")
            lower, upper = (left, right) if direction > 0 else (right, left)
            high[lower] = low[upper] = ends.mean()
        return cls(directions, low, high, near)

    def kept(self, nodes: Array, values: Array, *, is_last: bool) -> Array:
        """Return values within their bounds; of two labels the first has what the second leaves."""
        if self.directions is None:
            return values
        low, high = self.low[nodes], self.high[nodes]
        return np.clip(values, low, high) if is_last else 1 - np.clip(1 - values, low, high)

    def allowed(self, node: int, column: int) -> Directions | None:
        """Return what the cuts of a column of a node are limited by."""
        if self.directions is None:
            return None
        own = self.directions[[column]]
        return Directions(own, float(self.low[node]), float(self.high[node]), self.near)

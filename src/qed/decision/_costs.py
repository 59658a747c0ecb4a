"""A table of costs, and the action that it makes best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._arrays import as_array

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class CostTable:
    r"""What each action costs under each truth.

    Objective
    ---------
    .. math:: a(x) = \arg\min_a \sum_k P(k \mid x) \, C_{ka}

    Certificate
    -----------
    None: a decision is as good as its probabilities.

    Cost
    ----
    O(n k a) for n rows, k labels and a actions.

    Parameters
    ----------
    costs : array-like of shape (k, a)
        Row: the true label. Column: the action. Entry: what the action then costs.
    actions : sequence, optional
        Names of the actions; their numbers when left out.

    Notes
    -----
    Of actions that cost the same the first is taken.

    Examples
    --------
    A miss costs nine times a false alarm, so that one tenth is probable enough:

    >>> from qed.decision import CostTable
    >>> table = CostTable.asymmetric(false_positive=1.0, false_negative=9.0)
    >>> table.threshold
    0.1
    >>> table.decide([[0.95, 0.05], [0.85, 0.15]]).tolist()
    [0, 1]
    """

    costs: Any
    actions: Any = None
    _names: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        costs = np.array(as_array(self.costs, "costs"), dtype=np.float64)
        if costs.ndim != 2 or 0 in costs.shape or not np.isfinite(costs).all():
            raise InvalidParameter(
                "costs must be a table of finite numbers, one row a true label and one column an action, got shape"
                f" {costs.shape}."
            )
        names = np.arange(costs.shape[1]) if self.actions is None else np.asarray(self.actions)
        if names.shape != (costs.shape[1],):
            raise InvalidParameter(
                f"actions must name the {costs.shape[1]} columns of costs, got {self.actions!r:.100}."
            )
        costs.flags.writeable = False
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "_names", names)

    @classmethod
    def zero_one(cls, n_labels: int, *, reject: float | None = None) -> CostTable:
        """Make the table under which every mistake costs one.

        Parameters
        ----------
        n_labels : int
            How many labels there are.
        reject : float, optional
            What the reject option costs: to leave the row undecided, as a last action. Without it there is no such action.

        Returns
        -------
        CostTable
            Its best action is the most probable label, or reject when that one's probability is below ``1 - reject``.
        """
        costs = 1.0 - np.eye(n_labels)
        return cls(costs if reject is None else np.column_stack([costs, np.full(n_labels, reject)]))

    @classmethod
    def asymmetric(cls, false_positive: float, false_negative: float, *, reject: float | None = None) -> CostTable:
        """Make the table of two labels whose mistakes cost differently.

        Parameters
        ----------
        false_positive, false_negative : float
            What it costs to say yes to a no, and no to a yes.
        reject : float, optional
            What the reject option costs: to leave the row undecided, as a last action.

        Returns
        -------
        CostTable
            With labels and actions in the order no, yes, and reject last.
        """
        costs = np.array([[0.0, false_positive], [false_negative, 0.0]])
        return cls(costs if reject is None else np.column_stack([costs, np.full(2, reject)]))

    @property
    def threshold(self) -> float:
        """Probability of the second of two labels above which the second of two actions costs less."""
        if self.costs.shape != (2, 2):
            raise InvalidParameter(
                f"A threshold belongs to two labels and two actions; this table has shape {self.costs.shape}. Use decide."
            )
        (right_no, false_yes), (false_no, right_yes) = self.costs
        gain_no, gain_yes = false_yes - right_no, false_no - right_yes
        if not (gain_no >= 0 and gain_yes >= 0 and gain_no + gain_yes > 0):
            raise InvalidParameter(
                "No threshold separates the actions: being right costs more than being wrong somewhere in the table."
            )
        return float(gain_no / (gain_no + gain_yes))

    def expected(self, probabilities: Any) -> Array:
        """Return what each action costs on average.

        Parameters
        ----------
        probabilities : array-like of shape (n, k)
            Probability of each label, rows that sum to one.

        Returns
        -------
        ndarray of shape (n, a)
            Expected costs.
        """
        P = np.asarray(as_array(probabilities, "probabilities"), dtype=np.float64)
        if P.ndim != 2 or P.shape[1] != len(self.costs):
            raise InvalidData(
                f"probabilities must have one column for each of the {len(self.costs)} labels, got shape {P.shape}."
            )
        if not ((P >= 0).all() and np.allclose(P.sum(axis=1), 1.0, atol=1e-6)):
            raise InvalidData("probabilities must be nonnegative rows that sum to one, as predict_proba gives them.")
        return np.asarray(P @ self.costs)

    def decide(self, probabilities: Any) -> Array:
        """Return the action whose expected cost is least.

        Parameters
        ----------
        probabilities : array-like of shape (n, k)
            Probability of each label, rows that sum to one.

        Returns
        -------
        ndarray of shape (n,)
            Actions.
        """
        return np.asarray(self._names[self.expected(probabilities).argmin(axis=1)])

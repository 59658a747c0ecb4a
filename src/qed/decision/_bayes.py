"""The best classifier there can be, where the joint distribution of inputs and labels is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.core._arrays import as_array
from qed.decision._costs import CostTable

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class BayesRule:
    r"""The rule of least expected cost for a known table of joint probabilities.

    Objective
    ---------
    .. math:: \min_f \sum_{x, k} P(x, k) \, C_{k f(x)}

    over all functions f of the inputs; with the cost of a mistake equal to one, the Bayes error
    :math:`\sum_x \min_k \sum_{j \ne k} P(x, j)`.

    Certificate
    -----------
    None needed: every input is decided on its own, so that no function does better.

    Cost
    ----
    O(m k a) for m inputs, k labels and a actions.

    Parameters
    ----------
    joint : array-like of shape (m, k)
        Probability of each input together with each label; the entries sum to one.
    costs : CostTable, optional
        What actions cost; every mistake costs one when left out.

    Examples
    --------
    >>> from qed.decision import BayesRule
    >>> rule = BayesRule([[0.3, 0.1], [0.2, 0.4]])
    >>> rule.actions.tolist(), round(rule.risk, 2)
    ([0, 1], 0.3)
    """

    joint: Any
    costs: Any = None

    def __post_init__(self) -> None:
        joint = np.array(as_array(self.joint, "joint"), dtype=np.float64)
        if joint.ndim != 2 or 0 in joint.shape or not (joint >= 0).all() or not np.isclose(joint.sum(), 1.0, atol=1e-9):
            raise InvalidData(
                "joint must be a table of nonnegative numbers that sum to one, one row an input and one column a label, got"
                f" shape {joint.shape} with sum {joint.sum():g}."
            )
        joint.flags.writeable = False
        object.__setattr__(self, "joint", joint)
        if self.costs is None:
            object.__setattr__(self, "costs", CostTable.zero_one(joint.shape[1]))

    @property
    def posterior(self) -> Array:
        """Probability of each label given the input; equal shares for an input that never occurs."""
        total = self.joint.sum(axis=1, keepdims=True)
        shares = np.full_like(self.joint, 1.0 / self.joint.shape[1])
        np.divide(self.joint, total, out=shares, where=total > 0)
        return np.asarray(shares)

    @property
    def actions(self) -> Array:
        """The best action for each input."""
        return np.asarray(self.costs.decide(self.posterior))

    @property
    def risk(self) -> float:
        """Expected cost of the rule, which no other rule undercuts."""
        return float(self.joint.sum(axis=1) @ self.costs.expected(self.posterior).min(axis=1))

    def risk_of(self, actions: Any) -> float:
        """Return the expected cost of another rule.

        Parameters
        ----------
        actions : array-like of shape (m,)
            Index of the action for each input.

        Returns
        -------
        float
            At least ``risk``.
        """
        chosen = np.asarray(actions)
        return float((self.joint * self.costs.costs.T[chosen]).sum())

"""The certificate of a decision tree: what it leaves on its rows, against what any tree must leave."""

from __future__ import annotations

from qed.certificates._certificate import Certificate, require_nonnegative
from qed.core._records import record


@record("tree-risk")
class TreeCertificate(Certificate):
    """How far the impurity that a tree leaves can be above the least possible.

    Rows that agree in all columns share a leaf in every tree, so no tree leaves less than the impurity within such groups; and
    all trees of depth one, or of depth two on small tables, are compared one by one.

    Attributes
    ----------
    objective : float
        Mean impurity of the leaves, by weight.
    lower : float
        What every tree within ``depth`` leaves at least.
    rounding : float
        Bound on the rounding of both.
    null_objective : float
        Impurity of the root alone.
    depth : int
        Depth up to which trees are compared with this one; 0 for trees of any depth.
    is_greedy : bool
        Whether each split is the best one of its node, among all cuts of all columns.
    leaves, rows : int
        Leaves of the tree, and rows of positive weight.
    """

    objective: float
    lower: float
    rounding: float
    null_objective: float
    depth: int
    is_greedy: bool
    leaves: int
    rows: int

    @property
    def gap(self) -> float:
        """Upper bound on objective minus that of the best tree, rounding included."""
        return max(self.objective - self.lower, 0.0) + self.rounding

    @property
    def reached(self) -> bool:
        """Nothing is approached, and no tolerance asked for: how far from the best tree this one can be is ``gap``."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        which = "tree" if self.depth == 0 else f"tree of depth at most {self.depth}"
        if self.objective - self.lower <= self.rounding:
            return f"No {which} leaves less impurity on these rows than {self.objective:.6g}, up to rounding."
        return f"No {which} lowers the impurity {self.objective:.6g} that is left on these rows by more than {self.gap:.3g}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        rule = "each the best split of its node" if self.is_greedy else "limited or drawn"
        return {
            "impurity left": f"{self.objective:.6g} of {self.null_objective:.6g} at the root",
            "least possible": f"at least {self.lower:.6g}",
            "splits": f"{self.leaves - 1}, {rule}",
            "data": f"{self.rows} rows",
            "rounding": f"{self.rounding:.1e}",
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.objective, self.lower, self.rounding, self.null_objective, self.depth, self.rows)
        require_nonnegative(self.leaves - 1)

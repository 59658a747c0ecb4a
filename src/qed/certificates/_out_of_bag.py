"""What is proved about a forest, and what its own rows estimate about new ones."""

from __future__ import annotations

from qed.certificates._certificate import Certificate
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("forest-risk")
class OutOfBagCertificate(Certificate):
    """The error of a forest on rows that its trees have not seen, and that every tree is the one its seed prescribes.

    Rows out of a tree's sample are judged by that tree. The interval is the binomial one (labels) or Hoeffding's (numbers) of as
    many independent rows; rows share trees, so it describes the estimate and is no bound for new rows: for those there is
    ``certify`` with rows that were kept out. Without drawn samples every tree has seen every row, and the error on them is stated
    without an interval.

    Attributes
    ----------
    measure : str
        "out-of-bag error rate", "out-of-bag squared error", "training error rate" or "training squared error".
    error : float
        Its value, by weight.
    low, high : float
        The interval of confidence ``1 - delta``; both are ``error`` where nothing was out of a sample.
    delta : float
        The chance that an interval like this one misses.
    judged : int
        Rows that some tree has not seen.
    trees, rows : int
        Trees, and rows of positive weight.
    is_greedy : bool
        Whether each split is the best one of the columns drawn at its node; otherwise thresholds were drawn too.
    """

    measure: str
    error: float
    low: float
    high: float
    delta: float
    judged: int
    trees: int
    rows: int
    is_greedy: bool

    @property
    def reached(self) -> bool:
        """Nothing is approached, and no tolerance asked for."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        how = (
            "the best split between bins of the columns drawn" if self.is_greedy else "the threshold drawn that is best"
        )
        shown = f"The {self.measure} is {self.error:.4g}"
        if self.judged:
            shown += f" (from {self.low:.4g} to {self.high:.4g})"
        return f"{shown}; each of {self.trees} trees takes {how} at every node, on the rows that its seed draws."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        interval = f"{self.low:.6g} to {self.high:.6g} at {1 - self.delta:.0%}" if self.judged else "none"
        return {
            self.measure: f"{self.error:.6g}",
            "interval": interval,
            "rows judged": f"{self.judged} of {self.rows}",
            "trees": f"{self.trees}",
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.error, self.low, self.high, self.judged)
        sound = all(number >= 0 for number in numbers) and self.low <= self.error <= self.high
        if not sound or self.trees < 1 or self.rows < 1 or not 0 < self.delta < 1 or self.judged > self.rows:
            msg = "the certificate of the forest holds numbers that no fit produces"
            raise ModelFileError(msg)

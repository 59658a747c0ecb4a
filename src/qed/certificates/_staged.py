"""What is proved about trees that correct one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.certificates._certificate import Certificate
from qed.core._errors import ModelFileError
from qed.core._records import expect_array, record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@record("boosting-trace")
class StagedCertificate(Certificate):
    """The training loss after every round, and that each leaf takes the step that its rows ask for.

    A leaf adds the learning rate times the step that minimises the second-order model of the loss over its rows (or, for absolute
    and quantile losses, the loss itself; with Friedman's rules for Huber's loss and for several classes), within the limits of
    monotonic constraints. Nothing is claimed about new rows: for those
    there is ``certify`` with rows that were kept out.

    Attributes
    ----------
    losses : ndarray of shape (rounds + 1,)
        Mean training loss, by weight, of the best constant and after each round.
    rows : int
        Rows of positive weight that trees were grown on.
    leaves : int
        Leaves of all trees.
    rises : int
        Rounds after which the training loss was larger than before, by more than rounding.
    """

    losses: NDArray[np.float64]
    rows: int
    leaves: int
    rises: int

    @property
    def reached(self) -> bool:
        """Whether every round lowered the training loss."""
        return self.rises == 0

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        rounds = len(self.losses) - 1
        how = "never rose" if self.rises == 0 else f"rose in {self.rises} of them"
        return (
            f"In {rounds} round{'' if rounds == 1 else 's'} the training loss went from {self.losses[0]:.6g} to"
            f" {self.losses[-1]:.6g} and {how};"
            f" each of {self.leaves} leaves takes the step that the loss prescribes for its rows."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "training loss": f"{self.losses[-1]:.6g}, from {self.losses[0]:.6g} for the best constant",
            "rounds": f"{len(self.losses) - 1}, {self.rises} of them rising",
            "leaves": f"{self.leaves}",
            "data": f"{self.rows} rows",
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        expect_array(self.losses, "the losses of the rounds", shape=(None,), finite=True)
        counts: tuple[Any, ...] = (self.rows, self.leaves + 1, self.rises + 1, len(self.losses))
        if not all(count >= 1 for count in counts) or self.rises >= max(len(self.losses), 1):
            msg = "the certificate of the boosted trees holds numbers that no fit produces"
            raise ModelFileError(msg)

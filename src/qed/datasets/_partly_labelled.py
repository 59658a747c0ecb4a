"""Rows of which some have a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PartlyLabelled:
    """A table of which some rows have a label.

    Parameters
    ----------
    data : ndarray of shape (n, p)
        All rows.
    target : ndarray of shape (n,)
        Labels; what stands for those of unlabelled rows means nothing.
    is_labelled : ndarray of bool of shape (n,)
        Which rows have a label.

    Examples
    --------
    >>> from qed.datasets import PartlyLabelled
    >>> d = PartlyLabelled.of([[0.0], [1.0], [2.0]], [1, -1, 0])
    >>> d.n_labelled, d.n_unlabelled
    (2, 1)
    >>> d.unlabelled.tolist()
    [[1.0]]
    """

    data: NDArray[Any]
    target: NDArray[Any]
    is_labelled: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Refuse parts of different lengths."""
        lengths = {len(self.data), len(self.target), len(self.is_labelled)}
        if len(lengths) > 1:
            raise InvalidData(
                f"A partly labelled table needs as many labels and marks as rows, got {len(self.target)} labels and"
                f" {len(self.is_labelled)} marks for {len(self.data)} rows."
            )

    @classmethod
    def of(cls, data: Any, target: Any, *, unlabelled: Any = -1) -> PartlyLabelled:
        """Read a target in which one value (NaN and None included) marks rows without a label.

        Parameters
        ----------
        data : array-like of shape (n, p)
            Rows.
        target : array-like of shape (n,)
            Labels.
        unlabelled : object
            The value that stands for none.
        """
        labels = np.asarray(target)
        if unlabelled is None:
            missing = np.array([label is None for label in labels.tolist()])
        elif isinstance(unlabelled, float) and np.isnan(unlabelled):
            missing = np.array([label != label for label in labels.tolist()])  # noqa: PLR0124  NaN alone differs from itself
        else:
            missing = labels == unlabelled
        return cls(np.asarray(data), labels, ~missing)

    @classmethod
    def hiding(cls, data: Any, target: Any, share: float, random_state: Any = None) -> PartlyLabelled:
        """Hide a share of the labels, drawn at random.

        Parameters
        ----------
        data : array-like of shape (n, p)
            Rows.
        target : array-like of shape (n,)
            Labels of all rows; hidden ones stay in ``target``, to be compared with later.
        share : float in [0, 1]
            Share to hide, rounded to whole rows.
        random_state : int, Generator, RandomState or None
            The seed.
        """
        if not 0 <= share <= 1:
            raise InvalidParameter(f"PartlyLabelled.hiding: share must be a real number in [0, 1], got {share!r}.")
        labels = np.asarray(target)
        mask = np.ones(len(labels), dtype=bool)
        mask[generator(random_state).permutation(len(labels))[: round(share * len(labels))]] = False
        return cls(np.asarray(data), labels, mask)

    @property
    def n_labelled(self) -> int:
        """Rows with a label."""
        return int(np.count_nonzero(self.is_labelled))

    @property
    def n_unlabelled(self) -> int:
        """Rows without one."""
        return len(self.data) - self.n_labelled

    @property
    def labelled(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows with a label, and their labels."""
        return self.data[self.is_labelled], self.target[self.is_labelled]

    @property
    def unlabelled(self) -> NDArray[Any]:
        """The rows without a label."""
        return self.data[~self.is_labelled]

    def masked_target(self, unlabelled: Any = -1) -> NDArray[Any]:
        """Return the labels with one value for all that are unknown, as semi-supervised models read them."""
        return np.where(self.is_labelled, self.target, unlabelled)

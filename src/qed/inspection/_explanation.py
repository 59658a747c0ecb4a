"""Contributions of columns to predictions, and what is proved about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from qed.certificates import ExplanationCertificate

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each column contributes to each prediction: base value plus contributions is the prediction.

    Attributes
    ----------
    values : ndarray of shape (n, p) or (n, p, k)
        Contributions; the last axis is there where the model has several outputs.
    base_value : float or ndarray of shape (k,)
        What is predicted without knowing any column.
    predictions : ndarray of shape (n,) or (n, k)
        What is explained.
    standard_errors : ndarray like ``values``
        Standard errors of the contributions; zeros where they are exact.
    data : ndarray of shape (n, q)
        The rows as the model sees them; q is p, unless columns were grouped.
    feature_names : tuple of str
        Names of the columns, or of the groups.
    output_names : tuple of str
        Names of the outputs.
    output : str
        What is explained: a method of the model, or its logarithm.
    players : ndarray of int of shape (q,)
        By column of ``data``: the number of its name.
    certificate : ExplanationCertificate
        That contributions add up, and how exact they are.
    """

    values: Array
    base_value: Any
    predictions: Array
    standard_errors: Array
    data: Array
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    output: str
    players: Array
    certificate: ExplanationCertificate

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        what = f"{len(self)} predictions, {len(self.feature_names)} columns"
        outputs = "" if self.values.ndim == 2 else f", {len(self.output_names)} outputs"
        return f"Explanation({self.output}: {what}{outputs}; {self.certificate.game}, residual {self.certificate.residual:.1e})"

    def of_output(self, output: Any = None) -> Explanation:
        """Return the explanation of one output.

        Parameters
        ----------
        output : str or int, optional
            Name or number of the output; needed where there are several.

        Returns
        -------
        Explanation
            With values of shape (n, p).
        """
        if self.values.ndim == 2:
            return self
        names = list(self.output_names)
        if output is None:
            raise InvalidParameter(
                f"The model has several outputs, {', '.join(names)}. Name one of them: output={names[-1]!r}."
            )
        number = names.index(str(output)) if str(output) in names else output
        if not isinstance(number, int | np.integer) or not -len(names) <= number < len(names):
            raise InvalidParameter(f"output must be one of {', '.join(names)} or a number, got {output!r:.80}.")
        return replace(
            self,
            values=self.values[:, :, number],
            standard_errors=self.standard_errors[:, :, number],
            base_value=float(self.base_value[number]),
            predictions=self.predictions[:, number],
            output_names=(names[number],),
        )

    def importance(self) -> Array:
        """Return the mean absolute contribution of each column.

        Returns
        -------
        ndarray of shape (p,) or (p, k)
            In the unit of the prediction.
        """
        if not len(self):
            raise InvalidData("No rows are explained: pass at least one.")
        return np.asarray(np.abs(self.values).mean(axis=0))

    def column(self, feature: Any) -> int:
        """Return the number of a column.

        Parameters
        ----------
        feature : str or int
            Its name or number.

        Returns
        -------
        int
            Its number among ``feature_names``.
        """
        if feature in self.feature_names:
            return self.feature_names.index(feature)
        if isinstance(feature, int | np.integer) and -len(self.feature_names) <= feature < len(self.feature_names):
            return int(feature) % len(self.feature_names)
        raise InvalidParameter(
            f"There is no column {feature!r:.80}. Columns are {', '.join(self.feature_names[:20])}, or numbers from 0 to"
            f" {len(self.feature_names) - 1}."
        )

    def shown_values(self, column: int) -> Array | None:
        """Return the values of a column for drawing; None where a name stands for several columns.

        Parameters
        ----------
        column : int
            Number of the name.

        Returns
        -------
        ndarray of shape (n,) or None
            Values as the model sees them.
        """
        places = np.flatnonzero(self.players == column)
        return np.asarray(self.data[:, places[0]]) if len(places) == 1 else None

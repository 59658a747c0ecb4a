"""A fitted pipeline and what it remembers of its table: what models with and without a target share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, ModelFileError, QedError
from qed.study._encode import encode
from qed.study._source import read_table
from qed.study._unseen import Unseen

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from qed.certificates import Certificate
    from qed.study._schema import TableSchema, UnsupervisedSchema
    from qed.verify import Verdict

Array = np.ndarray[Any, Any]


class TablePipeline:
    """A fitted pipeline together with what it remembers of its table.

    Parameters
    ----------
    pipeline : Pipeline
        Preparation and model, fitted on the numbers that `encode` makes of the table.
    schema : TableSchema or UnsupervisedSchema
        Columns, what the model gives, and how it was made.

    Attributes
    ----------
    notices : list of str
        What was odd about the rows of the last call, in words: unknown categories, missing columns, values far outside.
    strange : dict of int to list of str
        By row of the last call the columns whose entry is like nothing at the fit.
    """

    schema: TableSchema | UnsupervisedSchema

    def __init__(self, pipeline: Any, schema: TableSchema | UnsupervisedSchema) -> None:
        self.pipeline, self.schema = pipeline, schema
        self.notices: list[str] = []
        self.strange: dict[int, list[str]] = {}

    @property
    def certificate_(self) -> Certificate:
        """What is proven about the fit, part by part."""
        found: Certificate = self.pipeline.certificate_
        return found

    @property
    def proof(self) -> Certificate:
        """What is proven about the last step, the model itself."""
        found: Certificate = self.pipeline.steps_[-1][1].certificate_
        return found

    def _matrix(self, table: Any) -> Array:
        unseen = Unseen(self.schema.columns)
        X = encode(read_table(table), self.schema.columns, unseen)
        self._remember(unseen)
        return X

    def _remember(self, unseen: Unseen) -> None:
        self.notices, self.strange = unseen.notices(), unseen.by_row()

    def lacking(self, table: Any) -> list[str]:
        """Return the columns that the model needs and a table has not.

        Parameters
        ----------
        table : RawTable
            What `read_table` gave.
        """
        return [column.name for column in self.schema.used if column.name not in table.names]

    def rows_of_fit(self, table: Any) -> tuple[Array, Array | None]:
        """Return the numbers that the pipeline was fitted on, and the targets if there are such.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            The same rows as at the fit.
        """
        raise NotImplementedError

    def verify(self, table: Any) -> Verdict:
        """Check the certificate by code that shares nothing with the fit.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            The rows of the fit.

        Raises
        ------
        CertificateError
            When it is not true of this model and these rows.
        """
        from qed.verify import verify  # noqa: PLC0415

        raw = read_table(table)
        try:
            with sound_parts():
                X, y = self.rows_of_fit(raw)
                verdict = verify(self.pipeline, X, y)
                self._require_output(raw)
        except ModelFileError as error:
            raise CertificateError(str(error)) from error
        return verdict

    def _require_output(self, table: Any) -> None:
        """Refuse what stands beside the pipeline, changes its answers and does not follow from these rows."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to.
        """
        self.pipeline.sheet_ = self.schema
        self.pipeline.save(path)


@contextmanager
def sound_parts() -> Iterator[None]:
    """Blame the model file for errors that no sound model raises: every part of it was valid, but not all of them together."""
    try:
        yield
    except (QedError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0][:160]
        raise ModelFileError(
            f"The parts of this model do not fit each other ({type(error).__name__}: {first}). Restore its file from a copy."
        ) from error


def shuffled(X: Array, y: Array, seed: int) -> Array:
    """Return the order in which rows are taken, at random but the same however the table is sorted.

    Rows are sorted by a sum of their bits first: folds, draws and splits then depend on what the rows say, not on where they stand.
    """
    mixed = _bits(y)
    for at in range(X.shape[1]):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD + _bits(X[:, at])
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _ODD
    return np.asarray(np.argsort(mixed, kind="stable")[np.random.default_rng(seed).permutation(len(y))])


_ODD = np.uint64(
    0x9E3779B97F4A7C15
)  # 2^64 over the golden ratio: spreads bits well, and is odd, so that nothing is lost


def _bits(values: Array) -> Array:
    """Return the bits of numbers; zeros are equal, gaps too."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return np.ascontiguousarray(plain, np.float64).view(np.uint64)

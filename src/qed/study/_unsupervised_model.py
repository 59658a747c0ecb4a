"""A pipeline without a target that knows its table: it gives clusters, coordinates or anomaly scores."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, InvalidData, InvalidParameter, clone
from qed.study._compare_schema import read_as_then, require_columns
from qed.study._encode import encode
from qed.study._source import BLOCK_ROWS, TableBlocks, read_table
from qed.study._table_pipeline import TablePipeline, shuffled, sound_parts
from qed.study._unseen import Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qed.study._raw import RawTable
    from qed.study._schema import UnsupervisedSchema

Array = np.ndarray[Any, Any]
NEIGHBORS = 10  # nearest rows whose mean distance is an anomaly score
AXES = ("x", "y")  # coordinates
CHANGED = "It was changed after the fit, or the rows are others. Fit again, or restore the model file from a copy."
FOLDS = 10  # models that score rows have nine tenths of the rows of the final one
STORED_SCORES = 5000
# Scores found a second time differ by rounding: sums over columns, and EM, which stops at a thousandth of a unit of likelihood.
RELATIVE_TOLERANCE = 1e-6


class UnsupervisedModel(TablePipeline):
    """A pipeline fitted without a target, together with what it remembers of its table.

    Parameters
    ----------
    pipeline : Pipeline
        Preparation and model, fitted on the numbers that `encode` makes of the table.
    schema : UnsupervisedSchema
        Columns, what the model gives, and how it was made.
    """

    schema: UnsupervisedSchema

    def __repr__(self) -> str:
        fit_record, output = self.schema.fit_record, self.schema.output
        return (
            f"<qed model of {output.task}: {output.method}; {len(self.schema.used)} columns, {fit_record.rows_fitted:,} rows of"
            f" {fit_record.source}>"
        )

    def outputs(self, table: Any) -> dict[str, Array]:
        """Return what the model gives for each row, by name of the column.

        Parameters
        ----------
        table : frame, dict of columns, path or query, or blocks of rows
            New rows; columns are found by name.

        Returns
        -------
        dict of str to ndarray
            ``cluster``, with probabilities where the model has such; or coordinates; or ``anomaly``, ``score`` and ``p_value``: the
            share of rows like those of the fit that score as high.
        """
        unseen = Unseen(self.schema.columns)
        found = []
        for block in self._blocks(table):
            X = encode(block, self.schema.columns, unseen)
            with sound_parts():
                found.append(self._of_numbers(X))
        self._remember(unseen)
        if not found:
            raise InvalidData("The table has no rows.")
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def predict(self, table: Any) -> Array:
        """Return the cluster of each row, or whether it is anomalous.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            New rows.
        """
        name = {"clusters": "cluster", "anomalies": "anomaly"}.get(self.schema.output.task)
        if name is None:
            raise InvalidParameter("An embedding predicts nothing: it gives coordinates. Use transform.")
        return self.outputs(table)[name]

    def transform(self, table: Any) -> Array:
        """Return the coordinates of each row.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            New rows.
        """
        if self.schema.output.task != "embedding":
            raise InvalidParameter(f"A model of {self.schema.output.task} gives no coordinates. Use predict.")
        return np.column_stack(list(self.outputs(table).values()))

    def rows_of_fit(self, table: Any) -> tuple[Array, None]:
        """Return the numbers that the pipeline was fitted on, from the table that it was fitted on.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            The same rows as at the fit.
        """
        X, fit_record = self._matrix(table), self.schema.fit_record
        return X[shuffled(X, np.zeros(len(X)), fit_record.seed)[: fit_record.rows_fitted]], None

    def _require_output(self, table: Any) -> None:
        """Refuse columns that are not what these rows show, and names, scores or a threshold that do not follow from them."""
        columns, output = self.schema.columns, self.schema.output
        require_columns(columns, read_as_then(table, columns), None)
        if output.task == "clusters":
            self._require_names(table)
        elif output.task == "embedding":
            if tuple(output.labels) != AXES:
                raise CertificateError(
                    f"The model calls its coordinates {tuple(output.labels)!r:.60}, and a fit calls them {AXES}. {CHANGED}"
                )
        else:
            self._require_scores(self.rows_of_fit(table)[0])

    def _require_names(self, table: Any) -> None:
        """Refuse names of clusters that are not their ranks by size, the first in the model first among equals."""
        labels = self.schema.output.labels.tolist()
        wrong = sorted(labels) != sorted(str(at + 1) for at in range(len(labels)))
        if not wrong:
            sizes = np.bincount(self.outputs(table)["cluster"], minlength=len(labels) + 1)[1:]
            place = np.argsort(np.array(labels, np.int64))  # in the model, of each name
            wrong = bool(np.any(np.diff(sizes) > 0) or np.any((np.diff(sizes) == 0) & (np.diff(place) < 0)))
        if wrong:
            raise CertificateError(
                f"The model names its clusters {labels!r:.60}, and on these rows those are not their places by size. {CHANGED}"
            )

    def _require_scores(self, X: Array) -> None:
        """Score the rows again, each by a model that has not seen it; refuse other scores, and another threshold."""
        output = self.schema.output
        with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
            warnings.simplefilter("ignore")
            found = out_of_fold_scores(lambda rows: clone(self.pipeline).fit(rows), X)[0]
        threshold = order_statistic(found, output.rate)
        stored, usual = (
            stored_scores(found),
            float(np.median(np.abs(found))),
        )  # a single far row must not blur all others
        if stored.shape != output.scores.shape or not np.all(
            np.abs(stored - output.scores) <= RELATIVE_TOLERANCE * (np.abs(stored) + usual)
        ):
            raise CertificateError(
                f"The model stores {len(output.scores)} scores, which are not those of these {len(found)} rows by models that have"
                f" not seen them. {CHANGED}"
            )
        if not abs(output.threshold - threshold) <= RELATIVE_TOLERANCE * (abs(threshold) + usual):
            raise CertificateError(
                f"The model has a threshold of {output.threshold:.6g}, and the scores of these rows and a rate of"
                f" {output.rate:g} give {threshold:.6g}. {CHANGED}"
            )

    @staticmethod
    def _blocks(table: Any) -> Iterable[RawTable]:
        return table if isinstance(table, TableBlocks) else read_table(table).blocks(BLOCK_ROWS)

    def _of_numbers(self, X: Array) -> dict[str, Array]:
        output = self.schema.output
        if output.task == "clusters":
            return cluster_columns(self.pipeline, X, output.labels)
        if output.task == "embedding":
            if not hasattr(self.pipeline, "transform"):
                raise InvalidParameter(
                    f"{output.method} has no coordinates for new rows. Fit with --method umap or --method pca to have them."
                )
            places = np.asarray(self.pipeline.transform(X))
            return {str(name): places[:, at] for at, name in enumerate(output.labels)}
        scores = anomaly_scores(self.pipeline, X)
        return {
            "anomaly": scores > output.threshold,
            "score": scores,
            "p_value": p_values(scores, output.scores),
        }


def cluster_columns(pipeline: Any, X: Array, labels: Array) -> dict[str, Array]:
    """Return the cluster of each row by its name, and for mixtures the probability of each cluster."""
    names = np.array([int(word) if word.isdigit() else -1 for word in labels])
    if hasattr(pipeline, "predict_proba"):
        shares = np.asarray(pipeline.predict_proba(X))
        order = np.argsort(names)
        found = {"cluster": names[shares.argmax(axis=1)]}
        return found | {f"probability_{names[at]}": shares[:, at] for at in order}
    return {"cluster": names[np.asarray(pipeline.predict(X))]}


def anomaly_scores(pipeline: Any, X: Array) -> Array:
    """Return how anomalous each row is, larger is more: minus the score of the model, or the mean distance to its neighbours."""
    if hasattr(pipeline, "score_samples"):
        return -np.asarray(pipeline.score_samples(X), np.float64)
    model = pipeline.steps_[-1][1]
    prepared = X
    for _, step in pipeline.steps_[:-1]:
        prepared = step.transform(prepared)
    distances, _ = model.kneighbors(prepared)
    return np.asarray(np.mean(distances, axis=1), np.float64)


def out_of_fold_scores(fitted: Callable[[Array], Any], X: Array) -> tuple[Array, Array, list[Any]]:
    """Score each row by a model that has not seen it; return the fold of each row and the models too.

    Parameters
    ----------
    fitted : callable
        Fits a pipeline on rows.
    X : ndarray of shape (n, width)
        Rows in random order.
    """
    folds = np.arange(len(X)) % FOLDS
    scores, models = np.empty(len(X)), []
    for fold in range(FOLDS):
        models.append(fitted(X[folds != fold]))
        scores[folds == fold] = anomaly_scores(models[-1], X[folds == fold])
    return scores, folds, models


def stored_scores(scores: Array) -> Array:
    """Return what a model keeps of the scores of its rows: all of them, or so many of their quantiles."""
    many = len(scores) > STORED_SCORES
    return np.quantile(scores, np.linspace(0, 1, STORED_SCORES)) if many else np.sort(scores)


def order_statistic(scores: Array, rate: float) -> float:
    """Return the score that a further one, of the same source, exceeds with at most this probability."""
    place = order_place(len(scores), rate)
    return float(np.sort(scores)[place - 1])


def order_place(n: int, rate: float) -> int:
    """Return which of n scores, in rising order, is that threshold: one exceeds the i-th with probability (n + 1 - i) / (n + 1)."""
    return min(n, math.ceil((1 - rate) * (n + 1) - 1e-9))


def p_values(scores: Array, reference: Array) -> Array:
    """Return the share of reference scores that are as high, the row itself counted among them."""
    above = len(reference) - np.searchsorted(reference, scores, side="left")
    return np.asarray((above + 1) / (len(reference) + 1))

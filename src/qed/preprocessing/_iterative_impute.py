"""Gaps filled by models of each column given the others, in rounds."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (read from the annotation)
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    ConvergenceWarning,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Transformer,
    clone,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress, guard
from qed.core._params import needed_with
from qed.core._parts import copies_with
from qed.core._shared_params import VERBOSE
from qed.preprocessing._categories import is_nan
from qed.preprocessing._impute import MissingIndicator, SimpleImputer, beside, names_with_marks
from qed.preprocessing._nearest_impute import _why_no_number

Array = np.ndarray[Any, Any]
LEAST_CORRELATION = 1e-6  # scikit-learn's: a column without correlation may still be drawn


class ImputationStep(NamedTuple):
    """One model of a sequence, by scikit-learn's names: the column it fills, the columns it reads, and the fitted model."""

    feat_idx: int
    neighbor_feat_idx: Array
    estimator: Any


def _why_no_limit(value: Any) -> str:
    if value is None or isinstance(value, int | float | np.number):
        return ""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    good = isinstance(listed, list | tuple) and all(isinstance(one, int | float | np.number) for one in listed)
    return "" if good else "should be a number, a list of numbers or None"


def _one_for_each_column(model: Any, models: Any) -> str:
    if len(models) != len(model.columns_):
        return f"should be {len(model.columns_)} models, one for each entry of columns_"
    return copies_with("predict")(model, models) if models else ""


def _fills_the_columns(model: Any, filling: Any) -> str:
    own, kept = model.__dict__.get("features_"), len(filling._kept)  # noqa: SLF001  (of this package)
    fits = own is None or kept == len(own) or int(np.max(own, initial=-1)) < kept
    return "" if fits else "should fill the columns that features_ names"


class IterativeImputer(Transformer):
    r"""Multivariate imputation: missing values are predicted from the other columns, round after round.

    Objective
    ---------
    None of its own: in round r the gaps of column j become :math:`f_{rj}(z_{\cdot, -j})`, where f is the regressor fitted to the
    rows that have a value in column j, and z holds what the other columns were filled with last. This is imputation by chained
    equations. With ``sample_posterior`` the gap is drawn from the regressor's predictive distribution instead.

    Certificate
    -----------
    CompositeCertificate: the first filling and every regressor keep their own; ``qed.verify`` takes the rounds again and checks
    each regressor with the rows that reached it. That the rounds converge is not claimed: ``n_iter_`` says whether they did.

    Cost
    ----
    The regressor once for each column and round; all of them are kept, because ``transform`` takes the same rounds.

    See Also
    --------
    KNNImputer : Gaps filled from the nearest rows.
    SimpleImputer : Gaps filled by one number for each column.

    Notes
    -----
    A fitted imputer draws the same numbers for the same rows each time, so that ``transform`` of the rows of the fit is
    ``fit_transform``. For several imputations fit it with several ``random_state``.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import IterativeImputer
    >>> X = [[1.0, 2.0], [3.0, 6.0], [4.0, 8.0], [np.nan, 3.0], [7.0, np.nan]]
    >>> IterativeImputer(random_state=0).fit_transform(X).round(2)
    array([[ 1. ,  2. ],
           [ 3. ,  6. ],
           [ 4. ,  8. ],
           [ 1.5,  3. ],
           [ 7. , 14. ]])
    """

    estimator: Any = param(None, "The regressor of a column given others; None is BayesianRidge().")
    _: KW_ONLY
    missing_values: Any = param(np.nan, "What stands for a gap: NaN or a number.", in_files=_why_no_number)
    sample_posterior: bool = param(
        False,
        "Whether gaps are drawn from the predictive distribution; the regressor needs ``predict(return_std=True)``.",
    )
    max_iter: NonNegativeInt = param(10, "Most rounds; 0 leaves the first filling.")
    tol: NonNegative = param(
        1e-3,
        "Rounds end when the entries of no row change, in sum, by this share of the largest entry; not with ``sample_posterior``.",
    )
    n_nearest_features: PositiveInt | None = param(
        None, "How many columns a regressor reads, drawn in proportion to their correlation with its own; None is all."
    )
    initial_strategy: Literal["mean", "median", "most_frequent", "constant"] = param(
        "mean", "The first filling, as in SimpleImputer."
    )
    fill_value: Any = param(None, "The constant of ``initial_strategy='constant'``.")
    imputation_order: Literal["ascending", "descending", "roman", "arabic", "random"] = param(
        "ascending",
        "The order of the columns: from few gaps to many, from many to few, from left to right, from right to left, or drawn.",
    )
    skip_complete: bool = param(
        False,
        "Whether columns without gaps in the fit get no regressor; their gaps in new rows keep the first filling.",
    )
    min_value: Any = param(-np.inf, "Least filling: a number, one for each column, or None.", in_files=_why_no_limit)
    max_value: Any = param(np.inf, "Largest filling: a number, one for each column, or None.", in_files=_why_no_limit)
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of drawn fillings, columns and orders.")
    add_indicator: bool = param(False, "Whether columns that mark the gaps are put beside.")
    keep_empty_features: bool = param(False, "Whether columns without a single value are kept, filled with zeros.")

    initial_imputer_: SimpleImputer = fitted("The model of the first filling.", check=_fills_the_columns)
    features_: Array = fitted(
        "The columns that come out.",
        dtype="int64",
        shape="(q,)",
        order="strictly rising",
        low=0,
        below="n_features_in_",
    )
    columns_: Array = fitted(
        "Which of these each model fills, in the order of the steps.",
        dtype="int64",
        shape="(t,)",
        low=0,
        below="features_",
    )
    neighbors_: Array = fitted(
        "Which of these each model reads.", dtype="int64", shape="(t, b)", low=0, below="features_"
    )
    estimators_: list[Any] = fitted("The fitted regressors, step by step.", check=_one_for_each_column)
    n_iter_: int = fitted("Rounds.", low=0, answers=False)
    n_features_with_missing_: int = fitted("Models in a round.", low=0, answers=False)
    seed_: int = fitted("What drawn numbers follow from.", low=0, below=2**62)
    indicator_: MissingIndicator | None = fitted(
        "The model that marks the gaps; None without ``add_indicator``.", check=needed_with("add_indicator")
    )
    certificate_: CompositeCertificate = fitted("The certificates of the first filling and of the regressors.")

    def _traits(self) -> Any:
        return super()._traits()._replace(allow_nan=is_nan(self.missing_values))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the regressors, round after round."""
        self._validate_params()
        for name, wrong in (
            ("missing_values", _why_no_number(self.missing_values)),
            ("min_value", _why_no_limit(self.min_value)),
            ("max_value", _why_no_limit(self.max_value)),
        ):
            if wrong:
                raise InvalidParameter(f"IterativeImputer.{name} {wrong}, got {getattr(self, name)!r:.60}.")
        rows = self._fit_data(X).X
        mask = self._gaps(rows)
        empty: Array = np.asarray(mask.all(axis=0))
        self.initial_imputer_ = self._first_filling().fit(rows)
        self.features_ = np.arange(rows.shape[1]) if self.keep_empty_features else np.flatnonzero(~empty)
        self.seed_ = int(generator(self.random_state).integers(2**62))
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(missing_values=self.missing_values, error_on_new=False).fit(rows)
        self._limits(rows.shape[1])
        self._rounds(self._first(rows), (mask & ~empty)[:, self.features_], empty[self.features_])
        return self

    def _first_filling(self) -> SimpleImputer:
        return SimpleImputer(
            missing_values=self.missing_values,
            strategy=self.initial_strategy,
            fill_value=self.fill_value,
            keep_empty_features=self.keep_empty_features,
        )

    def _gaps(self, rows: Array) -> Array:
        return np.isnan(rows) if is_nan(self.missing_values) else rows == self.missing_values

    def _first(self, rows: Array) -> Array:
        """Return rows with the first filling, in the columns that come out."""
        filled = np.array(self.initial_imputer_.transform(rows), order="F")
        return filled if filled.shape[1] == len(self.features_) else np.asfortranarray(filled[:, self.features_])

    def _limits(self, p: int) -> tuple[Array, Array]:
        """Return the least and the largest filling of each column that comes out."""

        def each(name: str, none: float) -> Array:
            given = getattr(self, name)
            values = np.asarray(none if given is None else given, dtype=np.float64)
            if values.ndim > 1 or (values.ndim == 1 and len(values) != p):
                raise InvalidParameter(
                    f"IterativeImputer.{name} should be of shape ({p},), one number for each column, or one number; got"
                    f" {values.shape}."
                )
            return np.broadcast_to(values, (p,))[self.features_]

        low, high = each("min_value", -np.inf), each("max_value", np.inf)
        if not (low < high).all():
            raise InvalidParameter(
                "One (or more) features have min_value >= max_value. Give every column a range that is not empty."
            )
        return low, high

    def _rounds(self, filled: Array, mask: Array, empty: Array) -> None:
        """Fit the models of all rounds and fill the gaps with each."""
        steps: list[ImputationStep] = []
        q = filled.shape[1]
        places = np.flatnonzero(mask.any(axis=0) if self.skip_complete else ~empty)
        rounds = self.max_iter if q > 1 and not mask.all() else 0
        self.n_iter_, self.n_features_with_missing_ = 0, len(places) if rounds else 0
        correlation = self._correlations(filled)
        limit = self.tol * float(np.abs(filled[~mask]).max(initial=0.0))
        outcome = "finished" if not rounds or not len(places) or self.sample_posterior else "rounds"
        with (
            Progress("IterativeImputer", total=rounds, verbose=self.verbose) as progress,
            guard(lambda: self._store(steps, q)),
        ):
            for number in range(rounds if len(places) else 0):
                before = filled.copy()
                for column in self._ordered(mask, places, number).tolist():
                    read = self._read_columns(q, column, correlation, len(steps))
                    steps.append(self._learnt(filled, mask, column, read))
                    self._fill(filled, mask, steps[-1], len(steps) - 1)
                self.n_iter_ = number + 1
                change = float(np.abs(filled - before).sum(axis=1).max(initial=0.0))
                if progress.step(change) is STOP:
                    outcome = "stopped"
                    break
                if not self.sample_posterior and change < limit:
                    outcome = "finished"
                    break
        self._store(steps, q)
        if outcome == "rounds":
            warnings.warn(
                ConvergenceWarning(
                    f"IterativeImputer: the entries of a row still change by {change:.3g} after {rounds} rounds (limit"
                    f" {limit:.3g}). Raise max_iter or tol."
                ),
                stacklevel=4,
            )

    def _ordered(self, mask: Array, places: Array, number: int) -> Array:
        """Return the columns of a round in their order."""
        if self.imputation_order == "random":
            return np.random.default_rng([self.seed_, 1, number]).permutation(places)
        if self.imputation_order in ("roman", "arabic"):
            return places if self.imputation_order == "roman" else places[::-1]
        order = places[np.argsort(mask[:, places].sum(axis=0), kind="stable")]
        return order if self.imputation_order == "ascending" else order[::-1]

    def _correlations(self, filled: Array) -> Array | None:
        """Return absolute correlations of the columns, None where all are read."""
        if self.n_nearest_features is None or self.n_nearest_features >= filled.shape[1] - 1 or len(filled) < 2:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(np.corrcoef(filled.T.astype(np.float64)))
        return np.asarray(np.fmax(found, LEAST_CORRELATION))

    def _read_columns(self, q: int, column: int, correlation: Array | None, step: int) -> Array:
        others = np.delete(np.arange(q), column)
        if correlation is None:
            return others
        share = correlation[others, column]
        drawn = np.random.default_rng([self.seed_, 2, step])
        return drawn.choice(others, self.n_nearest_features, replace=False, p=share / share.sum())

    def _learnt(self, filled: Array, mask: Array, column: int, read: Array) -> ImputationStep:
        # by its public name: packages above are not imported
        template = import_module("qed.linear_model").BayesianRidge() if self.estimator is None else self.estimator
        if isinstance(template, type) or not hasattr(template, "fit") or not hasattr(template, "predict"):
            raise InvalidParameter(
                f"IterativeImputer.estimator must be an instance with fit and predict, got {template!r:.80}."
            )
        known = ~mask[:, column]
        model = clone(template)
        model.fit(filled[known][:, read], filled[known, column])
        return ImputationStep(column, read, model)

    def _fill(self, filled: Array, mask: Array, step: ImputationStep, number: int) -> None:
        """Fill the gaps of one column in place."""
        missing = mask[:, step.feat_idx]
        if not missing.any():
            return
        rows = filled[missing][:, step.neighbor_feat_idx]
        low, high = (one[step.feat_idx] for one in self._limits(len(self.initial_imputer_.statistics_)))
        if not self.sample_posterior:
            said = np.asarray(step.estimator.predict(rows)).reshape(-1)
        else:
            said = self._drawn(step, rows, missing, number, low, high)
        if said.dtype.kind not in "biuf" or len(said) != len(rows):
            raise InvalidData(
                f"{type(step.estimator).__name__} must predict one number for each row; it gave {said.dtype} of shape"
                f" {said.shape} for {len(rows)} rows."
            )
        filled[missing, step.feat_idx] = np.clip(said, low, high)

    def _drawn(self, step: ImputationStep, rows: Array, missing: Array, number: int, low: float, high: float) -> Array:
        """Draw from normal distributions within the limits; what lies outside of them is put on their ends."""
        from scipy.special import ndtr, ndtri  # noqa: PLC0415  only those who draw

        mean, deviation = (
            np.asarray(one, dtype=np.float64).reshape(-1) for one in step.estimator.predict(rows, return_std=True)
        )
        share = np.random.default_rng([self.seed_, 3, number]).random(len(missing))[missing] + 2.0**-54
        spread = np.where((deviation > 0) & (mean >= low) & (mean <= high), deviation, 0.0)
        safe = np.where(spread > 0, spread, 1.0)
        least, most = ndtr((low - mean) / safe), ndtr((high - mean) / safe)
        return np.asarray(mean + spread * ndtri(np.clip(least + share * (most - least), 2.0**-54, 1 - 2.0**-53)))

    def _store(self, steps: list[ImputationStep], q: int) -> None:
        """Keep the models that were fitted, and their certificates."""
        width = len(steps[0].neighbor_feat_idx) if steps else max(q - 1, 0)
        self.columns_ = np.array([one.feat_idx for one in steps], dtype=np.int64)
        self.neighbors_ = np.array([one.neighbor_feat_idx for one in steps], dtype=np.int64).reshape(len(steps), width)
        self.estimators_ = [one.estimator for one in steps]
        parts: list[tuple[str, Any]] = [("first filling", self.initial_imputer_)]
        if self.indicator_ is not None:
            parts += [("marks", self.indicator_)]
        parts += [(f"step {number}, column {one.feat_idx}", one.estimator) for number, one in enumerate(steps)]
        self.certificate_ = composite_certificate(parts)

    @property
    def imputation_sequence_(self) -> list[ImputationStep]:
        """The models in their order, each with the column it fills and the columns it reads."""
        self._check_is_fitted()
        return [
            ImputationStep(int(column), read, model)
            for column, read, model in zip(self.columns_, self.neighbors_, self.estimators_, strict=True)
        ]

    @property
    def _kept(self) -> Array:
        return self.features_

    def transform(self, X: Any) -> Any:
        """Fill the gaps by the models of the fit, in their order.

        Returns
        -------
        ndarray or frame
            Rows without gaps; columns that were empty in the fit are left out.
        """
        self._check_is_fitted()
        rows = self._new_data(X)
        mask = self._gaps(rows)[:, self.features_]
        filled = self._first(rows)
        for number, step in enumerate(self.imputation_sequence_):
            self._fill(filled, mask, step, number)
        filled = np.ascontiguousarray(filled)
        return filled if self.indicator_ is None else beside(filled, self.indicator_.transform(rows))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out.

        Returns
        -------
        ndarray of str
            The names, then those of the marks.
        """
        self._check_is_fitted()
        return names_with_marks(self, input_features)

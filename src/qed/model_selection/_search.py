"""Searching for the best setting: every setting judged on the same folds, within a budget, and resumable."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Estimator,
    InvalidParameter,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Seed,
    Traits,
    clone,
    fitted,
    param,
)
from qed.core._delegated import Delegated
from qed.core._events import STOP, Progress
from qed.core._jobs import mapped
from qed.core._once import cached_property
from qed.core._shared_params import VERBOSE
from qed.core._validation import is_source
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._cross_validate import report_failures, require_error_score, require_folds
from qed.model_selection._judge import (
    Judged,
    Table,
    fitted_to,
    is_classifier,
    judge,
    score_parts,
    scorers_of,
    table_for,
)
from qed.model_selection._settings import ParameterGrid, ParameterSampler
from qed.model_selection._shared import judged_together
from qed.model_selection._subset import cut_folds, rows_and_targets

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence


Array = np.ndarray[Any, Any]


def _is_a_table(model: Any, results: dict[str, Any]) -> str:
    lengths = {len(column) for column in results.values() if hasattr(column, "__len__")}
    sized = all(isinstance(column, np.ndarray | list) for column in results.values())
    if not sized or len(lengths) != 1:
        return "should hold columns of one length"
    at = model.__dict__.get("best_index_", 0)
    return "" if at < next(iter(lengths)) else "should have a row of number best_index_"


def _is_a_model(model: Any, best: Any) -> str:  # noqa: ARG001
    return "" if hasattr(best, "get_params") and not isinstance(best, type) else "should be a model"


class Search(Estimator):
    """What all searches share."""

    if TYPE_CHECKING:  # declared by each of them, in the order of its own constructor
        estimator: Any
        scoring: Any
        refit: Any

    _not_saved = frozenset({"_judged"})  # what a fit goes on from with resume=True, in the same program

    cv_results_: dict[str, Any] = fitted(
        "Every setting with its scores, by name of the column.",
        dtype="label or object",
        finite=False,
        nan=True,
        check=_is_a_table,
        answers=False,
    )
    best_estimator_: Any = fitted("The best setting, fitted on all rows.", optional=True, check=_is_a_model)
    best_params_: dict[str, Any] = fitted(
        "The best setting.", optional=True, dtype="label or object", finite=False, nan=True
    )
    best_score_: float = fitted("Its mean score.", optional=True, finite=False, nan=True)
    best_index_: int = fitted("Its row in ``cv_results_``; of equal ones the first.", optional=True, low=0)
    n_splits_: int = fitted("Number of folds.", low=1, answers=False)
    refit_time_: float = fitted("Seconds of the last fit, on all rows.", optional=True, low=0, answers=False)
    multimetric_: bool = fitted("Whether several scores were asked for.", answers=False)
    outcome_: str = fitted(
        "``'searched'``, or ``'budget'``, ``'stopped'`` or ``'interrupted'`` when some settings were left out.",
        answers=False,
    )

    @cached_property
    def scorer_(self) -> Any:
        """The scorers that judged: a function, or several by name."""
        self._check_is_fitted()
        scorers, several = scorers_of(self.estimator, self.scoring)
        return dict(scorers) if several else scorers["score"]

    predict = Delegated("Predict with the best model.")
    predict_proba = Delegated("Return the probabilities of the best model.")
    predict_log_proba = Delegated("Return the log-probabilities of the best model.")
    decision_function = Delegated("Return the scores of the best model.")
    transform = Delegated("Transform with the best model.")
    inverse_transform = Delegated("Undo the transformation of the best model.")
    score_samples = Delegated("Score rows with the best model.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Judge the settings, and fit the best on all rows.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m), optional
            Targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, passed to ``fit`` of the model and cut like the rows.
        groups : array-like of shape (n,), optional
            Which rows belong together, for splitters that ask.
        **fit_params : object
            Passed to ``fit`` of the model; what has one entry for each row is cut like the rows.

        Returns
        -------
        self
            The search, with the best model in it.
        """
        self._validate_params()
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        self._run(X, y, groups, fit_params).run()
        return self

    def _run(self, X: Any, y: Any, groups: Any, fit_params: Mapping[str, Any]) -> SearchRun:
        return SearchRun(self, X, y, groups, fit_params)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the best model, by the scorer that chose it.

        Parameters
        ----------
        y : array-like, optional
            Targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, for scorers that can count.

        Returns
        -------
        float
            The score.
        """
        self._check_is_fitted()
        if "best_estimator_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no best model to score: refit=False.")
        scorer = self.scorer_
        if isinstance(scorer, dict):
            if not isinstance(self.refit, str) or self.refit not in scorer:
                raise InvalidParameter(
                    f"{type(self).__name__}.refit must name one of the scores {list(scorer)}, got {self.refit!r}."
                )
            scorer = scorer[self.refit]
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(
            scorer(self.best_estimator_, X, **extra) if y is None else scorer(self.best_estimator_, X, y, **extra)
        )

    def _routed_parts(self, method: str) -> list[tuple[Any, str]]:
        scored = list(score_parts(self.estimator, scorers_of(self.estimator, self.scoring)[0]).values())
        return [(self.estimator, "fit"), *scored] if method == "fit" else scored

    def _delegate(self) -> Any:
        best = self.__dict__.get("best_estimator_")
        return self.estimator if best is None else best

    def _ask(self, method: str, X: Any, **options: Any) -> Any:
        self._check_is_fitted()
        if "best_estimator_" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no best model to {method} with: refit=False. Set refit=True, or fit a model with"
                " best_params_."
            )
        return getattr(self.best_estimator_, method)(X, **options)

    @property
    def classes_(self) -> Any:
        """The labels that the best model knows; for several columns of labels a list."""
        found = self._best().classes_
        return found if isinstance(found, list) else np.asarray(found)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the best model was fitted on."""
        return int(self._best().n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns that the best model was fitted on."""
        return np.asarray(self._best().feature_names_in_, dtype=object)

    def _best(self) -> Any:
        best = self.__dict__.get("best_estimator_")
        if best is None:
            raise AttributeError(f"{type(self).__name__} has no fitted model yet.")
        return best

    @property
    def certificate_(self) -> Any:
        """What is proved about the best model."""
        return self._best().certificate_

    def _settings(self) -> Sequence[Mapping[str, Any]]:
        raise NotImplementedError

    def _traits(self) -> Traits:
        own = getattr(self.estimator, "_traits", None)
        if own is not None:
            traits: Traits = own()
            return traits._replace(deterministic=True, poor_score=True)
        role = "classifier" if is_classifier(self.estimator) else "regressor"
        return Traits(role=role, target="label" if role == "classifier" else "number", sparse=True, poor_score=True)


class GridSearchCV(Search):
    """Grid search: exhaustive hyperparameter search with cross-validation.

    Objective
    ---------
    The mean score over the folds; of equal settings the first, so list simpler ones first.

    Certificate
    -----------
    That of the best model, fitted on all rows with ``best_params_``. The scores of folds are no part of it: ``qed.verify`` checks
    that means, ranks and the choice follow from them, and does not compute them again.

    Cost
    ----
    One fit for each setting and fold, less what the model can share: least squares needs one pass for all of them.

    Notes
    -----
    Works with estimators, splitters and scorers of scikit-learn, and inside its own search.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import GridSearchCV
    >>> X, y = make_regression(n_samples=100, n_features=4, noise=1.0, random_state=0)
    >>> GridSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0]}).fit(X, y).best_params_
    {'alpha': 0.01}
    """

    estimator: Any = param(None, "The model whose settings are searched.")
    param_grid: Any = param(None, "Values to try, by name of the parameter; or a list of such dictionaries.")
    _: KW_ONLY
    scoring: Any = param(None, "How to score: a name, a function, several of them; None is the model's own score.")
    n_jobs: Any = param(None, "Fits at the same time, in threads; -1 for as many as there are processors.")
    refit: Any = param(
        True, "Whether to fit the best on all rows; with several scores, the name of the one that chooses."
    )
    cv: Any = param(None, "Folds: a number, a splitter or pairs of indices; five by default.")
    verbose: NonNegativeInt = VERBOSE
    pre_dispatch: Any = param("2*n_jobs", "Tasks that scikit-learn would dispatch ahead.", kind="hint")
    error_score: Any = param(float("nan"), "What a failing fit scores; 'raise' to stop.")
    return_train_score: bool = param(False, "Whether to score the training rows too.")
    budget: Positive | None = param(None, "Seconds after which no further setting is started; at least one is judged.")
    resume: bool = param(False, "Whether to go on where an earlier fit on the same rows was interrupted.")

    def _settings(self) -> Sequence[Mapping[str, Any]]:
        if self.param_grid is None:
            raise InvalidParameter("GridSearchCV.param_grid is missing: {'alpha': [0.1, 1.0]}, for example.")
        return list(ParameterGrid(self.param_grid))


class RandomizedSearchCV(Search):
    """Random search: hyperparameter settings drawn at random, compared by cross-validation.

    Objective
    ---------
    The mean score over the folds; of equal settings the first.

    Certificate
    -----------
    That of the best model, fitted on all rows with ``best_params_``. The scores of folds are no part of it: ``qed.verify`` checks
    that means, ranks and the choice follow from them, and does not compute them again.

    Cost
    ----
    One fit for each setting and fold, less what the model can share.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import RandomizedSearchCV
    >>> X, y = make_regression(n_samples=100, n_features=4, noise=1.0, random_state=0)
    >>> search = RandomizedSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0, 1e4]}, n_iter=3, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.best_params_["alpha"] < 100
    (3, True)
    """

    estimator: Any = param(None, "The model whose settings are searched.")
    param_distributions: Any = param(None, "Values or distributions (with rvs) to draw from, by name of the parameter.")
    _: KW_ONLY
    n_iter: PositiveInt = param(10, "Number of draws.")
    scoring: Any = param(None, "How to score: a name, a function, several of them; None is the model's own score.")
    n_jobs: Any = param(None, "Fits at the same time, in threads; -1 for as many as there are processors.")
    refit: Any = param(
        True, "Whether to fit the best on all rows; with several scores, the name of the one that chooses."
    )
    cv: Any = param(None, "Folds: a number, a splitter or pairs of indices; five by default.")
    verbose: NonNegativeInt = VERBOSE
    pre_dispatch: Any = param("2*n_jobs", "Tasks that scikit-learn would dispatch ahead.", kind="hint")
    random_state: Seed = param(None, "Seed of the draws.")
    error_score: Any = param(float("nan"), "What a failing fit scores; 'raise' to stop.")
    return_train_score: bool = param(False, "Whether to score the training rows too.")
    budget: Positive | None = param(None, "Seconds after which no further setting is started; at least one is judged.")
    resume: bool = param(False, "Whether to go on where an earlier fit on the same rows was interrupted.")

    def _settings(self) -> Sequence[Mapping[str, Any]]:
        if self.param_distributions is None:
            raise InvalidParameter(
                "RandomizedSearchCV.param_distributions is missing: {'alpha': [0.1, 1.0]}, for example."
            )
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))


def _judge_one(
    estimator: Any,
    table: Table,
    settings: Sequence[Mapping[str, Any]],
    folds: Sequence[Any],
    scorers: Any,
    options: Mapping[str, Any],
    pair: tuple[int, int],
) -> Judged:
    setting, fold = pair
    return judge(estimator, table, folds[fold], setting=settings[setting], scorers=scorers, **options)


class SearchRun:
    """One search: the settings, the folds, and what is known so far."""

    def __init__(self, search: Any, X: Any, y: Any, groups: Any, fit_params: Mapping[str, Any]) -> None:
        self.search = search
        if not hasattr(search.estimator, "fit") or isinstance(search.estimator, type):
            raise InvalidParameter(
                f"{type(search).__name__}.estimator must be a model with fit, got {search.estimator!r}. Pass an instance, such as"
                " Ridge()."
            )
        X, y = rows_and_targets(X, y, classifier=is_classifier(search.estimator))
        self.scorers, self.several = scorers_of(search.estimator, search.scoring)
        self.table = table_for(search, search.estimator, X, y, fit_params, self.scorers)
        require_error_score(search.error_score)
        self._require_refit()
        splitter = check_cv(search.cv, y, classifier=is_classifier(search.estimator))
        self.folds = cut_folds(X, splitter.split(X, y, groups))
        require_folds(self.folds)
        self.settings = self.read_settings()
        if not self.settings:
            raise InvalidParameter(f"{type(search).__name__} has no setting to try.")
        for name in {name for setting in self.settings for name in setting}:
            if name.partition("__")[0] not in search.estimator.get_params(deep=True):
                clone(search.estimator).set_params(**{name: None})  # raises in the model's own words

    def read_settings(self) -> Sequence[Mapping[str, Any]]:
        """List the settings to judge."""
        settings: Sequence[Mapping[str, Any]] = self.search._settings()  # noqa: SLF001
        return settings

    def _require_refit(self) -> None:
        refit = self.search.refit
        if self.several and refit is not False and not callable(refit) and refit not in self.scorers:
            raise InvalidParameter(
                f"{type(self.search).__name__}: with several scores, refit must be False or the name of one of them"
                f" ({', '.join(self.scorers)}), got {refit!r}: it says which one chooses."
            )

    def run(self) -> None:
        """Judge, store the table, and fit the best."""
        search = self.search
        earlier = search.__dict__.get("_judged", {}) if search.resume else {}
        judged, outcome = self._judge(earlier)
        search.__dict__.pop("_judged", None)
        if outcome != "searched":
            search._judged = judged  # noqa: SLF001
        if not judged:
            raise KeyboardInterrupt
        report_failures([one for row in judged.values() for one in row], search.error_score)
        order = sorted(judged)
        self.store([self.settings[k] for k in order], [judged[k] for k in order], outcome)
        if search.refit is not False:
            self.fit_best()
        if outcome == "interrupted":
            raise KeyboardInterrupt

    def _judge(self, earlier: Mapping[int, list[Judged]]) -> tuple[dict[int, list[Judged]], str]:
        search = self.search
        judged = {k: row for k, row in earlier.items() if k < len(self.settings) and len(row) == len(self.folds)}
        left = [k for k in range(len(self.settings)) if k not in judged]
        if not search.return_train_score and left:
            together = judged_together(
                search.estimator, self.table, self.folds, [self.settings[k] for k in left], self.scorers
            )
            if together is not None:
                judged.update(zip(left, together, strict=True))
                return judged, "searched"
        return judged, self._one_by_one(judged, left)

    def _one_by_one(self, judged: dict[int, list[Judged]], left: Sequence[int]) -> str:
        """Judge the settings that are left, and say how it ended."""
        search = self.search
        start = time.perf_counter()
        pairs = [(k, fold) for k in left for fold in range(len(self.folds))]
        results = self._judge_pairs(self.settings, self.folds, pairs)
        with Progress(type(search).__name__, len(left), verbose=search.verbose) as progress, closing(results):
            for k in left:
                if search.budget is not None and judged and time.perf_counter() - start > search.budget:
                    return "budget"
                try:
                    judged[k] = list(islice(results, len(self.folds)))
                except KeyboardInterrupt:
                    return "interrupted"
                if progress.step(self.mean_score(judged[k]), str(self.settings[k])) is STOP:
                    return "stopped"
        return "searched"

    def judge_setting(self, setting: Mapping[str, Any], folds: Sequence[Any]) -> list[Judged]:
        """Fit a setting on the training rows of every fold, and score it on the others."""
        return list(self._judge_pairs([setting], folds, [(0, fold) for fold in range(len(folds))]))

    def _judge_pairs(
        self, settings: Sequence[Mapping[str, Any]], folds: Sequence[Any], pairs: Sequence[tuple[int, int]]
    ) -> Generator[Judged]:
        """Judge settings on folds, each pair by numbers; in threads or on a cluster, candidates and folds alike."""
        search = self.search
        options = {"error_score": search.error_score, "with_train": search.return_train_score, "keep": False}
        one = partial(_judge_one, search.estimator, self.table, settings, folds, self.scorers, options)
        # Fits to a source read its chunks on all workers of a cluster, one fit after the other.
        return mapped(one, pairs, search.n_jobs, pure=not is_source(self.table.X))

    def mean_score(self, judged: Sequence[Judged]) -> float:
        """Return the mean over the folds, of the first score if there are several."""
        name = next(iter(self.scorers))
        return float(np.mean([one.scores[name] for one in judged]))

    def store(self, settings: Sequence[Mapping[str, Any]], judged: Sequence[list[Judged]], outcome: str) -> None:
        """Write the table of all settings, and which of them is the best."""
        search = self.search
        if search.verbose >= 3:
            _show_folds(settings, judged)
        results = _table(settings, judged, self.scorers, several=self.several)
        search.cv_results_, search.outcome_ = results, outcome
        search.n_splits_, search.multimetric_ = len(self.folds), self.several
        for name in ("scorer_", "best_estimator_", "best_index_", "best_params_", "best_score_", "refit_time_"):
            search.__dict__.pop(name, None)
        self._choose(results)
        if "best_index_" in search.__dict__:
            search.best_params_ = dict(settings[search.best_index_])

    def _choose(self, results: Mapping[str, Any]) -> None:
        """Say which row of the table is the best."""
        search = self.search
        if callable(search.refit):
            search.best_index_ = int(search.refit(results))
        elif search.refit is not False or not self.several:
            name = search.refit if self.several else "score"
            search.best_index_ = int(np.argmin(results[f"rank_test_{name}"]))
            search.best_score_ = float(results[f"mean_test_{name}"][search.best_index_])

    def fit_best(self) -> None:
        """Fit the best setting on all rows."""
        search = self.search
        start = time.perf_counter()
        model = clone(search.estimator).set_params(**clone(search.best_params_))
        fitted_to(model, self.table.X, self.table.y, self.table.extra)
        search.best_estimator_, search.refit_time_ = model, time.perf_counter() - start


def _show_folds(settings: Sequence[Mapping[str, Any]], judged: Sequence[list[Judged]]) -> None:
    """Write a line for every setting and fold: its scores and the seconds it took."""
    for setting, folds in zip(settings, judged, strict=True):
        words = ", ".join(f"{name}={value}" for name, value in setting.items())
        for k, one in enumerate(folds, start=1):
            scores = " ".join(f"{name}={value:.3f}" for name, value in one.scores.items())
            took = one.fit_time + one.score_time
            sys.stdout.write(f"[CV {k}/{len(folds)}] END {words}; {scores} total time={took:6.1f}s\n")


def _table(
    settings: Sequence[Mapping[str, Any]],
    judged: Sequence[Sequence[Judged]],
    scorers: Mapping[str, Any],
    *,
    several: bool,
) -> dict[str, Any]:
    """Write what was found as columns, under scikit-learn's names."""
    results: dict[str, Any] = {}
    for column in ("fit_time", "score_time"):
        values = np.array([[getattr(one, column) for one in row] for row in judged])
        results[f"mean_{column}"], results[f"std_{column}"] = values.mean(axis=1), values.std(axis=1)
    for name in sorted({name for setting in settings for name in setting}):
        results[f"param_{name}"] = _masked([setting.get(name, np.ma.masked) for setting in settings])
    results["params"] = [dict(setting) for setting in settings]
    for name in scorers:
        label = name if several else "score"
        scores = np.array([[one.scores[name] for one in row] for row in judged])
        results |= _score_columns("test", label, scores)
        results[f"rank_test_{label}"] = _ranks(results[f"mean_test_{label}"])
        if judged and judged[0] and judged[0][0].train_scores is not None:
            learnt = np.array([[(one.train_scores or {}).get(name, np.nan) for one in row] for row in judged])
            results |= _score_columns("train", label, learnt)
    return results


def _score_columns(part: str, label: str, scores: Array) -> dict[str, Array]:
    columns = {f"split{k}_{part}_{label}": scores[:, k] for k in range(scores.shape[1])}
    return columns | {f"mean_{part}_{label}": scores.mean(axis=1), f"std_{part}_{label}": scores.std(axis=1)}


def _ranks(mean: Array) -> Array:
    """Return one for the best; equal ones share the better rank, and what has no score comes last."""
    known = np.where(np.isnan(mean), -np.inf, mean)
    return np.array([1 + int(np.sum(known > value)) for value in known], dtype=np.int32)


def _masked(values: Sequence[Any]) -> Any:
    plain = np.empty(len(values), dtype=object)
    mask = np.array([value is np.ma.masked for value in values])
    for k, value in enumerate(values):
        plain[k] = None if mask[k] else value
    kinds = {type(value) for value, hidden in zip(values, mask, strict=True) if not hidden}
    if len(kinds) == 1 and next(iter(kinds)) in (bool, int, float, np.float64, np.int64):
        kind = next(iter(kinds))
        filled = np.array([kind() if hidden else value for value, hidden in zip(values, mask, strict=True)])
        return np.ma.array(filled, mask=mask)
    return np.ma.array(plain, mask=mask, dtype=object)

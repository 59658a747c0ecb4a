"""Successive halving: many settings on few rows, then fewer and fewer settings on more and more rows."""

from __future__ import annotations

from math import ceil, floor, log
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from qed.core import KW_ONLY, InvalidParameter, NonNegativeInt, Number, PositiveInt, Seed, fitted, param
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.model_selection._cross_validate import report_failures
from qed.model_selection._judge import Judged, is_classifier
from qed.model_selection._search import Search, SearchRun
from qed.model_selection._settings import ParameterGrid, ParameterSampler
from qed.model_selection._splitter import count_rows, draws

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qed.model_selection._splitter import Indices

Array = np.ndarray[Any, Any]
ROWS = "n_samples"  # the resource that is a number of rows; any other one is a parameter of the model
Factor = Annotated[float, Number(low=1, open_low=True)]

# parameters of both searches
FACTOR = param(3, "A round has so many times fewer settings than the one before, and more of the resource.")
RESOURCE = param(ROWS, "What grows: 'n_samples', or a parameter of the model that is a whole number.")
MAX_RESOURCES = param("auto", "The most of it; 'auto' is the number of rows.")
AGGRESSIVE = param(
    False, "Whether to repeat the first round until so few settings are left that all the resource can be used."
)
FOLDS = param(5, "Folds: a number, a splitter or pairs of indices.")
SCORING = param(None, "How to score: a name or a function; None is the model's own score.")
REFIT = param(True, "Whether to fit the best on all rows.")
ERROR_SCORE = param(float("nan"), "What a failing fit scores; 'raise' to stop.")
TRAIN_SCORE = param(True, "Whether to score the training rows too.")
JOBS = param(None, "Fits at the same time, in threads; -1 for as many as there are processors.")
FIRST_RESOURCE = (
    "What the first round uses: 'smallest' is two rows for each fold and class; 'exhaust' as much as leaves the last round with"
    " all of it."
)


class Halving(Search):
    """What both halving searches share."""

    n_resources_: list[int] = fitted("The resource in each round.", answers=False)
    n_candidates_: list[int] = fitted("The number of settings in each round.", answers=False)
    n_remaining_candidates_: int = fitted("Settings that a further round would have had.", low=1, answers=False)
    n_iterations_: int = fitted("Rounds.", low=1, answers=False)
    n_required_iterations_: int = fitted("Rounds that leave fewer settings than the factor.", low=1, answers=False)
    n_possible_iterations_: int = fitted("Rounds for which the resource suffices.", low=1, answers=False)
    min_resources_: int = fitted("The resource of the first round.", low=1, answers=False)
    max_resources_: int = fitted("The most of it that a round may use.", low=1, answers=False)

    def _run(self, X: Any, y: Any, groups: Any, fit_params: Mapping[str, Any]) -> SearchRun:
        return HalvingRun(self, X, y, groups, fit_params)

    def _first_settings(self) -> Sequence[Mapping[str, Any]]:
        raise NotImplementedError

    def _settings(self) -> Sequence[Mapping[str, Any]]:
        return ()


class HalvingGridSearchCV(Halving):
    """Grid search by successive halving: all settings on few rows, the better ones on more.

    Objective
    ---------
    The mean score over the folds. In each round the best share ``1 / factor`` of the settings is kept, and the resource grows by
    ``factor``; of the last round the best setting wins.

    Certificate
    -----------
    That of the best model, fitted on all rows.

    Cost
    ----
    About one fit of all rows for each fold and round, if a fit costs in proportion to the resource.

    See Also
    --------
    GridSearchCV : Every setting on all rows.

    Notes
    -----
    ``from qed.experimental import enable_halving_search_cv`` works as in scikit-learn, and is not needed.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import HalvingGridSearchCV
    >>> X, y = make_regression(n_samples=300, n_features=4, noise=1.0, random_state=0)
    >>> search = HalvingGridSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0]}, random_state=0).fit(X, y)
    >>> search.best_params_, search.n_resources_
    ({'alpha': 0.01}, [100, 300])
    """

    estimator: Any = param(None, "The model whose settings are searched.")
    param_grid: Any = param(None, "Values to try, by name of the parameter; or a list of such dictionaries.")
    _: KW_ONLY
    factor: Factor = FACTOR
    resource: str = RESOURCE
    max_resources: PositiveInt | Literal["auto"] = MAX_RESOURCES
    min_resources: PositiveInt | Literal["smallest", "exhaust"] = param(
        "exhaust",
        FIRST_RESOURCE,
    )
    aggressive_elimination: bool = AGGRESSIVE
    cv: Any = FOLDS
    scoring: Any = SCORING
    refit: bool = REFIT
    error_score: Any = ERROR_SCORE
    return_train_score: bool = TRAIN_SCORE
    random_state: Seed = param(None, "Seed of the rows that rounds draw.")
    n_jobs: Any = JOBS
    verbose: NonNegativeInt = VERBOSE

    def _first_settings(self) -> Sequence[Mapping[str, Any]]:
        if self.param_grid is None:
            raise InvalidParameter("HalvingGridSearchCV.param_grid is missing: {'alpha': [0.1, 1.0]}, for example.")
        return list(ParameterGrid(self.param_grid))


class HalvingRandomSearchCV(Halving):
    """Random search by successive halving: random settings on few rows, the better ones on more.

    Objective
    ---------
    The mean score over the folds, as in `HalvingGridSearchCV`.

    Certificate
    -----------
    That of the best model, fitted on all rows.

    Cost
    ----
    About one fit of all rows for each fold and round, if a fit costs in proportion to the resource.

    See Also
    --------
    RandomizedSearchCV : Every setting on all rows.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import HalvingRandomSearchCV
    >>> X, y = make_regression(n_samples=300, n_features=4, noise=1.0, random_state=0)
    >>> search = HalvingRandomSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0, 1e4]}, random_state=0).fit(X, y)
    >>> search.n_candidates_, search.best_params_["alpha"] < 100
    ([4, 2], True)
    """

    estimator: Any = param(None, "The model whose settings are searched.")
    param_distributions: Any = param(None, "Values or distributions (with rvs) to draw from, by name of the parameter.")
    _: KW_ONLY
    n_candidates: PositiveInt | Literal["exhaust"] = param(
        "exhaust",
        "Settings of the first round; 'exhaust' draws as many as leave the last round with all of the resource.",
    )
    factor: Factor = FACTOR
    resource: str = RESOURCE
    max_resources: PositiveInt | Literal["auto"] = MAX_RESOURCES
    min_resources: PositiveInt | Literal["smallest", "exhaust"] = param(
        "smallest",
        FIRST_RESOURCE,
    )
    aggressive_elimination: bool = AGGRESSIVE
    cv: Any = FOLDS
    scoring: Any = SCORING
    refit: bool = REFIT
    error_score: Any = ERROR_SCORE
    return_train_score: bool = TRAIN_SCORE
    random_state: Seed = param(None, "Seed of the settings, and of the rows that rounds draw.")
    n_jobs: Any = JOBS
    verbose: NonNegativeInt = VERBOSE

    def _first_settings(self) -> Sequence[Mapping[str, Any]]:
        if self.param_distributions is None:
            raise InvalidParameter(
                "HalvingRandomSearchCV.param_distributions is missing: {'alpha': [0.1, 1.0]}, for example."
            )
        if self.min_resources == self.n_candidates == "exhaust":
            raise InvalidParameter(
                "HalvingRandomSearchCV.n_candidates and min_resources cannot both be 'exhaust': one follows from the other. Give"
                " one of them a number, or min_resources='smallest'."
            )
        count = self.n_candidates
        if count == "exhaust":
            count = self.max_resources_ // self.min_resources_
        return list(ParameterSampler(self.param_distributions, count, random_state=self.random_state))


class HalvingRun(SearchRun):
    """One halving search: rounds of settings on the folds, each with more of the resource."""

    def read_settings(self) -> Sequence[Mapping[str, Any]]:
        """Fix the resource of the first and of the last round, and list the settings of the first one."""
        search = self.search
        names = search.estimator.get_params(deep=True)
        if search.resource not in (ROWS, *names):
            raise InvalidParameter(
                f"{type(search).__name__}.resource must be 'n_samples' or a parameter of {type(search.estimator).__name__}, got"
                f" {search.resource!r}."
            )
        self._set_resources()
        settings: Sequence[Mapping[str, Any]] = search._first_settings()  # noqa: SLF001
        if search.resource != ROWS and any(search.resource in setting for setting in settings):
            raise InvalidParameter(
                f"{search.resource!r} is the resource, which rounds choose, and also a parameter to search. Take it out of the"
                " settings."
            )
        return settings

    def _require_refit(self) -> None:
        if self.several:
            raise InvalidParameter(
                f"{type(self.search).__name__}.scoring must be one score, which says what is kept from round to round; got"
                f" {self.search.scoring!r}. For several use GridSearchCV or RandomizedSearchCV."
            )

    def _set_resources(self) -> None:
        search, rows = self.search, count_rows(self.table.X)
        most, least = search.max_resources, search.min_resources
        if most == "auto":
            if search.resource != ROWS:
                raise InvalidParameter(
                    f"max_resources='auto' is the number of rows, and the resource is {search.resource!r}. Give"
                    " max_resources a number."
                )
            most = rows
        if least in ("smallest", "exhaust"):
            # two rows of each class in every fold, so that all of them can be fitted
            classes = len(np.unique(np.asarray(self.table.y))) if is_classifier(search.estimator) else 1
            least = 2 * len(self.folds) * classes if search.resource == ROWS else 1
        if least > most:
            raise InvalidParameter(
                f"min_resources_={least} is greater than max_resources_={most}: the first round would need more {search.resource}"
                " than there are. Take fewer folds, or set min_resources."
            )
        search.min_resources_, search.max_resources_ = int(least), int(most)

    def _rounds(self) -> Iterator[tuple[int, int]]:
        """Yield the number and the resource of each round."""
        search, count = self.search, len(self.settings)
        needed = 1 + floor(log(count, search.factor))
        if search.min_resources == "exhaust":
            spread = int(search.max_resources_ // search.factor ** (needed - 1))
            search.min_resources_ = max(search.min_resources_, spread)
        possible = 1 + floor(log(search.max_resources_ // search.min_resources_, search.factor))
        rounds = needed if search.aggressive_elimination else min(needed, possible)
        search.n_required_iterations_, search.n_possible_iterations_ = needed, possible
        for number in range(rounds):
            power = max(0, number - needed + possible) if search.aggressive_elimination else number
            yield number, min(int(search.factor**power * search.min_resources_), search.max_resources_)

    def run(self) -> None:
        """Judge the settings round by round, store the table, and fit the best."""
        search = self.search
        settings = list(self.settings)
        listed: list[Mapping[str, Any]] = []
        judged: list[list[Judged]] = []
        iteration: list[int] = []
        used: list[int] = []
        search.n_resources_, search.n_candidates_, outcome = [], [], "searched"
        with Progress(type(search).__name__, None, verbose=search.verbose) as progress:
            for number, resource in self._rounds():
                scores, outcome = self._round(settings, resource, judged, progress)
                listed += self._with_resource(settings[: len(scores)], resource)
                iteration += [number] * len(scores)
                used += [resource] * len(scores)
                search.n_resources_.append(resource)
                search.n_candidates_.append(len(settings))
                if outcome != "searched":
                    break
                settings = [settings[k] for k in best(scores, ceil(len(settings) / search.factor))]
        if not judged:
            raise KeyboardInterrupt
        report_failures([one for row in judged for one in row], search.error_score)
        search.n_iterations_ = len(search.n_resources_)
        search.n_remaining_candidates_ = ceil(search.n_candidates_[-1] / search.factor)
        self.iteration, self.used = np.array(iteration), np.array(used)
        self.store(listed, judged, outcome)
        if search.refit:
            self.fit_best()
        if outcome == "interrupted":
            raise KeyboardInterrupt

    def _round(
        self, settings: Sequence[Mapping[str, Any]], resource: int, judged: list[list[Judged]], progress: Progress
    ) -> tuple[list[float], str]:
        folds = self.folds if self.search.resource != ROWS else list(self._drawn(resource))
        scores: list[float] = []
        for setting in self._with_resource(settings, resource):
            try:
                judged.append(self.judge_setting(setting, folds))
            except KeyboardInterrupt:
                return scores, "interrupted"
            scores.append(self.mean_score(judged[-1]))
            if progress.step(scores[-1], str(setting)) is STOP:
                return scores, "stopped"
        return scores, "searched"

    def _with_resource(self, settings: Sequence[Mapping[str, Any]], resource: int) -> list[Mapping[str, Any]]:
        return (
            list(settings)
            if self.search.resource == ROWS
            else [{**setting, self.search.resource: resource} for setting in settings]
        )

    def _drawn(self, resource: int) -> Iterator[tuple[Indices, Indices]]:
        """Yield the folds with some of their rows, an equal share of training and test rows."""
        share = resource / count_rows(self.table.X)
        for train, test in self.folds:
            yield self._some(train, share), self._some(test, share)

    def _some(self, rows: Indices, share: float) -> Indices:
        order = np.arange(len(rows))
        draws(self.search.random_state).shuffle(order)
        return np.asarray(rows)[order[: int(share * len(rows))]]

    def _choose(self, results: Any) -> None:
        """Add the columns of the rounds; the best is that of the last round."""
        search = self.search
        results["iter"], results["n_resources"] = self.iteration, self.used
        last = np.flatnonzero(self.iteration == self.iteration.max())
        mean = results["mean_test_score"][last]
        search.best_index_ = int(last[0 if np.isnan(mean).all() else np.nanargmax(mean)])
        search.best_score_ = float(results["mean_test_score"][search.best_index_])


def best(scores: Sequence[float], count: int) -> Array:
    """Return the places of the best scores, from the lowest of them to the highest; what has no score comes first of all."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    return np.argsort(known, kind="stable")[-count:]

"""Models whose answers are combined, part by part: votes, stacks, one for each target, and searches for the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, clone
from qed.core._records import _equal, public_name
from qed.core._targets import as_target
from qed.verify._answers import agreed
from qed.verify._blocks import rows_of, stacked
from qed.verify._declared import declares
from qed.verify._part import HALVING, Part, folds_of, numbered, same_parameters, weight_for
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]


def voting(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the members, each with the numbers of the labels, or with the targets."""
    target = numbered(model, y)
    for name, part, template in _members(model):
        yield Part(name, part, template, X, target, _own_weight(model, name, sample_weight))


def stacking(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the members, those fitted on all folds but one, and the final model with what the latter say of the fold left out."""
    target, members, state = numbered(model, y), _members(model), vars(model)
    _require_methods(model, members)
    prefit = isinstance(model.cv, str) and model.cv == "prefit"
    for name, part, template in members:
        yield Part(name, part, part if prefit else template, X, target, _own_weight(model, name, sample_weight, prefit))
    asked = [_asked(part, method, X) for (_, part, _), method in zip(members, model.stack_method_, strict=True)]
    if not prefit:
        fold, inner = folds_of(model, len(target), model.cv), state.get("fold_estimators_")
        count = int(fold.max()) + 1
        sized = isinstance(inner, list) and [len(one) for one in inner if isinstance(one, list)] == [count] * len(
            members
        )
        if not sized or len(inner) != len(members):
            refuse_changed(model, "does not hold a model of each member for each fold")
        for (name, part, template), of_folds, method, said in zip(
            members, inner, model.stack_method_, asked, strict=True
        ):
            said[...] = np.nan if said.dtype.kind == "f" else 0
            for number, one in enumerate(of_folds):
                used, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
                own = _own_weight(model, name, sample_weight)
                weight = None if own is None else np.asarray(own)[used]
                where = f"{name}, without fold {number}"
                yield Part(where, one, template, rows_of(X, used), target[used], weight, is_listed=False)
                answers = _asked(one, method, rows_of(X, held))
                said[held] = _by_class(answers, one, part, method) if method != "predict" else answers
    table = stacked(model, asked, X)
    last = state["final_estimator_"]
    template = model.final_estimator
    if template is None:  # the default of its kind, with the parameters of its class
        usual = "LogisticRegression" if declares(model, "classes_") else "RidgeCV"
        if public_name(type(last)) != f"qed.linear_model.{usual}":
            refuse_changed(
                model, f"has a {type(last).__name__} as its final model, and without a name for one it is {usual}"
            )
        template = type(last)()
    own = weight_for(last, _own_weight(model, "final_estimator", sample_weight))
    yield Part("final_estimator", last, template, table, target, own)


def _own_weight(model: Any, name: str, sample_weight: Any, prefit: bool = False) -> Any:
    """Return the weights that a part was fitted with: those of the whole, unless it did not ask for them."""
    weighted = vars(model).get("weighted_")  # None in files of versions that did not keep it
    return sample_weight if prefit or weighted is None or name in weighted else None


def _require_methods(model: Any, members: list[tuple[str, Any, Any]]) -> None:
    """Refuse other questions to the members than those that the parameters lead to."""
    wanted = getattr(model, "stack_method", "predict")
    order = ("predict_proba", "decision_function", "predict") if wanted == "auto" else (wanted,)
    right = [
        next((one for one in order if hasattr(type(part), one) and hasattr(part, one)), None) for _, part, _ in members
    ]
    if list(model.stack_method_) != right:
        refuse_changed(
            model, f"asks its members for {model.stack_method_!r:.100}, and its parameters lead to {right!r:.100}"
        )


def _asked(part: Any, method: str, X: Any) -> Array:
    """Return what a verified model says of some rows, as a table or a column of numbers."""
    return np.array(agreed(part, method, X))


def _by_class(answers: Array, one: Any, whole: Any, method: str) -> Array:
    """Put the columns of a fold that lacks a class where they belong; the class that it cannot know gets the least value."""
    known, every = np.asarray(getattr(one, "classes_", ())), np.asarray(getattr(whole, "classes_", ()))
    if answers.ndim == 1 or len(known) == len(every):
        return answers
    least = 0.0 if method == "predict_proba" else float(np.finfo(answers.dtype).min)
    full = np.full((len(answers), len(every)), least, dtype=answers.dtype)
    full[:, np.searchsorted(every, known)] = answers
    return full


def _members(model: Any) -> list[tuple[str, Any, Any]]:
    """Return names, fitted members and their templates, those left out that the parameters drop."""
    kept = [(name, one) for name, one in model.estimators if not (isinstance(one, str) and one == "drop")]
    found = vars(model)["estimators_"]
    if not isinstance(found, list | tuple) or len(found) != len(kept):
        refuse_changed(model, f"does not hold one fitted model for each of {[name for name, _ in kept]!r:.200}")
    return [(name, part, template) for (name, template), part in zip(kept, found, strict=True)]


def multi_output(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield one model for each target."""
    target, parts = as_target(y, "y"), vars(model)["estimators_"]
    if target.ndim != 2 or not isinstance(parts, list | tuple) or len(parts) != target.shape[1]:
        raise OtherData(f"This {type(model).__name__} does not hold one model for each of these targets.")
    for number, part in enumerate(parts):
        yield Part(f"target {number}", part, model.estimator, X, target[:, number], sample_weight)
    if declares(model, "classes_"):
        own = model.classes_
        if len(own) != len(parts) or not all(
            _equal(a, vars(b).get("classes_")) for a, b in zip(own, parts, strict=True)
        ):
            refuse_changed(model, "has other labels than its parts")


def threshold(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the classifier whose scores are cut; a threshold that was chosen must be the best of its table."""
    part, template = model.estimator_, model.estimator
    if public_name(type(model)) == "qed.model_selection.TunedThresholdClassifierCV":
        at, mean = (np.asarray(model.cv_results_[name], dtype=np.float64) for name in ("thresholds", "scores"))
        best = int(np.argmax(mean))
        if at.shape != mean.shape or model.best_threshold_ != at[best] or model.best_score_ != mean[best]:
            refuse_changed(model, "stores another threshold or score than the best of its table")
        if isinstance(model.cv, str) and model.cv == "prefit":
            template = part
        elif not model.refit:
            raise CertificateError(
                "This TunedThresholdClassifierCV was fitted on some of the rows (refit=False), and does not say which. Verify"
                " estimator_ with the rows that reached it, or fit again with refit=True."
            )
    yield Part("estimator", part, template, X, y, weight_for(part, sample_weight))


def search(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the best model, whose parameters must be those that the table of scores calls the best."""
    state = vars(model)
    results, best = model.cv_results_, state.get("best_index_")
    settings = results["params"]
    if (
        type(best) is not int
        or not 0 <= best < len(settings)
        or not same_parameters(state["best_params_"], settings[best])
    ):
        refuse_changed(model, "stores other best parameters than its table of scores")
    if public_name(type(model)) in HALVING:
        _require_rounds(model, results)
    _require_scores(model, results, best)
    template = clone(model.estimator).set_params(**clone(state["best_params_"]))
    part = state["best_estimator_"]
    yield Part("best_estimator", part, template, X, y, weight_for(part, sample_weight), is_listed=False)


def _require_scores(model: Any, results: dict[str, Any], best: int) -> None:
    """Check that means, ranks and the choice follow from the scores of the folds, which themselves are not computed again."""
    several = model.multimetric_ is True
    for name in [key.removeprefix("rank_test_") for key in results if key.startswith("rank_test_")]:
        folds = np.stack([results[f"split{k}_test_{name}"] for k in range(model.n_splits_)], axis=1)
        mean = results[f"mean_test_{name}"]
        known = np.where(np.isnan(mean), -np.inf, mean)
        rank = np.array([1 + int(np.sum(known > value)) for value in known])
        near = np.isclose(folds.mean(axis=1), mean, rtol=1e-12, atol=1e-300, equal_nan=True)
        if not near.all() or not np.array_equal(rank, results[f"rank_test_{name}"]):
            refuse_changed(model, "stores means or ranks that do not follow from the scores of its folds")
        chooses = not callable(model.refit) and (model.refit == name if several else True)
        halving = public_name(type(model)) in HALVING
        ranked = np.where(results["iter"] == results["iter"].max(), rank, len(rank) + 1) if halving else rank
        if chooses and (best != int(np.argmin(ranked)) or not same_parameters(float(mean[best]), model.best_score_)):
            refuse_changed(model, "stores a best score or index that does not follow from its table of scores")


def _require_rounds(model: Any, results: dict[str, Any]) -> None:
    """Check that each round of a halving search holds the best settings of the round before, with the resource it names."""
    rounds, mean, settings = results["iter"], results["mean_test_score"], results["params"]
    counts = [int(np.sum(rounds == number)) for number in range(model.n_iterations_)]
    short = counts[-1] < model.n_candidates_[-1] and model.outcome_ != "searched"  # a round that was not finished
    if sum(counts) != len(rounds) or (counts[:-1] if short else counts) != model.n_candidates_[: len(counts) - short]:
        refuse_changed(model, "stores rounds of other sizes than its table of scores")
    if not np.array_equal(results["n_resources"], np.repeat(model.n_resources_, counts)):
        refuse_changed(model, "stores another resource of its rounds than its table of scores")
    for number in range(1, len(counts)):
        before, now = np.flatnonzero(rounds == number - 1), np.flatnonzero(rounds == number)
        known = np.where(np.isnan(mean[before]), -np.inf, mean[before])
        kept = before[np.argsort(known, kind="stable")[-model.n_candidates_[number] :]][: len(now)]
        own = [{**settings[k], model.resource: model.n_resources_[number]} for k in kept]
        if model.resource == "n_samples":
            own = [settings[k] for k in kept]
        if not all(map(same_parameters, own, (settings[k] for k in now))):
            refuse_changed(model, "keeps other settings from round to round than the best of its table of scores")

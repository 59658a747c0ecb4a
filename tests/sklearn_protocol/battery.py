"""Everything that scikit-learn checks about an estimator, for a class that does not inherit from it.

``checks_for(estimator)`` yields scikit-learn's public battery; then the checks it runs on its own estimators only,
because they stand in its private tests or ask for ``isinstance(estimator, ClusterMixin)``; then a few of ours about
the same promises, which scikit-learn's battery does not notice when broken. None of them is expected to fail, except the two
about weights for models that learn one row at a time, for which a weight is that of the loss, and for models with random starts:
these must fail.
"""

from __future__ import annotations

import inspect
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks as theirs
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError, generate_invalid_param_val, make_constraint
from sklearn.utils._testing import set_random_state

__all__ = ["checks_for"]

Check = Callable[[], None]

# These hand a classifier one column of labels, or index a list of probabilities; scikit-learn skips its own classifier of
# several targets altogether.
_ONE_TARGET = {
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
}

# These ask a list of probabilities, one array for each target, for its shape; compose/test_compose.py has our own.
_ONE_LIST = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
# a weight multiplies the step of its row, which is not the step taken twice
# random starts: a repeated row changes the draws, and not their distribution (tested over many seeds beside the model)
_SEEDED = {
    "BaggingClassifier",
    "BisectingKMeans",
    "KMeans",
    "KMedoids",
    "KernelKMeans",
    "MiniBatchKMeans",
    "RandomForestClassifier",
    "SoftKMeans",
}
_ONLINE = {"Perceptron", "SGDClassifier", "SGDRegressor", "VotedPerceptron"}


def _failing(check: Check) -> Check:
    """Turn a check that must fail into one that must pass."""

    def fails() -> None:
        with pytest.raises(AssertionError, match="is not equivalent to fitting with removed or repeated data points"):
            check()

    return fails


def checks_for(estimator: Any) -> Iterator[tuple[str, Check]]:
    """Yield names and checks; each check is called without arguments and raises when something is wrong.

    Parameters
    ----------
    estimator : Estimator
        An unfitted instance, with default parameters or with others.
    """
    name = type(estimator).__name__
    seen: set[str] = set()
    dispatch = bool(os.environ.get("SCIPY_ARRAY_API"))
    tags = get_tags(estimator)
    generated = theirs.estimator_checks_generator(estimator, legacy=True) if tags.input_tags.two_d_array else ()
    for instance, check in generated:
        label = _label(check)
        several = not tags.target_tags.single_output
        if several and label.partition("(")[0] in _ONE_TARGET:
            continue
        if several and label in _ONE_LIST and tags.estimator_type == "classifier":
            continue
        if label in _ONE_LIST and tags.estimator_type == "density_estimator" and hasattr(estimator, "predict_proba"):
            continue  # they ask how many classes there are; mixture/test_discrete.py has our own
        if label == "check_decision_proba_consistency" and tags.input_tags.positive_only:
            continue  # it hands over negative counts; naive_bayes/test_counting.py has our own
        if "array_api" in label and not dispatch:  # these skip themselves; test_modes.py runs them where they run
            continue
        seen.add(label)
        bound = partial(check, instance)
        yield label, _failing(bound) if name in _ONLINE | _SEEDED and "sample_weight_equivalence" in label else bound
    for check in _withheld(estimator) if tags.input_tags.two_d_array else ():
        label = _label(check)
        if label not in seen:
            seen.add(label)
            yield label, partial(check, name, estimator)
    for check in _ours(estimator):
        yield _label(check), partial(check, estimator)


def _label(check: Any) -> str:
    words = []
    while isinstance(check, partial):
        words += [f"{key}={value}" for key, value in check.keywords.items()]
        check = check.func
    return f"{inspect.unwrap(check).__name__}({', '.join(words)})" if words else inspect.unwrap(check).__name__


def _withheld(estimator: Any) -> Iterator[Callable[[str, Any], None]]:
    tags = get_tags(estimator)
    if tags.estimator_type == "clusterer":
        yield from theirs._yield_clustering_checks(estimator)
    if tags.estimator_type == "classifier" and "class_weight" in estimator.get_params():
        yield theirs.check_class_weight_classifiers
        if "coef_" in type(estimator)._results:
            yield _with_rare_classes(theirs.check_class_weight_balanced_linear_classifier)
    if tags.estimator_type == "outlier_detector":
        yield theirs.check_outlier_contamination
    yield theirs.check_n_features_in_after_fitting
    if type(estimator).__name__ != "ColumnTransformer":  # it picks columns by name and lets others pass, here as there
        yield theirs.check_dataframe_column_names_consistency
    yield theirs.check_inplace_ensure_writeable
    yield theirs.check_readonly_memmap_input
    if tags.transformer_tags is not None:
        yield theirs.check_transformer_get_feature_names_out
        yield theirs.check_transformer_get_feature_names_out_pandas
        yield theirs.check_get_feature_names_out_error
        yield theirs.check_set_output_transform
        yield _mixing_names(theirs.check_set_output_transform_pandas)
        yield _mixing_names(theirs.check_global_output_transform_pandas)
        yield _mixing_names(theirs.check_set_output_transform_polars)
        yield _mixing_names(theirs.check_global_set_output_transform_polars)


def _with_rare_classes(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    """Let a check fit a class of two rows, of which models that choose by folds rightly say that it is rare."""

    @wraps(check)
    def quiet(name: str, estimator: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class in y has only")
            check(name, estimator)

    return quiet


def _mixing_names(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    """Let a check fit with names and transform without, as these four do on purpose."""

    @wraps(check)
    def quiet(name: str, estimator: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names")
            check(name, estimator)

    return quiet


def _ours(estimator: Any) -> Iterator[Callable[[Any], None]]:
    yield check_parameters_are_validated
    yield check_clone_keeps_choices
    yield check_requests_are_routed
    yield check_pickle_is_ours_alone
    yield check_unfitted_is_told_so
    yield check_documentation


def _data(estimator: Any) -> tuple[Any, ...]:
    tags = get_tags(estimator)
    if not tags.input_tags.two_d_array and tags.target_tags.required and not tags.target_tags.one_d_labels:
        return np.arange(9.0), np.array([1.0, 3.0, 2.0, 4.0, 4.0, 6.0, 5.0, 8.0, 7.0])  # models of one column
    if not tags.input_tags.two_d_array:  # models of labels, of sets of labels, of texts, of dicts
        if tags.input_tags.dict:
            return ([{"a": 1.0, "b": "word"}, {"a": 2.0}],)
        if tags.target_tags.one_d_labels:
            return (np.arange(24) % 3,)
        return (["one text", "and one more"] if tags.input_tags.string else [["a"], ["a", "b"]],)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(1, 2, size=(24, 4)), np.arange(24) % 2
    return theirs._enforce_estimator_tags_X(estimator, X), theirs._enforce_estimator_tags_y(estimator, y)


def _fitted(estimator: Any) -> Any:
    model = clone(estimator)
    set_random_state(model)
    return model.fit(*_data(estimator))


def check_parameters_are_validated(estimator: Any) -> None:
    """Each parameter refuses what its constraints exclude, at fit, in words, as scikit-learn's error."""
    data = _data(estimator)
    name = type(estimator).__name__
    assert estimator._parameter_constraints.keys() == estimator.get_params(deep=False).keys()
    for parameter, constraints in estimator._parameter_constraints.items():
        field = type(estimator)._fields[parameter]
        if constraints == "no_validation" or field.kind == "refused":
            continue
        bad = [type("Stranger", (), {})()]
        for constraint in constraints:
            try:
                bad.append(generate_invalid_param_val(make_constraint(constraint)))
            except NotImplementedError:
                continue
        for value in bad:
            if field.rule.accepts(value):  # excluded by one constraint, allowed by another
                assert len(constraints) > 1
                continue
            model = clone(estimator).set_params(**{parameter: value})
            with pytest.raises(InvalidParameterError, match=rf"{name}\.{parameter} must be"):
                model.fit(*data)


def check_clone_keeps_choices(estimator: Any) -> None:
    """A clone has equal parameters, the routing requests and the output choice, and nothing learnt."""
    model = _fitted(estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        if "fit" in type(model)._metadata:
            model.set_fit_request(**dict.fromkeys(type(model)._metadata["fit"], True))
        if hasattr(model, "set_output"):
            model.set_output(transform="pandas")
        copy = clone(model)
        assert str(copy.get_metadata_routing()) == str(model.get_metadata_routing())
    assert vars(copy).get("_output") == vars(model).get("_output")
    assert not copy.__sklearn_is_fitted__()
    assert repr(copy) == repr(model)


def check_requests_are_routed(estimator: Any) -> None:
    """Every argument of a method that is no data can be requested, and the request is read back."""
    model = clone(estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        for method, names in type(model)._metadata.items():
            getattr(model, f"set_{method}_request")(**dict.fromkeys(names, True))
            asked = getattr(model.get_metadata_routing(), method).requests
            assert asked == dict.fromkeys(names, True), (method, asked)


def check_pickle_is_ours_alone(estimator: Any) -> None:
    """A pickle gives the same model back and holds nothing of scikit-learn, even with requests made."""
    model = _fitted(estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        if "fit" in type(model)._metadata:
            model.set_fit_request(**dict.fromkeys(type(model)._metadata["fit"], True))
    frozen = pickle.dumps(model)
    assert b"sklearn" not in frozen
    thawed = pickle.loads(frozen)
    assert repr(thawed) == repr(model)
    assert vars(thawed).keys() == vars(model).keys()


def check_unfitted_is_told_so(estimator: Any) -> None:
    """What needs a fit says so with scikit-learn's error, which survives pickling."""
    if not get_tags(estimator).requires_fit:
        return
    X = _data(estimator)[0]
    for method in ("predict", "transform", "decision_function", "predict_proba", "score_samples"):
        ask = getattr(estimator, method, None)
        if ask is None:
            continue
        with pytest.raises(NotFittedError, match="not fitted yet") as caught:
            ask(X)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), NotFittedError)


def check_documentation(estimator: Any) -> None:
    """Every parameter and every fitted attribute stands in the docstring, and the signature agrees."""
    doc = type(estimator).__doc__
    fields = type(estimator)._fields
    assert list(inspect.signature(type(estimator)).parameters) == list(fields)
    for name in fields:
        assert f"\n{name} : " in doc, name
    hidden = {"n_features_in_", "feature_names_in_"}
    for name in vars(_fitted(estimator)):
        if name.endswith("_") and not name.startswith("_") and name not in hidden:
            assert f"\n{name} : " in doc, f"{name} is not documented"

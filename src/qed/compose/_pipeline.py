"""One step after the other, as one model."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.compose._steps import (
    NamedParts,
    announced,
    conditional,
    is_word,
    named_transformers,
    require_instances,
    require_names,
)
from qed.core import KW_ONLY, InvalidParameter, Traits, clone, fitted, param
from qed.core._delegated import Delegated
from qed.core._parts import models_with, traits_of
from qed.core._routing import is_enabled


def _are_steps(model: Any, steps: list[tuple[str, Any]]) -> str:
    last = [] if is_word(steps[-1][1]) else [steps[-1][1]]
    return named_transformers(model, steps[:-1]) or (models_with()(model, last) if last else "")


class Pipeline(NamedParts):
    """A pipeline of transformers, with a model at the end.

    Objective
    ---------
    That of the last step, on what the steps before it make of the rows.

    Certificate
    -----------
    CompositeCertificate: every step keeps its own, about the rows that reached it; ``qed.verify`` checks them in order.

    Cost
    ----
    The sum of the steps.

    Notes
    -----
    Steps may be qed's or scikit-learn's, and the pipeline may stand inside scikit-learn's own. ``sample_weight`` reaches every
    step whose ``fit`` takes one; ``step__name=value`` reaches one step. Rows to stop early by, ``step__X_val``, stay unknown to the
    steps before when ``transform_input=["X_val"]``: those transform them and do not learn from them. With metadata routing
    (`qed.set_config`) every step gets what it asked for by ``set_fit_request``, and nothing else.

    Examples
    --------
    >>> from qed.compose import make_pipeline
    >>> from qed.linear_model import Ridge
    >>> from qed.preprocessing import StandardScaler
    >>> make_pipeline(StandardScaler(), Ridge()).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 4.0]).predict([[2.0]]).shape
    (1,)
    """

    _list = "steps"
    _parts_follow = True

    steps: Any = param((), "Pairs of name and model, in order; 'passthrough' for a step that does nothing.")
    _: KW_ONLY
    transform_input: Any = param(
        None,
        "Names of arguments of `fit`, such as ['X_val'], that a step gets as the steps before it transform them.",
    )
    memory: Any = param(
        None, "Where to cache fitted steps.", kind="refused", instead="Use sklearn.pipeline.Pipeline(memory=...)."
    )
    verbose: bool = param(False, "Whether to show how long each step takes.")

    steps_: list[tuple[str, Any]] = fitted(
        "The fitted steps, as pairs of name and model.", length="at least 1", check=_are_steps
    )
    certificate_: CompositeCertificate = fitted("The certificates of the steps.")

    predict = Delegated("Predict with the last step.")
    predict_proba = Delegated("Return the probabilities of the last step.")
    predict_log_proba = Delegated("Return the log-probabilities of the last step.")
    decision_function = Delegated("Return the scores of the last step.")
    score_samples = Delegated("Score rows with the last step.")

    # -- parts -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, key: int | str | slice) -> Any:
        """Return a step by position or name, or a pipeline of some of them, sharing the fitted models."""
        if isinstance(key, slice):
            part = type(self)(list(self.steps)[key], transform_input=self.transform_input, verbose=self.verbose)
            if "steps_" in self.__dict__:
                part.steps_ = self.steps_[key]
                part.weighted_ = [name for name, _ in part.steps_ if name in self.__dict__.get("weighted_", ())]
                part.certificate_ = composite_certificate(part.steps_)
            return part
        steps = self._known()
        return dict(steps)[key] if isinstance(key, str) else steps[key][1]

    @property
    def named_steps(self) -> Any:
        """The steps by name: ``pipeline.named_steps["ridge"]`` or ``pipeline.named_steps.ridge``."""
        return _Named(self._known())

    def _known(self) -> list[tuple[str, Any]]:
        return list(self.__dict__.get("steps_", self.steps))

    # -- learning ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **step_params: Any) -> Self:
        """Fit every step on what the steps before it give.

        Parameters
        ----------
        X : table of n rows
            Rows, in whatever form the first step takes.
        y : array-like of shape (n,), optional
            Targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, for steps that can count.
        **step_params : object
            ``step__name=value``, passed to ``fit`` of that step; with metadata routing, metadata by their own names.

        Returns
        -------
        self
            The fitted pipeline.
        """
        self._learn(X, y, sample_weight, step_params)
        return self

    @conditional
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, **step_params: Any) -> Any:
        """Fit, and return the rows after the last step.

        Parameters
        ----------
        X, y, sample_weight, **step_params : object
            As for `fit`.
        """
        inner, last = self._learn(X, y, sample_weight, step_params, keep=True)
        return inner if last is None else last.transform(inner)

    @conditional
    def fit_predict(self, X: Any, y: Any = None, **step_params: Any) -> Any:
        """Fit, and return what the last step says of the same rows.

        Parameters
        ----------
        X, y, **step_params : object
            As for `fit`.
        """
        return self.fit(X, y, **step_params).predict(X)

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, step_params: dict[str, Any], *, keep: bool = False
    ) -> tuple[Any, Any]:
        """Fit the steps; with ``keep`` return what reaches the last one, and that one."""
        self._validate_params()
        self._require_steps()
        metadata = self._metadata_of_fit(sample_weight, step_params) if is_enabled() else None
        extra = self._sorted_out(step_params if metadata is None else {})
        done: list[tuple[str, Any]] = []
        weighted = []
        for name, step in self.steps[:-1]:
            model = None if _is_nothing(step) else clone(step)
            if model is not None:
                options = self._transformed(self._fit_options(model, sample_weight, metadata) | extra[name], done)
                weighted += [name] * (options.get("sample_weight") is not None)
                with announced(self, name, verbose=self.verbose):
                    if hasattr(model, "fit_transform"):
                        X = model.fit_transform(X, y, **options)
                    else:
                        X = model.fit(X, y, **options).transform(X)
            done.append((name, "passthrough" if model is None else model))
        name, step = self.steps[-1]
        last = None if _is_nothing(step) else clone(step)
        if last is not None:
            options = self._transformed(self._fit_options(last, sample_weight, metadata) | extra[name], done)
            weighted += [name] * (options.get("sample_weight") is not None)
            with announced(self, name, verbose=self.verbose):
                last.fit(X, **options) if y is None else last.fit(X, y, **options)
        done.append((name, "passthrough" if last is None else last))
        self.steps_, self.weighted_ = done, weighted
        self.certificate_ = composite_certificate(done)
        return (X, last) if keep else (None, None)

    def _transformed(self, options: dict[str, Any], done: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the arguments of a step, those of ``transform_input`` as the steps before it transform them."""
        for name in self.transform_input or ():
            for _, step in done if options.get(name) is not None else ():
                if not _is_nothing(step):
                    options[name] = step.transform(options[name])
        return options

    def _routed_parts(self, method: str) -> list[tuple[Any, str]]:
        parts = super()._routed_parts(method)
        return parts if method == "fit" else parts[-1:]

    def _require_steps(self) -> None:
        names = self.transform_input
        if names is not None and not (isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)):
            raise InvalidParameter(
                f"Pipeline.transform_input must be a list of names of arguments of fit, ['X_val'] for example; got {names!r}."
            )
        steps = self.steps
        if not isinstance(steps, list | tuple) or not steps or any(len(step) != 2 for step in steps):
            raise InvalidParameter(
                f"Pipeline.steps must be a list of pairs, [('scale', StandardScaler()), ('ridge', Ridge())] for example; got"
                f" {steps!r}."
            )
        require_names(self, [name for name, _ in steps])
        require_instances(self, steps)
        for name, step in steps[:-1]:
            if not _is_nothing(step) and not (hasattr(step, "fit") and hasattr(step, "transform")):
                raise InvalidParameter(
                    "All intermediate steps should be transformers and implement fit and transform or be the string"
                    f" 'passthrough'; step {name!r} is {step!r}."
                )
        name, step = steps[-1]
        if not _is_nothing(step) and not hasattr(step, "fit"):
            raise InvalidParameter(
                f"Last step of Pipeline should implement fit or be the string 'passthrough'; {name!r} is {step!r}."
            )

    def _sorted_out(self, step_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        extra: dict[str, dict[str, Any]] = {name: {} for name, _ in self.steps}
        for name, value in step_params.items():
            step, _, inner = name.partition("__")
            if not inner or step not in extra:
                raise InvalidParameter(
                    f"Pipeline.fit does not accept the {name} parameter. Say which step it is for: 'step__{name}', with a step of"
                    f" {', '.join(extra)}."
                )
            extra[step][inner] = value
        return extra

    # -- asking ------------------------------------------------------------------------------------------

    def _delegate(self) -> Any:
        steps = self._known()
        if not steps:
            raise AttributeError("This Pipeline has no steps.")
        return steps[-1][1]

    def _ask(self, method: str, X: Any, **options: Any) -> Any:
        self._check_is_fitted()
        for _, step in self.steps_[:-1]:
            if not _is_nothing(step):
                X = step.transform(X)
        return getattr(self.steps_[-1][1], method)(X, **options)

    @conditional
    def transform(self, X: Any) -> Any:
        """Return the rows after all steps.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        for _, step in self.steps_:
            if not _is_nothing(step):
                X = step.transform(X)
        return X

    @conditional
    def inverse_transform(self, X: Any) -> Any:
        """Undo all steps, the last one first.

        Parameters
        ----------
        X : table of n rows
            Transformed rows.
        """
        self._check_is_fitted()
        for _, step in reversed(self.steps_):
            if not _is_nothing(step):
                X = step.inverse_transform(X)
        return X

    def _require_ability(self, method: str) -> None:
        steps = self.__dict__.get("steps_", [])
        if not steps and isinstance(self.steps, list | tuple):
            steps = self._known()
        needed = {"fit_transform": "transform", "fit_predict": "predict"}.get(method, method)
        for name, step in steps if method == "inverse_transform" else steps[-1:]:
            if not _is_nothing(step) and not hasattr(step, needed):
                raise AttributeError(f"This Pipeline has no {method}: step {name!r} ({type(step).__name__}) has none.")

    @conditional
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the last step.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,), optional
            The truth.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.
        """
        self._check_is_fitted()
        for _, step in self.steps_[:-1]:
            if not _is_nothing(step):
                X = step.transform(X)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        last = self.steps_[-1][1]
        return float(last.score(X, **options) if y is None else last.score(X, y, **options))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out of the last step."""
        self._check_is_fitted()
        names = input_features
        for name, step in self.steps_:
            if _is_nothing(step):
                continue
            if not hasattr(step, "get_feature_names_out"):
                raise AttributeError(f"Step {name!r} ({type(step).__name__}) does not name its columns.")
            names = step.get_feature_names_out(names)
        return names

    # -- what others want to know --------------------------------------------------------------------------

    @property
    def classes_(self) -> Any:
        """The labels that the last step knows."""
        return self._fitted_last().classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the first step saw."""
        return int(self._fitted_first().n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns that the first step saw."""
        return self._fitted_first().feature_names_in_

    def _fitted_last(self) -> Any:
        if "steps_" not in self.__dict__:
            raise AttributeError("This Pipeline is not fitted yet.")
        return self.steps_[-1][1]

    def _fitted_first(self) -> Any:
        if "steps_" not in self.__dict__:
            raise AttributeError("This Pipeline is not fitted yet.")
        return next((step for _, step in self.steps_ if not _is_nothing(step)), None)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether every step is fitted."""
        return "steps_" in self.__dict__

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of what every step gives.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The container.
        """
        for _, step in [*self.steps, *self.__dict__.get("steps_", [])]:
            if hasattr(step, "set_output"):
                step.set_output(transform=transform)
        return self

    def _traits(self) -> Traits:
        """Take over what the first step accepts and the last one does."""
        try:
            steps = [step for _, step in self.steps if not _is_nothing(step)]
        except (TypeError, ValueError):
            return Traits()
        if not steps:
            return Traits(role="transformer", transforms=True)
        first, last = traits_of(steps[0]), traits_of(steps[-1])
        every = [traits_of(step) for step in steps]
        return last._replace(
            sparse=all(one.sparse for one in every),
            allow_nan=all(one.allow_nan for one in every),
            positive_only=first.positive_only,
            pairwise=first.pairwise,
            strings=first.strings,
            categorical=first.categorical,
            table=first.table,
        )

    def _takes_words(self) -> bool:
        steps = [step for _, step in self.steps if not _is_nothing(step)]
        takes = getattr(steps[0], "_takes_words", None) if steps else None
        return takes is not None and bool(takes())


class _Named(dict[str, Any]):
    """Steps by name, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"There is no step called {name!r}; there are {', '.join(self)}.") from None


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def make_pipeline(*steps: Any, memory: Any = None, transform_input: Any = None, verbose: bool = False) -> Pipeline:
    """Build a pipeline whose steps are named after their classes.

    Parameters
    ----------
    *steps : estimator
        The steps, in order.
    memory : None
        Refused, as in `Pipeline`.
    transform_input : list of str, optional
        Arguments of `fit` that the steps before transform, as in `Pipeline`.
    verbose : bool
        Whether to show how long each step takes.

    Returns
    -------
    Pipeline
        The pipeline, not fitted.

    Examples
    --------
    >>> from qed.compose import make_pipeline
    >>> from qed.linear_model import Ridge
    >>> [name for name, _ in make_pipeline("passthrough", Ridge(), Ridge()).steps]
    ['passthrough', 'ridge-1', 'ridge-2']
    """
    named = list(zip(names_for(steps), steps, strict=True))
    return Pipeline(named, transform_input=transform_input, memory=memory, verbose=verbose)


def names_for(models: Any) -> list[str]:
    """Name models after their classes, in lower case; those of one class are numbered."""
    names = [model if isinstance(model, str) else type(model).__name__.lower() for model in models]
    often, seen = Counter(names), Counter[str]()
    for at, name in enumerate(names):
        if often[name] > 1:
            seen[name] += 1
            names[at] = f"{name}-{seen[name]}"
    return names

"""Several models, one answer: votes and averages."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.compose._steps import (
    NamedParts,
    announced,
    models_of_codes,
    one_column,
    require_instances,
    require_names,
    stacked,
)
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    Regressor,
    Traits,
    Transformer,
    Vector,
    clone,
    fitted,
    param,
)
from qed.core._jobs import mapped
from qed.core._parts import accepts_weight, copy_columns, models_with, traits_of
from qed.core._roles import _input_names as input_names
from qed.core._targets import encode


class Members(NamedParts):
    """What models of several models share: a list of pairs ``estimators``, of which some may be dropped."""

    _list = "estimators"
    estimators: Any
    n_jobs: Any

    def _required(self) -> list[tuple[str, Any]]:
        owner: Any = self
        title, given = type(self).__name__, self.estimators
        if not isinstance(given, list | tuple) or not given or any(len(pair) != 2 for pair in given):
            raise InvalidParameter(
                f"{title}: invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, estimator) tuples;"
                f" got {given!r}."
            )
        require_names(owner, [name for name, _ in given])
        require_instances(owner, given)
        kept = [(name, model) for name, model in given if not (isinstance(model, str) and model == "drop")]
        if not kept:
            raise InvalidParameter(f"{title}: all estimators are dropped. At least one is required to be an estimator.")
        return kept

    def _fitted_members(
        self, members: list[tuple[str, Any]], X: Any, y: Any, sample_weight: Any, metadata: dict[str, Any] | None
    ) -> list[Any]:
        owner: Any = self
        self.weighted_ = [
            name
            for name, model in members
            if "sample_weight" in self._member_options(name, model, sample_weight, metadata)
        ]

        def learnt(member: tuple[str, Any]) -> Any:
            name, model = member[0], clone(member[1])
            options = self._member_options(name, model, sample_weight, metadata)
            with announced(owner, name, verbose=owner.verbose):
                return model.fit(X, y, **options)

        return list(mapped(learnt, members, self.n_jobs))

    def _member_options(
        self, name: str, model: Any, sample_weight: Any, metadata: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return what ``fit`` of a member is given; one that cannot count is refused where all are to."""
        if metadata is None and sample_weight is not None and not accepts_weight(model):
            raise TypeError(f"Underlying estimator {name} does not support sample weights.")
        return self._fit_options(model, sample_weight, metadata)


def inner_traits(own: Traits, estimators: Any) -> Traits:
    try:
        inner = [traits_of(model) for _, model in estimators if not isinstance(model, str)]
    except (TypeError, ValueError):
        return own
    if not inner:
        return own
    return own._replace(
        sparse=all(one.sparse for one in inner), allow_nan=all(one.allow_nan for one in inner), multi_output=False
    )


def pairs(members: list[tuple[str, Any]], models: list[Any]) -> list[tuple[str, Any]]:
    return [(name, model) for (name, _), model in zip(members, models, strict=True)]


def are_members(model: Any, parts: list[Any]) -> str:
    """Say what is wrong with fitted members: there is one for each that was asked for."""
    wanted = len(model._required())  # noqa: SLF001
    return models_with("predict")(model, parts) if len(parts) == wanted else f"should be {wanted}, and are {len(parts)}"


def _vote_by_number(model: Any, parts: list[Any]) -> str:
    return are_members(model, parts) or models_of_codes(model, parts, len(model.classes_))


def weights_of(model: Any, kept: set[str]) -> Array:
    """Return how much each member counts that is not dropped."""
    if model.weights is None:
        return np.ones(len(kept))
    if len(model.weights) != len(model.estimators):
        raise InvalidParameter(
            "Number of `estimators` and weights must be equal; got"
            f" {len(model.weights)} weights, {len(model.estimators)} estimators"
        )
    return np.array([w for w, (name, _) in zip(model.weights, model.estimators, strict=True) if name in kept])


class VotingClassifier(Classifier, Transformer, Members, keeps_dtype=None):
    """Voting: the majority vote, or the largest mean probability, of several classifiers.

    Objective
    ---------
    That of each member.

    Certificate
    -----------
    CompositeCertificate: every member keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    The sum of the members.

    Examples
    --------
    >>> from qed.ensemble import VotingClassifier
    >>> from qed.linear_model import LogisticRegression
    >>> members = [("weak", LogisticRegression(C=0.1)), ("strong", LogisticRegression(C=10.0))]
    >>> votes = VotingClassifier(members, voting="soft").fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> votes.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    estimators: Any = param((), "Pairs of name and classifier; 'drop' leaves one out.")
    _: KW_ONLY
    voting: Literal["hard", "soft"] = param("hard", "Whether labels vote, or probabilities are averaged.")
    weights: Vector | None = param(None, "How much each member counts.")
    n_jobs: Any = param(None, "Members fitted at the same time, in threads.")
    flatten_transform: bool = param(True, "Whether transform puts the probabilities of all members side by side.")
    verbose: bool = param(False, "Whether to show how long each member takes.")

    estimators_: list[Any] = fitted("The fitted members.", check=_vote_by_number)
    certificate_: CompositeCertificate = fitted("The certificates of the members.")
    classes_: Array = fitted("The labels.", dtype="label", shape="(k,)", order="strictly rising")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit every member.

        Parameters
        ----------
        X : table of n rows
            Rows.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self._validate_params()
        members = self._required()
        self._weights(members)
        labels = one_column(self, y)
        self.classes_, codes = encode(labels)
        metadata = self._metadata_of_fit(sample_weight, fit_params)
        self.estimators_ = self._fitted_members(members, X, codes, sample_weight, metadata)
        copy_columns(self, self.estimators_[0])
        self.certificate_ = composite_certificate(pairs(members, self.estimators_))
        return self

    def predict(self, X: Any) -> Any:
        """Return the label that wins; of equal ones the first.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        if self.voting == "soft":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        votes = stacked([model.predict(X) for model in self.estimators_]).astype(np.intp)
        weights = self._weights(self._required())
        if votes.ndim != 2 or not ((votes >= 0) & (votes < len(self.classes_))).all():
            raise InvalidData("A member votes for a label that this VotingClassifier does not have. Fit it again.")
        counts = np.zeros((len(votes), len(self.classes_)))
        for member, weight in enumerate(weights):
            counts[np.arange(len(votes)), votes[:, member]] += weight
        return self.classes_[np.argmax(counts, axis=1)]

    @property
    def predict_proba(self) -> Any:
        """Return the mean of the members' probabilities; there with ``voting='soft'``."""
        if self.voting != "soft":
            raise AttributeError("predict_proba is not available when voting='hard'. Say voting='soft'.")
        return self._mean_probabilities

    def _mean_probabilities(self, X: Any) -> Any:
        self._check_is_fitted()
        weights = self._weights(self._required())
        return np.average([model.predict_proba(X) for model in self.estimators_], axis=0, weights=weights)

    def transform(self, X: Any) -> Any:
        """Return what the members say: labels, or probabilities.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        if self.voting == "hard":
            return stacked([model.predict(X) for model in self.estimators_])
        said = [model.predict_proba(X) for model in self.estimators_]
        return np.hstack(said) if self.flatten_transform else np.asarray(said)

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted members by name."""
        self._check_is_fitted()
        return dict(zip([name for name, _ in self._required()], self.estimators_, strict=True))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``votingclassifier_<member>``."""
        self._check_is_fitted()
        input_names(self, input_features)
        if self.voting == "soft" and not self.flatten_transform:
            raise InvalidData(
                "get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`"
            )
        names = [f"votingclassifier_{name}" for name, _ in self._required()]
        if self.voting == "soft":
            names = [f"{name}{k}" for name in names for k in range(len(self.classes_))]
        return np.asarray(names, dtype=object)

    def _weights(self, members: list[tuple[str, Any]]) -> Any:
        return weights_of(self, {name for name, _ in members})

    def _traits(self) -> Traits:
        return inner_traits(super()._traits(), self.estimators)


class VotingRegressor(Regressor, Transformer, Members, keeps_dtype=None):
    """Voting: the mean of the predictions of several regressors.

    Objective
    ---------
    That of each member.

    Certificate
    -----------
    CompositeCertificate: every member keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    The sum of the members.

    Examples
    --------
    >>> from qed.ensemble import VotingRegressor
    >>> from qed.linear_model import LinearRegression, Ridge
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]
    >>> mean = VotingRegressor([("plain", LinearRegression()), ("ridge", Ridge(alpha=2.0))]).fit(X, y)
    >>> mean.predict([[4.0]]).round(6).tolist()  # the mean of 4 and 3
    [3.5]
    """

    estimators: Any = param((), "Pairs of name and regressor; 'drop' leaves one out.")
    _: KW_ONLY
    weights: Vector | None = param(None, "How much each member counts.")
    n_jobs: Any = param(None, "Members fitted at the same time, in threads.")
    verbose: bool = param(False, "Whether to show how long each member takes.")

    estimators_: list[Any] = fitted("The fitted members.", check=are_members)
    certificate_: CompositeCertificate = fitted("The certificates of the members.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit every member.

        Parameters
        ----------
        X : table of n rows
            Rows.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self._validate_params()
        members = self._required()
        self._mean_weights()
        metadata = self._metadata_of_fit(sample_weight, fit_params)
        self.estimators_ = self._fitted_members(members, X, one_column(self, y), sample_weight, metadata)
        copy_columns(self, self.estimators_[0])
        self.certificate_ = composite_certificate(pairs(members, self.estimators_))
        return self

    def predict(self, X: Any) -> Any:
        """Return the (weighted) mean of the members' predictions.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        said = self.transform(X)
        if said.dtype.kind not in "biuf":
            raise InvalidData("A member of this VotingRegressor predicts no numbers. Pass regressors.")
        return np.average(said, axis=1, weights=self._mean_weights())

    def transform(self, X: Any) -> Any:
        """Return what the members predict, side by side.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        return stacked([model.predict(X) for model in self.estimators_])

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted members by name."""
        self._check_is_fitted()
        return dict(zip([name for name, _ in self._required()], self.estimators_, strict=True))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``votingregressor_<member>``."""
        self._check_is_fitted()
        input_names(self, input_features)
        return np.asarray([f"votingregressor_{name}" for name, _ in self._required()], dtype=object)

    def _mean_weights(self) -> Any:
        return weights_of(self, {name for name, _ in self._required()})

    def _traits(self) -> Traits:
        return inner_traits(super()._traits(), self.estimators)

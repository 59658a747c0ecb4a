"""Forests, boosting, bagging, voting and stacking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.certificates import ExactCertificate, OutOfBagCertificate, StagedCertificate
from qed.verify import _boosting, _copies, _exact_boosting, _forests, _members, _random_trees
from qed.verify._answers import _composites, _trees
from qed.verify._answers._compare import METHODS, defined
from qed.verify._families._entry import by, of

if TYPE_CHECKING:
    from qed.verify._answers._compare import Rule

_FOREST_LABEL: dict[str, Rule] = {"predict": _trees.forest_label, "predict_proba": _trees.forest_chances}
_FOREST_CLASSIFIER = by(OutOfBagCertificate, _forests.check, _FOREST_LABEL)
_FOREST_REGRESSOR = by(OutOfBagCertificate, _forests.check, defined(predict=_trees.forest_number))
_BOOSTED_LABEL = defined(
    predict=_trees.boosted_label, predict_proba=_trees.boosted_chances, decision_function=_trees.boosted_decision
)
_BOOSTED_NUMBER = defined(predict=_trees.boosted_number)
_STACK = {one: _composites.stack(one) for one in METHODS[:-1]}

ENTRIES = {
    "AdaBoostClassifier": of(
        _copies.adaboost,
        {
            "predict": _composites.boosted_label,
            "predict_proba": _composites.boosted_chances,
            "decision_function": _composites.boosted_decision,
        },
    ),
    "AdaBoostRegressor": of(_copies.adaboost, {"predict": _composites.weighted_median}),
    "BaggingClassifier": of(
        _copies.bagging, {"predict": _composites.bagged_label, "predict_proba": _composites.bagged_chances}
    ),
    "BaggingRegressor": of(_copies.bagging, {"predict": _composites.bagged_number}),
    "ExtraTreesClassifier": _FOREST_CLASSIFIER,
    "ExtraTreesRegressor": _FOREST_REGRESSOR,
    "GradientBoostingClassifier": by(StagedCertificate, _exact_boosting.check, _BOOSTED_LABEL, _exact_boosting.initial),
    "GradientBoostingRegressor": by(StagedCertificate, _exact_boosting.check, _BOOSTED_NUMBER, _exact_boosting.initial),
    "HistGradientBoostingClassifier": by(StagedCertificate, _boosting.check, _BOOSTED_LABEL),
    "HistGradientBoostingRegressor": by(StagedCertificate, _boosting.check, _BOOSTED_NUMBER),
    "IsolationForest": by(
        ExactCertificate,
        _random_trees.isolation,
        defined(predict=_trees.path_label, decision_function=_trees.path_decision),
    ),
    "RandomForestClassifier": _FOREST_CLASSIFIER,
    "RandomForestRegressor": _FOREST_REGRESSOR,
    "RandomTreesEmbedding": by(ExactCertificate, _random_trees.embedding, {"transform": _trees.leaves}),
    "StackingClassifier": of(_members.stacking, _STACK),
    "StackingRegressor": of(_members.stacking, {one: _STACK[one] for one in ("predict", "transform")}),
    "VotingClassifier": of(
        _members.voting,
        {
            "predict": _composites.voted_label,
            "predict_proba": _composites.voted_chances,
            "transform": _composites.answers_of_members,
        },
    ),
    "VotingRegressor": of(
        _members.voting,
        {"predict": _composites.mean_of_members, "transform": _composites.answers_of_members},
    ),
}

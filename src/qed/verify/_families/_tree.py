"""Decision trees."""

from __future__ import annotations

from qed.certificates import TreeCertificate
from qed.verify import _multiway_trees
from qed.verify import _trees as _checks
from qed.verify._answers import _trees
from qed.verify._answers._compare import defined
from qed.verify._families._entry import by

_CLASSIFIER = by(TreeCertificate, _checks.check, {"predict": _trees.tree_label, "predict_proba": _trees.tree_chances})
_REGRESSOR = by(TreeCertificate, _checks.check, defined(predict=_trees.tree_number))

ENTRIES = {
    "DecisionTreeClassifier": _CLASSIFIER,
    "DecisionTreeRegressor": _REGRESSOR,
    "ExtraTreeClassifier": _CLASSIFIER,
    "ExtraTreeRegressor": _REGRESSOR,
    "MultiwayTreeClassifier": by(
        TreeCertificate,
        _multiway_trees.check,
        {"predict": _trees.branch_label, "predict_proba": _trees.branch_chances},
    ),
    "OptimalTreeClassifier": _CLASSIFIER,
    "OptimalTreeRegressor": _REGRESSOR,
}

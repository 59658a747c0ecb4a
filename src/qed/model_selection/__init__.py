"""Which rows to learn from, which to be judged by, and which settings to keep.

One rule: **a model is judged on rows it has not seen, and what the folds have in common is computed once.**

::

    _splitter                             what a splitter is
    _folds, _leave_out, _random_splits    every row once; all but some; at random
    _choice_of_folds, _subset             what ``cv`` may be; the plain split in two; some rows of any table
    _judge, _cross_validate               one fold; all folds
    _task                                 what there is to learn
    _prequential                          predict, then see the label, then learn
    _settings, _search, _simplest         what to try; the best of it, or the simplest that is as good
    _dummy, _lookup                       what every model is compared with: constants, and memory alone
    _shared                               work that folds and settings have in common
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.model_selection._choice_of_folds import check_cv, train_test_split
from qed.model_selection._cross_validate import cross_val_predict, cross_val_score, cross_validate
from qed.model_selection._curves import (
    LearningCurveDisplay,
    ValidationCurveDisplay,
    learning_curve,
    validation_curve,
)
from qed.model_selection._dummy import DummyClassifier, DummyRegressor
from qed.model_selection._folds import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from qed.model_selection._leave_out import (
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
)
from qed.model_selection._lookup import LookupClassifier
from qed.model_selection._prequential import PrequentialResult, prequential
from qed.model_selection._random_splits import Bootstrap, GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from qed.model_selection._search import GridSearchCV, RandomizedSearchCV
from qed.model_selection._settings import ParameterGrid, ParameterSampler
from qed.model_selection._simplest import Simplest
from qed.model_selection._task import task_of

__all__ = [
    "Bootstrap",
    "DummyClassifier",
    "DummyRegressor",
    "GridSearchCV",
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LearningCurveDisplay",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "LeavePGroupsOut",
    "LeavePOut",
    "LookupClassifier",
    "ParameterGrid",
    "ParameterSampler",
    "PredefinedSplit",
    "PrequentialResult",
    "RandomizedSearchCV",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "Simplest",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
    "ValidationCurveDisplay",
    "check_cv",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "learning_curve",
    "prequential",
    "task_of",
    "train_test_split",
    "validation_curve",
]
__getattr__ = lacking(__name__)

"""Scores are formulas over statistics that merge, and every score can say how sure it is.

The names, arguments and answers are scikit-learn's. What is added: `Tally`, a score that merges with the score of other
rows, and `score_interval`, a score with an interval around it.

Map: `Confusion` (labels), `Ranking` (scores of two classes), `Sample` and `Largest` (errors by order) and
`qed.data.Moments` (mean losses) are the statistics; a function reads its arguments, computes the statistic and applies a
formula; `_recipes` lists which formula belongs to which statistic and what is known about its interval. Scorers turn a
score into what model selection asks for; displays draw, and load matplotlib when they do.
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.metrics._areas import average_precision_score, roc_auc_score
from qed.metrics._classification import (
    accuracy_score,
    balanced_accuracy_score,
    class_likelihood_ratios,
    cohen_kappa_score,
    confusion_matrix,
    hamming_loss,
    matthews_corrcoef,
    zero_one_loss,
)
from qed.metrics._confusion import Confusion
from qed.metrics._confusion_display import ConfusionMatrixDisplay
from qed.metrics._costs import cost_sensitive_error, norm
from qed.metrics._curve_displays import DetCurveDisplay, PrecisionRecallDisplay, RocCurveDisplay
from qed.metrics._curves import (
    OperatingPoint,
    auc,
    confusion_matrix_at_thresholds,
    det_curve,
    operating_point,
    precision_recall_curve,
    roc_curve,
)
from qed.metrics._error_display import PredictionErrorDisplay
from qed.metrics._intervals import Score
from qed.metrics._measures import ModelMeasures, measure_model
from qed.metrics._precision_recall import (
    f1_score,
    fbeta_score,
    jaccard_score,
    multilabel_confusion_matrix,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)
from qed.metrics._probabilities import (
    brier_score_loss,
    d2_brier_score,
    d2_log_loss_score,
    hinge_loss,
    log_loss,
    top_k_accuracy_score,
)
from qed.metrics._quantiles import Largest, Sample
from qed.metrics._ranking import Ranking
from qed.metrics._regression import (
    d2_absolute_error_score,
    d2_pinball_score,
    d2_tweedie_score,
    explained_variance_score,
    max_error,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    mean_squared_log_error,
    mean_tweedie_deviance,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
    root_mean_squared_log_error,
)
from qed.metrics._report import classification_report
from qed.metrics._scorers import check_scoring, get_scorer, get_scorer_names, make_scorer
from qed.metrics._tally import Tally, score_interval

__all__ = [
    "Confusion",
    "ConfusionMatrixDisplay",
    "DetCurveDisplay",
    "Largest",
    "ModelMeasures",
    "OperatingPoint",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "Ranking",
    "RocCurveDisplay",
    "Sample",
    "Score",
    "Tally",
    "accuracy_score",
    "auc",
    "average_precision_score",
    "balanced_accuracy_score",
    "brier_score_loss",
    "check_scoring",
    "class_likelihood_ratios",
    "classification_report",
    "cohen_kappa_score",
    "confusion_matrix",
    "confusion_matrix_at_thresholds",
    "cost_sensitive_error",
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
    "d2_pinball_score",
    "d2_tweedie_score",
    "det_curve",
    "explained_variance_score",
    "f1_score",
    "fbeta_score",
    "get_scorer",
    "get_scorer_names",
    "hamming_loss",
    "hinge_loss",
    "jaccard_score",
    "log_loss",
    "make_scorer",
    "matthews_corrcoef",
    "max_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_gamma_deviance",
    "mean_pinball_loss",
    "mean_poisson_deviance",
    "mean_squared_error",
    "mean_squared_log_error",
    "mean_tweedie_deviance",
    "measure_model",
    "median_absolute_error",
    "multilabel_confusion_matrix",
    "norm",
    "operating_point",
    "precision_recall_curve",
    "precision_recall_fscore_support",
    "precision_score",
    "r2_score",
    "recall_score",
    "roc_auc_score",
    "roc_curve",
    "root_mean_squared_error",
    "root_mean_squared_log_error",
    "score_interval",
    "top_k_accuracy_score",
    "zero_one_loss",
]
__getattr__ = lacking(__name__)

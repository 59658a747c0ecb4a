"""Transformers, checked: what they learnt is computed again from the rows, by definition, and compared.

A transformer's certificate says that its numbers are those of the rows. Each class has a check of its own, which computes every
number that a result depends on in extended precision, sorts or counts, and compares with what the model stores, up to rounding
that it bounds itself.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.core._validation import is_source
from qed.verify import _categories, _column_scores, _fillings, _levels, _scales, _words
from qed.verify._learnt import DOUBLE, Learnt
from qed.verify._steps import check_steps
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import ExactCertificate


def check(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Compute again what the model learnt; raise CertificateError when it is something else."""
    found = next((_CHECKS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _CHECKS), None)
    if found is None:
        raise CertificateError(f"This checker does not know what {type(model).__name__} learns.")
    if is_source(X) and type(model).__name__ not in _STREAMED:
        raise CertificateError(
            f"{type(model).__name__} is not checked on a source of chunks. Pass the rows of the fit in memory."
        )
    fit = Learnt(model, certificate, X if hasattr(X, "shape") or is_source(X) else list(X), y, sample_weight)
    if model._traits().table:  # noqa: SLF001
        fit.require_columns()
    off = found(fit)
    return Verdict(certificate.statement, 0.0, off, certificate.rounding, certificate.rounding, measure="")


def _check_nothing(fit: Learnt) -> float:
    """Check that nothing is claimed: nothing is learnt."""
    fit.require_claim("nothing is learnt", fit.n, 0.0)
    return 0.0


def _check_calendar(fit: Learnt) -> float:
    fit.require_claim("a calendar", fit.n, 4 * DOUBLE if fit.model.cyclic else 0.0)
    return 0.0


def _check_monomials(fit: Learnt) -> float:
    """Count monomials in closed form."""
    model, p = fit.model, fit.p
    is_one = isinstance(model.degree, int | np.integer)
    low, high = (0, int(model.degree)) if is_one else (int(end) for end in model.degree)
    fit.require_claim(f"monomials of {p} columns", fit.n, max(high - 1, 0) * DOUBLE)
    degrees = range(max(low, 1), min(high, p) + 1) if model.interaction_only else range(max(low, 1), high + 1)
    each = [comb(p, d) if model.interaction_only else comb(p + d - 1, d) for d in degrees]
    fit.whole_number("n_output_features_", sum(each) + bool(model.include_bias))
    return 0.0


_CHECKS: dict[str, Callable[[Learnt], float]] = {
    "Binarizer": _check_nothing,
    "CountVectorizer": _words.check_vocabulary,
    "DateFeatures": _check_calendar,
    "DictVectorizer": _words.check_names,
    **dict.fromkeys(
        (
            "GenericUnivariateSelect",
            "SelectFdr",
            "SelectFpr",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
        ),
        _column_scores.check_scores,
    ),
    "VarianceThreshold": _column_scores.check_variances,
    "FactoredEncoder": _categories.check_parts,
    "FeatureHasher": _words.check_hashed,
    "HashingVectorizer": _words.check_hashed,
    "KBinsDiscretizer": _levels.check_bins,
    "KNNImputer": _fillings.check_donors,
    "LabelBinarizer": _categories.check_labels,
    "LabelEncoder": _categories.check_labels,
    "MaxAbsScaler": _scales.check_largest,
    "MinMaxScaler": _scales.check_ranges,
    "MissingIndicator": _fillings.check_marks,
    "MultiLabelBinarizer": _categories.check_sets,
    "Normalizer": _check_nothing,
    "OneHotEncoder": _categories.check_one_hot,
    "OrdinalEncoder": _categories.check_ordinal,
    "PiecewiseBasis": _levels.check_pieces,
    "PolynomialFeatures": _check_monomials,
    "QuantileTransformer": _levels.check_quantiles,
    "RadialBasis": _levels.check_centres,
    "RobustScaler": _scales.check_quantile_ranges,
    "SequentialFeatureSelector": check_steps,
    "SimpleImputer": _fillings.check_fillings,
    "SplineTransformer": _levels.check_splines,
    "StandardScaler": _scales.check_standard,
    "TargetEncoder": _categories.check_targets,
    "TfidfTransformer": _words.check_weights,
    "TfidfVectorizer": _words.check_weighed_vocabulary,
    "ThermometerEncoder": _categories.check_levels,
}
KNOWN = frozenset(_CHECKS)
_STREAMED = frozenset(
    {
        "KBinsDiscretizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "OneHotEncoder",
        "OrdinalEncoder",
        "QuantileTransformer",
        "RobustScaler",
        "SimpleImputer",
        "StandardScaler",
        "TargetEncoder",
    }
)

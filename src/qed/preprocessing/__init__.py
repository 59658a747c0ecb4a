"""Tables made ready for models: scaled, encoded, filled, cut, bent, and texts and dates turned into numbers.

One rule: **a transformer learns from the rows of the fit alone, and what it learnt can be recomputed from them**, so that training
statistics are reused on new rows and ``qed.verify`` can check them.

::

    _standard, _ranges, _robust   columns scaled                _categories, _rare      distinct values, rare ones together
    _rows                         rows scaled, thresholds       _one_hot, _ordinal      categories as columns and numbers
    _polynomial, _spline, _basis  products, splines, functions  _ordered_codes          thermometers and factors
    _bins                         numbers in bins               _labels                 targets as numbers and columns
    _impute                       gaps filled and marked        _text, _tfidf           counts of words
    _dates                        calendars and clocks          _function               anything else
    _power, _power_likelihood     the most normal power         _quantile_transformer   ranks in place of values
    _target_encoder               categories as mean targets    _resampling             unequal classes made equal
    _images                       images as rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._missing import later

if TYPE_CHECKING:
    from qed.preprocessing._basis import BasisFunctions, PiecewiseBasis, RadialBasis
    from qed.preprocessing._bins import KBinsDiscretizer
    from qed.preprocessing._dates import DateFeatures
    from qed.preprocessing._function import FunctionTransformer
    from qed.preprocessing._images import images_to_rows, rows_to_images
    from qed.preprocessing._impute import MissingIndicator, SimpleImputer
    from qed.preprocessing._labels import LabelBinarizer, LabelEncoder, MultiLabelBinarizer, label_binarize
    from qed.preprocessing._one_hot import OneHotEncoder
    from qed.preprocessing._ordered_codes import FactoredEncoder, ThermometerEncoder
    from qed.preprocessing._ordinal import OrdinalEncoder
    from qed.preprocessing._polynomial import PolynomialFeatures
    from qed.preprocessing._power import PowerTransformer, power_transform
    from qed.preprocessing._quantile_transformer import QuantileTransformer, quantile_transform
    from qed.preprocessing._ranges import MaxAbsScaler, MinMaxScaler, maxabs_scale, minmax_scale
    from qed.preprocessing._resampling import Draws, balanced_draws, downsample, upsample
    from qed.preprocessing._robust import RobustScaler, robust_scale
    from qed.preprocessing._rows import Binarizer, Normalizer, add_dummy_feature, binarize, normalize
    from qed.preprocessing._spline import SplineTransformer
    from qed.preprocessing._standard import StandardScaler, scale
    from qed.preprocessing._target_encoder import TargetEncoder
    from qed.preprocessing._text import CountVectorizer
    from qed.preprocessing._tfidf import HashingVectorizer, TfidfTransformer, TfidfVectorizer

__all__ = [
    "BasisFunctions",
    "Binarizer",
    "CountVectorizer",
    "DateFeatures",
    "Draws",
    "FactoredEncoder",
    "FunctionTransformer",
    "HashingVectorizer",
    "KBinsDiscretizer",
    "LabelBinarizer",
    "LabelEncoder",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MissingIndicator",
    "MultiLabelBinarizer",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PiecewiseBasis",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RadialBasis",
    "RobustScaler",
    "SimpleImputer",
    "SplineTransformer",
    "StandardScaler",
    "TargetEncoder",
    "TfidfTransformer",
    "TfidfVectorizer",
    "ThermometerEncoder",
    "add_dummy_feature",
    "balanced_draws",
    "binarize",
    "downsample",
    "images_to_rows",
    "label_binarize",
    "maxabs_scale",
    "minmax_scale",
    "normalize",
    "power_transform",
    "quantile_transform",
    "robust_scale",
    "rows_to_images",
    "scale",
    "upsample",
]

# A pipeline of two steps loads two files: the others wait until they are named.
_HOMES = {
    "_basis": ("BasisFunctions", "PiecewiseBasis", "RadialBasis"),
    "_bins": ("KBinsDiscretizer",),
    "_dates": ("DateFeatures",),
    "_function": ("FunctionTransformer",),
    "_images": ("images_to_rows", "rows_to_images"),
    "_impute": ("MissingIndicator", "SimpleImputer"),
    "_labels": ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "label_binarize"),
    "_one_hot": ("OneHotEncoder",),
    "_ordered_codes": ("FactoredEncoder", "ThermometerEncoder"),
    "_ordinal": ("OrdinalEncoder",),
    "_polynomial": ("PolynomialFeatures",),
    "_power": ("PowerTransformer", "power_transform"),
    "_quantile_transformer": ("QuantileTransformer", "quantile_transform"),
    "_ranges": ("MaxAbsScaler", "MinMaxScaler", "maxabs_scale", "minmax_scale"),
    "_resampling": ("Draws", "balanced_draws", "downsample", "upsample"),
    "_robust": ("RobustScaler", "robust_scale"),
    "_rows": ("Binarizer", "Normalizer", "add_dummy_feature", "binarize", "normalize"),
    "_spline": ("SplineTransformer",),
    "_standard": ("StandardScaler", "scale"),
    "_target_encoder": ("TargetEncoder",),
    "_text": ("CountVectorizer",),
    "_tfidf": ("HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

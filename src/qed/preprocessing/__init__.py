"""Preprocessing: scaling, encoding, imputation, feature expansion, and features from text and dates.

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

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

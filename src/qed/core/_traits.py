"""What a class of models can do, declared once as class keywords: ``class Ridge(Regressor, sparse=True)``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Traits(NamedTuple):
    """The abilities of a model, as validation knows them.

    Attributes
    ----------
    role : str or None
        ``"regressor"``, ``"classifier"``, ``"transformer"``, ``"clusterer"``, ``"outlier_detector"`` or
        ``"density_estimator"``; None for a model that is none of them.
    target : {"", "number", "label"}
        What ``y`` holds; empty when the model does not look at ``y``.
    transforms : bool
        Whether the model has ``transform``.
    sparse : bool
        Whether ``X`` may be a SciPy sparse container.
    chunks : bool
        Whether ``X`` may be a source of chunks, whose rows the fit reads as often as it needs.
    multi_output, single_output : bool
        Whether ``y`` may have several columns, and whether it may have one.
    allow_nan : bool
        Whether NaN in ``X`` means "missing" to this model.
    positive_only, positive_target : bool
        Whether ``X``, or ``y``, must be nonnegative.
    pairwise : bool
        Whether ``X`` is a square table of similarities between the rows.
    multi_class, multi_label : bool
        What a classifier can tell apart.
    label_columns : bool
        Whether several columns of ``y`` are targets with labels of their own; else they are zeros and ones, one column a label.
    poor_score : bool
        Whether the model is not meant to score well on ordinary data.
    deterministic : bool
        Whether a fixed ``random_state`` fixes the answer.
    requires_fit : bool
        Whether ``predict`` or ``transform`` needs a ``fit`` before.
    keeps_dtype : bool or None
        Whether a transformer gives float32 for float32; None when it gives no floats at all.
    min_samples : int
        The fewest rows the model can be fitted on.
    table : bool
        Whether ``X`` is a table; False for models of labels or of texts.
    strings, categorical : bool
        Whether the columns of ``X`` may hold words, and whether they hold categories.
    mappings : bool
        Whether a row of ``X`` is a dict of names and values.
    labels_only : bool
        Whether the model is fitted on a target alone.
    validates : bool
        Whether the model looks at what it is given at all.
    """

    role: str | None = None
    target: Literal["", "number", "label"] = ""
    transforms: bool = False
    sparse: bool = False
    chunks: bool = False
    multi_output: bool = False
    single_output: bool = True
    allow_nan: bool = False
    positive_only: bool = False
    positive_target: bool = False
    pairwise: bool = False
    multi_class: bool = True
    multi_label: bool = False
    label_columns: bool = False
    poor_score: bool = False
    deterministic: bool = True
    requires_fit: bool = True
    keeps_dtype: bool | None = True
    min_samples: int = 1
    table: bool = True
    strings: bool = False
    categorical: bool = False
    mappings: bool = False
    labels_only: bool = False
    validates: bool = True


def merged(cls: type) -> Traits:
    """Gather the keywords of a class and its bases, the class itself having the last word."""
    words: dict[str, Any] = {}
    for ancestor in reversed(cls.__mro__):
        words.update(vars(ancestor).get("_own_traits", {}))
    unknown = sorted(set(words) - set(Traits._fields))
    if unknown:
        raise TypeError(
            f"class {cls.__name__} declares {unknown}, which are no traits. Traits: {sorted(Traits._fields)}."
        )
    return Traits(**words)

"""Pipelines, and models of several classes or targets."""

from __future__ import annotations

from qed.verify import _chains, _coded, _members, _pipelines
from qed.verify._answers import _composites
from qed.verify._answers._compare import METHODS
from qed.verify._families._entry import of

ENTRIES = {
    "ClassifierChain": of(_chains.chain, {one: _composites.chain(one) for one in METHODS[:3]}),
    "ColumnTransformer": of(_pipelines.column_transformer, {"transform": _composites.columns}),
    "FeatureUnion": of(_pipelines.feature_union, {"transform": _composites.union}),
    "MultiOutputClassifier": of(_members.multi_output, {one: _composites.each_target(one) for one in METHODS[:2]}),
    "MultiOutputRegressor": of(_members.multi_output, {"predict": _composites.each_target("predict")}),
    "OneVsOneClassifier": of(
        _coded.one_vs_one, {"predict": _composites.pair_label, "decision_function": _composites.pair_decision}
    ),
    "OneVsRestClassifier": of(
        _coded.one_vs_rest,
        {
            "predict": _composites.rest_label,
            "predict_proba": _composites.rest_chances,
            "decision_function": _composites.rest_decision,
        },
    ),
    "OutputCodeClassifier": of(_coded.output_code, {"predict": _composites.code_label}),
    "Pipeline": of(_pipelines.pipeline, {one: _composites.pipeline(one) for one in METHODS}),
    "RegressorChain": of(_chains.chain, {"predict": _composites.chain("predict")}),
    "TransformedTargetRegressor": of(_pipelines.transformed_target, {"predict": _composites.target}),
}

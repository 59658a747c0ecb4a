"""Which definition belongs to which method of which class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.verify._answers import (
    _bases,
    _columns,
    _composites,
    _densities,
    _embeddings,
    _entries,
    _found,
    _linear,
    _nearest,
    _networks,
    _rounds,
    _texts,
    _trees,
)
from qed.verify._answers._compare import of_rows

if TYPE_CHECKING:
    from qed.verify._answers._compare import Rule

METHODS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")


def _defined(**definitions: Any) -> dict[str, Rule]:
    """Return rules that compare block by block with definitions for rows of numbers."""
    return {method: of_rows(method, define) for method, define in definitions.items()}


def _linear_in(**definitions: Any) -> dict[str, Rule]:
    """Return rules for models that add up columns in the precision of the rows."""
    return {method: of_rows(method, define, in_single=True) for method, define in definitions.items()}


_NUMBER = _linear_in(predict=_linear.number)
_PLANES = _linear_in(predict=_linear.label, decision_function=_linear.decision)
_PROBABLE = {**_PLANES, **_linear_in(predict_proba=_linear.chances)}
_TREE: dict[str, Rule] = {"predict": _trees.tree_label, "predict_proba": _trees.tree_chances}
_TREE_NUMBER = _defined(predict=_trees.tree_number)
_FOREST: dict[str, Rule] = {"predict": _trees.forest_label, "predict_proba": _trees.forest_chances}
_FOREST_NUMBER = _defined(predict=_trees.forest_number)
_BOOSTED = _defined(
    predict=_trees.boosted_label, predict_proba=_trees.boosted_chances, decision_function=_trees.boosted_decision
)
_BOOSTED_NUMBER = _defined(predict=_trees.boosted_number)


def _bayes(joint: Any, *, linear: bool) -> dict[str, Rule]:
    rules = _defined(predict=_densities.label(joint), predict_proba=_densities.chances(joint))
    return {**rules, **_defined(decision_function=_densities.decision(joint))} if linear else rules


_COUNTS = _bayes(_densities.counts, linear=True)
_VOTED: dict[str, Rule] = {
    "predict": _composites.voted_label,
    "predict_proba": _composites.voted_chances,
    "transform": _composites.answers_of_members,
}
_STACK = {one: _composites.stack(one) for one in METHODS[:-1]}
_BEST = {one: _composites.inside("best_estimator_", one) for one in METHODS}
_CUT: dict[str, Rule] = {
    "predict": _composites.cut_label,
    "predict_proba": _composites.classifier_inside("predict_proba"),
    "decision_function": _composites.classifier_inside("decision_function"),
}
_LEFT = {
    "transform": _columns.kept_columns,
    **{one: _composites.inside("estimator_", one) for one in METHODS[:3]},
}
_KEPT: dict[str, Rule] = {"transform": _columns.kept_columns}

_PROJECTED = _defined(transform=_columns.projections, inverse_transform=_columns.projections_back)

RULES: dict[str, dict[str, Rule]] = {
    "qed.calibration.CalibratedClassifierCV": {
        "predict": _composites.calibrated_label,
        "predict_proba": _composites.calibrated_chances,
    },
    "qed.calibration.IsotonicRegression": _defined(predict=_columns.rising, transform=_columns.rising),
    "qed.cluster.Birch": _defined(transform=_columns.subcluster_distances),
    "qed.cluster.BisectingKMeans": _defined(transform=_columns.distances),
    "qed.cluster.FeatureAgglomeration": _defined(transform=_found.pooled),
    "qed.cluster.KMeans": _defined(predict=_columns.nearest_centre, transform=_columns.distances),
    "qed.cluster.MiniBatchKMeans": _defined(predict=_columns.nearest_centre, transform=_columns.distances),
    "qed.cluster.SoftKMeans": _defined(transform=_columns.distances),
    "qed.compose.ClassifierChain": {one: _composites.chain(one) for one in METHODS[:3]},
    "qed.compose.ColumnTransformer": {"transform": _composites.columns},
    "qed.compose.FeatureUnion": {"transform": _composites.union},
    "qed.compose.MultiOutputClassifier": {one: _composites.each_target(one) for one in METHODS[:2]},
    "qed.compose.MultiOutputRegressor": {"predict": _composites.each_target("predict")},
    "qed.compose.OneVsOneClassifier": {
        "predict": _composites.pair_label,
        "decision_function": _composites.pair_decision,
    },
    "qed.compose.OneVsRestClassifier": {
        "predict": _composites.rest_label,
        "predict_proba": _composites.rest_chances,
        "decision_function": _composites.rest_decision,
    },
    "qed.compose.OutputCodeClassifier": {"predict": _composites.code_label},
    "qed.compose.Pipeline": {one: _composites.pipeline(one) for one in METHODS},
    "qed.compose.RegressorChain": {"predict": _composites.chain("predict")},
    "qed.compose.TransformedTargetRegressor": {"predict": _composites.target},
    **{
        f"qed.decomposition.{name}": {"transform": _found.drawn_map}
        for name in ("GaussianRandomProjection", "HadamardProjection", "SparseRandomProjection")
    },
    **{
        f"qed.decomposition.{name}": _defined(transform=_columns.hidden, inverse_transform=_columns.expected_of_hidden)
        for name in ("FactorAnalysis", "ProbabilisticPCA")
    },
    **{
        f"qed.decomposition.{name}": {
            **_linear_in(predict=_linear.number_of_centred),
            **_defined(transform=_columns.scores_of_pairs, inverse_transform=_columns.rows_of_scores),
        }
        for name in ("CCA", "PLSCanonical", "PLSRegression")
    },
    **{
        f"qed.decomposition.{name}": {"transform": _found.codes}
        for name in ("DictionaryLearning", "MiniBatchDictionaryLearning", "SparseCoder")
    },
    **{
        f"qed.decomposition.{name}": _defined(
            transform=_found.ridge_scores, inverse_transform=_found.rows_of_components
        )
        for name in ("MiniBatchSparsePCA", "SparsePCA")
    },
    "qed.decomposition.LatentDirichletAllocation": {"transform": _found.shares_of_topics},
    "qed.decomposition.FastICA": _defined(transform=_columns.unmixed, inverse_transform=_columns.mixed),
    "qed.decomposition.IncrementalPCA": _PROJECTED,
    "qed.decomposition.KernelPCA": _defined(transform=_found.kernel_coordinates),
    "qed.decomposition.MatrixCompletion": {"transform": _found.filled},
    "qed.decomposition.MiniBatchNMF": {"transform": _found.factors},
    "qed.decomposition.NMF": {"transform": _found.factors},
    "qed.decomposition.PCA": _PROJECTED,
    "qed.decomposition.PLSSVD": _defined(transform=_columns.scores_of_pairs),
    "qed.decomposition.TruncatedSVD": _PROJECTED,
    "qed.discriminant_analysis.LinearDiscriminantAnalysis": {
        **_PROBABLE,
        **_linear_in(transform=_linear.discriminant_axes),
    },
    "qed.discriminant_analysis.QuadraticDiscriminantAnalysis": {
        **_bayes(_densities.ellipses, linear=False),
        **_defined(decision_function=_densities.decision(_densities.ellipses, beside=1.0)),
    },
    "qed.ensemble.AdaBoostClassifier": {
        "predict": _composites.boosted_label,
        "predict_proba": _composites.boosted_chances,
        "decision_function": _composites.boosted_decision,
    },
    "qed.ensemble.AdaBoostRegressor": {"predict": _composites.weighted_median},
    "qed.ensemble.BaggingClassifier": {
        "predict": _composites.bagged_label,
        "predict_proba": _composites.bagged_chances,
    },
    "qed.ensemble.BaggingRegressor": {"predict": _composites.bagged_number},
    "qed.ensemble.ExtraTreesClassifier": _FOREST,
    "qed.ensemble.ExtraTreesRegressor": _FOREST_NUMBER,
    "qed.ensemble.GradientBoostingClassifier": _BOOSTED,
    "qed.ensemble.GradientBoostingRegressor": _BOOSTED_NUMBER,
    "qed.ensemble.HistGradientBoostingClassifier": _BOOSTED,
    "qed.ensemble.HistGradientBoostingRegressor": _BOOSTED_NUMBER,
    "qed.ensemble.IsolationForest": _defined(predict=_trees.path_label, decision_function=_trees.path_decision),
    "qed.ensemble.RandomForestClassifier": _FOREST,
    "qed.ensemble.RandomForestRegressor": _FOREST_NUMBER,
    "qed.ensemble.RandomTreesEmbedding": {"transform": _trees.leaves},
    "qed.ensemble.StackingClassifier": _STACK,
    "qed.ensemble.StackingRegressor": {one: _STACK[one] for one in ("predict", "transform")},
    "qed.ensemble.VotingClassifier": _VOTED,
    "qed.ensemble.VotingRegressor": {
        "predict": _composites.mean_of_members,
        "transform": _composites.answers_of_members,
    },
    **{
        f"qed.feature_selection.{name}": _KEPT
        for name in (
            "GenericUnivariateSelect",
            "SelectFdr",
            "SelectFpr",
            "SelectFromModel",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
            "SequentialFeatureSelector",
            "VarianceThreshold",
        )
    },
    "qed.feature_selection.RFE": _LEFT,
    "qed.feature_selection.RFECV": _LEFT,
    **{
        f"qed.linear_model.{name}": _NUMBER
        for name in (
            "ARDRegression",
            "BayesianLinearRegression",
            "BayesianRidge",
            "BestSubsetRegressor",
            "BoundedRegressor",
            "ConstrainedLasso",
            "ConstrainedRidge",
            "ElasticNet",
            "ElasticNetCV",
            "GroupLasso",
            "HuberRegressor",
            "Lasso",
            "LassoCV",
            "LinearRegression",
            "MultiTaskElasticNet",
            "MultiTaskElasticNetCV",
            "MultiTaskLasso",
            "MultiTaskLassoCV",
            "PowerRegressor",
            "QuantileRegressor",
            "Ridge",
            "RidgeCV",
            "SGDRegressor",
            "SquareRootLasso",
        )
    },
    "qed.linear_model.LogisticRegression": _PROBABLE,
    "qed.linear_model.LogisticRegressionCV": _PROBABLE,
    "qed.linear_model.OrdinalRegressor": _linear_in(
        predict=_linear.label_in_order, predict_proba=_linear.chances_in_order
    ),
    "qed.linear_model.Perceptron": _PLANES,
    "qed.linear_model.PoissonRegressor": _linear_in(predict=_linear.mean_of_counts),
    "qed.linear_model.RandomLinearClassifier": _PLANES,
    "qed.linear_model.RidgeClassifier": _PLANES,
    "qed.linear_model.RidgeClassifierCV": _PLANES,
    "qed.linear_model.SGDClassifier": {**_PLANES, **_linear_in(predict_proba=_linear.chances_of_descent)},
    "qed.linear_model.ThresholdClassifier": _linear_in(
        predict=_linear.side_label, decision_function=_linear.side_decision
    ),
    "qed.linear_model.VotedPerceptron": _linear_in(predict=_linear.label_by_votes, decision_function=_linear.votes),
    "qed.manifold.Isomap": _defined(transform=_embeddings.along_paths),
    "qed.manifold.LocallyLinearEmbedding": _defined(transform=_embeddings.by_weights),
    "qed.manifold.UMAP": {"transform": _embeddings.drawn},
    "qed.mixture.BayesianGaussianMixture": _defined(
        predict=_densities.expected_component, predict_proba=_densities.expected_component_chances
    ),
    "qed.mixture.GaussianMixtureClassifier": _bayes(_densities.class_mixtures, linear=False),
    **{
        f"qed.mixture.{name}": _defined(
            predict=_densities.independent_component, predict_proba=_densities.independent_component_chances
        )
        for name in ("BernoulliMixture", "CategoricalMixture", "PoissonMixture")
    },
    "qed.mixture.GaussianMixture": _defined(predict=_densities.component, predict_proba=_densities.component_chances),
    "qed.model_selection.DummyClassifier": {
        "predict": _composites.usual_label,
        "predict_proba": _composites.usual_chances,
    },
    "qed.model_selection.DummyRegressor": {"predict": _composites.usual_number},
    "qed.model_selection.FixedThresholdClassifier": _CUT,
    "qed.model_selection.GridSearchCV": _BEST,
    "qed.model_selection.HalvingGridSearchCV": _BEST,
    "qed.model_selection.HalvingRandomSearchCV": _BEST,
    "qed.model_selection.LookupClassifier": _defined(predict=_nearest.lookup),
    "qed.model_selection.RandomizedSearchCV": _BEST,
    "qed.model_selection.TunedThresholdClassifierCV": _CUT,
    "qed.naive_bayes.BernoulliNB": _bayes(_densities.presence, linear=True),
    "qed.naive_bayes.CategoricalNB": _bayes(_densities.categories, linear=False),
    "qed.naive_bayes.ComplementNB": _COUNTS,
    "qed.naive_bayes.GaussianNB": _bayes(_densities.normal, linear=False),
    "qed.naive_bayes.MixedNB": _bayes(_densities.columns_of_kinds, linear=False),
    "qed.naive_bayes.MultinomialNB": _COUNTS,
    "qed.naive_bayes.PoissonNB": _bayes(_densities.events, linear=True),
    "qed.neighbors.KNeighborsClassifier": {one: _nearest.by_neighbours(one) for one in METHODS[:2]},
    "qed.neighbors.KNeighborsRegressor": {"predict": _nearest.by_neighbours("predict")},
    "qed.neural_network.MLPClassifier": _defined(predict=_networks.label, predict_proba=_networks.chances),
    "qed.neural_network.MLPRegressor": _defined(predict=_networks.number),
    "qed.preprocessing.BasisFunctions": {"transform": _composites.functions},
    "qed.preprocessing.Binarizer": _defined(transform=_columns.above),
    "qed.preprocessing.CountVectorizer": {"transform": _texts.counts},
    "qed.preprocessing.DateFeatures": {"transform": _entries.dates},
    "qed.preprocessing.DictVectorizer": {"transform": _texts.named_columns},
    "qed.preprocessing.FactoredEncoder": {"transform": _entries.factored},
    "qed.preprocessing.FeatureHasher": {"transform": _texts.hashed_names},
    "qed.preprocessing.FunctionTransformer": {
        "transform": _composites.function("func", "kw_args"),
        "inverse_transform": _composites.function("inverse_func", "inv_kw_args"),
    },
    "qed.preprocessing.HashingVectorizer": {"transform": _texts.hashed_texts},
    "qed.preprocessing.IterativeImputer": {"transform": _rounds.filled_in_rounds},
    "qed.preprocessing.KBinsDiscretizer": _defined(transform=_bases.bins),
    "qed.preprocessing.KNNImputer": {"transform": _nearest.donors},
    "qed.preprocessing.MaxAbsScaler": _defined(transform=_columns.largest, inverse_transform=_columns.largest_back),
    "qed.preprocessing.MinMaxScaler": _defined(transform=_columns.ranges, inverse_transform=_columns.ranges_back),
    "qed.preprocessing.MissingIndicator": {"transform": _entries.marks},
    "qed.preprocessing.Normalizer": {"transform": _columns.unit_rows},
    "qed.preprocessing.OneHotEncoder": {"transform": _entries.one_hot},
    "qed.preprocessing.OrdinalEncoder": {"transform": _entries.ordinal},
    "qed.preprocessing.PiecewiseBasis": _defined(transform=_bases.pieces),
    "qed.preprocessing.PolynomialFeatures": _defined(transform=_bases.monomials),
    "qed.preprocessing.PowerTransformer": _defined(transform=_columns.powers, inverse_transform=_columns.powers_back),
    "qed.preprocessing.QuantileTransformer": {
        "transform": _columns.quantiles,
        **_defined(inverse_transform=_columns.quantiles_back),
    },
    "qed.preprocessing.RadialBasis": _defined(transform=_bases.bumps),
    "qed.preprocessing.RobustScaler": _defined(transform=_columns.robust, inverse_transform=_columns.robust_back),
    "qed.preprocessing.SimpleImputer": {"transform": _entries.fillings},
    "qed.preprocessing.SplineTransformer": {"transform": _bases.splines},
    "qed.preprocessing.StandardScaler": _defined(transform=_columns.standard, inverse_transform=_columns.standard_back),
    "qed.preprocessing.TargetEncoder": {"transform": _entries.mean_targets},
    "qed.preprocessing.TfidfTransformer": {"transform": _texts.weighed_table},
    "qed.preprocessing.TfidfVectorizer": {"transform": _texts.weighed_counts},
    "qed.preprocessing.ThermometerEncoder": {"transform": _entries.thermometer},
    "qed.svm.LinearSVC": _PLANES,
    "qed.svm.LinearSVR": _NUMBER,
    "qed.tree.DecisionTreeClassifier": _TREE,
    "qed.tree.DecisionTreeRegressor": _TREE_NUMBER,
    "qed.tree.ExtraTreeClassifier": _TREE,
    "qed.tree.ExtraTreeRegressor": _TREE_NUMBER,
    "qed.tree.MultiwayTreeClassifier": {"predict": _trees.branch_label, "predict_proba": _trees.branch_chances},
    "qed.tree.OptimalTreeClassifier": _TREE,
    "qed.tree.OptimalTreeRegressor": _TREE_NUMBER,
}

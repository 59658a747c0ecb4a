"""The one table of the checker: which function verifies which class, and which certificates a fit of that class may carry.

A model is looked up by its class alone. Nothing that it stores can choose another check: not the kind of its certificate, not
the names of its attributes. What is not in the table is refused, and so is

* a certificate of a kind that the class does not carry, none at all, or one whose numbers make no sense by themselves;
* an attribute that the class does not declare, and a declared one that is missing although every fit sets it;
* labels that are not those of the targets, and columns that are not those of the rows.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from qed.certificates import (
    AscentCertificate,
    BracketCertificate,
    Certificate,
    ClustersCertificate,
    CompositeCertificate,
    DualityGapCertificate,
    EmbeddingCertificate,
    ExactCertificate,
    GapCertificate,
    LeastSquaresCertificate,
    LikelihoodCertificate,
    MistakeBoundCertificate,
    NetworkCertificate,
    OutOfBagCertificate,
    SearchCertificate,
    StagedCertificate,
    StationaryCertificate,
    SubsetCertificate,
    SubspaceCertificate,
    TreeCertificate,
    Uncertified,
)
from qed.core import CertificateError, InvalidData, ModelFileError, _targets
from qed.core._once import cached_property
from qed.core._records import conforms, field_hints, is_record, public_name
from qed.core._state import check_state
from qed.core._validation import is_source
from qed.verify import (
    _biclusters,
    _boosting,
    _bounded,
    _calibrated,
    _chains,
    _clusters,
    _coded,
    _completed,
    _copies,
    _counts,
    _covariances,
    _cuts_and_medoids,
    _density_clusters,
    _discriminants,
    _duality,
    _evidence,
    _exact_boosting,
    _factors,
    _forests,
    _hard_margin,
    _independent_mixtures,
    _isotonic,
    _kernel_clusters,
    _largest,
    _latent_normal,
    _least_squares,
    _likelihood,
    _members,
    _merges,
    _mistakes,
    _mixed_columns,
    _mixtures,
    _modes_and_exemplars,
    _multiway_trees,
    _neighbor_embeddings,
    _neighbors,
    _networks,
    _ordinal,
    _patches,
    _pipelines,
    _powers,
    _projections,
    _random_trees,
    _rounds,
    _scalings,
    _selected,
    _soft_clusters,
    _sources,
    _sparse_components,
    _subsets,
    _subspace,
    _topics,
    _transformers,
    _trees,
    _two_tables,
    _variational,
)
from qed.verify._blocks import column_names
from qed.verify._claims import require_claims
from qed.verify._class_counts import check_counts
from qed.verify._declared import declares
from qed.verify._part import Stated, certificate_of, require_template
from qed.verify._rows import OtherData, require_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.verify._part import Part

    Check = Callable[[Any, Any, Any, Any, Any], Verdict]
    Parts = Callable[[Any, Any, Any, Any], Iterator[Part | Stated]]
    Models = Callable[[Any, Any, Any, Any], Iterator[Part]]


@dataclass(frozen=True)
class Entry:
    """How the models of one class are verified.

    Attributes
    ----------
    checks : dict of certificate class to function
        The check of each kind of certificate that a fit of the class may carry.
    parts : function or None
        Of a model of models: yields its parts, each with the rows, targets and weights that reached it.
    inner : function or None
        Yields in the same way models whose answers a check builds on: they are verified before it.
    """

    checks: dict[type[Certificate], Check]
    parts: Parts | None = None
    inner: Models | None = None


def _by(kind: type[Certificate], check: Check) -> Entry:
    return Entry({kind: check})


def _of(parts: Parts) -> Entry:
    return Entry({}, parts)


def _power_regressor(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    check = _largest.check if np.isinf(model.p) else _duality.check
    return check(model, certificate, X, y, sample_weight)


def _linear_svc(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    check = _duality.check if np.isfinite(model.C) else _hard_margin.check
    return check(model, certificate, X, y, sample_weight)


def _power_transformer(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    return _powers.check(model, certificate, X, sample_weight)


_CONVEX = _by(DualityGapCertificate, _duality.check)
_SQUARES = _by(LeastSquaresCertificate, _least_squares.check)
_EXACT = _by(ExactCertificate, _transformers.check)
_COUNTS = _by(LikelihoodCertificate, functools.partial(_likelihood.check, check_counts))
_CENTRES = _by(ClustersCertificate, _clusters.check)
_NEAREST = _by(SearchCertificate, _neighbors.check)
_TREE = _by(TreeCertificate, _trees.check)
_FOREST = _by(OutOfBagCertificate, _forests.check)
_BOOSTED = _by(StagedCertificate, _boosting.check)
_EXACTLY_BOOSTED = Entry({StagedCertificate: _exact_boosting.check}, inner=_exact_boosting.initial)

TABLE: dict[str, Entry] = {
    "qed.calibration.CalibratedClassifierCV": _of(_calibrated.calibrated),
    "qed.calibration.IsotonicRegression": _by(ExactCertificate, _isotonic.check),
    "qed.cluster.AffinityPropagation": _by(ClustersCertificate, _modes_and_exemplars.check_exemplars),
    "qed.cluster.AgglomerativeClustering": _by(ExactCertificate, _merges.check),
    "qed.cluster.Birch": _by(ExactCertificate, _modes_and_exemplars.check_subclusters),
    "qed.cluster.BisectingKMeans": _CENTRES,
    "qed.cluster.DBSCAN": _by(ExactCertificate, _density_clusters.check_dbscan),
    "qed.cluster.DivisiveClustering": _by(ExactCertificate, _merges.check_splits),
    "qed.cluster.FeatureAgglomeration": _by(ExactCertificate, _merges.check),
    "qed.cluster.HDBSCAN": _by(ExactCertificate, _density_clusters.check_hdbscan),
    "qed.cluster.KMeans": _CENTRES,
    "qed.cluster.KMedoids": _by(ClustersCertificate, _cuts_and_medoids.check_medoids),
    "qed.cluster.KernelKMeans": _by(ClustersCertificate, _kernel_clusters.check),
    "qed.cluster.MeanShift": _by(StationaryCertificate, _modes_and_exemplars.check_modes),
    "qed.cluster.MiniBatchKMeans": _CENTRES,
    "qed.cluster.OPTICS": _by(ExactCertificate, _density_clusters.check_optics),
    "qed.cluster.SoftKMeans": _by(AscentCertificate, _soft_clusters.check),
    "qed.cluster.SpectralBiclustering": _by(ClustersCertificate, _biclusters.check_checkerboard),
    "qed.cluster.SpectralClustering": _by(ClustersCertificate, _cuts_and_medoids.check_spectral),
    "qed.cluster.SpectralCoclustering": _by(ClustersCertificate, _biclusters.check_cocluster),
    "qed.compose.ClassifierChain": _of(_chains.chain),
    "qed.compose.ColumnTransformer": _of(_pipelines.column_transformer),
    "qed.compose.FeatureUnion": _of(_pipelines.feature_union),
    "qed.compose.MultiOutputClassifier": _of(_members.multi_output),
    "qed.compose.MultiOutputRegressor": _of(_members.multi_output),
    "qed.compose.OneVsOneClassifier": _of(_coded.one_vs_one),
    "qed.compose.OneVsRestClassifier": _of(_coded.one_vs_rest),
    "qed.compose.OutputCodeClassifier": _of(_coded.output_code),
    "qed.compose.Pipeline": _of(_pipelines.pipeline),
    "qed.compose.RegressorChain": _of(_chains.chain),
    "qed.compose.TransformedTargetRegressor": _of(_pipelines.transformed_target),
    **{
        f"qed.covariance.{name}": _by(ExactCertificate, _covariances.check_empirical)
        for name in ("EmpiricalCovariance", "LedoitWolf", "OAS", "ShrunkCovariance")
    },
    **{
        f"qed.covariance.{name}": _by(DualityGapCertificate, _covariances.check_graphical_lasso)
        for name in ("GraphicalLasso", "GraphicalLassoCV")
    },
    **{
        f"qed.covariance.{name}": _by(StationaryCertificate, _covariances.check_robust)
        for name in ("EllipticEnvelope", "MinCovDet")
    },
    "qed.decomposition.CCA": _by(SubspaceCertificate, _two_tables.check_correlated),
    "qed.decomposition.DictionaryLearning": _by(StationaryCertificate, _factors.check_dictionary),
    "qed.decomposition.FactorAnalysis": _by(AscentCertificate, _latent_normal.check_analysis),
    "qed.decomposition.FastICA": _by(StationaryCertificate, _sources.check),
    "qed.decomposition.GaussianRandomProjection": _by(ExactCertificate, _projections.check_seeded),
    "qed.decomposition.HadamardProjection": _by(ExactCertificate, _projections.check_seeded),
    "qed.decomposition.IncrementalPCA": _by(SubspaceCertificate, _subspace.check),
    "qed.decomposition.KernelPCA": _by(SubspaceCertificate, _projections.check_kernel_pca),
    "qed.decomposition.LatentDirichletAllocation": _by(AscentCertificate, _topics.check),
    "qed.decomposition.MatrixCompletion": _by(DualityGapCertificate, _completed.check),
    "qed.decomposition.MiniBatchDictionaryLearning": _by(StationaryCertificate, _factors.check_dictionary),
    "qed.decomposition.MiniBatchNMF": _by(StationaryCertificate, _factors.check_nonnegative),
    "qed.decomposition.MiniBatchSparsePCA": _by(StationaryCertificate, _sparse_components.check_components),
    "qed.decomposition.NMF": _by(StationaryCertificate, _factors.check_nonnegative),
    "qed.decomposition.PCA": _by(SubspaceCertificate, _subspace.check),
    "qed.decomposition.PLSCanonical": _by(SubspaceCertificate, _two_tables.check_covarying),
    "qed.decomposition.PLSRegression": _by(SubspaceCertificate, _two_tables.check_covarying),
    "qed.decomposition.PLSSVD": _by(SubspaceCertificate, _two_tables.check_svd),
    "qed.decomposition.ProbabilisticPCA": _by(LikelihoodCertificate, _latent_normal.check_probabilistic),
    "qed.decomposition.SparseCoder": Entry(
        {DualityGapCertificate: _sparse_components.check_coder, ExactCertificate: _sparse_components.check_rule}
    ),
    "qed.decomposition.SparsePCA": _by(StationaryCertificate, _sparse_components.check_components),
    "qed.decomposition.SparseRandomProjection": _by(ExactCertificate, _projections.check_seeded),
    "qed.decomposition.TruncatedSVD": _by(SubspaceCertificate, _subspace.check_truncated),
    "qed.discriminant_analysis.LinearDiscriminantAnalysis": _by(
        LikelihoodCertificate,
        functools.partial(_likelihood.check, _discriminants.check_linear),
    ),
    "qed.discriminant_analysis.QuadraticDiscriminantAnalysis": _by(
        LikelihoodCertificate,
        functools.partial(_likelihood.check, _discriminants.check_quadratic),
    ),
    "qed.ensemble.AdaBoostClassifier": _of(_copies.adaboost),
    "qed.ensemble.AdaBoostRegressor": _of(_copies.adaboost),
    "qed.ensemble.BaggingClassifier": _of(_copies.bagging),
    "qed.ensemble.BaggingRegressor": _of(_copies.bagging),
    "qed.ensemble.ExtraTreesClassifier": _FOREST,
    "qed.ensemble.ExtraTreesRegressor": _FOREST,
    "qed.ensemble.GradientBoostingClassifier": _EXACTLY_BOOSTED,
    "qed.ensemble.GradientBoostingRegressor": _EXACTLY_BOOSTED,
    "qed.ensemble.HistGradientBoostingClassifier": _BOOSTED,
    "qed.ensemble.HistGradientBoostingRegressor": _BOOSTED,
    "qed.ensemble.IsolationForest": _by(ExactCertificate, _random_trees.isolation),
    "qed.ensemble.RandomTreesEmbedding": _by(ExactCertificate, _random_trees.embedding),
    "qed.ensemble.RandomForestClassifier": _FOREST,
    "qed.ensemble.RandomForestRegressor": _FOREST,
    "qed.ensemble.StackingClassifier": _of(_members.stacking),
    "qed.ensemble.StackingRegressor": _of(_members.stacking),
    "qed.ensemble.VotingClassifier": _of(_members.voting),
    "qed.ensemble.VotingRegressor": _of(_members.voting),
    **{
        f"qed.feature_selection.{name}": _EXACT
        for name in (
            "GenericUnivariateSelect",
            "SelectFdr",
            "SelectFpr",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
            "SequentialFeatureSelector",
            "VarianceThreshold",
        )
    },
    "qed.feature_selection.RFE": _of(_selected.elimination),
    "qed.feature_selection.RFECV": _of(_selected.elimination),
    "qed.feature_selection.SelectFromModel": _of(_selected.from_model),
    "qed.linear_model.ARDRegression": _by(AscentCertificate, _evidence.check),
    "qed.linear_model.BayesianLinearRegression": _by(LikelihoodCertificate, _evidence.check_posterior),
    "qed.linear_model.BayesianRidge": _by(AscentCertificate, _evidence.check),
    "qed.linear_model.BestSubsetRegressor": _by(SubsetCertificate, _subsets.check),
    "qed.linear_model.BoundedRegressor": _by(StationaryCertificate, _bounded.check),
    "qed.linear_model.ConstrainedLasso": _CONVEX,
    "qed.linear_model.ConstrainedRidge": _CONVEX,
    "qed.linear_model.ElasticNet": _CONVEX,
    "qed.linear_model.ElasticNetCV": _CONVEX,
    "qed.linear_model.GroupLasso": _CONVEX,
    "qed.linear_model.HuberRegressor": _CONVEX,
    "qed.linear_model.Lasso": _CONVEX,
    "qed.linear_model.LassoCV": _CONVEX,
    "qed.linear_model.LinearRegression": _SQUARES,
    "qed.linear_model.LogisticRegression": _CONVEX,
    "qed.linear_model.LogisticRegressionCV": _CONVEX,
    "qed.linear_model.MultiTaskElasticNet": _CONVEX,
    "qed.linear_model.MultiTaskElasticNetCV": _CONVEX,
    "qed.linear_model.MultiTaskLasso": _CONVEX,
    "qed.linear_model.MultiTaskLassoCV": _CONVEX,
    "qed.linear_model.OrdinalRegressor": _by(DualityGapCertificate, _ordinal.check),
    "qed.linear_model.Perceptron": _by(MistakeBoundCertificate, _mistakes.check),
    "qed.linear_model.PoissonRegressor": _CONVEX,
    "qed.linear_model.PowerRegressor": _by(DualityGapCertificate, _power_regressor),
    "qed.linear_model.QuantileRegressor": _CONVEX,
    "qed.linear_model.RandomLinearClassifier": _by(ExactCertificate, _counts.check_drawn),
    "qed.linear_model.Ridge": _SQUARES,
    "qed.linear_model.RidgeCV": _by(LeastSquaresCertificate, _least_squares.check),
    "qed.linear_model.RidgeClassifier": _of(_coded.ridge_classifier),
    "qed.linear_model.RidgeClassifierCV": _of(_coded.ridge_classifier),
    "qed.linear_model.SGDClassifier": Entry(
        {DualityGapCertificate: _duality.check, MistakeBoundCertificate: _mistakes.refuse_stream}, _coded.each_class
    ),
    "qed.linear_model.SGDRegressor": _CONVEX,
    "qed.linear_model.SquareRootLasso": _CONVEX,
    "qed.linear_model.ThresholdClassifier": _by(ExactCertificate, _counts.check_threshold),
    "qed.linear_model.VotedPerceptron": _by(MistakeBoundCertificate, _mistakes.check_votes),
    "qed.manifold.ClassicalMDS": _by(EmbeddingCertificate, _scalings.check_classical),
    "qed.manifold.Isomap": _by(EmbeddingCertificate, _scalings.check_isomap),
    "qed.manifold.LocallyLinearEmbedding": _by(EmbeddingCertificate, _patches.check_patches),
    "qed.manifold.MDS": _by(EmbeddingCertificate, _scalings.check_stress),
    "qed.manifold.SpectralEmbedding": _by(EmbeddingCertificate, _patches.check_laplacian),
    "qed.manifold.TSNE": _by(EmbeddingCertificate, _neighbor_embeddings.check_tsne),
    "qed.manifold.UMAP": _by(EmbeddingCertificate, _neighbor_embeddings.check_umap),
    "qed.mixture.BayesianGaussianMixture": _by(AscentCertificate, _variational.check),
    "qed.mixture.GaussianMixtureClassifier": _by(AscentCertificate, _mixtures.check_classes),
    **{
        f"qed.mixture.{name}": _by(AscentCertificate, _independent_mixtures.check)
        for name in ("BernoulliMixture", "CategoricalMixture", "PoissonMixture")
    },
    "qed.mixture.GaussianMixture": _by(AscentCertificate, _mixtures.check),
    "qed.model_selection.DummyClassifier": _by(ExactCertificate, _counts.check_shares),
    "qed.model_selection.DummyRegressor": _by(ExactCertificate, _counts.check_constant),
    "qed.model_selection.FixedThresholdClassifier": _of(_members.threshold),
    "qed.model_selection.GridSearchCV": _of(_members.search),
    "qed.model_selection.HalvingGridSearchCV": _of(_members.search),
    "qed.model_selection.HalvingRandomSearchCV": _of(_members.search),
    "qed.model_selection.LookupClassifier": _by(ExactCertificate, _counts.check_table),
    "qed.model_selection.RandomizedSearchCV": _of(_members.search),
    "qed.model_selection.TunedThresholdClassifierCV": _of(_members.threshold),
    "qed.naive_bayes.BernoulliNB": _COUNTS,
    "qed.naive_bayes.CategoricalNB": _COUNTS,
    "qed.naive_bayes.ComplementNB": _COUNTS,
    "qed.naive_bayes.GaussianNB": _by(
        LikelihoodCertificate, functools.partial(_likelihood.check, _likelihood.check_normal)
    ),
    "qed.naive_bayes.MixedNB": _by(LikelihoodCertificate, functools.partial(_likelihood.check, _mixed_columns.check)),
    "qed.naive_bayes.MultinomialNB": _COUNTS,
    "qed.naive_bayes.PoissonNB": _COUNTS,
    "qed.neighbors.KNeighborsClassifier": _NEAREST,
    "qed.neighbors.KNeighborsRegressor": _NEAREST,
    "qed.neighbors.KernelDensity": _NEAREST,
    "qed.neighbors.NearestNeighbors": _NEAREST,
    "qed.neural_network.MLPClassifier": _by(NetworkCertificate, _networks.check),
    "qed.neural_network.MLPRegressor": _by(NetworkCertificate, _networks.check),
    **{
        f"qed.preprocessing.{name}": _EXACT
        for name in (
            "Binarizer",
            "CountVectorizer",
            "DateFeatures",
            "DictVectorizer",
            "FactoredEncoder",
            "FeatureHasher",
            "HashingVectorizer",
            "KBinsDiscretizer",
            "KNNImputer",
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
            "QuantileTransformer",
            "RadialBasis",
            "RobustScaler",
            "SimpleImputer",
            "SplineTransformer",
            "StandardScaler",
            "TfidfTransformer",
            "TfidfVectorizer",
            "ThermometerEncoder",
        )
    },
    "qed.preprocessing.IterativeImputer": _of(_rounds.imputation),
    "qed.preprocessing.PowerTransformer": _by(BracketCertificate, _power_transformer),
    "qed.preprocessing.TargetEncoder": _by(ExactCertificate, _transformers.check),
    "qed.svm.LinearSVC": _by(DualityGapCertificate, _linear_svc),
    "qed.svm.LinearSVR": _CONVEX,
    "qed.tree.DecisionTreeClassifier": _TREE,
    "qed.tree.DecisionTreeRegressor": _TREE,
    "qed.tree.ExtraTreeClassifier": _TREE,
    "qed.tree.ExtraTreeRegressor": _TREE,
    "qed.tree.MultiwayTreeClassifier": _by(TreeCertificate, _multiway_trees.check),
    "qed.tree.OptimalTreeClassifier": _TREE,
    "qed.tree.OptimalTreeRegressor": _TREE,
}

# Classes that learn nothing which could be checked, and why; their fits carry Uncertified.
CLAIMS_NOTHING: dict[str, str] = {
    "qed.preprocessing.BasisFunctions": "nothing is learnt, and the functions are the user's",
    "qed.preprocessing.FunctionTransformer": "the function is the user's, and nothing is known about it",
}


def entry_of(model: Any) -> Entry | None:
    """Return the entry of a model's class; None for a class that claims nothing."""
    cls = type(model)
    name = public_name(cls)
    package, _, leaf = name.rpartition(".")
    is_own = getattr(sys.modules.get(package), leaf, None) is cls
    if is_own and name in CLAIMS_NOTHING:
        return None
    if is_own and name in TABLE:
        return TABLE[name]
    parents = [base.__name__ for base in cls.__mro__[1:] if public_name(base) in TABLE]
    advice = (
        f" It derives from {parents[0]}, and may answer in another way: verify a model of {parents[0]} itself."
        if parents
        else " Verify the models of qed inside it, each with the rows that reached it."
    )
    raise CertificateError(f"The checker does not know the class {name}, so that it can confirm nothing.{advice}")


def check_model(model: Any, X: Any, y: Any, sample_weight: Any, *, as_part: bool = False) -> Verdict:
    """Verify one model, part by part where it has parts; raise when anything in it is not as it must be.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    X, y, sample_weight : object
        What reached it.
    as_part : bool
        Whether it stands inside another model: there a class that claims nothing is let pass, and the whole says so.
    """
    entry = entry_of(model)
    if entry is not None:
        _require_claim(model)
    _require_state(model)
    _require_columns(model, X)
    if entry is None:
        reason = CLAIMS_NOTHING[public_name(type(model))]
        if model.__dict__.get("certificate_") != Uncertified(reason):
            _refuse(model, f"carries a certificate, and its class claims nothing ({reason})")
        if not as_part:
            raise CertificateError(f"{type(model).__name__} claims nothing that could be verified: {reason}.")
        return Verdict(f"nothing is claimed: {reason}.", 0.0, 0.0, 0.0, 0.0, "", claims_nothing=True)
    certificate = certificate_of(model)
    _require_kind(model, certificate, entry)
    _require_sound(model, certificate)
    require_claims(model, certificate)
    _require_labels(model, X, y)
    if type(certificate) in entry.checks:
        for part in () if entry.inner is None else entry.inner(model, X, y, _as_weights(sample_weight, X, y)):
            require_template(model, part)
            check_model(part.model, part.X, part.y, part.weight, as_part=True)
        verdict = entry.checks[type(certificate)](model, certificate, X, y, sample_weight)
    else:
        verdict = _check_parts(model, entry, certificate, X, y, sample_weight)
    if not (np.isfinite(verdict.distance) and np.isfinite(verdict.rounding)):
        _refuse(model, "could not be compared with its optimum: a number in it is not finite")
    return verdict


def _check_parts(model: Any, entry: Entry, certificate: Certificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Verify every part; the distance and rounding of the verdict are the largest."""
    assert entry.parts is not None  # noqa: S101  the certificate has a kind that this class carries
    is_search = entry.parts is _members.search  # what it carries is the certificate of its one part
    listed = certificate.parts if isinstance(certificate, CompositeCertificate) and not is_search else {}
    found: list[tuple[str, Verdict]] = []
    names = []
    for part in entry.parts(model, X, y, _as_weights(sample_weight, X, y)):
        if isinstance(part, Stated):
            names.append(part.name)
            found.append((part.name, part.verdict))
            continue
        require_template(model, part)
        if part.is_listed:
            names.append(part.name)
            own = certificate_of(part.model)
            if type(listed.get(part.name)) is not type(own) or listed[part.name] != own:
                _refuse(model, f"states another certificate for {part.name!r} than the part itself")
        found.append((part.name, check_model(part.model, part.X, part.y, part.weight, as_part=True)))
    if names != list(listed):
        _refuse(model, f"states certificates of the parts {list(listed)!r:.200}, and has the parts {names!r:.200}")
    claims = [verdict for _, verdict in found if not verdict.claims_nothing]
    if not claims:
        words = f"nothing is claimed of any part ({', '.join(name for name, _ in found)})."
        return Verdict(words, 0.0, 0.0, 0.0, 0.0, "", claims_nothing=True)
    worst = max(claims, key=lambda one: one.distance)
    return Verdict(certificate.statement, worst.objective, worst.distance, worst.rounding, worst.claimed, worst.measure)


def _as_weights(sample_weight: Any, X: Any, y: Any) -> Any:
    """Return one number for all rows as one number for each: parts may see some of the rows."""
    if sample_weight is None or is_source(X):
        return sample_weight
    if np.ndim(sample_weight) == 0:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(y if y is not None else X)
        return _targets.weights(sample_weight, n_rows)
    return _targets.weights(sample_weight, len(_targets.as_target(sample_weight, "sample_weight")))


def _refuse(model: Any, what: str) -> NoReturn:
    raise CertificateError(
        f"This {type(model).__name__} {what}. It was changed after the fit. Fit again, or load the model from its file."
    )


# -- what a model holds ----------------------------------------------------------------------------------------


def _require_state(model: Any) -> None:
    """Refuse what the class does not declare; drop cached values, which are then computed from what is checked."""
    _drop_caches(model)
    try:
        check_state(model, deep=False)  # parts are looked at one by one
    except ModelFileError as error:
        _refuse(model, f"is not what its class declares ({error})")
    model._validate_params()  # noqa: SLF001


def _drop_caches(value: Any) -> None:
    """Delete what was computed once and kept, of a model and of the records in it."""
    state = getattr(value, "__dict__", {})
    cls = type(value)
    for name in [name for name in state if isinstance(inspect.getattr_static(cls, name, None), _CACHED)]:
        del state[name]
    for item in state.values():
        if is_record(item):
            _drop_caches(item)


_CACHED = (cached_property, functools.cached_property)


def _require_columns(model: Any, X: Any) -> None:
    """Refuse rows with other columns than the model stores."""
    state = vars(model)
    if "n_features_in_" not in state:
        return
    if is_source(X):
        require_columns(model, X.schema.n_features, X.schema.names)
        return
    shape: Any = X.shape if hasattr(X, "shape") else np.shape(X) if isinstance(X, list | tuple) else ()
    if len(shape) == 2:
        require_columns(model, int(shape[1]), column_names(X))


def _require_labels(model: Any, X: Any, y: Any) -> None:
    """Refuse a classifier whose labels are not those of the targets, in order.

    A classifier that learns from a stream may know labels that no row has: they were named in its first call.
    """
    cls = type(model)
    if cls._declared_traits.target != "label" or not declares(model, "classes_"):
        return
    if vars(model).get("multilabel_", False):
        return  # a table of zeros and ones, which the check of its class reads
    stored = vars(model)["classes_"]
    if is_source(X):
        labels = np.array(sorted({label for chunk in X.chunks() for label in np.unique(chunk.y).tolist()}))
    else:
        if y is None:
            raise InvalidData(f"{cls.__name__} learnt from labels, and y is None. Pass the labels of the fit after X.")
        target = _targets.as_target(y, "y")
        if target.ndim == 2 and target.shape[1] > 1:
            _require_labels_of_columns(model, stored, target)
            return
        labels = _sorted_labels(target.reshape(-1))
    if isinstance(stored, list) and len(stored) > 1:
        raise OtherData(
            f"{cls.__name__} knows {len(stored)} columns of labels, and y is one. Pass the labels of the fit."
        )
    if not isinstance(stored, np.ndarray) or stored.ndim != 1 or stored.dtype.kind in "cmMV":
        _refuse(model, "has labels that are no list of labels")
    if stored.dtype.kind == "O" and labels.dtype.kind in "biuf":
        _refuse(model, "has labels that are objects, and these are numbers")
    known, found = stored.tolist(), labels.tolist()
    if "unlabeled" in cls._fields and model.unlabeled is not None:  # what stands for a label that nobody knows
        found = [label for label in found if label != model.unlabeled]
    is_stream = hasattr(cls, "partial_fit")
    if known != found and not (is_stream and known == sorted(set(known)) and set(found) <= set(known)):
        raise OtherData(
            f"{cls.__name__} is not what these data give: the labels {found!r:.200} are not among its classes, or not all of them:"
            f" {known!r:.200}. The labels were changed, or these are not the data of the certificate. Pass those of the fit."
        )


def _require_labels_of_columns(model: Any, stored: Any, target: Any) -> None:
    """Compare the labels of several targets, one list for each."""
    if not isinstance(stored, list) or len(stored) != target.shape[1]:
        return  # a table of zeros and ones, which the check of its class reads
    for number, labels in enumerate(stored):
        if np.asarray(labels).tolist() != _sorted_labels(target[:, number]).tolist():
            raise OtherData(
                f"The labels of target {number} of this {type(model).__name__} are not those of these targets."
            )


def _sorted_labels(target: Any) -> Any:
    try:
        return np.unique(target)
    except TypeError as error:
        raise InvalidData(f"The labels in y have no common order: {error}.") from error


# -- what a certificate holds ----------------------------------------------------------------------------------


def _require_claim(model: Any) -> None:
    """Say so where a model of a class that claims something claims nothing, as after a stream."""
    certificate, name = certificate_of(model), type(model).__name__
    if isinstance(certificate, Uncertified):
        raise CertificateError(
            f"This {name} claims nothing that could be verified: {certificate.reason}. A fit of {name} on a table carries a"
            " certificate."
        )


def _require_kind(model: Any, certificate: Any, entry: Entry) -> None:
    """Refuse a certificate that a fit of this class does not carry."""
    if type(certificate) in entry.checks:
        return
    if entry.parts is not None and (
        type(certificate) is CompositeCertificate
        or (entry.parts is _members.search and isinstance(certificate, Certificate))
    ):
        return
    carried = [kind.__name__ for kind in entry.checks] + (["CompositeCertificate"] if entry.parts is not None else [])
    _refuse(model, f"carries {type(certificate).__name__} as its certificate, and a fit carries {' or '.join(carried)}")


def _require_sound(model: Any, certificate: Any) -> None:
    """Hold a certificate, and every record in it, against its own declaration."""
    if isinstance(certificate, CompositeCertificate):
        if type(certificate.parts) is not dict or not all(type(name) is str for name in certificate.parts):
            _refuse(model, "carries a certificate whose parts have no names")
    elif is_dataclass(certificate) and is_record(certificate):
        for field in fields(certificate):
            value = getattr(certificate, field.name)
            if not conforms(value, field_hints(type(certificate))[field.name]):
                _refuse(model, f"carries a certificate whose {field.name} is {type(value).__name__}")
            if is_record(value):
                _require_sound(model, value)
    own = getattr(certificate, "check", None)
    if own is not None:
        try:
            own()
        except (ValueError, TypeError) as error:
            _refuse(model, f"carries a certificate that makes no sense ({error})")
    if isinstance(certificate, GapCertificate) and not np.isfinite(certificate.gap):
        _refuse(model, f"states a gap of {certificate.gap}, which claims nothing")
    # blocks of thousands of rows are summed at once, and a stream may bring rows one by one: no fit states more than this
    if isinstance(certificate, ExactCertificate) and not certificate.rounding <= 2.0**-34 + 2.0**-38 * certificate.rows:
        _refuse(
            model,
            f"states a rounding of {certificate.rounding:.3g}, and sums of {certificate.rows} rows round by far less",
        )

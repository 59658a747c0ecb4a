"""More everyday snippets of scikit-learn with ``sklearn`` replaced by ``qed``, over all packages; and imports that say what to use."""

# ruff: noqa: E501  (snippets are as people paste them)

from __future__ import annotations

import textwrap
import warnings

import pytest

START = """
import warnings
import matplotlib
matplotlib.use("Agg")
import numpy as np
import pandas as pd
rng = np.random.default_rng(0)
from sklearn.datasets import load_iris, load_diabetes, load_breast_cancer, make_classification, make_blobs
X, y = load_iris(return_X_y=True)
"""
SNIPPETS = {
    "iterative imputer": """
        from sklearn.experimental import enable_iterative_imputer
        from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator
        holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            filled = IterativeImputer(random_state=0).fit_transform(holes)
        assert np.abs(filled - X).max() < 2 and MissingIndicator().fit_transform(holes).shape[1] == 4""",
    "calibration": """
        from sklearn.calibration import CalibratedClassifierCV, calibration_curve, CalibrationDisplay
        from sklearn.naive_bayes import GaussianNB
        a, b = make_classification(n_samples=300, random_state=0)
        model = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3).fit(a, b)
        true, predicted = calibration_curve(b, model.predict_proba(a)[:, 1], n_bins=5)
        assert len(true) == len(predicted)
        display = CalibrationDisplay.from_estimator(model, a, b, n_bins=5)
        assert display.figure_ is not None""",
    "temperature": """
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.ensemble import RandomForestClassifier
        model = CalibratedClassifierCV(RandomForestClassifier(20, random_state=0), method="temperature", cv=3).fit(X, y)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)""",
    "displays": """
        from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, PrecisionRecallDisplay
        from sklearn.metrics import PredictionErrorDisplay, DetCurveDisplay
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.model_selection import train_test_split
        a, b = load_breast_cancer(return_X_y=True)
        a_train, a_test, b_train, b_test = train_test_split(a, b, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(max_iter=5000).fit(a_train, b_train)
        ConfusionMatrixDisplay.from_estimator(model, a_test, b_test)
        ConfusionMatrixDisplay.from_predictions(b_test, model.predict(a_test), display_labels=["no", "yes"], cmap="Blues")
        RocCurveDisplay.from_estimator(model, a_test, b_test)
        PrecisionRecallDisplay.from_predictions(b_test, model.predict_proba(a_test)[:, 1])
        PredictionErrorDisplay.from_predictions(b_test, model.predict_proba(a_test)[:, 1])
        DetCurveDisplay.from_estimator(model, a_test, b_test)
        import matplotlib.pyplot as plt
        plt.close("all")""",
    "learning curve display": """
        from sklearn.model_selection import LearningCurveDisplay, ValidationCurveDisplay, ShuffleSplit
        from sklearn.svm import LinearSVC
        LearningCurveDisplay.from_estimator(LinearSVC(), X, y, cv=ShuffleSplit(3, random_state=0), train_sizes=[0.5, 1.0])
        ValidationCurveDisplay.from_estimator(LinearSVC(), X, y, param_name="C", param_range=[0.1, 1.0], cv=3)
        import matplotlib.pyplot as plt
        plt.close("all")""",
    "decision boundary": """
        from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay, partial_dependence
        from sklearn.tree import DecisionTreeClassifier, plot_tree
        model = DecisionTreeClassifier(max_depth=3).fit(X[:, :2], y)
        DecisionBoundaryDisplay.from_estimator(model, X[:, :2], response_method="predict", alpha=0.4)
        plot_tree(model, filled=True, feature_names=["a", "b"])
        from sklearn.ensemble import GradientBoostingRegressor
        a, b = load_diabetes(return_X_y=True)
        boosted = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(a, b)
        PartialDependenceDisplay.from_estimator(boosted, a, [0, 2, (0, 2)], grid_resolution=5)
        assert partial_dependence(boosted, a, [0])["average"].shape[0] == 1
        import matplotlib.pyplot as plt
        plt.close("all")""",
    "settings": """
        from sklearn import set_config, get_config, config_context
        from sklearn.preprocessing import StandardScaler
        set_config(display="diagram")
        with config_context(transform_output="pandas"):
            assert isinstance(StandardScaler().fit_transform(X), pd.DataFrame)
        assert get_config()["transform_output"] == "default" """,
    "routing": """
        from sklearn import config_context
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        with config_context(enable_metadata_routing=True):
            steps = StandardScaler().set_fit_request(sample_weight=False), Ridge().set_fit_request(sample_weight=True)
            assert make_pipeline(*steps).fit(X, y, sample_weight=np.ones(150)).score(X, y) > 0.9""",
    "outliers": """
        from sklearn.ensemble import IsolationForest
        from sklearn.covariance import EllipticEnvelope
        assert set(IsolationForest(random_state=0).fit_predict(X)) <= {-1, 1}
        assert set(EllipticEnvelope(contamination=0.05, random_state=0).fit_predict(X)) == {-1, 1}""",
    "t-SNE and manifolds": """
        from sklearn.manifold import TSNE, MDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding, trustworthiness
        points = TSNE(n_components=2, perplexity=30, random_state=0, max_iter=300, init="pca").fit_transform(X)
        assert points.shape == (150, 2) and trustworthiness(X, points) > 0.9
        assert Isomap(n_neighbors=40).fit_transform(X).shape == (150, 2)
        assert LocallyLinearEmbedding(n_neighbors=40, random_state=0).fit_transform(X).shape == (150, 2)""",
    "linkage": """
        from sklearn.cluster import AgglomerativeClustering, DBSCAN, OPTICS, MeanShift, estimate_bandwidth
        from sklearn.cluster import SpectralClustering, Birch, MiniBatchKMeans
        assert len(set(AgglomerativeClustering(n_clusters=3, linkage="ward").fit_predict(X))) == 3
        assert DBSCAN(eps=0.5, min_samples=5).fit(X).core_sample_indices_.size > 0
        assert MeanShift(bandwidth=estimate_bandwidth(X, quantile=0.2)).fit(X).labels_.shape == (150,)
        assert Birch(n_clusters=3).fit_predict(X).shape == (150,)
        assert MiniBatchKMeans(3, random_state=0, n_init=3).fit(X).cluster_centers_.shape == (3, 4)
        assert SpectralClustering(3, random_state=0, affinity="nearest_neighbors").fit_predict(X).shape == (150,)""",
    "cluster scores": """
        from sklearn.cluster import KMeans
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score, silhouette_samples
        from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, homogeneity_completeness_v_measure
        labels = KMeans(n_clusters=3, n_init="auto", random_state=0).fit_predict(X)
        assert adjusted_rand_score(y, labels) > 0.6 and normalized_mutual_info_score(y, labels) > 0.6
        assert silhouette_score(X, labels) > 0.5 and silhouette_samples(X, labels).shape == (150,)
        assert calinski_harabasz_score(X, labels) > 100 and davies_bouldin_score(X, labels) < 1
        assert len(homogeneity_completeness_v_measure(y, labels)) == 3""",
    "decompositions": """
        from sklearn.decomposition import PCA, NMF, FastICA, TruncatedSVD, KernelPCA, FactorAnalysis, IncrementalPCA
        assert NMF(n_components=2, init="nndsvda", random_state=0, max_iter=500).fit_transform(X).shape == (150, 2)
        assert FastICA(n_components=2, random_state=0, whiten="unit-variance").fit_transform(X).shape == (150, 2)
        assert TruncatedSVD(n_components=2, random_state=0).fit(X).explained_variance_ratio_.shape == (2,)
        assert KernelPCA(n_components=2, kernel="rbf").fit_transform(X).shape == (150, 2)
        assert FactorAnalysis(n_components=2, random_state=0).fit_transform(X).shape == (150, 2)
        assert IncrementalPCA(n_components=2, batch_size=50).fit_transform(X).shape == (150, 2)""",
    "discriminants": """
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
        assert LinearDiscriminantAnalysis(n_components=2).fit(X, y).transform(X).shape == (150, 2)
        assert QuadraticDiscriminantAnalysis().fit(X, y).score(X, y) > 0.95""",
    "naive bayes": """
        from sklearn.naive_bayes import GaussianNB, MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB
        assert GaussianNB().fit(X, y).score(X, y) > 0.9 and MultinomialNB().fit(X, y).predict(X).shape == (150,)
        assert GaussianNB().partial_fit(X[:80], y[:80], classes=[0, 1, 2]).partial_fit(X[80:], y[80:]).class_count_.sum() == 150""",
    "neighbours": """
        from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors, KernelDensity
        distances, indices = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X[:5])
        assert distances.shape == indices.shape == (5, 3)
        assert KernelDensity(bandwidth=0.5).fit(X).score_samples(X).shape == (150,)""",
    "mlp": """
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        model = make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(10,), max_iter=1000, random_state=1)).fit(X, y)
        assert model.score(X, y) > 0.9 and len(model[-1].coefs_) == 2""",
    "linear models": """
        from sklearn.linear_model import ElasticNet, HuberRegressor, BayesianRidge, QuantileRegressor, PoissonRegressor
        from sklearn.linear_model import SGDClassifier, Perceptron
        a, b = load_diabetes(return_X_y=True)
        for kind in (ElasticNet, HuberRegressor, BayesianRidge):
            assert kind().fit(a, b).coef_.shape == (10,)
        assert SGDClassifier(random_state=0).fit(X, y).score(X, y) > 0.5 and PoissonRegressor().fit(a, b).score(a, b) > 0""",
    "scorers by name": """
        from sklearn.metrics import get_scorer, get_scorer_names, make_scorer, fbeta_score, matthews_corrcoef
        from sklearn.metrics import cohen_kappa_score, balanced_accuracy_score
        from sklearn.model_selection import cross_val_score
        from sklearn.linear_model import LogisticRegression
        scorer = make_scorer(fbeta_score, beta=2, average="macro")
        assert cross_val_score(LogisticRegression(max_iter=500), X, y, scoring=scorer, cv=3).mean() > 0.9
        assert "f1_macro" in get_scorer_names() and matthews_corrcoef([0, 1], [0, 1]) == 1.0""",
    "several scores": """
        from sklearn.model_selection import cross_validate, GridSearchCV
        from sklearn.tree import DecisionTreeClassifier
        found = cross_validate(DecisionTreeClassifier(), X, y, scoring=["accuracy", "f1_macro"], return_estimator=True)
        assert len(found["estimator"]) == 5 and found["test_f1_macro"].mean() > 0.9
        search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, scoring=["accuracy", "f1_macro"], refit="accuracy").fit(X, y)
        assert pd.DataFrame(search.cv_results_).shape[0] == 2""",
    "verbose grid": """
        import io, contextlib
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeClassifier
        with contextlib.redirect_stdout(io.StringIO()) as out:
            GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, verbose=3, cv=3).fit(X, y)
        assert "[CV 1/3] END" in out.getvalue()""",
    "splitters": """
        from sklearn.model_selection import KFold, RepeatedStratifiedKFold, LeaveOneOut, GroupShuffleSplit
        from sklearn.model_selection import StratifiedGroupKFold, PredefinedSplit, StratifiedShuffleSplit
        from sklearn.model_selection import LeavePGroupsOut
        assert sum(1 for _ in RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0).split(X, y)) == 10
        assert LeaveOneOut().get_n_splits(X) == 150
        for train, test in StratifiedShuffleSplit(2, test_size=0.2, random_state=0).split(X, y):
            assert len(test) == 30""",
    "encoders": """
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder, LabelBinarizer, MultiLabelBinarizer
        frame = pd.DataFrame({"c": ["a", "b", "a", "c"], "d": [1, 2, 3, 4]})
        one = OneHotEncoder(sparse_output=False, drop="first", handle_unknown="ignore").set_output(transform="pandas").fit_transform(frame[["c"]])
        assert list(one.columns) == ["c_b", "c_c"]
        assert OrdinalEncoder(categories=[["c", "b", "a"]]).fit_transform(frame[["c"]]).ravel().tolist() == [2.0, 1.0, 2.0, 0.0]
        assert MultiLabelBinarizer().fit_transform([("x", "y"), ("y",)]).tolist() == [[1, 1], [0, 1]]""",
    "scalers": """
        from sklearn.preprocessing import MinMaxScaler, RobustScaler, MaxAbsScaler, Normalizer, PowerTransformer
        from sklearn.preprocessing import QuantileTransformer, scale, normalize, minmax_scale, add_dummy_feature
        from sklearn.preprocessing import binarize
        assert np.allclose(scale(X).mean(axis=0), 0) and np.allclose(np.linalg.norm(normalize(X), axis=1), 1)
        assert np.allclose(MinMaxScaler().fit(X).inverse_transform(MinMaxScaler().fit_transform(X)), X)
        assert PowerTransformer().fit_transform(X).shape == QuantileTransformer(n_quantiles=50).fit_transform(X).shape
        assert add_dummy_feature(X).shape == (150, 5)""",
    "splines and bins": """
        from sklearn.preprocessing import SplineTransformer, KBinsDiscretizer, FunctionTransformer, PolynomialFeatures
        from sklearn.pipeline import make_pipeline
        from sklearn.linear_model import Ridge
        a = np.linspace(0, 6, 80)[:, None]
        assert make_pipeline(SplineTransformer(n_knots=6, degree=3), Ridge(alpha=1e-3)).fit(a, np.sin(a).ravel()).score(a, np.sin(a).ravel()) > 0.99
        assert FunctionTransformer(np.log1p, validate=True).fit_transform(a).shape == (80, 1)
        assert KBinsDiscretizer(n_bins=4, encode="ordinal", strategy="uniform").fit_transform(a).max() == 3""",
    "covariances": """
        from sklearn.covariance import LedoitWolf, GraphicalLassoCV, EmpiricalCovariance, MinCovDet, OAS
        assert LedoitWolf().fit(X).covariance_.shape == (4, 4) and MinCovDet(random_state=0).fit(X).mahalanobis(X).shape == (150,)""",
    "random projection": """
        from sklearn.random_projection import GaussianRandomProjection, johnson_lindenstrauss_min_dim
        assert GaussianRandomProjection(n_components=2, random_state=0).fit_transform(X).shape == (150, 2)
        assert johnson_lindenstrauss_min_dim(1000, eps=0.3) > 100""",
    "histogram boosting": """
        from sklearn.ensemble import HistGradientBoostingClassifier, AdaBoostClassifier, BaggingClassifier
        from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
        model = HistGradientBoostingClassifier(max_iter=20, early_stopping=True, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9 and model.n_iter_ <= 20
        assert AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y).score(X, y) > 0.9
        assert len(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y).feature_importances_) == 4""",
    "saving": """
        import pickle, tempfile, pathlib
        from sklearn.linear_model import LogisticRegression
        model = LogisticRegression(max_iter=500).fit(X, y)
        assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
        import joblib
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump(model, pathlib.Path(folder) / "model.joblib")
            assert (joblib.load(pathlib.Path(folder) / "model.joblib").predict(X) == model.predict(X)).all()""",
    "data sets": """
        from sklearn.datasets import load_wine, load_digits, make_s_curve, make_swiss_roll, make_friedman1, make_moons
        from sklearn.datasets import make_multilabel_classification, make_low_rank_matrix, load_iris
        frame = load_wine(as_frame=True).frame
        assert "target" in frame and load_digits().images.shape == (1797, 8, 8)
        assert make_swiss_roll(50, random_state=0)[0].shape == (50, 3) and make_friedman1(20, random_state=0)[0].shape == (20, 10)
        assert load_iris().target_names.tolist() == ["setosa", "versicolor", "virginica"]""",
    "utils": """
        from sklearn.utils import check_random_state, shuffle, Bunch, check_array, check_X_y, compute_class_weight
        from sklearn.utils import gen_batches
        from sklearn.utils.validation import check_is_fitted
        from sklearn.utils.multiclass import type_of_target, unique_labels
        from sklearn.utils.extmath import softmax
        assert type_of_target(y) == "multiclass" and check_array([[1, 2]]).shape == (1, 2)
        assert check_random_state(0).rand() is not None and list(gen_batches(5, 2))[0] == slice(0, 2)""",
    "tests of one model": """
        from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, RegressorMixin, clone, is_classifier
        from sklearn.linear_model import LogisticRegression
        assert is_classifier(LogisticRegression()) and clone(LogisticRegression(C=2)).C == 2""",
    "feature hashing": """
        from sklearn.feature_extraction import DictVectorizer, FeatureHasher
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, CountVectorizer, ENGLISH_STOP_WORDS
        assert DictVectorizer(sparse=False).fit_transform([{"a": 1}, {"b": 2}]).shape == (2, 2) and "the" in ENGLISH_STOP_WORDS""",
    "multilabel": """
        from sklearn.multioutput import MultiOutputClassifier
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.datasets import make_multilabel_classification
        from sklearn.metrics import hamming_loss, jaccard_score, multilabel_confusion_matrix
        a, b = make_multilabel_classification(60, n_classes=3, random_state=0)
        predicted = MultiOutputClassifier(RandomForestClassifier(5, random_state=0)).fit(a, b).predict(a)
        assert hamming_loss(b, predicted) < 0.2 and jaccard_score(b, predicted, average="samples", zero_division=1) > 0.5""",
}
LACKING = [
    "from sklearn.svm import SVC",
    "from sklearn.svm import OneClassSVM",
    "from sklearn.gaussian_process import GaussianProcessRegressor",
    "from sklearn.gaussian_process.kernels import RBF",
    "from sklearn.kernel_ridge import KernelRidge",
    "from sklearn.semi_supervised import LabelPropagation",
    "from sklearn.decomposition import LatentDirichletAllocation",
    "from sklearn.cross_decomposition import PLSRegression",
    "from sklearn.linear_model import GammaRegressor",
    "from sklearn.linear_model import OrthogonalMatchingPursuit",
    "from sklearn.neighbors import NeighborhoodComponentsAnalysis",
    "from sklearn.kernel_approximation import RBFSampler",
    "from sklearn.datasets import fetch_california_housing",
    "from sklearn.utils.estimator_checks import check_estimator",
    "from sklearn.frozen import FrozenEstimator",
    "from sklearn.feature_extraction.image import extract_patches_2d",
    "from sklearn.utils.metaestimators import available_if",
]


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_run_after_replacing_the_name(name):
    pytest.importorskip("matplotlib")
    source = START + textwrap.dedent(SNIPPETS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(source.replace("from sklearn", "from qed"), name, "exec"), {"__name__": "snippet"})  # noqa: S102


@pytest.mark.parametrize("line", LACKING)
def test_what_qed_lacks_says_what_to_use(line):
    exec(line)  # noqa: S102  (scikit-learn has it)
    try:
        exec(line.replace("sklearn", "qed"))  # noqa: S102
    except ImportError as error:
        assert "not in qed, use sklearn." in str(error)  # noqa: PT017  (what qed gains meanwhile is welcome)

"""Everyday snippets of scikit-learn with ``sklearn`` replaced by ``qed``: each runs, and asserts what its author would look at."""

from __future__ import annotations

import textwrap

import pytest

START = """
import warnings
import numpy as np
import pandas as pd
rng = np.random.default_rng(0)
from sklearn.datasets import load_iris, load_diabetes, load_breast_cancer, make_classification, make_regression, make_blobs
X, y = load_iris(return_X_y=True)
"""
SNIPPETS = {
    "split, fit, score": """
        from sklearn.model_selection import train_test_split
        from sklearn.linear_model import LogisticRegression
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42, stratify=y)
        assert LogisticRegression(max_iter=1000).fit(X_train, y_train).score(X_test, y_test) > 0.9""",
    "pipeline": """
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import LinearSVC
        assert make_pipeline(StandardScaler(), LinearSVC()).fit(X, y).score(X, y) > 0.9""",
    "grid search": """
        from sklearn.model_selection import GridSearchCV
        from sklearn.neighbors import KNeighborsClassifier
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5]}, cv=5).fit(X, y)
        assert search.best_score_ > 0.9 and set(search.best_params_) == {"n_neighbors"}""",
    "randomized search": """
        from sklearn.model_selection import RandomizedSearchCV
        from sklearn.linear_model import Ridge
        search = RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=2, random_state=0).fit(X, y)
        assert search.best_estimator_.coef_.shape == (4,)""",
    "cross validation": """
        from sklearn.model_selection import cross_val_score, cross_validate, StratifiedKFold
        from sklearn.tree import DecisionTreeClassifier
        assert cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=StratifiedKFold(5)).mean() > 0.9
        assert "test_score" in cross_validate(DecisionTreeClassifier(), X, y, return_train_score=True)""",
    "columns of a frame": """
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import Pipeline
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
        from sklearn.linear_model import LogisticRegression
        frame = pd.DataFrame({"age": [20.0, None, 41.0, 33.0] * 10, "city": ["a", "b", "a", "c"] * 10})
        numeric = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
        both = ColumnTransformer([("n", numeric, ["age"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])])
        model = Pipeline([("prepare", both), ("classify", LogisticRegression())]).fit(frame, [0, 1, 1, 0] * 10)
        assert model.predict(frame).shape == (40,)""",
    "column selector": """
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.preprocessing import OrdinalEncoder, StandardScaler
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
        t = make_column_transformer((StandardScaler(), make_column_selector(dtype_include="number")), (OrdinalEncoder(), ["b"]))
        assert t.fit_transform(frame).shape == (3, 2)""",
    "select k best": """
        from sklearn.feature_selection import SelectKBest, chi2
        assert SelectKBest(chi2, k=2).fit_transform(X, y).shape == (150, 2)""",
    "mutual information": """
        from sklearn.feature_selection import mutual_info_classif, SelectPercentile
        assert mutual_info_classif(X, y, random_state=0).argmax() in (2, 3)
        assert SelectPercentile(mutual_info_classif, percentile=50).fit(X, y).get_support().sum() == 2""",
    "variance threshold": """
        from sklearn.feature_selection import VarianceThreshold
        assert VarianceThreshold(threshold=0.2).fit_transform(X).shape[1] == 3""",
    "recursive elimination": """
        from sklearn.feature_selection import RFE, RFECV
        from sklearn.linear_model import LogisticRegression
        assert RFE(LogisticRegression(), n_features_to_select=2).fit(X, y).ranking_.tolist().count(1) == 2
        assert RFECV(LogisticRegression(), cv=3).fit(X, y).n_features_ >= 1""",
    "select from a model": """
        from sklearn.feature_selection import SelectFromModel
        from sklearn.ensemble import RandomForestClassifier
        assert 1 <= SelectFromModel(RandomForestClassifier(20, random_state=0)).fit(X, y).transform(X).shape[1] <= 3""",
    "selection in a pipeline": """
        from sklearn.pipeline import make_pipeline
        from sklearn.feature_selection import SelectKBest, f_classif
        from sklearn.naive_bayes import GaussianNB
        from sklearn.model_selection import cross_val_score
        assert cross_val_score(make_pipeline(SelectKBest(f_classif, k=2), GaussianNB()), X, y).mean() > 0.9""",
    "forest": """
        from sklearn.ensemble import RandomForestClassifier
        model = RandomForestClassifier(n_estimators=20, random_state=0, oob_score=True).fit(X, y)
        assert model.feature_importances_.sum() > 0.99 and model.oob_score_ > 0.9""",
    "boosting": """
        from sklearn.ensemble import HistGradientBoostingRegressor
        X, y = load_diabetes(return_X_y=True)
        assert HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y).score(X, y) > 0.5""",
    "stacking without a final model": """
        from sklearn.ensemble import StackingClassifier, StackingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge, Lasso
        from sklearn.naive_bayes import GaussianNB
        assert StackingClassifier([("nb", GaussianNB()), ("lr", LogisticRegression())]).fit(X, y).score(X, y) > 0.9
        assert StackingRegressor([("r", Ridge()), ("l", Lasso(0.1))]).fit(X, y).score(X, y) > 0.8""",
    "voting": """
        from sklearn.ensemble import VotingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        assert VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft").fit(X, y).score(X, y) > 0.9""",
    "report and confusion": """
        from sklearn.metrics import classification_report, confusion_matrix, accuracy_score, f1_score
        from sklearn.naive_bayes import GaussianNB
        p = GaussianNB().fit(X, y).predict(X)
        assert "macro avg" in classification_report(y, p) and confusion_matrix(y, p).shape == (3, 3)
        assert accuracy_score(y, p) > 0.9 and f1_score(y, p, average="macro") > 0.9""",
    "roc": """
        from sklearn.metrics import roc_auc_score, roc_curve, average_precision_score, precision_recall_curve
        from sklearn.linear_model import LogisticRegression
        X, y = make_classification(200, random_state=0)
        s = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
        assert roc_auc_score(y, s) > 0.7 and len(roc_curve(y, s)) == 3 and average_precision_score(y, s) > 0.7
        assert len(precision_recall_curve(y, s)) == 3""",
    "regression scores": """
        from sklearn.metrics import mean_squared_error, mean_absolute_error, r2_score, root_mean_squared_error
        from sklearn.linear_model import LinearRegression
        X, y = load_diabetes(return_X_y=True)
        p = LinearRegression().fit(X, y).predict(X)
        assert r2_score(y, p) > 0.5 and root_mean_squared_error(y, p) ** 2 - mean_squared_error(y, p) < 1e-6
        assert mean_absolute_error(y, p) > 0""",
    "ranking": """
        from sklearn.metrics import ndcg_score, dcg_score
        gains, scores = [[3, 2, 0, 1]], [[0.9, 0.1, 0.3, 0.2]]
        assert 0 < ndcg_score(gains, scores, k=3) < 1 < dcg_score(gains, scores)""",
    "distances": """
        from sklearn.metrics import pairwise_distances
        from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
        assert pairwise_distances(X[:5]).shape == (5, 5) and cosine_similarity(X[:3]).min() > 0.9
        assert np.allclose(euclidean_distances(X[:4]), pairwise_distances(X[:4], metric="euclidean"))""",
    "lasso path": """
        from sklearn.linear_model import LassoCV, ElasticNetCV
        X, y = load_diabetes(return_X_y=True)
        assert LassoCV(cv=5).fit(X, y).alpha_ > 0 and ElasticNetCV(cv=3).fit(X, y).score(X, y) > 0.4""",
    "ridge cv": """
        from sklearn.linear_model import RidgeCV
        assert RidgeCV(alphas=[0.1, 1.0, 10.0]).fit(X, y).alpha_ in (0.1, 1.0, 10.0)""",
    "clusters": """
        from sklearn.cluster import KMeans
        X, _ = make_blobs(150, centers=3, random_state=0)
        assert len(set(KMeans(n_clusters=3, n_init=10, random_state=0).fit_predict(X))) == 3""",
    "principal components": """
        from sklearn.decomposition import PCA
        assert PCA(n_components=2).fit(X).explained_variance_ratio_.sum() > 0.95""",
    "texts": """
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline
        texts = ["the cat sat on the mat", "dogs and cats", "stocks fell sharply", "the market and stocks"] * 3
        words = TfidfVectorizer(stop_words="english", ngram_range=(1, 2))
        model = make_pipeline(words, MultinomialNB()).fit(texts, [0, 0, 1, 1] * 3)
        assert model.predict(["a cat"]).tolist() == [0]""",
    "word counts": """
        from sklearn.feature_extraction.text import CountVectorizer
        v = CountVectorizer(stop_words="english").fit(["the quick fox", "a lazy dog"])
        assert v.get_feature_names_out().tolist() == ["dog", "fox", "lazy", "quick"]""",
    "own estimator": """
        from sklearn.base import BaseEstimator, ClassifierMixin, clone
        from sklearn.utils.validation import check_X_y, check_array, check_is_fitted
        from sklearn.model_selection import cross_val_score
        class Majority(ClassifierMixin, BaseEstimator):
            def __init__(self, shift=0):
                self.shift = shift
            def fit(self, X, y):
                X, y = check_X_y(X, y)
                self.classes_, counts = np.unique(y, return_counts=True)
                self.best_ = self.classes_[counts.argmax()]
                return self
            def predict(self, X):
                check_is_fitted(self)
                return np.full(len(check_array(X)), self.best_)
        assert abs(cross_val_score(clone(Majority()), X, y).mean() - 1 / 3) < 1e-12""",
    "own transformer": """
        from sklearn.base import BaseEstimator, TransformerMixin
        from sklearn.pipeline import make_pipeline
        from sklearn.linear_model import Ridge
        class Log(TransformerMixin, BaseEstimator):
            def fit(self, X, y=None):
                return self
            def transform(self, X):
                return np.log1p(X)
        assert make_pipeline(Log(), Ridge()).fit(X, y).score(X, y) > 0.8""",
    "early stop warns": """
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            LogisticRegression(max_iter=1).fit(X, y)
        assert any(issubclass(one.category, ConvergenceWarning) for one in told)""",
    "not fitted": """
        from sklearn.exceptions import NotFittedError
        from sklearn.linear_model import Ridge
        try:
            Ridge().predict(X)
        except NotFittedError:
            pass
        else:
            raise AssertionError""",
    "shuffle and resample": """
        from sklearn.utils import shuffle, resample
        a, b = shuffle(X, y, random_state=0)
        assert a.shape == X.shape and sorted(b) == sorted(y)
        assert resample(X, n_samples=10, random_state=0).shape == (10, 4)""",
    "chains": """
        from sklearn.multioutput import ClassifierChain, RegressorChain
        from sklearn.linear_model import LogisticRegression, Ridge
        Y = np.column_stack([y > 0, y > 1]).astype(int)
        assert ClassifierChain(LogisticRegression(), order="random", random_state=0).fit(X, Y).predict(X).shape == (150, 2)
        assert RegressorChain(Ridge()).fit(X, Y).predict(X).shape == (150, 2)""",
    "several targets": """
        from sklearn.multioutput import MultiOutputRegressor
        from sklearn.linear_model import Ridge
        assert MultiOutputRegressor(Ridge()).fit(X, np.column_stack([y, -y])).predict(X).shape == (150, 2)""",
    "one against the rest": """
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC
        assert OneVsRestClassifier(LinearSVC()).fit(X, y).score(X, y) > 0.9""",
    "transformed target": """
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.linear_model import Ridge
        model = TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1).fit(X, y)
        assert model.score(X, y) > 0.8""",
    "label encoding": """
        from sklearn.preprocessing import LabelEncoder, LabelBinarizer, MultiLabelBinarizer
        assert LabelEncoder().fit_transform(["b", "a"]).tolist() == [1, 0]
        assert LabelBinarizer().fit_transform(["a", "b", "c"]).shape == (3, 3)
        assert MultiLabelBinarizer().fit_transform([["a"], ["a", "b"]]).tolist() == [[1, 0], [1, 1]]""",
    "polynomials and output of frames": """
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler
        frame = pd.DataFrame(X, columns=list("abcd"))
        assert list(StandardScaler().set_output(transform="pandas").fit_transform(frame)) == list("abcd")
        assert PolynomialFeatures(2).fit_transform(X).shape[1] == 15""",
    "dummy baseline": """
        from sklearn.dummy import DummyClassifier, DummyRegressor
        assert abs(DummyClassifier(strategy="most_frequent").fit(X, y).score(X, y) - 1 / 3) < 1e-12
        assert abs(DummyRegressor().fit(X, y).score(X, y)) < 1e-12""",
    "learning curve": """
        from sklearn.model_selection import learning_curve
        from sklearn.naive_bayes import GaussianNB
        sizes, train, test = learning_curve(GaussianNB(), X, y, cv=5, shuffle=True, random_state=0)
        assert test.shape == (5, 5)""",
    "halving search": """
        from sklearn.experimental import enable_halving_search_cv
        from sklearn.model_selection import HalvingGridSearchCV, HalvingRandomSearchCV
        from sklearn.neighbors import KNeighborsClassifier
        search = HalvingGridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9]}, random_state=0, factor=2).fit(X, y)
        assert search.best_score_ > 0.8 and search.n_resources_[-1] > search.n_resources_[0]
        drawn = HalvingRandomSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, random_state=0).fit(X, y)
        assert drawn.predict(X).shape == (150,)""",
    "threshold": """
        from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
        from sklearn.linear_model import LogisticRegression
        a, b = load_breast_cancer(return_X_y=True)
        model = TunedThresholdClassifierCV(LogisticRegression(max_iter=5000), scoring="f1").fit(a, b)
        assert 0 < model.best_threshold_ < 1 and model.score(a, b) > 0.9
        careful = FixedThresholdClassifier(LogisticRegression(max_iter=5000), threshold=0.99).fit(a, b)
        assert careful.predict(a).mean() < b.mean()""",
    "permutation test": """
        from sklearn.model_selection import permutation_test_score
        from sklearn.naive_bayes import GaussianNB
        score, others, p = permutation_test_score(GaussianNB(), X, y, n_permutations=9)
        assert score > 0.9 and p == 0.1""",
    "bunch and class weights": """
        from sklearn.utils import Bunch
        from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
        assert Bunch(a=1).a == 1
        assert np.allclose(compute_class_weight("balanced", classes=np.unique(y), y=y), 1)
        assert compute_sample_weight("balanced", [0, 0, 1]).tolist() == [0.75, 0.75, 1.5]""",
    "weights for one step": """
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.linear_model import Ridge
        weights = np.linspace(0.1, 1, len(y))
        model = make_pipeline(StandardScaler(), Ridge()).fit(X, y, ridge__sample_weight=weights)
        assert model[-1].coef_.shape == (4,)""",
    "weights for members": """
        from sklearn.ensemble import VotingRegressor, StackingRegressor
        from sklearn.linear_model import Ridge, Lasso
        members = [("a", Ridge()), ("b", Lasso())]
        assert VotingRegressor(members).fit(X, y, sample_weight=np.ones(150)).predict(X).shape == (150,)
        assert StackingRegressor(members).fit(X, y, sample_weight=np.ones(150)).score(X, y) > 0.8""",
    "weights in a search": """
        from sklearn.model_selection import GridSearchCV, cross_validate
        from sklearn.linear_model import Ridge
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(X, y, sample_weight=np.ones(150))
        assert search.best_params_["alpha"] in (0.1, 1.0)
        assert cross_validate(Ridge(), X, y, params={"sample_weight": np.ones(150)})["test_score"].shape == (5,)""",
    "moons and circles": """
        from sklearn.datasets import make_moons, make_circles
        from sklearn.neighbors import KNeighborsClassifier
        for make in (make_moons, make_circles):
            a, b = make(200, noise=0.05, random_state=0)
            assert KNeighborsClassifier().fit(a, b).score(a, b) > 0.95""",
    "seeds of tutorials": """
        a, b = make_classification(n_samples=100, random_state=42)
        assert np.allclose(a[0, :3], [-2.0251, 0.0291, -0.4749], atol=1e-4) and b[:6].tolist() == [0, 0, 1, 1, 0, 0]
        a, b = make_regression(n_samples=5, n_features=2, random_state=0)
        assert np.allclose(b, [13.544, 96.172, 67.216, 196.009, 160.829], atol=1e-3)""",
    "stop words": """
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer, ENGLISH_STOP_WORDS
        assert "the" in ENGLISH_STOP_WORDS
        assert set(CountVectorizer(stop_words="english").fit(["the cat sat on the mat"]).vocabulary_) == {"cat", "sat", "mat"}
        assert TfidfVectorizer(stop_words="english").fit_transform(["a cat", "a dog"]).shape == (2, 2)""",
    "ranking, more of it": """
        from sklearn.metrics import ndcg_score, dcg_score
        assert ndcg_score([[3, 2, 1]], [[0.9, 0.5, 0.1]]) == 1.0
        assert dcg_score([[3, 2, 1]], [[0.1, 0.5, 0.9]]) < dcg_score([[3, 2, 1]], [[0.9, 0.5, 0.1]])""",
    "distances, more of it": """
        from sklearn.metrics import pairwise_distances
        from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
        assert np.allclose(pairwise_distances(X[:5]), euclidean_distances(X[:5]))
        assert np.allclose(np.diag(cosine_similarity(X[:5])), 1) and np.allclose(np.diag(rbf_kernel(X[:5])), 1)""",
    "shuffle and resample, more of it": """
        from sklearn.utils import shuffle, resample
        a, b = shuffle(X, y, random_state=0)
        assert sorted(b) == sorted(y) and len(resample(X, n_samples=20, random_state=0)) == 20""",
    "trees as text": """
        from sklearn.tree import DecisionTreeClassifier, export_text
        model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        assert "class" in export_text(model) and model.get_depth() == 2""",
    "permutation importance": """
        from sklearn.inspection import permutation_importance
        from sklearn.linear_model import LogisticRegression
        found = permutation_importance(LogisticRegression(max_iter=500).fit(X, y), X, y, n_repeats=3, random_state=0)
        assert found.importances_mean.shape == (4,) and found.importances_mean.max() > 0.1""",
    "isotonic": """
        from sklearn.isotonic import IsotonicRegression
        found = IsotonicRegression(out_of_bounds="clip").fit([1, 2, 3, 4], [1, 3, 2, 4]).predict([0, 2.5, 9])
        assert np.allclose(found, [1, 2.5, 4])""",
    "report": """
        from sklearn.metrics import classification_report, confusion_matrix
        assert "precision" in classification_report([0, 1, 1], [0, 1, 0])
        assert confusion_matrix([0, 1, 1], [0, 1, 0]).tolist() == [[1, 0], [1, 1]]""",
    "time series folds": """
        from sklearn.model_selection import TimeSeriesSplit, cross_val_score
        from sklearn.linear_model import Ridge
        assert cross_val_score(Ridge(), X, y, cv=TimeSeriesSplit(3), scoring="neg_mean_absolute_error").shape == (3,)""",
    "groups": """
        from sklearn.model_selection import GroupKFold, cross_val_score
        from sklearn.naive_bayes import GaussianNB
        assert cross_val_score(GaussianNB(), X, y, groups=np.arange(150) % 10, cv=GroupKFold(5)).shape == (5,)""",
    "k-means and silhouette": """
        from sklearn.cluster import KMeans
        a, _ = make_blobs(100, centers=3, random_state=0)
        model = KMeans(3, n_init=5, random_state=0).fit(a)
        assert model.labels_.shape == (100,) and model.inertia_ > 0""",
    "explained variance": """
        from sklearn.decomposition import PCA
        assert PCA(n_components=2).fit(X).explained_variance_ratio_.sum() > 0.95
        assert PCA(n_components=0.95).fit(X).n_components_ == 2""",
    "mixture": """
        from sklearn.mixture import GaussianMixture
        assert GaussianMixture(3, random_state=0).fit(X).predict_proba(X).shape == (150, 3)""",
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_run_after_replacing_the_name(name):
    source = START + textwrap.dedent(SNIPPETS[name])
    exec(compile(source.replace("from sklearn", "from qed"), name, "exec"), {"__name__": "snippet"})  # noqa: S102


def test_there_are_sixty():
    assert len(SNIPPETS) >= 60

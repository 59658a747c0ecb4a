"""Tables described by directions without centring, in the space of a kernel, and by nonnegative parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of

if TYPE_CHECKING:
    from collections.abc import Callable


def normal(rng: np.random.Generator, n: int, p: int) -> Data:
    """Independent normal columns, some of them longer."""
    return Data(rng.standard_normal((n, p)) * np.linspace(3, 1, p), np.zeros(n))


def singular(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What singular directions leave out of the sum of squares, as a share of it."""
    svd = model_of(library, "decomposition", "TruncatedSVD")
    return lambda X, _: float(1 - np.sum(svd(**params).fit(X).singular_values_ ** 2) / np.sum(X * X))


def unexplained(data: Data, params: dict[str, Any]) -> Any:
    """The least share that so many directions can leave out."""
    values = np.linalg.eigvalsh(data.X.T @ data.X)
    return [np.sum(values[: -params["n_components"]]) / np.sum(values)]


def kernel_directions(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The sum of the leading eigenvalues of a centred kernel, negative: less is better."""
    pca = model_of(library, "decomposition", "KernelPCA")
    return lambda X, _: -float(np.sum(pca(**params).fit(X).eigenvalues_))


def leading(data: Data, params: dict[str, Any]) -> Any:
    """The same from all eigenvalues."""
    squares = np.sum(data.X**2, axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * data.X @ data.X.T, 0.0) / data.X.shape[1])
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    return [-np.sum(np.linalg.eigvalsh(K)[-params["n_components"] :])]


def mixed_sources(rng: np.random.Generator, n: int, p: int) -> Data:
    """Flat and peaked sources, half of each, mixed."""
    S = np.column_stack([rng.uniform(-1, 1, (n, p - p // 2)), rng.laplace(size=(n, p // 2))])
    return Data(S @ rng.standard_normal((p, p)), np.zeros(n))


def lacking(sources: Any) -> float:
    """How far sources are from solving their equations, in shares of their moments."""
    y = (sources - sources.mean(axis=0)) / sources.std(axis=0)
    g = np.tanh(y)
    B = g.T @ y / len(y)
    B *= np.where(np.diag(B) < np.mean(1 - g**2, axis=0), -1.0, 1.0)[:, None]
    return float(np.sum((B - B.T) ** 2) / 2 / np.sum(B * B))


def unmixing(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """A fit, and whether its sources lack more than a thousandth of their moments, on a part of the rows."""
    ica = model_of(library, "decomposition", "FastICA")
    return lambda X, _: float(lacking(ica(**params).fit(X).transform(X[:20_000])) > 1e-3)


def solved(data: Data, params: dict[str, Any]) -> Any:  # noqa: ARG001
    """No more than a thousandth lacks on a part of the rows."""
    return [0.0]


def analysed(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """Minus the mean log-likelihood of factors."""
    factors = model_of(library, "decomposition", "FactorAnalysis")
    return lambda X, _: -float(factors(**params).fit(X).score(X))


def best_known(data: Data, params: dict[str, Any]) -> Any:
    """The same after thousands of exact steps."""
    from sklearn.decomposition import FactorAnalysis

    given = {**params, "tol": 1e-8, "max_iter": 2000, "svd_method": "lapack"}
    return [-FactorAnalysis(**given).fit(data.X).score(data.X)]


def with_factors(rng: np.random.Generator, n: int, p: int) -> Data:
    """Ten hidden factors and noise of different sizes."""
    X = rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) + rng.standard_normal((n, p)) * rng.uniform(
        0.5, 2, p
    )
    return Data(X, np.zeros(n))


def planted(rng: np.random.Generator, n: int, p: int) -> Data:
    """Few of 32 atoms in each row, and a little noise."""
    atoms = rng.standard_normal((32, p))
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    codes = 3 * rng.standard_normal((n, 32)) * (rng.random((n, 32)) < 0.1)
    return Data(codes @ atoms + 0.05 * rng.standard_normal((n, p)), np.zeros(n))


def learnt(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The objective where learning ended, as the model states it, a row."""
    model = model_of(library, "decomposition", "DictionaryLearning")
    return lambda X, _: float(model(**params).fit(X).error_[-1]) / len(X)


def best_dictionary(data: Data, params: dict[str, Any]) -> Any:
    """The same after ten times as many steps; lower is as good."""
    from sklearn.decomposition import DictionaryLearning

    return [DictionaryLearning(**{**params, "max_iter": 10 * params["max_iter"]}).fit(data.X).error_[-1] / len(data.X)]


def two_tables(rng: np.random.Generator, n: int, p: int) -> Data:
    """Columns and five targets that depend on a few hidden variables."""
    hidden = rng.standard_normal((n, 8)) * np.linspace(4, 1, 8)
    X = hidden @ rng.standard_normal((8, p)) + rng.standard_normal((n, p))
    return Data(X, hidden @ rng.standard_normal((8, 5)) + 0.5 * rng.standard_normal((n, 5)))


def paired(name: str) -> Callable[..., Callable[[Any, Any], float]]:
    """A model of two tables: minus the sum of covariances, or of correlations, of its scores."""

    def run(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
        kind = model_of(library, "cross_decomposition", name)

        def together(X: Any, y: Any) -> float:
            T, U = kind(**params).fit(X, y).transform(X[:5000], y[:5000])
            long = np.linalg.norm(T, axis=0) * np.linalg.norm(U, axis=0) if name == "CCA" else len(T) - 1
            return -float(np.sum(np.abs(np.sum(T * U, axis=0)) / long))

        return together

    return run


def pairs_at_rest(name: str) -> Callable[[Data, dict[str, Any]], Any]:
    """The same from scikit-learn's power method, run until it stands still."""

    def expected(data: Data, params: dict[str, Any]) -> Any:
        return [paired(name)("sklearn", {**params, "tol": 1e-20, "max_iter": 20_000})(data.X, data.y)]

    return expected


def texts(rng: np.random.Generator, n: int, p: int) -> Data:
    """Counts of words in documents of 100 words, of ten topics."""
    topics, shares = rng.dirichlet(np.full(p, 0.05), 10), rng.dirichlet(np.full(10, 0.2), n)
    return Data(np.array([rng.multinomial(100, share @ topics) for share in shares], dtype=np.float64), np.zeros(n))


def topics_of(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The perplexity where learning ended."""
    model = model_of(library, "decomposition", "LatentDirichletAllocation")
    return lambda X, _: float(model(**params).fit(X).bound_)


def best_topics(data: Data, params: dict[str, Any]) -> Any:
    """The same from scikit-learn, and a tenth more: where a start ends is a matter of chance; lower is as good."""
    return [1.1 * topics_of("sklearn", params)(data.X, data.y)]


def sparse_components(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The objective where learning ended, as the model states it, a row."""
    model = model_of(library, "decomposition", "SparsePCA")
    return lambda X, _: float(model(**params).fit(X).error_[-1]) / len(X)


def best_components(data: Data, params: dict[str, Any]) -> Any:
    """The same after ten times as many steps; lower is as good."""
    return [sparse_components("sklearn", {**params, "max_iter": 10 * params["max_iter"]})(data.X, data.y)]


PROBLEMS = (
    Problem("lda-topics", "LatentDirichletAllocation 2000×1000, 10 topics", (2_000, 1_000), texts, "LatentDirichletAllocation",
            measure="workflow", run=topics_of, expected=best_topics, is_ceiling=True,
            params={"n_components": 10, "random_state": 0}),
    Problem("lda-topics-small", "LatentDirichletAllocation 100×50, 10 topics", (100, 50), texts, "LatentDirichletAllocation",
            measure="workflow", run=topics_of, expected=best_topics, is_ceiling=True,
            params={"n_components": 10, "random_state": 0}),
    Problem("sparse-pca", "SparsePCA 1000×60, 5 components", (1_000, 60), with_factors, "SparsePCA",
            measure="workflow", run=sparse_components, expected=best_components, is_ceiling=True,
            params={"n_components": 5, "max_iter": 50, "method": "cd", "random_state": 0}),
    *(
        Problem(f"{name.lower()}-{size}", f"{name} {shape[0]}×{shape[1]}, 5 targets, {k} pairs", shape, two_tables, name,
                measure="workflow", run=paired(name), expected=pairs_at_rest(name), params={"n_components": k})
        for name, k in (("PLSRegression", 5), ("PLSCanonical", 3), ("CCA", 3))
        for size, shape in (("small", (200, 10)), ("tall", (20_000, 60)))
    ),
    Problem("dictionary", "DictionaryLearning 2000×64, 32 atoms", (2_000, 64), planted, "DictionaryLearning",
            measure="workflow", run=learnt, expected=best_dictionary, is_ceiling=True,
            params={"n_components": 32, "alpha": 0.5, "max_iter": 30, "fit_algorithm": "cd", "random_state": 0}),
    Problem("fast-ica", "FastICA 100000×50", (100_000, 50), mixed_sources, "FastICA", measure="workflow", run=unmixing,
            expected=solved, params={"random_state": 0}),
    Problem("fast-ica-small", "FastICA 2000×5", (2_000, 5), mixed_sources, "FastICA", measure="workflow", run=unmixing,
            expected=solved, params={"random_state": 0}),
    Problem("factor-analysis", "FactorAnalysis 20000×60, 10 factors", (20_000, 60), with_factors, "FactorAnalysis",
            measure="workflow", run=analysed, expected=best_known, params={"n_components": 10}, is_ceiling=True),
    Problem("svd-tall", "TruncatedSVD 20000×200", (20_000, 200), normal, "TruncatedSVD", measure="workflow",
            run=singular, expected=unexplained, params={"n_components": 10, "random_state": 0}),
    Problem("svd-square", "TruncatedSVD 2000×2000", (2_000, 2_000), normal, "TruncatedSVD", measure="workflow",
            run=singular, expected=unexplained, params={"n_components": 20, "random_state": 0}),
    Problem("kernel-pca", "KernelPCA 3000×50, rbf", (3_000, 50), normal, "KernelPCA", measure="workflow",
            run=kernel_directions, expected=leading,
            params={"n_components": 10, "kernel": "rbf", "random_state": 0}),
)  # fmt: skip

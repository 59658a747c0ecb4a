"""Tables described by directions without centring, in the space of a kernel, and by nonnegative parts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of
from benchmarks.problems.generative import counts

if TYPE_CHECKING:
    from collections.abc import Callable


def normal(rng: np.random.Generator, n: int, p: int) -> Data:
    """Independent normal columns, some of them longer."""
    return Data(rng.standard_normal((n, p)) * np.linspace(3, 1, p), np.zeros(n))


def singular(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What singular directions leave out of the sum of squares, as a share of it."""
    svd = model_of(library, "decomposition", "TruncatedSVD")
    return lambda X, _: float(1 - np.sum(svd(**params).fit(X).singular_values_ ** 2) / squares(X))


def squares(X: Any) -> float:
    numbers = X.ravel() if isinstance(X, np.ndarray) else X.data
    return float(numbers @ numbers)


def unexplained(data: Data, params: dict[str, Any]) -> Any:
    """The least share that so many directions can leave out."""
    if not isinstance(data.X, np.ndarray):
        from scipy.sparse.linalg import svds

        found = svds(data.X, params["n_components"], tol=1e-12, return_singular_vectors=False, random_state=0)
        return [1 - np.sum(found**2) / squares(data.X)]
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
        to_the_end = {} if name == "PLSSVD" else {"tol": 1e-20, "max_iter": 20_000}
        return [paired(name)("sklearn", params | to_the_end)(data.X, data.y)]

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


def parts(rng: np.random.Generator, n: int, p: int) -> Data:
    """Sums of twenty nonnegative parts, and a little noise."""
    X = rng.exponential(size=(n, 20)) * (rng.random((n, 20)) < 0.4) @ rng.exponential(size=(20, p))
    return Data(X + 0.1 * np.abs(rng.standard_normal((n, p))), np.zeros(n))


def nonnegative(name: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The squares that nonnegative factors leave, a row."""
    model = model_of(library, "decomposition", name)
    return lambda X, _: float(model(**params).fit(X).reconstruction_err_ ** 2) / len(X)


def as_scikit_learn(run: Callable[..., Any]) -> Callable[[Data, dict[str, Any]], Any]:
    """The same from scikit-learn, on the same rows."""
    return lambda data, params: [run("sklearn", params)(data.X, data.y)]


def restored(name: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The squares that the table made from its codes leaves, a number."""
    model = model_of(library, "decomposition", name)

    def run(X: Any, _: Any) -> float:
        fitted = model(**params).fit(X)
        codes = fitted.transform(X)
        back = fitted.inverse_transform(codes) if hasattr(fitted, "inverse_transform") else codes @ fitted.components_
        return float(np.mean((X - back) ** 2))

    return run


def coded(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The squares that sparse codes of the first rows as atoms leave."""
    model = model_of(library, "decomposition", "SparseCoder")

    def run(X: Any, _: Any) -> float:
        atoms = X[:32] / np.linalg.norm(X[:32], axis=1)[:, None]
        return float(np.mean((X - model(atoms, **params).fit(X).transform(X) @ atoms) ** 2))

    return run


def projected(name: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """By how much the squares of some rows change under a random projection, on average."""
    model = model_of(library, "decomposition" if library == "qed" else "random_projection", name)

    def run(X: Any, _: Any) -> float:
        found = model(**{"random_state": 0, **params}).fit_transform(X)[:200]
        return float(np.mean(np.abs(np.sum(found**2, axis=1) / np.sum(X[:200] ** 2, axis=1) - 1)))

    return run


def like(name: str, title: str, shape: tuple[int, int], make: Any, run: Any, **params: Any) -> Problem:
    """No worse than scikit-learn."""
    return Problem(
        name,
        title,
        shape,
        make,
        title.partition(" ")[0],
        params,
        "workflow",
        run=run,
        expected=as_scikit_learn(run),
        is_ceiling=True,
    )


def by_seeds(name: str, title: str, shape: tuple[int, int], make: Any, run: Any, **params: Any) -> Problem:
    """No worse than scikit-learn with other seeds."""
    return Problem(
        name,
        title,
        shape,
        make,
        title.partition(" ")[0],
        params,
        "workflow",
        run=run,
        reference="scikit_learn",
        is_ceiling=True,
    )


ATOMS = {"n_components": 32, "alpha": 0.5, "max_iter": 30, "random_state": 0}
PROBLEMS = (
    *(
        like(f"nmf-{size}", f"NMF {n}×{p}, {k} parts", (n, p), parts, partial(nonnegative, "NMF"), n_components=k, random_state=0)
        for size, n, p, k in (("small", 200, 50, 5), ("large", 5_000, 2_000, 20))
    ),
    by_seeds("mini-batch-nmf", "MiniBatchNMF 5000×200, 20 parts", (5_000, 200), parts, partial(nonnegative, "MiniBatchNMF"),
             n_components=20),
    like("dictionary-large", "DictionaryLearning 10000×64, 32 atoms", (10_000, 64), planted, learnt, fit_algorithm="cd",
         **ATOMS),
    by_seeds("mini-batch-dictionary", "MiniBatchDictionaryLearning 10000×64, 32 atoms", (10_000, 64), planted,
             partial(restored, "MiniBatchDictionaryLearning"), n_components=32, alpha=0.5, transform_algorithm="lasso_cd"),
    by_seeds("mini-batch-sparse-pca", "MiniBatchSparsePCA 1000×60, 5 components", (1_000, 60), with_factors,
             partial(restored, "MiniBatchSparsePCA"), n_components=5),
    like("incremental-pca-small", "IncrementalPCA 1000×20, 5 components", (1_000, 20), normal, partial(restored, "IncrementalPCA"),
         n_components=5),
    like("incremental-pca", "IncrementalPCA 100000×50, 10 components", (100_000, 50), normal,
         partial(restored, "IncrementalPCA"), n_components=10),
    like("sparse-coder", "SparseCoder 2000×64, 32 atoms", (2_000, 64), planted, coded, transform_algorithm="omp",
         transform_n_nonzero_coefs=5),
    *(
        by_seeds(f"{name}-projection{size}", f"{name.title()}RandomProjection {n}×{p}, {k} components", (n, p), normal,
                 partial(projected, f"{name.title()}RandomProjection"), n_components=k)
        for name in ("gaussian", "sparse")
        for size, n, p, k in (("-small", 500, 100, 20), ("", 5_000, 2_000, 100))
    ),
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
        for name, k in (("PLSRegression", 5), ("PLSCanonical", 3), ("PLSSVD", 3), ("CCA", 3))
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
    Problem("svd-sparse", "TruncatedSVD 100000×50000, sparse, 20 components", (100_000, 50_000), counts, "TruncatedSVD",
            measure="workflow", run=singular, expected=unexplained, is_sparse=True, peers=("arpack",),
            params={"n_components": 20, "random_state": 0}),
    *(
        Problem(f"kernel-pca{size}", f"KernelPCA {n}×{p}, rbf, 10 components", (n, p), normal, "KernelPCA", measure="workflow",
                run=kernel_directions, expected=leading, peers=("arpack",),
                params={"n_components": 10, "kernel": "rbf", "random_state": 0})
        for size, n, p in (("-small", 300, 10), ("", 6_000, 50))
    ),
)  # fmt: skip

"""The same bits on any number of threads, ours or those of BLAS, and from many callers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import threadpoolctl

import qed
from qed.linear_model import LinearRegression, Ridge, RidgeCV


@pytest.fixture(autouse=True)
def _same_number_afterwards():
    before = qed.get_num_threads()
    yield
    qed.set_num_threads(before)


def dense(n: int, p: int, *, targets: int = 1, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(17)
    X = rng.standard_normal((n, p)) + 3.0
    y = X @ rng.standard_normal((p, targets)) + rng.standard_normal((n, targets))
    return X.astype(dtype), (y[:, 0] if targets == 1 else y)


def ill_conditioned() -> tuple[Any, Any]:
    X, y = dense(20_000, 12)
    X[:, 1] = X[:, 0] + 1e-8 * X[:, 1]
    return X, y


def sparse(n: int, p: int, density: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(17)
    X = scipy.sparse.random_array((n, p), density=density, format="csr", rng=rng)
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


PROBLEMS: dict[str, tuple[Any, Any, str]] = {
    "tall": (LinearRegression(), lambda: dense(40_000, 20), "cholesky"),
    "tall, many columns": (LinearRegression(), lambda: dense(3_000, 200), "cholesky"),
    "tall, several targets": (Ridge(), lambda: dense(40_000, 20, targets=3), "cholesky"),
    "float32": (LinearRegression(), lambda: dense(40_000, 20, dtype=np.float32), "cholesky"),
    "wide": (Ridge(), lambda: dense(300, 2_000), "dual"),
    "wide, no penalty": (LinearRegression(), lambda: dense(300, 2_000, targets=2), "dual"),
    "very wide": (Ridge(), lambda: dense(50, 20_000), "dual"),
    "ill-conditioned": (LinearRegression(), ill_conditioned, "qr"),
    "sparse": (Ridge(), lambda: sparse(20_000, 60, 0.1), "cholesky"),
    "sparse, many columns": (Ridge(), lambda: sparse(20_000, 6_000, 0.002), "conjugate gradients"),
    "sparse, no penalty": (LinearRegression(), lambda: sparse(20_000, 6_000, 0.002), "conjugate gradients"),
    "sparse, wide": (Ridge(), lambda: sparse(3_000, 12_000, 0.002), "dual conjugate gradients"),
    "leave-one-out": (RidgeCV(), lambda: dense(20_000, 20, targets=2), "cholesky"),
    "leave-one-out, many columns": (RidgeCV(), lambda: dense(3_000, 200), "cholesky"),
    "leave-one-out, wide": (RidgeCV(), lambda: dense(200, 800), "dual"),
    "folds": (RidgeCV(cv=3), lambda: dense(20_000, 20), "cholesky"),
}
problem = pytest.mark.parametrize("name", PROBLEMS)


def bits(model: Any, X: Any) -> list[bytes]:
    """Return everything that was learnt, and what follows from it, as bytes."""
    certificate = model.certificate_
    numbers = [model.coef_, model.intercept_, certificate.gap, certificate.objective, model.predict(X)]
    numbers += [model.__dict__[name] for name in ("alpha_", "best_score_") if name in model.__dict__]
    return [np.asarray(number).tobytes() for number in numbers]


@problem
@pytest.mark.parametrize("weighted", [False, True], ids=["equal weights", "weights"])
def test_same_bits_on_any_number_of_threads(name: str, weighted: bool) -> None:
    model, make, solver = PROBLEMS[name]
    X, y = make()
    s = np.random.default_rng(5).uniform(0.5, 2.0, len(y)) if weighted else None
    qed.set_num_threads(1)
    want = bits(model.fit(X, y, s), X)
    assert solver in model.solver_used_
    for threads in (2, 3, 8, 64):
        qed.set_num_threads(threads)
        assert bits(model.fit(X, y, s), X) == want


@problem
def test_same_bits_on_any_number_of_blas_threads(name: str) -> None:
    model, make, _ = PROBLEMS[name]
    X, y = make()
    s = np.random.default_rng(5).uniform(0.5, 2.0, len(y))
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads, user_api="blas"):
            found.append(bits(model.fit(X, y, s), X))
    assert found[0] == found[1]


def test_threadpoolctl_limits_a_fit_and_no_bit_changes() -> None:
    X, y = dense(40_000, 20)
    qed.set_num_threads(2)
    want = bits(LinearRegression().fit(X, y), X)
    with threadpoolctl.threadpool_limits(1):
        assert qed.get_num_threads() == 1
        assert bits(LinearRegression().fit(X, y), X) == want
    assert qed.get_num_threads() == 2


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_n_jobs_is_honoured_for_the_fit_alone(n_jobs: int) -> None:
    X, y = dense(40_000, 20)
    seen = []
    qed.set_num_threads(3)
    want = bits(LinearRegression().fit(X, y), X)
    with qed.listen(lambda _: seen.append(qed.get_num_threads())):
        model = LinearRegression(n_jobs=n_jobs).fit(X, y)
    assert set(seen) == {n_jobs} if n_jobs > 0 else len(set(seen)) == 1
    assert qed.get_num_threads() == 3
    assert bits(model, X) == want


def test_n_jobs_of_zero_is_refused() -> None:
    X, y = dense(20, 2)
    with pytest.raises(qed.InvalidParameter, match="n_jobs must be None or a whole number other than 0"):
        LinearRegression(n_jobs=0).fit(X, y)


@pytest.mark.parametrize("threads", [1, 4])
def test_concurrent_fits_and_predictions_give_the_serial_answers(threads: int) -> None:
    names = [*PROBLEMS, "tall"]
    data = {name: make() for name, (_, make, _) in PROBLEMS.items()}
    want = {name: bits(model.fit(*data[name]), data[name][0]) for name, (model, _, _) in PROBLEMS.items()}
    qed.set_num_threads(threads)

    def again(name: str) -> list[bytes]:
        X, y = data[name]
        model = type(PROBLEMS[name][0])(**PROBLEMS[name][0].get_params())
        return bits(model.fit(X, y), X)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(again, names))
    assert found == [want[name] for name in names]


def test_one_model_predicts_from_many_threads() -> None:
    X, y = dense(40_000, 20)
    model = LinearRegression().fit(X, y)
    want = model.predict(X).tobytes()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.predict(X).tobytes(), range(32)))
    assert set(found) == {want}


def test_concurrent_fits_with_n_jobs_leave_the_number_as_it_was() -> None:
    X, y = dense(40_000, 20)
    qed.set_num_threads(2)
    want = bits(LinearRegression().fit(X, y), X)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda jobs: bits(LinearRegression(n_jobs=jobs).fit(X, y), X), [1, 3, 2, 1] * 8))
    assert all(each == want for each in found)
    assert qed.get_num_threads() == 2

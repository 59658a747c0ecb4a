"""An estimator and a record that hold every kind of value a model file can hold, for tests and the fuzzer alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from qed.core import KW_ONLY, Array, Estimator, InvalidData, NonNegative, NotFitted, fitted, param
from qed.core._records import expect, expect_array, record

__all__ = ["Everything", "Summary", "example"]


@record("test-summary")
class Summary:
    """A record as certificates are: numbers, an array, a word, another record."""

    rows: int
    gap: float
    mean: np.ndarray[Any, np.dtype[np.float64]]
    outcome: str | None = None
    inner: Summary | None = None

    def check(self) -> None:
        """Refuse what no fit can have made."""
        expect(self.rows >= 0 and self.gap >= 0, "the summary has negative numbers")
        expect_array(self.mean, "the summary's mean", shape=(None,), finite=True)


class Everything(Estimator):
    """A linear model with more attributes than it needs."""

    __module__ = "golden"

    alpha: NonNegative = param(1.0, "A number.")
    _: KW_ONLY
    labels: Any = param(None, "Anything.")
    inner: Any = param(None, "Anything.")
    random_state: Any = param(None, "Anything.")
    extra: Any = param(None, "Anything.")

    coef_: Array = fitted("Coefficients.", shape="(p,)")
    intercept_: float = fitted("Intercept.")
    names_: Array = fitted("Strings.", dtype="object", optional=True)
    classes_: Array = fitted("Strings of fixed length.", dtype="label", optional=True)
    mask_: Array = fitted("Booleans.", dtype="bool", optional=True)
    half_: Array = fitted("Short floats.", dtype="float16", optional=True)
    counts_: Array = fitted("Integers.", dtype="int", optional=True)
    empty_: Array = fitted("Nothing.", dtype="float32", shape="(0, p)", optional=True)
    nan_: Array = fitted("Not a number.", nan=True, optional=True)
    zero_d_: Array = fitted("No axis.", dtype="int", shape="()", optional=True)
    scalar_: float = fitted("A NumPy scalar.", optional=True)
    word_: str = fitted("A NumPy string.", optional=True)
    csr_: Any = fitted("Sparse rows.", optional=True)
    csc_: Any = fitted("Sparse columns.", optional=True)
    summary_: Summary = fitted("A record.", optional=True)
    streams_: list[Any] = fitted("Random generators.", optional=True)

    def fit(self, X: Any, y: Any) -> Everything:
        """Solve by least squares."""
        solution = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
        self.coef_, self.intercept_, self.n_features_in_ = solution[:-1], float(solution[-1]), X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        """Predict, for the right number of columns."""
        if not self.__sklearn_is_fitted__():
            raise NotFitted("Everything is not fitted; call fit first.")
        if X.shape[1] != self.n_features_in_:
            raise InvalidData(f"X has {X.shape[1]} columns, and Everything was fitted with {self.n_features_in_}.")
        return X @ self.coef_ + self.intercept_


def example() -> Everything:
    """Return a fitted model with every kind of value in it."""
    rng = np.random.Generator(np.random.Philox(7))
    nan = np.array([0x7FF8000000000123], np.uint64).view(np.float64)
    inner = Everything(0.5, random_state=np.random.RandomState(3))
    vars(inner).update(coef_=np.array([3.0, 2.0, 1.0]), intercept_=0.0, n_features_in_=3)
    extra = {"big": -(1 << 200), "nan": float(nan[0])}
    model = Everything(2.0, labels=["a", ("é", None, True)], inner=inner, random_state=rng, extra=extra)
    state: dict[str, Any] = {
        "coef_": np.array([1.0, 2.0, 3.0]),
        "intercept_": 4.0,
        "n_features_in_": 3,
        "names_": np.array(["petal", "", "größe"], object),
        "classes_": np.array([["x", "longer"], ["", "ß"]]),
        "mask_": np.array([True, False]),
        "half_": np.arange(3, dtype=np.float16),
        "counts_": np.arange(4, dtype=">i4").reshape(2, 2),
        "empty_": np.empty((0, 3), np.float32),
        "nan_": nan,
        "zero_d_": np.array(3),
        "scalar_": np.float32(0.1),
        "word_": np.str_("one"),
        "csr_": scipy.sparse.csr_array(([1.0, 2.0], ([0, 1], [2, 0])), shape=(2, 3)),
        "csc_": scipy.sparse.csc_matrix(([1.0, 2.0], ([0, 1], [2, 0])), shape=(2, 3)),
        "summary_": Summary(12, float("inf"), np.zeros(2), "solved", Summary(1, 0.0, np.ones(1))),
        "streams_": [np.random.Generator(bits(5)) for bits in (np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64)],
    }
    vars(model).update(state)
    return model

"""Other environments: without the libraries that are optional, other instruction levels, arrays past 2³¹ entries."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import qed
from qed._native import available_levels
from qed.core._memory import available_memory
from qed.linear_model import LinearRegression

BLOCKER = """
import sys

class Without:
    def __init__(self, finder):
        self._finder = finder
    def __getattr__(self, name):
        return getattr(self._finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {absent} else self._finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def run(code: str, *, absent: tuple[str, ...] = (), **environment: str) -> str:
    """Run code in a fresh interpreter where some packages cannot be imported; return what it printed."""
    blocker = BLOCKER.replace("{absent}", repr(absent))
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", blocker + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OPTIONAL = ("scipy", "pandas", "polars", "pyarrow", "sklearn", "narwhals", "joblib", "matplotlib", "duckdb")

EVERYTHING = """
    import copy, os, pickle, tempfile
    import numpy as np
    import qed
    from qed.linear_model import LinearRegression, Ridge, RidgeCV

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = X @ np.arange(6.0) + rng.standard_normal(400)
    dependent = X.copy()
    dependent[:, 5] = dependent[:, 4]
    tables = [X, X.astype(np.float32), X[:40] @ rng.standard_normal((6, 90)), dependent, X.tolist()]
    for table in tables:
        target = y[: len(table)]
        weight = rng.uniform(0.5, 2.0, len(target))
        models = [LinearRegression(), Ridge(alpha=0.3), RidgeCV(), RidgeCV(cv=3), RidgeCV(scoring="r2")]
        for model in models:
            model.fit(table, target, weight)
            assert qed.verify(model, table, target, weight).holds
            model.predict(table), model.score(table, target), repr(model), str(model.certificate_)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.qed")
                model.save(path)
                assert (qed.load(path).predict(table) == model.predict(table)).all()
            pickle.loads(pickle.dumps(copy.deepcopy(model)))
    LinearRegression().fit(X[:300], y[:300]).partial_fit(X[300:], y[300:]).forget(X[:10], y[:10])
    try:
        LinearRegression().fit([[np.nan]], [1.0])
    except qed.InvalidData:
        pass
"""


def test_numpy_alone_is_enough_for_dense_data() -> None:
    loaded = f"{EVERYTHING}    import sys; print(sorted({set(OPTIONAL)} & set(sys.modules)))"
    assert run(loaded, absent=OPTIONAL) == "[]"


def test_nothing_optional_is_loaded_although_it_is_there() -> None:
    loaded = f"{EVERYTHING}    import sys; print(sorted({set(OPTIONAL)} & set(sys.modules)))"
    assert run(loaded) in ("[]", "['scipy']")


def test_inference_is_refused_in_words_without_scipy() -> None:
    code = """
        import numpy as np
        from qed.linear_model import LinearRegression
        X = np.random.default_rng(0).standard_normal((40, 3))
        try:
            LinearRegression().fit(X, X[:, 0]).coefficient_table()
            print("SciPy is not needed")
        except ImportError as error:
            print(error)
    """
    assert "scipy" in run(code, absent=OPTIONAL).lower()


def test_without_pandas_other_frames_still_work() -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    code = """
        import sys
        import numpy as np, polars, pyarrow
        import qed
        from qed.linear_model import LinearRegression, Ridge, RidgeCV
        rng = np.random.default_rng(0)
        X = rng.standard_normal((50, 2))
        columns = {"a": X[:, 0], "b": X[:, 1]}
        for model in (LinearRegression(), Ridge(), RidgeCV()):
            want = model.fit(X, X[:, 0]).coef_
            for frame in (polars.DataFrame(columns), pyarrow.table(columns)):
                assert (model.fit(frame, frame["a"]).coef_ == want).all()
                assert list(model.feature_names_in_) == ["a", "b"]
                assert qed.verify(model, frame, X[:, 0]).holds
        print("pandas" in sys.modules)
    """
    assert run(code, absent=("pandas",)) == "False"


def test_importing_loads_no_scipy() -> None:
    code = "import sys, qed, qed.linear_model; print(sorted({'scipy', 'narwhals', 'threadpoolctl'} & set(sys.modules)))"
    assert run(code) == "[]"


def test_array_api_dispatch_changes_nothing() -> None:
    code = """
        import numpy as np, scipy.sparse
        import qed
        from qed.linear_model import LinearRegression, Ridge, RidgeCV
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 6))
        S = scipy.sparse.random_array((300, 40), density=0.2, format="csr", rng=rng)
        T = scipy.sparse.random_array((3_000, 300), density=0.02, format="csc", rng=rng)
        hard = X.copy()
        hard[:, 1] = hard[:, 0] * (1 + 1e-9)
        for table in (X, hard, X[:4], S, T):
            y = np.arange(table.shape[0]) % 7.0
            for model in (LinearRegression(), Ridge(), RidgeCV()):
                print(float(model.fit(table, y).coef_.sum()).hex(), qed.verify(model, table, y).holds)
    """
    assert run(code, SCIPY_ARRAY_API="1") == run(code, SCIPY_ARRAY_API="0")


LEVEL = """
    import numpy as np, scipy.sparse
    import qed
    from qed import _native
    from qed.linear_model import LinearRegression, Ridge, RidgeCV
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 20)) + 5
    S = scipy.sparse.random_array((3_000, 20), density=0.2, format="csr", rng=rng)
    y = X @ np.arange(20.0) + rng.standard_normal(3_000)
    print(_native.level)
    for table in (X, X.astype(np.float32), S, X[:10]):
        for model in (LinearRegression(), Ridge(), RidgeCV()):
            model.fit(table, y[: table.shape[0]])
            assert qed.verify(model, table, y[: table.shape[0]]).holds
            print(*model.coef_, model.intercept_)
            print(*model.predict(table)[:20].astype(float))
"""


@pytest.mark.parametrize("level", available_levels())
def test_instruction_levels_agree(level: str) -> None:
    levels = available_levels()
    name, *answers = run(LEVEL, QED_ISA=level).splitlines()
    first, *wanted = run(LEVEL, QED_ISA=levels[0]).splitlines()
    assert (name, first) == (level, levels[0])
    assert len(answers) == len(wanted) == 24
    for line, (answer, want) in enumerate(zip(answers, wanted, strict=True)):
        is_single = line in (7, 9, 11)  # predictions of float32 rows are float32
        found, expected = np.array(answer.split(), float), np.array(want.split(), float)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if is_single else 1e-9)


def test_unknown_instruction_levels_are_refused_in_words() -> None:
    code = """
        from qed.linear_model import LinearRegression
        try:
            LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
        except ImportError as error:
            print(error)
    """
    assert "QED_ISA must be one of" in run(code, QED_ISA="v9")


ROWS, COLUMNS = 2**31 // 8 + 1000, 8


def test_more_than_two_to_the_31_entries() -> None:
    if sys.platform != "linux" or available_memory() < 4 * 2**30:
        pytest.skip("less than 4 GiB of memory are free, or pages of zeros are not free of charge here")
    X, y = np.zeros((ROWS, COLUMNS), np.float32), np.zeros(ROWS, np.float32)  # pages never written take no memory
    assert X.size > 2**31
    ends = np.r_[0:500, ROWS - 500 : ROWS]
    rng = np.random.default_rng(0)
    X[ends] = rng.standard_normal((1000, COLUMNS))
    y[ends] = X[ends] @ np.arange(COLUMNS) + rng.standard_normal(1000)
    # All the rows of zeros are one row that counts as often.
    rows, targets = np.vstack([X[ends], np.zeros((1, COLUMNS))]), np.append(y[ends], 0.0)
    weight = np.append(np.ones(1000), ROWS - 1000.0)
    model, want = LinearRegression().fit(X, y), LinearRegression().fit(rows, targets, weight)
    # rows of float32: coefficients are rounded to it
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=2.0**-23)
    np.testing.assert_allclose(model.intercept_, want.intercept_, rtol=1e-7)
    assert model.certificate_.reached
    np.testing.assert_allclose(model.predict(X)[ends], want.predict(X[ends]), rtol=2e-6, atol=2e-6)
    X[-1, -1] = np.nan
    with pytest.raises(qed.InvalidData, match=f"row {ROWS - 1}, column {COLUMNS - 1}"):
        model.predict(X)

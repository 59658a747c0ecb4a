from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from qed.core._errors import InvalidData
from qed.designs import Dense


def test_nothing_is_copied():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(6, 3)))[::2]
    assert np.shares_memory(Dense(X)._X, X)


def test_float32_is_summed_in_float64():
    X = np.full((100_000, 2), 0.1, dtype=np.float32)
    exact = 100_000 * float(np.float32(0.1))
    assert (Dense(X).T @ np.ones(100_000)).tolist() == pytest.approx([exact] * 2, rel=1e-14)
    assert (Dense(X.T.copy()) @ np.ones(100_000)).tolist() == pytest.approx([exact] * 2, rel=1e-14)
    assert Dense(X).column_norms()[0] ** 2 == pytest.approx(100_000 * float(np.float32(0.1)) ** 2, rel=1e-13)


@pytest.mark.parametrize("rows", [(1 << 19) // 3 + 5])
def test_centring_works_in_blocks(rows):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    centre, u = np.array([1.0, -2.0, 0.5]), np.cos(np.arange(rows))
    made = Dense(X)
    np.testing.assert_allclose(made.product(centre, centre), (X - centre) @ centre, rtol=0, atol=1e-14)
    np.testing.assert_allclose(made.adjoint_product(u, centre), (X - centre).T @ u, rtol=0, atol=1e-9)


def test_wrong_shapes_and_values():
    made = Dense(np.zeros((3, 2)))
    for call, match in [
        (lambda: made @ np.zeros(3), r"with 2 columns cannot be multiplied by an array of shape \(3,\)"),
        (lambda: made.T @ np.zeros((2, 2)), r"with 3 rows cannot be multiplied by an array of shape \(2, 2\)"),
        (lambda: made @ np.zeros((2, 2, 2)), "cannot be multiplied"),
        (lambda: made.gram(np.zeros(2)), r"3 rows needs weights of shape \(3,\), got \(2,\)"),
        (lambda: made.gram(np.array([1.0, -1.0, 0.0])), r"must be >= 0, got -1\.0"),
        (lambda: made.product(np.zeros(2), np.zeros(3)), r"2 columns needs a centre of shape \(2,\), got \(3,\)"),
        (lambda: Dense(np.zeros((3, 2), dtype=int)), "Dense takes float32 or float64"),
        (lambda: Dense(np.zeros(3)), "Dense takes float32 or float64"),
    ]:
        with pytest.raises(InvalidData, match=match):
            call()


def test_dense_designs_import_no_scipy():
    code = textwrap.dedent("""
        import sys
        import numpy as np
        from qed.designs import design
        made = design(np.ones((4, 2)))
        made @ np.ones(2), made.T @ np.ones(4), made.gram(), made.rows_gram(), made.column_norms()
        assert not {name for name in sys.modules if name.split(".")[0] in ("scipy", "pyarrow", "pandas", "sklearn")}
    """)
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  our own interpreter and code

"""Some rows of a design are the design of some rows."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from qed.data import ArraySource
from qed.designs import Chunked, Dense, Sparse, Standardised

X = np.where(np.random.default_rng(0).random((40, 5)) < 0.5, 0.0, np.random.default_rng(1).standard_normal((40, 5)))
DESIGNS = {
    "dense": Dense(X),
    "fortran": Dense(np.asfortranarray(X)),
    "float32": Dense(X.astype(np.float32)),
    "csr": Sparse(csr_array(X)),
    "csc": Sparse(csc_array(X)),
    "standardised": Standardised(Dense(X), np.arange(5.0), np.arange(1.0, 6.0)),
    "chunked": Chunked(ArraySource(X)),
    "chunked sparse": Chunked(ArraySource(csr_array(X))),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("index", [np.array([7, 0, 39, 7]), np.arange(40) % 3 == 0, np.array([], dtype=int)])
def test_rows_are_taken_in_the_order_given(name, index):
    whole, w = DESIGNS[name], np.arange(5.0) - 2
    part = whole.rows(index)
    assert part.shape == (len(np.arange(40)[index]), 5)
    np.testing.assert_allclose(part.product(w), whole.product(w)[index], atol=1e-12)

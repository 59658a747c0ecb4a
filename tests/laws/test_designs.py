"""Laws of every design: the adjoint, and agreement of all layouts with one plain table."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.designs import PlainDesign
from tests.reference.tables import LAYOUTS, laid_out

from qed.data import ArraySource
from qed.designs import Chunked, Dense, Design, Sparse, Standardised, design

UNIT = 2.0**-53


def sparse(form, indices):
    def make(X):
        made = form(X)
        made.indices, made.indptr = made.indices.astype(indices), made.indptr.astype(indices)
        return Sparse(made)

    return make


def standardised_twice(X):
    p = X.shape[1]
    inner = Standardised(Dense(X), np.full(p, 3.0), np.full(p, 2.0))
    return Standardised(inner, np.full(p, -1.5), np.full(p, 0.5))  # undoes the first


DESIGNS = {
    **{layout: lambda X, layout=layout: Dense(laid_out(X, layout)) for layout in (*LAYOUTS, "unaligned", "big-endian")},
    "read-only": lambda X: Dense(read_only(X)),
    "csr32": sparse(sp.csr_array, np.int32),
    "csr64": sparse(sp.csr_array, np.int64),
    "csc32": sparse(sp.csc_array, np.int32),
    "csc64": sparse(sp.csc_matrix, np.int64),
    "chunked": lambda X: Chunked(ArraySource(X, chunk_rows=5)),
    "chunked in threads": lambda X: Chunked(ArraySource(np.asfortranarray(X), chunk_rows=3), 2),
    "chunked csr": lambda X: Chunked(ArraySource(sp.csr_array(X), chunk_rows=4)),
    "chunked csc": lambda X: Chunked(ArraySource(sp.csc_array(X), chunk_rows=4)),
    "standardised": lambda X: Standardised(Dense(X)),
    "standardised twice": standardised_twice,
    "standardised sparse": lambda X: Standardised(Sparse(sp.csr_array(X))),
    "standardised chunked": lambda X: Standardised(Chunked(ArraySource(X, chunk_rows=7))),
}
every_design = pytest.mark.parametrize("name", DESIGNS)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@st.composite
def problems(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, m = draw(st.integers(0, 20)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    X = np.where(random.random((n, p)) < 0.6, random.normal(size=(n, p)), 0.0)
    X *= 10.0 ** random.uniform(-3, 3, p)
    X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    return X, random.normal(size=(p, m)), random.normal(size=(n, m)), random.choice([0.0, 1.0, 2.5, 1e3], n)


def close(got, expected, size):
    """Equal to within what summing `size` in another order can change."""
    assert got.shape == expected.shape
    assert got.dtype == np.float64
    assert (np.abs(got - expected) <= 200 * UNIT * size).all()


@every_design
@given(problem=problems(), is_vector=st.booleans())
def test_products_agree_with_the_plain_table(name, problem, is_vector):
    X, w, u, c = problem
    if is_vector:
        w, u = w[:, 0], u[:, 0]
    made, plain, size = DESIGNS[name](X), PlainDesign(X), PlainDesign(np.abs(X) + 3)
    assert made.shape == X.shape
    assert made.dtype == X.dtype
    assert made.T.shape == X.shape[::-1]
    assert made.T.T is made
    close(made @ w, plain.product(w), size.product(np.abs(w)))
    close(made.T @ u, plain.adjoint_product(u), size.adjoint_product(np.abs(u)))
    close(made.gram(), plain.gram(), size.gram())
    close(made.gram(c), plain.gram(c), size.gram(c))
    close(made.column_norms(), plain.column_norms(), size.column_norms())
    close(made.column_norms(c), plain.column_norms(c), size.column_norms(c))


@every_design
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_a_centre_is_subtracted_from_every_row(name, problem, seed):
    X, w, u, c = problem
    centre = np.random.default_rng(seed).normal(size=X.shape[1])
    made, plain, size = DESIGNS[name](X), PlainDesign(X, centre), PlainDesign(np.abs(X) + np.abs(centre) + 3)
    close(made.product(w, centre), plain.product(w), size.product(np.abs(w)))
    close(made.adjoint_product(u, centre), plain.adjoint_product(u), size.adjoint_product(np.abs(u)))
    close(made.gram(c, centre), plain.gram(c), size.gram(c))
    norms = made.column_norms(c, centre)
    close(norms**2, plain.column_norms(c) ** 2, size.column_norms(c) ** 2)


@every_design
@given(problem=problems())
def test_adjoint(name, problem):
    X, w, u, _ = problem
    made = DESIGNS[name](X)
    left, right = np.sum((made @ w) * u), np.sum(w * (made.T @ u))
    size = np.sum(PlainDesign(np.abs(X) + 3).product(np.abs(w)) * np.abs(u))
    assert abs(left - right) <= 200 * UNIT * size


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_standardised_is_centred_and_scaled(problem, seed):
    X, w, u, c = problem
    random = np.random.default_rng(seed)
    centre, scale = random.normal(size=X.shape[1]), random.uniform(0.5, 2, X.shape[1])
    plain = PlainDesign(X, centre, scale)
    size = PlainDesign(np.abs(X) + np.abs(centre), None, scale)
    for inner in (Dense(X), Sparse(sp.csr_array(X)), Chunked(ArraySource(X, chunk_rows=4))):
        made = Standardised(inner, centre, scale)
        close(made @ w, plain.product(w), size.product(np.abs(w)))
        close(made.T @ u, plain.adjoint_product(u), size.adjoint_product(np.abs(u)))
        close(made.gram(c), plain.gram(c), size.gram(c))


@given(problem=problems())
def test_rows_gram_is_the_gram_of_the_transpose(problem):
    X = problem[0]
    centre = np.ones(X.shape[1])
    for layout in LAYOUTS:
        made = Dense(laid_out(X, layout))
        close(made.rows_gram(), PlainDesign(X).rows_gram(), PlainDesign(np.abs(X)).rows_gram())
        close(made.rows_gram(centre), PlainDesign(X, centre).rows_gram(), PlainDesign(np.abs(X) + 1).rows_gram())


@every_design
def test_every_design_keeps_the_protocol(name):
    made = DESIGNS[name](np.ones((4, 2)))
    assert isinstance(made, Design)
    assert design(made) is made


def test_centring_a_dense_design_does_not_cancel():
    random = np.random.default_rng(0)
    noise = random.integers(-1000, 1000, size=(300, 3)) / 1024
    centre = np.full(3, 1e8)
    made = Standardised(Dense(noise + centre), centre)
    w, u = random.normal(size=3), random.normal(size=300)
    np.testing.assert_allclose(made @ w, noise @ w, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(made.T @ u, noise.T @ u, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made.gram(), noise.T @ noise, rtol=1e-12, atol=1e-11)

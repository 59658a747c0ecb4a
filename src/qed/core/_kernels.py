"""The native code that core calls."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qed.core._params import Array


_SMALL = 1 << 16  # entries below which NumPy answers before threads could be woken


def all_finite(array: Array) -> bool:
    """Tell whether a float array of one or two dimensions, of any strides, holds no NaN and no infinity."""
    if array.size <= _SMALL:
        return bool(np.logical_and.reduce(np.isfinite(array), axis=None))
    native = _native()
    return _all_finite_in_blocks(array) if native is None else bool(native.all_finite(array))


class _Memory:
    """The memory of an array of one dimension, for NumPy to see as numbers of another type."""

    def __init__(self, array: Array, kind: str, inner: int) -> None:
        self.array = array  # kept alive
        self.__array_interface__ = {
            "shape": array.shape + ((inner,) if inner else ()),
            "typestr": kind,
            "data": (array.__array_interface__["data"][0], True),
            "strides": array.strides + ((1,) if inner else ()),
            "version": 3,
        }


def number_words(values: Array) -> tuple[Array, Array]:
    """Give equal entries of an array one number, in the order of their first appearance.

    Entries of fixed width are equal when their bytes are; objects when Python says so, and TypeError is raised for those
    that have no hash.

    Returns
    -------
    ndarray of int of shape (n,)
        The number of each entry.
    ndarray of int
        Where each number appeared first.
    """
    native = _native()
    if native is None:
        _, firsts, codes = np.unique(values, return_index=True, return_inverse=True)
        return codes, firsts
    if values.dtype == object:
        codes, firsts = native.number_objects(np.asarray(_Memory(values, np.dtype(np.uint64).str, 0)))
    else:
        codes, firsts = native.number_words(np.asarray(_Memory(values, "|u1", values.itemsize)))
    return codes, firsts


def all_within(indices: Array, bound: int) -> bool:
    """Tell whether all indices of a vector lie in [0, bound)."""
    is_large = indices.size > _SMALL and indices.dtype in (np.dtype(np.int32), np.dtype(np.int64))
    native = _native() if is_large else None
    if native is None:
        return not indices.size or bool(indices.min() >= 0 and indices.max() < bound)
    return bool(native.indices_within(np.ascontiguousarray(indices), bound))


def native_level() -> str:
    """Name the instruction-set level of the compiled code in use."""
    native = _native()
    return "not built" if native is None else str(native.level)


def num_threads() -> int:
    """Return how many threads the compiled code uses."""
    native = _native()
    return 1 if native is None else int(native.get_num_threads())


def _native() -> Any:
    """Load the compiled code when it is first needed; None in a source tree where it has not been built."""
    try:
        import_module("qed.core._threads")  # settles the number of threads as soon as kernels are loaded
        native = import_module("qed._native")
        import_module("qed._native._cpu")
    except ModuleNotFoundError as error:
        if error.name not in ("qed._native", "qed._native._cpu", "qed.core._threads"):
            raise
        return None
    return native


def _all_finite_in_blocks(array: Array) -> bool:
    """Answer the same without native code, in memory that does not grow with the array."""
    step = max(1, _SMALL // max(1, array.size // len(array)))
    return all(bool(np.isfinite(array[i : i + step]).all()) for i in range(0, len(array), step))

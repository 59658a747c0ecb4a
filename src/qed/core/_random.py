"""Random streams. Nothing here touches NumPy's global state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.random import Generator


def generator(random_state: Any) -> Generator:
    """Make a generator from what a user passes as ``random_state``.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState
        ``None`` is fresh entropy. An integer always gives the same stream. A ``Generator`` is used as it is
        and advances. A ``RandomState`` is advanced by one draw that seeds the stream, so that two fits with
        the same object differ and the pair is reproducible, as in scikit-learn.

    Returns
    -------
    Generator
        The stream to draw from.
    """
    random = np.random
    if isinstance(random_state, random.Generator):
        return random_state
    if isinstance(random_state, random.RandomState):
        return random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if random_state is random:
        raise InvalidParameter(
            "random_state is the module numpy.random, whose hidden state any other code may change."
            " Pass None, an integer, a numpy Generator or a numpy RandomState."
        )
    try:
        return random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"random_state must be None, an integer >= 0, a numpy Generator or a numpy RandomState, got {random_state!r:.200}."
        ) from error

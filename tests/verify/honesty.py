"""Honest fits of every class in many configurations, which ``qed.verify`` must accept."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.configurations import varied

import qed
from qed.certificates import Uncertified
from qed.core import QedError
from qed.core._persistence import dumps, loads

if TYPE_CHECKING:
    from tests.configurations import Configuration

__all__ = ["NO_FIT", "refusal"]

NO_FIT = "no fit"


def refusal(configuration: Configuration, seed: int, *, as_given: bool = False) -> str | None:
    """Fit and verify; return what is wrong, ``NO_FIT`` when the data are refused at the fit, None when the model is accepted.

    Parameters
    ----------
    configuration : Configuration
        The model; unless ``as_given``, in a layout and with weights and targets that the seed chooses.
    seed : int
        Which rows, how many, how far their columns are from each other and from zero.
    as_given : bool
        Whether layout, weights and target stay as the configuration says.
    """
    rng = np.random.default_rng(seed)
    one = configuration if as_given else varied(configuration, rng)
    n = 40 if as_given else int(rng.integers(15, 80))
    data = one.data(seed, n, scale=1.0 if as_given else float(rng.choice([0.0, 1.0, 4.0])))
    try:
        model = one.fitted(data)
    except QedError:
        return NO_FIT
    except Exception as error:  # a fit that ends in an error which is not qed's own is a finding as well
        return f"{one.name}, seed {seed}: the fit raised {type(error).__name__}: {error}"
    if isinstance(model.certificate_, Uncertified):
        return None
    found = _verified(model, data)
    if found is None and seed % 4 == 0:
        try:
            model = loads(dumps(model))
        except QedError as error:  # functions, for example, have no place in a file
            return (
                None
                if "not data" in str(error) or "function" in str(error)
                else f"{one.name}: cannot be saved: {error}"
            )
        found = _verified(model, data)
    return None if found is None else f"{one.name}, seed {seed}: {found}"


def _verified(model: Any, data: Any) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = qed.verify(model, data.X, data.y, data.weight)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if verdict.holds else "does not hold"

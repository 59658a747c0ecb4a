"""What checks of ascents share: refusals in words, and the decomposition of a log-likelihood, sample by sample.

A certificate may state the log-likelihood as expected log-likelihood of rows and components together, plus entropy, plus
divergence. All are added up here from the joint log-densities of every row, at the stored parameters and at those that the next
step leads to. A fit finds them from sums over rows and as differences of objectives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import CertificateError
from qed.core._records import UNSTATED
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]


def require(model: Any, words: str, found: float, stated: float, allowed: float) -> None:
    """Refuse a number that differs from the one stated by more than is allowed."""
    if not abs(found - stated) <= allowed:
        refuse(model, f"{words} ({found:.12g}, not {stated:.12g}; {allowed:.2g} is within rounding)")


def require_none(model: Any, certificate: AscentCertificate) -> None:
    """Refuse a decomposition where the likelihood of no mixture is climbed."""
    if certificate.decomposition not in (None, UNSTATED):
        refuse(model, "it takes a likelihood of components apart, and the model has none")


class Decomposed(NamedTuple):
    """A decomposed log-likelihood, per unit of weight, and the objective after the next step."""

    expected: float
    entropy: float
    divergence: float
    next_expected: float
    next_divergence: float
    next_objective: float


def decomposed(
    blocks: Iterable[tuple[Array, Array, Array]], log_priors: tuple[Any, Any], *, is_hard: bool
) -> Decomposed:
    """Take the log-likelihood apart by the responsibilities of the stored parameters.

    Parameters
    ----------
    blocks : iterable
        Of some rows: weights (n,), and joint log-densities (n, k) at the stored parameters and at those of the next step.
    log_priors : tuple
        Logarithms of the prior densities of both.
    is_hard : bool
        Whether a row belongs to its most probable component alone.
    """
    total, weight = np.zeros(6, EXTENDED), EXTENDED(0)
    for s, here, beyond in blocks:
        own, _ = _posterior(here)
        other, beyond_rows = _posterior(beyond)
        most_probable = np.argmax(here, axis=1)[:, None] == np.arange(here.shape[1])
        shares = most_probable.astype(here.dtype) if is_hard else np.exp(own)
        with np.errstate(divide="ignore", invalid="ignore"):  # a component that a row has no part in adds nothing
            logs = np.log(shares)
            terms = [shares * one for one in (here, -logs, logs - own, beyond, logs - other)]
        sums = [np.where(shares > 0, one, 0).sum(axis=1) for one in terms]
        sums.append(beyond.max(axis=1) if is_hard else beyond_rows)  # hard EM: of the most probable component alone
        total, weight = total + np.array([s @ one for one in sums]), weight + s.sum()
    total[0] += log_priors[0]
    total[3] += log_priors[1]
    total[5] += log_priors[1]
    return Decomposed(*(total / weight).astype(float).tolist())


def _posterior(joint: Array) -> tuple[Array, Array]:
    """Return logarithms of responsibilities, (n, k), and of densities of rows, (n,)."""
    top = joint.max(axis=1)
    total = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return joint - total[:, None], total


def require_decomposition(
    model: Any, certificate: AscentCertificate, found: Decomposed, allowed: tuple[float, float, float]
) -> None:
    """Hold a decomposition that is stated against the one that was found.

    Parameters
    ----------
    model : Estimator
        Whose certificate it is.
    certificate : AscentCertificate
        With a decomposition; one read from a file of format 1 leaves it unstated, and says less than a fit does now.
    found : Decomposed
        Added up here.
    allowed : tuple
        By how much numbers may differ at the stored parameters; the gain of the next maximisation; the divergence it leaves.
    """
    stated = certificate.decomposition
    if stated is UNSTATED:
        raise CertificateError(
            f"This {type(model).__name__} does not take its log-likelihood apart, as every fit of a mixture does: model files of"
            " format 1 cannot say it. Fit again."
        )
    if stated is None:
        refuse(model, "its certificate does not take the log-likelihood apart, as every fit of a mixture does")
    here, of_gain, beyond = allowed
    gained = found.next_expected - found.expected
    require(model, "its expected log-likelihood is another", found.expected, stated.expected, here)
    for words, one, other, near in (
        ("the entropy of its responsibilities is another", found.entropy, stated.entropy, here),
        ("the divergence of its responsibilities is another", found.divergence, stated.divergence, here),
        ("the next maximisation gains something else", gained, stated.maximisation_gain, of_gain),
        ("the next step leaves another divergence", found.next_divergence, stated.next_divergence, beyond),
    ):
        require(model, words, one, other, near)

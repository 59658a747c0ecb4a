"""The certificate of fits that climb an objective with many maxima."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import Certificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import Unstated, record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("bound-decomposition")
class BoundDecomposition:
    """A log-likelihood with hidden parts, as a sum that a distribution q of those parts gives, per unit of weight of the rows.

    For every q and all parameters, log-likelihood = ``expected`` + ``entropy`` + ``divergence``. The first two are a lower bound of
    it, as no divergence is negative. An expectation step chooses q, and a maximisation step then raises ``expected``.

    Attributes
    ----------
    expected : float
        Expected log-likelihood of rows and hidden parts together, Q, with the logarithm of the prior where there is one.
    entropy : float
        Entropy of q, in nats; zero where q puts every row into one component (hard EM).
    divergence : float
        Kullback-Leibler divergence of q from the distribution of the hidden parts given the rows: zero where q is that one (EM).
    maximisation_gain : float
        What a maximisation step from here adds to ``expected``, and so to the lower bound.
    next_divergence : float
        The divergence that this step leaves: q stays, and parameters move.
    """

    expected: float
    entropy: float
    divergence: float
    maximisation_gain: float
    next_divergence: float

    @property
    def lower_bound(self) -> float:
        """What the log-likelihood is at least."""
        return self.expected + self.entropy

    @property
    def log_likelihood(self) -> float:
        """The sum of the three parts."""
        return self.lower_bound + self.divergence

    def numbers(self) -> dict[str, str]:
        """Return the numbers, ready to print."""
        return {
            "log-likelihood": (
                f"{self.log_likelihood:.8g} = Q {self.expected:.8g} + entropy {self.entropy:.6g} + KL {self.divergence:.2g}"
            ),
            "next step": f"adds {self.maximisation_gain:.2g} to Q and leaves a KL of {self.next_divergence:.2g}",
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.entropy, self.divergence, self.maximisation_gain, self.next_divergence, below=math.inf)
        if not math.isfinite(self.expected):
            raise ModelFileError("the certificate holds an expected log-likelihood that is no number")


@record("ascent", added={"decomposition": 2})
class AscentCertificate(Certificate):
    """Where an ascent ended: the objective after each step, none of which lowered it, and what one more step would add.

    The objective has many maxima, and nothing is said of others. A fit at rest satisfies the equations of a stationary point up to
    ``displacement``.

    Attributes
    ----------
    what : str
        The objective, in words, such as "log-likelihood".
    objective : float
        Its value at the fitted parameters, per unit of weight of the rows.
    rounding : float
        Bound on the rounding of the objective.
    trace : ndarray of shape (m,)
        The objective at the start and after each step; it never falls by more than rounding.
    gain : float
        What one more step adds to the objective; of mixtures zero where that is at most twice ``rounding``, and hidden.
    displacement : float
        How far that step moves the parameters, in units of their own spread.
    tol : float
        Gain of a step that was small enough to stop.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"`` or ``"interrupted"``.
    fingerprint : Fingerprint
        The data this is about.
    decomposition : BoundDecomposition, Unstated or None
        Of mixtures fitted by expectation-maximisation: the objective as a lower bound, and what is missing. Numbers in it are
        zero where they are at most twice ``rounding``. None for other models; unstated where a model file of format 1 does
        not say.
    """

    what: str
    objective: float
    rounding: float
    trace: NDArray[np.float64]
    gain: float
    displacement: float
    tol: float
    outcome: str
    fingerprint: Fingerprint
    decomposition: BoundDecomposition | Unstated | None = None

    @property
    def reached(self) -> bool:
        """Whether the ascent came to rest: one more step adds less than ``tol``, rounding aside."""
        return self.gain - self.rounding <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        steps = len(self.trace) - 1
        return (
            f"The {self.what} is {self.objective:.8g} a row after {steps} step{'' if steps == 1 else 's'}, none of which"
            f" lowered it; one more adds {max(self.gain, 0.0):.2g}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "objective": f"{self.objective:.8g} a row, from {self.trace[0]:.8g}",
            "gain of the next step": f"{self.gain:.2g} ({self.tol:.1g} was small enough)",
            **(self.decomposition.numbers() if isinstance(self.decomposition, BoundDecomposition) else {}),
            "displacement": f"{self.displacement:.1e}",
            "rounding": f"{self.rounding:.1e}",
            "steps": str(len(self.trace) - 1),
            "data": data_in_words(self.fingerprint),
            "outcome": self.outcome,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        sizes = (self.rounding, self.displacement, self.tol)
        if not all(0 <= size < math.inf for size in sizes) or not math.isfinite(self.objective + self.gain):
            msg = "the certificate holds a negative or undefined number where none makes sense"
            raise ModelFileError(msg)
        if self.trace.ndim != 1 or not len(self.trace) or not np.isfinite(self.trace).all():
            raise ModelFileError("the certificate holds a trace that is no list of numbers")

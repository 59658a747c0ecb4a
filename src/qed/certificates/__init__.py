r"""What a fit proves: frozen records with a number, a sentence and a way to be printed.

A certificate is data. It is made by the package that fits, judged by ``qed.verify``, which shares no code with it, and it
travels inside model files. Two words are kept apart everywhere: a certificate is *true* when ``verify`` confirms its
statement, and the tolerance is *reached* when the number is small enough for what the user asked. An interrupted fit has a
true certificate whose tolerance is not reached.

There are twelve kinds. A new model takes the kind that says what its fit proves; it does not bring a class of its own.

===============  ==============================  ======================================================================
kind             record                          statement, and when to take it
===============  ==============================  ======================================================================
gap              ``DualityGapCertificate``       no coefficients lower a convex objective by more than ``gap``: models with
                                                 a dual (generalised linear models, support vector machines, kernels)
\                ``LeastSquaresCertificate``     the same by normal equations: quadratic objectives, solved directly
\                ``SubsetCertificate``           no other subset of columns does: searches with bounds
\                ``SubspaceCertificate``         no directions, as many, leave out less by more than ``gap``: eigenvectors
\                ``ClustersCertificate``         the objective is at most ``ratio`` times the best: centres, by a lower bound
\                ``TreeCertificate``             what a tree leaves on its rows, against what every tree must leave
\                ``BracketCertificate``          the best value of one parameter a column lies in an interval
exact            ``ExactCertificate``            what was computed is a function of the rows, up to rounding: counts, means,
                                                 quantiles, tables, rules without an objective
likelihood       ``LikelihoodCertificate``       parameters found by formula are the most likely ones
search           ``SearchCertificate``           answers look at every row of the fit: neighbours, densities
stationary       ``StationaryCertificate``       nothing near lowers an objective that is not convex by more than ``gap``
\                ``AscentCertificate``           an objective with many maxima rose at every step, and what one more step adds:
                                                 expectation-maximisation, variational bounds
\                ``NetworkCertificate``          how large the gradient is, and that differences confirm it: networks
staged           ``StagedCertificate``           the training loss after every round, each step the best of its kind:
                                                 boosting, and methods that go on in rounds
held-out rows    ``HeldOutCertificate``          errors on new rows, with a stated confidence: any model, by ``certify``
\                ``OutOfBagCertificate``         errors on rows outside a member's sample, and that the seed prescribes
                                                 every member: forests, bagging
mistake bound    ``MistakeBoundCertificate``     mistakes made while learning, against the most that any order can cause
explanation      ``ExplanationCertificate``      contributions of columns add up to predictions, exactly or with a standard error
embedding        ``EmbeddingCertificate``        neighbourhoods that an embedding keeps, its objective and how near to rest it is:
                                                 manifold learning
composite        ``CompositeCertificate``        each part of a model of models keeps its own certificate
none             ``Uncertified``                 nothing is claimed, and why; only for classes that the checker lists
===============  ==============================  ======================================================================

A kind has several records where their proofs rest on different numbers. They are not folded into one record with a ``what``
and optional fields: of the seven records of the kind gap each has two to five numbers that no
other one has (dual variables; backward error, condition and rank; error of a variance, orthogonality and confidence; drift and
trace; depth; intervals), and a field that may be missing is a number that a changed file can leave out. The checker would have to
keep, for each estimator, the list of fields that must be there: the same facts in a second place. A new family touches none
of this: it names a record in its line of the checker's table. What is common (``gap``, ``rounding``, ``tol``, ``reached``,
words and printing) is written once, in ``Certificate`` and ``GapCertificate``.

``Certificate`` is what all of them can do, ``GapCertificate`` what those share whose ``gap`` is compared with ``tol``, and
``Fingerprint`` recognises the data that a certificate is about. ``error_rate`` and ``error_quantile`` are the bounds from
held-out rows behind ``certify``. Model files name a record by the word that it is registered under, which never changes.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)

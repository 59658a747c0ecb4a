r"""Dictionary learning, a batch of rows at a time."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate  # noqa: TC001  (read from the annotation)
from qed.core import KW_ONLY, Array, Matrix, NonNegative, NonNegativeInt, PositiveInt, Seed, fitted, generator, param
from qed.core._shared_params import VERBOSE
from qed.data import ArraySource
from qed.decomposition import _dictionary_learning as whole
from qed.decomposition._dictionary import MOST_SWEEPS, by_length, turned
from qed.decomposition._online_dictionary import Running, learn
from qed.decomposition._sparse_coding import SparseCoding
from qed.designs._range import fingerprint, require_range


class MiniBatchDictionaryLearning(SparseCoding):
    r"""Mini-batch dictionary learning: atoms for sparse codes, learnt from batches of rows.

    Objective
    ---------
    .. math:: \min_{U, D} \tfrac12 \|X - U D\|_F^2 + \alpha \|U\|_1, \qquad \|d_j\| \le 1

    as for ``DictionaryLearning``. Each batch finds its codes; then atoms move to the best place for running sums over batches, in
    which older ones fade.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of U or of a single atom lowers the objective by more than this. U are the
    lasso codes of rows for the stored atoms: of all rows after ``fit``, of those of the last call after ``partial_fit``. Batches do
    not converge to a minimum, so the statement is weaker than that of ``DictionaryLearning``.

    Cost
    ----
    Two products of a batch with k vectors a step, O(k^2) for each of its rows, O((b + p) k + k^2) memory beyond X; and codes of all
    rows at the end.

    Notes
    -----
    ``fit_algorithm`` chooses nothing: both of scikit-learn's solve the same problem. With ``shuffle`` rows are put in a random
    order once. The largest entry of each atom is positive, unless codes or atoms may not be
    negative; atoms are in the order of the lengths of rows along them. ``transform`` gives the codes
    of ``transform_algorithm``, as in `sparse_encode`.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import MiniBatchDictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.normal(size=(300, 3)) * (rng.random((300, 3)) < 0.4)
    >>> X = 3 * codes @ np.eye(3, 5)
    >>> model = MiniBatchDictionaryLearning(3, alpha=0.1, batch_size=50, random_state=0).fit(X)
    >>> model.components_.shape
    (3, 5)
    """

    n_components: PositiveInt | None = param(None, "How many atoms; None for as many as columns.")
    _: KW_ONLY
    alpha: NonNegative = param(1.0, "Penalty strength on codes.")
    max_iter: PositiveInt = param(1000, "Most passes over the rows.")
    fit_algorithm: Literal["lars", "cd"] = whole.FIT_ALGORITHM
    n_jobs: int | None = whole.N_JOBS
    batch_size: PositiveInt = param(256, "Rows of a batch.")
    shuffle: bool = param(True, "Whether rows are put in a random order first.")
    dict_init: Matrix | None = param(None, "Atoms to begin with, shape (k, p); None for singular vectors.")
    transform_algorithm: Literal["lasso_lars", "lasso_cd", "lars", "omp", "threshold"] = whole.TRANSFORM_ALGORITHM
    transform_n_nonzero_coefs: PositiveInt | None = whole.N_NONZERO
    transform_alpha: NonNegative | None = whole.TRANSFORM_ALPHA
    verbose: NonNegativeInt = VERBOSE
    split_sign: bool = whole.SPLIT_SIGN
    random_state: Seed = param(None, "Seed of the order of rows, and of atoms that are drawn.")
    positive_code: bool = whole.POSITIVE_CODE
    positive_dict: bool = whole.POSITIVE_DICT
    transform_max_iter: PositiveInt = whole.TRANSFORM_MAX_ITER
    callback: None = whole.CALLBACK
    tol: NonNegative = param(
        1e-3, "Change of the atoms in a step, relative to their number, at which to stop; 0 to go on."
    )
    max_no_improvement: PositiveInt | None = param(
        10, "Steps without a lower smoothed cost after which to stop; None to go on."
    )

    components_: Array = fitted("Atoms, shape (k, p).", shape="(c, p)")
    running_codes_: Array = fitted(
        "Sums of products of codes, older ones faded, shape (k, k).", shape="(c, c)", answers=False
    )
    running_rows_: Array = fitted(
        "Sums of codes times rows, older ones faded, shape (k, p).", shape="(c, p)", answers=False
    )
    n_iter_: int = fitted("Passes over the rows.", low=0, answers=False)
    n_steps_: int = fitted("Batches seen.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn atoms, batch by batch."""
        x, seen = self._let_in(X, reset=True)
        rng = generator(self.random_state)
        running = self._begin(x, rng)
        outcome = learn(self, self._rules(), x, running, rng)
        self._store(x, running, outcome, seen)
        self.n_iter_ = -(-running.steps // max(-(-len(x) // self.batch_size), 1))
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Take a batch of rows in."""
        is_first = "components_" not in self.__dict__
        x, seen = self._let_in(X, reset=is_first)
        rng = generator(self.random_state)
        if is_first:
            running, self.n_iter_ = self._begin(x, rng), 0
        else:
            running = Running(self.components_.copy(), self.running_codes_, self.running_rows_, self.n_steps_)
        running.step(self._rules(), x, self.batch_size, rng)
        self._store(x, running, "partial_fit", seen)
        return self

    def _let_in(self, X: Any, *, reset: bool) -> tuple[Array, Any]:
        x = np.ascontiguousarray(self._fit_data(X, reset=reset).X, dtype=np.float64)
        seen = fingerprint(x, np.empty((len(x), 0)), None)
        require_range(ArraySource(x, None, None), seen, centred=False)
        return x, seen

    def _begin(self, x: Array, rng: Any) -> Running:
        k = self.n_components or x.shape[1]
        D, _ = self._rules().start(x, k, self.dict_init, None, rng, "dict_init and codes")
        return Running(D, np.zeros((k, k)), np.zeros((k, x.shape[1])))

    def _store(self, x: Array, running: Running, outcome: str, seen: Any) -> None:
        """Keep the atoms, and say what is known of the codes that belong to them."""
        rules = self._rules()
        sign = np.ones(len(running.D)) if self.positive_code or self.positive_dict else turned(running.D)
        D, U = running.D * sign[:, None], np.zeros((len(x), len(running.D)))
        rules.lower_codes(x, D, U, np.einsum("ij,ij->i", x, x), MOST_SWEEPS)
        if outcome != "partial_fit":  # other batches may use them
            D[~U.any(axis=0)] = 0.0  # an atom that no row uses was drawn, and not learnt
        order = by_length(D, x)
        self.components_, U = np.ascontiguousarray(D[order]), np.ascontiguousarray(U[:, order])
        self.running_codes_ = np.ascontiguousarray((running.A * np.outer(sign, sign))[np.ix_(order, order)])
        self.running_rows_ = np.ascontiguousarray((running.B * sign[:, None])[order])
        self.n_steps_ = running.steps
        self.certificate_ = rules.certificate(x, self.components_, U, (float(self.tol), outcome, seen))

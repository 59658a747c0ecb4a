r"""Dictionary learning: rows as combinations of few atoms that are learnt from them."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate  # noqa: TC001  (read from the annotation)
from qed.core import KW_ONLY, Array, Matrix, NonNegative, NonNegativeInt, PositiveInt, Seed, fitted, generator, param
from qed.core._shared_params import VERBOSE
from qed.data import ArraySource
from qed.decomposition._dictionary import MOST_SWEEPS, by_length, turned
from qed.decomposition._sparse_coding import SparseCoding
from qed.designs._range import fingerprint, require_range

TRANSFORM_ALGORITHM = param("omp", "How codes of new rows are found, as in `sparse_encode`; 'lars' raises an error.")
N_NONZERO = param(None, "Most atoms of a code, for 'omp'; a tenth of the columns by default.")
TRANSFORM_ALPHA = param(
    None, "Penalty strength of new codes, ``alpha`` by default; for 'omp' the squared error that is small enough."
)
N_JOBS = param(None, "Jobs of scikit-learn; here all threads are used.", kind="hint")
CALLBACK = param(None, "Only None: scikit-learn calls it with its local variables. Use ``qed.listen``.")
SPLIT_SIGN = param(False, "Whether ``transform`` gives positive and negative parts of codes apart.")
POSITIVE_CODE = param(False, "Whether codes may not be negative.")
POSITIVE_DICT = param(False, "Whether atoms may not have a negative entry.")
TRANSFORM_MAX_ITER = param(1000, "Most sweeps over new codes.")
FIT_ALGORITHM = param("lars", "Solver of codes asked for; see Notes.", kind="hint")


class DictionaryLearning(SparseCoding):
    r"""Dictionary learning: atoms such that every sample is approximated by a sparse combination of them.

    Objective
    ---------
    .. math:: \min_{U, D} \tfrac12 \|X - U D\|_F^2 + \alpha \|U\|_1, \qquad \|d_j\| \le 1

    over codes U and atoms, the rows of D. It is convex in each of both factors but not in both together: there may be better ones
    far away.

    Certificate
    -----------
    StationaryCertificate: no change of a single entry of U or of a single atom lowers the objective by more than this. U are the
    lasso codes of the rows of the fit for the stored atoms, each solved to rounding.

    Cost
    ----
    Two products of X with k vectors a step, and O(nk^2) for sweeps over codes; O((n + p) k) memory beyond X.

    Notes
    -----
    Codes are lowered by exact steps along single entries for all rows at once, told by products with the atoms alone; then each
    atom in turn moves to its best place within the ball. Neither step raises the objective. Rows are not centred. Codes and atoms
    have a sign in common: the largest entry of each atom is positive, unless codes or atoms may not be negative. Atoms
    are in the order of the squared lengths of rows along them.

    ``fit_algorithm`` chooses nothing: both of scikit-learn's solve the same problem. ``transform`` gives the codes of
    ``transform_algorithm``, as in `sparse_encode`.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.normal(size=(200, 3)) * (rng.random((200, 3)) < 0.4)
    >>> X = 3 * codes @ np.eye(3, 5)
    >>> model = DictionaryLearning(3, alpha=0.1, random_state=0).fit(X)
    >>> np.sort(np.abs(model.components_).max(axis=1).round(2))
    array([1., 1., 1.])
    """

    n_components: PositiveInt | None = param(None, "How many atoms; None for as many as columns.")
    _: KW_ONLY
    alpha: NonNegative = param(1.0, "Penalty strength on codes.")
    max_iter: PositiveInt = param(1000, "Most steps.")
    tol: NonNegative = param(1e-8, "Fall of the objective in a step, relative to it, at which to stop.")
    fit_algorithm: Literal["lars", "cd"] = FIT_ALGORITHM
    transform_algorithm: Literal["lasso_lars", "lasso_cd", "lars", "omp", "threshold"] = TRANSFORM_ALGORITHM
    transform_n_nonzero_coefs: PositiveInt | None = N_NONZERO
    transform_alpha: NonNegative | None = TRANSFORM_ALPHA
    n_jobs: int | None = N_JOBS
    code_init: Matrix | None = param(None, "Codes to begin with, shape (n, k); taken together with ``dict_init``.")
    dict_init: Matrix | None = param(None, "Atoms to begin with, shape (k, p); None for singular vectors.")
    callback: None = CALLBACK
    verbose: NonNegativeInt = VERBOSE
    split_sign: bool = SPLIT_SIGN
    random_state: Seed = param(None, "Seed of atoms beyond the singular vectors, and of atoms that no row uses.")
    positive_code: bool = POSITIVE_CODE
    positive_dict: bool = POSITIVE_DICT
    transform_max_iter: PositiveInt = TRANSFORM_MAX_ITER

    components_: Array = fitted("Atoms, shape (k, p).", shape="(c, p)")
    error_: list[float] = fitted("The objective after each step.", answers=False)
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn atoms."""
        x = np.ascontiguousarray(self._fit_data(X).X, dtype=np.float64)
        seen = fingerprint(x, np.empty((len(x), 0)), None)
        require_range(ArraySource(x, None, None), seen, centred=False)
        rng, rules = generator(self.random_state), self._rules()
        k = self.n_components or x.shape[1]
        D, U = rules.start(x, k, self.dict_init, self.code_init, rng, "dict_init and code_init")
        self.error_, outcome = rules.alternate(self, x, D, U, rng)
        self.n_iter_ = len(self.error_)
        if not self.positive_code and not self.positive_dict:
            sign = turned(D)
            D, U = D * sign[:, None], U * sign
        rules.lower_codes(x, D, U, np.einsum("ij,ij->i", x, x), MOST_SWEEPS)
        D[~U.any(axis=0)] = 0.0  # an atom that no row uses was drawn, and not learnt
        order = by_length(D, x)
        D, U = np.ascontiguousarray(D[order]), np.ascontiguousarray(U[:, order])
        self.components_ = D
        self.certificate_ = rules.certificate(x, D, U, (float(self.tol), outcome, seen))
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

"""Shapley values of a model's predictions, by the fastest exact way that the model allows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import ExplanationCertificate
from qed.core import Estimator, InvalidData, InvalidParameter, generator
from qed.core._frames import names_of
from qed.inspection import _kernels
from qed.inspection._additive_game import linear_method, linear_terms, log_odds, naive_bayes_terms
from qed.inspection._explanation import Explanation
from qed.inspection._model_game import ModelGame, solve, table_of
from qed.inspection._tree_game import tree_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.inspection._additive_game import AdditiveGame
    from qed.inspection._tree_game import TreeGame

Array = np.ndarray[Any, Any]
UNIT = 2.0**-53
MOST_COALITIONS = 4096  # of one row, that are all evaluated: twelve players
PAIRS = 64  # permutations and their reverses, where coalitions are more
METHODS = ("auto", "predict", "predict_proba", "decision_function")


class Solved(NamedTuple):
    """Contributions (n, players, k), what they are measured from and add up to, and what is known of them."""

    values: Array
    errors: Array
    base: Array
    predictions: Array
    data: Array
    rounding: float
    game: str
    kind: str
    method: str


def shapley_values(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    players: Any = None,
    output: str = "auto",
    tol: float | None = None,
    max_evals: int | None = None,
    random_state: Any = None,
) -> Explanation:
    r"""Return what each column contributes to each prediction.

    Objective
    ---------
    The Shapley value of a column is its mean contribution when columns become known in random order:

    .. math:: \phi_j = \sum_{S \not\ni j} \frac{|S|! \, (p - |S| - 1)!}{p!} \left( u(S \cup j) - u(S) \right)

    where u(S) is what is predicted when the columns in S are known. Two games differ in what stands for the others:
    *path-dependent* (trees without a background): a split on an unknown column is followed both ways, each by its share of the
    rows of the fit; *interventional*: unknown columns take the values of a row of the background, on average over its rows.

    Certificate
    -----------
    ExplanationCertificate: contributions add up to prediction minus base value up to a stated rounding, and are exact or have
    standard errors. ``qed.verify(explanation, model, background)`` computes them again, by another algorithm, and says of how
    many rows.

    Cost
    ----
    Trees: O(leaves · m / 2) a row, m the most columns on a path, exact at any depth. With a background of B rows: after O(3^m) a
    leaf no more than that, or O(B) walks, whichever is cheaper. Linear models and naive Bayes: O(p). Any other model: 2^p
    predictions of the background a row up to twelve columns; beyond, 128 p of them, or until ``tol``.

    Parameters
    ----------
    model : fitted estimator
        Trees, forests, boosting, linear models and naive Bayes of qed are solved exactly; of any other model only its
        predictions are used.
    X : array-like or frame of shape (n, p)
        Rows to explain.
    background : array-like or frame of shape (B, p), optional
        Rows that unknown columns take their values from; none are left out. Trees and naive Bayes do without; other models take
        ``X`` itself.
    players : sequence of int of shape (p,), optional
        By column, the number of the group that it belongs to: columns of a group become known together.
    output : {"auto", "predict", "predict_proba", "decision_function"}
        What to explain. "auto" is what the model adds up: probabilities of forests, scores of boosting and of linear classifiers,
        log-odds of naive Bayes, predictions otherwise. Of two classes the second is explained.
    tol : float, optional
        For models that are sampled: stop when 1.96 standard errors of each contribution of a row are below it.
    max_evals : int, optional
        For models that are sampled, most coalitions evaluated a row; up to that many are all evaluated instead.
    random_state : None, int or Generator
        Seed of the sampling.

    Returns
    -------
    Explanation
        Contributions, base value, predictions, standard errors and a certificate.

    See Also
    --------
    explain : The same of a pipeline, in the columns of its input.
    permutation_importance : How much worse a score is without a column.

    Notes
    -----
    Contributions describe the model, not the world: a column that only stands for another one, which the model prefers, gets
    its credit.

    Examples
    --------
    >>> from qed.ensemble import RandomForestRegressor
    >>> from qed.inspection import shapley_values
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = RandomForestRegressor(10, bootstrap=False, max_features=None, random_state=0).fit(X, y)
    >>> shapley_values(model, [[1.0, 0.0]]).values.round(6).tolist()
    [[1.0, -0.5]]
    """
    if output not in METHODS:
        raise InvalidParameter(f"output must be one of {', '.join(METHODS)}, got {output!r:.80}.")
    solved = _exactly(model, X, background, players, output)
    if solved is None:
        solved = _by_predictions(model, X, background, players, output, tol, max_evals, random_state)
    return _explanation(model, X, solved, players, 0 if background is None else n_rows(background))


def _exactly(model: Any, X: Any, background: Any, players: Any, output: str) -> Solved | None:
    """Solve the game of a model whose form is known; None for others."""
    if not isinstance(model, Estimator):
        return None
    model._check_is_fitted()  # noqa: SLF001
    trees = tree_game(model)
    if trees is not None:
        others = None if background is None else _rows(model, background)
        return _of_trees(trees, _rows(model, X), others, players) if output in ("auto", trees.method) else None
    if _is_naive_bayes(model) and output == "auto":
        return _of_naive_bayes(model, _rows(model, X), players)
    return _of_coefficients(model, X, background, players, output) if hasattr(model, "coef_") else None


def _of_naive_bayes(model: Any, rows: Array, players: Any) -> Solved | None:
    found = naive_bayes_terms(model, rows)
    if found is None:
        return None
    said = log_odds(model._joint(rows))  # noqa: SLF001
    return _of_terms(found, found.constant, said, rows, players, "log-odds")


def _of_coefficients(model: Any, X: Any, background: Any, players: Any, output: str) -> Solved | None:
    """Solve the game of a model whose output is linear in the columns; None for others."""
    if output not in ("auto", "decision_function", "predict") or not n_rows(X):
        return None
    rows = _rows(model, X)
    method = linear_method(model, rows)
    if method is None or output not in ("auto", method):
        return None
    others = rows if background is None else _rows(model, background)
    found = linear_terms(model, rows, method)
    centre = linear_terms(model, others.mean(axis=0, dtype=np.float64)[None], method).terms
    said = np.asarray(getattr(model, method.removeprefix("log of "))(rows), dtype=np.float64).reshape(len(rows), -1)
    said = np.log(said) if method.startswith("log of ") else said
    base = found.constant + centre[0].sum(axis=0)
    return _of_terms(found._replace(terms=found.terms - centre), base, said, rows, players, "interventional")


def _is_naive_bayes(model: Any) -> bool:
    return type(model).__module__.startswith("qed.naive_bayes")


def _of_trees(game: TreeGame, X: Array, background: Array | None, players: Any) -> Solved:
    owners, count = owners_of(players, X.shape[1])
    _ = game.trees.packed  # nodes that are no trees are refused here
    values = _kernels.tree_values(game, owners, count, X, background)
    base = game.base if background is None else game.predict(background).mean(axis=0)
    # every leaf is multiplied and added along its path, the trees are added up, then the columns
    depth = int(np.ceil(np.log2(game.trees.n_leaves + 1))) + X.shape[1]
    rounding = 8 * UNIT * (4 * depth + len(game.trees)) * game.magnitude
    name = "path-dependent" if background is None else "interventional"
    return Solved(values, np.zeros_like(values), base, game.predict(X), X, rounding, name, "trees", game.method)


def _of_terms(game: AdditiveGame, base: Array, said: Array, X: Array, players: Any, name: str) -> Solved:
    owners, count = owners_of(players, X.shape[1])
    values = np.zeros((len(X), count, game.terms.shape[2]))
    for j, owner in enumerate(owners):
        values[:, owner] += game.terms[:, j]
    size = np.abs(game.terms).sum(axis=1).max(initial=0.0) + np.abs(base).max(initial=0.0)
    unit = UNIT if X.dtype == np.float64 else 2.0**-24  # predictions come in the precision of the rows
    rounding = 8 * unit * (X.shape[1] + 2) * float(size)
    return Solved(values, np.zeros_like(values), base, said, X, rounding, name, game.kind, game.method)


def _by_predictions(
    model: Any,
    X: Any,
    background: Any,
    players: Any,
    output: str,
    tol: float | None,
    max_evals: int | None,
    random_state: Any,
) -> Solved:
    rows, others = table_of(X), table_of(X if background is None else background)
    if not len(rows) or not len(others):
        raise InvalidData("Explanations need at least one row, and at least one row of background.")
    width = n_columns(X)
    if n_columns(X if background is None else background) != width:
        raise InvalidData(f"The background must have the {width} columns of X.")
    method, predict = predictor(model, output)
    owners, count = owners_of(players, width)
    game = ModelGame(predict, rows, others, owners)
    told = predict(rows.all())
    most = MOST_COALITIONS if max_evals is None else max_evals
    pairs = PAIRS if max_evals is None else max(2, max_evals // (2 * max(count - 1, 1)))
    found, kind = solve(game, told, most=most, pairs=pairs, tol=tol, random=generator(random_state))
    size = float(np.abs(told).max() + np.abs(game.base).max())
    rounding = 64 * UNIT * (len(others) + count) * max(size, float(np.abs(found.values).max(initial=0.0)))
    data = rows.X if hasattr(rows, "X") else np.asarray(rows.frame.to_numpy(), dtype=object)
    return Solved(found.values, found.errors, game.base, told, data, rounding, "interventional", kind, method)


def predictor(model: Any, output: str) -> tuple[str, Callable[[Any], Array]]:
    """Return the method that is explained, and a function from rows to its results, (n, k); of two classes the second alone."""
    if output == "auto":
        output = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        if output == "predict" and hasattr(model, "decision_function") and hasattr(model, "classes_"):
            output = "decision_function"
    if not hasattr(model, output):
        raise InvalidParameter(f"{type(model).__name__} has no {output}. Explain another output.")

    def predict(rows: Any) -> Array:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            told = getattr(model, output)(rows)
        if isinstance(told, list):
            raise InvalidParameter(
                f"{type(model).__name__} predicts {len(told)} columns of labels. Explain a model for each column."
            )
        said = np.asarray(told)
        if said.dtype.kind not in "fiub":
            raise InvalidParameter(
                f"{type(model).__name__}.{output} returns labels. Explain output='predict_proba' or 'decision_function'."
            )
        said = said.astype(np.float64).reshape(len(said), -1)
        return said[:, 1:] if output == "predict_proba" and said.shape[1] == 2 else said

    return output, predict


def owners_of(players: Any, n: int) -> tuple[Array, int]:
    """Return the group of each column, and how many groups there are."""
    if players is None:
        return np.arange(n), n
    owners = np.asarray(players)
    if (
        owners.shape != (n,)
        or owners.dtype.kind not in "iu"
        or not np.array_equal(np.unique(owners), np.arange(owners.max() + 1))
    ):
        raise InvalidParameter(
            f"players must give each of the {n} columns the number of its group, from 0 and without gaps, got {players!r:.80}."
        )
    return owners, int(owners.max()) + 1


def n_rows(X: Any) -> int:
    """Return the number of rows of anything that holds rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def n_columns(X: Any) -> int:
    """Return the number of columns of anything that holds rows."""
    return int(X.shape[1]) if hasattr(X, "shape") and len(X.shape) == 2 else int(np.shape(X)[-1])


def _rows(model: Any, X: Any) -> Array:
    rows = model._new_data(X)  # noqa: SLF001
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())


def _explanation(model: Any, X: Any, solved: Solved, players: Any, background_rows: int) -> Explanation:
    sums = solved.values.sum(axis=1) + solved.base
    with np.errstate(invalid="ignore"):
        off = np.abs(sums - solved.predictions)
    residual = float(off.max(initial=0.0))
    if not residual < np.inf:
        raise InvalidData("A prediction to explain is not finite. Explain rows whose predictions are.")
    owners, count = owners_of(players, solved.data.shape[1])
    certificate = ExplanationCertificate(
        solved.game,
        solved.kind,
        residual,
        solved.rounding,
        float(solved.errors.max(initial=0.0)),
        len(solved.values),
        count,
        background_rows if background_rows or solved.game != "interventional" else n_rows(X),
    )
    single = solved.values.shape[2] == 1
    return Explanation(
        solved.values[:, :, 0] if single else solved.values,
        float(solved.base[0]) if single else solved.base,
        solved.predictions[:, 0] if single else solved.predictions,
        solved.errors[:, :, 0] if single else solved.errors,
        solved.data,
        _column_names(model, X, owners, count),
        _output_names(model, solved),
        solved.method,
        owners,
        certificate,
    )


def _column_names(model: Any, X: Any, owners: Array, count: int) -> tuple[str, ...]:
    found = names_of(X.columns) if hasattr(X, "columns") else None
    if found is None:
        found = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(len(owners))] if found is None else [str(name) for name in found]
    return tuple(" + ".join(names[j] for j in np.flatnonzero(owners == player)) for player in range(count))


def _output_names(model: Any, solved: Solved) -> tuple[str, ...]:
    k = solved.values.shape[2]
    labels = getattr(model, "classes_", None)
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        if len(labels) == k:
            return tuple(str(label) for label in labels.tolist())
        if len(labels) == 2 and k == 1:
            return (str(labels.tolist()[1]),)
    return ("prediction",) if k == 1 else tuple(f"output {number}" for number in range(k))

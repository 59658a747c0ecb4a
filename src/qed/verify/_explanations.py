"""Explanations, checked: base value, predictions and sums of every row, and the contributions by other algorithms.

Trees: leaf by leaf in extended precision, from the conditions along the paths. Linear models and naive Bayes: column by column.
Models of any kind: the game is evaluated at all coalitions, and shared out by dividends; no other model can be exact. Sampled
contributions: a second sample must agree with the first, and so must their standard errors. Whatever serves as a tolerance is
derived here; what the certificate states is only compared with it.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np

from qed.core import CertificateError, InvalidData
from qed.verify import _tree_paths
from qed.verify._rows import OtherData
from qed.verify._verdict import Verdict

Array = np.ndarray[Any, Any]
UNIT = 2.0**-53
# At least one row is computed again whatever it costs.
BUDGET = 50_000_000  # numbers of all leaves and rows: some seconds
PREDICTIONS = 5_000_000  # the same of predictions
MOST_PLAYERS = 12  # all coalitions of so many are what is evaluated by default
PAIRS = 64  # orders and their reverses of a second sample, at least
ROUNDING_FACTOR = 64.0  # times the rounding of one algorithm: two algorithms differ by no more
# Of a second sample: a false alarm in 1e11 contributions, and half as much again since few orders leave small standard errors.
Z_SCORE = 7.0 * 1.5
SINGLE = 2.0**-18  # 64 units of single precision, for models that predict in it
ERROR_BAND = 3.0  # standard errors of two samples of equal size differ by less
GAMES = {
    "trees": ("path-dependent", "interventional"),
    "linear": ("interventional",),
    "naive Bayes": ("log-odds",),
    "enumeration": ("interventional",),
    "permutations": ("interventional",),
}


class Recomputed(NamedTuple):
    """What the checker finds: the contributions of some rows, what all start from, and how far off rounding leaves them."""

    rows: Array
    values: Array  # (rows, players, outputs)
    allowed: Array  # by row and output
    base: Array
    rounding: float  # what may be stated, but for a factor of two
    slack: float  # how far base values and predictions may be off
    predictions: Array | None  # of all rows, by the checker's own reader of the model


def check(explanation: Any, model: Any, background: Any) -> Verdict:
    """Recompute what an explanation states; raise CertificateError where it is not so."""
    if hasattr(model, "steps"):
        raise OtherData(
            "An explanation in the columns that enter a pipeline cannot be verified. The explanation of its last step can:"
            " prepared = pipeline[:-1].transform(X); qed.verify(shapley_values(pipeline[-1], prepared), pipeline[-1])."
        )
    certificate = explanation.certificate
    certificate.check()
    values, base, said, errors = _shaped(explanation)
    _check_claims(certificate, values, errors)
    data = _background(certificate, explanation, background)
    found = _recompute(explanation, model, data, errors)
    if not certificate.rounding <= 2 * found.rounding:
        _refuse(f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {found.rounding:.3g} at most")
    if not (np.abs(found.base - base) <= found.slack).all():
        _refuse("its base value is another")
    _check_predictions(explanation, model, said, found)
    residual = _check_sums(certificate, values, base, said, found.slack)
    off = np.abs(found.values - values[found.rows]).max(axis=1, initial=0.0)
    wrong = ~(off <= found.allowed).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse(f"the contributions of row {found.rows[row]} are others, by up to {off[row].max():.3g}")
    return Verdict(
        f"{certificate.statement} {_how_many(len(found.rows), len(values))}",
        float(len(values)),
        max(residual, float(off.max(initial=0.0))),
        found.rounding,
        certificate.residual,
        "rows explained",
    )


def _how_many(done: int, n: int) -> str:
    if done == n:
        return f"The contributions of all {n} rows were computed again."
    return f"The contributions of {done} of {n} rows were computed again; of the others, that they add up."


def _shaped(explanation: Any) -> tuple[Array, Array, Array, Array]:
    values = np.asarray(explanation.values)
    values = values[:, :, None] if values.ndim == 2 else values
    base = np.atleast_1d(np.asarray(explanation.base_value, dtype=np.float64))
    said = np.asarray(explanation.predictions, dtype=np.float64).reshape(len(values), -1)
    if values.ndim != 3 or said.shape != (len(values), values.shape[2]) or base.shape != (values.shape[2],):
        _refuse("its values, predictions and base value do not fit together")
    errors = np.asarray(explanation.standard_errors, dtype=np.float64)
    errors = errors[:, :, None] if errors.ndim == 2 else errors
    if errors.shape != values.shape or len(explanation.data) != len(values):
        _refuse("its values, standard errors and rows do not fit together")
    return values, base, said, errors


def _check_claims(certificate: Any, values: Array, errors: Array) -> None:
    """Refuse words and numbers of the certificate that do not go together."""
    stated = (certificate.rows, certificate.players)
    if stated != values.shape[:2] or not np.isfinite(values).all():
        _refuse(f"it states {stated[0]} rows and {stated[1]} columns, and holds shape {values.shape}")
    if certificate.game not in GAMES.get(certificate.method, ()):
        _refuse(f"a {certificate.game} game is not solved by {certificate.method}")
    largest = float(errors.max(initial=0.0))
    if not (np.isfinite(errors) & (errors >= 0)).all() or certificate.standard_error != largest:
        _refuse(f"its largest standard error is {largest:.3g}, and {certificate.standard_error:.3g} is stated")
    if largest > 0 and certificate.method != "permutations":
        _refuse(f"{certificate.method} samples nothing, and it has standard errors up to {largest:.3g}")


def _check_sums(certificate: Any, values: Array, base: Array, said: Array, slack: float) -> float:
    """Add up the contributions of every row; return how far off the sums are."""
    sums = values.astype(np.longdouble).sum(axis=1) + base
    off = np.abs(sums - said).astype(np.float64)
    rounds = slack + ROUNDING_FACTOR * UNIT * np.abs(values).sum(axis=1)  # large contributions may cancel
    if not (off <= rounds).all():
        _refuse(f"contributions are {off.max():.3g} off prediction minus base value, more than rounding explains")
    residual = float(off.max(initial=0.0))
    if not abs(residual - certificate.residual) <= rounds.max(initial=0.0):
        _refuse(
            f"contributions are {residual:.3g} off prediction minus base value; {certificate.residual:.3g} is stated"
        )
    return residual


def _check_predictions(explanation: Any, model: Any, said: Array, found: Recomputed) -> None:
    """Compare what is explained with what the model says, and with what the checker reads from it."""
    near = 1e-6 * np.maximum(np.abs(said), 1.0 if explanation.output.startswith("log") else 0.0) + found.slack
    told = [] if found.predictions is None else [found.predictions]
    if explanation.output != "log-odds":
        told.append(_predict(explanation, model, explanation.data))
    for one in told:
        if one.shape != said.shape or not (np.abs(one - said) <= near).all():
            _refuse("the predictions are not those of this model")


def _predict(explanation: Any, model: Any, X: Array) -> Array:
    method = explanation.output
    with warnings.catch_warnings():  # an explanation keeps its rows as an array, whatever table the model was fitted on
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        told = np.asarray(getattr(model, method.removeprefix("log of "))(X), dtype=np.float64)
    told = np.log(told) if method.startswith("log of ") else told
    told = told.reshape(len(X), -1)
    return told[:, 1:] if method == "predict_proba" and told.shape[1] == 2 else told


def _in_single(explanation: Any, model: Any) -> bool:
    """Return whether the model predicts in single precision, so that a row's result depends on the rows beside it."""
    told = getattr(model, explanation.output.removeprefix("log of "))(explanation.data[:1])
    return bool(np.asarray(told).dtype == np.float32)


def _background(certificate: Any, explanation: Any, background: Any) -> Array | None:
    if certificate.game != "interventional":
        return None
    data = np.asarray(explanation.data if background is None else background)
    if data.ndim != 2 or len(data) != certificate.background_rows or data.shape[1] != explanation.data.shape[1]:
        raise InvalidData(
            f"The explanation was made against {certificate.background_rows} rows. Pass them: qed.verify(explanation, model,"
            " background)."
        )
    return data


def _recompute(explanation: Any, model: Any, background: Array | None, errors: Array) -> Recomputed:
    certificate, owners = explanation.certificate, np.asarray(explanation.players)
    if owners.shape != (explanation.data.shape[1],) or not ((owners >= 0) & (owners < certificate.players)).all():
        _refuse("its players are not those of its columns")
    if certificate.method == "trees":
        return _of_trees(explanation, model, background, owners)
    if certificate.method == "naive Bayes":
        return _of_naive_bayes(explanation, model, owners)
    if background is None:
        _refuse("it has no background")
    if certificate.method == "linear":
        return _of_coefficients(explanation, model, background, owners)
    return _of_any_model(explanation, model, background, owners, errors)


def _some(n: int, cost: float, budget: float) -> Array:
    """Return the numbers of the rows that a budget allows, spread over all; one at least."""
    count = min(n, max(1, int(budget // max(cost, 1.0))))
    return np.unique(np.linspace(0, n - 1, count).astype(np.intp)) if n else np.empty(0, dtype=np.intp)


# -- trees -----------------------------------------------------------------------------------------------------


def _of_trees(explanation: Any, model: Any, background: Array | None, owners: Array) -> Recomputed:
    X, n_players = explanation.data, int(explanation.certificate.players)
    paths = _tree_paths.read(model, owners, n_players)
    if background is None:
        rows = _some(len(X), float((paths.sizes.astype(np.float64) ** 3).sum()), BUDGET)
        base = paths.base
        found = [_tree_paths.by_shares(paths, X[row], n_players) for row in rows]
        values = np.array(found).reshape(len(rows), n_players, len(base))
    else:
        rows = _some(len(X), float(len(background) * len(paths.slots)), BUDGET)
        base = _tree_paths.outputs(paths, background).mean(axis=0)
        values = _tree_paths.against(paths, X[rows], background, n_players)
    allowed = np.full((len(rows), len(base)), ROUNDING_FACTOR * paths.rounding)
    said = _tree_paths.outputs(paths, X).astype(np.float64)
    return Recomputed(
        rows, values, allowed, base.astype(np.float64), paths.rounding, ROUNDING_FACTOR * paths.rounding, said
    )


# -- sums over columns -----------------------------------------------------------------------------------------


def _of_coefficients(explanation: Any, model: Any, background: Array, owners: Array) -> Recomputed:
    """Multiply coefficients by distances from the mean; the model must be linear on the background too."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.longdouble))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.longdouble).reshape(-1), (len(coef),))
    X, others = explanation.data.astype(np.longdouble), background.astype(np.longdouble)
    centre = others.mean(axis=0)
    size = max(float((np.abs(rows) @ np.abs(coef.T)).max(initial=0.0)) for rows in (X, others, centre[None]))
    size = 3 * size + float(np.abs(intercept).max()) + float(explanation.output.startswith("log"))
    rounding = _rounding_of_sums(explanation, size)
    told = _predict(explanation, model, background)
    sums = others @ coef.T + intercept
    if (
        told.shape != sums.shape
        or not (np.abs(told - sums) <= 1e-6 * max(1.0, size) + ROUNDING_FACTOR * rounding).all()
    ):
        _refuse("the model is not linear in its columns")
    values = _by_owner((X - centre)[:, :, None] * coef.T, owners, int(explanation.certificate.players))
    base = (centre @ coef.T + intercept).astype(np.float64)
    return _every_row(values, base, rounding, (X @ coef.T + intercept).astype(np.float64))


def _of_naive_bayes(explanation: Any, model: Any, owners: Array) -> Recomputed:
    """Subtract logarithms of likelihoods, column by column; what all start from is the prior."""
    if explanation.output != "log-odds":
        _refuse(f"naive Bayes adds up log-odds, and it explains {explanation.output}")
    X = explanation.data.astype(np.longdouble)[:, None, :]
    state = vars(model)
    prior = np.log(model.class_prior_) if "theta_" in state else np.asarray(model.class_log_prior_)
    if "theta_" in state:
        spread = np.asarray(model.var_, dtype=np.longdouble)
        logs = -(np.log(2 * np.pi * spread) + (X - model.theta_) ** 2 / spread) / 2
    elif "feature_log_absence_" in state:
        met = np.greater(X, 0 if model.binarize is None else model.binarize)
        logs = np.where(met, model.feature_log_prob_, model.feature_log_absence_)
    elif isinstance(model.feature_log_prob_, list):
        columns = [table[:, X[:, 0, j].astype(np.intp)].T for j, table in enumerate(model.feature_log_prob_)]
        logs = np.stack(columns, axis=2)
    else:
        logs = np.where(X == 0, 0, X * model.feature_log_prob_)
        if "norm" in vars(type(model)) and len(prior) > 1:  # the complement's weights know no prior
            prior = np.zeros(len(prior))
    logs, prior = logs.astype(np.longdouble), prior.astype(np.longdouble)
    two = len(prior) == 2
    terms = logs[:, 1:] - logs[:, :1] if two else logs - logs.mean(axis=1, keepdims=True)
    base = prior[1:] - prior[:1] if two else prior - prior.mean()
    size = 2 * float(np.abs(logs).sum(axis=2).max(initial=0.0)) + 2 * float(np.abs(prior).max())
    values = _by_owner(terms.transpose(0, 2, 1), owners, int(explanation.certificate.players))
    said = (terms.sum(axis=2) + base).astype(np.float64)
    return _every_row(values, base.astype(np.float64), _rounding_of_sums(explanation, size), said)


def _rounding_of_sums(explanation: Any, size: float) -> float:
    unit = UNIT if explanation.data.dtype == np.float64 else 2.0**-24  # predictions come in the precision of the rows
    return float(8 * unit * (explanation.data.shape[1] + 2) * size)


def _by_owner(terms: Array, owners: Array, n_players: int) -> Array:
    total = np.zeros((len(terms), n_players, terms.shape[2]), dtype=np.longdouble)
    for column, owner in enumerate(owners):
        total[:, owner] += terms[:, column]
    return total.astype(np.float64)


def _every_row(values: Array, base: Array, rounding: float, said: Array) -> Recomputed:
    allowed = np.full((len(values), values.shape[2]), ROUNDING_FACTOR * rounding)
    return Recomputed(np.arange(len(values)), values, allowed, base, rounding, ROUNDING_FACTOR * rounding, said)


# -- models of any kind ----------------------------------------------------------------------------------------


def _of_any_model(explanation: Any, model: Any, background: Array, owners: Array, errors: Array) -> Recomputed:
    """Evaluate all coalitions of few players; of more, contributions are sampled again, and none is exact."""
    n, many = int(explanation.certificate.players), len(background)
    base = _predict(explanation, model, background).mean(axis=0)
    said = np.asarray(explanation.predictions, dtype=np.float64).reshape(len(explanation.data), -1)
    size = float(np.abs(said).max(initial=0.0) + np.abs(base).max(initial=0.0))
    unit = 64 * UNIT * (many + n)
    off = ROUNDING_FACTOR * unit + (SINGLE if _in_single(explanation, model) else 0.0)  # relative
    if explanation.certificate.method == "enumeration":
        cost = float(many) * 2.0**n
        if n > MOST_PLAYERS and cost > PREDICTIONS:
            raise CertificateError(
                f"This explanation claims to be exact for a model of {n} columns of which only predictions are known. That takes"
                f" {cost:.3g} predictions a row, more than are made here ({PREDICTIONS:.0e}), so it is not confirmed. Group"
                " columns (players=...), pass fewer rows of background, or explain without max_evals, by a sample."
            )
        rows = _some(len(said), cost, PREDICTIONS)
        found = [_by_dividends(explanation, model, background, row, owners) for row in rows]
        values = np.array(found).reshape(len(rows), n, len(base))
        spread = np.zeros((len(rows), len(base)))
    else:
        cost = float(many) * 2 * n * PAIRS
        rows = _some(len(said), cost, PREDICTIONS)
        values, spread = np.zeros((len(rows), n, len(base))), np.zeros((len(rows), len(base)))
        for place, row in enumerate(rows):
            values[place], spread[place] = _second_sample(
                explanation, model, background, int(row), owners, errors[row], off * size
            )
    largest = np.maximum(size, np.abs(values).max(axis=1, initial=0.0))
    held = float(np.abs(np.asarray(explanation.values)).max(initial=0.0))
    # contributions can be larger than what they add up to; those that were not computed again allow a statement, not an error
    stated = unit * max(size, held)
    return Recomputed(rows, values, off * largest + spread, base, stated, off * size, None)


def _by_dividends(explanation: Any, model: Any, background: Array, row: int, owners: Array) -> Array:
    """Share out the dividend of each coalition, what it is worth beyond its parts, among its players."""
    n, x = int(explanation.certificate.players), explanation.data[row]
    numbers = np.arange(1 << n)
    dividends = _worth(explanation, model, background, x, (numbers[:, None] >> owners) & 1 == 1).astype(np.longdouble)
    for j in range(n):
        above = numbers[(numbers >> j) & 1 == 1]
        dividends[above] -= dividends[above ^ (1 << j)]
    sizes = np.array([max(int(number).bit_count(), 1) for number in numbers])[:, None]
    return np.array([(dividends / sizes)[(numbers >> j) & 1 == 1].sum(axis=0) for j in range(n)], dtype=np.float64)


def _worth(explanation: Any, model: Any, background: Array, x: Array, inside: Array) -> Array:
    """Return the mean prediction of the background with some columns of a row put in, for each line of ``inside``."""
    many, step = len(background), max(1, 65_536 // len(background))
    found = []
    for first in range(0, len(inside), step):
        part = inside[first : first + step, None, :]
        table = np.where(part, x, background[None]).reshape(-1, len(x))
        found.append(_predict(explanation, model, table).reshape(len(part), many, -1).mean(axis=1))
    return np.concatenate(found)


def _second_sample(
    explanation: Any, model: Any, background: Array, row: int, owners: Array, errors: Array, slack: float
) -> tuple[Array, Array]:
    """Return means over orders of another stream, and how far the stated contributions may be from them, by output.

    So many orders are drawn as the stated standard errors tell of; where that is more than the budget allows, they are refused.
    """
    random = np.random.default_rng([row, 20_011])
    n, x = int(explanation.certificate.players), explanation.data[row]
    most = max(PAIRS, PREDICTIONS // (2 * n * len(background)))
    stated = np.sqrt((errors**2).mean(axis=0))
    own: list[Array] = []
    wanted = PAIRS
    while len(own) < wanted:
        order = random.permutation(n)
        both = [_marginals(explanation, model, background, x, owners, one) for one in (order, order[::-1])]
        own.append((both[0] + both[1]) / 2)
        if len(own) == PAIRS:
            spread = np.sqrt(np.var(own, axis=0, ddof=1).mean(axis=0))
            needed = float(np.where(spread > slack, (spread / np.maximum(stated, 1e-300)) ** 2, 0.0).max(initial=0.0))
            if not needed <= ERROR_BAND**2 * most:
                _refuse(
                    f"row {row} has standard errors of {stated.max():.3g}, which no sample of {most} pairs of orders leaves;"
                    f" one order has {spread.max():.3g}"
                )
            wanted = int(min(max(needed, PAIRS), most))
    spread = np.sqrt(np.var(own, axis=0, ddof=1).mean(axis=0))
    if not (stated <= ERROR_BAND * spread / np.sqrt(2) + slack).all():  # two pairs of orders are the fewest
        _refuse(f"row {row} has standard errors of {stated.max():.3g}, and one order alone {spread.max():.3g}")
    again = np.sqrt(np.var(own, axis=0, ddof=1).max(axis=0) / len(own))
    return np.mean(own, axis=0), Z_SCORE * np.hypot(np.minimum(errors.max(axis=0), again * np.sqrt(len(own))), again)


def _marginals(explanation: Any, model: Any, background: Array, x: Array, owners: Array, order: Array) -> Array:
    """Return what each player adds when players come in an order."""
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    inside = place[owners] < np.arange(len(order) + 1)[:, None]
    steps: Array = np.diff(_worth(explanation, model, background, x, inside), axis=0)
    return np.asarray(steps[place])


def _refuse(what: str) -> NoReturn:
    raise CertificateError(
        f"This explanation is not true of this model: {what}. It was changed, or made of another model."
    )

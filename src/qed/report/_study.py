"""The page of a study: how good, how sure, which columns matter, where it fails, what is proven; then the details."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qed.report._contributions import contributions_section
from qed.report._effects import effects_section
from qed.report._figures import predicted_against_actual
from qed.report._format_numbers import amount, interval, percent, said
from qed.report._parts import Figure, Section, Table, Verdict
from qed.report._report import Report
from qed.report._study_classes import class_by_class, class_densities, threshold_choice
from qed.report._study_details import columns, making, tried
from qed.report._study_figures import (
    Whisker,
    area_curves,
    confusion,
    histogram,
    reliability,
    whiskers,
)
from qed.study._judge import COST, TOP
from qed.study._weights import weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.certificates import Certificate
    from qed.study import Study
    from qed.study._judge import HeldOut

    Vector = NDArray[np.float64]


MOST_DOTS = 600
MOST_ROWS = 12
MOST_FAMILIES = 7
MOST_WORST = 5
MOST_CLASSES = 12  # of a confusion matrix whose names and numbers can be read
NEARLY_ZERO = 0.05  # of R²: the mean of some rows is not quite that of others


def study_report(
    study: Study, *, model_file: str = "model.qed", title: str = "", costs: tuple[float, float] | None = None
) -> Report:
    """Write the report of a study.

    Parameters
    ----------
    study : Study
        What `qed.study.fit` gave.
    model_file : str
        Name of the model file, for the commands on the page.
    title : str
        Heading; made from the target unless given.
    costs : (float, float), optional
        What a false alarm and a missed case cost, of two classes; both the same unless given.

    Returns
    -------
    Report
        Ready to be saved as one HTML file.
    """
    schema = study.schema
    target, fit_record = schema.target, schema.fit_record
    named = _words(target.name.removesuffix(f"_{target.unit}"))
    verb = "How well can" if target.task == "regression" else "Can"
    sections = (
        _answer(study),
        _how_good(study),
        _how_sure(study),
        threshold_choice(study, costs),
        class_by_class(study),
        _what_matters(study),
        contributions_section(study),
        effects_section(study),
        class_densities(study),
        _where_it_fails(study),
        _proof(study),
        tried(study),
        columns(study),
        making(study, model_file),
    )
    made = dt.datetime.now(dt.UTC).date().isoformat()
    footer = f"Written by qed {fit_record.versions.get('qed', '')} on {made}. One file, no scripts, nothing fetched."
    return Report(
        title or f"{verb} {named} be predicted?", _lead(study), tuple(s for s in sections if s is not None), footer
    )


def _is_constant(study: Study) -> bool:
    candidate = study.winner.candidate
    return candidate is not None and candidate.is_constant


def _words(name: str) -> str:
    return name.replace("_", " ").strip() or name


def _lead(study: Study) -> str:
    fit_record, target = study.schema.fit_record, study.schema.target
    used = len(study.schema.used)
    source = fit_record.source.replace("\\", "/").rsplit("/", 1)[-1]
    if _is_constant(study):
        answer = "Not at all" if target.task == "regression" else "No"
        from_what = f"{used} column{'s' if used != 1 else ''} and {fit_record.rows_used:,} rows of {source}"
        return (
            f"{answer}: on rows it had not seen, no model was better than a constant by more than chance allows. {from_what} tell"
            f" nothing about it that can be relied on, and the model is {fit_record.candidate}."
        )
    head = (
        f"{fit_record.candidate[0].upper() + fit_record.candidate[1:]}, from {used} column{'s' if used != 1 else ''} and"
        f" {fit_record.rows_fitted:,} rows of {source}. "
    )
    scores, base = study.held_out.scores, study.held_out.baseline
    if target.task == "regression" and "mean absolute error" in scores:
        mine, theirs = scores["mean absolute error"], base["mean absolute error"]
        return head + (
            f"On {fit_record.held_out:,} rows that were kept aside it is off by {amount(study, mine.value)} on average; always"
            f" guessing the mean is off by {amount(study, theirs.value)}."
        )
    if COST in scores:
        return head + (
            f"On {fit_record.held_out:,} rows that were kept aside its mistakes cost {said(scores[COST].value)} a row; always"
            f" naming the cheaper class costs {said(base[COST].value)}. It calls a row “{target.labels[1]}” from a probability of"
            f" {said(target.threshold)} on, as the costs ask, and not where that is the likelier class."
        )
    if "accuracy" in scores:
        mine, theirs = scores["accuracy"], base["accuracy"]
        return head + (
            f"On {fit_record.held_out:,} rows that were kept aside it is right in {percent(mine.value)}; always naming the most"
            f" frequent class is right in {percent(theirs.value)}."
        )
    return head


def _answer(study: Study) -> Section:
    """Give the answer in a few numbers, above everything else."""
    scores, base = study.held_out.scores, study.held_out.baseline
    facts: list[tuple[str, str]] = []
    if "mean absolute error" in scores:
        facts += [
            ("off by, on average", f"{amount(study, scores['mean absolute error'].value)}"),
            ("a constant guess is off by", f"{amount(study, base['mean absolute error'].value)}"),
            ("of the variance explained", percent(max(0.0, scores["R²"].value))),
        ]
        bound = study.held_out.bound
        if bound is not None and math.isfinite(bound.bound):
            facts.append(("holds for 90\u202f% of new rows, or more", f"±{amount(study, bound.bound)}"))
    elif "accuracy" in scores:
        if COST in scores:
            facts.append((f"cost a row; the cheaper class always: {said(base[COST].value)}", said(scores[COST].value)))
        if TOP in scores:
            facts.append(
                ("of the rare class are in the tenth with the highest probability", percent(scores[TOP].value))
            )
        facts.append(("predicted right", percent(scores["accuracy"].value)))
        if COST not in scores:
            facts.append(("a constant guess is right", percent(base["accuracy"].value)))
        if "ROC area" in scores:
            facts.append(("area under the ROC curve", f"{scores['ROC area'].value:.3f}"))
        facts.append((f"log loss; a constant: {said(base['log loss'].value)}", said(scores["log loss"].value)))
    return Section("", facts=tuple(facts))


def _how_good(study: Study) -> Section:
    scores, base = study.held_out.scores, study.held_out.baseline
    table = Table(
        ("", "model", "95 % interval", "constant"),
        tuple(
            (
                name,
                said(score.value),
                interval(score),
                _of_constant(name, base[name].value) if name in base and name != "ROC area" else "",
            )
            for name, score in scores.items()
        ),
    )
    figures = (*_first_figure(study), _score_figure(study))
    return Section("How good is it?", figures=figures, words=study.schema.fit_record.notes, table=table)


def _of_constant(name: str, value: float) -> str:
    return "0" if name == "R²" and abs(value) < NEARLY_ZERO else said(value)


def _score_figure(study: Study) -> Figure:
    """Draw the comparison: every family by its best candidate, and the constant."""
    is_number = study.schema.target.task == "regression"
    rows: list[Whisker] = []
    families: set[str] = set()
    latest = study.comparison.latest
    # errors on other rows do not compare: those that fell behind early stand in the table further down
    alike = [entry for entry in latest if (entry.n_rows, entry.n_folds) == (latest[0].n_rows, latest[0].n_folds)]
    for entry in [*alike, *study.comparison.baselines]:
        family = entry.candidate.family if entry.candidate else entry.title
        if family in families or (entry.candidate is not None and len(rows) >= MOST_FAMILIES):
            continue
        families.add(family)
        low, middle, high = (entry.loss + sign * 1.96 * entry.error for sign in (-1, 0, 1))
        if is_number:
            low, middle, high = (math.sqrt(max(0.0, one)) for one in (low, middle, high))
        rows.append((family, max(0.0, low), middle, high, 1 if entry.candidate is None else 0))
    unit = f", {study.schema.target.unit}" if is_number and study.schema.target.unit else ""
    label = f"root mean squared error{unit}" if is_number else "log loss"
    if not rows:
        return Figure("", "The comparison was interrupted before its first result.")
    names = ", ".join(name for name, *_ in rows)
    return Figure(
        whiskers(rows, label=f"{label} (less is better)", description=f"Dot-and-whisker plot of {label} for {names}"),
        "Every kind of model at its best, compared by cross-validation: each row was predicted by a model that had not seen it. In"
        " orange a constant. Lines are 95\u202f% intervals."
        + ("" if len(alike) == len(latest) else " Those that fell behind on fewer rows are not shown."),
    )


def _first_figure(study: Study) -> tuple[Figure, ...]:
    held = study.held_out
    target = study.schema.target
    if held.shares is None:
        some = np.random.default_rng(0).permutation(len(held.actual))[:MOST_DOTS]
        band = held.bound.bound if held.bound is not None and math.isfinite(held.bound.bound) else None
        label = _words(target.name.removesuffix(f"_{target.unit}")) + (f", {target.unit}" if target.unit else "")
        svg = predicted_against_actual(held.actual[some], held.predicted[some], band=band, label=label)
        shown = f"{len(some):,} of {len(held.actual):,}" if len(some) < len(held.actual) else f"{len(some):,}"
        words = f"Each dot is one of {shown} rows that were kept aside. On the diagonal a prediction is right."
        if band is not None:
            words += (
                f" The band is ±{amount(study, band)}: at least 90\u202f% of new rows fall into it, as explained below."
            )
        return (Figure(svg, words),)
    k = len(target.labels)
    counts = np.zeros((k, k), np.int64)
    np.add.at(counts, (held.actual.astype(int), held.predicted.astype(int)), 1)
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    drawn = sorted(np.argsort(-mistakes, kind="stable")[:MOST_CLASSES].tolist())
    svg = confusion(
        counts[np.ix_(drawn, drawn)],
        [str(target.labels[at]) for at in drawn],
        description=f"Grid of true against predicted classes for {len(held.actual)} rows",
    )
    few = f" Of {k} classes the {len(drawn)} with most mistakes are shown." if len(drawn) < k else ""
    return (Figure(svg, f"The {len(held.actual):,} rows that were kept aside: a line for each true class, a column for each answer."
                        f" Blue is right, orange is a mistake.{few}"),)  # fmt: skip


def _how_sure(study: Study) -> Section | None:
    held, target = study.held_out, study.schema.target
    if held.shares is None:
        residuals = held.actual - held.predicted
        unit = f", {target.unit}" if target.unit else ""
        figure = Figure(
            histogram(
                residuals, label=f"actual minus predicted{unit}", description="Histogram of the errors on held-out rows"
            ),
            "The errors on the rows kept aside. If they are not centred on the dashed line, the model is off to one side.",
        )
        figures = [figure, *_by_size(study)]
        return Section("How sure is it?", words=_bound_words(study), figures=tuple(figures))
    if target.task == "binary":
        return Section("How sure is it?", figures=tuple(_binary_figures(study)))
    sure = held.shares.max(axis=1)
    right = (held.actual == held.predicted).astype(np.float64)
    figures = _reliability(sure, right, "the predicted class")
    return Section("How sure is it?", figures=tuple(figures)) if figures else None


def _bound_words(study: Study) -> tuple[str, ...]:
    """Say what the held-out bound promises, what it rests on, and what it does not say."""
    bound, n = study.held_out.bound, len(study.held_out.actual)
    if bound is None or not math.isfinite(bound.bound):
        few = f"{n:,} rows were kept aside, too few to bound the error of new rows: for 90\u202f% of them, with confidence"
        return (few + " 95\u202f%, that takes at least 29.",)
    size = f"{amount(study, bound.bound)}"
    words = (
        f"What to expect of new rows: the prediction is off by at most {size} for 90\u202f% of them or more. This is a"
        f" bound, counted on the {n:,} rows kept aside: whatever the errors look like, it is too small for at most one table"
        " in twenty (confidence 95\u202f%). It holds for rows from the same source as these, not for another year or another place."
    )
    return (words,)


def _by_size(study: Study) -> list[Figure]:
    """Errors by the size of the prediction, in fifths."""
    held = study.held_out
    edges = np.unique(np.quantile(held.predicted, np.linspace(0, 1, 6)))
    if len(edges) < 4 or len(held.predicted) < 50:
        return []
    rows: list[Whisker] = []
    for low, high in itertools.pairwise(edges):
        inside = (held.predicted >= low) & ((held.predicted < high) | (high == edges[-1]))
        errors = np.abs(held.actual - held.predicted)[inside]
        if len(errors) < 5:
            continue
        mean, half = float(errors.mean()), 1.96 * float(errors.std(ddof=1)) / math.sqrt(len(errors))
        rows.append((f"{said(float(low))} to {said(float(high))}", max(0.0, mean - half), mean, mean + half, 0))
    unit = f", {study.schema.target.unit}" if study.schema.target.unit else ""
    svg = whiskers(rows, label=f"mean absolute error{unit}", description="Errors by size of the prediction", rule=held.overall,
                   rule_name="all rows")  # fmt: skip
    return [
        Figure(
            svg,
            "How far off it is, by what it predicts: fifths of the rows kept aside, from small predictions to large ones.",
        )
    ]


def _binary_figures(study: Study) -> list[Figure]:
    from qed.metrics import precision_recall_curve, roc_curve  # noqa: PLC0415

    held = study.held_out
    assert held.shares is not None  # noqa: S101  (a class has probabilities)
    truth, share = held.actual.astype(int), held.shares[:, 1]
    positive = str(study.schema.target.labels[1])
    found = []
    if 0 < truth.sum() < len(truth):
        wrong, right, _ = roc_curve(truth, share)
        area = study.held_out.scores.get("ROC area")
        words = "" if area is None else f" The area under the curve is {area.value:.3f} ({interval(area)})."
        found.append(
            Figure(
                area_curves(np.asarray(wrong), np.asarray(right), labels=("false alarms", f"“{positive}” found"), diagonal=True,
                            level=None, description=f"ROC curve of {positive}"),
                f"ROC: how many of “{positive}” are found for a given rate of false alarms. Guessing lies on the dashes." + words,
            )
        )  # fmt: skip
        precision, recall, _ = precision_recall_curve(truth, share)
        found.append(
            Figure(
                area_curves(np.asarray(recall)[::-1], np.asarray(precision)[::-1], labels=(f"“{positive}” found", "share right"),
                            diagonal=False, level=float(truth.mean()), description=f"Precision against recall of {positive}"),
                f"Precision: of the rows called “{positive}”, how many are. The dashed line is their share among all rows.",
            )
        )  # fmt: skip
    return [*found, *_reliability(share, truth.astype(np.float64), f"“{positive}”")]


def _reliability(said: Vector, happened: Vector, label: str) -> list[Figure]:
    edges = np.unique(np.quantile(said, np.linspace(0, 1, 9)))
    places = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, max(0, len(edges) - 2))
    bins = []
    for at in range(max(1, len(edges) - 1)):
        inside = places == at
        n = int(inside.sum())
        if n >= 5:
            share = float(happened[inside].mean())
            half = 1.96 * math.sqrt(max(share * (1 - share), 0.25 / n) / n)
            bins.append((float(said[inside].mean()), max(0.0, share - half), share, min(1.0, share + half), n))
    if len(bins) < 2:
        return []
    words = "Are its probabilities honest? Rows with similar probabilities, and how often it was so. On the dashed line they are."
    return [
        Figure(
            reliability(bins, label=label, description="Calibration: predicted probability against frequency"), words
        )
    ]


def _what_matters(study: Study) -> Section:
    held = study.held_out
    is_number = study.schema.target.task == "regression"
    base = float(np.mean((held.actual - held.predicted) ** 2)) if is_number else 1.0
    shown = held.importances[:MOST_ROWS]
    rows: list[Whisker] = [
        (one.name, one.lower / base, one.rise / base, one.upper / base, 0 if one.lower > 0 else 3) for one in shown
    ]
    label = "rise of the squared error, in multiples" if is_number else "rise of the log loss"
    strongest = shown[0].name if shown else ""
    left_out = len(study.schema.used) - len(held.importances)
    short = (
        f" There was no time to shuffle {left_out:,} further columns, which move least with the prediction."
        if left_out
        else ""
    )
    figures = []
    if rows:
        figures.append(
            Figure(
                whiskers(
                    rows, label=label, description=f"Importance of {len(rows)} columns, {strongest} first", rule=0.0
                ),
                "How much worse the predictions of held-out rows get when one column is shuffled. Columns whose line crosses zero"
                " may as well be left out. Columns that say the same can stand in for each other, and then each looks unimportant."
                + short,
            )
        )
    found = weights(study.model)
    if _is_constant(study):
        return Section("Which columns matter?", words=("No column does: the model says the same of every row.",))
    if not found:
        told = " A column has no single coefficient in this model: the next section draws how its prediction moves."
        if figures and study.held_out.effects:
            figures = [replace(figures[0], caption=figures[0].caption + told)]
        return Section("Which columns matter?", figures=tuple(figures))
    labels = [str(one) for one in study.schema.target.labels]
    if len(found[0][1]) == 1:
        top = [
            (name, values[0], values[0], values[0], 0 if values[0] > 0 else 1)
            for name, values in found[:MOST_ROWS]
            if values[0]
        ]
        if top:
            bars = [(name, min(0.0, value), value, max(0.0, value), group) for name, value, _, _, group in top]
            unit = f", {study.schema.target.unit}" if study.schema.target.unit else ""
            meaning = f"on the prediction{unit}" if is_number else f"on the log-odds of “{labels[1]}”"
            if study.model.pipeline.steps_[-1][1].__class__.__name__ == "PoissonRegressor":
                meaning = "on the logarithm of the prediction"
            figures.append(
                Figure(
                    whiskers(bars, label=f"effect {meaning}", description="Coefficients of the model", rule=0.0),
                    "What the model adds for each: of a number for one standard deviation more, of a category for belonging to it."
                    " Together with the others, not by itself: this is no statement about causes.",
                )
            )
        return Section("Which columns matter?", figures=tuple(figures))
    table = Table(
        ("weight", *labels),
        tuple(
            (name, *[f"{value:+.2f}".replace("-", "\u2212") for value in values]) for name, values in found[:MOST_ROWS]
        ),
    )
    return Section("Which columns matter?", figures=tuple(figures), table=table)


def _where_it_fails(study: Study) -> Section | None:
    held = study.held_out
    if not held.groups:
        return None
    is_number = study.schema.target.task == "regression"
    unit = f", {study.schema.target.unit}" if is_number and study.schema.target.unit else ""
    rows: list[Whisker] = [
        (
            f"{one.column}\n{one.label}",
            one.lower,
            one.loss,
            one.upper,
            1 if one.lower > held.overall else 3,
        )
        for one in held.groups
    ]
    label = f"mean absolute error{unit}" if is_number else "share of mistakes"
    figure = Figure(
        whiskers(
            rows,
            label=label,
            description="Groups of rows with the largest errors",
            rule=held.overall,
            rule_name="all rows",
        ),
        "The groups of held-out rows on which it errs most. Orange where the whole 95\u202f% interval lies beyond the dashed line.",
    )
    table = _largest_errors(study) if is_number else _most_surprising(study)
    return Section("Where does it fail?", figures=(figure,), table=table)


def _row_name(held: HeldOut, at: int) -> str:
    return "a row" if held.rows is None else f"row {held.rows[at] + 1:,}"


def _largest_errors(study: Study) -> Table:
    held = study.held_out
    worst = np.argsort(-np.abs(held.actual - held.predicted))[:MOST_WORST].tolist()
    return Table(
        ("largest errors", "actual", "predicted", "error"),
        tuple(
            (
                _row_name(held, at),
                said(float(held.actual[at])),
                said(float(held.predicted[at])),
                said(float(held.actual[at] - held.predicted[at])),
            )
            for at in worst
        ),
    )


def _most_surprising(study: Study) -> Table | None:
    """List the rows whose true class was given the least probability."""
    held, labels = study.held_out, study.schema.target.labels
    if held.shares is None:
        return None
    truth = held.actual.astype(int)
    share = held.shares[np.arange(len(truth)), truth]
    worst = [at for at in np.argsort(share, kind="stable")[:MOST_WORST].tolist() if held.predicted[at] != truth[at]]
    if not worst:
        return None
    return Table(
        ("surest mistakes", "actual", "predicted", "P(actual)"),
        tuple(
            (
                _row_name(held, at),
                str(labels[truth[at]]),
                str(labels[int(held.predicted[at])]),
                percent(float(share[at])),
            )
            for at in worst
        ),
    )


def _proof(study: Study) -> Section:
    proof = study.model.proof
    words = [
        _kind_of_proof(study),
        *(
            []
            if study.winner.candidate and study.winner.candidate.parts
            else [" ".join([proof.statement, *_share_to_gain(proof)])]
        ),
    ]
    verdicts: tuple[Verdict, ...] = ()
    if study.checked is not None:
        title = "Checked by independent code" if study.checked.is_accepted else "Rejected by independent code"
        verdicts = (Verdict(study.checked.is_accepted, title, study.checked.words),)
    else:
        words.append("Checking it takes longer than was left of the time. Run: qed verify.")
    words.append(
        "This is about the fit to these rows. It does not prove that new rows will be like them: that is what the rows kept aside"
        " are for."
    )
    facts = _member_proofs(study) or tuple(proof.numbers().items())
    return Section("What is proven?", words=tuple(words), verdicts=verdicts, facts=facts)


def _member_proofs(study: Study) -> tuple[tuple[str, str], ...]:
    """Say of each member of an average what is proven about it."""
    candidate = study.winner.candidate
    if candidate is None or not candidate.parts:
        return ()
    members = study.model.pipeline.steps_[-1][1].estimators_
    return tuple(
        (f"{100 * weight:.0f} % {part.title}", member.steps_[-1][1].certificate_.statement)
        for (part, weight), member in zip(candidate.parts, members, strict=True)
    )


def _kind_of_proof(study: Study) -> str:
    """Say what can be proven about a model of this kind."""
    candidate = study.winner.candidate
    if candidate is None or candidate.is_constant:
        return "A constant is no choice between coefficients, and there is little to prove about it: that it is what it says."
    if candidate.parts:
        return "The model is a weighted average, and each of its members has its own certificate, below."
    if candidate.is_of_trees:
        return (
            "Trees are grown greedily: nobody can prove that no other trees fit better. What is proven is that every split and"
            " every leaf is what these rows give under the rules of the method:"
        )
    return (
        "The model is the answer to a question with one best answer: which coefficients have the least penalised error on these"
        " rows? That no others do noticeably better is not an impression but a theorem with a number in it:"
    )


def _share_to_gain(proof: Certificate) -> list[str]:
    """Put the gap into words: which part of the error any other coefficients could take away."""
    gap, objective = getattr(proof, "gap", None), getattr(proof, "objective", None)
    if gap is None or not objective or not 0 < gap < objective or not math.isinf(getattr(proof, "radius", math.inf)):
        return []
    power = math.floor(math.log10(objective / gap))
    parts = said(10.0**power) if power < 15 else f"10^{power}"
    return [f"So of the error that is left, not one part in {parts} could be taken away by other coefficients."]

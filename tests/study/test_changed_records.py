"""What stands beside the pipeline in a model file, changed: where new rows are answered otherwise, ``verify`` rejects it."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import qed
from qed import study
from qed.core import QedError
from qed.study._schema import words_array

N = 120
# Choices of the user, whom nothing in the rows contradicts: they are shown, and no claim is made about them.
CHOSEN = {"target.threshold"}


def rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.array(["oak", "ash", "elm"])[rng.integers(3, size=n)]
    height = rng.normal(size=n) + (kind == "oak")
    day = [f"{1 + i % 9:02}/{1 + i % 12:02}/2023" for i in rng.integers(300, size=n)]
    text = [" ".join(np.array(["tall", "wide", "green", "old"])[rng.integers(4, size=6)]) for _ in range(n)]
    return {
        "height": height.round(3).tolist(),
        "age": [str(one) for one in rng.integers(1, 90, size=n)],
        "kind": kind.tolist(),
        "leaf": np.array(["yes", "no"])[rng.integers(2, size=n)].tolist(),
        "day": day,
        "note": text,
        "mass": (3 * height + rng.normal(size=n) / 5).round(3).tolist(),
        "sick": np.array(["no", "yes"])[(height + rng.normal(size=n) > 0).astype(int)].tolist(),
    }


def fresh():
    new = rows(30, 5)
    new["height"][0], new["height"][1] = -30.0, 30.0
    new["age"][2], new["day"][3], new["kind"][4] = "1,5", "13/02/2023", "yew"
    return new


MAKERS = {
    "regression": lambda: study.fit(rows(), "mass", budget=600, prefer="simple"),
    "binary": lambda: study.fit(rows(), "sick", budget=600, prefer="simple"),
    "multiclass": lambda: study.fit(rows(), "kind", budget=600, prefer="simple"),
    "clusters": lambda: study.cluster(rows(), method="kmeans", budget=600),
    "embedding": lambda: study.embed(rows(), method="pca", budget=600),
    "forest": lambda: study.detect(rows(), method="forest", rate=0.05, budget=600),
    "neighbors": lambda: study.detect(rows(), method="neighbors", rate=0.05, budget=600),
}


def others(value):  # noqa: PLR0911  one line for each kind of value
    """Values that may stand in a field instead."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        forms = ["", "day first", "month first", "decimal comma", "decimal point", "%"]
        return [
            *forms,
            *study._schema.KINDS,
            *study._schema.TASKS,
            "word",
            "truth",
            "number",
            "whole",
            "other",
            value + "x",
        ]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0), 0]
    if isinstance(value, float):
        return [math.nan, 0.0, 0.5, 0.9, value + 1, value - 1, 2 * value, -5.0, 5.0]
    if isinstance(value, np.ndarray) and value.dtype == object:
        words = value.tolist()
        turned = (words[::-1], words[1:] + words[:1])
        return [words_array(one) for one in (*turned, [*words[:-1], "yew"], [*words, "yew"], words[:-1], [])]
    if isinstance(value, np.ndarray):
        return [value * 0.5, value + 1.0, value[:-1], np.zeros(0), np.sort(-value)]
    if isinstance(value, tuple):
        return [value[::-1], value[:-1], (*value[1:2], *value[:1], *value[2:])]
    return []


def changed(schema, where=""):
    """Yield the schema with one field changed, wherever it stands."""
    for field in fields(schema):
        value, place = getattr(schema, field.name), f"{where}{field.name}"
        for other in others(value):
            yield place, lambda other=other, name=field.name: replace(schema, **{name: other})
        if is_dataclass(value):
            for inner, make in changed(value, f"{place}."):
                yield inner, lambda make=make, name=field.name: replace(schema, **{name: make()})
        elif isinstance(value, tuple):
            for at, one in enumerate(value):
                if is_dataclass(one):
                    for inner, make in changed(one, f"{place}[{at}]."):
                        yield (
                            inner,
                            lambda make=make, name=field.name, at=at, value=value: replace(
                                schema, **{name: (*value[:at], make(), *value[at + 1 :])}
                            ),
                        )


def answers(model):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(model, study.UnsupervisedModel):
                return {name: np.asarray(one).tolist() for name, one in model.outputs(fresh()).items()}
            said = {"predict": np.asarray(model.predict(fresh())).tolist()}
            return said | ({"proba": model.predict_proba(fresh()).tolist()} if len(model.classes_) else {})
    except QedError as error:
        return type(error).__name__


@pytest.mark.parametrize("kind", list(MAKERS))
def test_whatever_changes_answers_is_rejected(kind):
    model = MAKERS[kind]().model
    assert model.verify(rows()).holds
    own, tried, accepted = answers(model), 0, []
    for place, make in changed(model.schema):
        try:
            other = type(model)(model.pipeline, make())
            other.schema.check()
            given = getattr(other.schema, "target", None) or other.schema.output
            for one in (*other.schema.columns, given, other.schema.fit_record):
                one.check()
            other.schema.require_fit(model.pipeline, "m.qed")
        except QedError:
            continue  # no file can say so
        said = answers(other)
        if said == own or place in CHOSEN:
            continue
        tried += 1
        try:
            other.verify(rows())
        except qed.CertificateError:
            continue
        except qed.InvalidData:
            continue  # the rows have no such column
        accepted.append(place)
    assert accepted == []
    assert tried >= 3


def test_a_model_of_other_rows_is_still_rejected():
    model = MAKERS["regression"]().model
    other = rows()
    other["mass"][3] += 0.5
    with pytest.raises(qed.CertificateError):
        model.verify(other)


@pytest.mark.parametrize("move", ["threshold", "scores"])
def test_one_far_row_hides_no_change_of_the_others(move):
    """Scores of a Gaussian grow with the squared distance: a tolerance by the largest of them would accept anything."""
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    table["a"][3] = 1e7
    model = study.detect(table, method="envelope", rate=0.05, budget=600).model
    assert model.verify(table).holds
    output = model.schema.output
    changed = {"threshold": output.threshold + 1.0} if move == "threshold" else {"scores": output.scores + 1.0}
    model.schema = replace(model.schema, output=replace(output, **changed))
    with pytest.raises(qed.CertificateError, match="Fit again"):
        model.verify(table)

"""The story told by ``make demo``: fit real data, read the certificate, change the model, see it refused.

Run it with ``python -m qed.report.demo [folder]``; the page goes to ``demo/report.html`` below the current folder.
"""

from __future__ import annotations

import copy
import datetime as dt
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import qed
from qed.datasets import load_penguins
from qed.linear_model import LinearRegression, RidgeCV
from qed.report._parts import Verdict
from qed.report._regression import regression_report
from qed.report._terminal import scatter, whiskers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

SEED = 0
HELD_OUT = 100
TAMPER = 1.01
SPECIES = ("Adelie", "Chinstrap", "Gentoo")
COLUMNS = ("bill length", "bill depth", "flipper length", "male", "Chinstrap", "Gentoo")
LEAD = (
    "A linear regression of body mass on bill, flipper, sex and species, fitted to 233 birds of Palmer Station, "
    "Antarctica, and tried on 100 others. That no other coefficients fit better is proven below, and was checked by "
    "code that shares nothing with the fit."
)
ORIGIN = "Data: Gorman, Williams and Fraser (2014), Palmer Station LTER, gathered as palmerpenguins, CC0."


def say(*words: object) -> None:
    """Print at once, so that the story is told as it happens."""
    print(*words, sep="\n", flush=True)  # noqa: T201  (talking is what a demo does)


def heading(text: str) -> None:
    """Print a heading."""
    say("", f"── {text} " + "─" * max(3, 74 - len(text)))


def main(folder: str = "demo") -> None:
    """Tell the story and write the page."""
    penguins = load_penguins()
    order = np.random.default_rng(SEED).permutation(len(penguins.target))
    held, kept = order[:HELD_OUT], order[HELD_OUT:]
    X, y = penguins.data[kept], penguins.target[kept]
    X_held, y_held = penguins.data[held], penguins.target[held]
    say(
        f"qed {qed.__version__}: machine learning that shows its proof.",
        f"{len(order)} penguins of Palmer Station, Antarctica. How heavy is one, given bill, flipper, sex and species?",
        f"{len(y)} birds are for learning; {len(y_held)} are kept aside until the end.",
    )
    model = fit("least squares", LinearRegression(), X, y)
    show_predictions(model, X_held, y_held)
    show_coefficients(model, X)
    accepted = show_certificate(model, X, y)
    show_held_out(model, X_held, y_held)
    show_ridge(X, y, X_held, y_held)
    refused = show_tampering(model, X, y)
    groups = [SPECIES[int(row[4] + 2 * row[5])] for row in X_held]
    report = regression_report(
        model,
        X,
        y,
        X_held,
        y_held,
        names=COLUMNS,
        target="body mass, g",
        title="How heavy is a penguin?",
        lead=LEAD,
        groups=groups,
        verdicts=(accepted, refused),
        footer=f"Written by qed {qed.__version__} on {dt.datetime.now(dt.UTC).date().isoformat()}. {ORIGIN}",
    )
    path = report.save(Path(folder) / "report.html")
    heading("a page to show")
    say(f"  {path}", "  One file, no network needed. Open it in a browser.")


def fit(name: str, model: Any, X: Vector, y: Vector) -> Any:
    """Fit with progress shown, and say how long it took."""
    heading(f"fitting: {name}")
    begin = time.perf_counter()
    with qed.listen(lambda event: say(f"  {event}") if event.kind == "step" else None):
        model.fit(X, y)
    spent = 1e3 * (time.perf_counter() - begin)
    say(f"  {type(model).__name__} learnt from {len(y)} rows in {spent:.1f} ms, certificate included.")
    return model


def show_predictions(model: Any, X: Vector, y: Vector) -> None:
    """Draw predictions for the birds kept aside."""
    heading("actual mass (g) against predicted mass, birds the fit never saw")
    say(scatter(model.predict(X), y, label="predicted; on the dotted line a prediction is exact"))


def show_coefficients(model: Any, X: Vector) -> None:
    """Print coefficients with standard errors, and draw them."""
    heading("what each column adds, in grams, with 95 % intervals")
    table = model.coefficient_table(level=0.95)
    say(f"  {'column':<16}{'coefficient':>12}{'std. error':>12}{'95 % from':>12}{'to':>12}")
    for row, name in enumerate((*COLUMNS, "intercept")):
        numbers = (table.estimate[row], table.standard_error[row], table.lower[row], table.upper[row])
        say(f"  {name:<16}" + "".join(f"{float(value):>12.2f}" for value in numbers))
    spread = np.array([float(np.std(column)) if column.max() > 1 else 1.0 for column in X.T])
    say("", "  for one standard deviation, or from no to yes:")
    say(whiskers(COLUMNS, *(spread * end[: len(spread)] for end in (table.estimate, table.lower, table.upper))))


def show_certificate(model: Any, X: Vector, y: Vector) -> Verdict:
    """Print the certificate and let the independent checker judge it."""
    heading("the certificate")
    say(str(model.certificate_))
    qed.verify(model, X, y)
    words = "The checker recomputed the claim from the data, by other code, and agrees."
    say("", f"  ✓ qed.verify(model, X, y): {words}")
    return Verdict(is_accepted=True, title="The model as it was fitted: accepted", words=words)


def show_held_out(model: Any, X: Vector, y: Vector) -> None:
    """Print the bound on errors for new birds."""
    heading("and for birds not yet seen")
    say(str(model.certify(X, y, delta=0.05)))


def show_ridge(X: Vector, y: Vector, X_held: Vector, y_held: Vector) -> None:
    """Fit a second model: ridge, its strength chosen by exact leave-one-out."""
    strengths = np.logspace(-3, 3, 13)
    ridge = fit("ridge, strength chosen by exact leave-one-out", RidgeCV(alphas=strengths), X, y)
    chosen = f"strength chosen: {float(ridge.alpha_):.3g}, from {len(strengths)}"
    say(f"  {chosen}; R² on the birds kept aside: {ridge.score(X_held, y_held):.3f}")
    qed.verify(ridge, X, y)
    say("  ✓ qed.verify agrees with this one too.")


def show_tampering(model: Any, X: Vector, y: Vector) -> Verdict:
    """Change one coefficient by one per cent and let the checker refuse the result."""
    heading("what if somebody changes the model?")
    tampered = copy.deepcopy(model)
    coef = np.array(model.coef_)
    coef[2] *= TAMPER
    tampered.coef_ = coef
    story = f"The flipper coefficient was {model.coef_[2]:.4f}; somebody makes it {coef[2]:.4f}, one per cent more."
    say(f"  {story}")
    try:
        qed.verify(tampered, X, y)
    except qed.CertificateError as refusal:
        say(
            *textwrap.wrap(
                f"✗ qed.verify(tampered, X, y): {refusal}", 100, initial_indent="  ", subsequent_indent="    "
            )
        )
        return Verdict(
            is_accepted=False, title="One coefficient, one per cent more: refused", words=f"{story}\n{refusal}"
        )
    raise SystemExit("qed.verify accepted a model that was changed. That must never happen: please report it.")


if __name__ == "__main__":
    main(*sys.argv[1:2])

"""Draws docs/_static/verify.svg, the README's figure: how large a change of a model `qed.verify` notices.

Every mark is one call of `qed.verify` on a least-squares fit of the penguins, one coefficient of which was changed.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np

import qed
from qed.datasets import load_penguins
from qed.linear_model import LinearRegression
from qed.report._svg import WIDTH, Plot

ROOT = Path(__file__).resolve().parents[1]
FIGURE = ROOT / "docs" / "_static" / "verify.svg"
COLUMN = 2  # flipper length
CHANGES = np.logspace(-14, -1, 27)
STYLE = """<style>
text { font: 14px ui-sans-serif, system-ui, Arial, sans-serif; fill: #57534e; }
.paper { fill: #ffffff; } .grid { stroke: #eeebe5; }
.rule { stroke: #8a847a; stroke-width: 1.4; stroke-dasharray: 5 4; }
.good { fill: #1f8a70; } .bad { stroke: #c0392b; stroke-width: 2.4; } .strong { fill: #1d1c1a; font-weight: 600; }
.goodtext { fill: #1f7a4d; font-weight: 600; } .badtext { fill: #b3312c; font-weight: 600; }
@media (prefers-color-scheme: dark) {
.paper { fill: #15171a; } text { fill: #a8a29a; } .grid { stroke: #2a2e33; } .strong { fill: #ece9e4; }
.good { fill: #5fcfae; } .bad { stroke: #ff8a82; } .goodtext { fill: #6fd3a0; } .badtext { fill: #ff938c; } }
</style>"""
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def measure() -> tuple[np.ndarray, np.ndarray, float]:
    """Return the rise of the objective and the verdict for every change, and the certified gap."""
    X, y = load_penguins(return_X_y=True)
    model = LinearRegression().fit(X, y)
    best = np.sum((y - model.predict(X)) ** 2)
    centred = X[:, COLUMN] - X[:, COLUMN].mean()
    rises, verdicts = [], []
    for change in CHANGES:
        step = change * float(model.coef_[COLUMN])
        tampered = copy.deepcopy(model)
        tampered.coef_ = model.coef_.copy()
        tampered.coef_[COLUMN] += step
        tampered.intercept_ = model.intercept_ - step * X[:, COLUMN].mean()
        # residuals are orthogonal to the columns, so the rise is this square and nothing else
        rises.append(step**2 * (centred @ centred) / best)
        try:
            qed.verify(tampered, X, y)
        except qed.CertificateError:
            verdicts.append(False)
        else:
            verdicts.append(True)
    return np.array(rises), np.array(verdicts), model.certificate_.gap / best


def power(exponent: int) -> str:
    """Write a power of ten."""
    return "10" + str(exponent).translate(POWERS)


def draw(rises: np.ndarray, verdicts: np.ndarray, gap: float) -> str:
    """Return the drawing."""
    x, y = np.log10(CHANGES), np.log10(rises)
    plot = Plot((x[0] - 0.5, x[-1] + 0.5), (y[0] - 1.5, y[-1] + 1.5), left=66, top=44, height=360)
    for exponent in range(-14, 0, 3):
        plot.line((exponent, plot.y[0]), (exponent, plot.y[1]), "grid")
        plot.text(plot.at(exponent, 0)[0], plot.height - plot.bottom + 20, power(exponent))
    for exponent in range(-32, 1, 8):
        if plot.y[0] < exponent < plot.y[1]:
            plot.line((plot.x[0], exponent), (plot.x[1], exponent), "grid")
            plot.text(plot.left - 8, plot.at(0, exponent)[1] + 5, power(exponent), anchor="end")
    level = float(np.log10(gap))
    plot.line((plot.x[0], level), (plot.x[1], level), "rule")
    plot.text(WIDTH - 20, plot.at(0, level)[1] + 20, "the certified gap", anchor="end")
    for across, up, is_accepted in zip(x, y, verdicts, strict=True):
        a, b = plot.at(float(across), float(up))
        if is_accepted:
            plot.parts.append(f'<circle class="good" cx="{a}" cy="{b}" r="4.6"/>')
        else:
            plot.parts.append(f'<path class="bad" d="M{a - 4} {b - 4}l8 8m0 -8l-8 8"/>')
    middle = plot.at(float(x[~verdicts].mean()), float(y[~verdicts].mean()))
    plot.text(middle[0] - 18, middle[1] - 8, "✗ rejected", anchor="end", style="badtext")
    low = plot.at(float(x[verdicts].mean()), float(y[verdicts].mean()))
    plot.text(low[0] + 16, low[1] + 14, "✓ accepted", anchor="start", style="goodtext")
    plot.text(WIDTH / 2, 24, "One coefficient is changed; does qed.verify notice?", style="strong")
    plot.text((plot.left + WIDTH) / 2, plot.height - 8, "relative change of the coefficient")
    place = f'transform="translate(14 {plot.height / 2}) rotate(-90)"'
    plot.parts.append(f'<text {place} text-anchor="middle">rise of the objective</text>')
    smallest = CHANGES[~verdicts].min()
    svg = plot.svg(f"Changes of a coefficient from one part in ten are rejected, down to {smallest:.0e}")
    head, _, body = svg.partition("\n")
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="620" ')
    return f'{head}\n{STYLE}\n<rect class="paper" width="{WIDTH}" height="{plot.height}" rx="8"/>\n{body}\n'


def main() -> int:
    """Measure and draw."""
    rises, verdicts, gap = measure()
    FIGURE.write_text(draw(rises, verdicts, gap), encoding="utf-8")
    print(
        f"{FIGURE.relative_to(ROOT)}: {verdicts.sum()} accepted, {(~verdicts).sum()} rejected, gap {gap:.1e} relative"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

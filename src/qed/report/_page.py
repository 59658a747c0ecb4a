"""The page: one HTML document with its style inside, and nothing to fetch."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from qed.core._escape import escaped

if TYPE_CHECKING:
    from qed.report._parts import Figure, Section, Table, Verdict

SHORT = 0.75  # of the height of the drawing beside it: lower ones leave room for a table

STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #1d1c1a; --quiet: #66625c; --edge: #e4e0d9; --grid: #eeebe5;
  --a: #2f6db3; --b: #c9641b; --c: #1f8a70; --d: #8a4fa3; --e: #a98300; --f: #c23b6f; --g: #4c8a24; --h: #5d6b78;
  --band: #2f6db31f; --rule: #9a948a;
  --good: #1f7a4d; --good-soft: #e7f4ec; --bad: #b3312c; --bad-soft: #fbeae8; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15171a; --card: #1d2024; --ink: #ece9e4; --quiet: #a29d95; --edge: #32363c; --grid: #2a2e33;
  --a: #7db2f0; --b: #f0a060; --c: #5fcfae; --d: #cf9be6; --e: #e0c04a; --f: #f285ad; --g: #9ad36a; --h: #a5b3c0;
  --band: #7db2f026; --rule: #7c7a76;
  --good: #6fd3a0; --good-soft: #17291f; --bad: #ff938c; --bad-soft: #331b1a; } }
* { box-sizing: border-box; }
body { margin: 0; -webkit-text-size-adjust: 100%; background: var(--paper); color: var(--ink);
  font: 17px/1.6 ui-serif, Georgia, "Times New Roman", serif; }
main { max-width: 1120px; margin: 0 auto; padding: 48px 24px 32px; }
h1 { font-size: clamp(28px, 5vw, 42px); line-height: 1.15; margin: 0 0 12px; letter-spacing: -0.01em; }
h2 { font-size: 23px; line-height: 1.3; margin: 0 0 12px; }
p { margin: 0 0 12px; max-width: 68ch; }
.lead { font-size: 20px; color: var(--quiet); margin-bottom: 28px; }
section { margin: 0 0 44px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 20px;
  margin: 0 0 20px; align-items: stretch; }
.figures > div > .wide > table { margin-top: 0; }
.figures > div > figure + .wide { margin-top: 20px; }
.alone { display: grid; grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); gap: 12px 36px; align-items: center; }
.alone h3 { grid-column: 1 / -1; }
.three { grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); }
figure { margin: 0; padding: 16px 16px 12px; background: var(--card); border: 1px solid var(--edge);
  border-radius: 10px; }
figcaption { color: var(--quiet); font-size: 15.5px; line-height: 1.45; margin-top: 8px; }
h3 { font: 600 16px/1.4 ui-sans-serif, system-ui, "Helvetica Neue", Arial, sans-serif; margin: 0 0 6px; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; overflow: visible;
  font-family: ui-sans-serif, system-ui, "Helvetica Neue", Arial, sans-serif; }
svg.small { max-width: 430px; margin: 0 auto; }
svg text { fill: var(--ink); font-size: 13.5px; }
svg .tick { fill: var(--quiet); font-size: 13px; }
svg .label { fill: var(--quiet); font-size: 13.5px; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .rule { stroke: var(--rule); stroke-width: 1.3; stroke-dasharray: 5 4; }
svg .band { fill: var(--band); }
svg .dot { stroke: var(--card); stroke-width: 0.8; }
svg .group0 { fill: var(--a); } svg .group1 { fill: var(--b); }
svg .group2 { fill: var(--c); } svg .group3 { fill: var(--d); } svg .group4 { fill: var(--e); }
svg .group5 { fill: var(--f); } svg .group6 { fill: var(--g); } svg .group7 { fill: var(--h); }
svg .whisker { stroke: var(--a); stroke-width: 2.6; stroke-linecap: round; }
svg .weak { stroke: var(--rule); }
svg .fill0 { fill: var(--a); } svg .fill1 { fill: var(--b); } svg .fill3 { fill: var(--rule); }
svg .shade0 { fill: var(--a); } svg .shade4 { fill: var(--b); } svg .shade1 { fill: color-mix(in srgb, var(--a) 70%, var(--b)); }
svg .shade2 { fill: color-mix(in srgb, var(--a), var(--b)); } svg .shade3 { fill: color-mix(in srgb, var(--a) 30%, var(--b)); }
svg .tone1 { stroke: var(--b); } svg .tone3 { stroke: var(--rule); }
svg .thin { stroke-width: 1.6; opacity: 0.65; }
svg .curve { fill: none; stroke: var(--a); stroke-width: 2.4; stroke-linejoin: round; } svg .faint { opacity: 0.4; }
svg .line1 { stroke: var(--b); } svg .line2 { stroke: var(--c); } svg .line3 { stroke: var(--d); } svg .line4 { stroke: var(--e); }
svg .line5 { stroke: var(--f); } svg .line6 { stroke: var(--g); } svg .line7 { stroke: var(--h); }
svg .bar { fill: var(--a); opacity: 0.85; } svg .hit { fill: var(--a); } svg .miss { fill: var(--b); }
svg .strong { fill: var(--card); font-weight: 600; }
@media (min-width: 760px) { .three svg text, .three svg .tick, .three svg .label { font-size: 14.5px; } }
.verdicts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); gap: 20px;
  margin: 16px 0; }
.verdict { padding: 16px 20px; border-radius: 10px; border-left: 5px solid; overflow-wrap: anywhere; }
.verdict.good { background: var(--good-soft); border-color: var(--good); }
.verdict.bad { background: var(--bad-soft); border-color: var(--bad); }
.verdict b { display: block; font-size: 18px; } .good b { color: var(--good); } .bad b { color: var(--bad); }
.verdict p { margin: 6px 0 0; font-size: 16px; white-space: pre-line; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 14px 24px; margin: 16px 0; }
dt { color: var(--quiet); font-size: 14.5px; } dd { margin: 0; font-size: 20px; font-variant-numeric: tabular-nums; }
dl.tiles { gap: 14px; margin: 4px 0 36px; } dl.tiles div { background: var(--card); border: 1px solid var(--edge);
  border-radius: 10px; padding: 14px 18px 12px; display: flex; flex-direction: column-reverse;
  justify-content: flex-end; }
dl.tiles dd { font: 600 30px/1.25 ui-sans-serif, system-ui, "Helvetica Neue", Arial, sans-serif; letter-spacing: -0.01em; }
dl.tiles dt { font-size: 15px; line-height: 1.35; }
dl.long { display: block; max-width: 68ch; } dl.long div { display: flex; flex-wrap: wrap; gap: 0 16px;
  padding: 6px 0; border-bottom: 1px solid var(--edge); } dl.long dt { flex: 0 0 150px; line-height: 1.75; }
dl.long dd { flex: 1 1 260px; font-size: 17px; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font: 15px/1.5 ui-sans-serif, system-ui, Arial, sans-serif;
  font-variant-numeric: tabular-nums; margin: 12px 0; }
th, td { padding: 7px 18px 7px 0; border-bottom: 1px solid var(--edge); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .words th, .words td { text-align: left; }
td:first-child { white-space: normal; }
.words td { white-space: normal; }
.words td:nth-child(4), .words td:last-child { min-width: 11em; } th { color: var(--quiet); font-weight: 600; }
footer { color: var(--quiet); font-size: 14.5px; border-top: 1px solid var(--edge); padding-top: 16px; }
footer p { max-width: none; }
@media (max-width: 760px) { .alone { grid-template-columns: 1fr; } }
@media (max-width: 600px) { main { padding: 28px 16px; } figure { padding: 10px 8px; } body { font-size: 16px; }
  .lead { font-size: 18px; } dl.tiles { grid-template-columns: 1fr 1fr; gap: 10px; } dl.tiles dd { font-size: 24px; }
  table { font-size: 14px; width: 100%; } th, td { padding: 7px 8px 7px 0; }
  td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 8em; } th { white-space: normal; }
  .minor { display: none; }
  .words thead { display: none; } .words, .words tbody, .words tr, .words td { display: block; }
  .words tr { padding: 8px 0; border-bottom: 1px solid var(--edge); }
  .words td { border: 0; padding: 1px 0; min-width: 0 !important; }
  .words td:empty { display: none; } .words td:first-child { font-weight: 600; }
  .words td:not(:first-child)::before { content: attr(data-name) ": "; color: var(--quiet); } }
@media print { @page { margin: 16mm 14mm; } body { font-size: 11pt; background: none; } main { padding: 0; max-width: none; }
  :root { --paper: #fff; --card: #fff; } h2, h3 { break-after: avoid; } figure, .verdict, tr, dl div { break-inside: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } .three { grid-template-columns: 1fr 1fr 1fr; } section { margin-bottom: 24px; }
  .wide { overflow: visible; } table { font-size: 9.5pt; } th, td, .words td { white-space: normal; overflow-wrap: break-word; }
  dl.tiles dd { font-size: 16pt; } figcaption, dl.tiles dt { font-size: 9.5pt; } figure { padding: 8px; } }
"""


def page(title: str, lead: str, sections: tuple[Section, ...], footer: str = "") -> str:
    """Return the whole document."""
    body = "\n".join(_section(section) for section in sections)
    end = f"<footer><p>{escaped(footer)}</p></footer>" if footer else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escaped(title)}</h1>
<p class="lead">{escaped(lead)}</p>
{body}
{end}
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    title = f"<h2>{escaped(section.title)}</h2>\n" if section.title else ""
    is_filled = len(section.figures) == 2 and _height(section.figures[0]) < SHORT * _height(section.figures[1])
    below = _table(section.table) if is_filled and section.table is not None else ""
    rest = "\n".join(_below_figures(replace(section, table=None) if below else section))
    # the drawings were made by this package, which escapes every word in them
    is_alone = len(section.figures) == 1 and not rest
    cards = "\n".join(_figure(figure, is_alone=is_alone) for figure in section.figures)
    if is_alone:  # its caption stands beside it
        cards += "\n"
    elif below:  # the table fills what a low drawing leaves empty beside a high one
        first, second = (_figure(figure, is_alone=False) for figure in section.figures)
        cards = f"<div>{first}{below}</div>\n{second}"
    elif len(section.figures) == 1:  # words and numbers beside a single drawing, so that no half is empty
        cards, rest = f"{cards}\n<div>{rest}</div>", ""
    if cards and not is_alone:
        many = " three" if len(section.figures) in (3, 5, 6) else ""
        cards = f'<div class="figures{many}">{cards}</div>\n'
    return f"<section>\n{title}{cards}{rest}\n</section>"


def _height(figure: Figure) -> float:
    """Return how high a drawing is, in widths."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure.svg)
    return float(box[2]) / float(box[1]) if box else math.inf


def _below_figures(section: Section) -> list[str]:
    parts = [f"<p>{escaped(words)}</p>" for words in section.words]
    if section.verdicts:
        parts.append(f'<div class="verdicts">{"".join(_verdict(verdict) for verdict in section.verdicts)}</div>')
    if section.facts:
        # short numbers stand side by side, longer ones below each other
        style = ' class="long"' if max(len(value) for _, value in section.facts) > 16 else ""
        style = style if section.title else ' class="tiles"'  # what stands above every heading is the answer itself
        parts.append(f"<dl{style}>" + "".join(_fact(name, value) for name, value in section.facts) + "</dl>")
    if section.table is not None:
        parts.append(_table(section.table))
    return parts


def _figure(figure: Figure, *, is_alone: bool) -> str:
    title = f"<h3>{escaped(figure.title)}</h3>" if figure.title else ""
    caption = f"<figcaption>{escaped(figure.caption)}</figcaption>" if figure.caption else ""
    style = ' class="alone"' if is_alone else ""
    return f"<figure{style}>{title}{figure.svg}{caption}</figure>"


def _verdict(verdict: Verdict) -> str:
    kind, mark = ("good", "✓") if verdict.is_accepted else ("bad", "✗")
    return f'<div class="verdict {kind}"><b>{mark} {escaped(verdict.title)}</b><p>{escaped(verdict.words)}</p></div>'


def _fact(name: str, value: str) -> str:
    return f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>"


def _table(table: Table) -> str:
    minor = [' class="minor"' if at in table.minor else "" for at in range(len(table.head))]
    head = "".join(f"<th{kind}>{escaped(name)}</th>" for name, kind in zip(table.head, minor, strict=True))
    rows = "\n".join(_row(table.head, row, minor) for row in table.rows)
    # a table whose last column holds sentences reads from the left
    style = ' class="words"' if any(len(row[-1]) > 24 for row in table.rows) else ""
    return f'<div class="wide"><table{style}><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>'


def _row(head: tuple[str, ...], row: tuple[str, ...], minor: list[str]) -> str:
    # on a narrow screen a row of words becomes a card, whose entries carry the names of their columns
    cells = zip(row, head, minor, strict=True)
    return (
        "<tr>"
        + "".join(f'<td{kind} data-name="{escaped(name)}">{escaped(cell)}</td>' for cell, name, kind in cells)
        + "</tr>"
    )

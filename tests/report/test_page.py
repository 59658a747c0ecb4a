"""The page is one file: no scripts, nothing fetched, every word escaped, never half written."""

import re
from html.parser import HTMLParser

import pytest

from qed.report import Figure, Report, Section, Table, Verdict

REPORT = Report(
    "A <b>title</b>",
    "A lead & more",
    (
        Section("First", figures=(Figure("<svg role='img'></svg>", "Look < here"),), words=("One.", "Two.")),
        Section("Second", facts=(("rows", "12"),), table=Table(("name", "value"), (("<x>", "1"),))),
        Section("Third", verdicts=(Verdict(True, "good", "yes"), Verdict(False, "bad", "no"))),
    ),
    "the end",
)
VOID = {"meta", "br", "hr", "link", "img"}


class Balance(HTMLParser):
    """Fails on a tag that is closed in the wrong order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_well_formed():
    parser = Balance()
    parser.feed(REPORT.html())
    assert parser.open == []


def test_nothing_is_fetched_and_nothing_runs():
    page = REPORT.html()
    assert "<script" not in page
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://""", page)


def test_words_are_escaped():
    page = REPORT.html()
    assert "<b>title</b>" not in page
    assert "&lt;b&gt;title" in page
    assert "&lt;x&gt;" in page
    assert "Look &lt; here" in page


def test_figures_come_before_words_and_numbers():
    page = REPORT.html()
    assert page.index("<svg") < page.index("One.") < page.index("<dd>12")


def test_a_table_fills_what_a_low_drawing_leaves_empty():
    low, high = (
        Figure(f'<svg viewBox="0 0 400 {height}"></svg>', name)
        for height, name in ((150, "drawing A"), (300, "drawing B"))
    )
    table = Table(("name",), (("entry",),))
    page = Report("A", "b", (Section("One", figures=(low, high), table=table),), "").html()
    assert page.index("drawing A") < page.index("entry") < page.index("drawing B")
    page = Report("A", "b", (Section("One", figures=(high, low), table=table),), "").html()
    assert page.index("drawing B") < page.index("drawing A") < page.index("entry")


def test_dark_screens_and_paper_are_thought_of():
    assert "prefers-color-scheme: dark" in REPORT.html()
    assert "@media print" in REPORT.html()


def test_saving_replaces_only_when_complete(tmp_path, monkeypatch):
    path = tmp_path / "new" / "report.html"
    assert REPORT.save(path) == path
    first = path.read_text(encoding="utf-8")
    broken = Report("t", "l", (Section("s", facts=((1, 2),)),))  # a number is not text: the page cannot be made
    with pytest.raises((TypeError, AttributeError)):
        broken.save(path)
    assert path.read_text(encoding="utf-8") == first
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]

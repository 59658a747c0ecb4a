"""Every code block of the README and the site runs, page by page, top to bottom."""

import ast
import re
import sys
from pathlib import Path

import pytest
from instances import skip_if_it_lacks

import qed

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if not {"_build", "_output"} & set(p.parts)),
]
BLOCK = re.compile(
    r"(?:<!-- raises: (?P<error>\w+) -->\n)?^(?P<indent> *)```python\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL
)


def blocks(page):
    """Code of a page, each with the error it announces."""
    found = []
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        indent = len(match["indent"])
        code = "\n".join(line[indent:] for line in match["code"].splitlines())
        found.append((code, match["error"]))
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    if any("qed.neural_network" in code for code, _ in blocks(page)):
        skip_if_it_lacks("qed.neural_network")
    for code, error in blocks(page):
        program = compile(ast.parse(code), str(page), "exec")
        if error:
            with pytest.raises(getattr(qed, error)):
                exec(program, names)  # noqa: S102  (our own pages)
        else:
            exec(program, names)  # noqa: S102  (our own pages)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_pages_with_code_are_found():
    names = {page.name for page in PAGES if blocks(page)}
    assert {
        "README.md",
        "index.md",
        "certificates.md",
        "least_squares.md",
        "out_of_core.md",
        "save_and_load.md",
    } <= names
    assert any(error for page in PAGES for _, error in blocks(page))


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_promises_name_tests_that_exist():
    table = [
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+ \|", line)
    ]
    assert [int(line.split("|")[1]) for line in table] == list(range(1, 26))
    for line in table:
        _, _, _, status, kept_by, _ = (cell.strip() for cell in line.split("|"))
        assert re.match(r"kept|partly|not yet|see", status), line
        assert bool(kept_by) != (status == "not yet"), line
        for path in re.findall(r"`((?:tests|tools|benchmarks)[/\w.]*)`", kept_by):
            assert (ROOT / path).exists(), f"{path} is named in the README and does not exist"

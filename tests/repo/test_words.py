"""The list of words to avoid finds them, and nothing else."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def words(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield importlib.import_module("words")
    sys.modules.pop("words", None)


def test_documentation_docstrings_and_messages_use_standard_terms(words):
    faults = [
        (str(path.relative_to(ROOT)), first + line - 1, phrase)
        for path, first, text in words.texts()
        for line, phrase, _ in words.faults(text)
    ]
    assert faults == []


def test_a_phrase_is_found_across_lines_and_in_any_case(words):
    found = list(words.faults("One line.\nLearning Row by\nrow, and two planes."))
    assert [(line, phrase) for line, phrase, _ in found] == [(2, "row by row"), (3, "planes")]


@pytest.mark.parametrize(
    "text",
    [
        "A hyperplane and a half-plane.",
        "Call `separating_hyperplane`, or ``plane``.",
        "```python\nplane = 1  # row by row\n```",
        "Read [this](docs/planes.md).",
        "Rows are read one by one; planetary data; an indoor sensor.",
    ],
)
def test_other_words_are_left_alone(words, text):
    assert list(words.faults(text)) == []


def test_public_docstrings_and_messages_can_be_checked(words):
    module = words.ast.parse(
        '"""Door."""\ndef _private():\n    """Kink."""\n    raise ValueError(f"a plane {1}")\n'
        'class Public:\n    """A near row."""\n'
    )
    assert [text for _, text in words.docstrings(module)] == ["Door.", "A near row."]
    assert [text for _, text in words.messages(module)] == ["a plane "]


def test_source_uses_standard_names(words):
    assert [(str(path.relative_to(ROOT)), line, name) for path, line, name in words.misnamed()] == []


def test_names_are_found_whole_and_between_underscores(words):
    module = words.ast.parse(
        "FEW = 1\nTOO_FEW = 2\ndef f(mean_doubt, *, bend=0):\n    x.swing = bends(doubt=1)\n    return bending, doubtless\n"
    )
    assert sorted(words.names(module)) == [
        (1, "FEW"),
        (3, "bend"),
        (3, "doubt"),
        (4, "bends"),
        (4, "doubt"),
        (4, "swing"),
    ]

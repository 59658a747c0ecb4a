"""The story of `make demo`, told in a process of its own as a newcomer runs it."""

import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-m", "qed.report.demo", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, encoding="utf-8")  # noqa: PLW1510, S603
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, (folder / "report.html").read_text(encoding="utf-8")


def test_the_certificate_is_shown_and_verified(told):
    words, _ = told
    assert "LeastSquaresCertificate" in words
    assert "✓ qed.verify(model, X, y)" in words


def test_the_tampered_model_is_refused_in_words(told):
    words, page = told
    assert "✗ qed.verify(tampered, X, y)" in words
    assert "one per cent more: refused" in page


def test_figures_in_terminal_and_page(told):
    words, page = told
    assert "●" in words
    assert page.count("<svg") == 2
    assert page.index("<svg") < page.index("In numbers")


def test_standard_errors_stand_in_both(told):
    words, page = told
    assert "std. error" in words
    assert "standard error" in page


def test_where_the_page_is(told):
    words, _ = told
    assert "report.html" in words

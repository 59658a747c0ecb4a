"""Copies the headlines of benchmarks/results.json into README.md, and every loss.

``python tools/readme.py`` writes; ``python tools/readme.py --check`` says whether README.md is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import _record  # noqa: E402

README = ROOT / "README.md"
# one row for each thing people do; besides these every row that somebody beats us in is shown
HEADLINES = (
    "first-fit", "tall-ols", "tall-ridge", "ridgecv-loo", "lasso-wide", "lasso-sparse", "lasso-cv", "tall-logistic",
    "classes-logistic", "sparse-logistic", "tall-poisson", "tall-huber", "tall-svc", "tall-perceptron", "tall-sgd", "score-auc",
    "table-standard", "table-onehot", "search-ridge", "pipeline-ridge", "forest-large", "extra-large", "boosting-large",
    "shapley-forest", "kmeans-fifty", "hdbscan", "pca-ten", "tsne-large", "umap-large", "mixture-tall", "ard-tall",
)  # fmt: skip
BEGIN, END = "<!-- results:begin (written by tools/readme.py) -->", "<!-- results:end -->"


def block() -> str:
    """Return the text between the marks."""
    stored = _record.load()
    rows = _record.rows_of(stored)
    if not rows:
        return "Not measured yet: `make bench` fills this table."
    shown = [row for row in rows if row.name in HEADLINES or "**" in _record.summary([row])[-1]]
    threads = max(host["threads"] for host in stored["machines"].values())
    foot = (
        f"{' or '.join(sorted({row.cpu for row in rows}))}, {threads} threads; all rivals of a row on the same machine, warm fits,"
        f" certificate included. A ratio in bold is a loss; every loss among the {len(rows)} rows measured is here."
    )
    return "\n".join([*_record.summary(shown), "", foot])


def filled(text: str) -> str:
    """Return the README with a fresh block."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"README.md has lost its marks {BEGIN!r} and {END!r}.")
    return f"{before}{BEGIN}\n{block()}\n{END}{after}"


def main() -> int:
    """Write, or check."""
    text = README.read_text(encoding="utf-8")
    fresh = filled(text)
    if sys.argv[1:] == ["--check"]:
        if fresh != text:
            print("README.md does not show the measured results. Run: python tools/readme.py")
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``qed cluster``: a table in, groups of similar rows, a model that assigns new ones and a page out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.cli._table_words import add_table_words, run_without_target, show_end, show_table

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study import Clustering


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    add_table_words(made, given="the cluster of each row of DATA")
    made.add_argument("--k", type=int, metavar="K", help="number of clusters; chosen with reasons unless said")
    made.add_argument(
        "--method", choices=("kmeans", "mixture", "medoids"),
        help="k-means, Gaussian mixture or k-medoids; the most stable one unless said",
    )  # fmt: skip


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Find clusters, write, tell."""
    from qed.report import cluster_report  # noqa: PLC0415
    from qed.study import cluster  # noqa: PLC0415

    found, page, clock = run_without_target(
        options, screen, cluster, cluster_report, k=options.k, method=options.method
    )
    _show(found, screen)
    shared = show_end(options, screen, found, page, clock)
    screen.answer({**shared, **_facts(found)})
    return 0


def _show(found: Clustering, screen: Screen) -> None:
    from qed.report._unsupervised import trait_words  # noqa: PLC0415

    show_table(found, screen)
    if found.choice is not None:
        screen.heading("How many clusters?")
        for reason in found.choice.reasons:
            screen.say(f"  {reason}")
    screen.heading("Which method?")
    rows = [
        (one.title, str(one.n_clusters or ""), f"{one.stability:.3f}" if one.n_clusters else "", one.reason)
        for one in found.methods
    ]
    screen.table(("", "clusters", "halves agree", ""), rows, right="12")
    screen.heading(f"Result: {found.model.schema.output.method}")
    screen.say(f"  {found.structure}")
    portraits = [
        (f"cluster {group.name}", f"{group.n_rows:,}", "; ".join(trait_words(one) for one in group.traits[:3]))
        for group in found.groups
    ]
    screen.table(("", "rows", "what sets it apart"), portraits, right="1")


def _facts(found: Clustering) -> dict[str, Any]:
    """Return a clustering as plain values."""
    return {
        "k": len(found.model.schema.output.labels),
        "votes": {} if found.choice is None else found.choice.votes,
        "reasons": [] if found.choice is None else found.choice.reasons,
        "methods": [
            {"method": one.name, "clusters": one.n_clusters, "stability": one.stability, "silhouette": one.silhouette,
             "why": one.reason}
            for one in found.methods
        ],
        "structure": found.structure,
        "clusters": [
            {
                "name": int(group.name),
                "rows": group.n_rows,
                "silhouette": group.silhouette,
                "example": group.example + 1,
                "traits": [
                    {"column": one.column, "category": one.level, "inside": one.inside, "outside": one.outside,
                     "difference": one.difference}
                    for one in group.traits[:12]
                ],
            }
            for group in found.groups
        ],
    }  # fmt: skip

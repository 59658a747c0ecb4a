"""The page of clusters: who is in them, how they lie, why so many, what is proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.report._format_numbers import percent, said
from qed.report._group_figures import bars, differences, over_k, scatter, silhouette_figure
from qed.report._parts import Figure, Section, Table
from qed.report._study_figures import Whisker, whiskers
from qed.report._svg import NARROW_WIDTH
from qed.report._unsupervised import entry, page_of, proof_section, short_source, trait_words

if TYPE_CHECKING:
    from qed.report._report import Report
    from qed.study import Clustering
    from qed.study._cluster import Group

MOST_TRAITS = 6
MOST_GROUPS = 12  # that are described one by one
MOST_LINES = 16  # of the grid of differences
MOST_COLUMNS = 12  # of the table of examples
MAP_ROWS = 800


def cluster_report(found: Clustering, *, model_file: str = "model.qed", title: str = "") -> Report:
    """Write the report of a clustering.

    Parameters
    ----------
    found : Clustering
        What `qed.study.cluster` gave.
    model_file : str
        Name of the model file, for the commands on the page.
    title : str
        Heading; made from the number of groups unless given.

    Returns
    -------
    Report
        Ready to be saved as one HTML file.
    """
    fit_record = found.model.schema.fit_record
    k, used = len(found.groups), len(found.model.schema.used)
    lead = (
        f"{found.model.schema.output.method[0].upper() + found.model.schema.output.method[1:]}, from {used}"
        f" column{'s' if used != 1 else ''} and {fit_record.rows_used:,} rows of {short_source(fit_record.source)}."
        f" {found.structure}"
    )
    sections = (
        _answer(found),
        _groups(found),
        _map(found),
        _at_a_glance(found),
        _examples(found),
        _choice(found),
        _separation(found),
        proof_section(found.model, found.checked, explanation=_explanation(found)),
    )
    return page_of(
        found.model, title=title or f"{k} clusters of {short_source(fit_record.source)}", lead=lead, sections=sections,
        model_file=model_file, function="cluster",
    )  # fmt: skip


def _names(found: Clustering) -> list[str]:
    return [f"cluster {group.name}" for group in found.groups]


def _answer(found: Clustering) -> Section:
    scores = found.model.schema.fit_record.scores
    facts = (
        ("clusters", str(len(found.groups))),
        ("in the largest", percent(found.groups[0].n_rows / len(found.labels))),
        ("mean silhouette, 1 is the best", f"{scores['mean silhouette']:.2f}"),
        ("agreement of random halves, 1 is the best", f"{scores['agreement of halves']:.2f}"),
    )
    return Section("", facts=facts)


def _groups(found: Clustering) -> Section:
    total = len(found.labels)
    figures = [
        Figure(
            bars(
                [
                    (f"cluster {one.name}", one.n_rows, f"{one.n_rows:,} rows", at)
                    for at, one in enumerate(found.groups)
                ],
                description=f"Sizes of {len(found.groups)} clusters",
            ),
            "How many rows each cluster has.",
            title="Sizes",
        )
    ]
    span = max((abs(t.difference) for one in found.groups for t in one.traits[:MOST_TRAITS]), default=1.0)
    for group in found.groups[:MOST_GROUPS]:
        if group.traits:
            figures.append(_portrait(group, total, 1.1 * span))
    words = (
        "Each figure shows what sets a cluster apart from all other rows: the difference of its mean, or of the share of a"
        " category, in standard deviations of the column. 0.2 is small, 0.8 large, beyond 2 there is hardly any overlap."
    )
    return Section("Who is in the clusters?", figures=tuple(figures), words=(words,))


def _portrait(group: Group, total: int, span: float) -> Figure:
    top = group.traits[:MOST_TRAITS]
    rows: list[Whisker] = [
        (one.name, min(0.0, one.difference), one.difference, max(0.0, one.difference), 0 if one.difference > 0 else 1)
        for one in top
    ]
    svg = whiskers(
        rows, label="difference, standard deviations", description=f"What sets cluster {group.name} apart", rule=0.0,
        span=(-span, span), width=NARROW_WIDTH,
    )  # fmt: skip
    caption = "; ".join(trait_words(one) for one in top[:3]) + "."
    return Figure(svg, caption, title=f"Cluster {group.name}: {group.n_rows:,} rows, {percent(group.n_rows / total)}")


def _map(found: Clustering) -> Section | None:
    """Draw the rows in the plane: by principal components, which keep distances, and by UMAP, which keeps neighbours."""
    from qed.decomposition import PCA  # noqa: PLC0415
    from qed.manifold import UMAP, continuity, trustworthiness  # noqa: PLC0415
    from qed.study._stage import quietly  # noqa: PLC0415

    Z = found.prepared[:MAP_ROWS]
    if Z.shape[1] < 2:
        return None
    groups = found.labels[found.shown[:MAP_ROWS]]
    seed = found.model.schema.fit_record.seed
    hovers = [
        f"row {row + 1:,}, cluster {group + 1}" for row, group in zip(found.shown[:MAP_ROWS], groups, strict=True)
    ]
    pca = PCA(2).fit(Z)
    share = float(np.sum(pca.explained_variance_ratio_))
    figures = []
    for name, points in (
        ("Principal components", pca.transform(Z)),
        ("UMAP", quietly(lambda: UMAP(random_state=seed, n_neighbors=min(15, len(Z) - 1)).fit_transform(Z))),
    ):
        is_linear = name != "UMAP"
        trust, cont = trustworthiness(Z, points), continuity(Z, points)
        what = (
            f"The plane that keeps most of the variance: {percent(share)}. Distances are as among the rows, seen from one side."
            if is_linear
            else "Keeps who is near whom. Distances between clusters, and their sizes, mean little here."
        )
        labels = ("first component", "second component") if is_linear else ("first coordinate", "second coordinate")
        figures.append(
            Figure(
                scatter(np.asarray(points, np.float64), groups, _names(found), labels=labels, hovers=hovers,
                        description=f"{len(Z)} rows in the plane by {name}, coloured by cluster"),
                f"{what} Trustworthiness {trust:.2f}, continuity {cont:.2f}.",
                title=name,
            )
        )  # fmt: skip
    words = (
        "Trustworthiness: how far rows that are near each other in the figure are so in the table. Continuity: how far rows that"
        " are near each other in the table are so in the figure. 1 is the best, 0.5 what chance gives."
    )
    return Section("How do they lie?", figures=tuple(figures), words=(words,))


def _at_a_glance(found: Clustering) -> Section | None:
    """Compare all clusters in the columns that tell them apart."""
    by_name: dict[str, dict[int, float]] = {}
    for at, group in enumerate(found.groups):
        for trait in group.traits:
            by_name.setdefault(trait.name, {})[at] = trait.difference
    lines = sorted(by_name.items(), key=lambda pair: -max(abs(one) for one in pair[1].values()))[:MOST_LINES]
    if not lines or len(found.groups) > MOST_GROUPS:
        return None
    rows = [(name, [values.get(at, 0.0) for at in range(len(found.groups))]) for name, values in lines]
    short = [group.name for group in found.groups]
    svg = differences(rows, short, description="Standardised differences of all clusters, column by column")
    caption = (
        "All clusters side by side. Blue: above the other rows, orange: below, in standard deviations. Lines are numbers and"
        " categories, those that tell clusters apart best first."
    )
    return Section("All clusters at a glance", figures=(Figure(svg, caption),))


def _examples(found: Clustering) -> Section:
    """Show the row of each cluster that is nearest to its centre."""
    order: dict[str, float] = {}
    for group in found.groups:
        for trait in group.traits:
            order[trait.column] = max(order.get(trait.column, 0.0), abs(trait.difference))
    columns = sorted(order, key=lambda name: -order[name])[:MOST_COLUMNS]
    shown = found.groups[:MOST_GROUPS]
    rows = tuple((name, *[entry(found.rows, name, group.example) for group in shown]) for name in columns)
    where = ("row of the table", *[f"{group.example + 1:,}" for group in shown])
    head = ("", *[f"cluster {group.name}" for group in shown])
    words = ("The row of each cluster that is nearest to its centre.",)
    return Section("Typical rows", words=words, table=Table(head, (where, *rows)))


def _choice(found: Clustering) -> Section:
    """Say why there are so many clusters, and why this method."""
    choice, words, figures = found.choice, [], []
    k = next(one.n_clusters for one in found.methods if one.title in found.model.schema.output.method)
    if choice is None:
        words.append(f"There are {k} clusters because you said so.")
    else:
        told = "; ".join(choice.reasons)
        words.append(
            f"By k-means: {told}. Most rules, and of equal numbers the larger silhouette, choose {choice.best}."
        )
        curves = (
            (
                "mean silhouette",
                choice.silhouette,
                None,
                "How much nearer a row is to its own cluster than to the next.",
            ),
            (
                "gap to uniform rows",
                choice.gap,
                choice.gap_error,
                "How much tighter the clusters are than those of rows without any.",
            ),
            (
                "agreement of halves",
                choice.stability,
                None,
                "Whether two random halves of the rows give the same clusters.",
            ),
        )
        for name, values, errors, caption in curves:
            if not np.isfinite(values[1:]).any():  # there was no time for it
                words.append(f"There was no time for the {name}: allow more with --budget.")
                continue
            svg = over_k(
                choice.ks, values, label=name, chosen=choice.best, errors=errors,
                description=f"{name} against the number of clusters",
            )  # fmt: skip
            figures.append(Figure(svg, caption, title=name[0].upper() + name[1:]))
    words.append(
        "The method is the one whose clusters random halves of the rows agree on best (adjusted Rand score; k-means, the simplest,"
        " where it is within a standard error). Not tried: hierarchical and density-based clustering, which do not assign new rows."
    )
    table = Table(
        ("method", "clusters", "agreement", "±", "silhouette", "number of clusters"),
        tuple(
            (one.title, str(one.n_clusters), f"{one.stability:.3f}", f"{one.error:.3f}", f"{one.silhouette:.3f}", one.reason)
            if one.n_clusters
            else (one.title, "", "", "", "", one.reason)
            for one in found.methods
        ),
        minor=(3,),
    )  # fmt: skip
    return Section(f"Why {k} clusters, and why this method?", figures=tuple(figures), words=tuple(words), table=table)


def _separation(found: Clustering) -> Section:
    groups = found.labels[found.shown]
    worst = min(found.groups, key=lambda group: group.silhouette if group.silhouette == group.silhouette else 9.0)
    below = float(np.mean(found.silhouettes < 0))
    svg = silhouette_figure(found.silhouettes, groups, [group.name for group in found.groups],
                            description="Silhouettes of the rows, cluster by cluster")  # fmt: skip
    caption = (
        f"The silhouette of each row, cluster by cluster. {percent(below)} of rows are nearer to another cluster than to their own"
        " (below zero)."
        f" Cluster {worst.name} is the least distinct (mean {said(worst.silhouette)}). The dashed line is the mean of all rows."
    )
    return Section("How separate are they?", figures=(Figure(svg, caption),))


def _explanation(found: Clustering) -> str:
    if "mixture" in found.model.schema.output.method:
        return "A mixture is fitted step by step, and better ones may exist. What is proven is that no step lowered the likelihood:"
    return (
        "Nobody can prove in reasonable time that no other clusters are tighter. What is proven is a bound on how much tighter the"
        " best possible clusters could be:"
    )

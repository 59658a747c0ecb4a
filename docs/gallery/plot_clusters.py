"""Clusters in four figures: cells, silhouettes, a dendrogram, an embedding.

The Voronoi cells of k-means on two measurements of iris flowers: every point belongs to its nearest centre. The silhouette of each
flower: how much nearer it is to its own cluster than to the next. The dendrogram of average linkage, cut into three clusters. UMAP
of all four measurements, coloured by species, which it does not see.
"""

import matplotlib.pyplot as plt

from qed.cluster import AgglomerativeClustering, KMeans
from qed.datasets import load_iris
from qed.inspection import EmbeddingDisplay, SilhouetteDisplay, VoronoiDisplay
from qed.manifold import UMAP


def main():
    """Draw the four figures."""
    table = load_iris()
    X, species = table.data, table.target_names[table.target.astype(int)]
    figure, ((cells, silhouettes), (tree, points)) = plt.subplots(2, 2, figsize=(10.0, 8.0), layout="constrained")
    petals = X[:, 2:]
    VoronoiDisplay.from_estimator(KMeans(3, random_state=0).fit(petals), petals, ax=cells)
    cells.set(xlabel="petal length, cm", ylabel="petal width, cm")
    SilhouetteDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X, ax=silhouettes)
    AgglomerativeClustering(3, linkage="average").fit(X[::3]).dendrogram_.plot(tree, n_clusters=3)
    EmbeddingDisplay.from_estimator(UMAP(random_state=0).fit(X), X, species, ax=points)
    return figure

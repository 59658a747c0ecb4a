from qed.cluster._kmeans import KMeans as KMeans

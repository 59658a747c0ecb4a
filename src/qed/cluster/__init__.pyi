from qed.cluster._kmeans import KMeans as KMeans
from qed.cluster._plusplus import kmeans_plusplus as kmeans_plusplus

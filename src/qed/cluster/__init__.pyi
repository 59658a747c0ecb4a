from qed.cluster._bisecting import BisectingKMeans as BisectingKMeans
from qed.cluster._kernel_kmeans import KernelKMeans as KernelKMeans
from qed.cluster._kmeans import KMeans as KMeans
from qed.cluster._mini_batch import MiniBatchKMeans as MiniBatchKMeans
from qed.cluster._plusplus import farthest_first as farthest_first
from qed.cluster._plusplus import kmeans_plusplus as kmeans_plusplus
from qed.cluster._plusplus import seeding_probabilities as seeding_probabilities
from qed.cluster._soft import SoftKMeans as SoftKMeans

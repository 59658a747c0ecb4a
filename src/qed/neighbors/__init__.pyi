from qed.neighbors._classifier import KNeighborsClassifier as KNeighborsClassifier
from qed.neighbors._kernel_density import KernelDensity as KernelDensity
from qed.neighbors._local import localisation_kernel as localisation_kernel
from qed.neighbors._nearest_neighbors import NearestNeighbors as NearestNeighbors
from qed.neighbors._regressor import KNeighborsRegressor as KNeighborsRegressor

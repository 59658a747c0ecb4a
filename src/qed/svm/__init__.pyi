from qed.svm._linear_svc import LinearSVC as LinearSVC
from qed.svm._linear_svr import LinearSVR as LinearSVR

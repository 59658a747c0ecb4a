"""Networks."""

from __future__ import annotations

from qed.certificates import NetworkCertificate
from qed.verify import _networks as _checks
from qed.verify._answers import _networks
from qed.verify._answers._compare import defined
from qed.verify._families._entry import by

ENTRIES = {
    "MLPClassifier": by(
        NetworkCertificate, _checks.check, defined(predict=_networks.label, predict_proba=_networks.chances)
    ),
    "MLPRegressor": by(NetworkCertificate, _checks.check, defined(predict=_networks.number)),
}

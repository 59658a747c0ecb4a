"""Where certificates were before they had a package of their own, and the names they had: see `qed.certificates`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qed.certificates import *  # noqa: F403
    from qed.certificates import OutOfBagCertificate, StagedCertificate

    BoostingCertificate = StagedCertificate
    ForestCertificate = OutOfBagCertificate

EARLIER = {"BoostingCertificate": "StagedCertificate", "ForestCertificate": "OutOfBagCertificate"}


def __getattr__(name: str) -> Any:
    from qed import certificates  # noqa: PLC0415

    name = EARLIER.get(name, name)
    if name in dir(certificates):
        return getattr(certificates, name)
    raise AttributeError(f"module 'qed.core' has no attribute {name!r}")

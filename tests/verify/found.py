"""How the tests of what fuzzers found ask for a verdict."""

from __future__ import annotations

import pytest

import qed
from qed.core import CertificateError


def refused(model, *data):
    """Tell whether the checker refuses a model."""
    with pytest.raises(CertificateError):
        qed.verify(model, *data)
    return True

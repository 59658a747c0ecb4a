"""Networks learn with PyTorch: without it the tests of this folder are skipped, except those about its absence."""

import pytest
from instances import lacks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = lacks("qed.neural_network")
    for item in items:
        if reason and "neural_network" in item.path.parts and item.path.name != "test_without_torch.py":
            item.add_marker(pytest.mark.skip(reason=reason))

"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest
from instances import skip_if_it_lacks

import qed


def modules():
    for info in pkgutil.walk_packages(qed.__path__, "qed."):
        if "._native" not in info.name and not info.name.endswith(".demo"):
            yield info.name


@pytest.mark.parametrize("name", ["qed", *modules()])
def test_examples(name):
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = [test for test in finder.find(module, name) if test.examples]
    if found:
        skip_if_it_lacks(name)
    for test in found:
        runner.run(test)
    assert runner.failures == 0

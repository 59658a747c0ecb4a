"""Every estimator certifies what the generated table says, and the table is the one the estimators give."""

import importlib.util
from pathlib import Path

import pytest
from instances import fit_arguments, instance, skip_if_it_lacks

import qed
from qed.certificates import Certificate

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("certificate_table", ROOT / "tools" / "certificate_table.py")
certificate_table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(certificate_table)


def test_the_page_is_up_to_date():
    assert certificate_table.PAGE.read_text(encoding="utf-8") == certificate_table.page()


@pytest.mark.parametrize("name", [name for name, _ in qed.all_estimators()])
def test_a_fit_carries_the_certificate_of_its_row(name):
    cls = dict(qed.all_estimators())[name]
    skip_if_it_lacks(cls.__module__)
    model = instance(cls)
    model.fit(*fit_arguments(model))
    kind, words = certificate_table.rows()[name]
    if kind == certificate_table.INSIDE:
        assert isinstance(model.certificate_, Certificate)
    else:
        assert type(model.certificate_).__name__ in kind.split(" | ")
    goes_on = hasattr(model, "t_") or hasattr(model, "votes_")  # learners of one row at a time
    if not goes_on and name != "MiniBatchKMeans":  # whose batches stop improving before its centres rest
        assert model.certificate_.reached != (kind == "Uncertified")
    assert words

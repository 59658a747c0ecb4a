"""Rows of a table as points in the plane: neighbourhoods kept, new rows embedded, claims checked."""

import numpy as np
import pytest

import qed
from qed.core import CertificateError, InvalidParameter
from qed.study import embed

N = 60


def table():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], N // 3)
    return {
        "kind": [("a", "b", "c")[g] for g in group],
        "x": (5.0 * group + rng.normal(size=N)).tolist(),
        "y": (-3.0 * group + rng.normal(size=N)).tolist(),
        "z": rng.normal(size=N).tolist(),
        "colour": [("red", "blue")[g % 2] for g in group],
    }


@pytest.fixture(scope="module")
def found():
    return embed(table(), colour="kind", method="pca", budget="600s")


def test_principal_components_are_those_of_the_library(found):
    from_model = found.model.transform(table())
    np.testing.assert_allclose(found.points, from_model[found.embedded], atol=1e-12)
    assert found.table["row"].tolist() == list(range(1, N + 1))
    np.testing.assert_allclose(found.table["x"], from_model[:, 0], atol=1e-12)
    assert next(one for one in found.model.schema.columns if one.name == "kind").kind == "dropped"
    assert {one.name for one in found.methods} == {"pca", "umap", "tsne"}
    assert 0.5 < found.trustworthiness <= 1
    assert found.checked.is_accepted


def test_new_rows_and_files(found, tmp_path):
    found.model.save(tmp_path / "m.qed")
    model = qed.study.load(tmp_path / "m.qed")
    np.testing.assert_array_equal(model.transform(table()), found.model.transform(table()))
    assert model.verify(table()).holds
    with pytest.raises(InvalidParameter, match="gives coordinates"):
        model.predict(table())
    model.pipeline.steps_[-1][1].components_[0, 0] += 1e-3
    with pytest.raises(CertificateError):
        model.verify(table())


def test_chooses_between_two_and_says_why():
    found = embed(table(), budget="600s")
    assert found.model.schema.output.method in ("principal components", "UMAP")
    assert "trustworthiness" in found.reason
    by_name = {one.name: one for one in found.methods}
    better = by_name["umap"].faithfulness > by_name["pca"].faithfulness + 0.02
    assert (found.model.schema.output.method == "UMAP") is better


def test_t_sne_has_no_place_for_new_rows():
    found = embed(table(), method="tsne", budget="600s")
    assert found.points.shape == (N, 2)
    with pytest.raises(InvalidParameter, match="--method umap"):
        found.model.transform(table())
    assert found.model.verify(table()).holds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "pca, umap, tsne"),
        ({"colour": "shape"}, "no column 'shape'"),
        ({"drop": ["kind", "y", "z", "colour"]}, "Only 'x' is left"),
        ({"colour": "kind", "types": {"kind": "category"}}, "left out of the embedding"),
    ],
)
def test_bad_words_are_answered_in_a_sentence(options, words):
    with pytest.raises(InvalidParameter, match=words):
        embed(table(), budget="600s", **options)

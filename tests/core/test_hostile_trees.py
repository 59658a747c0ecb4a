"""Files whose values lie are refused in words: trees, records, sparse matrices, generators, estimators."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse
from model_files import Everything, Line, Summary, extra, framed, opened, refused, sealed

from qed.core._codec import DEEPEST
from qed.core._persistence import dumps, loads
from qed.core._records import record
from qed.core._version import __version__

if TYPE_CHECKING:
    from pathlib import Path


def deep(depth: int) -> Any:
    node: Any = []
    for _ in range(depth):
        node = {"tuple": [node]}
    return node


FLOAT, INT = np.ones(2), np.arange(3)
WRAPPING = np.array([2**63 - 2, -(2**63) + 9, 2])  # the differences of neighbours are all positive, after overflow
BAD_SCALAR = "not a NumPy scalar"


@pytest.mark.parametrize(
    ("node", "arrays", "message"),
    [
        ({"pickle": "x"}, (), "unknown kind 'pickle'"),
        ({"int": "0x1", "float": "1"}, (), "2 tags"),
        ({}, (), "0 tags"),
        (1 << 63, (), "not written in hexadecimal"),
        ({"int": "0x1"}, (), "large integer"),
        ({"int": "0x0" + "f" * 20}, (), "large integer"),
        ({"int": 3}, (), "an integer is written as"),
        ({"int": "zz"}, (), "makes no sense"),
        ({"float": 1}, (), "a float is written as"),
        ({"float": "1.5"}, (), "not how a float"),
        ({"float": "nan"}, (), "not how a float"),
        ({"float": "nan:3ff0000000000000"}, (), "not how a float"),
        ({"float": "0x1p9999"}, (), "makes no sense"),
        ({"tuple": 3}, (), "a tuple is written as"),
        ({"dict": {}}, (), "a dict is written as"),
        ({"dict": [["a"]]}, (), "an entry of a dict"),
        ({"dict": [["a", 1], ["a", 2]]}, (), "repeated"),
        ({"dict": [[1, 1]]}, (), "not a string"),
        ({"array": 0}, (), "points to array 0, and there are 0"),
        ({"array": -1}, (FLOAT,), "points to array"),
        ({"array": True}, (FLOAT, FLOAT), "points to array"),
        ({"array": "0"}, (FLOAT,), "points to array"),
        ([{"array": 0}, {"array": 0}], (FLOAT,), "array 0 twice"),
        (None, (FLOAT,), "arrays that belong to nothing"),
        (deep(DEEPEST + 1), (), "levels deep"),
        ({"scalar": ["<f8", "00"]}, (), BAD_SCALAR),
        ({"scalar": ["<f8", "AA" * 8]}, (), BAD_SCALAR),
        ({"scalar": ["|b1", "02"]}, (), BAD_SCALAR),
        ({"scalar": ["|O8", "00" * 8]}, (), BAD_SCALAR),
        ({"scalar": [8, "00" * 8]}, (), BAD_SCALAR),
        ({"scalar": ["str", 8]}, (), "a NumPy string is written as"),
        ({"scalar": ["<f8"]}, (), "list of 2 parts"),
        ({"scalar": "ab"}, (), "list of 2 parts"),
        ({"float": "nan:"}, (), "makes no sense"),
        ({"scalar": ["<f8", 8]}, (), "written as"),
        ({"strings": [[1]]}, (), "list of 3 parts"),
        ({"strings": [[2], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.uint8)), "does not fit its shape"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.zeros(9, np.uint8)), "does not fit its shape"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT[::-1] - 2, np.zeros(0, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT - 1, np.zeros(1, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT * 1.0, np.zeros(2, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.int8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.full(2, 255, np.uint8)), "UnicodeDecodeError"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (WRAPPING, np.zeros(2, np.uint8)), "does not fit its"),
        ({"strings": [[1 << 70], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.uint8)), "20 digits|larger than"),
        ({"strings": [[1], 1, 2]}, (), "parts that are not arrays"),
        ({"strings": [[1], {"array": 0}, {"array": 1}]}, (np.ones((1, 1)), FLOAT), "parts that are not arrays"),
        ({"random": 3}, (), "random generators of the kinds"),
        ({"random": {"dict": [["bits", "Mine"]]}}, (), "random generators of the kinds"),
        ({"random": {"dict": [["bits", ["PCG64"]]]}}, (), "random generators of the kinds"),
        ({"record": ["nobody", {}]}, (), "'nobody', which this qed does not know"),
        ({"record": [["nobody"], {}]}, (), "the name of a record"),
        ({"record": ["test-summary", []]}, (), "record 'test-summary' is written as"),
        ({"record": ["test-summary", {"rows": 1}]}, (), "missing 2 required"),
        ({"estimator": ["golden.Everything", {}]}, (), "list of 3 parts"),
        ({"estimator": [1, {}, {}]}, (), "the class of an estimator"),
        ({"estimator": ["golden.Everything", [], {}]}, (), "the state of"),
        ({"estimator": ["os.system", {}, {}]}, (), "import the module that defines it first"),
        ({"estimator": ["system", {}, {}]}, (), "not the name of a class"),
        ({"estimator": ["a." + "b" * 300, {}, {}]}, (), "not the name of a class"),
        ({"estimator": ["qed.core.Regressor", {}, {}]}, (), "no estimator called qed.core.Regressor.*written by qed"),
        ({"estimator": ["qed.linear_model._ridge.x", {}, {}]}, (), "estimator called|No module"),
    ],
)
def test_trees_that_lie(node: Any, arrays: tuple[Any, ...], message: str) -> None:
    refused(extra(node, *arrays), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 1.5}, None),
        ({"rows": {"float": "0x1.0000000000000p+0"}}, "rows should be"),
        ({"rows": -1}, "negative numbers"),
        ({"mean": None}, "belong to nothing|mean should be"),
        ({"more": 1}, f"unknown field 'more'.*written by qed {__version__}"),
    ],
)
def test_records_that_lie(change: dict[str, Any], message: str | None) -> None:
    header, data = opened(dumps(Everything(extra=Summary(1, 0.0, np.ones(1)))))
    header["model"]["estimator"][1]["extra"]["record"][1].update(change)
    refused(sealed(header, data), message or "only integers")


def test_checks_that_fail_in_unforeseen_ways_are_the_files_fault() -> None:
    @record("test-fragile")
    class Fragile:
        value: Any

        def check(self) -> None:
            len(self.value)

    header, data = opened(dumps(Everything(extra=Fragile("text"))))
    header["model"]["estimator"][1]["extra"]["record"][1]["value"] = 3
    refused(sealed(header, data), "makes no sense .*TypeError")


def test_records_are_found_in_their_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far_home.py").write_text(
        "from qed.core._records import record\n@record('test-far')\nclass Far:\n    x: int\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    refused(extra({"record": ["test-far", {"x": 1}]}), "'test-far', which this qed does not know")
    monkeypatch.setattr("qed.core._codec.record_homes", lambda: {"test-far": "far_home"})
    assert loads(extra({"record": ["test-far", {"x": 1}]})).extra.x == 1


def sparse(**changes: Any) -> bytes:
    matrix = scipy.sparse.csr_array((np.ones(2), np.array([2, 0], np.int32), np.arange(3, dtype=np.int32)), (2, 3))
    header, _ = opened(dumps(Everything(extra=matrix)))
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr} | changes
    node = header["model"]["estimator"][1]["extra"]
    node["csr_array"][0] = parts.pop("shape", [2, 3])
    return extra(node, *parts.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": [2, 2]}, "outside its shape"),
        ({"shape": [3, 3]}, "wrong type or number"),
        ({"shape": [2]}, "do not fit together"),
        ({"data": np.ones(3)}, "do not fit together"),
        ({"data": np.array(["a", "b"])}, "do not fit together"),
        ({"data": np.ones(2, np.float16)}, "do not fit together"),
        ({"data": np.ones((2, 1))}, "not arrays of one axis"),
        ({"indices": np.array([2, -1], np.int32)}, "outside its shape"),
        ({"indices": np.array([2, 0], np.int64)}, "wrong type or number"),
        ({"indices": np.array([2, 0], np.int16), "indptr": np.array([0, 1, 2], np.int16)}, "wrong type or number"),
        ({"indptr": np.array([0, 2], np.int32)}, "wrong type or number"),
        ({"indptr": np.array([1, 1, 2], np.int32)}, "row ends"),
        ({"indptr": np.array([0, 1, 3], np.int32)}, "row ends"),
        ({"indptr": np.array([0, 5, 2], np.int32)}, "row ends"),
        ({"shape": [3, 3], "indptr": np.array([0, 2**31 - 2, -(2**31) + 9, 2], np.int32)}, "row ends"),
    ],
)
def test_sparse_matrices_that_lie(changes: dict[str, Any], message: str) -> None:
    refused(sparse(**changes), message)


def pairs(node: Any, *path: str) -> Any:
    """The entry of nested dict nodes that a path leads to."""
    for step in path:
        node = next(pair for pair in node["dict"] if pair[0] == step)
        last, node = node, node[1]
    return last


@pytest.mark.parametrize(
    ("bits", "path", "value"),
    [
        ("PCG64", ("state", "state", "inc"), 2),
        ("PCG64", ("state", "state", "state"), -1),
        ("PCG64", ("state", "state", "state"), {"int": hex(1 << 128)}),
        ("PCG64", ("state", "has_uint32"), 2),
        ("PCG64", ("state", "uinteger"), 1 << 32),
        ("PCG64", ("state", "state"), 3),
        ("PCG64", ("bits",), "SFC64"),
        ("PCG64", ("seed",), None),
        ("PCG64", ("seed", "pool_size"), 1 << 40),
        ("PCG64", ("seed", "entropy"), -1),
        ("PCG64", ("seed", "entropy"), [1, "a"]),
        ("PCG64", ("seed", "spawn_key"), [1]),
        ("PCG64", ("seed", "n_children_spawned"), 1 << 33),
        ("MT19937", ("state", "state", "pos"), 625),
        ("MT19937", ("state", "state", "pos"), True),
        ("Philox", ("state", "buffer_pos"), 5),
        ("legacy", ("has_gauss",), 2),
        ("legacy", ("gauss",), "x"),
        ("legacy", ("state", "state", "pos"), -1),
    ],
)
def test_states_of_generators_that_lie(bits: str, path: tuple[str, ...], value: Any) -> None:
    legacy = bits == "legacy"
    source = np.random.RandomState(1) if legacy else np.random.Generator(getattr(np.random, bits)(1))
    header, data = opened(dumps(Everything(extra=source)))
    pairs(header["model"]["estimator"][1]["extra"]["random"], *path)[1] = value
    refused(sealed(header, data), "state of a random generator")


@pytest.mark.parametrize("path", [(), ("state",), ("state", "state"), ("seed",)])
def test_states_of_generators_have_no_more_and_no_fewer_parts(path: tuple[str, ...]) -> None:
    header, data = opened(dumps(Everything(extra=np.random.Generator(np.random.PCG64(1)))))
    node = header["model"]["estimator"][1]["extra"]["random"]
    entries = (pairs(node, *path)[1] if path else node)["dict"]
    entries.append(["more", 1])
    refused(sealed(header, data), "state of a random generator")
    del entries[-2:]
    refused(sealed(header, data), "state of a random generator")


@pytest.mark.parametrize(
    "key",
    [np.ones(623, np.uint32), np.ones((624, 1), np.uint32), np.ones(624, np.int32), np.ones(624), [1] * 624],
    ids=str,
)
def test_tables_of_twisters_have_their_shape_and_type(key: Any) -> None:
    header, data = opened(dumps(Everything(extra=[key, np.random.RandomState(1)])))
    first, second = header["model"]["estimator"][1]["extra"]
    place = pairs(second["random"], "state", "state", "key")
    header["model"]["estimator"][1]["extra"] = [place[1], second]
    place[1] = first
    refused(sealed(header, data), "state of a random generator")


def test_a_twister_of_zeros_is_refused() -> None:
    header, data = opened(dumps(Everything(extra=np.random.RandomState(1))))
    refused(sealed(header, bytes(len(data))), "state of a random generator")


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (1, {"beta": 1}, f"unknown parameter 'beta' .*written by qed {__version__}"),
        (1, {"alpha": {"float": "-0x1.0000000000000p+0"}}, "Everything.alpha must be a real number >= 0"),
        (2, {"predict": 1}, "'predict' cannot be a fitted attribute"),
        (2, {"__class__": 1}, "'__class__' cannot be a fitted attribute"),
        (2, {"__new__thing": 1}, "cannot be a fitted attribute"),
        (2, {"not a name": 1}, "cannot be a fitted attribute"),
        (2, {"alpha": -1}, "'alpha' cannot be a fitted attribute"),
        (2, {"intercept_": "x"}, "intercept_ should be float"),
        (2, {"n_features_in_": 4}, "coef_ should have shape"),
        (2, {"n_features_in_": 0}, "n_features_in_ should be a positive integer"),
        (2, {"n_features_in_": True}, "n_features_in_ should be a positive integer"),
        (2, {"feature_names_in_": ["a", "b", "c"]}, "feature_names_in_ should be 3 strings"),
        (2, {"_output": "antigravity"}, "_output is 'antigravity'"),
        (2, {"_metadata_requests": {"dict": [["fit", 1]]}}, "_metadata_requests should say"),
        (2, {"_skl_callbacks": []}, "cannot be a fitted attribute"),
    ],
)
def test_estimators_that_lie(part: int, change: dict[str, Any], message: str) -> None:
    header, data = opened(dumps(Everything().fit(np.eye(3), np.ones(3))))
    header["model"]["estimator"][part].update(change)
    refused(sealed(header, data), message)


def test_estimators_are_found_in_packages_of_qed_that_load_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("qed.newborn")

    def define(name: str) -> Any:
        if name not in ("Lazy", "hidden"):
            raise AttributeError(name)
        return type(name, (Line,), {"__module__": "qed.newborn._lazy"})

    vars(package).update(__all__=["Lazy", "function"], __getattr__=define, function=print)
    monkeypatch.setitem(sys.modules, "qed.newborn", package)
    file = framed(b'{"arrays":[],"model":{"estimator":["qed.newborn.Lazy",{},{}]},"qed":"9.9"}', b"")
    refused(file, r"no estimator called qed.newborn.Lazy \(the file was written by qed 9.9")
    monkeypatch.setattr("qed.core._codec.packages", lambda: {"newborn"})
    assert type(loads(file)).__name__ == "Lazy"
    for name in ("function", "hidden", "Absent"):
        refused(
            framed(b'{"arrays":[],"model":{"estimator":["qed.newborn.%s",{},{}]},"qed":"9.9"}' % name.encode(), b""),
            f"no estimator called qed.newborn.{name} is known .*written by qed 9.9",
        )


def test_loading_imports_only_packages_of_qed(tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    file = tmp_path / "model.qed"
    file.write_bytes(extra({"estimator": ["trap.Model", {}, {}]}))
    code = (
        "import sys\nfrom qed.core._persistence import load\nfrom qed.core._errors import ModelFileError\n"
        f"try: load({str(file)!r})\nexcept ModelFileError as e: sys.exit(0 if 'trap' not in sys.modules else 1)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0  # noqa: S603


def test_a_field_is_read_under_its_earlier_name_and_never_twice() -> None:
    @record("test-renamed", earlier={"old": "new"})
    class Renamed:
        new: int
        other: int = 0

    header, data = opened(dumps(Everything(extra=Renamed(3))))
    fields = header["model"]["estimator"][1]["extra"]["record"][1]
    assert fields.keys() == {"new", "other"}
    fields["old"] = 4
    refused(sealed(header, data), "'new' twice")
    del fields["new"]
    assert loads(sealed(header, data)).extra == Renamed(4)

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from decimal import Decimal

import numpy as np
import pytest

from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter
from qed.data import ArraySource, Moments, Source, fold, scan

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.fixture
def three_files(tmp_path):
    """300 rows in three files, row groups of 7 rows, columns in a different order in the last file."""
    random = np.random.default_rng(0)
    whole = {name: random.normal(size=300) for name in ("a", "b", "y")}
    whole["s"] = random.uniform(0, 2, 300)
    for number, (start, stop) in enumerate([(0, 100), (100, 101), (101, 300)]):
        part = {name: column[start:stop] for name, column in whole.items()}
        if number == 2:
            part = dict(reversed(part.items()))
        write(tmp_path / f"part{number}.parquet", part, row_group_size=7)
    return tmp_path, whole


@pytest.mark.parametrize("batch_rows", [None, 1, 40, 299, 1000])
def test_chunks_run_across_row_groups_and_files(three_files, batch_rows):
    folder, whole = three_files
    source = scan(str(folder / "*.parquet"), target="y", weight="s", batch_rows=batch_rows)
    assert isinstance(source, Source)
    assert (source.n_rows, source.schema.names, source.schema.n_targets, source.in_memory) == (
        300,
        ("a", "b"),
        1,
        False,
    )
    assert len(source.files) == 3
    for _ in range(2):
        chunks = list(source.chunks())
        for part in source.parts():
            sizes = [chunk.n_rows for chunk in part.chunks()]
            assert sum(sizes) == part.n_rows
            assert max(sizes) == sizes[0] <= (batch_rows or 300)
            assert len(sizes) == -(-part.n_rows // (batch_rows or 300))
        X = np.concatenate([chunk.X for chunk in chunks])
        assert np.array_equal(X, np.column_stack([whole["a"], whole["b"]]))
        assert np.array_equal(np.concatenate([chunk.y for chunk in chunks])[:, 0], whole["y"])
        assert np.array_equal(np.concatenate([chunk.s for chunk in chunks]), whole["s"])
        assert all(chunk.X.flags.f_contiguous for chunk in chunks)


def test_moments_of_files_are_those_of_arrays(three_files):
    folder, whole = three_files
    X = np.column_stack([whole["a"], whole["b"]])
    array = fold(ArraySource(X, whole["y"], whole["s"], chunk_rows=40), Moments.of)
    files = fold(scan(folder, target="y", weight="s", batch_rows=40), Moments.of)
    assert files.rows == array.rows
    np.testing.assert_allclose(files.mean, array.mean, rtol=1e-14)
    np.testing.assert_allclose(files.scatter, array.scatter, rtol=1e-13, atol=1e-13)


def test_paths_in_every_form(three_files):
    folder, _ = three_files
    files = sorted(folder.glob("*.parquet"))
    for paths in (folder, str(folder), files, [str(files[0]), folder / "part[12].parquet"], str(folder / "*.parquet")):
        assert scan(paths).n_rows == 300
    assert scan(files[0]).n_rows == 100
    assert "part0.parquet, 100 rows, 3 features, target ('y',)" in repr(scan(files[0], target="y"))
    assert "3 files" in repr(scan(files))


def test_a_source_can_be_sent_elsewhere(three_files):
    source = pickle.loads(pickle.dumps(scan(three_files[0], target=["y", "b"], features=["s", "a"])))
    assert source.schema.names == ("s", "a")
    assert fold(source, Moments.of).n_targets == 2


TYPES = {
    "int8": pa.array([1, -2, 3], pa.int8()),
    "uint64": pa.array([1, 2, 3], pa.uint64()),
    "bool": pa.array([True, False, True]),
    "half": pa.array(np.array([1.5, -2, 3], np.float16)),
    "float": pa.array([1.5, -2, 3], pa.float32()),
    "decimal": pa.array([Decimal("1.50"), Decimal("-2.00"), Decimal("3.25")]),
    "dictionary": pa.array([7.5, 1.0, 7.5]).dictionary_encode(),
}


@pytest.mark.parametrize("name", TYPES)
def test_every_kind_of_number_is_read(tmp_path, name):
    column = TYPES[name]
    source = scan(write(tmp_path / "a.parquet", {"x": column}))
    (chunk,) = source.chunks()
    assert chunk.X[:, 0].tolist() == [float(value) for value in column.to_pylist()]
    assert chunk.X.dtype == source.schema.dtype == (np.float32 if name in ("half", "float") else np.float64)


def test_float32_is_kept_only_when_all_features_are(tmp_path):
    columns = {"x": pa.array([1.0, 2.0], pa.float32()), "z": pa.array([1, 2], pa.int32()), "y": [1.0, 2.0]}
    path = write(tmp_path / "a.parquet", columns)
    assert scan(path, target="y").schema.dtype == np.float64
    assert scan(path, target="y", features=["x"]).schema.dtype == np.float32
    assert scan(path, target="y", schema={"z": "float32"}).schema.dtype == np.float32
    write(tmp_path / "b.parquet", {**columns, "x": [1.0, 2.0]})
    assert scan(tmp_path, target="y", features=["x"]).schema.dtype == np.float64


def test_numbers_written_as_text_are_read_when_declared(tmp_path):
    path = write(tmp_path / "a.parquet", {"age": ["31", "4.5"], "y": [1.0, 2.0]})
    with pytest.raises(InvalidDataType, match=r"column 'age' of a.parquet holds words.*declare it: .*schema="):
        fold(scan(path, target="y"), Moments.of)
    (chunk,) = scan(path, target="y", schema={"age": "float64"}).chunks()
    assert chunk.X[:, 0].tolist() == [31.0, 4.5]
    write(tmp_path / "b.parquet", {"age": ["31", "old"], "y": [1.0, 2.0]})
    with pytest.raises(
        InvalidDataType, match=r"Column 'age' of b.parquet cannot be read as float64: .*'old'.*row group 0"
    ):
        list(scan(tmp_path / "b.parquet", schema={"age": "float64"}, features=["age"]).chunks())


def test_types_that_drift_between_files(tmp_path):
    write(tmp_path / "a.parquet", {"age": [1.0], "n": [1]})
    write(tmp_path / "b.parquet", {"age": ["7"], "n": [2.5]})
    with pytest.raises(
        InvalidDataType,
        match=r"Column 'age' is double in a.parquet and string in b.parquet. Declare it: schema=\{'age': 'float64'\}",
    ):
        scan(tmp_path)
    assert fold(scan(tmp_path, schema={"age": "float64"}), Moments.of).mean.tolist() == [4.0, 1.75]
    assert fold(scan(tmp_path, features=["n"]), Moments.of).mean.tolist() == [1.75]  # integers beside floats are fine


def test_columns_that_come_and_go(tmp_path):
    write(tmp_path / "a.parquet", {"x": [1.0], "y": [1.0]})
    write(tmp_path / "b.parquet", {"x": [1.0]})
    with pytest.raises(InvalidData, match=r"Column 'y' is not in b.parquet; a.parquet has it. Its columns are 'x'"):
        scan(tmp_path, target="y")
    write(tmp_path / "b.parquet", {"x": [1.0], "y": [1.0], "z": [1.0]})
    with pytest.raises(InvalidData, match=r"b.parquet has a column 'z' that a.parquet lacks.*features="):
        scan(tmp_path, target="y")
    assert scan(tmp_path, target="y", features=["x"]).n_rows == 2
    with pytest.raises(InvalidData, match=r"Column 'w' is not in a.parquet. Its columns are 'x', 'y'"):
        scan(tmp_path, target="y", features=["x"], weight="w")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, 2], pa.timestamp("s")), "timestamp"),
        ([[1.0], [2.0]], "list"),
        (pa.nulls(2), "null"),
    ],
)
def test_what_is_not_a_number_is_refused_before_reading(tmp_path, column, kind):
    path = write(tmp_path / "a.parquet", {"x": [1.0, 2.0], "city": column})
    with pytest.raises(InvalidDataType, match=rf"Column 'city' of a.parquet is {kind}.*only numbers.*features="):
        scan(path)


@pytest.mark.parametrize("column", [["u", "v"], pa.array(["u", "v"]).dictionary_encode()], ids=["string", "dictionary"])
def test_words_are_features_alone(tmp_path, column):
    path = write(tmp_path / "a.parquet", {"x": [1.0, 2.0], "city": column})
    assert scan(path).schema.words == (1,)
    for roles in ({"target": "city"}, {"weight": "city"}):
        with pytest.raises(InvalidDataType, match=r"Column 'city' of a.parquet is .*only numbers.*features="):
            scan(path, **roles)


def test_missing_values_are_named(tmp_path):
    column = pa.array([None if i == 23 else float(i) for i in range(40)])
    path = write(tmp_path / "a.parquet", {"x": np.zeros(40), "age": column}, row_group_size=10)
    for batch_rows in (None, 4):
        with pytest.raises(InvalidData, match=r"X contains NaN: row 23 of a.parquet, column 'age'"):
            fold(scan(path, batch_rows=batch_rows), Moments.of)
        for role in ("target", "weight"):
            where = r"Column 'age' has no value in row 23 of a.parquet \(row group 2\)"
            with pytest.raises(InvalidData, match=where):
                fold(scan(path, batch_rows=batch_rows, **{role: "age"}), Moments.of)


def test_values_that_are_not_finite_are_named_by_file_row_and_column(tmp_path):
    write(tmp_path / "a.parquet", {"x": np.zeros(40), "y": np.zeros(40)})
    bad = np.zeros(40)
    bad[31] = np.nan
    write(tmp_path / "b.parquet", {"x": np.zeros(40), "y": bad})
    with pytest.raises(InvalidData, match=r"Input y contains NaN: row 31 of b.parquet, column 'y'"):
        fold(scan(tmp_path, target="y", batch_rows=17), Moments.of)
    with pytest.raises(InvalidData, match=r"Input X contains NaN: row 31 of b.parquet, column 'y'"):
        fold(scan(tmp_path), Moments.of)


def test_weights_are_checked_while_reading(tmp_path):
    s = np.ones(40)
    s[33] = -2.0
    path = write(tmp_path / "a.parquet", {"x": np.zeros(40), "s": s})
    with pytest.raises(InvalidData, match=r"weights in column 's' of a.parquet .* got -2\.0 in row 33"):
        fold(scan(path, weight="s", batch_rows=8), Moments.of)


def test_files_that_are_not_parquet(tmp_path):
    with pytest.raises(InvalidData, match=r"No file matches '.*nothing\*\.parquet'"):
        scan(str(tmp_path / "nothing*.parquet"))
    with pytest.raises(InvalidData, match=r"No file matches"):
        scan(tmp_path)
    with pytest.raises(InvalidData, match=r"empty list of paths"):
        scan([])
    with pytest.raises(InvalidData, match=r"partition 0 is a int; a pandas, polars or Arrow frame, or a path"):
        scan([3])
    text = tmp_path / "table.csv"
    text.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidData, match=r"table.csv is not a Parquet file: it begins with b'a,b\\n'"):
        scan(text)
    empty = tmp_path / "empty.parquet"
    empty.touch()
    with pytest.raises(InvalidData, match=r"empty.parquet is not a Parquet file"):
        scan(empty)
    whole = write(tmp_path / "whole.parquet", {"x": np.arange(1000.0)}).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidData, match=rf"cut.parquet is cut short.* {len(whole) // 2} bytes"):
        scan(cut)
    cut.write_bytes(whole[:200] + whole[-8:])
    with pytest.raises(InvalidData, match=r"cut.parquet is a damaged Parquet file"):
        scan(cut)


def test_damage_inside_a_file_is_found_while_reading(tmp_path):
    path = write(tmp_path / "a.parquet", {"x": np.random.default_rng(0).normal(size=5000)}, row_group_size=1000)
    raw = bytearray(path.read_bytes())
    raw[4:60] = b"\xff" * 56
    path.write_bytes(raw)
    with pytest.raises(InvalidData, match=r"a.parquet is damaged: .* at row 0"):
        list(scan(path).chunks())


def test_a_file_that_changed_after_the_scan(tmp_path):
    path = write(tmp_path / "a.parquet", {"x": np.zeros(5)})
    source = scan(path)
    write(path, {"x": np.zeros(6)})
    with pytest.raises(InvalidData, match=r"a.parquet has 6 rows, and had 5 when it was scanned"):
        list(source.chunks())
    path.unlink()
    with pytest.raises(InvalidData, match=r"a.parquet does not exist"):
        list(source.chunks())


def test_no_rows_are_still_a_chunk(tmp_path):
    path = write(tmp_path / "a.parquet", {"x": np.zeros(0), "y": np.zeros(0)})
    (chunk,) = scan(path, target="y").chunks()
    assert (chunk.n_rows, chunk.n_features, chunk.n_targets) == (0, 1, 1)
    assert fold(scan(path), Moments.of).rows == 0


def test_parameters_are_checked(tmp_path):
    path = write(tmp_path / "a.parquet", {"x": [1.0], "y": [1.0]})
    for wrong, match in [
        ({"batch_rows": 0}, "batch_rows must be an integer >= 1"),
        ({"features": "x"}, "several column names, got the single word 'x'"),
        ({"features": [1]}, "must be column names"),
        ({"features": ["x", "x"]}, "names a column twice"),
        ({"target": "x", "features": ["x"]}, "'x' is named as a feature and as the target"),
        ({"weight": "x", "features": ["x"]}, "'x' is named as a feature and as the weight"),
        ({"weight": "x", "target": "x"}, "'x' is named as the target and as the weight"),
        ({"schema": {"x": "date"}}, "float64 or float32, got 'date' for 'x'"),
    ]:
        with pytest.raises(InvalidParameter, match=match):
            scan(path, **wrong)
    with pytest.raises(InvalidData, match=r"No column is left to learn from: a.parquet has"):
        scan(path, target=["x", "y"])
    pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"]), path)
    with pytest.raises(InvalidData, match=r"two columns called 'x'"):
        scan(path)


def test_neither_pandas_nor_pyarrow_is_loaded_without_need(three_files):
    code = textwrap.dedent("""
        import sys
        from qed.data import Moments, fold, scan
        assert not {"pyarrow", "pandas", "scipy", "concurrent.futures"} & set(sys.modules)
        fold(scan(sys.argv[1], target="y"), Moments.of)
        assert "pyarrow" in sys.modules
        assert "pandas" not in sys.modules
    """)
    subprocess.run([sys.executable, "-c", code, str(three_files[0])], check=True)  # noqa: S603  our own interpreter and code


def test_memory_of_a_chunk_is_used_again_only_when_nobody_holds_it():
    from qed.data._parquet_parts import _room  # noqa: PLC0415

    kind = np.dtype(np.float64)
    first = _room(100, 3, kind)
    first[:] = 7.0
    view = first[10:, 1:]
    place = first.ctypes.data
    second = _room(100, 3, kind)
    second[:] = 1.0
    del first
    third = _room(100, 3, kind)  # a view of the first still lives
    third[:] = 2.0
    assert (view == 7.0).all()
    assert (second == 1.0).all()
    assert place not in (second.ctypes.data, third.ctypes.data)
    del view, second, third
    small = _room(5, 2, np.dtype(np.float32))
    assert small.shape == (5, 2)
    assert small.flags.f_contiguous


def test_packed_arrays_keep_all_bits():
    import pickle  # noqa: PLC0415  (what Dask sends)

    from qed.data._parts import PairedPart  # noqa: PLC0415

    rng = np.random.default_rng(0)
    labels = np.where(rng.random((1000, 1)) < 0.5, 1.0, -1.0)
    for u in (
        labels,
        np.full((9, 1), 0.1),
        rng.random((50, 2)),
        np.array([[0.0], [-0.0]]),
        np.array([[np.nan], [1e300]]),
    ):
        sent = pickle.dumps(PairedPart(None, u, u[:, 0]))
        back = pickle.loads(sent)
        assert back.u.shape == u.shape
        assert back.u.tobytes() == u.tobytes()
        assert back.c.tobytes() == u[:, 0].tobytes()
    assert len(pickle.dumps(PairedPart(None, labels, None))) < 1.5 * labels.size


def test_files_of_a_store_by_address(tmp_path):
    folder = tmp_path / "sales" / "north"
    folder.mkdir(parents=True)
    for number in range(3):
        write(folder / f"{number}.parquet", {"x": [float(number), 1.0], "y": [1.0, 2.0]})
    write(tmp_path / "sales" / "other.parquet", {"x": [9.0], "y": [9.0]})
    base = f"file://{tmp_path}"
    here = fold(scan(folder, target="y"), Moments.of)
    for address in (f"{base}/sales/north/*.parquet", f"{base}/sales/north", f"{base}/sales/*/*.parquet"):
        assert fold(scan(address, target="y"), Moments.of) == here
    assert scan(f"{base}/sales/*.parquet").n_rows == 1
    assert scan(f"{base}/**/*.parquet").n_rows == scan(f"{base}/sales").n_rows == 7
    assert scan(f"{base}/sales/other.parquet").files == (f"{base}/sales/other.parquet",)
    with pytest.raises(InvalidData, match=r"No file matches 'file://.*/north/\*.csv'"):
        scan(f"{base}/sales/north/*.csv")
    with pytest.raises(InvalidData, match=r"'nowhere://a/\*.parquet' cannot be listed: Unrecognized filesystem"):
        scan("nowhere://a/*.parquet")
    source = scan(f"{base}/sales/north/*.parquet", target="y")
    assert scan(f"{base}/sales/north/").files == scan(f"{base}/sales/north").files == source.files
    assert scan(f"{base}/sales/north/0.parquet/").files == (f"{base}/sales/north/0.parquet",)
    (folder / "1.parquet").unlink()
    with pytest.raises(InvalidData, match=r"north/1.parquet does not exist"):
        fold(source, Moments.of)


def test_addresses_of_a_store_are_quoted(tmp_path):
    folder = tmp_path / "far north" / "year=2020"
    folder.mkdir(parents=True)
    for number, name in enumerate(["50% #1", "a?b", "plain"]):
        write(folder / f"{name}.parquet", {"x": [float(number), 1.0]})
    base = f"file://{tmp_path}"
    quoted = [f"{base}/far%20north/year=2020/{name}.parquet" for name in ("50%25%20%231", "a%3Fb", "plain")]
    for address in ("far%20north", "far%20north/", "far%20north/*/*.parquet", "*/year=2020/*", "**/*.parquet"):
        source = scan(f"{base}/{address}")
        assert list(source.files) == quoted
        assert fold(source, Moments.of).rows == 6
    assert scan(f"{base}/far%20north/*/50%25*.parquet").n_rows == 2
    assert scan(quoted[0]).files == (quoted[0],)
    assert next(iter(scan(quoted[0]).chunks())).origin.row(1) == "row 1 of 50% #1.parquet"


@pytest.mark.parametrize("address", ["a/?.parquet", "part?", "part?/year=2020/*.parquet", "a?region=eu&?"])
def test_a_question_mark_in_an_address_begins_options(tmp_path, address):
    with pytest.raises(InvalidData, match=r"where options of the store may be, .* '%3F' for a question mark"):
        scan(f"file://{tmp_path}/{address}")
    write(tmp_path / "0.parquet", {"x": [1.0]})
    assert scan(f"file://{tmp_path}?region=eu").files == (f"file://{tmp_path}/0.parquet?region=eu",)

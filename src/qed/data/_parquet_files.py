"""What the footers of Parquet files say: which columns, of which types, how many rows; nothing else is read here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Paths = str | os.PathLike[str]
DECLARABLE = ("float64", "float32")
PLAIN = "/!$&'()*+,;=:@~"  # what stands as it is in the path of an address, beside letters and digits (RFC 3986)


@dataclass(frozen=True)
class Footer:
    """One file: its path, rows, the first row of each row group, and the type of each column in words."""

    path: str
    n_rows: int
    starts: tuple[int, ...]
    types: Mapping[str, str]
    numbers: frozenset[str]  # columns that hold numbers, whatever their type is called
    words: frozenset[str]  # columns that hold words
    text: Mapping[str, int]  # bytes of each of these in the file, before they were compressed

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return Path(unquote(self.path.partition("?")[0])).name if "://" in self.path else Path(self.path).name


def parquet_module() -> Any:
    """Import pyarrow's Parquet reader, which only this source needs."""
    try:
        from pyarrow import parquet  # noqa: PLC0415  heavy, and most users have arrays
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow. Install it: pip install 'qed[tables]'.") from error
    return parquet


def find_files(paths: Paths | Iterable[Paths]) -> list[str]:
    """List the files meant by a path, a folder, a glob or several of these, each pattern's matches sorted."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not several:
        raise InvalidData("scan got an empty list of paths. Give a file, a folder, a glob such as 'sales/*.parquet'.")
    found: list[str] = []
    for path in several:
        if not isinstance(path, str | os.PathLike):
            raise InvalidParameter(f"scan takes paths (str or Path), one or several; got {path!r}.")
        text = os.fspath(path)
        if "://" in text:
            found += _stored_files(text)
            continue
        if Path(text).is_file():
            found.append(text)
            continue
        pattern = str(Path(text) / "**" / "*.parquet") if Path(text).is_dir() else text
        matches = sorted(match for match in glob(pattern, recursive=True) if Path(match).is_file())  # noqa: PTH207  Path.glob takes no absolute pattern
        if not matches:
            raise InvalidData(f"No file matches {pattern!r}, seen from {Path.cwd()}. Check the path and its spelling.")
        found += matches
    return found


def _stored_files(uri: str) -> list[str]:
    """List the files of an object store or a remote file system that an address means: a file, a folder, or a glob."""
    import pyarrow as pa  # noqa: PLC0415  (Parquet files are about to be read)
    from pyarrow import fs  # noqa: PLC0415

    parquet_module()
    address, question, options = uri.partition("?")
    if question and not all(re.match(r"\w+=", one) for one in options.split("&")):
        raise InvalidData(
            f"{uri!r} has '?{options}' where options of the store may be, such as '?region=eu-west-1'. In an address '*' alone"
            " stands for part of a name, and '%3F' for a question mark."
        )
    scheme, _, place = address.partition("://")
    place = place.rstrip("/")
    fixed = place if "*" not in place else place[: place.index("*")].rpartition("/")[0]
    try:
        system, root = fs.FileSystem.from_uri(f"{scheme}://{fixed or '/'}{question}{options}")
        if fixed == place and system.get_file_info(root).type == fs.FileType.File:
            return [f"{scheme}://{place}{question}{options}"]
        listed = system.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        words = str(error).strip().splitlines()[0]
        raise InvalidData(f"{uri!r} cannot be listed: {words}. Check the address, and the right to read it.") from error
    root = root.rstrip("/")
    paths = sorted(one.path for one in listed if one.type == fs.FileType.File)
    outside = [path for path in paths if not path.startswith(root)]
    if outside:
        raise InvalidData(
            f"{uri!r} lists {outside[0]!r}, which is not in {root!r}. Give the addresses of files instead."
        )
    below = ["/" + path[len(root) :].lstrip("/") for path in paths]
    wanted = "/**/*.parquet" if fixed == place else unquote(place[len(fixed) :])
    found = [
        f"{scheme}://{fixed}{quote(name, safe=PLAIN)}{question}{options}" for name in below if _is_meant(name, wanted)
    ]
    if not found:
        raise InvalidData(f"No file matches {uri!r}. Check the address and its spelling.")
    return found


def _is_meant(name: str, pattern: str) -> bool:
    """Tell whether a name matches a glob, in which ``**`` stands for any number of folders and ``*`` for part of a name."""
    if "**" in pattern:
        return fnmatchcase(name, pattern.replace("**/", "*"))
    pairs = zip(name.split("/"), pattern.split("/"), strict=False)
    return name.count("/") == pattern.count("/") and all(fnmatchcase(one, own) for one, own in pairs)


def open_file(path: str, **options: Any) -> Any:
    """Open a Parquet file, or say in words why it cannot be read."""
    import pyarrow as pa  # noqa: PLC0415  a Parquet file is about to be read

    try:
        return parquet_module().ParquetFile(path, **options)
    except (pa.ArrowException, OSError) as error:
        raise InvalidData(_why_not(path, error)) from error


def read_footer(path: str) -> Footer:
    """Read the footer of a file."""
    import pyarrow.types as kinds  # noqa: PLC0415  a Parquet file is about to be read

    with open_file(path) as file:
        columns, metadata = file.schema_arrow, file.metadata
        names = list(columns.names)
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise InvalidData(
                f"{Path(path).name} has two columns called {twice[0]!r}. Write it again with one name each."
            )
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

        def named(*tests: Callable[[Any], bool]) -> frozenset[str]:
            kind = {one.name: one.type.value_type if kinds.is_dictionary(one.type) else one.type for one in columns}
            return frozenset(name for name, own in kind.items() if any(test(own) for test in tests))

        words = named(kinds.is_string, kinds.is_large_string, kinds.is_string_view)
        return Footer(
            path=path,
            n_rows=metadata.num_rows,
            starts=tuple(accumulate(sizes, initial=0)),
            types={field.name: str(field.type) for field in columns},
            numbers=named(kinds.is_floating, kinds.is_integer, kinds.is_boolean, kinds.is_decimal),
            words=words,
            text=_bytes_of(words, metadata),
        )


def _bytes_of(columns: frozenset[str], metadata: Any) -> dict[str, int]:
    places = [(k, metadata.schema.column(k).path) for k in range(metadata.num_columns)] if columns else []
    groups = range(metadata.num_row_groups)
    return {
        name: sum(metadata.row_group(i).column(k).total_uncompressed_size for i in groups)
        for k, name in places
        if name in columns
    }


def check_columns(
    footers: Sequence[Footer],
    wanted: Sequence[str],
    features: Sequence[str],
    declared: Mapping[str, str],
    *,
    all_of: bool,
) -> None:
    """Refuse files that lack a wanted column, hold words where numbers belong, or disagree with the first file.

    Features may be words, in every file. `all_of` says that every column of the first file is wanted: then an extra column in a
    later one is an error too.
    """
    first = footers[0]
    for footer in footers:
        for name in wanted:
            if name not in footer.types:
                raise InvalidData(_missing(name, footer, first))
            are_words = name in features and name in first.words
            if name not in (footer.words if are_words else footer.numbers) and name not in declared:
                raise InvalidDataType(_not_a_number(name, footer, first))
        extra = sorted(footer.types.keys() - first.types.keys()) if all_of else []
        if extra:
            raise InvalidData(
                f"{footer.name} has a column {extra[0]!r} that {first.name} lacks, so the files do not agree on the "
                "features. Name the ones you want: features=[...]."
            )


def _missing(name: str, footer: Footer, first: Footer) -> str:
    have = ", ".join(repr(column) for column in list(footer.types)[:20])
    more = "" if len(footer.types) <= 20 else f" and {len(footer.types) - 20} more"
    known = f"; {first.name} has it" if name in first.types else ""
    return f"Column {name!r} is not in {footer.name}{known}. Its columns are {have}{more}."


def _not_a_number(name: str, footer: Footer, first: Footer) -> str:
    here = footer.types[name]
    declare = f"schema={{{name!r}: 'float64'}}"
    if name in footer.numbers:
        return (
            f"Column {name!r} is {first.types[name]} in {first.name} and {here} in {footer.name}. Write it with one type; or,"
            f" if it holds numbers, declare it: {declare}."
        )
    if footer is not first and name in first.numbers:
        there = f"{first.types[name]} in {first.name}"
        return f"Column {name!r} is {there} and {here} in {footer.name}. Declare it: {declare}."
    return (
        f"Column {name!r} of {footer.name} is {here}, and only numbers (and words, as features) are accepted. Leave it out by"
        f" naming the features=[...] you want, or, if it holds numbers written as text, declare it: {declare}."
    )


def _why_not(path: str, error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path} does not exist (any more). Scan again, with the files that are there."
    if isinstance(error, PermissionError):
        return f"{path} may not be read: {error.strerror}. Ask for the right to read it."
    if "://" in path:
        return f"{path} cannot be read: {str(error).strip().splitlines()[0]}."
    return _damage(path, error)


def _damage(path: str, error: BaseException) -> str:
    """Say what is wrong with a file that can be opened, from its first and last bytes."""
    name = Path(path).name
    try:
        with Path(path).open("rb") as raw:
            head = raw.read(4)
            size = raw.seek(0, os.SEEK_END)
            raw.seek(max(0, size - 4))
            tail = raw.read(4)
    except OSError as second:
        return f"{path} cannot be read: {second}."
    if head != b"PAR1":
        return f"{name} is not a Parquet file: it begins with {head!r}, a Parquet file with b'PAR1'. ({size} bytes.)"
    if tail != b"PAR1":
        return f"{name} is cut short: it begins as a Parquet file and ends early, after {size} bytes. Copy it again."
    return f"{name} is a damaged Parquet file: {str(error).strip().splitlines()[0]}. Copy or write it again."

"""Mutate model files, load them and call every method: each is refused, or gives a model that answers or refuses in words.

Usage::

    python tools/fuzz_files.py --count 2000000 --seconds 1200 --record

Honest files of every estimator come from ``tests/golden``. Four mutants of five are changed where values are known for what they
are (``fuzz_trees``): parameters, attributes, arrays, records, models inside, within one file and between two. The others are
changed as bytes in seven ways, most of them with lengths and checksum put right again, so that the change is met by the check that
should notice it and not by the checksum. A model that loads is asked everything it can be asked (``fuzz_methods``). Case number i
of a seed is always the same file. Work is done in child processes with bounded memory and time, many cases in each; one that dies
or stands still is a finding, and its case is made again by number. Findings are written to a folder, each as a file and a text
that says what happened.

``--sanitize`` does the same with native code under AddressSanitizer, in the modules that ``tools/sanitize.py --modules`` has built.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime as dt
import faulthandler
import hashlib
import importlib
import importlib.util
import io
import json
import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._container import ALIGNMENT, MAGIC, pieces, read
from qed.core._errors import ModelFileError
from qed.core._persistence import assembled, dumps, loads
from qed.core._version import __version__

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fuzz_methods import exercise
from fuzz_record import RECORD, append
from fuzz_trees import Spots, Tree, mutant, odd_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
MEMORY = 1 << 30
OLDEST = 1  # format of mutants: what it asks of a file all later ones do
SLOWEST = 3.0  # seconds of the processor that one case may take
PATIENCE = 20.0  # seconds after which a child that does not even hear the alarm is ended

DEEP: Any = []
for _ in range(90):
    DEEP = [DEEP]

ODD_NODES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 2**63, "", "0", "é", "a" * 5000,
    [], {}, [[]], [None], DEEP, {"tuple": [DEEP]}, {"tuple": []}, {"dict": []}, {"dict": [["a", 1]]},
    {"array": 0}, {"array": 1}, {"array": -1}, {"array": 10**6}, {"int": "0x" + "f" * 40}, {"int": "-0x" + "f" * 4000},
    {"float": "inf"}, {"float": "-inf"}, {"float": "nan:7ff8000000000000"}, {"float": "nan:fff0000000000001"},
    {"float": "0x0.0p+0"}, {"float": "-0x0.0p+0"}, {"float": "0x1.fffffffffffffp+1023"},
    {"float": "0x0.0000000000001p-1022"}, {"float": "-0x1.8000000000000p+1"},
    {"scalar": ["<f8", "000000000000f87f"]}, {"scalar": ["<i8", "ff" * 8]}, {"scalar": ["|b1", "01"]},
    {"scalar": ["str", "word"]}, {"strings": [[0], {"array": 0}, {"array": 1}]},
    {"record": ["fingerprint", {}]}, {"record": ["test-summary", {"rows": 1}]}, {"random": None},
    {"estimator": ["golden.Everything", {}, {}]}, {"estimator": ["qed.linear_model.Ridge", {}, {}]},
    {"estimator": ["os.system", {}, {}]},
)  # fmt: skip
ODD_TEXTS = tuple(json.dumps(node) for node in ODD_NODES)
ODD_NUMBERS = (0, -1, 1, 63, 64, 127, 2**31 - 1, 2**31, 2**32, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 10**30)
ODD_DTYPES = (
    "<f8", "<f4", "<f2", "<i8", "<i4", "<u8", "|b1", "|i1", "|u1", "<U1", "<U7", ">f8", "|O", "<M8[s]", "<c16", "",
)  # fmt: skip
SMALL_SHAPES: tuple[list[Any], ...] = ([], [0], [1], [2], [3], [0, 3], [3, 0], [1, 3], [3, 1], [1, 1, 3])
ODD_SHAPES = (*SMALL_SHAPES, [2**62], [0, 2**62], [1] * 40, [-1], ["3"])
ODD_NAMES = (
    "predict", "fit", "__class__", "__dict__", "coef_", "intercept_", "alpha", "n_features_in_", "a b", "", "_output",
)  # fmt: skip


@dataclass(frozen=True)
class Seed:
    """An honest file, its parts, every path through its header, and rows and targets that its model can be asked about."""

    data: bytes
    text: str
    arrays: tuple[np.ndarray[Any, Any], ...]
    paths: tuple[tuple[Any, ...], ...]
    spots: Spots
    X: Any
    y: Any


class Slow(BaseException):
    """A case took too long; not an Exception, so that no handler mistakes it for a bad file."""


def load_everything() -> Any:
    """Import the test estimator that holds every kind of value."""
    if "everything" not in sys.modules:
        spec = importlib.util.spec_from_file_location("everything", GOLDEN / "everything.py")
        if spec is None or spec.loader is None:
            raise SystemExit(f"{GOLDEN / 'everything.py'} is missing: run from a complete checkout")
        sys.modules["everything"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["everything"])
    return sys.modules["everything"]


def seed_of(data: bytes, X: Any, y: Any) -> Seed:
    """Take an honest file apart."""
    header, arrays, _ = read(io.BytesIO(data), len(data))
    text = json.dumps(header, ensure_ascii=False)
    return Seed(data, text, tuple(arrays), tuple(_paths(header)), Spots(Tree(header["model"], tuple(arrays))), X, y)


def honest_files() -> list[Seed]:
    """Return the files to start from: the golden ones, a small model and one with every kind of value."""
    everything = load_everything()
    X = np.linspace(-1, 1, 12).reshape(4, 3)
    small = everything.Everything(0.5).fit(X + np.eye(4, 3), np.arange(4.0))
    summary = everything.Summary(3, 0.5, np.ones(2), "solved", None)
    seeds = [
        seed_of(dumps(model), X, np.arange(4.0))
        for model in (
            small,
            everything.Everything(extra=[summary, np.array(["a", "bc"], object)]),
            everything.example(),
        )
    ]
    for path in sorted(GOLDEN.glob("*.qed")):
        answer = json.loads(path.with_suffix(".json").read_text())
        rows = answer["X"] if answer.get("list") else np.asarray(answer["X"], np.float64)
        said = np.asarray(answer["predictions"])
        seeds.append(
            seed_of(path.read_bytes(), rows, said if len(said) == len(rows) and said.size else np.arange(len(rows)))
        )
    return seeds


def _paths(node: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        found += _paths(child, (*here, key))
    return found


# ---- putting a file together -----------------------------------------------------------------------------------------


def sealed(text: bytes, data: bytes) -> bytes:
    """Frame a header and array bytes with honest lengths and an honest checksum."""
    start = -(-(32 + len(text)) // ALIGNMENT) * ALIGNMENT
    body = struct.pack("<8sIIQQ", MAGIC, 1, 0, len(text), start + len(data) + 32) + text
    body += bytes(start - len(body)) + data
    return body + hashlib.sha256(body).digest()


def canonical(header: Any) -> bytes:
    """Write a header in the one accepted way."""
    text = json.dumps(header, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def parts_of(data: bytes) -> tuple[bytes, bytes]:
    """Return header and array bytes of an honest file."""
    (length,) = struct.unpack_from("<Q", data, 16)
    return data[32 : 32 + length], data[-(-(32 + length) // ALIGNMENT) * ALIGNMENT : -32]


# ---- the seven ways to change a file ---------------------------------------------------------------------------------


def scratch(rng: random.Random, source: bytes) -> bytes:
    """Change, cut, repeat, insert or delete a few bytes."""
    data = bytearray(source)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at, way = rng.randrange(len(data)), rng.random()
        if way < 0.4:
            data[at] ^= 1 << rng.randrange(8)
        elif way < 0.6:
            data[at] = rng.choice((0, 1, 0x20, 0x22, 0x2C, 0x30, 0x39, 0x5B, 0x7B, 0x7F, 0x80, 0xFF))
        elif way < 0.7:
            del data[at : at + rng.randrange(1, 9)]
        elif way < 0.8:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif way < 0.9:
            data[at:at] = data[at : at + rng.randrange(1, 65)]
        else:
            data[at : at + 8] = rng.choice(
                (bytes(8), b"\xff" * 8, struct.pack("<d", float("nan")), b"\0" * 7 + b"\x80")
            )
    return bytes(data)


def raw(rng: random.Random, seed: Seed, _: Seed) -> bytes:
    """Damage the file as a disk or a network would."""
    if rng.random() < 0.3:
        return seed.data[: rng.randrange(len(seed.data))]
    return scratch(rng, seed.data)


def beginning(rng: random.Random, seed: Seed, _: Seed) -> bytes:
    """Change the numbers at the beginning and make the checksum agree."""
    numbers = list(struct.unpack_from("<IIQQ", seed.data, 8))
    numbers[rng.randrange(4)] = rng.choice(ODD_NUMBERS) & 0xFFFFFFFF
    body = MAGIC + struct.pack("<IIQQ", *numbers) + seed.data[32:-32]
    return body + hashlib.sha256(body).digest()


def header_text(rng: random.Random, seed: Seed, _: Seed) -> bytes:
    """Scratch the text of the header."""
    text, data = parts_of(seed.data)
    return sealed(scratch(rng, text), data)


def array_bytes(rng: random.Random, seed: Seed, _: Seed) -> bytes:
    """Scratch the arrays, keeping their length."""
    text, data = parts_of(seed.data)
    return sealed(text, scratch(rng, data)[: len(data)].ljust(len(data), b"\0"))


def header_tree(rng: random.Random, seed: Seed, other: Seed) -> bytes:
    """Replace, delete, repeat, swap or rename values in the header."""
    header = json.loads(seed.text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(seed.paths)
        if path:
            _change(rng, header, path, other)
    return sealed(canonical(header), parts_of(seed.data)[1])


def _change(rng: random.Random, header: Any, path: tuple[Any, ...], other: Seed) -> None:
    holder, way = header, rng.random()
    try:
        for step in path[:-1]:
            holder = holder[step]
        key = path[-1]
        here = holder[key]
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took the place away
    if not isinstance(holder, dict | list):
        return
    if way < 0.15:
        del holder[key]
    elif way < 0.25 and isinstance(holder, dict):
        holder[rng.choice(ODD_NAMES)] = holder.pop(key)
    elif way < 0.3 and isinstance(holder, list):
        holder.insert(key, here)
    elif way < 0.45:
        holder[key] = _graft(json.loads(other.text), rng.choice(other.paths))
    elif type(here) is int and way < 0.8:
        holder[key] = rng.choice((here + 1, here - 1, -here, here * 2, rng.choice(ODD_NUMBERS)))
    elif isinstance(here, str) and way < 0.8:
        holder[key] = rng.choice((*ODD_NAMES, *ODD_DTYPES, here[:-1], here + "0", here.upper(), here[::-1]))
    else:
        holder[key] = json.loads(rng.choice(ODD_TEXTS))


def _graft(header: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        header = header[step]
    return header


def whole_arrays(rng: random.Random, seed: Seed, _: Seed) -> bytes:
    """Put other arrays in the place of one or two, or describe them otherwise; the layout stays honest."""
    header, arrays = json.loads(seed.text), list(seed.arrays)
    for _round in range(rng.choice((1, 1, 2))):
        if arrays:
            at = rng.randrange(len(arrays))
            arrays[at] = _other_array(rng, arrays[at])
    if rng.random() < 0.2:
        arrays.append(np.ones(rng.randrange(4)))
    if rng.random() < 0.2 and seed.paths:
        _change(rng, header, rng.choice(seed.paths[1:]), seed)
    if not isinstance(header, dict) or not all(isinstance(key, str) for key in header):
        header = {}
    try:
        return b"".join(pieces(header, arrays, OLDEST))
    except ValueError:  # half a character, or nothing that JSON can say
        return seed.data


def _other_array(rng: random.Random, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    way = rng.random()
    if way < 0.35 and array.size:
        changed = array.copy()
        for _ in range(rng.choice((1, 1, 2, 3))):
            with np.errstate(all="ignore"):
                changed.flat[rng.randrange(array.size)] = rng.choice(odd_elements(array.dtype))
        return changed
    if way < 0.5 and array.dtype.kind != "U":
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(("<f4", "<f2", "<i8", "<u4", "|b1", "<U5", "<f8")))
    if way < 0.6:
        return array.ravel()[: rng.randrange(array.size + 1)]
    if way < 0.7:
        return np.concatenate([array.ravel(), array.ravel()])
    if way < 0.8:
        return array[None] if rng.random() < 0.5 else array.T
    return np.full(rng.choice(SMALL_SHAPES), rng.choice((0, 1, -1, 1000)), rng.choice(("<f8", "<i4", "<i8")))


def layout(rng: random.Random, seed: Seed, other: Seed) -> bytes:
    """Lie about type, shape or offset of an array, or join the header of one file to the arrays of another."""
    if rng.random() < 0.2:
        return sealed(parts_of(seed.data)[0], parts_of(other.data)[1])
    header = json.loads(seed.text)
    if header["arrays"]:
        entry = rng.choice(header["arrays"])
        place = rng.randrange(3)
        odd = (ODD_DTYPES, (*ODD_SHAPES, entry[1] * 2, entry[1][::-1], [*entry[1], 1]), ODD_NUMBERS)[place]
        entry[place] = rng.choice(odd)
    data = parts_of(seed.data)[1]
    return sealed(canonical(header), data if rng.random() < 0.8 else data + bytes(rng.randrange(1, 200)))


WAYS: tuple[Callable[[random.Random, Seed, Seed], bytes], ...] = (
    *(raw, beginning, array_bytes, layout),
    *(header_text, whole_arrays) * 2,
    *(header_tree,) * 3,
)


def case(number: int, seed: int, seeds: Sequence[Seed]) -> tuple[bytes | Tree, Seed]:
    """Return mutant number `number` of this seed, and the honest file that it came from."""
    rng = random.Random((seed << 40) + number)  # noqa: S311  not a secret
    source, other = rng.choice(seeds), rng.choice(seeds)
    if rng.random() < 0.8:
        return mutant(rng, source.spots, other.spots), source
    return rng.choice(WAYS)(rng, source, other), source


def written(made: bytes | Tree) -> bytes:
    """Return the bytes of a mutant."""
    if isinstance(made, bytes):
        return made
    header = {"model": made.model, "qed": __version__}
    try:
        return b"".join(pieces(header, list(made.arrays), OLDEST))
    except (ModelFileError, ValueError):  # nothing that a file could say, such as half a character
        return repr(header).encode("utf-8", "backslashreplace")


# ---- judging ---------------------------------------------------------------------------------------------------------


def judge(made: bytes | Tree, source: Seed) -> str:
    """Load a mutant and ask it everything: return what became of it, or raise whatever should not have happened."""
    try:
        if isinstance(made, bytes):
            model = loads(made)
        else:
            model = assembled(
                {"arrays": [], "model": made.model, "qed": __version__}, [one.copy() for one in made.arrays], OLDEST
            )
    except ModelFileError as error:
        if isinstance(error.__cause__, MemoryError | SystemError | RecursionError):
            raise error.__cause__ from error
        return "refused"
    except (MemoryError, SystemError, RecursionError):
        raise
    except Exception:
        return "refused"
    return "answers" if exercise(model, source.X, source.y) else "model refuses"


def work(numbers: range, seed: int, seeds: Sequence[Seed], report: Callable[[int, str, str], None]) -> None:
    """Try the cases with these numbers; `report` hears number, outcome and, for a finding, its story."""

    def too_slow(*_: object) -> None:
        raise Slow(f"more than {SLOWEST} s")

    previous = signal.signal(signal.SIGPROF, too_slow)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in numbers:
                made, source = case(number, seed, seeds)
                signal.setitimer(signal.ITIMER_PROF, SLOWEST)
                try:
                    outcome, story = judge(made, source), ""
                except (Exception, Slow):
                    outcome, story = "finding", traceback.format_exc()
                signal.setitimer(signal.ITIMER_PROF, 0)
                report(number, outcome, story)
    finally:
        signal.signal(signal.SIGPROF, previous)


# ---- children with bounded memory ------------------------------------------------------------------------------------

OUTCOMES = ("refused", "model refuses", "answers", "finding")


def _activity(pid: int) -> tuple[bool, float]:
    """Return whether a process runs or is paused, and the processor seconds that it has had; no and 0 where nobody tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False, 0.0
    return fields[0] in "RT", (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child:
    """A process that tries every `jobs`-th case; shared memory tells how far it is, files tell what it found."""

    def __init__(self, first: int, jobs: int, options: argparse.Namespace, seeds: Sequence[Seed]) -> None:
        self.first, self.jobs, self.options, self.seeds = first, jobs, options, seeds
        self.shared = mmap.mmap(-1, 8 * (1 + len(OUTCOMES)))
        self.deaths: list[int] = []
        self.start(first)

    def start(self, first: int) -> None:
        """Start, or start again after a death, at case `first`."""
        self.write(0, first)
        self.heard, self.at, self.spent = time.monotonic(), first, 0.0
        with warnings.catch_warnings():  # newer Pythons warn of threads; the child only loads files
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                self.run(first)
                code = 0
            finally:
                os._exit(code)

    def run(self, first: int) -> None:
        """Be the child."""
        os.environ["QED_NUM_THREADS"] = "1"  # small rows need no more, and the other children have the other processors
        pages = Path("/proc/self/statm")
        size = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 3 << 30
        faulthandler.disable()  # the parent tells the story of a crash
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not self.options.sanitize:  # which takes terabytes of addresses for itself
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        end = time.monotonic() + self.options.seconds

        def report(number: int, outcome: str, story: str) -> None:
            self.write(0, number + self.jobs)
            place = 1 + OUTCOMES.index(outcome)
            self.write(place, self.read(place) + 1)
            if story:
                keep(number, story, self.options, self.seeds)
            if time.monotonic() > end:
                os._exit(0)

        work(range(first, self.options.count, self.jobs), self.options.seed, self.seeds, report)

    def write(self, place: int, value: int) -> None:
        """Set a shared number."""
        struct.pack_into("<Q", self.shared, 8 * place, value)

    def read(self, place: int) -> int:
        """Return a shared number."""
        return int(struct.unpack_from("<Q", self.shared, 8 * place)[0])

    def is_done(self) -> bool:
        """See whether the child lives and moves; bury it, note its case and start again if not."""
        number = self.read(0)
        running, spent = _activity(self.pid)
        if number != self.at:
            self.heard, self.at, self.spent = time.monotonic(), number, spent
        elif running and spent - self.spent < PATIENCE:  # a busy machine is not a child that stands still
            self.heard = time.monotonic()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0 and time.monotonic() - self.heard > PATIENCE:
            os.kill(self.pid, signal.SIGKILL)
            pid, status = os.waitpid(self.pid, 0)
        if pid == 0:
            return False
        if status == 0:
            return True
        number = self.read(0)
        keep(number, f"the process ended with status {status}: a crash, or it stood still\n", self.options, self.seeds)
        self.deaths.append(number)
        self.write(len(OUTCOMES), self.read(len(OUTCOMES)) + 1)
        self.start(number + self.jobs)
        return False


def keep(number: int, story: str, options: argparse.Namespace, seeds: Sequence[Seed]) -> None:
    """Write a finding: the file, and what happened."""
    folder = Path(options.findings)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"seed{options.seed}-case{number}"
    (folder / f"{name}.qed").write_bytes(written(case(number, options.seed, seeds)[0]))
    (folder / f"{name}.txt").write_text(story)


def run(options: argparse.Namespace, seeds: Sequence[Seed]) -> collections.Counter[str]:
    """Share the cases among child processes and return how many came to what."""
    for name in ("torch", "scipy.sparse", "pandas"):  # loaded once, not by every child
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    children = [Child(first, options.jobs, options, seeds) for first in range(options.jobs)]
    waiting = list(children)
    while waiting:
        time.sleep(0.05)
        waiting = [child for child in waiting if not child.is_done()]
    return collections.Counter(
        {name: sum(child.read(1 + place) for child in children) for place, name in enumerate(OUTCOMES)}
    )


# ---- the command line --------------------------------------------------------------------------------------------------


def _sanitized(arguments: list[str]) -> int:
    """Start again with the sanitizer loaded before Python, as it must be."""
    from sanitize import BUILD, python_settings

    if not list((BUILD / "src").rglob("_v*.so")):
        raise SystemExit(f"There are no instrumented modules in {BUILD}: run python tools/sanitize.py --modules first.")
    settings = {**os.environ, **python_settings()}
    settings["ASAN_OPTIONS"] += ":allocator_may_return_null=1"  # too much memory is an error of Python, not a crash
    return subprocess.call([sys.executable, __file__, *arguments], env=settings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; the exit code is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="how many files to try")
    parser.add_argument("--seconds", type=float, default=1200.0, help="stop after this time at the latest")
    parser.add_argument(
        "--seed", type=int, default=None, help="first number of the random stream; today's date if absent"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--findings", default="fuzz/findings", help="folder for files that were not handled well")
    parser.add_argument("--sanitize", action="store_true", help="use the native modules in build/sanitize")
    parser.add_argument(
        "--record", nargs="?", const=str(RECORD), help="append a row to a table, fuzz/RECORD.md by default"
    )
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = int(dt.datetime.now(dt.UTC).strftime("%Y%m%d"))
    if options.sanitize and "libasan" not in os.environ.get("LD_PRELOAD", ""):
        return _sanitized(sys.argv[1:] if arguments is None else list(arguments))
    began = time.monotonic()
    outcomes = run(options, honest_files())
    seconds = time.monotonic() - began
    told = ", ".join(f"{name}: {outcomes[name]:,}" for name in OUTCOMES)
    print(f"{outcomes.total():,} files in {seconds:.0f} s ({outcomes.total() / seconds:,.0f} a second): {told}")
    if options.record:
        how = " (AddressSanitizer)" if options.sanitize else ""
        append({"files mutated": outcomes.total()}, f"{outcomes['finding'] or 'none'}{how}", Path(options.record))
    if outcomes["finding"]:
        print(f"Findings are in {options.findings}. Make one again with case(number, seed, honest_files()).")
    return int(outcomes["finding"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())

"""Hostile files of every kind, and what happens to a process that reads them.

    python -m tests.hostile_files --count 1000 --seed 1

replaces files at random by links, pipes, devices, folders, bombs and nested brackets, has them
read, and prints a table of what came of it. Exit code 1 if any reader hung, used too much memory,
let something out, or ended with a traceback.

Each case is a forked child. Its memory counts as the growth of its resident set: at most
`MOST_MEMORY`. A limit on data three times as high only protects the machine: were it the measure, a
reader that allocates everything until it is refused more would look as if it had refused the file.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from tests.hostile_bombs import bombs_for
from tests.hostile_readers import READERS, Reader, write_home

MOST_MEMORY = 1_000_000_000
"""Bytes that a reader may take beyond what was imported."""
MOST_SECONDS = 20
"""Seconds of a processor; a machine may be busy."""
BLOCKED = 90.0
"""Seconds after which a child counts as waiting for something."""
MARKER = "SECRET-OF-THE-READERS-HOME"
"""In every file outside: it appears in no output."""
REFUSED, DAMAGED, WITHIN = "refused in one line", "reported as damaged", "read within limits"
GOOD = (REFUSED, DAMAGED, WITHIN)


@dataclass(frozen=True)
class Case:
    """A file that is replaced, by what, and who reads it."""

    reader: Reader
    trick: str


def tricks_for(reader: Reader) -> list[str]:
    """Return what a reader's file can be replaced by."""
    return [*PLACES, *bombs_for(reader.kind)]


def link_to(target: Callable[[Path], Path]) -> Callable[[Path, Path], None]:
    """Return a trick that puts a link in place of a file."""
    return lambda file, outside: file.symlink_to(target(outside))


def linked_folder(file: Path, outside: Path) -> None:
    """Move the file's folder away, and put a link to it in its place."""
    away = outside / "moved"
    file.with_name(".hostile").rename(file)
    file.parent.rename(away)
    file.parent.symlink_to(away)


def make_device(file: Path, _: Path) -> None:
    """Make a device like /dev/zero, where that is allowed."""
    try:
        os.mknod(file, 0o666 | 0o020000, os.makedev(1, 5))
    except OSError:
        file.symlink_to("/dev/zero")


def make_socket(file: Path, _: Path) -> None:
    """Make a socket."""
    here = Path.cwd()
    os.chdir(file.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(file.name[:80])
    finally:
        os.chdir(here)


def make_huge(file: Path, _: Path) -> None:
    """Make a file of holes: three gigabytes that take no room."""
    with file.open("wb") as made:
        made.truncate(3_000_000_000)


PLACES: dict[str, Callable[[Path, Path], None]] = {
    "link outside": link_to(lambda outside: outside / "secret"),
    "link to /dev/zero": link_to(lambda _: Path("/dev/zero")),
    "link to a pipe": link_to(lambda outside: outside / "pipe"),
    "link to itself": link_to(lambda _: Path("itself")),
    "pipe": lambda file, _: os.mkfifo(file),
    "device": make_device,
    "socket": make_socket,
    "folder": lambda file, _: file.mkdir(),
    "huge": make_huge,
    "empty": lambda file, _: file.touch(),
}


@contextmanager
def replaced(file: Path, trick: str, kind: str, outside: Path) -> Iterator[None]:
    """Put something hostile in place of a file, and the file back afterwards."""
    kept = file.with_name(".hostile")
    file.rename(kept)
    try:
        if trick == "link to itself":
            file.symlink_to(file.name)
        elif trick in PLACES:
            PLACES[trick](file, outside)
        else:
            bombs_for(kind)[trick](file, kept)
        yield
    finally:
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
        kept.rename(file)


def outcome_of(reader: Reader, home: Path, out: Path) -> str:
    """Read in this process; return what came of it."""
    try:
        text, damaged = reader.read(home, out)
    except UserError as problem:
        if MARKER in str(problem):
            return f"let out: {problem}"[:200]
        return REFUSED if len(str(problem)) < 2_000 else f"a line of {len(str(problem))} characters"
    except BaseException as problem:
        return f"traceback: {type(problem).__name__}: {problem}"[:200].replace("\n", " ")
    if MARKER in text:
        return f"let out: {text[:100]}"
    return DAMAGED if damaged else WITHIN


def in_child(reader: Reader, home: Path, out: Path) -> str:
    """Read in a forked process; return what came of it, and what it took if that is too much."""
    answers, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(answers)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            before = resident()
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
            most = before + 3 * MOST_MEMORY + (1 << 30)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
            said = outcome_of(reader, home, out)
            took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
            if took > MOST_MEMORY:
                said = f"memory: {took / 1e9:.1f} GB, then {said}"
            os.write(writes, said.encode(errors="replace"))
        os._exit(0)
    os.close(writes)
    try:
        ready, _, _ = select.select([answers], [], [], BLOCKED)
        said = os.read(answers, 4096).decode(errors="replace") if ready else "hung"
    finally:
        os.close(answers)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return said or "hung, or died without a word"


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Range:
    """A home with a small campaign and other files, and a place outside of it."""

    def __init__(self, place: Path) -> None:
        self.home, self.outside, self.out = (place / name for name in ("home", "outside", "out"))
        self.outside.mkdir()
        (self.outside / "secret").write_text(f'{{"{MARKER}": 1}}\n')
        os.mkfifo(self.outside / "pipe")
        write_home(self.home)

    def outcome(self, case: Case) -> str:
        """Return what comes of a case."""
        self.out.mkdir()
        before = listing(self.outside)
        try:
            file = self.home / case.reader.file
            with replaced(file, case.trick, case.reader.kind, self.outside):
                said = in_child(case.reader, self.home, self.out)
        finally:
            shutil.rmtree(self.out)
        return said if listing(self.outside) == before else "wrote outside"

    def undisturbed(self, reader: Reader) -> str:
        """Return what comes of a reader's own file."""
        self.out.mkdir()
        try:
            return in_child(reader, self.home, self.out)
        finally:
            shutil.rmtree(self.out)


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Return what lies in a folder, with sizes and times."""
    return sorted(
        (file.name, file.lstat().st_size, file.lstat().st_mtime_ns) for file in folder.iterdir()
    )


def is_good(said: str) -> bool:
    """Return whether an outcome is one that a reader may have."""
    return said in GOOD


def main(words: list[str]) -> int:
    """Make hostile files at random, have them read, and print what came of it."""
    parser = argparse.ArgumentParser(description="Have hostile files read, at random.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    chance = random.Random(options.seed)
    counts: dict[str, Counter[str]] = {}
    bad = []
    with tempfile.TemporaryDirectory() as place:
        field = Range(Path(place))
        for _ in range(options.count):
            reader = chance.choice(READERS)
            case = Case(reader, chance.choice(tricks_for(reader)))
            said = field.outcome(case)
            if not is_good(said):
                bad.append(f"{reader.name}: {case.trick}: {said}")
                print(bad[-1], file=sys.stderr, flush=True)
            counts.setdefault(case.trick, Counter())[said if is_good(said) else "BAD"] += 1
    columns = (*GOOD, "BAD")
    print(f"{'replaced by':24}", *(f"{name:>20}" for name in columns))
    for trick, outcomes in sorted(counts.items()):
        print(f"{trick:24}", *(f"{outcomes[name]:20}" for name in columns))
    totals = [sum(outcomes[name] for outcomes in counts.values()) for name in columns]
    print(f"{'all':24}", *(f"{total:20}" for total in totals))
    print(*bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

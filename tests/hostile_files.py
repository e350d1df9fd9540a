"""Hostile files of every kind, and what happens to a process that reads them.

    python -m tests.hostile_files --count 1000 --seed 1

replaces files at random by links, pipes, devices, folders, bombs and nested brackets, has them
read, and prints a table of what came of it. Exit code 1 if any reader hung, used too much memory,
let something out, or ended with a traceback.

`tests/hostile_child.py` reads: a child of its own for each file, with limits on memory and time.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hostile_bombs import bombs_for
from tests.hostile_child import GOOD, MARKER, Children
from tests.hostile_readers import READERS, Reader, write_home


@dataclass(frozen=True)
class Case:
    """A file that is replaced, by what, and who reads it."""

    reader: Reader
    trick: str


def tricks_for(reader: Reader) -> list[str]:
    """Return what a reader's file can be replaced by."""
    places = [place for place in PLACES if not (reader.named and place == OUTSIDE)]
    return [*places, *bombs_for(reader.kind)]


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


OUTSIDE = "link outside"
PLACES: dict[str, Callable[[Path, Path], None]] = {
    OUTSIDE: link_to(lambda outside: outside / "secret"),
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


class Range:
    """A home with a small campaign and other files, and a place outside of it."""

    def __init__(self, place: Path) -> None:
        folders = (place / name for name in ("home", "outside", "out", "bombs"))
        self.home, self.outside, self.out, self.bombs = folders
        self.outside.mkdir()
        (self.outside / "secret").write_text(f'{{"{MARKER}": 1}}\n')
        os.mkfifo(self.outside / "pipe")
        self.bombs.mkdir()
        write_home(self.home)
        self.children = Children(self.home)

    def close(self) -> None:
        """End the process that reads."""
        self.children.close()

    def outcome(self, case: Case) -> str:
        """Return what comes of a case."""
        self.out.mkdir()
        before = listing(self.outside)
        try:
            with self.replaced(case):
                said = self.children.outcome(case.reader, self.out)
        finally:
            shutil.rmtree(self.out)
        return said if listing(self.outside) == before else "wrote outside"

    @contextmanager
    def replaced(self, case: Case) -> Iterator[None]:
        """Put something hostile in place of a file, and the file back afterwards."""
        file = self.home / case.reader.file
        kept = file.with_name(".hostile")
        file.rename(kept)
        try:
            if case.trick == "link to itself":
                file.symlink_to(file.name)
            elif case.trick in PLACES:
                PLACES[case.trick](file, self.outside)
            else:
                os.link(self.bomb(case, kept), file)
            yield
        finally:
            if file.is_dir() and not file.is_symlink():
                file.rmdir()
            else:
                file.unlink(missing_ok=True)
            kept.rename(file)

    def bomb(self, case: Case, kept: Path) -> Path:
        """Return a bomb for a file, which is made once for all its readers."""
        made = self.bombs / f"{case.reader.file}-{case.trick}".replace("/", "-")
        if not made.exists():
            bombs_for(case.reader.kind)[case.trick](made, kept)
        return made

    def undisturbed(self, reader: Reader) -> str:
        """Return what comes of a reader's real file."""
        self.out.mkdir()
        try:
            return self.children.outcome(reader, self.out)
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
        field.close()
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

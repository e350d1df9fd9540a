"""Reads one hostile file after another, one forked child for one file.

    python -m tests.hostile_child HOME

reads lines `READER<tab>OUT` and answers one line on what came of each. It is a small process of
one thread that has imported all readers: a fork is quick, inherits no lock, and takes what the
reader takes.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from harness.common.environments import build_child_environment
from harness.common.errors import UserError
from tests.hostile_readers import READERS, Reader

MOST_MEMORY = 1_000_000_000
"""Bytes that a reader may take beyond what was imported."""
MOST_SECONDS = 20
"""Seconds of a processor; a machine may be busy."""
BLOCKED = 120.0
"""Seconds after which a child counts as waiting for something."""
MARKER = "SECRET-OF-THE-READERS-HOME"
"""In every file outside: it appears in no output."""
REFUSED, DAMAGED, WITHIN = "refused in one line", "reported as damaged", "read within limits"
GOOD = (REFUSED, DAMAGED, WITHIN)


class Children:
    """The process that forks a child for every file, as its user sees it."""

    def __init__(self, home: Path) -> None:
        words = [sys.executable, "-m", "tests.hostile_child", str(home)]
        threads = {"OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            words,
            env=build_child_environment(threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def outcome(self, reader: Reader, out: Path) -> str:
        """Have a reader read its file; return what came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(reader.name, out, sep="\t", file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{reader.name}: the process that forks readers ended")
        return answer.rstrip("\n")

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def outcome_of(reader: Reader, home: Path, out: Path) -> str:
    """Read in this process; return what came of it."""
    try:
        text, damaged = reader.read(home, out)
    except UserError as problem:
        if MARKER in str(problem):
            return f"let out: {problem}"[:200]
        return REFUSED if len(str(problem)) < 2_000 else f"a line of {len(str(problem))} characters"
    except BaseException as problem:
        return f"traceback: {type(problem).__name__}: {problem}"[:200]
    if MARKER in text:
        return f"let out: {text[:100]}"
    return DAMAGED if damaged else WITHIN


def outcome_in_child(reader: Reader, home: Path, out: Path) -> str:
    """Read in a forked process; return what came of it, and what it took if that is too much.

    Memory counts as the growth of the resident set. The limit on data, three times as high, only
    protects the machine: were it the measure, a reader that allocates everything until it is
    refused more would look as if it had refused the file.
    """
    answers, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            silence_output()
            before = bytes_of_memory(RESIDENT)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
            most = bytes_of_memory(DATA) + 3 * MOST_MEMORY
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
    return " ".join(said.split()) or f"took {MOST_SECONDS} s, or died without a word"


def silence_output() -> None:
    """Send what this process prints nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


RESIDENT, DATA = 1, 5  # columns of /proc/self/statm, in pages


def bytes_of_memory(column: int) -> int:
    """Return how much memory of a sort this process has."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def main(words: list[str]) -> None:
    """Answer lines until there are no more."""
    (home,) = words
    gc.collect()
    gc.freeze()  # no child looks through what was imported, and copies its pages by that
    readers = {reader.name: reader for reader in READERS}
    for line in sys.stdin:
        name, out = line.rstrip("\n").split("\t")
        print(outcome_in_child(readers[name], Path(home), Path(out)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

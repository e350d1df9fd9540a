"""A child process in another Python, asked over its pipes, with a time limit for every answer."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from agents.foreign.child import wire
from harness.common.bounded_log import CopiedOutput
from harness.common.environments import build_foreign_environment
from harness.common.subprocesses import describe_exit

LAST_WORDS = 600
"""Characters of what a child said on stderr that go into a failure's message."""
LAST_OUTPUT = 5.0
"""Seconds in which what a child printed before it ended is read."""
TRACEBACK = "Traceback (most recent call last):"
GOING = 30.0
"""Seconds that a child may take to end after its last answer."""


class ChildError(Exception):
    """The child did not answer, or not as agreed."""


class Child:
    """One child, from the handshake until it is ended."""

    def __init__(self, command: Sequence[str], hello: dict[str, Any], seconds: float) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            # What it prints goes through a pipe into a file with a bound.
            with CopiedOutput(self._said.fileno()) as output:
                self._output = output
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output.writing,
                    env=build_foreign_environment(),
                )
        except OSError as problem:
            raise ChildError(f"{command[0]} cannot be run: {problem.strerror}") from None
        # writing never waits: a child that is stuck ends with the time-out
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        self.end = weakref.finalize(self, end_child, self._process, self._said)
        # both ends must speak the same version
        words, _ = self.ask_child({**hello, "kind": "hello", "version": wire.VERSION}, {}, seconds)
        version = words.get("version")
        if version != wire.VERSION:
            self.end()
            raise ChildError(f"it speaks version {version} of the pipe; {wire.VERSION} is needed")
        self.ready = words
        self.versions: dict[str, str] = words.get("versions", {})
        self.notes: list[str] = words.get("notes", [])

    def kill(self) -> None:
        """Kill the child; a wait for its answer ends at once."""
        self._process.kill()

    def ask_child(
        self, words: dict[str, Any], arrays: dict[str, Any], seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the answer; whatever is wrong with it ends the child, and says why."""
        until = time.monotonic() + seconds
        try:
            self._write_frame(wire.pack_frame(words, arrays), until)
            text, body = wire.parse_frame_header(self._read_bytes(wire.HEADER.size, until))
            answer = wire.unpack_frame(self._read_bytes(text, until), self._read_bytes(body, until))
        except wire.WireError as problem:
            raise self._make_error(f"its answer cannot be read: {problem}") from None
        except TimeoutError:
            raise self._make_error(f"no answer to {words['kind']} within {seconds:g} s") from None
        except (BrokenPipeError, EOFError):
            raise self._make_error(f"it ended {self._describe_exit()} at {words['kind']}") from None
        return answer

    def _write_frame(self, frame: bytes, until: float) -> None:
        rest = memoryview(frame)
        while rest:
            if not select.select([], [self._to], [], max(0.0, until - time.monotonic()))[1]:
                raise TimeoutError
            rest = rest[os.write(self._to, rest) :]

    def _read_bytes(self, count: int, until: float) -> bytes:
        parts, missing = [], count
        while missing:
            if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError
            part = os.read(self._from, min(missing, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _describe_exit(self) -> str:
        try:
            code = self._process.wait(GOING)
        except subprocess.TimeoutExpired:
            return "its answers"
        return describe_exit(code)

    def _make_error(self, what: str) -> ChildError:
        self._process.kill()
        self._output.wait(LAST_OUTPUT)
        said = Path(f"/proc/self/fd/{self._said.fileno()}").read_text(errors="replace").strip()
        self.end()
        words = [word for word in skip_tracebacks(said).split() if word.strip("^~")]
        last = " ".join(words)[-LAST_WORDS:]
        return ChildError(f"{what}; it said last: {last}" if last else what)


def skip_tracebacks(said: str) -> str:
    """Return what a child printed without the files and lines of tracebacks: exceptions stay."""
    kept, inside = [], False
    for line in said.splitlines():
        # files and lines of a traceback begin with blanks
        inside = line.startswith(TRACEBACK) or (inside and line.startswith("  "))
        if not inside:
            kept.append(line)
    return "\n".join(kept)


def end_child(process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    """End a child and forget it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, said):
        assert pipe
        pipe.close()

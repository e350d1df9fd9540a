"""Logs of children: bounded, with the beginning, the end, and a line about what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from harness.common.bounded_log import (
    LONGEST_FAILURE,
    LONGEST_LOG,
    NOTE,
    BoundedLog,
    CopiedOutput,
    shorten_message,
)

LIMIT = 4000
FLOOD = "import os\nwhile True: os.write({descriptor}, b'the same line again' * 40 + b'\\n')"


@pytest.fixture(params=["w+b", "a+b"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BinaryIO]:
    """Open a log as keepers do, and as attempts do, for appending."""
    with (tmp_path / "log").open(request.param) as opened:
        yield opened


def content(file: BinaryIO) -> bytes:
    return os.pread(file.fileno(), 1 << 30, 0)


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(first, last))


def test_a_short_log_is_what_was_written(file: BinaryIO) -> None:
    log = BoundedLog(file.fileno(), LIMIT)
    for part in (b"one\n", b"", b"two\n"):
        log.append(part)
    log.make_room()
    assert content(file) == b"one\ntwo\n"


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_beginning_and_end_stay_and_all_bytes_are_counted(file: BinaryIO, step: int) -> None:
    log = BoundedLog(file.fileno(), LIMIT)
    total = 0
    for first in range(0, 5000, step):
        part = numbered(first, first + step)
        log.append(part)
        total += len(part)
        assert len(content(file)) <= LIMIT
    text = content(file)
    assert text.startswith(numbered(0, 100))
    assert text.endswith(numbered(first, first + step)[-100:])
    (note,) = NOTE.finditer(text)
    assert int(note[1]) + len(text) - len(note[0]) == total


def test_what_a_later_process_writes_is_kept_behind_what_was_there(file: BinaryIO) -> None:
    BoundedLog(file.fileno(), LIMIT).append(numbered(0, 400))
    later = BoundedLog(file.fileno(), LIMIT)
    later.make_room()
    began = len(content(file))
    assert began <= LIMIT // 2
    later.append(b"it ends\n" * 2000)
    assert set(content(file)[began:].splitlines()[1:]) == {b"it ends"}


def test_of_what_is_no_file_the_beginning_passes() -> None:
    reading, writing = os.pipe()
    try:
        log = BoundedLog(writing, LIMIT)
        for _ in range(100):
            log.append(b"x" * 100)
        assert len(os.read(reading, 1 << 20)) == LIMIT
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_child_that_writes_without_end_fills_no_disk(descriptor: int) -> None:
    with tempfile.TemporaryFile("a+b") as log:
        with CopiedOutput(log.fileno()) as output:
            child = subprocess.Popen(
                [sys.executable, "-c", FLOOD.format(descriptor=descriptor)],
                stdout=output.writing,
                stderr=output.writing,
            )
        try:
            while not (note := re.search(NOTE, content(log))) or int(note[1]) < 3 * LONGEST_LOG:
                assert child.poll() is None
                assert os.fstat(log.fileno()).st_size <= 1.1 * LONGEST_LOG
        finally:
            child.kill()
            child.wait()
        output.wait(60.0)
        assert os.fstat(log.fileno()).st_size <= LONGEST_LOG


def test_the_last_words_of_a_child_are_there_once_it_was_waited_for() -> None:
    with tempfile.TemporaryFile() as log:
        with CopiedOutput(log.fileno()) as output:
            code = "import sys; print('out'); sys.exit('err')"
            subprocess.run(
                [sys.executable, "-u", "-c", code],
                stdout=output.writing, stderr=output.writing, check=False,
            )  # fmt: skip
        output.wait(60.0)
        assert content(log) == b"out\nerr\n"


def test_a_long_message_keeps_its_ends() -> None:
    assert shorten_message("short") == "short"
    short = shorten_message("first " + "x" * 100_000 + " last")
    assert short.startswith("first ")
    assert short.endswith(" last")
    assert len(short) < LONGEST_FAILURE + 50
    assert f"[{100_011 - LONGEST_FAILURE} characters" in short

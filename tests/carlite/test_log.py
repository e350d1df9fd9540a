"""The server's log: bounded, whatever happens how often."""

from __future__ import annotations

import asyncio
import logging

import pytest

from harness.carlite import log


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().err.splitlines()


def test_lines_that_differ_in_numbers_are_counted(capfd: pytest.CaptureFixture[str]) -> None:
    for port in range(12_345):
        log.write_log_line(f"closed the connection from 127.0.0.1:{port}: nonsense")
    log.write_log_line("something else")
    printed = lines(capfd)
    assert printed[:9] == [
        f"carlite: closed the connection from 127.0.0.1:{port}: nonsense" for port in range(9)
    ]
    assert [line.partition(" (")[2] for line in printed[9:13]] == [
        "10 times; next printed at 100)",
        "100 times; next printed at 1000)",
        "1000 times; next printed at 10000)",
        "10000 times; next printed at 100000)",
    ]
    assert printed[13:] == ["carlite: something else"]


def test_many_kinds_count_as_one(capfd: pytest.CaptureFixture[str]) -> None:
    for length in range(1, 2001):
        log.write_log_line("x" * length)
    assert len(lines(capfd)) == log.MOST_KINDS + log.FIRST_LINES + 2  # the 100th, the 1000th


def test_a_long_line_loses_its_middle(capfd: pytest.CaptureFixture[str]) -> None:
    log.write_log_line("begin" + "x" * 1_000_000 + "end")
    (line,) = lines(capfd)
    assert len(line) < log.LONGEST_LINE + 100
    assert "[995912 characters are left out]" in line
    assert line.endswith("end")


def test_what_asyncio_reports_is_bounded_too(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    async def story() -> None:
        loop = asyncio.get_running_loop()
        log.take_asyncio_lines(loop)
        for _ in range(1000):
            loop.call_soon(fail)
            logging.getLogger("asyncio").warning("socket.send() raised exception.")
        await asyncio.sleep(0)

    asyncio.run(story())
    printed = "\n".join(lines(capfd))
    assert printed.count("\nZeroDivisionError") == log.FIRST_LINES + 2
    assert printed.count("carlite: socket.send() raised exception.") == log.FIRST_LINES + 2

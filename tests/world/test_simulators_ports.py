"""Ports that one holder at a time has."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from harness.common.errors import AttemptError
from harness.world.ports import reserve_ports
from tests.conftest import ROOT
from tests.standin.watch import until

PLACES = range(7140, 7144)
ROUNDS = 400

RACE = f"""
import os, sys
from pathlib import Path
from harness.common.errors import AttemptError
from harness.world.ports import reserve_ports
folder, had = Path(sys.argv[1]), 0
print("ready", flush=True)
sys.stdin.readline()
while had < {ROUNDS}:
    try:
        with reserve_ports(range({PLACES.start}, {PLACES.start + 2})) as ports:
            mark = folder / str(ports.first)
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            had += 1
            mark.unlink()
    except AttemptError:
        pass
"""

HOLD = f"""
import sys, time, subprocess
from harness.world.ports import reserve_ports
with reserve_ports([{PLACES[3]}]) as ports:
    waiting = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(waiting, pass_fds=ports.locks, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    time.sleep(600)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Run code in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refused(first: int) -> bool:
    """Return whether another process has that port."""
    with suppress(AttemptError), reserve_ports([first]):
        return False
    return True


def test_processes_that_race_never_hold_the_same_port(tmp_path: Path) -> None:
    racers = [start(RACE, str(tmp_path)) for _ in range(3)]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    assert [racer.communicate(timeout=300)[1] for racer in racers] == [""] * 3
    assert [racer.returncode for racer in racers] == [0] * 3


def test_neighbours_get_different_ports() -> None:
    with reserve_ports(PLACES) as one, reserve_ports(PLACES) as other:
        assert {one.first, other.first} == set(PLACES[:2])


def test_ports_in_a_row_are_held_together() -> None:
    with reserve_ports([PLACES[1]]), reserve_ports(PLACES[::2], 2) as pair:
        assert pair.first == PLACES[2]
        assert refused(PLACES[3])


def test_where_all_is_taken_that_is_said() -> None:
    with (
        reserve_ports([PLACES[0]]),
        pytest.raises(AttemptError, match="no free port") as caught,
        reserve_ports([PLACES[0]]),
    ):
        pass
    assert caught.value.failure == "port_conflict"


def test_a_port_in_use_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", PLACES[0])), reserve_ports(PLACES) as ports:
        assert ports.first == PLACES[1]


def test_without_file_descriptors_no_port_is_blamed() -> None:
    limit, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    following = os.dup(0)
    os.close(following)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (following, allowed))
        with (
            pytest.raises(AttemptError, match="Too many open files: raise the limit") as caught,
            reserve_ports(PLACES),
        ):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, allowed))
    assert caught.value.failure == "server_launch"


def test_a_problem_inside_gives_the_port_back() -> None:
    with pytest.raises(ZeroDivisionError), reserve_ports([PLACES[0]]):
        raise ZeroDivisionError
    assert not refused(PLACES[0])


def test_a_port_is_held_until_the_last_who_inherited_it_ends() -> None:
    holder = start(HOLD)
    assert holder.stdout
    child = int(holder.stdout.readline())
    assert refused(PLACES[3])
    holder.kill()
    holder.wait()
    assert refused(PLACES[3])
    os.kill(child, signal.SIGKILL)
    assert until(lambda: not refused(PLACES[3]))
    holder.communicate()

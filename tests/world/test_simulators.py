"""Servers on lease: whichever process dies, nothing is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from harness.common.bounded_log import LONGEST_LOG, NOTE
from harness.common.errors import AttemptError, UserError
from harness.world.simulators import CarlaSimulator, CarliteSimulator, LaunchError, carlite
from harness.world.simulators.launching import TAIL, launch_server
from tests.conftest import ROOT, Carlite
from tests.standin.watch import ailment, can_be_bound, family, left, server_of, until

LEASE = """
import sys, time
from harness.world.simulators import CarliteSimulator
with CarliteSimulator().lease_server("Crucible05") as server:
    print(server.port, flush=True)
    time.sleep(600)
"""

WORDY = """
import pathlib, sys, time
print("x" * 3000, "first", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
print("y" * 3000, "second", flush=True)
time.sleep(600)
"""


FLOOD = """
import os
print("it begins", flush=True)
while True:
    os.write(2, b"the same line again\\n" * 200)
"""


@pytest.mark.thorough
def test_a_server_that_prints_without_end_fills_no_disk() -> None:
    """A foreign one, as CARLA is: its log keeps the beginning and the end."""
    with launch_server([sys.executable, "-c", FLOOD], ROOT) as server:
        assert until(lambda: NOTE.search(server.read_log_since(0)) is not None)
        for _ in range(100):
            assert len(server.read_log_since(0)) <= LONGEST_LOG
        assert server.read_log_since(0).startswith(b"it begins\n")
        assert "the same line again" in server.read_log_tail()
        assert len(server.read_log_tail()) <= TAIL


@pytest.mark.thorough
def test_a_lease_ends_with_its_block() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        assert server.is_alive()
        assert server.name == "carlite 0.9.16"
        members = family()
        assert server_of(members, server.port)
    assert not server.is_alive()
    assert left(members) == []
    assert can_be_bound(server.port)


@pytest.mark.thorough
@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_a_killed_holder_takes_its_server_along(frozen: bool) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", LEASE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    with holder.stdout:
        port = int(holder.stdout.readline())
    members = family(holder.pid)
    if frozen:
        server_of(members, port).suspend()
    holder.kill()
    holder.wait()
    assert until(lambda: left(members) == [] and can_be_bound(port))


@pytest.mark.thorough
def test_all_that_a_slow_start_says_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(carlite, "PATIENCE", 0.0)
    monkeypatch.setattr(carlite, "_passed_on", set())
    more = tmp_path / "more"
    with launch_server([sys.executable, "-c", WORDY, str(more)], ROOT) as process:
        starting = carlite.ServerStartup(process)
        assert until(lambda: b"first" in process.read_log_since(0))
        assert starting.find_ready_line() is None
        more.touch()
        assert until(lambda: b"second" in process.read_log_since(0))
        assert starting.find_ready_line() is None
        assert process.read_log_since(0).decode() == capfd.readouterr().err


def contains(read: Callable[[int], bytes], word: bytes) -> bool:
    return word in read(0)


def test_servers_of_several_workers_print_once_that_they_compile(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(carlite, "PATIENCE", 0.0)
    monkeypatch.setattr(carlite, "_passed_on", set())
    code = "import time; print('compiling'); time.sleep(60)"
    with (
        launch_server([sys.executable, "-uc", code], ROOT) as first,
        launch_server([sys.executable, "-uc", code], ROOT) as second,
    ):
        for process in (first, second):
            starting, read = carlite.ServerStartup(process), process.read_log_since
            assert until(partial(contains, read, b"compiling"))
            assert starting.find_ready_line() is None
    assert capfd.readouterr().err == "compiling\n"


@pytest.mark.thorough
def test_a_lease_outlives_the_thread_that_asked_for_it() -> None:
    with ExitStack() as stack:
        lease = CarliteSimulator().lease_server("Crucible05")
        asker = threading.Thread(target=stack.enter_context, args=(lease,))
        before = family()
        asker.start()
        asker.join()
        members = [process for process in family() if process not in before]
        assert len(members) == 2
        assert not until(lambda: len(left(members)) < 2, seconds=1.0)
    assert left(members) == []


@pytest.mark.thorough
def test_a_killed_keeper_takes_its_server_along() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        keeper, process = family()
        keeper.kill()
        assert until(lambda: left([process]) == [])
        assert ailment(server) == "server_crash"


@pytest.mark.thorough
def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(LaunchError, match="Nowhere99") as caught:
        CarliteSimulator().lease_server("Nowhere99").__enter__()
    assert caught.value.failure == "server_launch"
    assert "\n" not in str(caught.value)
    assert "Nowhere99" in caught.value.log_tail
    assert left(family()) == []


@pytest.mark.thorough
def test_a_server_that_is_killed_has_crashed() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        members = family()
        server_of(members, server.port).kill()
        assert until(lambda: ailment(server) == "server_crash")
    assert left(members) == []


@pytest.mark.thorough
def test_a_server_that_stands_still_hangs_and_is_ended() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        members = family()
        server_of(members, server.port).send_signal(signal.SIGSTOP)
        assert ailment(server) == "server_hang"
    assert left(members) == []
    assert can_be_bound(server.port)


def test_folders_and_addresses_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="folder not found"):
        CarliteSimulator(maps=str(tmp_path / "missing"))
    for address in ("localhost", "localhost:", "localhost:0", "localhost:70000", "a:b"):
        with pytest.raises(UserError, match=r"host:port"):
            CarlaSimulator(address)
    with pytest.raises(UserError, match=r"simulator\.fresh"):
        CarlaSimulator(fresh=True)


def test_a_running_server_is_used_and_left_alone(carlite: Carlite) -> None:
    simulator = CarlaSimulator(f"{carlite.host}:{carlite.port}")
    with simulator.lease_server("Crucible05") as server:
        assert server.name == "CARLA 0.9.16"
        assert server.is_alive()
    assert carlite.process.poll() is None
    with simulator.lease_server("Crucible05") as again:
        assert again.is_alive()


def test_a_running_server_is_used_by_one_at_a_time(carlite: Carlite) -> None:
    simulator = CarlaSimulator(f"{carlite.host}:{carlite.port}")
    with (
        simulator.lease_server("Crucible05"),
        pytest.raises(AttemptError, match="another worker") as caught,
        simulator.lease_server("Crucible05"),
    ):
        pass
    assert caught.value.failure == "port_conflict"

"""CARLA launched from an install, which here is a stand-in: its ports, its faults, its end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.common.errors import AttemptError, UserError
from harness.world.ports import ReservedPorts, reserve_ports
from harness.world.simulators import CarlaSimulator
from harness.world.simulators.carla_server import FIRST_PORTS, CarlaInstall, probe_launched_version
from harness.world.simulators.launching import launch_server
from tests.conftest import ROOT
from tests.standin.watch import ailment, can_be_bound, family, left, server_of, until

INSTALL = str(ROOT / "tests" / "standin")
SERVER_ALONE = "CarlaUE4/Binaries/Linux/CarlaUE4-Linux-Shipping"
TOWN = "Crucible05"

LEASE = f"""
import sys, time
from harness.world.simulators import CarlaSimulator
with CarlaSimulator(root={INSTALL!r}).lease_server({TOWN!r}) as server:
    print(server.port, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stand-in find what carlite needs."""
    monkeypatch.setenv("STANDIN_PYTHON", sys.executable)


def arguments_of(port: int) -> list[str]:
    """Return what the server at a port was started with."""
    return server_of(family(), port).cmdline()


@pytest.mark.thorough
def test_what_was_launched_is_ended_with_its_block() -> None:
    with CarlaSimulator(root=INSTALL).lease_server(TOWN) as server:
        assert server.name == "CARLA 0.9.16"
        assert server.is_alive()
        members = family()
        keeper, shell, process = members
        assert (shell.ppid(), process.ppid()) == (keeper.pid, shell.pid)
        assert server_of(members, server.port) == process
        assert not can_be_bound(server.port + 1)
        assert {f"-carla-rpc-port={server.port}", f"-carla-streaming-port={server.port + 1}"} < set(
            process.cmdline()
        )
    assert left(members) == []
    assert can_be_bound(server.port, server.port + 1, server.port + 2)
    assert ailment(server) == "server_crash"


@pytest.mark.thorough
def test_neighbours_have_separate_ports_and_take_turns_on_graphics_adapters() -> None:
    one_gpu = CarlaSimulator(
        root=INSTALL, quality="Low", off_screen=False, gpu=3, arguments=["-benchmark"]
    )
    two = CarlaSimulator(root=INSTALL, gpu=[4, 7])
    with one_gpu.lease_server(TOWN) as one, two.lease_server(TOWN) as other:
        assert abs(one.port - other.port) >= 3
        assert one.is_alive()
        assert other.is_alive()
        first, second = (arguments_of(server.port) for server in (one, other))
        turn = FIRST_PORTS.index(other.port) % 2
    assert {"-quality-level=Low", "-nosound", "-graphicsadapter=3", "-benchmark"} < set(first)
    assert "-RenderOffScreen" not in first
    assert {"-RenderOffScreen", f"-graphicsadapter={[4, 7][turn]}"} < set(second)


def test_graphics_adapters_take_turns() -> None:
    """By the first port, of which neighbours have one each."""
    install = CarlaInstall(Path("CarlaUE4.sh"), [], [4, 7])
    given = [install.build_launch_command(ReservedPorts(first, ())) for first in FIRST_PORTS[:3]]
    assert [command[-1] for command in given] == [f"-graphicsadapter={gpu}" for gpu in (4, 7, 4)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Refusing to run with the root privileges.", "as a user other than root"),
        ("libvulkan.so.1: cannot open shared object file: No such file", "Vulkan loader"),
        ("Cannot find a compatible Vulkan driver (ICD).", "a GPU whose driver"),
        ("LowLevelFatalError: out of memory", "LowLevelFatalError"),
    ],
)
def test_who_ends_at_the_start_is_quoted(
    monkeypatch: pytest.MonkeyPatch, said: str, quoted: str
) -> None:
    monkeypatch.setenv("STANDIN_EXIT", said)
    message = failure_at_start(CarlaSimulator(root=INSTALL))
    assert said in message
    assert quoted in message


@pytest.mark.thorough
def test_who_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_SILENT", "1")
    message = failure_at_start(CarlaSimulator(root=INSTALL, start_timeout=6.0))
    assert "not ready after 6 s; last line of its log: Disabling core dumps." in message


@pytest.mark.thorough
def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_VERSION", "0.9.15")
    assert "CARLA 0.9.15; 0.9.16 is needed" in failure_at_start(CarlaSimulator(root=INSTALL))


def test_arguments_that_carla_does_not_know() -> None:
    simulator = CarlaSimulator(root=INSTALL, arguments=["-no-such-thing"])
    assert "no argument of CARLA: -no-such-thing" in failure_at_start(simulator)


def failure_at_start(simulator: CarlaSimulator) -> str:
    """Return the one line that a launch fails with; nothing of it is left."""
    with pytest.raises(AttemptError) as caught, simulator.lease_server(TOWN):
        pass
    assert caught.value.failure == "server_launch"
    assert left(family()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize("executable", ["CarlaUE4.sh", SERVER_ALONE])
def test_who_does_not_hear_is_killed(monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    monkeypatch.setenv("STANDIN_DEAF", "1")
    with CarlaSimulator(root=INSTALL, executable=executable).lease_server(TOWN) as server:
        members = family()
    assert left(members) == []
    assert can_be_bound(server.port, server.port + 1, server.port + 2)


@pytest.mark.thorough
def test_a_server_that_stands_still_hangs_and_is_ended() -> None:
    with CarlaSimulator(root=INSTALL).lease_server(TOWN) as server:
        members = family()
        server_of(members, server.port).suspend()
        assert until(lambda: ailment(server) == "server_hang")
    assert left(members) == []
    assert can_be_bound(server.port, server.port + 1, server.port + 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("victim", "number"),
    [(1, signal.SIGKILL), (2, signal.SIGSEGV)],
    ids=["shell", "server"],
)
def test_when_one_process_ends_the_others_do(victim: int, number: signal.Signals) -> None:
    with CarlaSimulator(root=INSTALL).lease_server(TOWN) as server:
        members = family()
        members[victim].send_signal(number)
        assert until(lambda: left(members) == [])
        assert ailment(server) == "server_crash"
    assert can_be_bound(server.port, server.port + 1, server.port + 2)


@pytest.mark.thorough
def test_a_killed_holder_takes_all_along() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", LEASE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    with holder.stdout:
        port = int(holder.stdout.readline())
    members = family(holder.pid)
    assert len(members) == 3
    holder.kill()
    holder.wait()
    assert until(lambda: left(members) == [] and can_be_bound(port, port + 1, port + 2))


@pytest.mark.thorough
def test_a_killed_keeper_is_noticed_and_the_rest_ended() -> None:
    with CarlaSimulator(root=INSTALL).lease_server(TOWN) as server:
        members = family()
        members[0].kill()
        assert until(lambda: ailment(server) == "server_crash")
    assert left(members) == []


def test_installs_are_checked_when_settings_are_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="folder not found"):
        CarlaSimulator(root=str(tmp_path / "missing"))
    with pytest.raises(UserError, match=r"no install of CARLA: CarlaUE4\.sh is missing"):
        CarlaSimulator(root=str(tmp_path))
    script = tmp_path / "CarlaUE4.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(UserError, match="chmod"):
        CarlaSimulator(root=str(tmp_path))
    script.chmod(0o755)
    CarlaSimulator(root=str(tmp_path))
    (tmp_path / "VERSION").write_text("0.9.15\n")
    with pytest.raises(UserError, match=r"0\.9\.15; 0\.9\.16 is needed"):
        CarlaSimulator(root=str(tmp_path))
    with pytest.raises(UserError, match="ports are chosen"):
        CarlaSimulator(root=INSTALL, arguments=["-carla-rpc-port=2000"])


@pytest.mark.thorough
def test_a_running_carla_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_VERSION", "0.9.15")
    with reserve_ports(range(7200, 7260, 3), 3) as ports:
        command = [f"{INSTALL}/CarlaUE4.sh", f"-carla-rpc-port={ports.first}"]
        with launch_server(command, ROOT, ports.locks) as process:
            process.wait_for(lambda: probe_launched_version(ports.first), 120.0)
            simulator = CarlaSimulator(f"127.0.0.1:{ports.first}")
            with pytest.raises(AttemptError, match=r"CARLA 0\.9\.15"), simulator.lease_server(TOWN):
                pass
            assert process.is_server_running()

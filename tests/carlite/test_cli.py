from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import carla
import psutil
import pytest

from harness.carlite.serving import main
from tests.conftest import PATIENCE, ROOT, Carlite

BAD_OPTIONS = [
    (["--port", "65534"], "65534"),
    (["--seed", "-1"], "--seed"),
    (["--maps", "/no/such/folder"], "/no/such/folder"),
    (["--recordings", "/no/such/folder"], "/no/such/folder"),
    (["--traffic-manager", "neither"], "neither"),
    (["--moon"], "--moon"),
    (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
    (["--host", "203.0.113.7", "--port", "0"], "203.0.113.7"),
    (["--host", ""], "--host"),
    (["--host", "::1", "--port", "0"], "::1"),
]
"""Command lines, and what the answer names."""
BROKEN_MAPS = {
    "Empty": "",
    "Unfinished": "<OpenDRIVE><road id='1'",
    "Prose": "not a map at all",
    "Roadless": "<OpenDRIVE></OpenDRIVE>",
    "Binary": "\x00\xff",
}


def refused(code: int, *command: str) -> list[str]:
    """Run a command that ends with an exit code and no output but on stderr; return its lines."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    return done.stderr.splitlines()


def complaints(*command_lines: list[str]) -> list[str]:
    """Run carlite's command line on bad inputs, all in one process; return the line for each."""
    code = "import sys; from harness.carlite.serving import main; assert"
    code += f" all(main(line) == 2 for line in {command_lines!r}); sys.exit(7)"
    lines = refused(7, "-c", code)
    assert len(lines) == len(command_lines), lines
    return lines


def test_bad_input_ends_it_with_one_line() -> None:
    (line,) = refused(2, "-m", "harness.carlite", "--port", "many")
    assert "--port" in line


@pytest.mark.thorough
def test_bad_options_get_one_line() -> None:
    options = [bad for bad, _ in BAD_OPTIONS]
    for line, (_, words) in zip(complaints(*options), BAD_OPTIONS, strict=True):
        assert words in line


@pytest.mark.thorough
def test_an_unknown_town_is_refused_with_the_valid_names() -> None:
    (line,) = complaints(["--port", "0", "--town", "Atlantis"])
    assert "Atlantis" in line
    assert "Crucible05" in line


@pytest.mark.thorough
def test_a_broken_map_file_is_named(tmp_path: Path) -> None:
    for name, text in BROKEN_MAPS.items():
        (tmp_path / f"{name}.xodr").write_text(text)
    maps = ["--port", "0", "--maps", str(tmp_path), "--town"]
    lines = complaints(*([*maps, name] for name in BROKEN_MAPS))
    for name, line in zip(BROKEN_MAPS, lines, strict=True):
        assert name in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_maps_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    (line,) = complaints(["--port", "0", "--maps", str(tmp_path)])
    assert str(tmp_path) in line


def names_a_taken_port() -> bool:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        lines = complaints(*(["--port", str(port - offset)] for offset in range(3)))
    return all(f"127.0.0.1:{port}" in line for line in lines)


@pytest.mark.thorough
def test_a_taken_port_is_named() -> None:
    """Another program may have taken a port below it; not every time."""
    assert any(names_a_taken_port() for _ in range(5))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("town", "number"),
    [
        ("CrucibleOld", signal.SIGTERM),
        ("CrucibleRing", signal.SIGINT),
        ("CrucibleHill", signal.SIGTERM),
    ],
)
def test_every_town_of_ours_starts_and_a_signal_ends_it_cleanly(
    town: str, number: signal.Signals
) -> None:
    with Carlite("--town", town) as server:
        client = server.client()
        assert client.get_world().get_map().name.endswith(town)
        server.process.send_signal(number)
        assert server.process.wait(60) == 0
        assert [line for line in server.log().splitlines() if "compiling" not in line] == []
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((server.host, server.port), 1)


@pytest.mark.thorough
def test_a_signal_while_starting_is_no_accident() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.carlite", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not psutil.Process(process.pid).net_connections():
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert log == b""


@pytest.mark.thorough
def test_it_listens_at_the_given_address_only_next_to_another(
    carlite: Carlite, client: carla.Client
) -> None:
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", carlite.port), 1)
    with Carlite("--host", "127.0.0.2", "--seed", "2") as server:
        assert server.host == "127.0.0.2"
        assert server.client().get_world().wait_for_tick().frame > 0
        for running, asking in ((carlite, client), (server, server.client())):
            assert asking.get_world().get_map().name.endswith(running.town)


@pytest.mark.thorough
def test_on_all_addresses_a_client_gets_the_one_it_dialled() -> None:
    with Carlite("--host", "0.0.0.0") as server:
        for host in ("127.0.0.1", "127.0.0.3"):
            client = carla.Client(host, server.port)
            client.set_timeout(10.0)
            assert client.get_world().wait_for_tick().frame > 0


def test_help_lists_all_options() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness.carlite", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for option in ("--host", "--port", "--town", "--maps", "--seed", "--traffic-manager"):
        assert option in done.stdout


def test_numba_brings_no_scipy_into_a_server(carlite: Carlite) -> None:
    maps = Path(f"/proc/{carlite.process.pid}/maps").read_text()
    assert "numba" in maps
    assert "/scipy/" not in maps


@pytest.mark.parametrize("line", [["--moon"], ["--host", "no.such.host.invalid"]])
def test_a_command_line_leaves_no_signal_handler_behind(line: list[str]) -> None:
    """A caller that runs it in a process with handlers goes on afterwards."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    assert main(line) == 2
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.thorough
def test_a_server_that_was_stopped_leaves_no_signal_handler_behind() -> None:
    code = "import signal, sys; from harness.carlite.serving import main; handler = lambda *_: 0;"
    code += " signal.signal(signal.SIGTERM, handler); code = main(['--port', '0']);"
    code += " sys.exit(0 if (code, signal.getsignal(signal.SIGTERM)) == (0, handler) else 3)"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout
    assert b"ready" in process.stdout.readline()
    process.terminate()
    process.communicate()
    assert process.returncode == 0

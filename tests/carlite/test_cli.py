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

from tests.conftest import ROOT, Carlite


def complaint(*options: str) -> str:
    """Run carlite on bad input and return its one line on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "harness.carlite", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "many"], "--port"),
        (["--port", "65534"], "65534"),
        (["--seed", "-1"], "--seed"),
        (["--maps", "/no/such/folder"], "/no/such/folder"),
        (["--traffic-manager", "neither"], "neither"),
        (["--moon"], "--moon"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
        (["--host", "203.0.113.7", "--port", "0"], "203.0.113.7"),
        (["--host", ""], "--host"),
        (["--host", "::1", "--port", "0"], "::1"),
    ],
)
def test_bad_options_get_one_line(options: list[str], words: str) -> None:
    assert words in complaint(*options)


def test_an_unknown_town_is_refused_with_the_valid_names() -> None:
    line = complaint("--port", "0", "--town", "Atlantis")
    assert "Atlantis" in line
    assert "Crucible05" in line


@pytest.mark.parametrize(
    "text",
    ["", "<OpenDRIVE><road id='1'", "not a map at all", "<OpenDRIVE></OpenDRIVE>", "\x00\xff"],
)
def test_a_broken_map_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "Broken.xodr").write_text(text)
    assert "Broken" in complaint("--port", "0", "--maps", str(tmp_path), "--town", "Broken")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_maps_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    assert str(tmp_path) in complaint("--port", "0", "--maps", str(tmp_path))


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_taken_port_is_named(offset: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}" in complaint("--port", str(port - offset))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with Carlite() as server:
        client = server.client()
        client.get_world().get_map()
        asked = time.monotonic()
        server.process.send_signal(number)
        assert server.process.wait(5) == 0
        assert time.monotonic() - asked < 1.0
        assert [line for line in server.log().splitlines() if "compiling" not in line] == []
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((server.host, server.port), 1)


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
    _, log = process.communicate(timeout=10)
    assert process.returncode == 0
    assert log == b""


def test_two_servers_side_by_side() -> None:
    with Carlite("--seed", "1") as one, Carlite("--seed", "2") as other:
        assert one.port != other.port
        for server in (one, other):
            assert server.client().get_world().get_map().name.endswith(server.town)


@pytest.mark.parametrize("town", ["CrucibleOld", "CrucibleRing", "CrucibleHill"])
def test_every_town_of_ours_starts(town: str) -> None:
    with Carlite("--town", town) as server:
        assert server.client().get_world().get_map().name.endswith(town)


def test_it_listens_at_the_given_address_only() -> None:
    with Carlite() as server, pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.port), 1)
    with Carlite("--host", "127.0.0.2") as server:
        assert server.host == "127.0.0.2"
        assert server.client().get_world().wait_for_tick().frame > 0


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

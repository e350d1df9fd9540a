"""`crucible routes | maps`, as a user runs them."""

from __future__ import annotations

import math
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from crucible.subcommands import dispatch_subcommand as main
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import find_map
from harness.world.routes.files import RouteSpec, write_routes
from harness.world.routes.hazard_files import write_hazards
from tests.carlite.opendrive_samples import crossing
from tests.conftest import ROOT, Carlite
from tests.world.town_maps import roads

BAD = Path(__file__).parent.parent / "bad_inputs"
KIND = "occluded_pedestrian"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Write three routes, two of them along the same way, and a hazard."""
    network = roads("Crucible05")
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, len(network.graph.xyz), (2, 2))
    points = [np.column_stack([network.graph.xyz[two], network.graph.yaw[two]]) for two in pairs]
    specs = [
        RouteSpec(
            id=name,
            town="Crucible05",
            keypoints=points[which],
            weather=None,
            scenarios=(),
            file=tmp_path,
            line=1,
        )
        for name, which in (("a", 0), ("b", 1), ("c", 0))
    ]
    write_routes(tmp_path / "routes.xml", specs)
    write_hazards(tmp_path / "hazards.json", [HazardSpec(route="a", kind=KIND, station=40.0)])
    return str(tmp_path / "routes.xml"), str(tmp_path / "hazards.json")


@pytest.mark.usefixtures("prints_fit")
def test_list(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "list", files[0]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        [name, "Crucible05", "2", "points,"] for name in "abc"
    ]


@pytest.mark.usefixtures("prints_fit")
def test_check(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "check", files[0], "--hazards", files[1]]) == 0
    *lines, same = capsys.readouterr().out.splitlines()
    assert same == "the same way: a, c"
    assert [f"{KIND} at 40 m" in line for line in lines] == [True, False, False]


def test_check_refuses_what_a_campaign_would_refuse(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_hazards(
        Path(files[1]), [HazardSpec(route="a", kind=KIND, station=40.0, parameters={"sped": 3.0})]
    )
    assert main(["routes", "check", files[0], "--hazards", files[1]]) == 2
    said = capsys.readouterr()
    assert "unknown parameter sped; did you mean speed? valid parameters: speed" in said.err
    assert not said.out


def test_check_goes_on_after_a_bad_route(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(files[0])
    path.write_text(path.read_text().replace('id="b" town="Crucible05"', 'id="b" town="Nowhere"'))
    assert main(["routes", "check", files[0]]) == 2
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert len(said.err.splitlines()) == 1
    assert "route b: Nowhere" in said.err


@pytest.mark.parametrize("path", sorted((BAD / "routes").iterdir()), ids=lambda path: path.name)
def test_bad_routes_end_with_one_line_and_code_2(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["routes", "check", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id="0" junction', 'id="r1" junction', "line 2: <road> has id='r1'; write a whole"),
        ("<OpenDRIVE>", "<!DOCTYPE a [<!ENTITY b '9'>]><OpenDRIVE>", "document types and entities"),
        ("<OpenDRIVE>", "<OpenDRIVE a='' a=''>", "not XML (duplicate attribute)"),
        ('<type s="0"', '<type s="x"', "has s='x'; write a finite number"),
        ("<road ", "<path ", "is no map that CARLA can read"),
        ('type="driving"', 'type="none"', "has no driving lanes"),
    ],
)
def test_bad_maps_end_with_one_line_and_code_2(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = crossing()
    assert old in text
    (tmp_path / "Mine.xodr").write_text(text.replace(old, new))
    points = np.array([(60.0, -2.0, 0.0, math.nan), (-60.0, -2.0, 0.0, math.nan)])
    write_routes(
        tmp_path / "r.xml",
        [
            RouteSpec(
                id="a",
                town="Mine",
                keypoints=points,
                weather=None,
                scenarios=(),
                file=tmp_path,
                line=1,
            )
        ],
    )
    assert main(["routes", "check", str(tmp_path / "r.xml"), "--maps", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Mine.xodr" in line
    assert said in line


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "list", "nowhere.xml"]) == 2
    assert capsys.readouterr().err == (
        "nowhere.xml: cannot be read (No such file or directory); check the path\n"
    )


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_a_town_s_map_is_saved_from_a_running_server(carlite: Carlite, tmp_path: Path) -> None:
    carlite.begin_episode()
    done = harness(
        *("maps", "export", "--host", carlite.host, "--port", str(carlite.port)),
        *("--out", str(tmp_path / "maps")),
    )
    saved = tmp_path / "maps" / f"{carlite.town}.xodr"
    assert (done.returncode, done.stdout) == (0, f"{saved}\n"), done.stderr
    served = find_map(carlite.town, None)
    assert served is not None
    assert saved.read_text() == served.read_text()


class Greeter(socketserver.StreamRequestHandler):
    """Something that listens and is not CARLA."""

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example ready\r\n")


@pytest.mark.thorough
def test_what_is_not_carla_is_said(tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeter) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        port = stranger.server_address[1]
        for listening in (port, unused_port()):
            where = ("--host", "127.0.0.1", "--port", str(listening))
            done = harness("maps", "export", *where, "--out", str(tmp_path))
            assert done.returncode == 2
            (line,) = done.stderr.splitlines()
            assert line.startswith(f"127.0.0.1:{listening}: ")
        stranger.shutdown()


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])

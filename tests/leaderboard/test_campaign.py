"""The little agent in campaigns on carlite: disturbed at its door, killed, resumed, failing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import DETECTED
from tests.campaign.tiny import command, environment, files, ledger, write_route
from tests.conftest import ROOT
from tests.killing import kill_after_first_attempt
from tests.profiles import ONLY_WITH_ALL

pytestmark = pytest.mark.thorough
PATIENCE = 600.0
HERE = Path(__file__).parent
CONDITIONS = ("none", "gnss", "blur", "own_latency", "stray_returns", "speedometer")


def list_settings(out: Path, conditions: str) -> list[str]:
    agent = "system.leaderboard_agent"
    words = [f"root={HERE}", "agent=little_agent.py", f"python={sys.executable}"]
    return [
        "system=leaderboard_agent",
        *(f"{agent}.{word}" for word in words),
        f"interference=[{conditions}]",
        "routes.hazards=null",
        "executor.workers=1",
        f"out={out}",
    ]


def drive(
    routes: Path, out: Path, conditions: str, more: Sequence[str] = (), **variables: str
) -> Any:
    return subprocess.run(
        command(routes, *list_settings(out, conditions), *more),
        cwd=ROOT,
        env={**environment(), **variables},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def read_drives(journal: Path) -> list[list[dict[str, Any]]]:
    """The lines that the agent wrote, drive by drive."""
    drives: list[list[dict[str, Any]]] = []
    for line in map(json.loads, journal.read_text().splitlines()):
        if line["frame"] == 0:
            drives.append([])
        drives[-1].append(line)
    return drives


def test_disturbances_reach_its_door(tmp_path: Path) -> None:
    routes, whole = write_route(tmp_path, "step"), tmp_path / "whole"
    journal = tmp_path / "journal"
    done = drive(routes, whole, ",".join(CONDITIONS), LITTLE_AGENT_JOURNAL=str(journal))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has no boxes" in done.stdout
    # what came to its door, next to the undisturbed drive
    drives = dict(zip(CONDITIONS, read_drives(journal), strict=True))
    plain = drives["none"]
    assert plain[0]["names"] == ["LIDAR", "deep", "front", "gps", "imu", "map", "radar", "speed"]
    assert plain[0]["shapes"]["front"] == [48, 64, 4]
    assert [line["frame"] for line in plain] == list(range(len(plain)))
    assert plain[20]["time"] == pytest.approx(1.0)
    assert drives["gnss"][0]["gps"] != plain[0]["gps"]
    assert drives["gnss"][0]["compass"] != plain[0]["compass"]
    assert drives["blur"][0]["picture"] != plain[0]["picture"]
    assert drives["stray_returns"][0]["points"] == plain[0]["points"] + 1000
    assert drives["blur"][0]["gps"] == plain[0]["gps"]
    # both go with the same throttle until then
    assert drives["speedometer"][0]["speed"] == plain[0]["speed"] == pytest.approx(0.0, abs=0.05)
    assert plain[30]["speed"] > 1.0
    shown = 1.05 * plain[30]["speed"] + 0.55
    assert drives["speedometer"][30]["speed"] == pytest.approx(shown, abs=1e-4)
    # it wants to go from the first tick on; with own latency the vehicle goes later
    for name, moves in (("none", 0), ("own_latency", 4)):
        (place,) = (
            where for key, where in CampaignRecords(whole).find_attempts().items()
            if key.arm.condition == name
        )  # fmt: skip
        frames = read_stored_table(place / "frames.parquet", "frames")
        assert frames.loc[frames.throttle > 0, "frame"].iloc[0] >= moves
        assert frames[list(DETECTED)].isna().all(axis=None)
        result = json.loads((place / "result.json").read_text())["crucible"]
        assert result["agent_sensors"]["privileged"] is False
        assert result["patterns"]["total"]["LCME"] is None
        assert result["completion"] == pytest.approx(1.0, abs=0.03)


@ONLY_WITH_ALL
def test_a_kill_changes_no_record(tmp_path: Path) -> None:
    routes, whole, killed = write_route(tmp_path, "step"), tmp_path / "whole", tmp_path / "killed"
    assert drive(routes, whole, "none,gnss").returncode == 0
    line = command(routes, *list_settings(killed, "none,gnss"))
    kill_after_first_attempt(line, killed, patience=PATIENCE)
    assert len(ledger(killed)) == 1
    assert drive(routes, killed, "none,gnss").returncode == 0
    both = [path for path in files(killed) if path.name != "timing.json"]
    assert len(both) > 10
    for path in both:
        assert (killed / path).read_bytes() == (whole / path).read_bytes(), path


@pytest.mark.parametrize(
    ("fault", "failure", "said"),
    [("setup", "agent_setup", "no weights here"), ("step", "agent_exception", "lost")],
)
def test_what_fails_in_the_agent_is_the_attempts_failure(
    tmp_path: Path, fault: str, failure: str, said: str
) -> None:
    routes = write_route(tmp_path, "step")
    done = drive(routes, tmp_path / "out", "none", LITTLE_AGENT_FAULT=fault)
    assert done.returncode == 1
    lines = ledger(tmp_path / "out")
    assert {line["failure"] for line in lines} == {failure}
    assert all(said in line["message"] and "\n" not in line["message"] for line in lines)
    # the line of the agent's file that raised it
    source = (HERE / "little_agent.py").read_text().splitlines()
    number = next(number for number, text in enumerate(source, 1) if f'("{said}")' in text)
    assert all(line["message"].endswith(f" (little_agent.py:{number})") for line in lines)

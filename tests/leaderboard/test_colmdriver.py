"""CoLMDriver's own agent, with random numbers as weights: two egos negotiate, and repeat.

COLMDRIVER_ROOT names a checkout of CoLMDriver, and COLMDRIVER_PYTHON an interpreter in which its
agent runs: docs/how-to/agents-tried.md says what it needs. AGENTS_PATH may name CARLA's folder
`PythonAPI/carla`. The checkout is copied.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.leaderboard.language_model import CALLS
from tests.campaign.egos import find_try
from tests.campaign.tiny import environment, files
from tests.conftest import ROOT
from tests.leaderboard.test_answering_server import serve_roles
from tests.world.little_checkout import write

CHECKOUT, PYTHON = (os.environ.get(f"COLMDRIVER_{name}", "") for name in ("ROOT", "PYTHON"))
AGENT = "simulation/leaderboard/team_code/colmdriver_agent.py"
CONFIG = "simulation/leaderboard/team_code/agent_config/colmdriver_config.yaml"
BIRDEYE = "simulation/leaderboard/team_code/utils"
SIDE_BY_SIDE = ((84.33, 84.3), (87.83, 87.8))
"""Places of y in Town05 of two lanes next to each other, from x -204.1 to -234.1."""
QUESTIONS = {
    "speed of the planner": "Provide the speed intention",
    "message": "the message you want to negotiate",
    "sum of actions": "classify each vehicle's speed change",
    "consensus": "Consensus score: int",
}


def prepare(folder: Path, urls: list[str]) -> Path:
    """Return a copy of the checkout with random weights, that asks at these addresses."""
    root = folder / "colmdriver"
    shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns(".git", "img", "ckpt"))
    # its counter of overlaps, as its README compiles it
    build = [PYTHON, "opencood/utils/setup.py", "build_ext", "--inplace"]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    tool = ROOT / "tools" / "guests" / "colmdriver_weights.py"
    subprocess.run([PYTHON, str(tool), "--root", str(root), "--seed", "5"], check=True)
    text = (root / CONFIG).read_text()
    for published, url in zip(("8888", "1111"), urls, strict=True):
        text = text.replace(f"http://127.0.0.1:{published}/v1", url)
    (root / CONFIG).write_text(text)
    return root


def write_pair(folder: Path) -> Path:
    """Return a folder in InterDrive's form with two egos side by side."""
    for number, (start, end) in enumerate(SIDE_BY_SIDE):
        inside = "".join(
            f'<waypoint pitch="0.0" roll="0.0" x="{x}" y="{y}" yaw="180.0" z="0.0" />'
            for x, y in ((-204.1, start), (-234.1, end))
        )
        place = folder / "simulation/leaderboard/data/Interdrive/r3_town05_pair"
        text = f'<routes><route id="145" town="Town05">{inside}</route></routes>'
        write(place / f"r3_town05_pair_{number}.xml", text)
    return folder


@pytest.mark.thorough
@pytest.mark.skipif(
    not (CHECKOUT and PYTHON), reason="COLMDRIVER_ROOT and COLMDRIVER_PYTHON name no CoLMDriver"
)
def test_two_egos_negotiate_and_repeat_byte_for_byte(tmp_path: Path) -> None:
    pair = write_pair(tmp_path / "pair")
    system = "system.leaderboard_agent_privileged"
    paths = [*filter(None, [os.environ.get("AGENTS_PATH")]), BIRDEYE]

    def drive(out: Path, root: Path, *more: str) -> None:
        line = [
            *(sys.executable, "run_campaign.py", "routes=interdrive"),
            *("system=leaderboard_agent_privileged", f"routes.checkout={pair}"),
            *("routes.source.driven=all", "traffic=few", "interference=[none]", "seeds=[1]"),
            *("driving.timeout_seconds_per_metre=0.02", "driving.timeout_extra_seconds=0"),
            *("attempt_timeout=7200", "attempts_per_route=1", "executor.workers=1"),
            *(f"{system}.root={root}", f"{system}.agent={AGENT}", f"{system}.config={CONFIG}"),
            *(f"{system}.python={PYTHON}", f"{system}.paths=[{','.join(paths)}]"),
            *(f"{system}.step_timeout=1200", f"out={out}", *more),
        ]
        needed = {"SAVE_PATH": str(tmp_path / "saved"), "ROUTES": "pair", "REALTIME_MODE": "0"}
        done = subprocess.run(
            line,
            cwd=ROOT,
            env={**environment(), **needed},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    with serve_roles() as urls:
        root, model = prepare(tmp_path, urls), f"{system}.language_model"
        address = f"{model}.url=[{','.join(urls)}]"
        drive(tmp_path / "first", root, address, f"{model}.record={tmp_path / 'kept'}")
    drive(tmp_path / "second", root, address, f"{model}.replay={tmp_path / 'kept'}")

    (calls,) = (tmp_path / "kept").rglob(CALLS)
    asked = [json.loads(line)["question"] for line in calls.read_text().splitlines()]
    for role, words in QUESTIONS.items():
        assert any(words in question for question in asked), role
    same = [path for path in files(tmp_path / "first") if path.name != "timing.json"]
    assert any("egos" in path.parts for path in same)
    for path in same:
        once, again = tmp_path / "first" / path, tmp_path / "second" / path
        assert once.read_bytes() == again.read_bytes(), path
    result = json.loads((find_try(tmp_path / "second") / "result.json").read_text())["crucible"]
    assert len(result["agent_sensors"]["language_model"]["calls"]) == len(asked)

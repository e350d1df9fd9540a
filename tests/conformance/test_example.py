"""The example, copied into a package of one's own: it passes the check and drives a campaign."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.examples import clusters
from harness.records.keys import AttemptKey
from harness.records.reading import read_stored_table
from tests.campaign.tiny import command, ledger, write_route
from tests.conftest import ROOT
from tests.keys import arm_of

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def mylab(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which the example is `mylab.system`."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "mylab").mkdir()
    shutil.copy(clusters.__file__, folder / "mylab" / "system.py")
    ours = {"PYTHONPATH": str(folder), "CRUCIBLE_PACKAGES": "mylab", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **ours}


def run(*words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_it_is_as_short_as_the_page_says() -> None:
    lines = len(inspect.getsource(clusters).splitlines())
    page = (ROOT / "docs/how-to/own-system.md").read_text()
    assert f"a whole system in {lines} lines" in page


def test_it_passes_the_check(mylab: dict[str, str], street_file: Path) -> None:
    words = (sys.executable, "-m", "crucible", "check", "mylab.system:Clusters", "fewest=9")
    done = run(*words, f"--recording={street_file}", environment=mylab)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout


def test_it_drives_a_campaign(mylab: dict[str, str], tmp_path: Path) -> None:
    settings = (
        "system=[]",
        "+system.mine._target_=mylab.system.Clusters",
        "interference=[none,latency]",
        "cooperation=mixed",
        "routes.hazards=null",
        f"out={tmp_path / 'out'}",
    )
    done = run(*command(write_route(tmp_path, "hop"), *settings), environment=mylab)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line["outcome"] for line in ledger(tmp_path / "out")] == ["done", "done"]
    attempt = (
        tmp_path
        / "out"
        / "episodes"
        / AttemptKey(arm_of("mine", "none", "mixed"), "hop", 1).path
        / "try1"
    )
    boxes = read_stored_table(attempt / "boxes.parquet", "boxes")
    alone, together = (boxes[boxes.source == name] for name in ("ego_alone", "cooperative"))
    assert len(together) > len(alone) > 0
    frames = read_stored_table(attempt / "frames.parquet", "frames")
    assert frames.speed.max() > 2.0

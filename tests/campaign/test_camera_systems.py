"""Campaigns of systems that read pictures: refused without cameras, equal again, resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from harness.campaign.planning.compatibility import find_unfit_arms
from harness.campaign.settings.config import build_part
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords, read_stored_table
from harness.types.systems import has_image_reader
from harness.world.rig import RIGS, read_rig
from tests.campaign.tiny import command, composed, environment, files, run, write_route
from tests.conftest import ROOT
from tests.once import once

PATIENCE = 300.0
SYSTEM = "+system.mine._target_=tests.campaign.picture_reader.PictureReader"
SMALL = [
    f"rig.{agents}_cameras.{name}.{side}={pixels}"
    for agents in ("vehicle", "roadside")
    for name in ("front", "left", "right", "rear")
    for side, pixels in (("width", 160), ("height", 120))
]
"""Pictures of few pixels, which are drawn fast."""
ARMS = (
    SYSTEM,
    "system=ideal_single",
    "interference=[none,latency]",
    "rig=v2xverse_cameras",
    "routes.hazards=null",
    *SMALL,
)


@pytest.mark.parametrize("rig", ["v2xverse_cameras", "opv2v"])
def test_training_and_campaigns_have_the_same_cameras(rig: str) -> None:
    assert build_part(composed(f"rig={rig}")["rig"], "rig") == read_rig(RIGS / f"{rig}.yaml")


def test_a_system_that_reads_images_needs_a_rig_with_cameras() -> None:
    words = ("system=camera_late", "system.camera_late.weights=random")
    arm = Arm.from_factors(system="camera_late", cooperation="ahead", condition="none")
    with pytest.raises(UserError, match="camera_late reads images, and the rig has no cameras"):
        find_unfit_arms(composed(*words, "interference=none"), [arm])
    known = composed(*words, "interference=none", "rig=opv2v")
    assert find_unfit_arms(known, [arm]) == {}


def test_a_system_without_weights_asks_for_them() -> None:
    with pytest.raises(UserError, match=r"system\.mixed_late\.weights is not set"):
        composed("system=mixed_late", "rig=opv2v")


def test_systems_that_do_not_declare_it_read_no_images() -> None:
    assert not has_image_reader(object())


def records_differ(one: Path, other: Path) -> list[str]:
    """Return the files that differ, but for what a drive took."""
    alike = sorted(files(one))
    assert sorted(files(other)) == alike
    return [
        str(path)
        for path in alike
        if path.name != "timing.json" and (one / path).read_bytes() != (other / path).read_bytes()
    ]


def drive(folder: Path) -> Path:
    routes = write_route(folder, "step")
    done = run(routes, *ARMS, f"out={folder / 'out'}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the routes and a finished campaign."""
    return once(tmp_path_factory, "pictures", drive)


@pytest.mark.thorough
def test_pictures_reach_the_ego_and_its_partner(driven: Path) -> None:
    places = CampaignRecords(driven / "out").find_attempts()
    place = next(
        path
        for key, path in places.items()
        if (key.arm.system, key.arm.condition) == ("mine", "none")
    )
    boxes = read_stored_table(place / "boxes.parquet", "boxes")
    bright = boxes[(boxes.source == "cooperative") & (boxes.y.abs() > 47.0)]
    # pictures are neither black nor white, and change as the ego drives
    assert bright.length.between(0.2, 2.3).all()
    assert bright.length.nunique() > 3
    messages = read_stored_table(place / "messages.parquet", "messages")
    # 33 bytes a box: a partner's pictures are one of them
    assert (messages.bytes >= 33).all()


@pytest.mark.thorough
def test_killed_and_resumed_it_is_the_same(driven: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runner = subprocess.Popen(
        command(driven, *ARMS, f"out={out}"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not (out / "ledger.jsonl").exists() or not psutil.Process(runner.pid).children():
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    done = run(driven, *ARMS, f"out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert records_differ(driven / "out", out) == []

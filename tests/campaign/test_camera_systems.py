"""Campaigns of systems that read pictures: refused without cameras, equal again, resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.perception.cameras.systems import find_camera_weights
from agents.perception.fusion.catalogue import SCHEMES
from harness.campaign.planning.compatibility import find_unfit_arms
from harness.campaign.settings.config import build_part
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.pictures import read_kept_pictures
from harness.records.reading import CampaignRecords, read_stored_table
from harness.types.systems import has_image_reader
from harness.world.rig import RIGS, read_rig
from tests.campaign.tiny import command, composed, files, run, write_route
from tests.killing import kill_while_driving
from tests.once import once
from tests.profiles import ONLY_WITH_ALL

PATIENCE = 300.0
SYSTEM = "+system.mine._target_=tests.campaign.picture_reader.PictureReader"
SMALL = [
    f"rig.{agents}_cameras.{name}.{side}={pixels}"
    for agents in ("vehicle", "roadside")
    for name in ("front", "left", "right", "rear")
    for side, pixels in (("width", 160), ("height", 120))
]
"""Pictures of few pixels, which are drawn fast."""
FOGGY = tuple(f"rig.{agent}.r_max=200" for agent in ("ego", "roadside", "vehicle"))
ARMS = (
    SYSTEM,
    "system=ideal_single",
    "interference=[none,latency]",
    "rig=v2xverse_cameras",
    "routes.hazards=null",
    "record.pictures=[front]",
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


def test_weather_is_planned_for_pictures_and_stray_points_are_not() -> None:
    words = ("system=camera_late", "system.camera_late.weights=random", "rig=opv2v", *FOGGY)
    fog, stray = (
        Arm.from_factors(system="camera_late", cooperation="ahead", condition=name)
        for name in ("fog", "stray_returns")
    )
    assert find_unfit_arms(composed(*words, "interference=[none,fog]"), [fog]) == {}
    with pytest.raises(UserError, match="changes points, and the system reads none"):
        find_unfit_arms(composed(*words, "interference=[none,stray_returns]"), [stray])


def test_kept_pictures_need_a_camera_and_a_reader() -> None:
    arm = Arm.from_factors(system="ideal_late", cooperation="ahead", condition="none")
    words = ("system=ideal_late", "interference=none")
    for more, why in (
        (("record.pictures=[front]",), "no camera 'front'; the rig has no cameras"),
        (("rig=opv2v", "record.pictures=[top]"), "no camera 'top'; the rig has front, left"),
        (("rig=opv2v", "record.pictures=[front]"), "no system of the campaign reads images"),
    ):
        with pytest.raises(UserError, match=why):
            find_unfit_arms(composed(*words, *more), [arm])


def test_weights_come_with_the_systems_and_others_are_asked_for() -> None:
    for scheme in ("single", "late", "attfuse", "disconet", "fcooper", "v2xvit"):
        assert find_camera_weights(SCHEMES[scheme], None).is_file()
    with pytest.raises(UserError, match="no weights for codriving with cameras: train some with"):
        find_camera_weights(SCHEMES["codriving"], None)


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
    # the front pictures of both are kept: of each planning step, none black
    kept = read_kept_pictures(place, "front")
    frames = set(read_stored_table(place / "frames.parquet", "frames").frame)
    assert {frame for frame, sender in kept if sender == "ego"} == frames
    assert any(sender != "ego" for _, sender in kept)
    assert all(image.pixels.shape == (120, 160, 3) for image in kept.values())
    assert min(image.pixels.mean() for image in kept.values()) > 20
    assert read_kept_pictures(place, "rear") == {}
    messages = read_stored_table(place / "messages.parquet", "messages")
    # 33 bytes a box: a partner's pictures are one of them
    assert (messages.bytes >= 33).all()


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_killed_and_resumed_it_is_the_same(driven: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = command(driven, *ARMS, f"out={out}")
    kill_while_driving(line, out, patience=PATIENCE)
    done = run(driven, *ARMS, f"out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert records_differ(driven / "out", out) == []


def read_brightness(out: Path, condition: str, seed: int) -> list[float]:
    """Return the mean of the ego's pictures at each step, in units of 100."""
    place = next(
        path
        for key, path in CampaignRecords(out).find_attempts().items()
        if (key.arm.system, key.arm.condition, key.seed) == ("mine", condition, seed)
    )
    boxes = read_stored_table(place / "boxes.parquet", "boxes")
    of_pictures = boxes[(boxes.source == "cooperative") & (boxes.y.abs() > 47.0)]
    return of_pictures.length.tolist()


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_fog_of_sweeps_is_in_pictures_and_gone_afterwards(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "step")
    arms = [word for word in ARMS if not word.startswith(("interference", "system="))]
    for out, condition, seeds in (("both", "[none,fog]", "[1,2]"), ("dry", "none", "[2]")):
        words = (*arms, *FOGGY, "system=[]", f"interference={condition}", f"seeds={seeds}")
        done = run(routes, *words, "executor.workers=1", f"out={tmp_path / out}")
        assert done.returncode == 0, done.stdout + done.stderr
    both, dry = tmp_path / "both", tmp_path / "dry"
    clear, fog = (read_brightness(both, name, 1) for name in ("none", "fog"))
    assert abs(clear[0] - fog[0]) > 0.05
    # the drive after it has its own weather again
    assert read_brightness(both, "none", 2) == read_brightness(dry, "none", 2)


def test_disturbances_of_pictures_are_planned_for_systems_that_read_images() -> None:
    words = ("rig=opv2v", "interference=[none,night,blur,glare,dropped_camera,miscalibration]")
    for condition in ("night", "blur", "glare", "dropped_camera", "miscalibration"):
        seeing = Arm.from_factors(system="camera_late", cooperation="ahead", condition=condition)
        known = composed("system=camera_late", "system.camera_late.weights=random", *words)
        assert find_unfit_arms(known, [seeing]) == {}
        blind = Arm.from_factors(system="late", cooperation="ahead", condition=condition)
        with pytest.raises(UserError, match="changes pictures, and the system reads none"):
            find_unfit_arms(composed("system=late", "system.late.weights=random", *words), [blind])


@pytest.mark.thorough
def test_pictures_are_disturbed_while_a_system_drives(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "step")
    names = ("none", "night", "blur", "glare", "dropped_camera", "miscalibration")
    arms = [word for word in ARMS if not word.startswith(("interference", "system="))]
    words = (*arms, "system=[]", f"interference=[{','.join(names)}]", "seeds=[1]")
    done = run(routes, *words, "executor.workers=1", f"out={tmp_path / 'out'}")
    assert done.returncode == 0, done.stdout + done.stderr
    light = {name: read_brightness(tmp_path / "out", name, 1)[0] for name in names}
    assert light["night"] < light["none"] - 0.05
    assert light["dropped_camera"] < light["none"] - 0.05
    assert light["glare"] > light["none"] - 0.001
    for name in ("blur", "miscalibration"):
        assert light[name] == pytest.approx(light["none"], abs=0.02)

"""Violations seen from above: what is drawn where, and how cases are listed and drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from analysis.__main__ import main
from analysis.cases import ViolationCase, list_violation_cases, select_shown_cases
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.drawing.canvas import Canvas, Polyline, TextLabel
from analysis.drawing.palette import COLOURS
from analysis.drive import RecordedDrive, build_snapshot, read_recorded_drive
from analysis.figures.birds_eye import (
    SIZE,
    BirdsEyeView,
    collect_last_seconds,
    project_box_corners,
    render_strip,
)
from analysis.replay.legend import list_film_legend_entries
from analysis.report.violations import SIGNS
from tests.analysis.little import Drive as Made
from tests.analysis.little import write_little
from tests.keys import key_of


def test_a_view_turns_its_heading_upwards_and_right_to_the_right() -> None:
    """The ego looks along +y; +x is to its left in CARLA's hands."""
    view = BirdsEyeView(10.0, 20.0, math.pi / 2, 25.0)
    seen = view.project_places(np.array([[10.0, 20.0], [10.0, 45.0], [-15.0, 20.0]]), 100.0)
    assert seen.tolist() == [
        pytest.approx([50.0, 50.0]),
        pytest.approx([50.0, 0.0]),
        pytest.approx([100.0, 50.0]),
    ]


def test_boxes_are_brought_from_the_lidar_to_the_world() -> None:
    """The LiDAR stands at (100, 50), 2 m high, and looks along +y; the ego itself is elsewhere."""
    frames = pd.DataFrame({"frame": [4, 8], "time": [0.2, 0.4]}).assign(**along("ego_", 0.0))
    box = {"x": 10.0, "y": 2.0, "z": -1.0, "length": 4.0, "width": 2.0, "height": 1.5, "yaw": 0.1}
    boxes = pd.DataFrame([{"frame": 8, "score": 1.0, **box}])
    lidar = along("true_", math.pi / 2) | {"true_x": 100.0, "true_y": 50.0, "true_z": 2.0}
    poses = pd.DataFrame([{"frame": 8, "kind": "ego", **lidar}])
    nothing = pd.DataFrame()
    drive = RecordedDrive(
        key=key_of("late", "none", "0", 1),
        folder=Path(),
        frames=frames,
        boxes=boxes,
        poses=poses,
        messages=nothing,
        events=nothing,
        map=nothing,
        tracks=nothing,
        actors=nothing,
        sightings=nothing,
        scenery=nothing,
        end=0.45,
        what="over",
        violated=False,
        place=(math.nan, math.nan),
        other=0,
    )
    late = build_snapshot(drive, drive.find_step_row(0.45))
    assert late.before == pytest.approx(0.05)
    row = late.boxes.iloc[0]
    assert (row["world_x"], row["world_y"], row["world_z"]) == pytest.approx((98.0, 60.0, 1.0))
    assert row["world_yaw"] == pytest.approx(0.1 + math.pi / 2)
    early = build_snapshot(drive, drive.find_step_row(-3.0))
    assert early.state["frame"] == 4
    assert early.boxes.empty


def along(prefix: str, yaw: float) -> dict[str, float]:
    """Return a pose at the origin."""
    return {f"{prefix}{axis}": 0.0 for axis in ("x", "y", "z", "pitch", "roll")} | {
        f"{prefix}yaw": yaw
    }


def test_small_boxes_are_rendered_large_enough_to_see() -> None:
    view = BirdsEyeView(0.0, 0.0, 0.0, 40.0)
    sizes = {"length": 0.4, "width": 0.4, "world_x": 3.0, "world_y": 4.0, "world_yaw": 0.0}
    corners = project_box_corners(pd.Series(sizes), view)
    assert np.ptp(corners, axis=0).tolist() == pytest.approx([5.0, 5.0])
    assert corners.mean(axis=0).tolist() == pytest.approx([137.5, 115.625])


def drive_in(case: ViolationCase) -> RecordedDrive:
    """Return a case's drive."""
    drive = read_recorded_drive(case.campaign, case.key)
    assert drive is not None
    return drive


def shapes(canvas: Canvas) -> list[Polyline]:
    return [mark for mark in canvas.marks if isinstance(mark, Polyline)]


def test_a_strip_shows_who_is_there_and_who_is_seen(collection: CampaignCollection) -> None:
    case = next(
        item for item in list_violation_cases(collection) if item.key.arm.condition == "latency"
    )
    story = collect_last_seconds(drive_in(case))
    assert len(story.snapshots) == 3
    assert story.snapshots[0].before > story.snapshots[1].before > story.snapshots[2].before > 0
    for snapshot, canvas in zip(story.snapshots, render_strip(story), strict=True):
        part = shapes(canvas)
        assert [item for item in part if item.title == "ego"]
        assert [item for item in part if item.stroke == "route"]
        titles = [mark.title for mark in canvas.marks if not isinstance(mark, TextLabel)]
        assert sorted(title for title in titles if title.startswith("roadside-1")) == [
            "roadside-1, believed place",
            "roadside-1, true place",
        ]
        seen = snapshot.boxes[snapshot.boxes["counted"]]
        inside = (
            np.abs(
                story.view.project_places(seen[["world_x", "world_y"]].to_numpy(np.float64), SIZE)
                - SIZE / 2
            ).max(axis=1)
            < SIZE / 2
        )
        for source, start in (("cooperative", "cooperative,"), ("ego_alone", "ego_alone,")):
            marks = [item for item in part if item.title.startswith(start)]
            assert len(marks) >= int((inside & (seen["source"].astype(str) == source)).sum())
        wrong = seen[inside & (seen["pattern"].astype(str) != "")]
        hues = {item.fill for item in part} & {"missed", "mislocalised", "additional"}
        assert bool(hues) >= bool(len(wrong))


def test_cases_are_numbered_alike_and_chosen_from_every_arm(collection: CampaignCollection) -> None:
    cases = list_violation_cases(collection)
    assert [case.number for case in cases] == list(range(1, len(cases) + 1))
    assert [case.key for case in cases] == sorted(case.key for case in cases)
    arms = {(case.key.arm.system, case.key.arm.condition) for case in cases}
    few = select_shown_cases(cases, len(arms))
    assert {(item.key.arm.system, item.key.arm.condition) for item in few} == arms
    for item in few:
        part = [c for c in cases if c.key.arm.system == item.key.arm.system]
        part = [c for c in part if c.key.arm.condition == item.key.arm.condition]
        collisions = [c for c in part if c.kind.startswith("collision")]
        assert item.kind.startswith("collision") == bool(collisions)
    assert select_shown_cases(cases, 1000) == cases


@pytest.mark.thorough
def test_replay_lists_and_plots(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = list_violation_cases(collect_campaigns([little]))
    assert main(["replay", str(little), "--list"]) == 0
    output = capsys.readouterr().out
    assert f"{len(cases)} violations" in output
    for dark in (False, True):
        file = tmp_path / f"{dark}.png"
        words = ["replay", str(little), "--case", "1", "--png", str(file)]
        assert main([*words, *(["--dark"] if dark else [])]) == 0
        with Image.open(file) as image:
            assert image.width > 3 * image.height / 2
            corner = image.getpixel((0, 0))
            assert len(image.getcolors(1 << 24) or ()) > 50
        code = COLOURS["paper"][dark].removeprefix("#")
        assert corner == tuple(bytes.fromhex(code))
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".png"]


@pytest.mark.parametrize("number", ["0", "999"])
def test_a_case_that_is_not_there(
    little: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(little), "--case", number]) == 2
    output = capsys.readouterr().err
    assert f"--case {number} not found; valid: 1 to" in output
    assert output.count("\n") == 1


def test_a_campaign_without_violations_has_no_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = {key_of("late", "none", "0", 1): Made(12)}
    folder = write_little(tmp_path / "c", [("late", "none")], ["0"], [1], drives=drives)
    assert main(["replay", str(folder), "--list"]) == 0
    assert "0 violations" in capsys.readouterr().out
    assert main(["replay", str(folder), "--case", "1"]) == 2
    assert "no drive ended in a violation" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "rings"), [("off_road", 0), ("collision_vehicle", 3)])
def test_only_the_actor_that_the_ego_hit_is_ringed(tmp_path: Path, kind: str, rings: int) -> None:
    key = key_of("late", "none", "0", 1)
    folder = write_little(
        tmp_path / "c", [("late", "none")], ["0"], [1], drives={key: Made(12, kind)}
    )
    case = list_violation_cases(collect_campaigns([folder]))[0]
    story = collect_last_seconds(drive_in(case))
    marks = [shape for canvas in render_strip(story) for shape in shapes(canvas)]
    assert sum(item.stroke == "worse" and len(item.points) > 2 for item in marks) == rings
    assert sum(item.stroke == "worse" and len(item.points) == 2 for item in marks) == 6


def test_a_drive_without_messages_is_shown_without_partners(
    collection: CampaignCollection,
) -> None:
    """The unit stands there for ground truth; the picture and its caption leave it out."""
    case = next(
        item for item in list_violation_cases(collection) if item.key.arm.condition == "latency"
    )
    read = drive_in(case)
    alone = replace(read, reads_messages=False)
    for drive, there in ((read, True), (alone, False)):
        story = collect_last_seconds(drive)
        snapshot, canvas = story.snapshots[-1], render_strip(story)[-1]
        assert ("roadside-1" in set(snapshot.poses["sender"].astype(str))) == there
        texts = [mark.text for mark in canvas.marks if isinstance(mark, TextLabel)]
        assert ("without cooperation" in texts) != there
        titles = [getattr(mark, "title", "") for mark in canvas.marks]
        assert any(title.startswith("roadside-1") for title in titles) == there


def test_the_legends_have_what_pictures_show() -> None:
    """Scenery, crosses and rings are named in the page's legend and in the legend of films."""
    words = {entry.words for entry in list_film_legend_entries(with_points=False)}
    for legend in (words, set(SIGNS)):
        assert {"house", "plants", "parked vehicle or object", "place of the violation"} <= legend
        assert {"road user that is hit", "route"} <= legend
    alone = {entry.words for entry in list_film_legend_entries(False, with_partners=False)}
    assert not {name for name in alone if "partner" in name}
    assert {mark.fill for mark in SIGNS["ground truth"] if isinstance(mark, Polyline)} == {"truth"}

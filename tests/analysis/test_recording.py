"""A recording, read again by Rerun itself: every number is that of the records, in its frame."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rerun.dataframe import load_recording

from analysis.__main__ import main
from analysis.drawing.palette import COLOURS, get_error_colour
from harness.types.record_names import PATTERNS
from tests.analysis.replayed import CLEAN, SECONDS, YAW, Replayed, replayed

TURNED = np.array([1.0, -1.0, 1.0])


class Reading:
    """A recording as a table: components of entities by time."""

    def __init__(self, file: Path) -> None:
        self.recording = load_recording(file)
        view = self.recording.view(index="episode", contents="/**")
        self.rows: pd.DataFrame = view.select().read_all().to_pandas()

    def of(self, entity: str, component: str) -> dict[float, Any]:
        """Return what an entity has at each time at which anything was said of it."""
        column = self.rows[f"{entity}:{component}"]
        result = column[[item is not None for item in column]]
        seconds = self.rows["episode"].dt.total_seconds()
        return {round(seconds[row], 6): value for row, value in result.items()}

    def places(self, entity: str, component: str) -> dict[float, Any]:
        """Return the same as rows of numbers."""
        return {
            time: np.array([list(item) for item in value]).reshape(len(value), -1)
            for time, value in self.of(entity, component).items()
        }


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    return replayed(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def reading(drive: Replayed) -> Reading:
    file = drive.campaign / "case.rrd"
    assert main(["replay", str(drive.campaign), "--case", "1", "--rerun", str(file)]) == 0
    assert not [path for path in drive.campaign.iterdir() if path.name.startswith(".")]
    return Reading(file)


def shown(drive: Replayed, source: str, step: int) -> pd.DataFrame:
    """Return the recorded boxes of a source at a planning step, those that are to be shown."""
    boxes = drive.table("boxes")
    part = (boxes["frame"] == 20 * step) & (boxes["source"] == source)
    return boxes[part if source == "truth" else part & boxes["counted"]]


@pytest.mark.thorough
def test_there_is_one_time_line(reading: Reading) -> None:
    (index,) = reading.recording.schema().index_columns()
    assert index.name == "episode"


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["truth", "ego_alone", "cooperative"])
def test_boxes_stand_where_they_were_recorded(
    drive: Replayed, reading: Reading, source: str
) -> None:
    centres = reading.places(f"/world/{source}", "PoseTranslation3D")
    halves = reading.places(f"/world/{source}", "HalfSize3D")
    turns = reading.places(f"/world/{source}", "PoseRotationQuat")
    outlines = reading.of(f"/above/{source}", "LineStrip2D")
    assert sorted(centres) == list(range(SECONDS))
    for step in range(SECONDS):
        boxes = shown(drive, source, step)
        assert len(centres[step]) == len(boxes)
        for number, (_, box) in enumerate(boxes.iterrows()):
            x, y, z = drive.world(20 * step, box[["x", "y", "z"]])
            assert centres[step][number] == pytest.approx([x, -y, z], abs=1e-4)
            sizes = box[["length", "width", "height"]].to_numpy(float) / 2
            assert halves[step][number] == pytest.approx(sizes, abs=1e-5)
            qx, qy, qz, qw = turns[step][number]
            assert (qx, qy) == (0, 0)
            turn = 2 * math.atan2(qz, qw) + YAW + box["yaw"]
            assert math.remainder(turn, math.tau) == pytest.approx(0, abs=1e-5)
            ring = np.array([list(outline) for outline in outlines[step][number]])
            assert ring[:4].mean(axis=0) == pytest.approx([box["y"], -box["x"]], abs=1e-4)


def test_every_pattern_has_a_different_colour(drive: Replayed, reading: Reading) -> None:
    assert len({get_error_colour(pattern) for pattern in PATTERNS}) == len(PATTERNS)
    seen = set()
    for source in ("truth", "cooperative"):
        plain = COLOURS["hue7" if source == "truth" else source]
        result = reading.of(f"/world/{source}", "Color")
        named = reading.of(f"/world/errors/{source}", "Text")
        for step in range(SECONDS):
            boxes = shown(drive, source, step)
            patterns = boxes["pattern"].astype(str)
            codes = [
                get_error_colour(pattern) if pattern else plain[not counted]
                for pattern, counted in zip(patterns, boxes["counted"], strict=True)
            ]
            assert [f"#{item:08x}" for item in result[step]] == [f"{code}ff" for code in codes]
            assert list(named[step]) == [pattern for pattern in patterns if pattern]
            seen |= set(patterns)
    assert len(seen & set(PATTERNS)) > 3


def test_curves_are_those_of_the_records(drive: Replayed, reading: Reading) -> None:
    frames, messages = drive.table("frames"), drive.table("messages")
    heard = messages[messages["delivered_time"].notna()]
    assert 0 < len(heard) < len(messages)
    ages = reading.of("/messages/age/roadside-1", "Scalar")
    wanted = heard.groupby(heard["delivered_time"].round(6))["age_measured"].apply(list)
    assert {time: sorted(value.tolist()) for time, value in ages.items()} == {
        time: pytest.approx(sorted(item)) for time, item in wanted.items()
    }
    away = reading.of("/messages/displacement/roadside-1", "Scalar")
    for _, message in messages.iterrows():
        wide = math.hypot(message["measured_x"], message["measured_y"])
        assert away[message["capture_time"]] == pytest.approx([wide], abs=1e-6)
    for name in ("throttle", "brake", "steer"):
        result = [value[0] for value in reading.of(f"/controls/{name}", "Scalar").values()]
        assert result == pytest.approx(frames[name].tolist())
    for kind in ("vehicle", "pedestrian", "cyclist"):
        counts = [value[0] for value in reading.of(f"/errors/{kind}", "Scalar").values()]
        assert counts == frames[[f"{pattern}_{kind}" for pattern in PATTERNS]].sum(axis=1).tolist()


@pytest.mark.thorough
def test_sweeps_of_all_are_in_one_world(drive: Replayed, reading: Reading) -> None:
    poses = drive.table("poses")
    seen = reading.places("/world/lidar/ego", "Position3D")
    aside = reading.places("/world/lidar/roadside-1", "Position3D")
    for step in range(SECONDS):
        part = drive.sweeps[20 * step, "ego"]
        wanted = np.array([drive.world(20 * step, place) for place in part]) * TURNED
        assert seen[step] == pytest.approx(wanted, abs=1e-4)
        unit = poses[(poses["frame"] == 20 * step) & (poses["sender"] == "roadside-1")].iloc[0]
        stands = unit[["true_x", "true_y", "true_z"]].to_numpy(float)
        wanted = (drive.sweeps[20 * step, "roadside-1"] + stands) * TURNED
        assert aside[step] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.thorough
def test_lines_lead_from_every_lidar_to_what_it_hits(drive: Replayed, reading: Reading) -> None:
    sightings, boxes, poses = (drive.table(name) for name in ("sightings", "boxes", "poses"))
    shown = 0
    for sender in sightings["sender"].astype(str).unique():
        lines = reading.of(f"/world/sight/{sender}", "LineStrip3D")
        for step in range(SECONDS):
            seen = sightings[(sightings["frame"] == 20 * step) & (sightings["sender"] == sender)]
            true = boxes[(boxes["frame"] == 20 * step) & (boxes["source"] == "truth")]
            hit = true[true["actor_id"].isin(seen["actor_id"])]
            pose = poses[(poses["frame"] == 20 * step) & (poses["sender"] == sender)].iloc[0]
            start = pose[["true_x", "true_y", "true_z"]].to_numpy(float) * TURNED
            ends = [drive.world(20 * step, box[["x", "y", "z"]]) for _, box in hit.iterrows()]
            both = [np.array([list(point) for point in line]) for line in lines[step]]
            assert len(both) == len(hit)
            for (here, there), end in zip(both, ends, strict=True):
                assert here == pytest.approx(start, abs=1e-4)
                assert there == pytest.approx(np.array(end) * TURNED, abs=1e-4)
            shown += len(both)
    assert shown


def test_the_end_is_described_and_marked(reading: Reading) -> None:
    levels, words = (reading.of("/events", name) for name in ("TextLogLevel", "Text"))
    assert list(levels[SECONDS]) == ["CRITICAL"]
    assert list(words[SECONDS]) == ["collision with a vehicle after 12.0 s"]
    marker = reading.places("/world/violation", "Position3D")
    assert marker[SECONDS] == pytest.approx(np.array([[95.0, 0.0, 0.0]]))


def test_any_attempt_can_be_recorded(drive: Replayed, tmp_path: Path) -> None:
    file = tmp_path / "clean.rrd"
    result = ["replay", str(drive.campaign), "--attempt", str(CLEAN), "--rerun", str(file)]
    assert main(result) == 0
    reading = Reading(file)
    assert "/world/lidar/ego:Position3D" not in reading.rows
    assert "/world/violation:Position3D" not in reading.rows
    assert list(reading.of("/events", "Text")[SECONDS]) == ["no violation, over after 12.0 s"]

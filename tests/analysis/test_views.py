"""Pictures that were kept come back, boxes lie where a pinhole sees them, pages show both."""

from __future__ import annotations

import io
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from rerun.dataframe import load_recording

from analysis.__main__ import main
from analysis.drive import build_snapshot, read_recorded_drive
from analysis.replay.film import GAP, PANEL_PIXELS, make_film
from analysis.replay.stills import render_stills
from analysis.replay.views import (
    VIEW_HEIGHT,
    VIEW_WIDTH,
    WORLD_BOX,
    list_senders_by_distance,
    read_front_pictures,
    render_front_views,
)
from harness.common.errors import UserError
from harness.records.pictures import POSE, pack_picture, read_kept_pictures
from harness.records.reading import CampaignRecords
from harness.records.schema import PICTURES
from harness.types.geometry import build_pose_matrix, compose_poses
from harness.types.vocabulary import CameraImage, Floats, Pose
from harness.viewing.front_view import EDGES, FARTHEST, NEAREST, project_box_edges
from tests.analysis.replayed import HIT, SECONDS, Replayed, replayed

COLOURS = {"ego": (200, 40, 90), "roadside-1": (30, 160, 210)}
IN_LIDAR = Pose(1.2, -0.3, 0.4, 0.1, -0.05, 0.02)
INTRINSICS = np.array([[210.0, 0.0, 159.5], [0.0, 210.0, 121.0], [0.0, 0.0, 1.0]])


def make_image(name: str, colour: tuple[int, int, int]) -> CameraImage:
    """Return a picture of one colour, with a darker corner."""
    pixels = np.full((240, 320, 3), colour, np.uint8)
    pixels[:60, :80] //= 2
    return CameraImage(
        name=name, pixels=pixels, intrinsics=INTRINSICS, camera_in_lidar=IN_LIDAR, above_road=2.0
    )


def write_kept_pictures(attempt: Path) -> None:
    """Write a front and a rear picture of both agents at every planning step."""
    rows = [
        {"frame": 20 * step, "sender": sender, **pack_picture(make_image(name, colour))}
        for step in range(SECONDS)
        for sender, colour in COLOURS.items()
        for name in ("front", "rear")
    ]
    arrays = []
    for field in PICTURES:
        values = pa.array([row[field.name] for row in rows])
        named = pa.types.is_dictionary(field.type)
        arrays.append(values.dictionary_encode() if named else values.cast(field.type))
    table = pa.table(dict(zip(PICTURES.names, arrays, strict=True)), PICTURES)
    pq.write_table(table, attempt / "pictures.parquet", write_page_checksum=True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    return replayed(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def seen(plain: Replayed, tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Return the same campaign, with pictures."""
    campaign = tmp_path_factory.mktemp("seen") / "campaign"
    shutil.copytree(plain.campaign, campaign)
    attempt = campaign / plain.attempt.relative_to(plain.campaign)
    write_kept_pictures(attempt)
    return Replayed(campaign, attempt, plain.sweeps)


def test_pictures_come_back_by_frame_and_agent(seen: Replayed, plain: Replayed) -> None:
    kept = read_kept_pictures(seen.attempt, "front")
    assert set(kept) == {(20 * step, name) for step in range(SECONDS) for name in COLOURS}
    for (_, sender), image in kept.items():
        wanted = make_image("front", COLOURS[sender])
        assert np.abs(image.pixels.astype(int) - wanted.pixels).mean() < 3
        np.testing.assert_array_equal(image.intrinsics, wanted.intrinsics)
        assert (image.name, image.camera_in_lidar) == ("front", IN_LIDAR)
    assert read_kept_pictures(plain.attempt, "front") == {}


def test_what_is_no_picture_is_one_line(seen: Replayed, tmp_path: Path) -> None:
    table = pq.read_table(seen.attempt / "pictures.parquet")
    at = table.schema.get_field_index("jpeg")
    broken = table.set_column(at, PICTURES.field("jpeg"), pa.array([b"no"] * len(table)))
    pq.write_table(broken, tmp_path / "pictures.parquet", write_page_checksum=True)
    with pytest.raises(UserError, match=r"pictures\.parquet: not a picture"):
        read_kept_pictures(tmp_path, "front")


def project_slowly(box: Floats, corner: int, camera: Pose) -> tuple[float, Floats]:
    """Return depth and pixel of a corner, by one rotation after the other."""
    x, y, z, length, width, height, yaw = box
    ahead = length / 2 * (1 if corner % 4 in (0, 1) else -1)
    aside = width / 2 * (1 if corner % 4 in (1, 2) else -1)
    place = np.array(
        [
            x + math.cos(yaw) * ahead - math.sin(yaw) * aside,
            y + math.sin(yaw) * ahead + math.cos(yaw) * aside,
            z + height / 2 * (1 if corner >= 4 else -1),
        ]
    )
    axes = build_pose_matrix(camera)[:3, :3]
    forward, right, up = axes.T @ (place - [camera.x, camera.y, camera.z])
    column, row, _ = INTRINSICS @ [right / forward, -up / forward, 1.0]
    return float(forward), np.array([column, row])


def test_edges_lie_where_a_pinhole_sees_them() -> None:
    random = np.random.default_rng(8)
    whole = 0
    for _ in range(200):
        camera = Pose(*random.uniform(-5, 5, 3), *random.uniform(-0.4, 0.4, 3))
        box = np.array([*random.uniform(-8, 30, 2), 0.5, *random.uniform(0.5, 6, 3), 0.7])
        world_in_camera: Floats = np.asarray(np.linalg.inv(build_pose_matrix(camera)), np.float64)
        slow = [project_slowly(box, corner, camera) for corner in range(8)]
        wanted = [
            np.array([slow[first][1], slow[second][1]])
            for first, second in EDGES
            if slow[first][0] > NEAREST and slow[second][0] > NEAREST
        ]
        edges = list(project_box_edges(box, world_in_camera, INTRINSICS))
        # whole edges are there; cut ones come in addition, and nothing behind the camera does
        ahead = sum(max(slow[a][0], slow[b][0]) > NEAREST for a, b in EDGES)
        assert len(edges) == ahead
        for one in wanted:
            assert min(np.abs(one - edge).max() for edge in edges) < 1e-6
        whole += len(wanted)
    assert whole > 500


def test_views_are_of_the_ego_and_the_nearest_partner(seen: Replayed) -> None:
    drive = read_recorded_drive(CampaignRecords(seen.campaign), HIT)
    assert drive is not None
    snapshot = build_snapshot(drive, 3)
    assert list_senders_by_distance(snapshot)[0] == "ego"
    strip = np.asarray(
        render_front_views(snapshot, read_front_pictures(drive), width=PANEL_PIXELS, dark=False)
    ).astype(int)
    for left, colour in ((0, COLOURS["ego"]), (PANEL_PIXELS - VIEW_WIDTH, COLOURS["roadside-1"])):
        view = strip[VIEW_HEIGHT // 2 :, left : left + VIEW_WIDTH]
        same = (np.abs(view - colour).max(axis=2) < 12).mean()
        assert same > 0.5  # the rest is boxes


def test_films_stills_and_reports_show_them_only_where_they_were_kept(
    seen: Replayed, plain: Replayed, tmp_path: Path
) -> None:
    sizes, shown = [], []
    for number, campaign in enumerate((plain.campaign, seen.campaign)):
        drive = read_recorded_drive(CampaignRecords(campaign), HIT)
        assert drive is not None
        film = make_film([drive], "", before=1.0)
        sizes.append((film.size[1], render_stills(film).height))
        out = tmp_path / str(number)
        assert main(["report", str(campaign), "--out", str(out)]) == 0
        shown.append((out / "report.html").read_text().count("data:image/jpeg;base64,"))
    more = VIEW_HEIGHT + GAP
    assert sizes[1] == (sizes[0][0] + more, sizes[0][1] + more)
    assert shown == [0, 3]
    assert (
        main(["replay", str(seen.campaign), "--case", "1", "--png", str(tmp_path / "a.png")]) == 0
    )
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.height == sizes[1][1]


@pytest.fixture(scope="module")
def recorded(seen: Replayed) -> pd.DataFrame:
    """Return a recording of the drive with pictures, as Rerun reads it: rows by time."""
    file = seen.campaign / "case.rrd"
    assert main(["replay", str(seen.campaign), "--case", "1", "--rerun", str(file)]) == 0
    rows: pd.DataFrame = (
        load_recording(file)
        .view(index="episode", contents="/cameras/**")
        .select()
        .read_all()
        .to_pandas()
    )
    return rows


def test_a_viewer_shows_pictures_of_the_ego_and_the_nearest_partner(recorded: pd.DataFrame) -> None:
    for entity, sender in (("ego", "ego"), ("partner", "roadside-1")):
        blobs = recorded[f"/cameras/{entity}/picture:Blob"].dropna()
        assert len(blobs) == SECONDS
        for blob in blobs:
            with Image.open(io.BytesIO(bytes(blob[0]))) as picture:
                pixels = np.asarray(picture).astype(int)
            assert np.abs(pixels[120:] - COLOURS[sender]).mean() < 3
        names = [item[0] for item in recorded[f"/cameras/{entity}/name:Text"].dropna()]
        assert names == [sender] * SECONDS


@pytest.mark.parametrize("sender", ["ego", "roadside-1"])
@pytest.mark.parametrize("source", ["truth", "cooperative"])
def test_a_viewer_shows_edges_where_a_pinhole_sees_them(
    seen: Replayed, recorded: pd.DataFrame, source: str, sender: str
) -> None:
    drive = read_recorded_drive(CampaignRecords(seen.campaign), HIT)
    assert drive is not None
    entity = "ego" if sender == "ego" else "partner"
    strips = recorded[f"/cameras/{entity}/{source}:LineStrip2D"].dropna()
    assert len(strips) == SECONDS
    whole = 0
    for step, shown in enumerate(strips):
        snapshot = build_snapshot(drive, step)
        poses = snapshot.poses[snapshot.poses["sender"].astype(str) == sender]
        lidar = Pose(*poses[[f"true_{name}" for name in POSE]].to_numpy(np.float64)[0])
        camera = compose_poses(lidar, IN_LIDAR)
        chosen = (snapshot.boxes["source"].astype(str) == source) & snapshot.boxes["counted"]
        edges = [np.array([list(end) for end in strip]) for strip in shown]
        for box in snapshot.boxes.loc[chosen, WORLD_BOX].to_numpy(np.float64):
            corners = [project_slowly(box, corner, camera) for corner in range(8)]
            if min(depth for depth, _ in corners) > FARTHEST:
                continue
            for first, second in EDGES:
                (near, start), (far, end) = corners[first], corners[second]
                if min(near, far) > NEAREST:
                    away = [np.abs(edge - [start, end]).max() for edge in edges]
                    # the viewer holds single precision
                    assert min(away) < 0.02 + 1e-4 * np.abs([start, end]).max()
                    whole += 1
    assert whole > 0

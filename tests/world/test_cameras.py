"""Cameras of a rig: where they look, whether depths fit the points, and silence while unread."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import carla
import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose
from harness.world.attempt_context import AttemptContext
from harness.world.cameras import CameraMount, decode_depth
from harness.world.ego import EgoVehicle
from harness.world.poses import to_carla_transform
from harness.world.rig import RIGS, LidarScan, ScanningPost, read_rig
from tests.world.staging import context_of

RIG = read_rig(RIGS / "v2xverse_cameras.yaml")
SMALL = (400, 300)
NEAR_EDGE = 3
"""Pixels round a point in which the depth has no step, for points that are compared."""


@pytest.fixture
def context(client: carla.Client, world: carla.World) -> AttemptContext:
    return context_of(client, world)


@pytest.fixture
def ego(context: AttemptContext) -> Iterator[EgoVehicle]:
    ego = EgoVehicle(context)
    for _ in range(10):
        context.world.tick()
    yield ego
    ego.destroy_ego()


def scan_once(context: AttemptContext, post: ScanningPost) -> LidarScan:
    post.start_scanning()
    scan = post.collect_scan(context.world.tick())
    post.destroy_sensors()
    return scan


def project_points(scan: LidarScan, number: int) -> tuple[Floats, Floats]:
    """Return columns and rows of a scan's points in a depth picture, and their depths."""
    image, depth = scan.images[number], scan.depths[number]
    inverse = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    x, y, z = (scan.points_in_lidar[:, :3] @ inverse[:3, :3].T + inverse[:3, 3]).T.astype(float)
    scale = depth.shape[1] / image.pixels.shape[1]
    ahead = x > 1.0
    seen = np.stack([y[ahead], -z[ahead], x[ahead]]) / x[ahead]
    columns, rows, _ = image.intrinsics @ seen
    return np.stack([columns * scale, rows * scale]), x[ahead]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["vehicle", "roadside"])
def test_the_lidars_points_have_the_depths_of_the_pictures(
    context: AttemptContext, ego: EgoVehicle, kind: str
) -> None:
    home = context.route.xyz[0]
    mast = Pose(home[0], home[1], home[2] + RIG.roadside_height, yaw=float(context.route.yaw[0]))
    on_mast = replace(mast, yaw=mast.yaw + math.radians(RIG.roadside.yaw))
    post = ScanningPost(
        context,
        RIG.ego if kind == "vehicle" else RIG.roadside,
        period=0.2,
        reads_points=True,
        carrier=ego.actor if kind == "vehicle" else None,
        place=None if kind == "vehicle" else to_carla_transform(on_mast),
        cameras=RIG.place_cameras("vehicle" if kind == "vehicle" else "roadside"),
        depth_size=SMALL,
    )
    scan = scan_once(context, post)
    assert [image.name for image in scan.images] == ["front", "left", "right", "rear"]
    assert {image.pixels.shape for image in scan.images} == {(600, 800, 3)}
    compared = 0
    for number in range(4):
        (columns, rows), depths = project_points(scan, number)
        picture = scan.depths[number]
        inside = (
            (columns >= NEAR_EDGE) & (columns < SMALL[0] - NEAR_EDGE)
            & (rows >= NEAR_EDGE) & (rows < SMALL[1] - NEAR_EDGE)
        )  # fmt: skip
        apart = []
        for column, row, depth in zip(columns[inside], rows[inside], depths[inside], strict=True):
            c, r = int(column), int(row)
            around = picture[r - NEAR_EDGE : r + NEAR_EDGE + 1, c - NEAR_EDGE : c + NEAR_EDGE + 1]
            # level ground, or a wall, where a pixel more or less changes little
            if np.ptp(around) < 0.4 and depth < 40.0:
                apart.append(abs(picture[r, c] - depth))
        compared += len(apart)
        # a camera stands elsewhere than the LiDAR: few points are hidden from it
        assert np.median(apart) < 0.05
        assert np.mean(np.array(apart) < 0.3) > 0.9
    assert compared > 1000


@pytest.mark.thorough
def test_units_cameras_move_with_their_mast(context: AttemptContext, ego: EgoVehicle) -> None:
    home = context.route.xyz[0]
    places = [Pose(home[0] + n * 20.0, home[1], home[2] + 7.5, yaw=0.3 + n) for n in range(2)]
    turn = math.radians(RIG.roadside.yaw)
    first, second = (to_carla_transform(replace(p, yaw=p.yaw + turn)) for p in places)

    def look(start: carla.Transform, then: carla.Transform | None) -> LidarScan:
        post = ScanningPost(
            context,
            RIG.roadside,
            period=0.2,
            reads_points=False,
            place=start,
            cameras=RIG.place_cameras("roadside"),
        )
        if then is not None:
            post.move_lidar(then)
        return scan_once(context, post)

    there, moved = look(second, None), look(first, second)
    for one, other in zip(there.images, moved.images, strict=True):
        assert np.mean(np.abs(one.pixels.astype(int) - other.pixels)) < 1.0


def test_cameras_that_nothing_reads_are_not_there(context: AttemptContext, ego: EgoVehicle) -> None:
    before = len(context.world.get_actors().filter("sensor.camera.*"))
    post = ScanningPost(context, RIG.ego, period=0.2, reads_points=False, carrier=ego.actor)
    scan = scan_once(context, post)
    assert scan.images == scan.depths == ()
    assert len(context.world.get_actors().filter("sensor.camera.*")) == before


def test_the_intrinsics_of_opv2v() -> None:
    rig = read_rig(RIGS / "opv2v.yaml")
    matrix = rig.vehicle_cameras["front"].compute_intrinsics()
    # as OPV2V's data protocol has them
    known = np.array([[335.639852470912, 0, 400], [0, 335.639852470912, 300], [0, 0, 1]])
    np.testing.assert_allclose(matrix, known, rtol=1e-12)
    front = next(camera for camera in rig.place_cameras("vehicle") if camera.name == "front")
    # 3 m ahead of the LiDAR and 0.9 m below it, as in OpenCOOD's example
    assert (front.in_lidar.x, front.in_lidar.z) == pytest.approx((3.0, -0.9))
    assert front.above_road == pytest.approx(1.0)


def test_a_rig_with_cameras_has_the_lidars_of_the_one_it_extends() -> None:
    plain = read_rig()
    assert (RIG.ego, RIG.roadside, RIG.vehicle) == (plain.ego, plain.roadside, plain.vehicle)
    assert RIG.has_cameras
    assert not plain.has_cameras


@pytest.mark.parametrize(("fov", "width"), [(0.0, 800), (179.0, 800), (100.0, 0)])
def test_a_camera_that_cannot_be_is_refused(fov: float, width: int) -> None:
    with pytest.raises(UserError, match="rig: camera"):
        CameraMount(x=0.0, y=0.0, z=1.0, fov=fov, width=width)


def test_depth_codes_are_carlas() -> None:
    class Codes:
        width, height = 3, 1
        # blue, green, red, alpha
        raw_data = bytes([0, 0, 255, 255, 255, 255, 255, 255, 1, 0, 0, 255])

    metres = decode_depth(Codes())[0]
    expected = 1000.0 * np.array([255, 256**3 - 1, 65536]) / (256**3 - 1)
    np.testing.assert_allclose(metres, expected, rtol=1e-6)

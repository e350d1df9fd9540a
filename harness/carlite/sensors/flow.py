"""`sensor.camera.optical_flow`: how far each pixel's surface has moved in the picture.

Two 32-bit numbers a pixel, as CARLA's: right and up, in halves of the picture's width and height,
from -2 to 2. In pixels that is `x * width / 2` to the right and `-y * height / 2` down. CARLA's
documentation says the whole size; its velocity buffer, and users' measurements in its issue 4795,
say half. The motion is that since the camera's picture before, of what the pixel shows now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Float32s, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.picture import CameraPicture, PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.things import PlacedThings

LARGEST_FLOW = 2.0
FLATTEST = 1e-12
"""A body whose box has less volume than this, in cubic metres, is moved without being turned."""


class EarlierPicture(NamedTuple):
    """What a picture was taken of: the camera's pose, and where the actors were.

    Attributes:
        rotation: (3, 3) of the camera, to the world.
        origin: (3,) of the camera.
        rows: of each actor in `centre` and `matrix`, by its id.
        centre, matrix: (things, 3) and (things, 3, 3) as in `PlacedThings`.
    """

    rotation: Floats
    origin: Floats
    rows: dict[int, int]
    centre: Floats
    matrix: Floats


class FlowCamera:
    """`camera.optical_flow`: the motion of pixels; none in its first picture."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)
        self._earlier: EarlierPicture | None = None

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        now = _remember_picture(picture, scene.shown)
        earlier, self._earlier = self._earlier or now, now
        turned, centre = _find_motions(scene.shown, earlier)
        image = np.empty((self._pinhole.height, self._pinhole.width, 2), np.float32)
        _write_flow(
            picture.fan, picture.nearness, picture.source, picture.things,
            scene.shown.centre, turned, centre,
            picture.rotation, picture.origin, earlier.rotation, earlier.origin,
            *self._pinhole.edges, image,
        )  # fmt: skip
        return self._pinhole.header + image.tobytes()


def _remember_picture(picture: CameraPicture, things: PlacedThings) -> EarlierPicture:
    moving = np.flatnonzero(things.actor)
    rows = {number: row for row, number in enumerate(things.actor[moving].tolist())}
    return EarlierPicture(
        picture.rotation, picture.origin, rows, things.centre[moving], things.matrix[moving]
    )


def _find_motions(things: PlacedThings, earlier: EarlierPicture) -> tuple[Floats, Floats]:
    """Return how things have turned back, (things, 3, 3), and where they were, (things, 3).

    A point `p` of a thing was at `where + turned @ (p - its centre)`.
    """
    turned = np.broadcast_to(np.eye(3), things.matrix.shape).copy()
    where = things.centre.copy()
    known = [n for n in np.flatnonzero(things.actor) if int(things.actor[n]) in earlier.rows]
    slots: Ints = np.array(known, np.int64)
    rows = [earlier.rows[int(things.actor[n])] for n in known]
    where[slots] = earlier.centre[rows]
    # the same box then and now: from the world into its unit box, and back to where it was
    size = np.abs(np.linalg.det(things.matrix[slots]))
    solid = np.isfinite(size) & (size > FLATTEST)
    slots, before = slots[solid], earlier.matrix[rows][solid]
    turned[slots] = before @ np.linalg.inv(things.matrix[slots])
    return turned, where


@compiled
def _write_flow(
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    owners: Int32s,
    centre: Floats,
    turned: Floats,
    where: Floats,
    rotation: Floats,
    origin: Floats,
    earlier_rotation: Floats,
    earlier_origin: Floats,
    across: float,
    upward: float,
    image: Float32s,
) -> None:
    # nearness: (columns, rows), bottom row first; image: (rows, columns, 2), top row first
    width, height = nearness.shape
    for row in range(height):
        slope = fan.slopes[height - 1 - row]
        for column in range(width):
            face = source[column, height - 1 - row]
            # the pixel's point, from the camera in the world's axes; of the sky its direction alone
            flat = 1.0 if face == NOTHING else 1 / nearness[column, height - 1 - row]
            x, y = flat * fan.cosine[column], flat * fan.sine[column]
            z = x * slope
            px = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
            py = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
            pz = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
            if face >= 0:
                # where the thing had this point before
                thing = owners[face]
                dx = px + origin[0] - centre[thing, 0]
                dy = py + origin[1] - centre[thing, 1]
                dz = pz + origin[2] - centre[thing, 2]
                turn = turned[thing]
                px = where[thing, 0] + turn[0, 0] * dx + turn[0, 1] * dy + turn[0, 2] * dz
                py = where[thing, 1] + turn[1, 0] * dx + turn[1, 1] * dy + turn[1, 2] * dz
                pz = where[thing, 2] + turn[2, 0] * dx + turn[2, 1] * dy + turn[2, 2] * dz
                px -= earlier_origin[0]
                py -= earlier_origin[1]
                pz -= earlier_origin[2]
            elif face != NOTHING:
                px += origin[0] - earlier_origin[0]
                py += origin[1] - earlier_origin[1]
                pz += origin[2] - earlier_origin[2]
            # into the frame of the camera as it was
            back = earlier_rotation
            ahead = back[0, 0] * px + back[1, 0] * py + back[2, 0] * pz
            right = back[0, 1] * px + back[1, 1] * py + back[2, 1] * pz
            up = back[0, 2] * px + back[1, 2] * py + back[2, 2] * pz
            # what was not before the camera has no place in its picture
            to_right = to_top = 0.0
            if ahead > 0:
                to_right = (y / x - right / ahead) / across
                to_top = (z / x - up / ahead) / upward
            image[row, column, 0] = _limit_flow(to_right)
            image[row, column, 1] = _limit_flow(to_top)


@compiled
def _limit_flow(value: float) -> float:
    """Return a flow within CARLA's range; what is no number is none."""
    if math.isnan(value):
        return 0.0
    return min(max(value, -LARGEST_FLOW), LARGEST_FLOW)

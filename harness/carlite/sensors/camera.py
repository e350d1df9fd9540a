"""`sensor.camera.*`: depth, semantic and instance segmentation, and the picture in colour."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.film import FilmSettings
from harness.carlite.sensors.finish import render_rain, smooth_edges
from harness.carlite.sensors.lamps import compute_lamp_codes
from harness.carlite.sensors.markings import GroundMarkings, find_painted_label
from harness.carlite.sensors.materials import list_face_materials
from harness.carlite.sensors.noise_table import make_grain_table
from harness.carlite.sensors.paint_buffers import Pixels, make_paint_buffers
from harness.carlite.sensors.painting import PaintedScene, paint_picture
from harness.carlite.sensors.picture import FAR, CameraPicture, PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import GROUND, NOTHING
from harness.carlite.sensors.relief import GroundRelief, find_relief_label
from harness.carlite.sensors.scene import SensorScene

SCENERY_ID = 0x8000
FARTHEST_CAMERA = 1e7
"""Metres from the origin beyond which a camera sees nothing."""
BLACK = 0xFF000000
CACHE_LINE = 64
SKY, ROAD = int(SemanticLabel.SKY), int(SemanticLabel.ROAD)


class DepthCamera:
    """`camera.depth`: distance along the view axis in 24 bits, red lowest, 1 being 1000 m."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        image = np.empty((self._pinhole.height, self._pinhole.width, 4), np.uint8)
        _write_depth(picture.fan, picture.nearness, picture.source, image)
        return self._pinhole.header + image.tobytes()


class SemanticCamera:
    """`camera.semantic_segmentation`: the label in the red channel."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        no_actors = np.zeros(len(picture.things), np.int64)
        return self._pinhole.header + _render_label_image(self._pinhole, scene, picture, no_actors)


class InstanceCamera:
    """`camera.instance_segmentation`: the label in red, the object's number in green and blue."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image; scenery is numbered from `SCENERY_ID` on, all ground is 0."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        actor = scene.shown.actor[picture.things]
        number = np.where(actor > 0, actor % SCENERY_ID, SCENERY_ID + picture.things % SCENERY_ID)
        number[~scene.meshes.closed[scene.shown.mesh[picture.things]]] = 0
        return self._pinhole.header + _render_label_image(self._pinhole, scene, picture, number)


class ColourCamera:
    """`camera.rgb`: the scene in the light of its weather."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)
        self._sensor_id = sensor_id
        self._film = FilmSettings(attributes)
        self._tones = self._film.tones.astype(np.int32)
        self._buffers = make_paint_buffers(self._pinhole.height)
        self._body, self._image = _make_image_buffer(self._pinhole)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        self.make_image(scene, pose, frame)
        return self._body.tobytes()

    def make_image(self, scene: SensorScene, pose: SensorPose, frame: int) -> tuple[bytes, Bytes]:
        """Return the image's header, and the image: (rows, columns, 4), blue first.

        A camera that is nowhere, or beyond any town, sees black. The next image is written over
        this one.
        """
        image = self._image
        if not is_pose_near(pose):
            image[:] = BLACK
            return self._pinhole.header, image.view(np.uint8).reshape(*image.shape, 4)
        picture = self._pinhole.render_picture(scene, pose, frame)
        light = scene.find_light()
        shown, facing = scene.list_lamp_codes()
        lamps = compute_lamp_codes(
            picture.normals, picture.labels, picture.things,
            rotation=picture.rotation, shown=shown, facing=facing,
        )  # fmt: skip
        painted = PaintedScene(
            faces=list_face_materials(
                picture.normals, picture.labels, picture.things, scene.shown,
                rotation=picture.rotation, key=light.daylight.key,
            ),
            labels=picture.labels, lamps=lamps, owners=picture.things, placed=scene.shown,
            ground=scene.ground_look, shine=light.shine, markings=scene.markings,
            light=light.daylight, shadows=light.shadows, lamp_light=light.lamps,
            noise=make_grain_table(), tones=self._tones,
            exposure=self._film.compute_exposure(light.daylight.exposure),
        )  # fmt: skip
        paint_picture(
            picture.fan, picture.nearness, picture.source, painted,
            picture.rotation, picture.origin, self._buffers, image,
        )  # fmt: skip
        smooth_edges(picture.source, image)
        rain = scene.weather.precipitation / 100
        if rain > 0:
            level = int(self._film.tones[-1]) * 7 // 10
            render_rain(image, rain, frame, self._sensor_id, level * 0x010101)
        return self._pinhole.header, image.view(np.uint8).reshape(*image.shape, 4)


def _make_image_buffer(pinhole: PinholeCamera) -> tuple[Bytes, Pixels]:
    """Return room for a frame with its header in place, and the pixels in it, (rows, columns).

    In memory the bytes of a pixel are blue, green, red, alpha. The first pixel begins a cache line.
    """
    size = len(pinhole.header) + 4 * pinhole.width * pinhole.height
    room = np.empty(size + CACHE_LINE, np.uint8)
    skipped = -(room.ctypes.data + len(pinhole.header)) % CACHE_LINE
    body = room[skipped : skipped + size]
    body[: len(pinhole.header)] = np.frombuffer(pinhole.header, np.uint8)
    pixels = body[len(pinhole.header) :].view(np.uint32)
    return body, pixels.reshape(pinhole.height, pinhole.width)


def is_pose_near(pose: SensorPose) -> bool:
    """Return whether a pose is known and within 10 000 km of the origin."""
    place, turn = np.array(pose.position), np.array(pose.rotation)
    return bool((np.abs(place) < FARTHEST_CAMERA).all() and np.isfinite(turn).all())


class CosmosCamera:
    """`camera.cosmos_visualization`: what a driver heeds, in CARLA's colours on black.

    CARLA draws lines and boxes of these objects, and nothing hides them. Here the objects are
    filled and are hidden like all others; edges of roads, stop lines and crosswalks have no colours
    of their own.
    """

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        no_actors = np.zeros(len(picture.things), np.int64)
        image = _render_label_image(self._pinhole, scene, picture, no_actors)
        labels = np.frombuffer(image, np.uint8).reshape(-1, 4)[:, 2]
        return self._pinhole.header + COSMOS_COLOURS[labels].tobytes()


def _build_cosmos_colours() -> Bytes:
    """Return blue, green, red and alpha of every label, (256, 4), as `CosmosControlSensor.cpp`."""
    colours = np.zeros((256, 4), np.uint8)
    colours[:, 3] = 255
    cars = (
        SemanticLabel.CAR, SemanticLabel.TRUCK, SemanticLabel.BUS, SemanticLabel.TRAIN,
        SemanticLabel.MOTORCYCLE, SemanticLabel.BICYCLE,
    )  # fmt: skip
    for labels, (red, green, blue) in (
        ((SemanticLabel.ROAD_LINE,), (98, 183, 249)),
        ((SemanticLabel.POLE,), (66, 40, 144)),
        ((SemanticLabel.TRAFFIC_SIGN,), (131, 175, 155)),
        ((SemanticLabel.TRAFFIC_LIGHT,), (252, 157, 155)),
        (cars, (255, 0, 0)),
        ((SemanticLabel.PEDESTRIAN, SemanticLabel.RIDER), (0, 255, 0)),
    ):
        for label in labels:
            colours[label, :3] = blue, green, red
    return colours


COSMOS_COLOURS = _build_cosmos_colours()


def _render_label_image(
    pinhole: PinholeCamera, scene: SensorScene, picture: CameraPicture, number: Ints
) -> bytes:
    image = np.empty((pinhole.height, pinhole.width, 4), np.uint8)
    _write_labels(
        picture.fan, picture.nearness, picture.source, picture.labels, number, scene.relief,
        scene.markings, picture.rotation, picture.origin, image,
    )  # fmt: skip
    return image.tobytes()


@compiled
def _write_depth(fan: RayFan, nearness: Floats, source: Int32s, image: Bytes) -> None:
    # nearness: (columns, rows), bottom row first; image: (rows, columns, 4), top row first
    width, height = nearness.shape
    for row in range(height):
        for column in range(width):
            # along the camera's axis, as CARLA's, not along the ray
            depth = FAR
            if source[column, height - 1 - row] != NOTHING:
                depth = fan.cosine[column] / nearness[column, height - 1 - row]
            # a share of 1000 m in 24 bits, red least: the bytes are blue, green, red
            code = int(min(max(depth / FAR, 0.0), 1.0) * (2**24 - 1) + 0.5)
            image[row, column, 0] = code >> 16
            image[row, column, 1] = (code >> 8) & 255
            image[row, column, 2] = code & 255
            image[row, column, 3] = 255


@compiled
def _write_labels(
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    labels: Bytes,
    number: Ints,
    relief: GroundRelief,
    markings: GroundMarkings,
    rotation: Floats,
    origin: Floats,
    image: Bytes,
) -> None:
    # nearness: (columns, rows), bottom row first; image: (rows, columns, 4), top row first
    width, height = nearness.shape
    for row in range(height):
        slope = fan.slopes[height - 1 - row]
        for column in range(width):
            face, label, object_number = source[column, height - 1 - row], SKY, 0
            if face >= 0:
                label, object_number = int(labels[face]), number[face]
            # the ground's label where the ray meets it
            elif face == GROUND:
                flat = 1 / nearness[column, height - 1 - row]
                x, y = flat * fan.cosine[column], flat * fan.sine[column]
                z = x * slope
                east = origin[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
                north = origin[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
                label = find_relief_label(
                    relief.labels, (east - relief.x) / relief.cell, (north - relief.y) / relief.cell
                )
            # paint on the road, on the ground or on a deck
            if face != NOTHING and label == ROAD:
                flat = 1 / nearness[column, height - 1 - row]
                x, y = flat * fan.cosine[column], flat * fan.sine[column]
                label = find_painted_label(
                    markings, label, rotation, origin, x, y, flat * fan.cosine[column] * slope
                )
            # number of the object in two bytes, label in the red channel
            image[row, column, 0] = (object_number >> 8) & 255
            image[row, column, 1] = object_number & 255
            image[row, column, 2] = label
            image[row, column, 3] = 255

"""What a server can do at all: rays, cameras, navigation.

A CARLA that was started without a GPU (`-nullrhi`) renders nothing; which of its sensors still send
anything is nowhere written down. Each is tried, and what it sends is looked at.
"""

from __future__ import annotations

import carla
import numpy as np

from harness.doctor.facts import Section, Value
from harness.doctor.trials import (
    CALM,
    EGO,
    LIDAR,
    MOUNT,
    attach_sensor,
    configure_blueprint,
    spawn_actor_briefly,
)

RAYS = ("sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic", "sensor.other.radar")
CAMERAS = ("sensor.camera.rgb", "sensor.camera.depth", "sensor.camera.semantic_segmentation")
SMALL = {"image_size_x": "64", "image_size_y": "48"}
WORKS = "works"


def try_ray_sensors(world: carla.World) -> Section:
    """Return whether sensors that cast rays hit anything, and whether walkers find their way."""
    place = world.get_random_location_from_navigation()
    facts: Section = {"walkers' navigation": {WORKS: place is not None}}
    return facts | {kind: try_sensor(world, kind, LIDAR | CALM) for kind in RAYS}


def try_cameras(world: carla.World) -> Section:
    """Return whether pictures come, and show more than one colour."""
    return {kind: try_sensor(world, kind, SMALL) for kind in CAMERAS}


def try_sensor(world: carla.World, kind: str, settings: dict[str, str]) -> dict[str, Value]:
    """Return whether a sensor on a car sends data, and whether there is anything in them."""
    library = world.get_blueprint_library()
    with spawn_actor_briefly(world, library.find(EGO)) as car:
        if car is None:
            return {WORKS: False, "why": "no car could be spawned"}
        with attach_sensor(
            world, configure_blueprint(library.find(kind), settings), MOUNT, car
        ) as read:
            world.tick()
            data = read(world.tick())
    if data is None:
        return {WORKS: False, "why": "no data came"}
    something = np.ptp(np.frombuffer(data.raw_data, np.uint8)) > 0 if data.raw_data else False
    return {WORKS: True} if something else {WORKS: False, "why": "nothing in its data"}

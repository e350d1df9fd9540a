"""What the radio and awareness messages are given of the world at a planning step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import carla
import numpy as np

from harness.campaign.attempt.planning_step import SensedStep
from harness.channel.channel import Channel
from harness.channel.links.sight import AirSurroundings
from harness.common.errors import AttemptError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, CarrierState, Floats, Mask, Pose
from harness.world.scene import GroundTruthScene, list_building_boxes

WORLD = Pose(0.0, 0.0)


def list_blocking_boxes(world: carla.World, parked: Boxes) -> Floats:
    """Return what stands in the way of radio waves in a town: (N, 7) boxes in the world."""
    return np.concatenate([list_building_boxes(world), parked.geometry])


def note_surroundings(
    channel: Channel, sensed: SensedStep, scene: GroundTruthScene, blocking: Floats
) -> None:
    """Let a link, if it is not the ideal one, know where the ego, road users and buildings are."""
    if channel.link is None:
        return
    channel.link.note_surroundings(
        AirSurroundings(
            ego_lidar_in_world=sensed.scan.lidar_in_world,
            users=scene.boxes_in_world.geometry,
            classes=scene.boxes_in_world.classes,
            fixed=blocking,
        )
    )


def read_carriers(
    channel: Channel, sensed: SensedStep, scene: GroundTruthScene, snapshot: carla.WorldSnapshot
) -> dict[str, CarrierState]:
    """Return what connected vehicles know of themselves, by sender; nothing without CAMs."""
    if channel.awareness is None:
        return {}
    states: dict[str, CarrierState] = {}
    for partner, scan in sensed.shared:
        carrier = snapshot.find(partner.carrier) if partner.kind == "vehicle" else None
        rows = np.flatnonzero(scene.actor_ids == partner.carrier)
        if carrier is None or not len(rows):
            continue
        box = transform_boxes(scene.boxes_in_world[rows], WORLD, scan.lidar_in_world)
        velocity, turning = carrier.get_velocity(), carrier.get_angular_velocity()
        yaw = float(scene.boxes_in_world.geometry[rows[0], 6])
        states[partner.sender] = CarrierState(
            box_in_lidar=box.geometry[0],
            speed=velocity.x * math.cos(yaw) + velocity.y * math.sin(yaw),
            # the simulator counts degrees clockwise from above
            yaw_rate=-math.radians(turning.z),
        )
    return states


def note_roads(channel: Channel, town: carla.Map) -> None:
    """Let stations know the lanes of a town, where they warn of persons on them."""
    sent = None if channel.message_format is None else channel.message_format.notifications
    if sent is not None:
        sent.find_on_road = partial(find_on_lanes, town)


def find_on_lanes(town: carla.Map, points_in_world: Floats) -> Mask:
    """Return whether each of (N, 3) points is on a lane for vehicles."""
    return np.array(
        [
            town.get_waypoint(carla.Location(x, y, z), project_to_road=False) is not None
            for x, y, z in points_in_world.tolist()
        ],
        np.bool_,
    )


def show_air(world: carla.World, air: Mapping[str, float]) -> None:
    """Let pictures show the weather that changes sweeps; the sun and the clouds stay.

    Args:
        world: its pictures.
        air: numbers of CARLA's `WeatherParameters`, by name.

    Raises:
        AttemptError: the simulator has another weather afterwards.
    """
    if not air:
        return
    weather = world.get_weather()
    for name, number in air.items():
        setattr(weather, name, number)
    world.set_weather(weather)
    shown = world.get_weather()
    for name, number in air.items():
        if not math.isclose(getattr(shown, name), number, rel_tol=1e-3, abs_tol=1e-3):
            raise AttemptError(
                "interference_not_delivered",
                f"pictures: {name} is {getattr(shown, name):g}, not {number:g}",
            )

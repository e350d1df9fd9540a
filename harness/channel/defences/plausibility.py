"""Checks of range and plausibility: can a sender be there, and can it perceive that?

Range, position and consistency checks of misbehaviour detection (van der Heijden et al., IEEE COMST
2019; the F2MD framework, Kamel et al., IEEE TVT 2020), for messages about perceived road users:

- the sender is in reach, has not jumped since its last message, is not inside the ego, and a
  vehicle is on a road; else the message is rejected
- a box is within the sender's range, of a possible size, and a vehicle's is on a road; else the box
  is rejected

Boxes have no identity in messages, so that their speeds are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.channel.defences.defence import (
    ANY_PAYLOAD,
    Defence,
    DefenceScene,
    Judgement,
    keep_all,
)
from harness.channel.disturbance import refuse_negative
from harness.types.geometry import compute_relative_pose, transform_boxes
from harness.types.vocabulary import VEHICLE, Boxes, Floats, Mask, Message, Pose

LARGEST = ((20.0, 4.0, 5.0), (2.5, 2.5, 2.5), (4.0, 2.5, 3.0))
"""Metres of length, width and height that a vehicle, a pedestrian and a cyclist can have."""
EGO_BODY = (2.0, 0.8)
"""Metres ahead or behind, and aside, of the ego's centre: no other vehicle's LiDAR is there."""
WORLD = Pose(0.0, 0.0)


class Plausibility(Defence):
    """Rejects senders that cannot be where they say, and boxes that they cannot perceive."""

    safe_from_file = True
    name = "plausibility"
    payloads = ANY_PAYLOAD

    def __init__(
        self,
        *,
        sender_distance: float = 100.0,  # m between ego and sender, at most
        sender_speed: float = 50.0,  # m/s of a sender that is a vehicle, at most
        position_error: float = 3.0,  # m that a stated place may be off
        sensor_range: float = 85.0,  # m between a sender and a box that it perceives, at most
        on_road: bool = True,  # vehicles must be on lanes of the ego's map, or close to one
        inside_ego: bool = True,  # no vehicle that sends may be inside the ego
    ) -> None:
        refuse_negative(
            self.name,
            "m",
            sender_distance=sender_distance,
            position_error=position_error,
            sensor_range=sensor_range,
        )
        refuse_negative(self.name, "m/s", sender_speed=sender_speed)
        self.sender_distance, self.sender_speed = sender_distance, sender_speed
        self.position_error, self.sensor_range = position_error, sensor_range
        self.on_road, self.inside_ego = on_road, inside_ego
        self._last: dict[str, tuple[float, Pose]] = {}

    def reset(self, seed: int) -> None:
        """Start an episode in which no sender was heard."""
        super().reset(seed)
        self._last = {}

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return what is made of each message."""
        return [self._judge_message(scene, message) for message in messages]

    def _judge_message(self, scene: DefenceScene, message: Message) -> Judgement:
        whole = not self.is_sender_plausible(scene, message)
        kept = keep_all(message)
        if not whole and isinstance(message.payload, Boxes):
            kept = self.find_plausible_boxes(scene, message, message.payload)
        return Judgement(check=self.name, message=message, kept=kept, whole=whole)

    def is_sender_plausible(self, scene: DefenceScene, message: Message) -> bool:
        """Return whether the sender can be where it says."""
        place, now = message.lidar_in_world, message.capture_time
        ego = scene.observation.lidar_in_world
        if math.hypot(place.x - ego.x, place.y - ego.y) > self.sender_distance:
            return False
        # roadside units are set up elsewhere from time to time, so that only vehicles are followed
        before = self._last.get(message.sender)
        self._last[message.sender] = (now, place)
        if message.kind != "vehicle":
            return True
        if before is not None:
            way = math.hypot(place.x - before[1].x, place.y - before[1].y)
            if way > self.sender_speed * abs(now - before[0]) + self.position_error:
                return False
        here = compute_relative_pose(place, scene.observation.vehicle_in_world)
        ahead, aside = EGO_BODY
        if self.inside_ego and abs(here.x) < ahead and abs(here.y) < aside:
            return False
        if not self.on_road:
            return True
        return bool(scene.find_on_road(np.array([[place.x, place.y, place.z]]))[0])

    def find_plausible_boxes(self, scene: DefenceScene, message: Message, boxes: Boxes) -> Mask:
        """Return which boxes the sender can perceive: (N,)."""
        geometry = boxes.geometry
        largest: Floats = np.array(LARGEST)[boxes.classes]
        plausible = np.hypot(geometry[:, 0], geometry[:, 1]) <= self.sensor_range
        plausible &= (geometry[:, 3:6] <= largest).all(1) & (geometry[:, 3:6] > 0).all(1)
        if self.on_road:
            vehicles = np.flatnonzero(plausible & (boxes.classes == VEHICLE))
            in_world = transform_boxes(boxes[vehicles], message.lidar_in_world, WORLD)
            plausible[vehicles] = scene.find_on_road(in_world.geometry[:, :3])
        result: Mask = plausible
        return result

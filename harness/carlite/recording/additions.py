"""What a log holds besides places and pedals: boxes, triggers, physics, and times of lights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from harness.carlite.actors import ActorKind
from harness.carlite.dynamics.physics import PhysicsControl
from harness.carlite.recording.packets import (
    COUNT,
    GEAR,
    MOST_RECORDS,
    PAIR,
    PHYSICS,
    WHEEL,
    PacketKind,
    pack_packet,
    pack_rows,
    pack_vectors,
)
from harness.carlite.world.client_physics import CENTIMETRES, convert_physics_control
from harness.carlite.world.geometry import transform_body_point

if TYPE_CHECKING:
    from harness.carlite.world.episode import WorldEpisode
    from harness.carlite.world.population import Resident

Row: TypeAlias = tuple[float, ...]
SIGNALS = (ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN)


class AddedData:
    """What `additional_data` writes of actors when they come, and again when it has changed."""

    def __init__(self) -> None:
        # by actor: what was written last
        self._physics: dict[int, PhysicsControl] = {}
        self._times: dict[int, Row] = {}

    def pack_boxes(self, episode: WorldEpisode, new: Sequence[Resident]) -> list[bytes]:
        """Return the boxes of those who came: of signals the trigger volume, in the world."""
        boxes = [
            (one.id, *_scale(one.box.location), *_scale(one.box.extent))
            for one in new
            if one.kind not in SIGNALS
        ]
        triggers = [
            (one.id, *_scale(_place_trigger(episode, one)), *_scale(one.box.extent))
            for one in new
            if one.kind in SIGNALS
        ]
        return [
            pack_rows(PacketKind.BOUNDING_BOX, boxes),
            pack_rows(PacketKind.TRIGGER_VOLUME, triggers),
        ]

    def pack_settings(self, episode: WorldEpisode) -> list[bytes]:
        """Return the physics of vehicles and the times of lights; as in CARLA no empty packets."""
        packets = []
        physics = [_pack_physics(*one) for one in self._list_new_physics(episode)][:MOST_RECORDS]
        if physics:
            payload = COUNT.pack(len(physics)) + b"".join(physics)
            packets.append(pack_packet(PacketKind.PHYSICS_CONTROL, payload))
        times = self._list_new_times(episode)
        if times:
            packets.append(pack_rows(PacketKind.TRAFFIC_LIGHT_TIME, times))
        return packets

    def _list_new_physics(self, episode: WorldEpisode) -> list[tuple[int, PhysicsControl]]:
        changed, present = [], {}
        for slot in episode.population.list_slots(ActorKind.VEHICLE).tolist():
            number = int(episode.table.id[slot])
            present[number] = control = episode.motion.physics.find_control(number)
            if self._physics.get(number) != control:
                changed.append((number, convert_physics_control(episode, slot)))
        self._physics = present
        return changed

    def _list_new_times(self, episode: WorldEpisode) -> list[Row]:
        lights = episode.lights
        columns = (one.tolist() for one in (lights.green, lights.yellow, lights.red))
        times = zip(*columns, strict=True)
        present: dict[int, Row] = dict(zip(lights.actor_id.tolist(), times, strict=True))
        changed = [(n, *times) for n, times in present.items() if self._times.get(n) != times]
        self._times = present
        return changed


def _scale(metres: Sequence[float]) -> Row:
    return tuple(CENTIMETRES * part for part in metres)


def _place_trigger(episode: WorldEpisode, signal: Resident) -> Row:
    table = episode.table
    slot = table.find_slot(signal.id)
    return transform_body_point(table.position[slot], table.rotation[slot], signal.box.location)


def _pack_physics(number: int, control: PhysicsControl) -> bytes:
    """Return a record of what is under a bonnet, field by field as CARLA's log has them."""
    # in the order of the log
    head = (
        control.max_rpm, control.moi, control.damping_full_throttle,
        control.damping_zero_throttle_clutch_engaged,
        control.damping_zero_throttle_clutch_disengaged,
        control.use_gear_autobox, control.clutch_strength, control.final_ratio,
        control.mass, control.drag_coefficient, *control.center_of_mass,
    )  # fmt: skip
    gears = [(gear.ratio, gear.down, gear.up) for gear in control.forward_gears]
    wheels = [
        (
            wheel.tire_friction, wheel.damping_rate, wheel.max_steer_angle, wheel.radius,
            wheel.max_brake_torque, wheel.max_handbrake_torque, wheel.lat_stiff_max_load,
            wheel.lat_stiff_value, wheel.long_stiff_value, *wheel.position,
        )
        for wheel in control.wheels
    ]  # fmt: skip
    return b"".join(
        [
            PHYSICS.pack(number, *head),
            pack_vectors(PAIR, control.torque_curve),
            pack_vectors(GEAR, gears),
            pack_vectors(PAIR, control.steering_curve),
            pack_vectors(WHEEL, wheels),
        ]
    )

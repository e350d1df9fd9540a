"""What a tick of the world leaves in a recorder log."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Floats
from harness.carlite.errors import CallError
from harness.carlite.recording.additions import AddedData
from harness.carlite.recording.files import VERSION, RecordingStart, pack_start
from harness.carlite.recording.packets import (
    FRAME,
    SECONDS,
    PacketKind,
    RecordedActor,
    RecordedAttribute,
    pack_actors,
    pack_packet,
    pack_rows,
)

if TYPE_CHECKING:
    from harness.carlite.world.episode import WorldEpisode
    from harness.carlite.world.population import Resident

Row = tuple[float, ...]
CENTIMETRES = 100.0
SCENERY = 0xFFFFFFFF
PLACED = (ActorKind.OTHER, ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.PROP, ActorKind.SPECTATOR)
MOVING = (ActorKind.VEHICLE, ActorKind.WALKER)
COLLISION_SENSOR = "sensor.other.collision"


class WorldRecorder:
    """Writes one log, from its start until it is stopped."""

    def __init__(self, path: Path, town: str, *, additional: bool) -> None:
        try:
            self._file: BinaryIO = path.open("wb")
        except OSError as problem:
            raise CallError(f"start_recorder: {path}: {problem.strerror}") from None
        self._additional = additional
        self._added = AddedData()
        self._known: dict[int, Resident] = {}
        self._frames = 0
        self._collisions = 0
        self._elapsed = self._last_step = 0.0
        self._began = time.monotonic()
        self._file.write(pack_start(RecordingStart(VERSION, int(time.time()), town)))

    def write_tick(self, episode: WorldEpisode, dt: float) -> None:
        """Write what the world is like after a tick."""
        self._elapsed += self._last_step
        self._last_step = dt
        self._frames += 1
        frame = FRAME.pack(self._frames, dt, self._elapsed)
        visual = pack_packet(PacketKind.VISUAL_TIME, SECONDS.pack(self._elapsed))
        blocks = [pack_packet(PacketKind.FRAME_START, frame), visual, *self._pack_events(episode)]
        blocks += [pack_rows(kind, rows) for kind, rows in _list_states(episode).items()]
        if self._additional:
            blocks.append(pack_rows(PacketKind.KINEMATICS, _list_kinematics(episode)))
            clock = SECONDS.pack(time.monotonic() - self._began)
            blocks += self._added.pack_boxes(episode, self._new)
            blocks.append(pack_packet(PacketKind.PLATFORM_TIME, clock))
            blocks += self._added.pack_settings(episode)
        self._file.write(b"".join([*blocks, pack_packet(PacketKind.FRAME_END)]))

    def close(self) -> None:
        """End the log."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _pack_events(self, episode: WorldEpisode) -> list[bytes]:
        """Return who came, who went, what was attached, and which actors touched."""
        present = {resident.id: resident for resident in episode.population}
        self._new = [one for number, one in present.items() if number not in self._known]
        gone = [(number,) for number in self._known if number not in present]
        self._known = present
        parents = [(one.id, one.parent) for one in self._new if one.parent]
        return [
            pack_actors(_describe_actor(episode, one) for one in self._new),
            pack_rows(PacketKind.EVENT_DEL, gone),
            pack_rows(PacketKind.EVENT_PARENT, parents),
            pack_rows(PacketKind.COLLISION, self._list_collisions(episode)),
        ]

    def _list_collisions(self, episode: WorldEpisode) -> list[Row]:
        """Return the touches of those that carry a collision sensor, each pair once."""
        bearers = {one.parent for one in episode.population if one.type_id == COLLISION_SENSOR}
        pairs: dict[tuple[int, int], None] = {}
        for contact in episode.motion.contacts:
            other = contact.other if contact.other >= 0 else SCENERY
            if contact.actor in bearers:
                pairs[contact.actor, other] = None
            if contact.other in bearers:
                pairs[contact.other, contact.actor] = None
        rows: list[Row] = []
        for first, second in pairs:
            heroes = (self._is_hero(first), self._is_hero(second))
            rows.append((self._collisions, first, second, *heroes))
            self._collisions += 1
        return rows

    def _is_hero(self, number: int) -> bool:
        resident = self._known.get(number)
        return resident is not None and resident.find_attribute("role_name") == "hero"


def convert_pose(position: Floats, rotation: Floats) -> Row:
    """Return centimetres and degrees (roll, pitch, yaw) of metres and (pitch, yaw, roll)."""
    pitch, yaw, roll = np.degrees(rotation).tolist()
    return (*(CENTIMETRES * position).tolist(), roll, pitch, yaw)


def _describe_actor(episode: WorldEpisode, resident: Resident) -> RecordedActor:
    slot = episode.table.find_slot(resident.id)
    x, y, z, *turned = convert_pose(episode.table.position[slot], episode.table.rotation[slot])
    kind = resident.kind if resident.kind <= ActorKind.SENSOR else ActorKind.OTHER
    return RecordedActor(
        id=resident.id,
        kind=int(kind),
        location=(x, y, z),
        rotation=(turned[0], turned[1], turned[2]),
        uid=resident.description.uid,
        type_id=resident.type_id,
        attributes=tuple(
            RecordedAttribute(one.type, one.id, one.value)
            for one in resident.description.attributes
        ),
    )


def _list_states(episode: WorldEpisode) -> dict[PacketKind, list[Row]]:
    """Return where actors are and what they do, by packet."""
    table, lights = episode.table, episode.lights
    placed = np.flatnonzero(np.isin(table.kind, PLACED))
    positions = [
        (int(table.id[slot]), *convert_pose(table.position[slot], table.rotation[slot]))
        for slot in placed
    ]
    shown = zip(lights.actor_id, lights.frozen, lights.elapsed, lights.state, strict=True)
    cars = episode.population.list_slots(ActorKind.VEHICLE)
    columns = (table.id, table.steer, table.throttle, table.brake, table.hand_brake, table.gear)
    walkers = episode.population.list_slots(ActorKind.WALKER)
    return {
        PacketKind.POSITION: positions,
        PacketKind.STATE: [(int(a), bool(f), float(e), int(s)) for a, f, e, s in shown],
        PacketKind.ANIM_VEHICLE: list(zip(*(one[cars].tolist() for one in columns), strict=True)),
        PacketKind.ANIM_WALKER: list(
            zip(table.id[walkers].tolist(), table.walk_speed[walkers].tolist(), strict=True)
        ),
        PacketKind.VEHICLE_LIGHT: list(
            zip(table.id[cars].tolist(), table.lamps[cars].tolist(), strict=True)
        ),
    }


def _list_kinematics(episode: WorldEpisode) -> list[Row]:
    """Return velocities in metres per second and degrees per second."""
    table = episode.table
    return [
        (
            int(table.id[slot]),
            *table.velocity[slot].tolist(),
            *np.degrees(table.angular_velocity[slot]).tolist(),
        )
        for slot in np.flatnonzero(np.isin(table.kind, MOVING))
    ]

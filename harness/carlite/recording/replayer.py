"""A recorder log played again: its actors come, go and are where they were."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.carlite.actors import ActorKind
from harness.carlite.angles import wrap_to_pi
from harness.carlite.arrays import Floats
from harness.carlite.errors import CallError
from harness.carlite.recording.files import read_packets, read_start
from harness.carlite.recording.packets import (
    FRAME,
    PacketKind,
    PayloadCursor,
    RecordedActor,
    RecordingError,
    unpack_actors,
    unpack_rows,
)
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.wire.codec import Rotation
from harness.carlite.wire.records import ActorDescription, AttributeValue, Transform

if TYPE_CHECKING:
    from harness.carlite.world.episode import WorldEpisode

LARGEST = 512 * 1024 * 1024
ALOFT = (0.0, 0.0, 1000.0)
"""Where new actors come from, as in CARLA: nothing is in their way there."""
VIEW = Transform((-10.0, 0.0, 5.0), Rotation((math.radians(-25.0), 0.0, 0.0)))
FARTHEST = 1e6
UNREAD = range(PacketKind.SCENE_LIGHT, PacketKind.BIKER + 1)
MOST_AHEAD = 1e-9


@dataclass(kw_only=True)
class ReplayOptions:
    """What clients may set before they replay.

    Attributes:
        time_factor: seconds of the log in one second of the world.
        ignore_hero: leave vehicles with the role `hero` alone.
        ignore_spectator: leave the spectator alone.
    """

    time_factor: float = 1.0
    ignore_hero: bool = False
    ignore_spectator: bool = False


class ReplayFrame(NamedTuple):
    """One frame of a log: when it began, how long it lasted, and its packets."""

    elapsed: float
    duration: float
    packets: list[tuple[int, bytes]]


@dataclass
class RecordedDrive:
    """A whole log; `damage` says where it ends early."""

    town: str
    frames: list[ReplayFrame] = field(default_factory=list)
    damage: str = ""

    @property
    def total(self) -> float:
        """When the last frame began, which CARLA takes for the length of a log."""
        return self.frames[-1].elapsed if self.frames else 0.0


def load_recorded_drive(path: Path) -> RecordedDrive:
    """Read a log, as far as it can be read; RecordingError where it is none."""
    size = path.stat().st_size
    if size > LARGEST:
        raise RecordingError(f"{path} has {size} bytes; {LARGEST} can be replayed")
    with path.open("rb") as file:
        drive = RecordedDrive(read_start(file).town)
        try:
            for kind, payload in read_packets(file, size):
                if kind == PacketKind.FRAME_START:
                    _, duration, elapsed = PayloadCursor(payload).take(FRAME)
                    if not (math.isfinite(elapsed + duration) and elapsed >= drive.total):
                        raise RecordingError("the time of a frame makes no sense")
                    drive.frames.append(ReplayFrame(elapsed, duration, []))
                elif drive.frames and kind not in UNREAD:
                    drive.frames[-1].packets.append((kind, payload))
        except RecordingError as damage:
            drive.damage = str(damage)
    return drive


class DriveReplayer:
    """Plays one log in one episode.

    Attributes:
        playing: whether it has not ended.
        ids: the present actor of each recorded one.
        end: seconds of the log at which it ends.
        follow: the recorded actor that the spectator follows, 0 for none.
        view: the spectator's pose in the frame of that actor.
    """

    def __init__(self, drive: RecordedDrive, episode: WorldEpisode, options: ReplayOptions) -> None:
        self.playing = True
        self.ids: dict[int, int] = {}
        self.follow = 0
        self.view = VIEW
        self.end = drive.total
        self._drive, self._episode, self._options = drive, episode, options
        self._heroes: set[int] = set()
        self._next = 0
        self._now = 0.0
        self._poses: dict[int, Floats] = {}
        self._earlier: dict[int, Floats] = {}
        self._places: dict[int, Floats] = {}

    def advance(self, seconds: float, dt: float = 0.0) -> None:
        """Go on in the log; after its end vehicles stop and are left to the dynamics.

        Args:
            seconds: of the log.
            dt: of the world, for velocities; 0 where actors only jump.
        """
        frames = self._drive.frames
        self._now += seconds
        # all frames that have started: events count, states are those of the last one
        while self._next < len(frames) and (
            self._next == 0 or frames[self._next].elapsed <= self._now + MOST_AHEAD
        ):
            self._enter_frame(frames[self._next])
            self._next += 1
        self._place_actors(dt)
        if self._now >= self.end:
            self.stop(keep_actors=True)

    def stop(self, *, keep_actors: bool) -> None:
        """End; unless actors are kept, those go that the log says went."""
        if not self.playing:
            return
        self.playing = False
        if not keep_actors:
            for frame in self._drive.frames[self._next :]:
                self._enter_frame(frame)
        episode, table = self._episode, self._episode.table
        for slot in episode.population.list_slots(ActorKind.VEHICLE).tolist():
            number = int(table.id[slot])
            if self._is_ignored(number):
                continue
            episode.motion.set_simulated(slot, False)
            if not table.parent[slot]:
                episode.motion.set_simulated(slot, True)
            for column in (table.throttle, table.steer, table.brake):
                column[slot] = 0.0
            table.hand_brake[slot] = table.reverse[slot] = table.manual_gear[slot] = False
            table.gear[slot] = 1
        table.walk_speed[episode.population.list_slots(ActorKind.WALKER)] = 0.0

    def _enter_frame(self, frame: ReplayFrame) -> None:
        """Let a frame's actors come and go, and take its states; damaged packets are passed by."""
        handlers = {
            PacketKind.EVENT_ADD: self._add_actors,
            PacketKind.EVENT_DEL: self._remove_actors,
            PacketKind.POSITION: self._take_poses,
            PacketKind.STATE: self._set_signals,
            PacketKind.ANIM_VEHICLE: self._set_pedals,
            PacketKind.ANIM_WALKER: self._set_strides,
            PacketKind.VEHICLE_LIGHT: self._set_lamps,
        }
        for kind, payload in frame.packets:
            if kind in handlers:
                with contextlib.suppress(RecordingError):
                    handlers[PacketKind(kind)](payload)

    def _add_actors(self, payload: bytes) -> None:
        for actor in unpack_actors(payload):
            present = self._find_or_spawn(actor)
            if present is None:
                continue
            self.ids[actor.id] = present
            if actor.is_hero:
                self._heroes.add(present)
            slot = self._episode.table.find_slot(present)
            if self._episode.table.kind[slot] == ActorKind.VEHICLE:
                self._episode.traffic.unregister_vehicle([present])
                self._episode.motion.set_simulated(slot, self._is_ignored(present))

    def _find_or_spawn(self, actor: RecordedActor) -> int | None:
        """Return the actor that plays a recorded one: one that is there, or a new one."""
        episode = self._episode
        if actor.type_id.startswith("traffic."):
            return self._find_signal(actor)
        if actor.type_id == "spectator":
            return None if self._options.ignore_spectator else episode.spectator.id
        if actor.type_id.startswith(("sensor.", "controller.")):
            return None
        known = episode.population.get_resident(actor.id)
        if known is not None and known.type_id == actor.type_id:
            return known.id
        wanted = ActorDescription(
            actor.uid,
            actor.type_id,
            tuple(AttributeValue(one.id, one.type, one.value) for one in actor.attributes),
        )
        try:
            new = episode.spawn_resident(wanted, Transform(ALOFT, Rotation((0.0, 0.0, 0.0))))
        except CallError:
            return None
        pose = _read_pose((*actor.location, *actor.rotation))
        if pose is not None:
            slot = episode.table.find_slot(new.id)
            episode.table.position[slot], episode.table.rotation[slot] = pose[:3], pose[3:]
        return new.id

    def _find_signal(self, actor: RecordedActor) -> int | None:
        """Return the light or sign that stands at a place, to the centimetre as in CARLA."""
        table = self._episode.table
        kinds = (ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN)
        slots = np.flatnonzero(np.isin(table.kind, kinds))
        away = np.abs(100.0 * table.position[slots] - actor.location).max(axis=1, initial=0.0)
        near = slots[away < 1.0]
        return int(table.id[near[0]]) if len(near) else None

    def _remove_actors(self, payload: bytes) -> None:
        for (number,) in unpack_rows(PacketKind.EVENT_DEL, payload):
            present = self.ids.pop(int(number), None)
            if present is not None:
                with contextlib.suppress(CallError):
                    self._episode.destroy_resident(present)

    def _take_poses(self, payload: bytes) -> None:
        self._earlier, self._poses = self._poses, {}
        for number, *values in unpack_rows(PacketKind.POSITION, payload):
            pose = _read_pose(values)
            if pose is not None:
                self._poses[int(number)] = pose

    def _place_actors(self, dt: float) -> None:
        """Put actors between where they were in the frame before and in this one."""
        if not self._next:
            return
        frame, table = self._drive.frames[self._next - 1], self._episode.table
        since = self._now - frame.elapsed
        share = min(max(since / frame.duration, 0.0), 1.0) if frame.duration > 0.0 else 0.0
        for number, later in self._poses.items():
            slot = self._find_slot(number)
            if slot is None:
                continue
            pose = later
            if number in self._earlier:
                earlier = self._earlier[number]
                change = later - earlier
                change[3:] = wrap_to_pi(change[3:])
                pose = earlier + share * change
            if dt and table.kind[slot] in (ActorKind.VEHICLE, ActorKind.WALKER):
                table.velocity[slot] = (pose[:3] - self._places.get(number, pose[:3])) / dt
            table.position[slot], table.rotation[slot] = pose[:3], wrap_to_pi(pose[3:])
            self._places[number] = pose[:3]
        self._follow_actor()
        self._episode.population.move_attached()

    def _follow_actor(self) -> None:
        """Let the spectator look at the actor that is followed; its slope counts for nothing."""
        slot = self._find_slot(self.follow) if self.follow else None
        if slot is None:
            return
        table = self._episode.table
        seat = table.find_slot(self._episode.spectator.id)
        pitch, yaw, roll = table.rotation[slot].tolist()
        back, right, up = self.view.location
        level = np.array(
            [
                back * math.cos(yaw) - right * math.sin(yaw),
                back * math.sin(yaw) + right * math.cos(yaw),
                up,
            ]
        )
        table.position[seat] = table.position[slot] + level
        table.rotation[seat] = wrap_to_pi(np.array([pitch, yaw, roll]) + self.view.rotation)

    def _set_signals(self, payload: bytes) -> None:
        lights = self._episode.lights
        for number, frozen, elapsed, state in unpack_rows(PacketKind.STATE, payload):
            try:
                light = lights.find_light_index(self.ids[int(number)])
                lights.state[light] = TrafficLightState(int(state))
            except (KeyError, ValueError):
                continue
            lights.frozen[light], lights.elapsed[light] = bool(frozen), elapsed

    def _set_pedals(self, payload: bytes) -> None:
        table = self._episode.table
        for slot, row in self._list_played(PacketKind.ANIM_VEHICLE, payload, ActorKind.VEHICLE):
            steer, throttle, brake = np.nan_to_num(row[1:4]).tolist()
            table.steer[slot] = min(max(steer, -1.0), 1.0)
            table.throttle[slot] = min(max(throttle, 0.0), 1.0)
            table.brake[slot] = min(max(brake, 0.0), 1.0)
            table.hand_brake[slot] = bool(row[4])
            table.gear[slot] = min(max(int(row[5]), -1), 100)
            table.reverse[slot] = row[5] < 0
            table.manual_gear[slot] = False

    def _set_strides(self, payload: bytes) -> None:
        table = self._episode.table
        for slot, row in self._list_played(PacketKind.ANIM_WALKER, payload, ActorKind.WALKER):
            # the log holds no direction, and places come from the log
            table.walk_direction[slot] = 0.0
            table.walk_speed[slot] = row[1] if math.isfinite(row[1]) else 0.0

    def _set_lamps(self, payload: bytes) -> None:
        for slot, row in self._list_played(PacketKind.VEHICLE_LIGHT, payload, ActorKind.VEHICLE):
            self._episode.table.lamps[slot] = int(row[1]) & 0x7FF

    def _list_played(
        self, packet: PacketKind, payload: bytes, kind: ActorKind
    ) -> Iterator[tuple[int, tuple[float, ...]]]:
        """Yield the records of a packet whose actors are here, with their slots."""
        for row in unpack_rows(packet, payload):
            slot = self._find_slot(int(row[0]))
            if slot is not None and self._episode.table.kind[slot] == kind:
                yield slot, row

    def _find_slot(self, recorded: int) -> int | None:
        """Return the slot of who plays a recorded actor, unless there is none to be moved."""
        present = self.ids.get(recorded)
        if present is None or present not in self._episode.table or self._is_ignored(present):
            return None
        return self._episode.table.find_slot(present)

    def _is_ignored(self, present: int) -> bool:
        return self._options.ignore_hero and present in self._heroes


def _read_pose(values: tuple[float, ...] | list[float]) -> Floats | None:
    """Return metres and radians (pitch, yaw, roll); None where a number is none."""
    x, y, z, roll, pitch, yaw = values
    pose = np.array([x, y, z, *np.radians([pitch, yaw, roll]).tolist()])
    pose[:3] /= 100.0
    return pose if np.isfinite(pose).all() and np.abs(pose).max() < FARTHEST else None

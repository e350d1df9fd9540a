"""V2X sensors: what each sends in a tick, and which others receive it, as CARLA 0.9.16 decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.errors import CallError
from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.awareness import AwarenessService, StationState
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.gnss import read_geo_reference
from harness.carlite.sensors.path_loss import (
    BEHIND_BUILDINGS,
    BEHIND_VEHICLES,
    DEVIATIONS,
    IN_SIGHT,
    RadioPath,
    RadioSettings,
)
from harness.carlite.sensors.protocol import Vector
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.v2x_records import LONGEST_TEXT, pack_cam, pack_custom
from harness.carlite.world.population import ActorPopulation, Resident

AWARENESS, CUSTOM = "sensor.other.v2x", "sensor.other.v2x_custom"
GRAVITY = 9.81
ABOVE_TOP = 0.02
"""Metres of an antenna over its owner's top."""
STATION_TYPES = {"car": 5, "van": 5, "taxi": 5, "truck": 7, "bus": 6, "motorcycle": 4, "bicycle": 2}
EMERGENCY, PEDESTRIAN, OTHERS = 10, 1, 0
EMERGENCY_ROLE = 6
PAST = 0.05
"""Metres beyond a surface at which a ray goes on."""
MOST_OBSTACLES = 20

Message = Callable[[float], bytes]
"""From received power in dBm to the structure that the client reads."""


@dataclass(kw_only=True)
class V2XStation:
    """A sensor with its owner.

    Attributes:
        service: of a sensor that sends awareness messages.
        pending: what a client gave a custom sensor to send.
        noise: names of its stream of shadowing.
    """

    resident: Resident
    settings: RadioSettings
    transmit_power: float  # dBm
    sensitivity: float  # dBm
    gain: float  # dBi
    reach: float  # m
    deviations: tuple[float, float, float]  # dB
    noise: tuple[int, str, str]
    service: AwarenessService | None = None
    pending: bytes | None = None
    sampled: int = 0

    def sample_shadowing(self, state: int) -> float:
        """Return dB of this reception, a new sample each time."""
        deviation = self.deviations[state]
        if not deviation:
            return 0.0
        self.sampled += 1
        return deviation * float(make_random_stream(*self.noise, self.sampled).standard_normal())


class V2XAir:
    """All V2X sensors of an episode."""

    def __init__(self, population: ActorPopulation, seed: int) -> None:
        self._population = population
        self._seed = seed
        self._stations: dict[int, V2XStation] = {}

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._stations)

    def add_station(self, resident: Resident, attributes: Mapping[str, str]) -> None:
        """Add a sensor that a vehicle or a walker carries; others neither send nor hear."""
        owner = self._population.get_resident(resident.parent)
        if owner is None or owner.kind not in (ActorKind.VEHICLE, ActorKind.WALKER):
            return
        for name in ("frequency_ghz", "d_ref"):
            if not float(attributes[name]) > 0:
                raise CallError(f"{resident.type_id}: {name} must be above 0")
        fading = attributes["use_etsi_fading"].lower() == "true"
        custom = float(attributes["custom_fading_stddev"])
        self._stations[resident.id] = V2XStation(
            resident=resident,
            settings=RadioSettings(
                frequency=1e9 * float(attributes["frequency_ghz"]),
                scenario=attributes["scenario"],
                model=attributes["path_loss_model"],
                exponent=float(attributes["path_loss_exponent"]),
                reference=float(attributes["d_ref"]),
            ),
            transmit_power=float(attributes["transmit_power"]),
            sensitivity=float(attributes["receiver_sensitivity"]),
            gain=float(attributes["combined_antenna_gain"]),
            reach=float(attributes["filter_distance"]),
            deviations=DEVIATIONS[attributes["scenario"]] if fading else (custom,) * 3,
            noise=(self._seed, resident.type_id, attributes["noise_seed"]),
            service=(
                AwarenessService(attributes, self._seed) if resident.type_id == AWARENESS else None
            ),
        )

    def remove_station(self, actor_id: int) -> None:
        """Drop a destroyed sensor."""
        self._stations.pop(actor_id, None)

    def queue_text(self, actor_id: int, text: bytes) -> None:
        """Let a custom sensor send a text in the next tick; a later one takes its place."""
        if self._population.find_resident(actor_id, ActorKind.SENSOR).type_id != CUSTOM:
            raise CallError(f"actor {actor_id} is no {CUSTOM}")
        station = self._stations.get(actor_id)
        if station is None:
            return
        station.pending = text.split(b"\0")[0][:LONGEST_TEXT]

    def exchange_messages(
        self, scene: SensorScene, now: float, has_listener: Callable[[int], bool]
    ) -> dict[int, bytes]:
        """Return the body of each sensor that hears anything in this tick.

        Args:
            scene: as of this tick.
            now: simulated seconds.
            has_listener: whether a client listens to a sensor.
        """
        sent = {
            number: message
            for number, station in self._stations.items()
            if (message := self._make_message(station, scene, now)) is not None
        }
        bodies: dict[int, bytes] = {}
        for number, station in self._stations.items():
            if sent and has_listener(number):
                heard = [
                    message(power)
                    for sender, message in sent.items()
                    if (power := self._receive(station, self._stations[sender], scene)) is not None
                ]
                if heard:
                    bodies[number] = b"".join(heard)
        return bodies

    def _make_message(self, station: V2XStation, scene: SensorScene, now: float) -> Message | None:
        """Return what a sensor sends in this tick."""
        if station.service is None:
            text, station.pending = station.pending, None
            owner = station.resident.parent
            return None if text is None else (lambda power: pack_custom(power, owner, text))
        numbers = station.service.make_message(self._describe_owner(station, scene), now)
        return None if numbers is None else (lambda power: pack_cam(power, numbers))

    def _receive(self, station: V2XStation, sender: V2XStation, scene: SensorScene) -> float | None:
        """Return the power in dBm at which a sensor receives another; None: it does not."""
        owners = station.resident.parent, sender.resident.parent
        if owners[0] == owners[1] or sender.resident.type_id != station.resident.type_id:
            return None
        first, second = (self._locate_antenna(owner) for owner in owners)
        if not math.dist(first, second) < station.reach:
            return None
        path = self._trace_path(owners, first, second, scene)
        loss = station.settings.compute_loss(path) + station.sample_shadowing(path.state)
        power = sender.transmit_power + station.gain - loss
        return power if power >= station.sensitivity else None

    def _locate_antenna(self, owner: int) -> Vector:
        table = self._population.table
        slot = table.find_slot(owner)
        x, y, z = table.position[slot].tolist()
        return x, y, z + 2 * float(table.extent[slot, 2]) + ABOVE_TOP

    def _trace_path(
        self, owners: tuple[int, int], first: Vector, second: Vector, scene: SensorScene
    ) -> RadioPath:
        """Return what lies between two antennas: vehicles, or anything else, which hides."""
        table = self._population.table
        floor = min(float(table.position[table.find_slot(owner), 2]) for owner in owners)
        state = IN_SIGHT
        tops: list[Vector] = []
        way = np.array(second) - np.array(first)
        left = float(np.linalg.norm(way))
        ahead, at, ignored = way / left, np.array(first), owners[0]
        for _ in range(MOST_OBSTACLES):
            distance, actor, _ = scene.find_first_hit(at[None], ahead[None], left, ignored)
            if not distance[0] < left:
                break
            hit = int(actor[0])
            at, left = at + (distance[0] + PAST) * ahead, left - float(distance[0]) - PAST
            if hit in owners:
                ignored = hit
                continue
            resident = self._population.get_resident(hit)
            if resident is None or resident.kind != ActorKind.VEHICLE:
                state, tops = BEHIND_BUILDINGS, []
                break
            x, y, z = self._locate_antenna(hit)
            state, ignored = BEHIND_VEHICLES, hit
            tops.append((x, y, z - floor))
        lifted = [(x, y, z - floor) for x, y, z in (first, second)]
        return RadioPath(state=state, first=lifted[0], second=lifted[1], tops=tops)

    def _describe_owner(self, station: V2XStation, scene: SensorScene) -> StationState:
        owner = self._population.find_resident(station.resident.parent)
        table: ActorTable = self._population.table
        slot = table.find_slot(owner.id)
        pitch, yaw, roll = table.rotation[slot].tolist()
        # columns: forward, right and up of the body
        axes = build_rotation_matrix(pitch, yaw, roll)
        felt = table.acceleration[slot] + np.array([0.0, 0.0, GRAVITY])
        forward, right, up = (felt @ axes).tolist()
        x, y, z = table.position[slot].tolist()
        place = read_geo_reference(scene.town.opendrive).to_geodetic(x, y, z)
        emergency = owner.find_attribute("special_type") == "emergency"
        length, width = (2 * table.extent[slot, :2]).tolist()
        return StationState(
            station=owner.id,
            station_type=find_station_type(owner),
            position=(x, y, z),
            place=place,
            heading=yaw + math.pi / 2,
            speed=float(table.velocity[slot] @ axes[:, 0]),
            acceleration=(forward, right, up),
            yaw_rate=float(table.angular_velocity[slot, 2]),
            size=(length, width),
            lights=int(table.lamps[slot]),
            role=EMERGENCY_ROLE if emergency else 0,
        )


def find_station_type(owner: Resident) -> int:
    """Return ETSI's number for what carries a sensor."""
    if owner.kind == ActorKind.WALKER:
        return PEDESTRIAN
    if owner.find_attribute("special_type") == "emergency":
        return EMERGENCY
    return STATION_TYPES.get(owner.find_attribute("base_type").lower(), OTHERS)

"""The state of a world: read from the simulator, and shown again with everything standing still.

A `WorldStage` is a world in which nothing moves. It puts the actors of a recorded state where they
were, and its cameras take the pictures that were recorded, or others of the same moment with an
actor more, in other weather. In carlite colours follow the remainder of an actor's id, and ties
are decided by the order of ids; so actors are spawned in their order, with ids of the same
remainder (`ID_PERIOD`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue

import carla
import numpy as np
from numpy.typing import NDArray

from harness.common.errors import AttemptError
from harness.common.world_states import WorldState
from harness.types.vocabulary import Singles
from harness.world.cameras import DEPTH, RGB, CameraMount, decode_depth
from harness.world.poses import make_pose_row
from harness.world.probe import probe_carla
from harness.world.rig import ScanningPost
from harness.world.sensor_frames import wait_for_frame
from harness.world.session import RPC_TIMEOUT, convert_client_errors, load_fresh_world

SHOWN = ("vehicle.", "walker.pedestrian.", "static.prop.")
"""Blueprints of actors that cameras see."""
WEATHER = (
    *("cloudiness", "precipitation", "precipitation_deposits", "wind_intensity"),
    *("sun_azimuth_angle", "sun_altitude_angle", "fog_density", "fog_distance", "fog_falloff"),
    *("wetness", "scattering_intensity", "mie_scattering_scale", "rayleigh_scattering_scale"),
    "dust_storm",
)
ID_PERIOD = 120
"""Of the choice of colours in carlite by ids (decision 0104)."""
FILLER = "sensor.other.gnss"
ALOFT = 1000.0
"""Metres: vehicles are spawned there, where nothing is in their way."""
STAGE_TICK = 0.05
LIGHT = "traffic.traffic_light"


def read_weather(world: carla.World) -> dict[str, float]:
    """Return the numbers of the world's weather."""
    weather = world.get_weather()
    return {name: float(getattr(weather, name)) for name in WEATHER}


def make_transform(row: Sequence[float] | Singles) -> carla.Transform:
    """Return x y z in m, pitch yaw roll in degrees as a transform."""
    x, y, z, pitch, yaw, roll = map(float, row)
    return carla.Transform(carla.Location(x, y, z), carla.Rotation(pitch, yaw, roll))


def list_hidden_scenery(world: carla.World) -> list[int]:
    """Return the ids of pieces of scenery that are not shown, such as those that gave way."""
    there = {
        (box.location.x, box.location.y, box.location.z, box.extent.x, box.extent.y, box.extent.z)
        for box in world.get_level_bbs(carla.CityObjectLabel.Any)
    }
    hidden = []
    for piece in world.get_environment_objects(carla.CityObjectLabel.Any):
        box = piece.bounding_box
        place, half = box.location, box.extent
        if (place.x, place.y, place.z, half.x, half.y, half.z) not in there:
            hidden.append(int(piece.id))
    return sorted(hidden)


class WorldReader:
    """Reads the states of one episode; what never changes of actors is read once."""

    def __init__(self, world: carla.World) -> None:
        self._world = world
        self._names: dict[int, str] = {}

    def read_state(
        self, snapshot: carla.WorldSnapshot, posts: Mapping[int, ScanningPost]
    ) -> WorldState:
        """Return the state of the world in a snapshot.

        Args:
            snapshot: of the latest tick.
            posts: of the agents, whose cameras are part of the state.
        """
        ids = sorted(actor.id for actor in snapshot)
        new = [actor for actor in ids if actor not in self._names]
        if new:
            self._names |= {actor.id: actor.type_id for actor in self._world.get_actors(new)}
        shown = [actor for actor in ids if self._names.get(actor, "").startswith(SHOWN)]
        lights = [actor for actor in ids if self._names.get(actor) == LIGHT]
        lamps = {
            actor: int(state) for actor, state in self._world.get_vehicles_light_states().items()
        }
        return WorldState(
            actors=np.array(shown, np.int64),
            blueprints=tuple(self._names[actor] for actor in shown),
            poses=read_poses(snapshot, shown),
            lamps=np.array([lamps.get(actor, 0) for actor in shown], np.int64),
            signals=np.array(
                [int(light.get_state()) for light in list_lights(self._world, lights)], np.uint8
            ),
            weather=read_weather(self._world),
            hidden=np.array(list_hidden_scenery(self._world), np.int64),
            cameras={agent: post.read_camera_poses(snapshot) for agent, post in posts.items()},
        )


def read_poses(snapshot: carla.WorldSnapshot, actors: Sequence[int]) -> Singles:
    """Return the (actors, 6) poses of some actors in a snapshot."""
    rows = [make_pose_row(snapshot.find(actor).get_transform()) for actor in actors]
    return np.array(rows, np.float32).reshape(-1, 6)


def list_lights(world: carla.World, ids: Sequence[int]) -> list[carla.TrafficLight]:
    """Return traffic lights by ascending id."""
    return sorted(world.get_actors(list(ids)), key=lambda light: int(light.id)) if ids else []


@dataclass(frozen=True, slots=True, eq=False)
class StagedPictures:
    """What the cameras of a stage saw in one tick, in the order in which they were given."""

    pixels: tuple[NDArray[np.uint8], ...]  # (rows, columns, 3) each
    depths: tuple[Singles, ...]  # (rows, columns) m; none if none were asked for


@dataclass(frozen=True, slots=True, eq=False)
class _Film:
    """A camera of the stage, and its images."""

    sensor: carla.Sensor
    images: SimpleQueue[carla.SensorData]


class WorldStage:
    """A world that stands still, for one town."""

    def __init__(self, client: carla.Client, world: carla.World) -> None:
        self._client, self._world = client, world
        self._library = self._world.get_blueprint_library()
        lights = [int(light.id) for light in self._world.get_actors().filter(LIGHT)]
        self._lights = list_lights(self._world, lights)
        for light in self._lights:
            light.freeze(True)
        self._anchor = self._spawn_filler()  # carries walkers, which the ground would lift
        self._next = self._anchor + 1
        # by recorded id: the actor that stands for it, and its blueprint
        self._players: dict[int, tuple[int, str]] = {}
        self._films: dict[tuple[str, int, int, int, float], _Film] = {}
        self._centres: dict[str, tuple[float, float, float]] = {}
        self._weather: Mapping[str, float] = {}
        self._lamps: dict[int, int] = {}
        self._stands: dict[int, bytes] = {}
        self._signals: list[int] = []
        self._hidden: set[int] = set()

    def fits(self, state: WorldState) -> bool:
        """Return whether a state can be shown without a new world: ids must keep their order."""
        wanted = dict(zip(state.actors.tolist(), state.blueprints, strict=True))
        same = [one for one, (_, name) in self._players.items() if wanted.get(one) == name]
        last = max(same, default=0)
        return all(one in same or one > last for one in wanted)

    def take_pictures(
        self,
        state: WorldState,
        cameras: Sequence[tuple[CameraMount, Singles]],
        depth_size: tuple[int, int] | None = None,
    ) -> StagedPictures:
        """Return what cameras see of a state.

        Args:
            state: that is shown.
            cameras: mount and (6,) pose in the world of each.
            depth_size: columns and rows of depth pictures; None for none.

        Raises:
            AttemptError: an actor does not stand where the state has it.
        """
        self._show_state(state)
        wanted = [(RGB, mount, pose) for mount, pose in cameras]
        if depth_size is not None:
            width, height = depth_size
            wanted += [
                (DEPTH, replace(mount, width=width, height=height), pose) for mount, pose in cameras
            ]
        films = [self._place_film(number, *one) for number, one in enumerate(wanted)]
        for film in films:
            film.sensor.listen(film.images.put)
        frame = self._world.tick()
        self._check_poses(state)
        data = [wait_for_frame(film.images, frame) for film in films]
        for film in films:
            film.sensor.stop()
        return StagedPictures(
            tuple(decode_pixels(image) for image in data[: len(cameras)]),
            tuple(decode_depth(image) for image in data[len(cameras) :]),
        )

    def put_cameras_away(self) -> None:
        """Destroy the cameras."""
        for film in self._films.values():
            film.sensor.destroy()
        self._films.clear()

    def measure_box_centre(self, blueprint: str) -> tuple[float, float, float]:
        """Return the middle of the box of a blueprint's actors in their own frame, m."""
        if blueprint not in self._centres:
            aloft = carla.Transform(carla.Location(0.0, 0.0, ALOFT))
            actor = self._world.spawn_actor(self._library.find(blueprint), aloft)
            self._next = int(actor.id) + 1
            place = actor.bounding_box.location
            self._centres[blueprint] = place.x, place.y, place.z
            actor.destroy()
        return self._centres[blueprint]

    def _show_state(self, state: WorldState) -> None:
        """Let actors come, go and stand; set lamps, lights, weather and scenery."""
        wanted = dict(zip(state.actors.tolist(), state.blueprints, strict=True))
        gone = [one for one, (_, name) in self._players.items() if wanted.get(one) != name]
        commands = [carla.command.DestroyActor(self._players.pop(one)[0]) for one in gone]
        for one in gone:
            self._lamps.pop(one, None)
            self._stands.pop(one, None)
        if commands:
            self._client.apply_batch_sync(commands)
        for actor in state.actors.tolist():
            if actor not in self._players:
                self._spawn_player(actor, wanted[actor])
        # where they stand, and their lamps
        moves = []
        for actor, pose in zip(state.actors.tolist(), state.poses, strict=True):
            if self._stands.get(actor) != pose.tobytes():
                player = self._players[actor][0]
                moves.append(carla.command.ApplyTransform(player, make_transform(pose)))
                self._stands[actor] = pose.tobytes()
        for actor, lamps in zip(state.actors.tolist(), state.lamps.tolist(), strict=True):
            if self._lamps.get(actor, 0) != lamps:
                player = self._players[actor][0]
                flags = carla.VehicleLightState(lamps)
                moves.append(carla.command.SetVehicleLightState(player, flags))
                self._lamps[actor] = lamps
        self._client.apply_batch_sync(moves)
        self._show_surroundings(state)

    def _show_surroundings(self, state: WorldState) -> None:
        signals = state.signals.tolist()
        if len(signals) != len(self._lights):
            raise AttemptError(
                "world_load", f"{len(signals)} recorded traffic lights, {len(self._lights)} here"
            )
        if signals != self._signals:
            for light, number in zip(self._lights, signals, strict=True):
                light.set_state(carla.TrafficLightState.values[number])
            self._signals = signals
        if dict(state.weather) != self._weather:
            weather = carla.WeatherParameters()
            for name, number in state.weather.items():
                setattr(weather, name, number)
            self._world.set_weather(weather)
            self._weather = dict(state.weather)
        hidden = set(state.hidden.tolist())
        if hidden != self._hidden:
            self._world.enable_environment_objects(self._hidden - hidden, True)
            self._world.enable_environment_objects(hidden - self._hidden, False)
            self._hidden = hidden

    def _spawn_player(self, actor: int, name: str) -> None:
        """Spawn who stands for a recorded actor, with an id of its remainder."""
        while (self._next - actor) % ID_PERIOD:
            self._client.apply_batch_sync([carla.command.DestroyActor(self._spawn_filler())])
        blueprint = self._library.find(name)
        if name.startswith("walker."):
            spawn = carla.command.SpawnActor(blueprint, carla.Transform(), self._anchor)
        else:
            future = carla.command.FutureActor
            aloft = carla.Transform(carla.Location(0.0, 0.0, ALOFT))
            away = carla.Transform(carla.Location(0.0, 0.0, -ALOFT))
            spawn = carla.command.SpawnActor(blueprint, aloft)
            if name.startswith("vehicle."):
                spawn = spawn.then(carla.command.SetSimulatePhysics(future, False))
            spawn = spawn.then(carla.command.ApplyTransform(future, away))
        (answer,) = self._client.apply_batch_sync([spawn])
        if answer.error or (answer.actor_id - actor) % ID_PERIOD:
            why = answer.error or f"it has the id {answer.actor_id}"
            raise AttemptError("world_load", f"{name} cannot stand for actor {actor}: {why}")
        self._next = int(answer.actor_id) + 1
        self._players[actor] = int(answer.actor_id), name

    def _spawn_filler(self) -> int:
        """Spawn an actor without a body, and return its id."""
        blueprint = self._library.find(FILLER)
        (answer,) = self._client.apply_batch_sync(
            [carla.command.SpawnActor(blueprint, carla.Transform())]
        )
        if answer.error:
            raise AttemptError("world_load", answer.error)
        self._next = int(answer.actor_id) + 1
        return int(answer.actor_id)

    def _place_film(self, number: int, kind: str, mount: CameraMount, pose: Singles) -> _Film:
        """Return a camera at a pose; it is put up when it is first needed."""
        key = (kind, number, mount.width, mount.height, mount.fov)
        if key not in self._films:
            blueprint = self._library.find(kind)
            settings = {"image_size_x": mount.width, "image_size_y": mount.height}
            for name, value in {**settings, "fov": mount.fov}.items():
                blueprint.set_attribute(name, str(value))
            sensor = self._world.spawn_actor(blueprint, make_transform(pose))
            self._next = int(sensor.id) + 1
            self._films[key] = _Film(sensor, SimpleQueue())
        film = self._films[key]
        film.sensor.set_transform(make_transform(pose))
        return film

    def _check_poses(self, state: WorldState) -> None:
        snapshot = self._world.get_snapshot()
        players = [self._players[actor][0] for actor in state.actors.tolist()]
        there = read_poses(snapshot, players)
        wrong = (there != state.poses).any(axis=1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise AttemptError(
                "world_load",
                f"{state.blueprints[row]} {state.actors[row]} stands at {there[row].tolist()},"
                f" not at {state.poses[row].tolist()}",
            )


def decode_pixels(image: carla.Image) -> NDArray[np.uint8]:
    """Return (rows, columns, 3) red, green, blue."""
    rows = np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4)
    return np.ascontiguousarray(rows[:, :, 2::-1])


@contextmanager
def open_stage(host: str, port: int, town: str) -> Iterator[WorldStage]:
    """Return a stage in a fresh world of a town.

    Args:
        host: of the server.
        port: of the server.
        town: its name.
    """
    # without a Traffic Manager: nothing moves, and a process cannot end one
    probe_carla(host, port)
    with convert_client_errors(host, port):
        client = carla.Client(host, port)
        client.set_timeout(RPC_TIMEOUT)
        world = load_fresh_world(client, town)
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STAGE_TICK
        world.apply_settings(settings)
        stage = WorldStage(client, world)
        try:
            yield stage
        finally:
            with suppress(AttemptError, RuntimeError):
                probe_carla(host, port)
                stage.put_cameras_away()
                settings.synchronous_mode, settings.fixed_delta_seconds = False, None
                world.apply_settings(settings)

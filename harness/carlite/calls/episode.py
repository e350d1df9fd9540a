"""Calls about the episode as a whole: connecting, maps, files, the clock, the weather."""

from __future__ import annotations

from harness.carlite import CARLA_VERSION
from harness.carlite.calls.family import Family
from harness.carlite.errors import CallError
from harness.carlite.rpc import Session
from harness.carlite.streams import first_id
from harness.carlite.wire import codec
from harness.carlite.wire.codec import Rotation
from harness.carlite.wire.records import (
    EpisodeSettings,
    MapInfo,
    OpendriveParameters,
    Transform,
    WeatherParameters,
)
from harness.carlite.world import WORLD_STREAM, World

calls = Family()
SHORTEST_STEP = 1e-4
LONGEST_STEP = 10.0


@calls.value
def version(world: World, session: Session) -> str:
    """Return the version whose protocol this is."""
    return CARLA_VERSION


@calls.value
def get_episode_info(world: World, session: Session) -> object:
    """Return the episode's number and where its snapshots are to be had, by an id of their own."""
    session.snapshots = session.streams.further_id(WORLD_STREAM)
    return [world.episode.number, [session.token(session.snapshots)]]


@calls.value
def get_sensor_token(world: World, session: Session, stream_id: object) -> object:
    """Return where a stream is to be had; the client is about to dial it."""
    number = codec.integer(stream_id, "stream id")
    if first_id(number) == WORLD_STREAM or world.episode.observation.has_stream(number):
        session.expect(number)
    return [session.token(number & 0xFFFFFFFF)]


@calls.value
def get_map_info(world: World, session: Session) -> object:
    """Return the map's name and its spawn points."""
    points = tuple(
        Transform((x, y, z), Rotation((pitch, yaw, roll)))
        for x, y, z, pitch, yaw, roll in world.town.spawn_points.tolist()
    )
    return codec.write(MapInfo(f"Carla/Maps/{world.town.name}", points))


@calls.value
def get_map_data(world: World, session: Session) -> str:
    """Return the town's OpenDRIVE text."""
    return world.town.opendrive


@calls.value
def get_available_maps(world: World, session: Session) -> list[str]:
    """Return the towns that can be loaded."""
    return [f"/Game/Carla/Maps/{name}" for name in world.available_towns()]


@calls.value
def get_navigation_mesh(world: World, session: Session) -> bytes:
    """Return the walkers' navigation mesh."""
    return world.navigation.mesh


@calls.value
def get_required_files(world: World, session: Session, folder: object) -> list[str]:
    """Return the files of one folder a client should fetch: only walkers need one."""
    wanted = codec.text(folder, "folder")
    return world.navigation.files if wanted == "Nav" else []


@calls.value
def request_file(world: World, session: Session, path: object) -> bytes:
    """Return a file that `get_required_files` named."""
    wanted = codec.text(path, "path")
    if wanted not in world.navigation.files:
        raise CallError(f"request_file: file not found: '{wanted}'")
    return world.navigation.mesh


@calls.void
def load_new_episode(
    world: World, session: Session, name: object, reset_settings: object, layers: object
) -> None:
    """Start a new episode in a town; map layers do not exist here.

    The client that asks drops its snapshots and opens them again once it has the reply; in between
    it must not hear of the new episode.
    """
    world.load(codec.text(name, "map name"), codec.flag(reset_settings, "reset settings"))
    session.streams.hold(session.snapshots)


@calls.void
def copy_opendrive_to_file(
    world: World, session: Session, opendrive: object, parameters: object
) -> None:
    """Keep an OpenDRIVE text to load as the next town."""
    codec.read(OpendriveParameters, parameters)
    world.upload(codec.text(opendrive, "OpenDRIVE"))


@calls.value
def get_episode_settings(world: World, session: Session) -> object:
    """Return how time runs."""
    return codec.write(world.settings)


@calls.value
def set_episode_settings(world: World, session: Session, settings: object) -> int:
    """Change how time runs."""
    wanted = codec.read(EpisodeSettings, settings)
    step = wanted.fixed_delta_seconds
    if step and not SHORTEST_STEP <= step <= LONGEST_STEP:
        raise CallError(
            f"fixed_delta_seconds must be between {SHORTEST_STEP:g} and {LONGEST_STEP:g} s"
        )
    return world.configure(wanted)


@calls.value
def tick_cue(world: World, session: Session) -> int:
    """Move the world by one step."""
    return world.tick()


@calls.value
def get_weather_parameters(world: World, session: Session) -> object:
    """Return the weather."""
    return codec.write(world.weather)


@calls.void
def set_weather_parameters(world: World, session: Session, weather: object) -> None:
    """Change the weather."""
    world.weather = codec.read(WeatherParameters, weather)


@calls.value
def get_imui_gravity(world: World, session: Session) -> float:
    """Return the gravity inertial sensors measure."""
    return world.gravity


@calls.void
def set_imui_gravity(world: World, session: Session, gravity: object) -> None:
    """Change the gravity inertial sensors measure."""
    world.gravity = codec.number(gravity, "gravity")

"""Calls about the episode as a whole: connecting, maps, files, the clock, the weather."""

from __future__ import annotations

from harness.carlite import CARLA_VERSION
from harness.carlite.calls.family import CallFamily
from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession
from harness.carlite.streams import resolve_stream_id
from harness.carlite.wire import codec
from harness.carlite.wire.codec import Rotation
from harness.carlite.wire.records import (
    EpisodeSettings,
    MapInfo,
    OpendriveParameters,
    Transform,
    WeatherParameters,
)
from harness.carlite.world import WORLD_STREAM, ServerWorld

calls = CallFamily()
SHORTEST_STEP = 1e-4
LONGEST_STEP = 10.0


@calls.register_value
def version(world: ServerWorld, session: ClientSession) -> str:
    """Return the version whose protocol this is."""
    return CARLA_VERSION


@calls.register_value
def get_episode_info(world: ServerWorld, session: ClientSession) -> object:
    """Return the episode's number and where its snapshots are to be had, by an id of their own."""
    session.snapshots = session.streams.make_further_id(WORLD_STREAM)
    return [world.episode.number, [session.make_token(session.snapshots)]]


@calls.register_value
def get_sensor_token(world: ServerWorld, session: ClientSession, stream_id: object) -> object:
    """Return where a stream is to be had; the client is about to dial it."""
    number = codec.decode_integer(stream_id, "stream id")
    if resolve_stream_id(number) == WORLD_STREAM or world.episode.observation.has_stream(number):
        session.expect_reader(number)
    return [session.make_token(number & 0xFFFFFFFF)]


@calls.register_value
def get_map_info(world: ServerWorld, session: ClientSession) -> object:
    """Return the map's name and its spawn points."""
    points = tuple(
        Transform((x, y, z), Rotation((pitch, yaw, roll)))
        for x, y, z, pitch, yaw, roll in world.town.spawn_points.tolist()
    )
    return codec.encode_record(MapInfo(f"Carla/Maps/{world.town.name}", points))


@calls.register_value
def get_map_data(world: ServerWorld, session: ClientSession) -> str:
    """Return the town's OpenDRIVE text."""
    return world.town.opendrive


@calls.register_value
def get_available_maps(world: ServerWorld, session: ClientSession) -> list[str]:
    """Return the towns that can be loaded."""
    return [f"/Game/Carla/Maps/{name}" for name in world.list_towns()]


@calls.register_value
def get_navigation_mesh(world: ServerWorld, session: ClientSession) -> bytes:
    """Return the walkers' navigation mesh."""
    return world.navigation.mesh


@calls.register_value
def get_required_files(world: ServerWorld, session: ClientSession, folder: object) -> list[str]:
    """Return the files of one folder a client should fetch: only walkers need one."""
    wanted = codec.decode_text(folder, "folder")
    return world.navigation.files if wanted == "Nav" else []


@calls.register_value
def request_file(world: ServerWorld, session: ClientSession, path: object) -> bytes:
    """Return a file that `get_required_files` named."""
    wanted = codec.decode_text(path, "path")
    if wanted not in world.navigation.files:
        raise CallError(f"request_file: file not found: '{wanted}'")
    return world.navigation.mesh


@calls.register_void
def load_new_episode(
    world: ServerWorld, session: ClientSession, name: object, reset_settings: object, layers: object
) -> None:
    """Start a new episode in a town; map layers do not exist here.

    The client that asks drops its snapshots and opens them again once it has the reply; in between
    it must not hear of the new episode.
    """
    world.load_town(
        codec.decode_text(name, "map name"), codec.decode_flag(reset_settings, "reset settings")
    )
    session.streams.hold_readers(session.snapshots)


@calls.register_void
def copy_opendrive_to_file(
    world: ServerWorld, session: ClientSession, opendrive: object, parameters: object
) -> None:
    """Keep an OpenDRIVE text to load as the next town."""
    codec.decode_record(OpendriveParameters, parameters)
    world.upload_opendrive(codec.decode_text(opendrive, "OpenDRIVE"))


@calls.register_value
def get_episode_settings(world: ServerWorld, session: ClientSession) -> object:
    """Return how time runs."""
    return codec.encode_record(world.settings)


@calls.register_value
def set_episode_settings(world: ServerWorld, session: ClientSession, settings: object) -> int:
    """Change how time runs."""
    wanted = codec.decode_record(EpisodeSettings, settings)
    step = wanted.fixed_delta_seconds
    if step and not SHORTEST_STEP <= step <= LONGEST_STEP:
        raise CallError(
            f"fixed_delta_seconds must be between {SHORTEST_STEP:g} and {LONGEST_STEP:g} s"
        )
    return world.apply_episode_settings(wanted)


@calls.register_value
def tick_cue(world: ServerWorld, session: ClientSession) -> int:
    """Move the world by one step."""
    return world.tick()


@calls.register_value
def get_weather_parameters(world: ServerWorld, session: ClientSession) -> object:
    """Return the weather."""
    return codec.encode_record(world.weather)


@calls.register_void
def set_weather_parameters(world: ServerWorld, session: ClientSession, weather: object) -> None:
    """Change the weather."""
    world.weather = codec.decode_record(WeatherParameters, weather)


@calls.register_value
def get_imui_gravity(world: ServerWorld, session: ClientSession) -> float:
    """Return the gravity inertial sensors measure."""
    return world.gravity


@calls.register_void
def set_imui_gravity(world: ServerWorld, session: ClientSession, gravity: object) -> None:
    """Change the gravity inertial sensors measure."""
    world.gravity = codec.decode_number(gravity, "gravity")

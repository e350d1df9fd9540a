"""Calls of CARLA's recorder and replayer."""

from __future__ import annotations

import math

from harness.carlite.calls.family import CallFamily
from harness.carlite.calls.motion import read_pose
from harness.carlite.errors import CallError
from harness.carlite.recording import queries
from harness.carlite.recording.desk import find_drive
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

calls = CallFamily()
FASTEST = 1000.0


@calls.register_value
def start_recorder(
    world: ServerWorld, session: ClientSession, name: object, additional: object
) -> str:
    """Record from now on, and return the file."""
    wanted = codec.decode_text(name, "file name")
    path = world.recording.start_recorder(
        wanted, world.town.name, additional=codec.decode_flag(additional, "additional data")
    )
    return str(path)


@calls.register_void
def stop_recorder(world: ServerWorld, session: ClientSession) -> None:
    """Record no longer."""
    world.recording.stop_recorder()


@calls.register_value
def show_recorder_file_info(
    world: ServerWorld, session: ClientSession, name: object, show_all: object
) -> str:
    """Describe a log."""
    path = world.recording.locate(codec.decode_text(name, "file name"))
    return queries.describe_file(path, show_all=codec.decode_flag(show_all, "show all"))


@calls.register_value
def show_recorder_collisions(  # noqa: PLR0917 - as they are sent
    world: ServerWorld, session: ClientSession, name: object, first: object, second: object
) -> str:
    """List a log's collisions between two kinds of parties."""
    path = world.recording.locate(codec.decode_text(name, "file name"))
    return queries.describe_collisions(path, _read_category(first), _read_category(second))


@calls.register_value
def show_recorder_actors_blocked(  # noqa: PLR0917 - as they are sent
    world: ServerWorld, session: ClientSession, name: object, time: object, distance: object
) -> str:
    """List who stood still in a log."""
    path = world.recording.locate(codec.decode_text(name, "file name"))
    seconds = codec.decode_number(time, "time")
    return queries.describe_blocked(path, seconds, codec.decode_number(distance, "distance"))


@calls.register_value
def replay_file(  # noqa: PLR0917 - as they are sent
    world: ServerWorld,
    session: ClientSession,
    name: object,
    start: object,
    duration: object,
    follow: object,
    sensors: object,
    offset: object,
) -> str:
    """Play a log again, in its own town; sensors of a log are not played."""
    view = read_pose(offset)
    path = world.recording.locate(codec.decode_text(name, "file name"))
    span = codec.decode_number(start, "start"), codec.decode_number(duration, "duration")
    if not all(map(math.isfinite, span)):
        raise CallError("replay_file: start and duration must be numbers")
    followed = codec.decode_integer(follow, "follow id")
    codec.decode_flag(sensors, "replay sensors")
    world.recording.stop()
    words = f"Replaying File: {path}\n"
    drive = find_drive(path)
    if isinstance(drive, str):
        return words + drive
    town = drive.town.rsplit("/", 1)[-1]
    if town != world.town.name:
        try:
            world.load_town(town, False)
        except CallError:
            return f"{words}Could not load mapfile {drive.town}\n"
        session.streams.hold_readers(session.snapshots)
        words += f"Loading map {drive.town}\nReplayer will start after map is loaded...\n"
    world.episode.touched = True
    return words + world.recording.start_replayer(drive, world.episode, span, (followed, view))


@calls.register_void
def stop_replayer(world: ServerWorld, session: ClientSession, keep_actors: object) -> None:
    """Play no longer."""
    world.recording.stop_replayer(keep_actors=codec.decode_flag(keep_actors, "keep actors"))


@calls.register_void
def set_replayer_time_factor(world: ServerWorld, session: ClientSession, factor: object) -> None:
    """Play faster or slower."""
    wanted = codec.decode_number(factor, "time factor")
    if not 0.0 <= wanted <= FASTEST:
        raise CallError(f"the time factor must be between 0 and {FASTEST:g}")
    world.recording.options.time_factor = wanted


@calls.register_void
def set_replayer_ignore_hero(world: ServerWorld, session: ClientSession, ignore: object) -> None:
    """Leave vehicles with the role `hero` alone."""
    world.recording.options.ignore_hero = codec.decode_flag(ignore, "ignore hero")


@calls.register_void
def set_replayer_ignore_spectator(
    world: ServerWorld, session: ClientSession, ignore: object
) -> None:
    """Leave the spectator alone."""
    world.recording.options.ignore_spectator = codec.decode_flag(ignore, "ignore spectator")


def _read_category(value: object) -> str:
    """Return a letter; the client sends it as a number, as C++ does with characters."""
    letter = chr(value & 0x7F) if isinstance(value, int) else codec.decode_text(value, "category")
    if letter not in ("o", "v", "w", "t", "h", "a"):
        raise CallError("a category is one of o, v, w, t, h and a")
    return letter

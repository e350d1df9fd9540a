"""Many commands in one call, each answered for itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from harness.carlite.calls import actors, crowd, motion, physics, signals, vehicles, walkers
from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession, RemoteCall, ReplyKind
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

Command: TypeAlias = Callable[..., object]
MOST_NESTED = 4


def _apply_transform(
    world: ServerWorld, session: ClientSession, actor: object, transform: object
) -> None:
    motion.place_actor(world, actor, motion.read_pose(transform))


def _apply_walker_state(
    world: ServerWorld, session: ClientSession, actor: object, transform: object, speed: object
) -> None:
    walkers.place_walker(
        world, actor, motion.read_pose(transform), codec.decode_number(speed, "speed")
    )


def _set_light_state(
    world: ServerWorld, session: ClientSession, actor: object, flags: object
) -> None:
    vehicles.set_vehicle_lamps(world, actor, flags)


def _show_telemetry(
    world: ServerWorld, session: ClientSession, actor: object, enabled: object
) -> None:
    motion.find_actor_slot(world, actor)


def _refuse_console_command(world: ServerWorld, session: ClientSession, command: object) -> None:
    raise CallError("ConsoleCommand: there is no console here")


SPAWN = 0
COMMANDS: dict[int, Command] = {
    1: actors.destroy_actor,
    2: vehicles.apply_control_to_vehicle,
    3: vehicles.apply_ackermann_control_to_vehicle,
    4: walkers.apply_control_to_walker,
    5: physics.apply_physics_control,
    6: _apply_transform,
    crowd.WALKER_STATE: _apply_walker_state,
    8: motion.set_actor_target_velocity,
    9: motion.set_actor_target_angular_velocity,
    10: motion.add_actor_impulse,
    11: motion.add_actor_force,
    12: motion.add_actor_angular_impulse,
    13: motion.add_actor_torque,
    14: motion.set_actor_simulate_physics,
    15: motion.set_actor_enable_gravity,
    16: vehicles.set_actor_autopilot,
    17: _show_telemetry,
    18: _set_light_state,
    19: motion.set_actor_location,
    20: _refuse_console_command,
    21: signals.set_traffic_light_state,
}
"""Commands by their number; those that name an actor name it first."""


def _unpack_command(command: object) -> tuple[int, list[object]]:
    """Unwrap `[[number, fields]]`."""
    (inner,) = codec.decode_items(command, "command", 1)
    number, fields = codec.decode_items(inner, "command", 2)
    return codec.decode_integer(number, "command"), list(codec.decode_items(fields, "command"))


def _run_spawn_command(
    world: ServerWorld, session: ClientSession, fields: list[object], depth: int
) -> int:
    """Spawn an actor, then run what is to be done with it, which names it by the id 0.

    As in CARLA, what cannot be done with it is not reported: the actor is there.
    """
    if len(fields) != 6:
        raise CallError(f"SpawnActor: expected 6 fields, got {len(fields)}")
    description, transform, parent, attachment, socket, after = fields
    commands = codec.decode_items(after, "do_after")
    # on the wire the parent may be missing
    match parent:
        case [False] | False:
            spawned = actors.spawn_actor(world, session, description, transform)
        case [True, parent_id]:
            spawned = actors.spawn_actor_with_parent(
                world, session, description, transform, parent_id, attachment, socket
            )
        case _:
            raise CallError("SpawnActor: expected an optional parent")
    actor_id = codec.decode_integer(codec.decode_items(spawned, "actor")[0], "actor")
    # what follows the spawn
    for command in commands:
        with suppress(CallError):
            _run_after_spawn(world, session, command, spawned=actor_id, depth=depth + 1)
    return actor_id


def _run_after_spawn(
    world: ServerWorld, session: ClientSession, command: object, *, spawned: int, depth: int
) -> None:
    """Run a command on an actor that was just spawned."""
    number, fields = _unpack_command(command)
    if fields and fields[0] == 0 and number != SPAWN:
        fields[0] = spawned
    if number == SPAWN and len(fields) == 6 and fields[2] == [True, 0]:
        fields[2] = [True, spawned]
    _run_batch_command(world, session, number, fields, depth=depth)


def _run_batch_command(
    world: ServerWorld, session: ClientSession, number: int, fields: list[object], *, depth: int
) -> int:
    """Run one command and return the actor it was about."""
    if depth > MOST_NESTED:
        raise CallError("apply_batch: commands nested too deeply")
    if number == SPAWN:
        return _run_spawn_command(world, session, fields, depth)
    command = COMMANDS.get(number)
    if command is None:
        raise CallError(f"apply_batch: unknown command {number}")
    try:
        command(world, session, *fields)
    except TypeError:
        raise CallError(f"apply_batch: command {number} with {len(fields)} fields") from None
    return codec.decode_integer(fields[0], "actor")


def _answer_command(world: ServerWorld, session: ClientSession, command: object) -> object:
    try:
        return [[1, _run_batch_command(world, session, *_unpack_command(command), depth=0)]]
    except CallError as problem:
        return [[0, [str(problem)]]]


def apply_batch(
    world: ServerWorld, session: ClientSession, commands: object, then_tick: object
) -> object:
    """Run commands one after the other, then tick if asked to."""
    tick = codec.decode_flag(then_tick, "do tick")
    given = codec.decode_items(commands, "commands")
    answers = crowd.lead_crowd(world, given)
    if answers is None:
        answers = [_answer_command(world, session, command) for command in given]
    if tick:
        world.tick()
    return answers


CALL = RemoteCall("apply_batch", apply_batch, ReplyKind.PLAIN, ticks=True)

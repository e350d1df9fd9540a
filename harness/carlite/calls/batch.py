"""Many commands in one call, each answered for itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from harness.carlite.calls import actors, crowd, motion, physics, signals, vehicles, walkers
from harness.carlite.errors import CallError
from harness.carlite.rpc import Call, Reply, Session
from harness.carlite.wire import codec
from harness.carlite.world import World

Command: TypeAlias = Callable[..., object]
MOST_NESTED = 4


def _apply_transform(world: World, session: Session, actor: object, transform: object) -> None:
    motion.place(world, actor, motion.pose(transform))


def _apply_walker_state(
    world: World, session: Session, actor: object, transform: object, speed: object
) -> None:
    walkers.put(world, actor, motion.pose(transform), codec.number(speed, "speed"))


def _set_light_state(world: World, session: Session, actor: object, flags: object) -> None:
    vehicles.light_up(world, actor, flags)


def _show_telemetry(world: World, session: Session, actor: object, enabled: object) -> None:
    motion.slot_of(world, actor)


def _console(world: World, session: Session, command: object) -> None:
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
    20: _console,
    21: signals.set_traffic_light_state,
}
"""Commands by their number; those that name an actor name it first."""


def _command(command: object) -> tuple[int, list[object]]:
    """Unwrap `[[number, fields]]`."""
    (inner,) = codec.items(command, "command", 1)
    number, fields = codec.items(inner, "command", 2)
    return codec.integer(number, "command"), list(codec.items(fields, "command"))


def _spawn(world: World, session: Session, fields: list[object], depth: int) -> int:
    """Spawn an actor, then run what is to be done with it, which names it by the id 0.

    As in CARLA, what cannot be done with it is not reported: the actor is there.
    """
    if len(fields) != 6:
        raise CallError(f"SpawnActor: expected 6 fields, got {len(fields)}")
    description, transform, parent, attachment, socket, after = fields
    commands = codec.items(after, "do_after")
    match parent:
        case [False] | False:
            spawned = actors.spawn_actor(world, session, description, transform)
        case [True, parent_id]:
            spawned = actors.spawn_actor_with_parent(
                world, session, description, transform, parent_id, attachment, socket
            )
        case _:
            raise CallError("SpawnActor: expected an optional parent")
    actor_id = codec.integer(codec.items(spawned, "actor")[0], "actor")
    for command in commands:
        with suppress(CallError):
            _run_with(world, session, command, spawned=actor_id, depth=depth + 1)
    return actor_id


def _run_with(world: World, session: Session, command: object, *, spawned: int, depth: int) -> None:
    """Run a command on an actor that was just spawned."""
    number, fields = _command(command)
    if fields and fields[0] == 0 and number != SPAWN:
        fields[0] = spawned
    if number == SPAWN and len(fields) == 6 and fields[2] == [True, 0]:
        fields[2] = [True, spawned]
    _run(world, session, number, fields, depth=depth)


def _run(world: World, session: Session, number: int, fields: list[object], *, depth: int) -> int:
    """Run one command and return the actor it was about."""
    if depth > MOST_NESTED:
        raise CallError("apply_batch: commands nested too deeply")
    if number == SPAWN:
        return _spawn(world, session, fields, depth)
    command = COMMANDS.get(number)
    if command is None:
        raise CallError(f"apply_batch: unknown command {number}")
    try:
        command(world, session, *fields)
    except TypeError:
        raise CallError(f"apply_batch: command {number} with {len(fields)} fields") from None
    return codec.integer(fields[0], "actor")


def _answer(world: World, session: Session, command: object) -> object:
    try:
        return [[1, _run(world, session, *_command(command), depth=0)]]
    except CallError as problem:
        return [[0, [str(problem)]]]


def apply_batch(world: World, session: Session, commands: object, then_tick: object) -> object:
    """Run commands one after the other, then tick if asked to."""
    tick = codec.flag(then_tick, "do tick")
    given = codec.items(commands, "commands")
    answers = crowd.lead(world, given)
    if answers is None:
        answers = [_answer(world, session, command) for command in given]
    if tick:
        world.tick()
    return answers


CALL = Call("apply_batch", apply_batch, Reply.PLAIN, ticks=True)

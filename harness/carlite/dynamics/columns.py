"""Columns of the actor table as kernels take them: one named tuple in place of twenty arguments."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple, TypeVar

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Int32s, Ints


class VehicleColumns(NamedTuple):
    """What moving vehicles reads and writes; see `ActorTable` for each column."""

    physics: Int32s
    simulated: Bools
    gravity: Bools
    position: Floats
    rotation: Floats
    velocity: Floats
    acceleration: Floats
    angular_velocity: Floats
    throttle: Floats
    steer: Floats
    brake: Floats
    hand_brake: Bools
    reverse: Bools
    manual_gear: Bools
    gear: Int32s
    wheel_angle: Floats
    slip: Floats
    yaw_rate: Floats
    engine_speed: Floats
    shift: Floats
    drivetrain: Floats
    held_velocity: Floats
    force: Floats
    torque: Floats


class WalkerColumns(NamedTuple):
    """What moving walkers reads and writes; see `ActorTable` for each column."""

    simulated: Bools
    gravity: Bools
    position: Floats
    rotation: Floats
    velocity: Floats
    acceleration: Floats
    angular_velocity: Floats
    yaw_rate: Floats
    box_centre: Floats
    extent: Floats
    mass: Floats
    walk_direction: Floats
    walk_speed: Floats
    jump: Bools
    held_velocity: Floats
    force: Floats
    torque: Floats


class BodyColumns(NamedTuple):
    """What collisions read and write of vehicles, walkers and props; see `ActorTable`."""

    kind: Bytes
    parent: Ints
    solid: Bools
    simulated: Bools
    position: Floats
    rotation: Floats
    velocity: Floats
    acceleration: Floats
    angular_velocity: Floats
    yaw_rate: Floats
    box_centre: Floats
    extent: Floats
    mirrors: Floats
    mass: Floats
    mass_centre: Floats


KernelColumns = TypeVar("KernelColumns", VehicleColumns, WalkerColumns, BodyColumns)
COLUMN_GETTERS = {
    choice: attrgetter(*choice._fields) for choice in (VehicleColumns, WalkerColumns, BodyColumns)
}


def take_columns(table: ActorTable, choice: type[KernelColumns]) -> KernelColumns:
    """Return some columns of the table; they are good until an actor comes or goes."""
    return choice._make(COLUMN_GETTERS[choice](table))

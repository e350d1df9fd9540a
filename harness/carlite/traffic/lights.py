"""Traffic lights: the cycle of a group, what clients may change, which vehicles a light holds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from math import cos, sin

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Ints
from harness.carlite.compiled import allocating, compiled
from harness.carlite.towns.model import TownSignal

GREEN_TIME, YELLOW_TIME, RED_TIME = 10.0, 3.0, 2.0
HOLD_DISTANCE = 6.0
"""A light holds vehicles whose front is this near to its stop line."""


class TrafficLightState(IntEnum):
    """Light states as CARLA numbers them."""

    RED = 0
    YELLOW = 1
    GREEN = 2
    OFF = 3
    UNKNOWN = 4


class TrafficLights:
    """All lights of a town, one array element per light in the order of the town's signals.

    Lights of one group and phase are green together; the phases of a group take turns: green,
    yellow, then everything red for the red time of the phase that ends.

    Attributes:
        signal: index into the town's signals. actor_id, sign_id: the actor, the OpenDRIVE signal.
        state, elapsed: present `TrafficLightState` and the seconds since it began.
        green, yellow, red: seconds; red is the all-red time after the light's own phase.
        pole_index: rank of the light within its group. frozen: whether the cycle stands still.
    """

    def __init__(self, signals: Sequence[TownSignal], actor_ids: Sequence[int]) -> None:
        """Start every group at its first phase; `actor_ids` runs parallel to `signals`."""
        lights = [
            k for k, signal in enumerate(signals) if signal.type_id == "traffic.traffic_light"
        ]
        # columns of the lights, (lights,)
        count = len(lights)
        self.signal: Ints = np.array(lights, np.int64)
        self.actor_id: Ints = np.array([actor_ids[k] for k in lights], np.int64)
        self.sign_id = tuple(signals[k].id for k in lights)
        self.state: Bytes = np.full(count, TrafficLightState.RED, np.uint8)
        self.elapsed: Floats = np.zeros(count)
        self.green: Floats = np.full(count, GREEN_TIME)
        self.yellow: Floats = np.full(count, YELLOW_TIME)
        self.red: Floats = np.full(count, RED_TIME)
        self.pole_index: Ints = np.zeros(count, np.int64)
        self.frozen: Bools = np.zeros(count, np.bool_)
        self._index = {int(actor): k for k, actor in enumerate(self.actor_id)}
        # columns of the groups, (groups,): whose turn it is, and how long
        self._group, self._phase, self._phases = _number_phases([signals[k] for k in lights])
        self._turn: Ints = np.zeros(len(self._phases), np.int64)
        self._stage: Ints = np.zeros(len(self._phases), np.int64)
        self._clock: Floats = np.zeros(len(self._phases))
        self._lasts: Floats = np.zeros(len(self._phases))
        # poles are numbered within their group
        for group in range(len(self._phases)):
            members = self._group == group
            self.pole_index[members] = np.arange(members.sum())
            self._restart_group(group)
        self._lines, self._line_light = _list_stop_lines([signals[k] for k in lights])

    def __len__(self) -> int:
        return len(self.state)

    def step(self, dt: float) -> None:
        """Advance every group that is not frozen by `dt` seconds."""
        due = _advance_clocks(self.elapsed, self.frozen, self._group, self._clock, self._lasts, dt)
        for group in due.tolist():
            while self._clock[group] >= self._lasts[group] - 1e-9:
                self._clock[group] -= self._lasts[group]
                self._advance_stage(group)

    def note_held_vehicles(self, table: ActorTable, slots: Ints) -> None:
        """Note in the table which light, if any, holds each of the vehicles in `slots`."""
        _find_holding_lights(
            slots,
            table.position,
            table.rotation,
            table.extent,
            self._lines,
            self._line_light,
            self.state,
            self.actor_id,
            table.light_state,
            table.has_light,
            table.light_id,
        )

    def find_light_index(self, actor_id: int) -> int:
        """Return the element of a light; KeyError when the actor is none."""
        return self._index[actor_id]

    def set_state(self, actor_id: int, state: int) -> None:
        """Show `state` until the cycle, unless frozen, next changes this light."""
        light = self.find_light_index(actor_id)
        self.state[light], self.elapsed[light] = TrafficLightState(state), 0.0

    def set_times(
        self,
        actor_id: int,
        green: float | None = None,
        yellow: float | None = None,
        red: float | None = None,
    ) -> None:
        """Change the times of a light and of all lights that are green together with it."""
        light = self.find_light_index(actor_id)
        mates = (self._group == self._group[light]) & (self._phase == self._phase[light])
        for column, seconds in ((self.green, green), (self.yellow, yellow), (self.red, red)):
            if seconds is not None:
                column[mates] = max(float(seconds), 0.0)
        self._note_stage_time(int(self._group[light]))

    def freeze_cycles(self, frozen: bool) -> None:
        """Stop or resume all cycles."""
        self.frozen[:] = frozen

    def reset_group(self, actor_id: int) -> None:
        """Restart the cycle of the light's group."""
        self._restart_group(int(self._group[self.find_light_index(actor_id)]))

    def reset_all(self) -> None:
        """Restart all cycles."""
        for group in range(len(self._phases)):
            self._restart_group(group)

    def list_group_lights(self, actor_id: int) -> list[int]:
        """Return the actor ids of all lights that cycle with this one, itself included."""
        return [
            int(a)
            for a in self.actor_id[self._group == self._group[self.find_light_index(actor_id)]]
        ]

    def _find_lights_in_turn(self, group: int) -> Bools:
        phase = self._phases[group][self._turn[group]]
        return np.asarray((self._group == group) & (self._phase == phase))

    def _note_stage_time(self, group: int) -> None:
        """Note how long the group's present stage lasts."""
        times = (self.green, self.yellow, self.red)[self._stage[group]]
        self._lasts[group] = max(float(times[self._find_lights_in_turn(group)][0]), 1e-3)

    def _advance_stage(self, group: int) -> None:
        self._stage[group] = (self._stage[group] + 1) % 3
        if self._stage[group] == 0:
            self._turn[group] = (self._turn[group] + 1) % len(self._phases[group])
        self._show_stage(group)

    def _restart_group(self, group: int) -> None:
        self._turn[group] = self._stage[group] = 0
        self._clock[group] = 0.0
        self.elapsed[self._group == group] = 0.0
        self._show_stage(group)

    def _show_stage(self, group: int) -> None:
        shown = self.state.copy()
        shown[self._group == group] = TrafficLightState.RED
        shown[self._find_lights_in_turn(group)] = (
            TrafficLightState.GREEN,
            TrafficLightState.YELLOW,
            TrafficLightState.RED,
        )[self._stage[group]]
        self.elapsed[shown != self.state] = self._clock[group]
        self.state[:] = shown
        self._note_stage_time(group)


def _number_phases(lights: list[TownSignal]) -> tuple[Ints, Ints, list[list[int]]]:
    """Number groups from 0 in order of appearance and list the phases of each in order.

    A light without a group is alone in one of its own.
    """
    names: dict[tuple[str, int], int] = {}
    group = [
        names.setdefault(("alone", k) if light.group < 0 else ("group", light.group), len(names))
        for k, light in enumerate(lights)
    ]
    # phases that occur in each group
    phases: list[list[int]] = [[] for _ in names]
    for number, light in zip(group, lights, strict=True):
        if light.phase not in phases[number]:
            phases[number].append(light.phase)
    return (
        np.array(group, np.int64),
        np.array([light.phase for light in lights], np.int64),
        [sorted(group_phases) for group_phases in phases],
    )


def _list_stop_lines(lights: list[TownSignal]) -> tuple[Floats, Ints]:
    """List all stop lines as rows (x, y, z, cos yaw, sin yaw, half width), with their lights."""
    rows = [
        (*line.position, cos(line.yaw), sin(line.yaw), line.width / 2)
        for light in lights
        for line in light.stop_lines
    ]
    owner = [k for k, light in enumerate(lights) for _ in light.stop_lines]
    return np.array(rows, np.float64).reshape(-1, 6), np.array(owner, np.int64)


@allocating
def _advance_clocks(
    elapsed: Floats, frozen: Bools, group: Ints, clock: Floats, lasts: Floats, dt: float
) -> Ints:
    """Let time pass for all lights, and groups, that are not frozen; return the groups due."""
    # (groups,) a frozen light stops its group
    runs = np.ones(len(clock), np.bool_)
    for light in range(len(group)):
        if frozen[light]:
            runs[group[light]] = False
        else:
            elapsed[light] += dt
    # groups whose stage is over
    due, count = np.empty(len(clock), np.int64), 0
    for number in range(len(clock)):
        if runs[number]:
            clock[number] += dt
            if clock[number] >= lasts[number] - 1e-9:
                due[count] = number
                count += 1
    return due[:count]


@compiled
def _find_holding_lights(
    slots: Ints,
    position: Floats,
    rotation: Floats,
    extent: Floats,
    lines: Floats,
    line_light: Ints,
    state: Bytes,
    actor_id: Ints,
    light_state: Bytes,
    has_light: Bools,
    light_id: Ints,
) -> None:
    """A vehicle is held from `HOLD_DISTANCE` ahead of the line until its centre has passed it."""
    for slot in slots:
        # held by no light so far
        light_state[slot], has_light[slot], light_id[slot] = 2, False, 0
        reach = extent[slot, 0] + HOLD_DISTANCE
        nearest = reach
        heading_x, heading_y = cos(rotation[slot, 1]), sin(rotation[slot, 1])
        for k in range(len(lines)):
            dx = lines[k, 0] - position[slot, 0]
            dy = lines[k, 1] - position[slot, 1]
            if abs(dx) > reach + 4.0 or abs(dy) > reach + 4.0:
                continue
            # ahead of this line, on its lanes, along its direction, on its storey
            ahead = dx * lines[k, 3] + dy * lines[k, 4]
            aside = -dx * lines[k, 4] + dy * lines[k, 3]
            aligned = heading_x * lines[k, 3] + heading_y * lines[k, 4] > 0.5
            level = abs(lines[k, 2] - position[slot, 2]) < 3.0
            if aligned and level and 0.0 <= ahead < nearest and abs(aside) <= lines[k, 5]:
                # the nearest line counts
                nearest = ahead
                light = line_light[k]
                light_state[slot], has_light[slot] = state[light], True
                light_id[slot] = actor_id[light]

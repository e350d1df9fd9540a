"""Traffic lights: the cycle, what clients change, which vehicles a light holds."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.towns.model import LaneStopLine, TownSignal
from harness.carlite.traffic.lights import TrafficLights, TrafficLightState
from tests.carlite.traffic_runner import load


def light(name: str, group: int, phase: int, *lines: LaneStopLine) -> TownSignal:
    return TownSignal(
        id=name,
        type_id="traffic.traffic_light",
        position=(0.0, 0.0, 3.0),
        yaw=0.0,
        group=group,
        phase=phase,
        stop_lines=lines,
        trigger_centre=(0.0, 0.0, 0.0),
        trigger_extent=(1.0, 1.0, 1.0),
    )


SIGN = TownSignal(
    id="s",
    type_id="traffic.stop",
    position=(0.0, 0.0, 0.0),
    yaw=0.0,
    group=-1,
    phase=0,
    stop_lines=(),
    trigger_centre=(0, 0, 0),
    trigger_extent=(1, 1, 1),
)
LINE = LaneStopLine(lane=0, position=(100.0, 50.0, 0.0), yaw=0.0, width=3.5)


@pytest.fixture
def crossing() -> TrafficLights:
    """Two phases, the first with two lights; a sign in between; a light alone."""
    signals = [light("a", 7, 0, LINE), light("b", 7, 0), SIGN, light("c", 7, 1), light("d", -1, 0)]
    return TrafficLights(signals, [11, 12, 13, 14, 15])


def states(lights: TrafficLights) -> list[TrafficLightState]:
    return [TrafficLightState(state) for state in lights.state]


def test_phases_take_turns_with_all_red_between(crossing: TrafficLights) -> None:
    seen = []
    for _ in range(round(30.0 / 0.05)):
        crossing.step(0.05)
        seen.append(tuple(crossing.state[:3]))
    green, yellow, red = TrafficLightState.GREEN, TrafficLightState.YELLOW, TrafficLightState.RED
    expected = [
        *[(green, green, red)] * 199, *[(yellow, yellow, red)] * 60, *[(red, red, red)] * 40,
        *[(red, red, green)] * 200, *[(red, red, yellow)] * 60, *[(red, red, red)] * 40,
        (green, green, red),
    ]  # fmt: skip
    assert seen == expected


def test_elapsed_counts_from_the_last_change(crossing: TrafficLights) -> None:
    for _ in range(202):
        crossing.step(0.05)
    assert crossing.elapsed == pytest.approx([0.1, 0.1, 10.1, 0.1])


def test_long_and_short_steps_agree(crossing: TrafficLights) -> None:
    other = TrafficLights([light("a", 7, 0), light("c", 7, 1)], [1, 2])
    for _ in range(100):
        crossing.step(1.7)
        for _ in range(17):
            other.step(0.1)
        assert crossing.state[0] == other.state[0]
        assert crossing.state[2] == other.state[1]


def test_frozen_lights_stay_and_obey_clients(crossing: TrafficLights) -> None:
    crossing.freeze_cycles(True)
    crossing.set_state(14, TrafficLightState.YELLOW)
    for _ in range(1000):
        crossing.step(0.05)
    assert states(crossing) == [
        TrafficLightState.GREEN,
        TrafficLightState.GREEN,
        TrafficLightState.YELLOW,
        TrafficLightState.GREEN,
    ]
    assert crossing.elapsed[0] == 0.0
    crossing.freeze_cycles(False)
    crossing.step(10.0)
    assert states(crossing)[:3] == [
        TrafficLightState.YELLOW,
        TrafficLightState.YELLOW,
        TrafficLightState.RED,
    ]


def test_times_hold_for_all_lights_of_the_phase(crossing: TrafficLights) -> None:
    crossing.set_times(11, green=4.0, yellow=1.0, red=0.5)
    crossing.step(4.5)
    assert states(crossing)[:3] == [
        TrafficLightState.YELLOW,
        TrafficLightState.YELLOW,
        TrafficLightState.RED,
    ]
    crossing.step(0.8)
    assert states(crossing)[:3] == [
        TrafficLightState.RED,
        TrafficLightState.RED,
        TrafficLightState.RED,
    ]
    crossing.step(0.3)
    assert states(crossing)[:3] == [
        TrafficLightState.RED,
        TrafficLightState.RED,
        TrafficLightState.GREEN,
    ]
    assert list(crossing.green) == [4.0, 4.0, 10.0, 10.0]


def test_reset_restarts_the_cycle(crossing: TrafficLights) -> None:
    crossing.step(17.0)
    assert states(crossing)[2] == TrafficLightState.GREEN
    crossing.reset_group(12)
    assert states(crossing)[:3] == [
        TrafficLightState.GREEN,
        TrafficLightState.GREEN,
        TrafficLightState.RED,
    ]
    assert list(crossing.elapsed[:3]) == [0.0, 0.0, 0.0]
    assert crossing.list_group_lights(14) == [11, 12, 14]
    assert list(crossing.pole_index) == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("x", "y", "yaw", "held"),
    [
        (94.0, 50.0, 0.0, True),
        (98.5, 51.0, 0.2, True),
        (91.0, 50.0, 0.0, False),
        (100.5, 50.0, 0.0, False),
        (94.0, 52.0, 0.0, False),
        (94.0, 50.0, np.pi, False),
    ],
)
def test_a_light_holds_who_stands_before_its_line(
    crossing: TrafficLights, x: float, y: float, yaw: float, held: bool
) -> None:
    table = ActorTable()
    table.add_actor(1, kind=ActorKind.VEHICLE, position=(x, y, 0.0), rotation=(0.0, yaw, 0.0),
              extent=(2.4, 1.0, 0.7))  # fmt: skip
    crossing.set_state(11, TrafficLightState.RED)
    crossing.note_held_vehicles(table, table.list_slots(ActorKind.VEHICLE))
    assert bool(table.has_light[0]) == held
    assert table.light_state[0] == (TrafficLightState.RED if held else TrafficLightState.GREEN)
    assert table.light_id[0] == (11 if held else 0)


@pytest.mark.thorough
@pytest.mark.parametrize("town", ["Crucible05", "Town05"])
def test_no_two_phases_of_a_town_are_open_at_once(town: str) -> None:
    signals = load(town).signals
    lights = TrafficLights(signals, range(len(signals)))
    mine = [signals[k] for k in lights.signal]
    assert len(mine) > 20
    shown: set[str] = set()
    for _ in range(600):
        lights.step(0.2)
        open_phases: dict[int, set[int]] = {}
        for signal, state in zip(mine, lights.state, strict=True):
            if state != TrafficLightState.RED:
                open_phases.setdefault(signal.group, set()).add(signal.phase)
                shown.add(signal.id)
        assert all(len(phases) == 1 for phases in open_phases.values())
    assert shown == set(lights.sign_id)

"""What a survey of the client's API needs: a small scene, and ways to say what is sane."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import carla

from harness.carlite import calls

TICK = 0.05
PATIENCE = 400


class Stage:
    """A car, one behind it, a walker and some sensors in a fresh synchronous episode."""

    def __init__(self, client: carla.Client, world: carla.World) -> None:
        self.client: Any = client
        self.world: Any = world
        self.map: Any = world.get_map()
        self.library: Any = world.get_blueprint_library()
        level = [p for p in self.map.get_spawn_points() if abs(p.rotation.pitch) < 0.01]
        self.place, self.free = level[0], level[40]
        self.car = self.put("vehicle.tesla.model3", self.place, role_name="hero")
        self.other = self.put("vehicle.audi.tt", level[20])
        self.walker = self.put("walker.pedestrian.0001", level[30])
        self.imu = self.put("sensor.other.imu", carla.Transform(), self.car)
        self.camera = self.put(
            "sensor.camera.rgb", carla.Transform(carla.Location(z=2.0)), self.car,
            image_size_x="32", image_size_y="24",
        )  # fmt: skip
        self.tick(20)
        self.waypoint: Any = self.map.get_waypoint(self.place.location)
        self.light = self.world.get_actors().filter("traffic.traffic_light")[0]

    def put(
        self, name: str, place: carla.Transform, parent: object = None, **attributes: str
    ) -> Any:
        """Spawn something."""
        blueprint = self.library.find(name)
        for key, value in attributes.items():
            blueprint.set_attribute(key, value)
        return self.world.spawn_actor(blueprint, place, attach_to=parent)

    def tick(self, count: int = 1) -> bool:
        for _ in range(count):
            self.world.tick()
        return True

    def after(self, *done: object, ticks: int = 1) -> bool:
        """Let the world move on after what was done in the arguments, which returned nothing."""
        assert set(done) <= {None}
        return self.tick(ticks)

    def heard(self, listen: Callable[[Callable[[Any], None]], object]) -> Any:
        """Return the first thing a callback gets while the world moves on."""
        events: list[Any] = []
        listen(events.append)
        for _ in range(PATIENCE):
            self.tick()
            if events:
                return events[0]
            time.sleep(0.005)
        raise AssertionError("nothing was heard")


Check: TypeAlias = Callable[[Stage], object]


class Refused(NamedTuple):
    """The client waits for the remote call's answer and raises what it says."""

    call: str
    ask: Check


class Unheard(NamedTuple):
    """The server refuses, but the client does not wait to hear it."""

    call: str
    ask: Check


class Idle(NamedTuple):
    """The server accepts the call and has nothing to do for it."""

    call: str
    ask: Check


Entry: TypeAlias = Check | Refused | Unheard | Idle
Table: TypeAlias = dict[str, Entry]


def _complaint(entry: Entry, stage: Stage) -> str | None:
    """Return what is wrong with one member of the API, if anything."""
    match entry:
        case Refused(call, ask):
            try:
                answer = ask(stage)
            except RuntimeError as refusal:
                return None if call in str(refusal) else f"refused as: {refusal}"
            return f"not refused: {answer!r}"
        case Unheard(call, ask) | Idle(call, ask):
            role = "refuse" if isinstance(entry, Unheard) else "_do_nothing"
            if calls.build_call_table()[call].run.__name__ != role:
                return f"{call} does something after all"
            answer = ask(stage)
            return None if answer is None else f"returned {answer!r}"
        case check:
            answer = check(stage)
            return None if answer else f"not sane: {answer!r}"


def survey(table: Table, stage: Stage) -> Iterator[str]:
    """Ask for every member of a table and yield what went wrong."""
    for name, entry in table.items():
        try:
            complaint = _complaint(entry, stage)
        except Exception as problem:
            complaint = f"{type(problem).__name__}: {problem}"
        if complaint:
            yield f"{name}: {complaint}"
        stage.tick()

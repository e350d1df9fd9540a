"""A road user of a scenario set: it follows its places, or stands, whatever the ego does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import carla
import numpy as np

from harness.types.vocabulary import Floats, Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.actors import make_follower
from harness.world.hazards.courses import MoverCourse, make_course
from harness.world.hazards.followers import Manoeuvre
from harness.world.hazards.hazard import Hazard, NoPlaceError
from harness.world.hazards.nominal import CRUISE, SIDEWAYS
from harness.world.hazards.parameters import (
    ChoiceParameter,
    NumberParameter,
    Parameter,
    TextParameter,
)
from harness.world.hazards.track import Track

EGO = "ego"
"""The name of the ego among those whose nearness starts an actor."""
NUMBER = r"-?\d+(?:\.\d+)?"
PLACE = rf"{NUMBER},{NUMBER},{NUMBER}"
PLACES = rf"(?:{PLACE}(?: {PLACE})*)?"
NAME = r"[\w .-]{0,64}"
ROOM = 0.5
"""Metres next to a script's body that are in its way: a pedestrian who waits at the kerb is not."""
SMOOTH = 2.0
"""Metres before and behind a place over which a bend is measured."""


class ScriptedActor(Hazard):
    """A vehicle, a pedestrian or a prop that a scenario set has besides the driven ego.

    Vehicles yield to what stands in their way, the ego too. Lights and signs mean nothing to them.
    """

    safe_from_file = True
    kind = "scripted_actor"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "name": TextParameter(default="", pattern=NAME, meaning="of the actor, in its set"),
        "blueprint": TextParameter(
            default="vehicle.lincoln.mkz_2017", pattern=r"[\w.*]{1,64}", meaning="what it is"
        ),
        "places": TextParameter(
            default="",
            pattern=PLACES,
            meaning="x,y,z of each place, m in the world; one: it stands",
        ),
        "yaw": NumberParameter(
            default=0.0, low=-720.0, high=720.0, unit="°", meaning="where it has one place"
        ),
        "speed": NumberParameter(
            default=CRUISE, low=0.0, high=40.0, unit="m/s", meaning="where no bend slows it"
        ),
        "near": NumberParameter(
            default=0.0,
            low=0.0,
            high=500.0,
            unit="m",
            meaning="nearness that starts it; 0: at once",
        ),
        "at_end": ChoiceParameter(
            default="stays",
            options=("stays", "leaves"),
            meaning="what it does when its course is done: egos of benchmarks leave",
        ),
        "whose": TextParameter(default=EGO, pattern=NAME, meaning="whose nearness starts it"),
    }

    def set_up(self, track: Track) -> None:
        """Put it at its first place."""
        places = put_on_roads(parse_places(self.word("places")), track.map)
        self._manoeuvre: Manoeuvre | None = None
        self._starter: carla.Actor | None = None
        stands = len(places) < 2 or self.number("speed") == 0.0
        course = None if stands else make_scripted_course(places, self.number("speed"))
        x, y, z = map(float, places[0])
        standing = Pose(x, y, z, math.radians(self.number("yaw")))
        start = standing if course is None else course.start
        actor = self.hazard_actors.spawn_actor(
            self.word("blueprint"), start, **self._name_role(self.word("blueprint"))
        )
        if actor is None:
            raise NoPlaceError(f"{self.word('name')}: no room at {start.x:.1f}, {start.y:.1f}")
        if course is None:
            if isinstance(actor, carla.Vehicle):
                actor.apply_control(carla.VehicleControl(brake=1.0, hand_brake=True))
            return
        self._manoeuvre = Manoeuvre(make_follower(actor, course), room=ROOM)
        self._manoeuvre.follower.hold_still()

    def act(self, ego: EgoState) -> None:
        """Start it when its time has come, and lead it along its places."""
        if self.status == "waiting" and self._is_due(ego):
            self.begin(ego)
        if self.status != "running":
            return
        if self._manoeuvre is None:
            self.finish("over", "it stands")
            return
        # without an ego, the ego is one of those to yield to
        others = self.hazard_actors.list_other_places(None)
        self._manoeuvre.follow_tick(self.hazard_actors.context.tick_seconds, others)
        if self._manoeuvre.over:
            self._manoeuvre.follower.come_to_rest()
            self.finish("over", self._manoeuvre.outcome)
            done = not (self._manoeuvre.struck or self._manoeuvre.stuck)
            if done and self.word("at_end") == "leaves":
                self.hazard_actors.destroy_actors()

    def _name_role(self, blueprint: str) -> dict[str, str]:
        """Return the role by which other scripted actors know it."""
        return (
            {} if blueprint.startswith("static.") else {"role_name": name_role(self.word("name"))}
        )

    def _is_due(self, ego: EgoState) -> bool:
        near = self.number("near")
        if near == 0.0:
            return True
        here = self.actors[0].get_location()
        if self.word("whose") == EGO:
            place = ego.vehicle_in_world
            return math.hypot(place.x - here.x, place.y - here.y) <= near
        if self._starter is None:
            self._starter = self._find_starter()
        there = self._starter.get_location()
        return math.hypot(there.x - here.x, there.y - here.y) <= near

    def _find_starter(self) -> carla.Actor:
        # a script by its name, or a further driven ego by its role
        roles = name_role(self.word("whose")), self.word("whose")
        for actor in self.hazard_actors.context.world.get_actors():
            if actor.attributes.get("role_name") in roles:
                return actor
        raise RuntimeError(
            f"{self.word('name')} waits for {self.word('whose')}, which is not there"
        )


def name_role(name: str) -> str:
    """Return the role name of a scripted actor."""
    return f"script {name}"


def format_places(places: Floats) -> str:
    """Return places (N, 3) as the text of a parameter, in centimetres."""
    return " ".join(",".join(f"{value:.2f}" for value in place) for place in places)


def parse_places(text: str) -> Floats:
    """Return the places (N, 3) of a parameter's text."""
    return np.array([[float(value) for value in place.split(",")] for place in text.split()])


def put_on_roads(places: Floats, town: carla.Map) -> Floats:
    """Return places (N, 3) at the height of the nearest lane: sets write 0 m everywhere."""
    heights = [
        town.get_waypoint(carla.Location(*place)).transform.location.z for place in places.tolist()
    ]
    return np.column_stack([places[:, :2], heights])


def make_scripted_course(places: Floats, speed: float) -> MoverCourse:
    """Return the way past places (N, 3), slower in bends."""
    bare = make_course(places, speed)
    # how much the way turns around each point, radians per metre
    _, before = bare.interpolate_poses(np.maximum(bare.along - SMOOTH, 0.0))
    _, behind = bare.interpolate_poses(np.minimum(bare.along + SMOOTH, bare.along[-1]))
    bend = np.abs(behind - before) / (2 * SMOOTH)
    return make_course(bare.xyz, np.minimum(speed, np.sqrt(SIDEWAYS / np.maximum(bend, 1e-3))))

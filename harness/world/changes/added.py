"""An actor more on the route."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

import carla

from harness.common.errors import UserError
from harness.types.vocabulary import Pose
from harness.world.changes.census import SceneCensus, describe_displacement
from harness.world.changes.change import PlannedScene, SceneChange
from harness.world.changes.stage import SpawnedScene, compute_standing_transform
from harness.world.hazards.track import Track
from harness.world.poses import to_pose

Behaviour: TypeAlias = Literal["standing", "driving", "walking"]


class AddedActor(SceneChange):
    """A vehicle or a pedestrian that stands, drives as traffic does, or walks straight on.

    It is spawned after the background traffic, so that no other actor is spawned elsewhere or has
    another number. Where something is in the way it is put a little further along the route.
    """

    safe_from_file = True
    name = "added_actor"

    def __init__(
        self,
        station: float,  # m along the route
        right: float = 0.0,  # m to the right of the route's centre line
        *,
        turned: float = 0.0,  # degrees clockwise from the route's heading
        blueprint: str = "vehicle.citroen.c3",  # blueprint of the simulator
        behaviour: Behaviour = "standing",  # or driving (vehicles), walking (pedestrians)
        speed: float = 1.4,  # m/s of a walking pedestrian
        slack: float = 10.0,  # m before and after the station that are tried
    ) -> None:
        super().__init__()
        walks = blueprint.startswith("walker.")
        if behaviour not in get_args(Behaviour):
            valid = ", ".join(get_args(Behaviour))
            raise UserError(f"{self.name}.behaviour = {behaviour}: unknown; valid: {valid}")
        if behaviour == ("driving" if walks else "walking"):
            raise UserError(f"{self.name}: {blueprint} cannot be {behaviour}")
        if not (walks or blueprint.startswith("vehicle.")):
            raise UserError(f"{self.name}.blueprint = {blueprint}: vehicle.* or walker.* is needed")
        if station < 0 or slack < 0 or speed < 0:
            raise UserError(f"{self.name}: station, slack and speed must be ≥ 0")
        self.station, self.right, self.turned, self.slack = station, right, turned, slack
        self.blueprint, self.behaviour, self.speed = blueprint, behaviour, speed
        self._actor = 0
        self._asked = Pose(0.0, 0.0)

    def unfit(self, scene: PlannedScene) -> str:
        """Return whether the route is too short, or no lane is there to drive on."""
        track = scene.track
        if self.station > track.route.length:
            return f"station {self.station:g} m is beyond the route's {track.route.length:g} m"
        if self.behaviour == "driving" and not track.is_on_road(
            self._compute_pose(track, self.station)
        ):
            return f"no lane to drive on {self.right:g} m right of station {self.station:g} m"
        return ""

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Spawn it where there is room."""
        library = stage.context.world.get_blueprint_library()
        if not library.filter(self.blueprint):
            raise self.refused(f"the simulator has no blueprint {self.blueprint}")
        blueprint = library.find(self.blueprint)
        # pedestrians can be hurt; the role shows that it is no traffic
        for name, value in (("role_name", "added"), ("is_invincible", "false")):
            if blueprint.has_attribute(name):
                blueprint.set_attribute(name, value)
        # the first pose with room
        for pose in self.iter_poses(stage):
            at = compute_standing_transform(blueprint, pose)
            actor = stage.spawn(blueprint, at)
            if actor is not None:
                stage.added.append(actor)
                self._actor, self._asked = actor.id, to_pose(at)
                self._start_behaviour(stage, actor)
                return
        raise self.refused(f"no room for {self.blueprint}")

    def iter_poses(self, stage: SpawnedScene) -> Iterator[Pose]:
        """Yield the poses that are tried, the one that is asked for first."""
        track = Track(stage.context.map, stage.context.route)
        for metres in range(math.floor(self.slack) + 1):
            for station in {self.station + metres: 0, self.station - metres: 0}:
                if 0 <= station <= track.route.length:
                    yield self._compute_pose(track, station)

    def undelivered(self, census: SceneCensus) -> str:
        """Return how the actor is not where it was put."""
        return describe_displacement(census.actors.get(self._actor), self._asked)

    def _compute_pose(self, track: Track, station: float) -> Pose:
        return track.pose(station, self.right, math.radians(self.turned))

    def _start_behaviour(self, stage: SpawnedScene, actor: carla.Actor) -> None:
        if self.behaviour == "driving":
            stage.traffic.start_autopilot(stage.context.traffic_manager, actor)
        elif isinstance(actor, carla.Vehicle):
            actor.apply_control(carla.VehicleControl(brake=1.0, hand_brake=True))
        elif self.behaviour == "walking":
            ahead = carla.Vector3D(math.cos(self._asked.yaw), math.sin(self._asked.yaw), 0.0)
            actor.apply_control(carla.WalkerControl(ahead, self.speed))

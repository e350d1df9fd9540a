"""The actors of hazards: spawning and destroying them, and the positions of other road users."""

from __future__ import annotations

import fnmatch
import math

import carla
import numpy as np

from harness.types.vocabulary import Floats, Pose
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.courses import MoverCourse
from harness.world.hazards.followers import ActorFollower, VehicleFollower, WalkerFollower
from harness.world.hazards.meeting import MovingActor, StaticActor
from harness.world.hazards.track import to_raised_location, to_raised_transform

SAME_PLACE = 0.6
"""Metres from the ego's pose within which an actor is taken for the ego."""


class RoadUserPositions:
    """All road users of a world."""

    def __init__(self, world: carla.World) -> None:
        self._world = world
        self._half_lengths: dict[int, float | None] = {}  # None: no road user

    def list_places(self, without: set[int], ego: Pose | None) -> Floats:
        """Return places (N, 2) at the tail, middle and nose of all road users but some and the ego.

        Without an ego it counts as one of the others.

        Args:
            without: ids of actors that do not count.
            ego: its pose; None: it counts as one of the others.

        Returns:
            (3 * road users, 2) metres in the world.
        """
        bodies = self._read_bodies(without)
        if ego is not None:
            apart = np.hypot(bodies[:, 0] - ego.x, bodies[:, 1] - ego.y)
            bodies = bodies[apart >= SAME_PLACE]
        middle, yaw, half = bodies[:, :2], bodies[:, 2], bodies[:, 3, None]
        forward = half * np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        return np.concatenate([middle - forward, middle, middle + forward])

    def _read_bodies(self, without: set[int]) -> Floats:
        """Return x, y, yaw and half the length of all road users but some."""
        # sizes are read once, poses in every tick
        snapshot = self._world.get_snapshot()
        here = {actor.id: actor for actor in snapshot if actor.id not in without}
        unknown = [actor_id for actor_id in here if actor_id not in self._half_lengths]
        if unknown:
            self._register_actors(unknown)
        # (road users, 4): m and rad
        rows = []
        for name, actor in here.items():
            half = self._half_lengths[name]
            if half is not None:
                pose = actor.get_transform()
                yaw = math.radians(pose.rotation.yaw)
                rows.append((pose.location.x, pose.location.y, yaw, half))
        return np.array(rows).reshape(-1, 4)

    def _register_actors(self, unknown: list[int]) -> None:
        self._half_lengths.update(dict.fromkeys(unknown))
        for actor in self._world.get_actors(unknown):
            if actor.type_id.startswith(("vehicle.", "walker.")):
                self._half_lengths[actor.id] = actor.bounding_box.extent.x


DROP = 0.3
"""Metres above the ground at which vehicles and props are let down."""
STEEP = 0.6
"""Metres by which the ground next to a road may lie higher or lower."""
MIDDLE = 1.1
"""Metres above the ground of a walker's middle when it is let down."""


class HazardActors:
    """All actors of one hazard."""

    def __init__(self, context: AttemptContext) -> None:
        self.context = context
        self.actors: list[carla.Actor] = []
        self._positions = RoadUserPositions(context.world)

    def stand(self, standing: StaticActor) -> carla.Actor | None:
        """Spawn a static actor, or return None where there is no room."""
        actor = self.spawn_actor(standing.blueprint, standing.pose)
        if isinstance(actor, carla.Vehicle):
            actor.apply_control(carla.VehicleControl(brake=1.0, hand_brake=True))
        return actor

    def spawn_mover(self, mover: MovingActor) -> ActorFollower | None:
        """Put a mover at the start of its course, or return None where it cannot stand."""
        actor = self.spawn_actor(mover.blueprint, mover.course.start)
        return None if actor is None else make_follower(actor, mover.course)

    def spawn_actor(self, blueprint: str, pose: Pose, **attributes: str) -> carla.Actor | None:
        """Spawn by name; a name with a `*` stands for any that fits, sampled by the seed.

        Args:
            blueprint: a name, or a pattern with `*`.
            pose: where it stands, on the ground.
            attributes: of the blueprint.

        Returns:
            The actor, or None where there is no room.
        """
        library = self.context.world.get_blueprint_library()
        names = sorted(
            candidate.id for candidate in library if fnmatch.fnmatchcase(candidate.id, blueprint)
        )
        if not names:
            raise RuntimeError(f"the simulator has no blueprint {blueprint}")
        # the seed chooses among several models
        chosen = library.find(
            names[0]
            if len(names) == 1
            else str(self.context.random("hazards", blueprint).choice(names))
        )
        if chosen.has_attribute("role_name"):
            chosen.set_attribute("role_name", "hazard")
        for name, value in attributes.items():
            chosen.set_attribute(name, value)
        # let down from a little above the ground, so that it does not collide with it
        above = MIDDLE if blueprint.startswith("walker") else DROP
        actor = self.context.world.try_spawn_actor(chosen, to_raised_transform(pose, above))
        if actor is not None:
            self.actors.append(actor)
        return actor

    def can_spawn(self, blueprint: str, pose: Pose) -> bool:
        """Return whether something could be spawned there."""
        actor = self.spawn_actor(blueprint, pose)
        if actor is None:
            return False
        self.destroy_actors(actor)
        return True

    def is_ground_level(self, pose: Pose) -> bool:
        """Return whether the ground there is about as high as the pose says."""
        ground = self.context.world.ground_projection(to_raised_location(pose, STEEP), 2 * STEEP)
        return ground is not None and abs(ground.location.z - pose.z) < STEEP

    def list_other_places(self, ego: Pose | None) -> Floats:
        """Return places (N, 2) along all road users that are neither of this hazard nor the ego.

        Without an ego it counts as one of the others.
        """
        return self._positions.list_places({actor.id for actor in self.actors}, ego)

    def find_missing_actors(self) -> list[str]:
        """Return the types of actors that the world has no more.

        For those, the library reports the origin, and that they are alive.
        """
        snapshot = self.context.world.get_snapshot()
        return [actor.type_id for actor in self.actors if not snapshot.has_actor(actor.id)]

    def destroy_actors(self, *chosen: carla.Actor) -> None:
        """Destroy some actors, or all."""
        ids = [actor.id for actor in chosen or self.actors]
        self.context.client.apply_batch_sync(
            [carla.command.DestroyActor(actor_id) for actor_id in ids]
        )
        self.actors = [actor for actor in self.actors if actor.id not in ids]


def make_follower(actor: carla.Actor, course: MoverCourse) -> ActorFollower:
    """Return what leads an actor along a course."""
    if isinstance(actor, carla.Walker):
        return WalkerFollower(actor, course)
    if isinstance(actor, carla.Vehicle):
        return VehicleFollower(actor, course)
    raise TypeError(f"{actor.type_id} cannot be led")

"""The scene as changes find it: background traffic, hazards and the ego, all spawned."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import carla
import numpy as np

from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import Floats, Pose
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.actors import DROP, MIDDLE
from harness.world.hazards.track import to_raised_transform
from harness.world.scene import compute_actor_box, list_parked_boxes, read_actor_shape
from harness.world.traffic import Traffic, TrafficPopulation

ROAD_USERS = ("vehicle.", "walker.")


@dataclass(slots=True, kw_only=True)
class SpawnedScene:
    """Spawns, moves and destroys actors, and knows where all others are.

    Attributes:
        added: actors that changes have added; they are destroyed with the attempt.
    """

    context: AttemptContext
    traffic: Traffic
    population: TrafficPopulation
    fleet: list[carla.Actor | None] = field(init=False)
    """Background vehicles in the order in which they were sampled; None: no longer there."""
    added: list[carla.Actor] = field(default_factory=list)
    _places: dict[int, carla.Transform] = field(init=False)
    _known: dict[int, carla.Actor] = field(init=False)
    _gone: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.fleet = list(self.population.vehicles)
        self._places = dict(self.population.places)
        actors = (*self.population.vehicles, *self.population.walkers)
        self._known = {actor.id: actor for actor in actors}

    def place_of(self, actor: carla.Actor) -> carla.Transform:
        """Return where a background actor was spawned.

        Args:
            actor: of the background traffic.

        Returns:
            Its pose in the world; where it was moved to, if it was.
        """
        return self._places[actor.id]

    def get_fleet_row(self, vehicle: carla.Actor) -> int:
        """Return the place of a background vehicle among those that were sampled.

        Args:
            vehicle: of the background traffic.
        """
        ids = [0 if one is None else one.id for one in self.fleet]
        return ids.index(vehicle.id)

    def spawn(self, blueprint: carla.ActorBlueprint, at: carla.Transform) -> carla.Actor | None:
        """Spawn an actor where nothing is in the way; else leave nothing, and return None.

        Args:
            blueprint: of the actor.
            at: where; CARLA's frame and degrees.
        """
        actor = self.context.world.try_spawn_actor(blueprint, at)
        if actor is None:
            return None
        if not self.is_free(actor, at):
            self.destroy_actor(actor)
            return None
        self._places[actor.id], self._known[actor.id] = at, actor
        return actor

    def destroy_actor(self, actor: carla.Actor) -> None:
        """Take an actor out of the world.

        Args:
            actor: of the background traffic.
        """
        actor.destroy()
        self._gone.add(actor.id)

    def move_actor(self, actor: carla.Actor, to: carla.Transform) -> None:
        """Put an actor elsewhere.

        Args:
            actor: of the background traffic.
            to: its pose in the world.
        """
        actor.set_transform(to)
        self._places[actor.id] = to

    def is_free(self, actor: carla.Actor, at: carla.Transform) -> bool:
        """Return whether an actor's body would overlap no other road user and no parked vehicle.

        Args:
            actor: whose body is meant.
            at: where it would be.
        """
        # (1, 7) and (others, 7) boxes in the world; z counts for nothing
        body = np.array([compute_actor_box(at, read_actor_shape(actor), carla.Location())])
        others = np.concatenate(
            [
                self._list_road_user_boxes(without=actor.id),
                list_parked_boxes(self.context.world).geometry,
            ]
        )
        return not (compute_bev_iou(body, others) > 0).any()

    def _list_road_user_boxes(self, without: int) -> Floats:
        """Return the boxes of all road users.

        The client lists those of the last tick: what was spawned or destroyed since is known here.
        """
        # everything that moves, as the client and as this object know it
        snapshot = self.context.world.get_snapshot()
        listed = {actor.id: actor for actor in self.context.world.get_actors()} | self._known
        rows = []
        # a place that is known here is newer than the snapshot
        for actor in listed.values():
            if actor.id in {without, *self._gone} or not actor.type_id.startswith(ROAD_USERS):
                continue
            state = snapshot.find(actor.id)
            at = self._places.get(actor.id)
            if at is None and state is not None:
                at = state.get_transform()
            if at is not None:
                rows.append(compute_actor_box(at, read_actor_shape(actor), carla.Location()))
        return np.array(rows, np.float64).reshape(-1, 7)


def compute_standing_transform(blueprint: carla.ActorBlueprint, pose: Pose) -> carla.Transform:
    """Return where an actor of a blueprint is let down to stand on the ground at a pose."""
    return to_raised_transform(pose, MIDDLE if blueprint.id.startswith("walker.") else DROP)


def rotate_transform(at: carla.Transform, degrees: float) -> carla.Transform:
    """Return a place, turned clockwise."""
    rotation = at.rotation
    yaw = math.remainder(rotation.yaw + degrees, 360.0)
    return carla.Transform(at.location, carla.Rotation(rotation.pitch, yaw, rotation.roll))

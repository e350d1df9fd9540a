"""A cooperative scene: what an ego and its partners sense at one moment, and what really is there.

Scenes are read from recordings (`crucible collect`). Operators make other scenes of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.channel.disturbance import Disturbance
from harness.common.ground_fields import GroundField, read_ground_field
from harness.common.recordings import AgentLook, RecordedScenario, list_scenarios, read_look
from harness.common.world_states import WorldState, read_world_state
from harness.types.vocabulary import (
    Boxes,
    CameraImage,
    GroundTruth,
    Integers,
    Pose,
    Singles,
    Surfaces,
)

PARTNERS = 2
"""At most: the roadside unit, then the nearest vehicles."""
PARTNER_RANGE = 70.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgentView:
    """What one agent sensed, and where it believes that its LiDAR stood."""

    agent: int  # actor; negative: a roadside unit
    time: float  # s, of capture
    lidar_in_world: Pose
    believed_in_world: Pose
    points_in_lidar: Singles
    surfaces: Surfaces | None  # that the points lie on, if they were recorded
    truth: GroundTruth  # at capture, in this LiDAR's frame; hits are its own
    parked_in_lidar: Boxes  # scenery
    images: tuple[CameraImage, ...] = ()  # of the agent's cameras, if they were recorded

    @property
    def name(self) -> str:
        """Return how messages name it."""
        return f"roadside-{-self.agent}" if self.agent < 0 else f"vehicle-{self.agent}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneSource:
    """Where in a recording a scene lies."""

    scenario: RecordedScenario
    ego: int
    moment: int

    @property
    def name(self) -> str:
        """Return a name that no other scene of the recordings has."""
        return f"{self.scenario.folder.name}/{self.ego}/{self.moment:06}"

    @property
    def cluster(self) -> str:
        """Return the name of all scenes that depend on each other."""
        return self.scenario.folder.name


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CooperativeScene:
    """The ego's view, the partners', and what happens to their messages on the air."""

    source: SceneSource
    ego: AgentView
    partners: tuple[AgentView, ...]
    on_air: tuple[Disturbance, ...] = ()  # change payloads
    ground: GroundField | None = None  # of the town, if it was recorded
    in_town_frame: bool = True  # poses are those of the town's map, not moved or mirrored ones
    world: WorldState | None = None  # that the pictures show, if it was recorded

    @property
    def views(self) -> tuple[AgentView, ...]:
        """Return all views, the ego's first."""
        return (self.ego, *self.partners)

    @property
    def hits_anyone(self) -> Integers:
        """Return the most returns that any agent has of each of the ego's true boxes."""
        hits = self.ego.truth.hits.copy()
        for partner in self.partners:
            ids, theirs = partner.truth.actor_ids.tolist(), partner.truth.hits.tolist()
            known = dict(zip(ids, theirs, strict=True))
            hits = np.maximum(hits, [known.get(actor, 0) for actor in self.ego.truth.actor_ids])
        return hits


def list_scene_sources(folders: list[Path], first_moment: int = 0) -> list[SceneSource]:
    """Return all scenes of recordings whose ego is a vehicle.

    Args:
        folders: of recordings.
        first_moment: of each agent, from 0 on; earlier ones are left out.
    """
    return [
        SceneSource(scenario=scenario, ego=agent, moment=moment)
        for folder in folders
        for scenario in list_scenarios(folder)
        for agent in scenario.list_egos()
        for moment in range(first_moment, len(scenario.list_moments(agent)))
    ]


def read_scene(source: SceneSource) -> CooperativeScene:
    """Read a scene: the ego, the roadside unit, the nearest vehicles."""
    ego = read_view(source, source.ego)
    others = [
        view
        for view in iterate_other_views(source)
        if compute_lidar_gap(ego, view) <= PARTNER_RANGE
    ]
    others.sort(key=lambda view: (view.agent > 0, compute_lidar_gap(ego, view)))
    return CooperativeScene(
        source=source,
        ego=ego,
        partners=tuple(others[:PARTNERS]),
        ground=read_scenario_ground(source.scenario.folder),
        world=read_world_state(source.scenario.folder, f"{source.moment:06}"),
    )


@lru_cache(maxsize=2)
def read_scenario_ground(folder: Path) -> GroundField | None:
    """Return the ground of a scenario, which all of its scenes share, None if none was recorded."""
    return read_ground_field(folder)


def iterate_other_views(source: SceneSource) -> Iterator[AgentView]:
    """Read what all others saw at the same moment."""
    for agent in source.scenario.list_agents():
        if agent != source.ego:
            yield read_view(source, agent)


def read_view(source: SceneSource, agent: int, earlier: int = 0) -> AgentView:
    """Read what an agent saw at a scene's moment, or some moments earlier."""
    moment = f"{source.moment - earlier:06}"
    return make_agent_view(
        read_look(source.scenario.folder, agent, moment),
        source.scenario.read_images(agent, moment),
    )


def make_agent_view(look: AgentLook, images: tuple[CameraImage, ...] = ()) -> AgentView:
    """Return a look as a view whose agent knows where it is.

    Args:
        look: of the agent.
        images: of its cameras.
    """
    return AgentView(
        agent=look.agent,
        time=look.time,
        lidar_in_world=look.lidar_in_world,
        believed_in_world=look.lidar_in_world,
        points_in_lidar=look.points_in_lidar,
        surfaces=look.surfaces,
        truth=look.truth,
        parked_in_lidar=look.parked_in_lidar,
        images=images,
    )


def compute_lidar_gap(one: AgentView, other: AgentView) -> float:
    """Return metres between two LiDARs in the plane."""
    a, b = one.lidar_in_world, other.lidar_in_world
    return math.hypot(a.x - b.x, a.y - b.y)


def replace_points(view: AgentView, points: Singles, surfaces: Surfaces | None) -> AgentView:
    """Return the view with other points.

    Args:
        view: of an agent.
        points: (points, 4) in its LiDAR frame.
        surfaces: of these points; None where they were not recorded.
    """
    return replace(view, points_in_lidar=points, surfaces=surfaces)

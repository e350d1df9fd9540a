"""Samples of recordings: what an ego senses, what partners send, and the ground truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.common.recordings import AgentLook, RecordedScenario
from harness.types.vocabulary import Boxes, CameraImage, GroundTruth, Integers, Pose, Singles

PARTNERS = 2
"""At most: the roadside unit, then the nearest vehicles."""
PARTNER_RANGE = 70.0


@dataclass(frozen=True, slots=True)
class MessageDisturbance:
    """What becomes of the messages."""

    shift: float = 0.0  # m in x and in y, each with a random sign
    turn: float = 0.0  # degrees, likewise
    looks_late: int = 0  # of a second each


UNDISTURBED = MessageDisturbance()
CONDITIONS = {
    "none": UNDISTURBED,
    "pose error": MessageDisturbance(shift=0.6, turn=0.6),
    "latency": MessageDisturbance(looks_late=1),
}


@dataclass(frozen=True, slots=True, eq=False)
class LidarView:
    """Points, and where the LiDAR is believed to have stood; pictures of the same moment."""

    points_in_lidar: Singles
    lidar_in_world: Pose
    images: tuple[CameraImage, ...] = ()
    depths: tuple[Singles, ...] = ()  # (rows, columns) metres of each image


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoSample:
    """One ego at one moment."""

    scenario: str  # samples of one depend on each other
    ego: LidarView
    partners: tuple[LidarView, ...]
    truth: GroundTruth  # in the ego's LiDAR frame; hits are the ego's own
    hits_anyone: Integers  # most returns that any of them has of each, before the channel
    parked: Boxes  # in the ego's LiDAR frame: scenery, neither to be found nor wrong to find


@dataclass(frozen=True, slots=True)
class SamplePlace:
    """Where a sample lies in a recording."""

    scenario: RecordedScenario
    ego: int
    moment: int


class RecordedSamples:
    """All samples of a recording; those of one ego follow each other."""

    def __init__(
        self,
        recorded: Iterable[RecordedScenario],
        units: bool,
        first_moment: int = 0,
        *,
        pictures: bool = False,
    ) -> None:
        """Take vehicles as egos, and roadside units too if `units` says so.

        Args:
            recorded: scenarios.
            units: whether roadside units are egos too.
            first_moment: of each ego.
            pictures: whether pictures are read; the recordings must have some.

        Raises:
            UserError: a recording has no pictures, and they are needed.
        """
        self.pictures = pictures
        self.places = [
            SamplePlace(scenario, agent, moment)
            for scenario in recorded
            for agent in (scenario.list_observers() if units else scenario.list_egos())
            for moment in range(first_moment, len(scenario.list_moments(agent)))
        ]
        if pictures and self.places:
            place = self.places[0]
            moment = place.scenario.list_moments(place.ego)[0]
            if not place.scenario.read_images(place.ego, moment):
                raise UserError(
                    f"{place.scenario.folder}: has no pictures; record some with `crucible collect"
                    " --rig v2xverse_cameras`"
                )

    def __len__(self) -> int:
        return len(self.places)

    def read_sample(
        self, number: int, partners: int = PARTNERS, how: MessageDisturbance = UNDISTURBED
    ) -> EgoSample:
        """Read a sample."""
        place = self.places[number]
        # hits of all agents count as seen by anyone, before partners are disturbed
        ego = read_agent_look(place, place.ego)
        near = select_nearest_partners(place, ego, partners)
        hits = compute_hits_anyone(ego.truth, near)
        # a late message has a look from before: the first moments have none
        views = tuple(
            disturb_partner_view(place, look, how, pictures=self.pictures)
            for look in near
            if place.moment >= how.looks_late
        )
        view = make_agent_view(place, ego, pictures=self.pictures)
        return EgoSample(
            scenario=place.scenario.folder.name,
            ego=view,
            partners=views,
            truth=ego.truth,
            hits_anyone=hits,
            parked=ego.parked_in_lidar,
        )


def read_agent_look(place: SamplePlace, agent: int, earlier: int = 0) -> AgentLook:
    """Read what an agent saw at a sample's moment, or some looks earlier."""
    moments = place.scenario.list_moments(place.ego)
    return place.scenario.read_look(agent, moments[place.moment - earlier])


def make_agent_view(
    place: SamplePlace, look: AgentLook, earlier: int = 0, *, pictures: bool
) -> LidarView:
    """Return what an agent senses in a look, with its pictures if they are needed."""
    if not pictures:
        return LidarView(look.points_in_lidar, look.lidar_in_world)
    moment = place.scenario.list_moments(place.ego)[place.moment - earlier]
    return LidarView(
        look.points_in_lidar,
        look.lidar_in_world,
        place.scenario.read_images(look.agent, moment),
        place.scenario.read_depths(look.agent, moment),
    )


def select_nearest_partners(place: SamplePlace, ego: AgentLook, most: int) -> list[AgentLook]:
    """Return the partners of the ego: the unit first, then vehicles, the nearest first."""
    if not most:
        return []
    others = [
        read_agent_look(place, agent)
        for agent in place.scenario.list_agents()
        if agent != place.ego
    ]
    return sort_nearest_partners(ego, others)[:most]


def sort_nearest_partners(ego: AgentLook, others: Sequence[AgentLook]) -> list[AgentLook]:
    """Return the looks of agents in range: the unit first, then vehicles, the nearest first."""
    here = ego.lidar_in_world
    gaps = [math.hypot(o.lidar_in_world.x - here.x, o.lidar_in_world.y - here.y) for o in others]
    order = sorted(zip(gaps, others, strict=True), key=lambda pair: (pair[1].agent > 0, pair[0]))
    return [look for gap, look in order if gap <= PARTNER_RANGE]


def compute_hits_anyone(truth: GroundTruth, partners: Iterable[AgentLook]) -> Integers:
    """Return the most returns that the ego or any partner has of each true box."""
    hits = truth.hits.copy()
    for partner in partners:
        ids, theirs = partner.truth.actor_ids.tolist(), partner.truth.hits.tolist()
        known = dict(zip(ids, theirs, strict=True))
        hits = np.maximum(hits, [known.get(actor, 0) for actor in truth.actor_ids.tolist()])
    return hits


def disturb_partner_view(
    place: SamplePlace, partner: AgentLook, how: MessageDisturbance, *, pictures: bool = False
) -> LidarView:
    """Return what the ego holds of a partner when messages are disturbed."""
    if how.looks_late:
        partner = read_agent_look(place, partner.agent, how.looks_late)
    random = make_named_stream(0, place.scenario.folder.name, str(place.moment), str(partner.agent))
    x, y, yaw = random.choice([-1.0, 1.0], 3) * [how.shift, how.shift, math.radians(how.turn)]
    true = partner.lidar_in_world
    believed = replace(true, x=true.x + x, y=true.y + y, yaw=true.yaw + yaw)
    view = make_agent_view(place, partner, how.looks_late, pictures=pictures)
    return replace(view, lidar_in_world=believed)

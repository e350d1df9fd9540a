"""Messages of recorded partners that arrive late, moment after moment, as a drive has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.ideal_late import IdealLate
from agents.perception.designs import LITE_GRID
from agents.perception.grid import PillarGrid
from agents.perception.systems import Intermediate, NetworkSystem, make_network_system
from agents.training.fusion_names import make_fusion_module
from agents.training.inference import make_ego_observation
from agents.training.operating import make_zero_thresholds
from agents.training.samples import (
    PARTNERS,
    EgoSample,
    LidarView,
    compute_hits_anyone,
    sort_nearest_partners,
)
from harness.common.recordings import AgentLook, RecordedScenario
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Kind,
    Message,
    Observation,
    Payload,
    Perceived,
)

IDEAL = "ideal_late"
"""The scheme of perfect perception, besides those of networks."""


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioLooks:
    """All looks of a scenario: by agent, then moment after moment."""

    scenario: RecordedScenario
    looks: dict[int, list[AgentLook]]

    @staticmethod
    def read(scenario: RecordedScenario) -> ScenarioLooks:
        """Read a scenario."""
        return ScenarioLooks(
            scenario,
            {
                agent: [scenario.read_look(agent, one) for one in scenario.list_moments(agent)]
                for agent in scenario.list_agents()
            },
        )

    @property
    def moments(self) -> int:
        """How many moments all agents have."""
        return min(map(len, self.looks.values()))

    def list_partners(self, ego: int, moment: int) -> list[AgentLook]:
        """Return the ego's partners at a moment: the unit first, then the nearest vehicle."""
        others = [looks[moment] for agent, looks in self.looks.items() if agent != ego]
        return sort_nearest_partners(self.looks[ego][moment], others)[:PARTNERS]

    def make_sample(self, ego: int, moment: int) -> EgoSample:
        """Return what is evaluated at a moment; truth does not depend on messages."""
        look = self.looks[ego][moment]
        return EgoSample(
            scenario=self.scenario.folder.name,
            ego=LidarView(look.points_in_lidar, look.lidar_in_world),
            partners=(),
            truth=look.truth,
            hits_anyone=compute_hits_anyone(look.truth, self.list_partners(ego, moment)),
            parked=look.parked_in_lidar,
        )

    def observe_ego(self, ego: int, moment: int) -> EgoObservation:
        """Return what the ego observes at a moment, with its time."""
        look = self.looks[ego][moment]
        view = LidarView(look.points_in_lidar, look.lidar_in_world)
        time = moment * self.scenario.interval
        return replace(make_ego_observation(view), frame=moment, time=time)


@dataclass(slots=True)
class RecordedSharing:
    """A system whose partners and ego are those of a recording.

    Attributes:
        system: at its operating point, at which it drives.
        every: the same with detections of every score, as precision needs; the same object where
            perception is perfect.
    """

    name: str
    system: NetworkSystem | IdealLate
    every: NetworkSystem | IdealLate
    _sent: dict[tuple[str, int, int], Payload] = field(default_factory=dict)

    @property
    def grid(self) -> PillarGrid:
        """The window in which detections and truth count."""
        if isinstance(self.system, IdealLate):
            return LITE_GRID
        return self.system.detector.design.grid

    @property
    def sends_boxes(self) -> bool:
        """Whether partners send boxes."""
        return isinstance(self.system, IdealLate) or self.system.fusion.stage == "late"

    @property
    def sends_features(self) -> bool:
        """Whether partners send feature maps."""
        return isinstance(self.system, Intermediate)

    def forget_payloads(self) -> None:
        """Forget what was sent: it is kept as long as a scenario is asked about."""
        self._sent.clear()

    def make_message(
        self, scene: ScenarioLooks, agent: int, moment: int, *, ego: int, every_score: bool
    ) -> Message:
        """Return what an agent sends at a moment, with its time."""
        look = scene.looks[agent][moment]
        kind: Kind = "vehicle" if agent >= 0 else "roadside"
        time = moment * scene.scenario.interval
        observation = Observation(
            sender=f"{kind}-{abs(agent)}",
            kind=kind,
            frame=moment,
            time=time,
            lidar_in_world=look.lidar_in_world,
            points_in_lidar=look.points_in_lidar,
        )
        payload = self._share(scene, look, observation, ego)
        if not every_score and isinstance(payload, Boxes):
            payload = self._select_counting(payload)
        return Message(
            sender=observation.sender,
            kind=kind,
            capture_frame=moment,
            capture_time=time,
            lidar_in_world=look.lidar_in_world,
            payload=payload,
        )

    def _share(
        self, scene: ScenarioLooks, look: AgentLook, observation: Observation, ego: int
    ) -> Payload:
        """Return the payload of a look, of every score; that of a network is computed once."""
        if isinstance(self.every, IdealLate):
            # as in campaigns: the truth of a partner has no box of the ego
            return self.every.share(observation, look.truth[look.truth.actor_ids != ego])
        key = (scene.scenario.folder.name, look.agent, observation.frame)
        if key not in self._sent:
            self._sent[key] = self.every.share(observation)
        return self._sent[key]

    def _select_counting(self, boxes: Boxes) -> Boxes:
        """Return the boxes that a partner sends at its operating point."""
        if isinstance(self.system, IdealLate):
            return boxes
        return boxes[boxes.scores >= self.system.operating_point.thresholds[boxes.classes]]

    def perceive(
        self,
        observation: EgoObservation,
        messages: Sequence[Message],
        look: AgentLook,
        *,
        every_score: bool,
    ) -> Perceived:
        """Return what the system detects."""
        system = self.every if every_score else self.system
        if isinstance(system, IdealLate):
            return system.perceive(observation, tuple(messages), look.truth)
        return system.perceive(observation, tuple(messages))


def make_recorded_sharing(scheme: str) -> RecordedSharing:
    """Return a scheme whose partners and ego are those of a recording."""
    if scheme == IDEAL:
        same = IdealLate()
        return RecordedSharing(scheme, same, same)
    driving, every = (make_network_system(make_fusion_module(scheme)) for _ in range(2))
    every.operating_point = make_zero_thresholds(every.operating_point.calibration)
    return RecordedSharing(scheme, driving, every)

"""Messages of recorded partners that arrive late, moment after moment, as a drive has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.ideal_late import IdealLate
from agents.perception.designs import LITE_GRID
from agents.perception.grid import PillarGrid
from agents.perception.systems import NetworkSystem, make_network_system
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
        every_score: whether detections below the operating point count too, as precision needs.
    """

    name: str
    system: NetworkSystem | IdealLate
    every_score: bool = False
    _sent: dict[tuple[str, int, int], Payload] = field(default_factory=dict)

    @property
    def grid(self) -> PillarGrid:
        """The window in which detections and truth count."""
        if isinstance(self.system, IdealLate):
            return LITE_GRID
        return self.system.detector.design.grid

    def forget_payloads(self) -> None:
        """Forget what was sent: it is kept as long as a scenario is asked about."""
        self._sent.clear()

    def make_message(self, scene: ScenarioLooks, agent: int, moment: int, *, ego: int) -> Message:
        """Return what an agent sends at a moment, with its time."""
        look = scene.looks[agent][moment]
        kind: Kind = "vehicle" if agent >= 0 else "roadside"
        time = moment * scene.scenario.interval
        return Message(
            sender=f"{kind}-{abs(agent)}",
            kind=kind,
            capture_frame=moment,
            capture_time=time,
            lidar_in_world=look.lidar_in_world,
            payload=self._share_look(scene, look, moment=moment, ego=ego),
        )

    def _share_look(
        self, scene: ScenarioLooks, look: AgentLook, *, moment: int, ego: int
    ) -> Payload:
        """Return the payload of a look; that of a network is computed once."""
        observation = Observation(
            sender=str(look.agent),
            kind="vehicle",
            frame=moment,
            time=moment * scene.scenario.interval,
            lidar_in_world=look.lidar_in_world,
            points_in_lidar=look.points_in_lidar,
        )
        if isinstance(self.system, IdealLate):
            # as in campaigns: the truth of a partner has no box of the ego
            return self.system.share(observation, look.truth[look.truth.actor_ids != ego])
        key = (scene.scenario.folder.name, look.agent, moment)
        if key not in self._sent:
            self._sent[key] = self.system.share(observation)
        return self._sent[key]

    def perceive(
        self, observation: EgoObservation, messages: Sequence[Message], look: AgentLook
    ) -> Perceived:
        """Return what the system detects."""
        if isinstance(self.system, IdealLate):
            return self.system.perceive(observation, tuple(messages), look.truth)
        return self.system.perceive(observation, tuple(messages))

    @property
    def sends_boxes(self) -> bool:
        """Whether partners send boxes."""
        return isinstance(self.system, IdealLate) or self.system.fusion.stage == "late"


def make_recorded_sharings(scheme: str) -> tuple[RecordedSharing, RecordedSharing]:
    """Return a scheme at its operating point, and with detections of every score."""
    if scheme == IDEAL:
        same = IdealLate()
        return RecordedSharing(scheme, same), RecordedSharing(scheme, same, every_score=True)
    driving, every = (make_network_system(make_fusion_module(scheme)) for _ in range(2))
    every.operating_point = make_zero_thresholds(every.operating_point.calibration)
    return RecordedSharing(scheme, driving), RecordedSharing(scheme, every, every_score=True)

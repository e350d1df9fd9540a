"""A planning step: sensors, messages sent and delivered, the system, evaluation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import carla

from harness.campaign.attempt.agent_sensing import AgentSensing, make_tick_observation
from harness.campaign.attempt.blame import SystemBlame
from harness.campaign.attempt.computing import AttemptComputing, measure_ego
from harness.campaign.attempt.exchange import MessageExchange, select_truth
from harness.campaign.attempt.fleet import AttemptFleet
from harness.campaign.attempt.intending import PrecedenceLog
from harness.campaign.attempt.intervening import InterveningSystem, perceive_step
from harness.campaign.attempt.lidar_hits import (
    compute_most_hits,
    count_hits_by_lidar,
    count_remaining_hits,
)
from harness.campaign.attempt.live import LiveView, make_live_step
from harness.campaign.attempt.metrics import AttemptMetrics, make_step_data
from harness.campaign.attempt.planning_step import (
    EGO,
    DecidedStep,
    LidarHits,
    SensedStep,
    SharedStep,
)
from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.results import PrecisionAccumulator
from harness.campaign.attempt.security import AttemptSecurity
from harness.campaign.attempt.sensing import sense_scan
from harness.channel.channel import Channel
from harness.channel.compensation.compensation import Compensation
from harness.channel.defences.defence import Defence
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.types.agent_sensors import has_boxes
from harness.types.systems import (
    PrivilegedSystem,
    System,
    drive_by_perception,
    is_perceiving_system,
    is_privileged,
)
from harness.types.vocabulary import (
    Control,
    Integers,
    LightAhead,
    Step,
)
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.cameras import CameraPlace
from harness.world.ego import EgoVehicle
from harness.world.partners import PartnerFleet, PartnerScans
from harness.world.rig import LidarMount, LidarScan, ScanningPost
from harness.world.scene import (
    GroundTruthScene,
    crop_boxes_to_lidar,
    list_parked_boxes,
)

POLE = 0
"""The carrier of a roadside unit: no actor."""


class PerceptionLoop:
    """Runs planning steps: sensors, messages, the system, evaluation, records."""

    def __init__(
        self,
        context: AttemptContext,
        system: System | PrivilegedSystem,
        *,
        number: int = 0,
        fleet: AttemptFleet,
        channel: Channel,
        partners: PartnerFleet,
        ego: EgoVehicle,
        mount: LidarMount,
        period: float,
        rules: EvaluationSettings,
        reads_points: bool,
        reads_surfaces: bool,
        counts_after_sensing: bool,
        cameras: Sequence[CameraPlace] = (),
        metrics: AttemptMetrics,
        view: LiveView,
        intervening: InterveningSystem | None = None,
        defence: Defence | None = None,
        compensation: Compensation | None = None,
        computing: AttemptComputing | None = None,
        agent_sensing: AgentSensing | None = None,
    ) -> None:
        self.partners = partners
        self.view = view
        self.knows_boxes = has_boxes(system)
        self.precision = PrecisionAccumulator(known=has_boxes(system))
        self.metrics = metrics
        self._intervening = intervening  # between perception and driving
        self.security = AttemptSecurity(channel, defence, context, system)
        self.compensation = compensation  # of the age of messages; None: they stay as they are
        self.computing = computing  # None: nothing takes time
        self.agent_sensing = agent_sensing  # of a system that brings its sensors
        self.precedences = PrecedenceLog()  # empty where no intentions are sent
        self.returned: frozenset[int] = frozenset()  # actors that the ego's last sweep returned
        self.started = time.monotonic()
        self.seconds = {"simulator": 0.0, "sensors": 0.0, "system": 0.0, "evaluation": 0.0}
        self.counts_after_sensing = counts_after_sensing
        self._system = system
        self._channel = channel
        self.ego_id = ego.actor.id
        self._mount = mount
        self._rules = rules
        self._parked = list_parked_boxes(context.world)
        seed = context.compute_noise_seed("ego")
        if number:
            seed = context.compute_noise_seed("ego", str(number))
        self.post = ScanningPost(
            context,
            mount,
            period=period,
            reads_points=reads_points,
            reads_surfaces=reads_surfaces,
            carrier=ego.actor,
            noise_seed=seed,
            cameras=cameras,
        )
        self.exchange = MessageExchange(
            context,
            system,
            fleet=fleet,
            channel=channel,
            partners=partners,
            post=self.post,
            ego_id=self.ego_id,
            parked=self._parked,
            security=self.security,
            compensation=compensation,
            computing=computing,
        )

    def open_lidar(self) -> None:
        """Open the ego's LiDAR: from now on it sweeps once in a planning period."""
        self.post.start_scanning()
        if self.agent_sensing is not None:
            self.agent_sensing.sensors.start()

    def has_sweep(self, frame: int) -> bool:
        """Return whether the LiDARs sweep in this frame."""
        return self.post.has_sweep_in_frame(frame)

    def collect_scan(self, frame: int) -> LidarScan:
        """Return the sweep of the ego's LiDAR in this frame."""
        clock = time.perf_counter()
        scan = self.post.collect_scan(frame)
        self._add_seconds("sensors", clock)
        return scan

    def run_planning_step(
        self,
        state: EgoState,
        scene: GroundTruthScene,
        lights: tuple[LightAhead, ...],
        recorder: AttemptRecorder,
        *,
        snapshot: carla.WorldSnapshot,
        scans: Mapping[ScanningPost, LidarScan],
    ) -> Control:
        """Sense, share, decide, record; return what the system wants of the ego.

        Args:
            state: of the ego.
            scene: all road users.
            lights: ahead on the route.
            recorder: of the ego.
            snapshot: of this tick.
            scans: the sweeps of all driven egos.
        """
        # sense: every LiDAR's sweep of this frame
        clock = time.perf_counter()
        ego_scan = scans[self.post]
        sweeps = self.partners.collect_scans(state.frame, scans)
        clock = self._add_seconds("sensors", clock)
        sensed = self._sense(state, scene, ego_scan, sweeps)
        # share and decide
        shared = self.exchange.share_step(sensed, scene, lights, recorder, snapshot=snapshot)
        with measure_ego(self.computing):
            answer = self._decide(sensed, shared, recorder.first_frame, snapshot)
        clock = self._add_seconds("system", clock)
        self.security.note_answer(state.frame, ego_scan.lidar_in_world, answer.cooperative)
        # evaluate: boxes that the system returned may be no boxes
        with SystemBlame():
            evaluated = evaluate_frame(
                sensed.truth,
                sensed.hits_counted,
                ego_alone=answer.ego_alone,
                cooperative=answer.cooperative,
                settings=self._rules,
                parked=sensed.parked,
            )
        if not self.knows_boxes:
            evaluated = evaluated.without_patterns()
        # record, and show
        step = DecidedStep(sensed=sensed, shared=shared, answer=answer, evaluated=evaluated)
        self._record(step, recorder)
        self._add_seconds("evaluation", clock)
        self.view.step(
            lambda: make_live_step(
                step,
                self._channel.audit.records.values(),
                start=recorder.start,
                ego_id=self.ego_id,
            )
        )
        return answer.control

    def _sense(
        self, state: EgoState, scene: GroundTruthScene, ego_scan: LidarScan, sweeps: PartnerScans
    ) -> SensedStep:
        """Return what the ego and its partners sense, and the truth around the ego."""
        reach = max(self._mount.range, self._rules.reach)
        truth = select_truth(scene, ego_scan, reach, without=(self.ego_id,))
        self.returned = frozenset(truth.actor_ids[truth.hits > 0].tolist())
        # Hits are those of the geometry: air and disturbances take points away, never hits.
        by_sender: dict[str, Integers] = {EGO: truth.hits}
        for partner, sweep in sweeps.shared:
            by_sender[partner.sender] = count_hits_by_lidar(truth, sweep, partner.carrier)
        reference = compute_most_hits(truth, ((scan, POLE) for scan in sweeps.reference))
        # The ego's sweep first: disturbances of sensing have a stream of random numbers for each.
        scan = sense_scan(self._channel, ego_scan, sender=self.exchange.sender, kind=EGO)
        shared = tuple(
            (
                partner,
                sense_scan(self._channel, sweep, sender=partner.sender, kind=partner.kind),
            )
            for partner, sweep in sweeps.shared
        )
        after: dict[str, Integers] = {}
        if self.counts_after_sensing:
            after = {EGO: count_remaining_hits(truth, scan, self.ego_id)}
            for partner, sensed in shared:
                if partner.post.reads_points:
                    after[partner.sender] = count_remaining_hits(truth, sensed, partner.carrier)
        hits = LidarHits(
            ego=truth.hits, by_sender=by_sender, reference=reference, after_sensing=after
        )
        return SensedStep(
            state=state,
            scan=scan,
            shared=shared,
            truth=truth,
            hits=hits,
            hits_counted=reference if self._rules.truth_filter == "reference" else hits.anyone,
            parked=crop_boxes_to_lidar(self._parked, scan.lidar_in_world, reach),
        )

    def take_agent_tick(self, state: EgoState, snapshot: carla.WorldSnapshot) -> None:
        """Read the sensors that a system brings, before any of several egos is asked."""
        if self.agent_sensing is not None:
            clock = time.perf_counter()
            observation = make_tick_observation(state, self._mount.pose_in_carrier)
            self.agent_sensing.take_tick(observation, snapshot)
            self._add_seconds("sensors", clock)

    def run_tick_between(self, state: EgoState, snapshot: carla.WorldSnapshot) -> Control | None:
        """Ask a system with its own sensors between planning steps; None for all others."""
        if self.agent_sensing is None:
            return None
        clock = time.perf_counter()
        observation = make_tick_observation(state, self._mount.pose_in_carrier)
        with SystemBlame(), measure_ego(self.computing):
            control = self.agent_sensing.drive_tick(observation, snapshot).control
        self._add_seconds("system", clock)
        return control

    def _decide(
        self,
        sensed: SensedStep,
        shared: SharedStep,
        first_frame: int,
        snapshot: carla.WorldSnapshot,
    ) -> Step:
        """Return the system's answer, held back and with an intervention, if the arm has them."""
        with SystemBlame():
            if self.agent_sensing is not None:
                believed, true = shared.observation.lidar_in_world, sensed.scan.lidar_in_world
                self.agent_sensing.note_belief(believed, true)
                return self.agent_sensing.drive_tick(shared.observation, snapshot)
            if self._intervening is not None or self._channel.of_answers:
                return self._decide_in_two_parts(sensed, shared, first_frame)
            if is_privileged(self._system):
                return self._system.step(shared.observation, shared.messages, sensed.truth)
            return self._system.step(shared.observation, shared.messages)

    def _decide_in_two_parts(
        self, sensed: SensedStep, shared: SharedStep, first_frame: int
    ) -> Step:
        """Perceive; hold the answer back; change it; drive by it."""
        system, observation = self._system, shared.observation
        if not is_perceiving_system(system):
            raise TypeError(f"{type(system).__name__} has no perceive and drive")
        perceived = perceive_step(system, observation, shared.messages, sensed.truth)
        if self._channel.of_answers:
            perceived = self._channel.hold_answer(perceived, observation)
        if self._intervening is not None:
            perceived = self._intervening.change_boxes(
                perceived,
                system=system,
                sensed=sensed,
                shared=shared,
                first_frame=first_frame,
                first_id=self.ego_id,
            )
        return drive_by_perception(system, observation, perceived)

    def _record(self, step: DecidedStep, recorder: AttemptRecorder) -> None:
        """Add a step to the records, the precision and the metrics of the attempt."""
        sensed = step.sensed
        for sender, hits in sensed.hits.by_sender.items():
            recorder.sightings.add_sighting(
                sensed.scan.frame,
                sender,
                sensed.truth.actor_ids,
                hits=hits,
                after=sensed.hits.after_sensing.get(sender),
            )
        if self.exchange.driver is not None:
            self.precedences.note_step(sensed.scan.frame, self.exchange.driver.precedences)
        self.precision.add_frame(step.evaluated)
        recorder.add_planning_step(step)
        if self.metrics.columns:
            self.metrics.measure_step(
                make_step_data(step, start=recorder.start, first_id=self.ego_id)
            )

    @property
    def box_changes(self) -> dict[str, list[Any]] | None:
        """The growing table of what the intervention of the arm changes; None without one."""
        return None if self._intervening is None else self._intervening.columns

    def make_intervention_record(self) -> dict[str, Any]:
        """Return the part of `result.json` about an intervention; nothing without one."""
        made = self._intervening
        return {} if made is None else {"intervention": made.make_record()}

    def close_lidar(self) -> None:
        """Take the ego's LiDAR down."""
        self.post.destroy_sensors()

    def _add_seconds(self, part: str, since: float) -> float:
        now = time.perf_counter()
        self.seconds[part] += now - since
        return now

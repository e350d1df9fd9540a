"""A planning step: sensors, messages sent and delivered, the system, evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from harness.campaign.attempt.intervening import Intervening
from harness.campaign.attempt.live import LiveView, live_step
from harness.campaign.attempt.metrics import AttemptMetrics, step_data
from harness.campaign.attempt.recorder import Hits, Recorder
from harness.campaign.attempt.results import PrecisionAccumulator
from harness.channel.channel import Channel
from harness.errors import AttemptError
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.vocabulary import (
    Control,
    EgoObservation,
    GroundTruth,
    Integers,
    Kind,
    LightAhead,
    Message,
    Observation,
    Payload,
    Pose,
    PrivilegedSystem,
    Step,
    System,
    is_privileged,
)
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.ego import Ego
from harness.world.partners import Partner, Partners
from harness.world.rig import LidarMount, Rig, Scan, ScanningPost
from harness.world.scene import GroundTruthScene, parked_in_world, within

EGO: Literal["ego"] = "ego"
POLE = 0
"""The carrier of a roadside unit: no actor."""


class Perception:
    """Runs planning steps: sensors, messages, the system, evaluation, records."""

    def __init__(
        self,
        context: AttemptContext,
        system: System | PrivilegedSystem,
        *,
        channel: Channel,
        partners: Partners,
        ego: Ego,
        mount: LidarMount,
        period: float,
        rules: EvaluationSettings,
        reads_points: bool,
        reads_surfaces: bool,
        counts_after_sensing: bool,
        metrics: AttemptMetrics,
        view: LiveView,
    ) -> None:
        self.partners = partners
        self.view = view
        self.precision = PrecisionAccumulator()
        self.metrics = metrics
        self.intervening: Intervening | None = None  # between perception and driving
        self.returned: frozenset[int] = frozenset()  # actors that the ego's last sweep returned
        self.started = time.monotonic()
        self.seconds = {"simulator": 0.0, "sensors": 0.0, "system": 0.0, "evaluation": 0.0}
        self.counts_after_sensing = counts_after_sensing
        self._system = system
        self._channel = channel
        self._ego_id = ego.actor.id
        self._mount = mount
        self._rules = rules
        self._parked = parked_in_world(context.world)
        self._post = ScanningPost(
            context,
            mount,
            period=period,
            reads_points=reads_points,
            reads_surfaces=reads_surfaces,
            carrier=ego.actor,
            noise_seed=context.noise_seed("ego"),
        )

    def begin(self) -> None:
        """Open the ego's LiDAR: from now on it sweeps once in a planning period."""
        self._post.listen()

    def sweeps(self, frame: int) -> bool:
        """Return whether the LiDARs sweep in this frame."""
        return self._post.sweeps(frame)

    def step(
        self,
        state: EgoState,
        scene: GroundTruthScene,
        lights: tuple[LightAhead, ...],
        recorder: Recorder,
    ) -> Control:
        """Sense, share, deliver, decide, evaluate."""
        clock = time.perf_counter()
        scan = self._post.collect(state.frame)
        sweeps = self.partners.collect(state.frame)
        clock = self._spent("sensors", clock)
        reach = max(self._mount.range, self._rules.reach)
        truth = self._truth(scene, scan, reach, self._ego_id)
        self.returned = frozenset(truth.actor_ids[truth.hits > 0].tolist())
        hits_of: dict[str, Integers] = {EGO: truth.hits}
        for partner, sweep in sweeps.shared:
            hits_of[partner.sender] = hits_on(truth, sweep, partner.carrier)
        of_reference = most(truth, ((scan, POLE) for scan in sweeps.reference))
        scan = self._sensed(EGO, EGO, scan)
        shared = [
            (partner, self._sensed(partner.sender, partner.kind, sweep))
            for partner, sweep in sweeps.shared
        ]
        after: dict[str, Integers] = {}
        if self.counts_after_sensing:
            after = {EGO: hits_after(truth, scan, self._ego_id)}
            for partner, sensed in shared:
                after[partner.sender] = hits_after(truth, sensed, partner.carrier)
        hits = Hits(
            ego=truth.hits,
            anyone=np.maximum.reduce([*hits_of.values()]),
            reference=of_reference,
            after_ego=after.get(EGO),
            after_anyone=np.maximum.reduce([*after.values()]) if after else None,
        )
        for sender, seen in hits_of.items():
            recorder.sightings.add(
                scan.frame, sender, truth.actor_ids, hits=seen, after=after.get(sender)
            )
        believed = {
            partner.sender: self._share(partner, sensed, scene, recorder)
            for partner, sensed in shared
        }
        observation = self._observe(state, scan, lights, recorder)
        present = {partner.sender for partner, _ in shared}
        messages = self._channel.deliver(scan.time, present)
        parked = within(self._parked, scan.lidar_in_world, reach)
        seen = hits.reference if self._rules.truth_filter == "reference" else hits.anyone
        if self.intervening is None:
            step = self._decide(observation, messages, truth)
        else:
            recorder.box_changes = self.intervening.columns
            with _blaming_the_system():
                step = self.intervening.step(
                    self._system,
                    observation,
                    messages,
                    truth=truth,
                    hits_observers=seen,
                    parked=parked,
                    lidar_in_world=scan.lidar_in_world,
                    first_frame=recorder.first_frame,
                    first_id=self._ego_id,
                )
        clock = self._spent("system", clock)
        with _blaming_the_system():
            evaluated = evaluate_frame(
                truth,
                seen,
                ego_alone=step.ego_alone,
                cooperative=step.cooperative,
                settings=self._rules,
                parked=parked,
            )
        self.precision.add(evaluated)
        ages = [scan.time - message.capture_time for message in messages]
        recorder.frame(state, step.control, evaluated, ages)
        recorder.boxes(state.frame, evaluated, truth.actor_ids, hits)
        if self.metrics.columns:
            self.metrics.step(
                step_data(
                    state,
                    recorder.start,
                    lidar_in_world=scan.lidar_in_world,
                    messages=messages,
                    step=step,
                    truth=truth,
                    evaluated=evaluated,
                    first_id=self._ego_id,
                )
            )
        self._spent("evaluation", clock)
        self.view.step(
            lambda: live_step(
                state,
                recorder.start,
                scans={EGO: scan, **{partner.sender: sensed for partner, sensed in shared}},
                believed=believed,
                truth=truth,
                hits=hits_of,
                control=step.control,
                evaluated=evaluated,
                ego_id=self._ego_id,
                messages=self._channel.audit.records.values(),
            )
        )
        return step.control

    def intervention_record(self) -> dict[str, Any]:
        """Return the part of `result.json` about an intervention; nothing without one."""
        return {} if self.intervening is None else {"intervention": self.intervening.record()}

    def end(self) -> None:
        """Take the ego's LiDAR down."""
        self._post.end()

    def _truth(
        self, scene: GroundTruthScene, scan: Scan, reach: float, carrier: int
    ) -> GroundTruth:
        truth = scene.truth_for(scan.lidar_in_world, scan.hits, reach, carrier)
        return truth[truth.actor_ids != self._ego_id] if carrier == self._ego_id else truth

    def _sensed(self, sender: str, kind: Kind, scan: Scan) -> Scan:
        """Return a scan with the points that the LiDAR returns in this air; hits stay."""
        captured = Observation(
            sender=sender,
            kind=kind,
            frame=scan.frame,
            time=scan.time,
            lidar_in_world=scan.lidar_in_world,
            points_in_lidar=scan.points_in_lidar,
        )
        sweep = self._channel.sense(captured, scan.surfaces, scan.sensitivity)
        return replace(scan, points_in_lidar=sweep.points_in_lidar, surfaces=sweep.surfaces)

    def _share(
        self, partner: Partner, scan: Scan, scene: GroundTruthScene, recorder: Recorder
    ) -> Pose:
        """Let a partner share what it sensed; return the pose that it believes."""
        observation = Observation(
            sender=partner.sender,
            kind=partner.kind,
            frame=scan.frame,
            time=scan.time,
            lidar_in_world=scan.lidar_in_world,
            points_in_lidar=scan.points_in_lidar,
        )
        self._channel.audit.captured(partner.sender, scan.frame, scan.time, scan.lidar_in_world)
        believed = self._channel.believe(observation)
        recorder.pose(
            scan.frame,
            partner.sender,
            kind=partner.kind,
            true=scan.lidar_in_world,
            believed=believed.lidar_in_world,
        )
        recorder.sweep(scan.frame, partner.sender, observation.points_in_lidar)
        if self._system.reads_messages:
            reach = partner.post.mount.range
            truth = self._truth(scene, scan, reach, partner.carrier)
            payload = self._payload(believed, truth[truth.actor_ids != self._ego_id])
            self._channel.send(
                Message(
                    sender=partner.sender,
                    kind=partner.kind,
                    capture_frame=scan.frame,
                    capture_time=scan.time,
                    lidar_in_world=believed.lidar_in_world,
                    payload=payload,
                )
            )
        return believed.lidar_in_world

    def _observe(
        self, state: EgoState, scan: Scan, lights: tuple[LightAhead, ...], recorder: Recorder
    ) -> EgoObservation:
        observation = EgoObservation(
            sender=EGO,
            kind=EGO,
            frame=scan.frame,
            time=scan.time,
            lidar_in_world=scan.lidar_in_world,
            points_in_lidar=scan.points_in_lidar,
            vehicle_in_world=state.vehicle_in_world,
            lidar_in_vehicle=self._mount.pose_in_carrier,
            speed=state.speed,
            lights=lights,
        )
        self._channel.audit.captured(EGO, scan.frame, scan.time, scan.lidar_in_world)
        believed = self._channel.believe(observation)
        self._channel.audit.believed(believed)
        recorder.pose(
            scan.frame, EGO, kind=EGO, true=scan.lidar_in_world, believed=believed.lidar_in_world
        )
        recorder.sweep(scan.frame, EGO, observation.points_in_lidar)
        assert isinstance(believed, EgoObservation)
        return believed

    def _payload(self, observation: Observation, truth: GroundTruth) -> Payload:
        with _blaming_the_system():
            if is_privileged(self._system):
                return self._system.share(observation, truth)
            return self._system.share(observation)

    def _decide(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Step:
        with _blaming_the_system():
            if is_privileged(self._system):
                return self._system.step(observation, messages, truth)
            return self._system.step(observation, messages)

    def _spent(self, part: str, since: float) -> float:
        now = time.perf_counter()
        self.seconds[part] += now - since
        return now


class _blaming_the_system:  # noqa: N801
    """Gives whatever a system raises its failure class."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, AttemptError):
            raise AttemptError(
                "agent_exception", f"{type(problem).__name__}: {problem}"
            ) from problem


def reads_surfaces(rig: Rig, channel: Channel) -> bool:
    """Return whether what points lie on is to be known: for what senses, and for hits after it."""
    sensitive = any(mount.sensitivity for mount in rig.mounts)
    known = all(mount.returns_all for mount in rig.mounts)
    return channel.needs_surfaces or ((channel.of_sweeps or sensitive) and known)


def most(truth: GroundTruth, scans: Iterable[tuple[Scan, int]]) -> Integers:
    """Return the most returns of the ego or of one of some LiDARs, each with its carrier."""
    hits = truth.hits.copy()
    for scan, carrier in scans:
        hits = np.maximum(hits, hits_on(truth, scan, carrier))
    return hits


def hits_after(truth: GroundTruth, scan: Scan, carrier: int) -> Integers:
    """Return how many points of a sensed scan are left on each."""
    if scan.surfaces is None or scan.surfaces.actors is None:
        return np.zeros(len(truth), np.int64)  # nothing was scanned
    actors, counts = np.unique(scan.surfaces.actors, return_counts=True)
    left = dict(zip(actors.tolist(), counts.tolist(), strict=True))
    return hits_on(truth, replace(scan, hits=left), carrier)


def hits_on(truth: GroundTruth, scan: Scan, carrier: int) -> Integers:
    """Return how often a LiDAR hits each; its own carrier's body is nothing that it sees."""
    hits = np.array([scan.hits.get(int(actor_id), 0) for actor_id in truth.actor_ids], np.int64)
    return np.asarray(hits * (truth.actor_ids != carrier))

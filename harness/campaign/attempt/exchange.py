"""Messages of a planning step: partners send, the ego places itself, the channel delivers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import carla

from harness.campaign.attempt.air import (
    list_blocking_boxes,
    note_roads,
    note_surroundings,
    read_carriers,
)
from harness.campaign.attempt.asking import SharingEgo
from harness.campaign.attempt.blame import SystemBlame
from harness.campaign.attempt.computing import AttemptComputing, measure_ego, note_sender
from harness.campaign.attempt.fleet import AttemptFleet
from harness.campaign.attempt.intending import (
    find_intending_driver,
    receive_intentions,
    state_intention,
)
from harness.campaign.attempt.planning_step import EGO, SensedStep, SharedStep
from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.security import AttemptSecurity
from harness.campaign.attempt.sensing import make_observation
from harness.channel.channel import Channel
from harness.channel.compensation.compensation import Compensation
from harness.types.systems import PrivilegedSystem, System
from harness.types.vocabulary import (
    Boxes,
    CarrierState,
    EgoObservation,
    GroundTruth,
    LightAhead,
    Message,
    Pose,
)
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.partners import PartnerFleet, ScanningPartner
from harness.world.rig import LidarMount, LidarScan, ScanningPost
from harness.world.scene import GroundTruthScene


class MessageExchange:
    """What one ego is sent by its partners, other driven egos among them.

    Attributes:
        sender: the ego's name in its channel: `ego`, or a name of its own where several are driven.
        sharing: this ego as a sender.
        others: driven egos that this one hears, by sender.
        partners: of this ego.
        post: its LiDAR.
        driver: that heeds what other egos plan; None where they send no intentions.
    """

    def __init__(
        self,
        context: AttemptContext,
        system: System | PrivilegedSystem,
        *,
        fleet: AttemptFleet,
        channel: Channel,
        partners: PartnerFleet,
        post: ScanningPost,
        ego_id: int,
        parked: Boxes,
        security: AttemptSecurity,
        compensation: Compensation | None,
        computing: AttemptComputing | None,
    ) -> None:
        self.sender: str = EGO
        intends = partners.settings.intentions and system.reads_messages
        self.driver = find_intending_driver(system) if intends else None
        self.sharing = SharingEgo(system, place=fleet.place, driver=self.driver)
        self.others: dict[str, SharingEgo] = {}
        self.partners = partners
        self.post = post
        self.ego_id = ego_id
        self._system, self._fleet = system, fleet
        self._channel = channel
        self._mount: LidarMount = post.mount
        self._security = security
        self._compensation = compensation
        self._computing = computing
        self._carriers: dict[str, CarrierState] = {}  # connected vehicles, if they send CAMs
        note_roads(channel, context.map)
        if channel.link is not None:
            self._blocking = list_blocking_boxes(context.world, parked)

    def join_air(self, first: MessageExchange) -> None:
        """Receive on one air with the other driven egos; senders compute once for all of them."""
        link, of_first = self._channel.link, first._channel.link
        if link is not None and of_first is not None:
            link.join_air(of_first, self.sender)
        if self._computing is not None and first._computing is not None:
            self._computing.join_egos(first._computing)

    def share_step(
        self,
        sensed: SensedStep,
        scene: GroundTruthScene,
        lights: tuple[LightAhead, ...],
        recorder: AttemptRecorder,
        *,
        snapshot: carla.WorldSnapshot,
    ) -> SharedStep:
        """Let partners send, the ego find out where it is, and the channel deliver.

        Args:
            sensed: by the ego and its partners.
            scene: all road users.
            lights: ahead on the ego's route.
            recorder: of the ego.
            snapshot: of this tick.
        """
        self._carriers = read_carriers(self._channel, sensed, scene, snapshot)
        if self._channel.link is not None:
            note_surroundings(self._channel, sensed, scene, self._blocking)
        self._security.show_scene(sensed, scene.boxes_in_world)
        believed: dict[str, Pose] = {}
        captured: dict[str, Message] = {}
        for partner, scan in sensed.shared:
            sender = partner.sender
            believed[sender], message = self._share_observation(partner, scan, scene, recorder)
            if message is not None:
                captured[sender] = replace(message, lidar_in_world=scan.lidar_in_world)
        observation = self._observe_ego(sensed.state, sensed.scan, lights, recorder)
        present = {partner.sender for partner, _ in sensed.shared}
        messages = self._channel.deliver_messages(sensed.scan.time, present)
        with SystemBlame(), measure_ego(self._computing):
            messages = self._security.judge_messages(observation, messages, sensed.truth)
        # what a rejected message says that its sender plans is not heeded
        if self.driver is not None:
            heard = receive_intentions(messages, observation)
            observation = replace(observation, intentions=heard)
        with SystemBlame(), measure_ego(self._computing):
            if self._compensation is not None:
                messages = self._compensation.compensate_messages(observation, messages)
        return SharedStep(
            observation=observation,
            messages=messages,
            ages=self._channel.audit.list_ages(messages, sensed.scan.time),
            believed=believed,
            captured=tuple(captured[sender] for sender in sorted(captured)),
        )

    def _share_observation(
        self,
        partner: ScanningPartner,
        scan: LidarScan,
        scene: GroundTruthScene,
        recorder: AttemptRecorder,
    ) -> tuple[Pose, Message | None]:
        """Let a partner share what it sensed; return the pose that it believes, and its message."""
        # what it sensed, with its true pose
        observation = make_observation(scan, sender=partner.sender, kind=partner.kind)
        self._channel.audit.note_capture(partner.sender, scan.frame, scan.time, scan.lidar_in_world)
        # the channel may shift the pose that it believes; both are recorded
        believed = self._channel.add_pose_shifts(observation)
        recorder.add_pose(
            scan.frame,
            partner.sender,
            kind=partner.kind,
            true=scan.lidar_in_world,
            believed=believed.lidar_in_world,
        )
        recorder.add_sweep(scan.frame, partner.sender, observation.points_in_lidar)
        recorder.add_pictures(scan.frame, partner.sender, observation.images)
        # the payload is made from the believed pose; truth has no box of the ego
        message: Message | None = None
        if self._system.reads_messages:
            reach = partner.post.mount.range
            truth = select_truth(scene, scan, reach, without=(partner.carrier, self.ego_id))
            began = time.perf_counter()
            intention = None
            if partner.sender in self.others:
                other = self.others[partner.sender]
                payload = other.share(
                    believed,
                    truth,
                    for_place=self.sharing.place,
                    boxes=self._fleet.wants_boxes,
                )
                intention = state_intention(other.planned, scan.lidar_in_world, scan.time)
            else:
                payload = self._fleet.ask_for_message(believed, truth)
            seconds = time.perf_counter() - began
            message = Message(
                sender=partner.sender,
                kind=partner.kind,
                capture_frame=scan.frame,
                capture_time=scan.time,
                lidar_in_world=believed.lidar_in_world,
                payload=payload,
                intention=intention,
            )
            computed = note_sender(self._computing, message, seconds)
            carrier = self._carriers.get(partner.sender)
            self._channel.send_message(message, computed, carrier)
        return believed.lidar_in_world, message

    def _observe_ego(
        self,
        state: EgoState,
        scan: LidarScan,
        lights: tuple[LightAhead, ...],
        recorder: AttemptRecorder,
    ) -> EgoObservation:
        # what it sensed, with its true pose
        observation = EgoObservation(
            sender=self.sender,
            kind=EGO,
            frame=scan.frame,
            time=scan.time,
            lidar_in_world=scan.lidar_in_world,
            points_in_lidar=scan.points_in_lidar,
            images=scan.images,
            vehicle_in_world=state.vehicle_in_world,
            lidar_in_vehicle=self._mount.pose_in_carrier,
            speed=state.speed,
            lights=lights,
        )
        audit = self._channel.audit
        audit.note_capture(self.sender, scan.frame, scan.time, scan.lidar_in_world)
        # its belief may be shifted, too; it sends no message, so the audit checks it here
        believed = self._channel.add_pose_shifts(observation)
        audit.check_belief(believed)
        recorder.add_pose(
            scan.frame, EGO, kind=EGO, true=scan.lidar_in_world, believed=believed.lidar_in_world
        )
        recorder.add_sweep(scan.frame, EGO, observation.points_in_lidar)
        recorder.add_pictures(scan.frame, EGO, observation.images)
        assert isinstance(believed, EgoObservation)
        return believed


def select_truth(
    scene: GroundTruthScene, scan: LidarScan, reach: float, *, without: Sequence[int]
) -> GroundTruth:
    """Return the road users within reach of a LiDAR, but for its carrier and another.

    Args:
        scene: all road users.
        scan: of the LiDAR.
        reach: metres.
        without: actors that do not count, the LiDAR's carrier first.
    """
    carrier, *others = without
    truth = scene.select_ground_truth(scan.lidar_in_world, scan.hits, reach, carrier)
    for actor in others:
        truth = truth[truth.actor_ids != actor]
    return truth


def introduce_egos(exchanges: Sequence[MessageExchange]) -> None:
    """Make each of several driven egos a partner of the others; one alone stays as it is.

    Args:
        exchanges: of all egos, the first one first.
    """
    if len(exchanges) == 1:
        return
    for number, ego in enumerate(exchanges):
        ego.sender = name_sending_ego(number)
        ego.join_air(exchanges[0])
    for ego in exchanges:
        others = [other for other in exchanges if other is not ego]
        ego.others = {other.sender: other.sharing for other in others}
        ego.partners.egos = [
            ScanningPartner(
                sender=other.sender,
                kind="vehicle",
                post=other.post,
                carrier=other.ego_id,
                place=(math.inf, math.inf),
            )
            for other in others
        ]


def name_sending_ego(number: int) -> str:
    """Return the sender of a driven ego among several, by its number."""
    return f"{EGO}-{number}"

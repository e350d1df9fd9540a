"""The channel: takes messages as they are captured, gives those that have arrived."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from harness.channel.answers import AnswerQueue
from harness.channel.attacks.attack import Attack, AttackScene
from harness.channel.carrying import CarriedMessage, SentSegment, carry_message
from harness.channel.delivery_audit import DeliveryAudit
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.effects import (
    EVERYWHERE,
    NO_SHIFT,
    Shift,
    Window,
    apply_pose_shifts,
    is_different_payload,
    seal_payload,
)
from harness.channel.links.link import Link
from harness.channel.messages.awareness import AwarenessTraffic
from harness.channel.messages.message_format import MessageFormat
from harness.channel.naming import number_equal_names
from harness.channel.picture_sensing import PictureSensing
from harness.channel.sensing import LidarSensing
from harness.channel.speed_sensing import SpeedSensing
from harness.channel.tally import DisturbanceAct, MessageUnderway
from harness.common.errors import UserError
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import (
    CameraImage,
    CarrierState,
    Control,
    Message,
    Observation,
    Payload,
    Perceived,
    Pose,
    Surfaces,
)


class Channel:
    """One episode's air: between surfaces and LiDARs, and between agents.

    Order at a capture: `sense_sweep` and `add_pose_shifts` of every observer, then `send_message`
    of the partners. At a planning step: `deliver_messages`.
    """

    safe_from_file = True

    def __init__(
        self,
        disturbances: Sequence[Disturbance] = (),  # of the condition
        tick_seconds: float = 0.05,  # s
        *,
        maximum_age: float = 2.0,  # s: older messages are dropped
        allow_long_delays: bool = False,  # beyond 10 s, which else are a mistake in the unit
        window: Window = EVERYWHERE,  # m, of the system
    ) -> None:
        self.disturbances = tuple(
            disturbance for disturbance in disturbances if not disturbance.size_zero
        )
        number_equal_names(self.disturbances)
        self.sensing = LidarSensing(self.disturbances)
        self.answers = AnswerQueue(self.disturbances)
        self.seeing = PictureSensing(self.disturbances)
        self.speeds = SpeedSensing(self.disturbances)
        if not maximum_age >= 0:
            raise UserError(f"channel.maximum_age = {maximum_age} s: must be ≥ 0")
        self.maximum_age = maximum_age
        self.allow_long_delays = allow_long_delays
        self.audit = DeliveryAudit(
            disturbances=self.disturbances,
            tick_seconds=tick_seconds,
            maximum_age=maximum_age,
            window=window,
        )
        self.link: Link | None = None  # None: ideal
        self.message_format: MessageFormat | None = None  # None: the payload as it is
        self.attacks = [one for one in self.disturbances if isinstance(one, Attack)]
        self.segments: list[SentSegment] = []  # of messages that were too large for one
        self._aliases: dict[str, str] = {}  # insiders by the names of forged identities
        self._underway: dict[str, list[MessageUnderway]] = {}
        self._shifts: dict[tuple[str, int], list[Shift]] = {}
        self._started = False
        self._shifted_readings = 0  # of a system's own sensors

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with empty air.

        Args:
            seed: of the attempt; every random stream of the channel comes from it.
            route: the route's name.
        """
        for disturbance in self.disturbances:
            disturbance.reset(seed, route)
        self.audit.reset_audit()
        self.sensing.reset_sensing(seed)
        self.answers.reset_queue()
        self.seeing.reset_sensing()
        if self.link is not None:
            self.link.reset(seed)
        if self.message_format is not None:
            self.message_format.reset()
        self._underway, self._shifts, self._aliases = {}, {}, {}
        self.segments = []
        self._started, self._shifted_readings = False, 0

    def note_attack_scene(self, scene: AttackScene) -> None:
        """Let insiders know what stands around, before they send at a planning step."""
        for attack in self.attacks:
            attack.note_scene(scene)

    @property
    def needs_surfaces(self) -> bool:
        """Whether a disturbance must know what the points of a sweep lie on."""
        return any(disturbance.needs_surfaces for disturbance in self.disturbances)

    def describe_air(self) -> dict[str, float]:
        """Return what pictures show of this air, by names of CARLA's `WeatherParameters`."""
        air: dict[str, float] = {}
        for disturbance in self.disturbances:
            air |= disturbance.describe_air()
        return air

    @property
    def of_sweeps(self) -> bool:
        """Whether a disturbance changes sweeps."""
        return bool(self.sensing.disturbances)

    @property
    def of_answers(self) -> bool:
        """Whether a disturbance delays what the ego makes of a moment."""
        return bool(self.answers.disturbances)

    def note_shifted_reading(self) -> None:
        """Count a reading of position, course or speed that is not what the simulator gave."""
        self._shifted_readings += 1
        self._count_sensed()

    def _count_sensed(self) -> None:
        changed = self.sensing.changed + self.seeing.changed + self._shifted_readings
        self.audit.tally.effects.sensed = changed

    @property
    def of_pictures(self) -> bool:
        """Whether a disturbance changes pictures."""
        return bool(self.seeing.disturbances)

    def hold_control(self, control: Control, observation: Observation) -> Control:
        """Take the pedals and wheel of this tick; return those that reach the vehicle by now.

        Args:
            control: of a system that answers with pedals and wheel.
            observation: of the ego.
        """
        given = self.answers.hold_control(control, observation)
        self._count_held()
        return given

    def hold_answer(self, perceived: Perceived, observation: Observation) -> Perceived:
        """Take what the ego makes of this moment; return what its driver has by now.

        Args:
            perceived: boxes in the ego's LiDAR frame.
            observation: of the ego, with the pose that it believes.

        Returns:
            Boxes in the ego's LiDAR frame of this moment.
        """
        given = self.answers.hold_answer(perceived, observation)
        self._count_held()
        return given

    def _count_held(self) -> None:
        """Give the tally what waiting came to by now."""
        effects, count = self.audit.tally.effects, self.answers.count
        effects.held, effects.answered = count.held, count.answered
        effects.answer_age, effects.answer_moved = count.age, count.moved

    def sense_sweep(
        self,
        observation: Observation,
        surfaces: Surfaces | None,
        sensitivity: LidarSensitivity | None = None,
    ) -> Sweep:
        """Return the points that the observer's LiDAR returns in this air, from all it hits.

        Args:
            observation: the sweep (points, 4) in the LiDAR's frame: metres, intensity 0 to 1.
            surfaces: what each point lies on; None where no disturbance must know.
            sensitivity: what the LiDAR detects of what comes back; None: all of it.

        Returns:
            The sweep (points left, 4) in the LiDAR's frame, with the surfaces of these points.
        """
        self._note_first_capture(observation.frame, observation.time)
        raw = Sweep(observation.points_in_lidar, surfaces, sensitivity)
        sensed = self.sensing.sense_sweep(raw, observation)
        self._count_sensed()
        return sensed

    def see_images(self, observation: Observation) -> tuple[CameraImage, ...]:
        """Return the images that the observer's cameras give it.

        Args:
            observation: with the images as the cameras took them.
        """
        self._note_first_capture(observation.frame, observation.time)
        images = self.seeing.see_images(observation)
        self._count_sensed()
        return images

    def add_pose_shifts(self, observation: Observation) -> Observation:
        """Return the observation with the pose its observer believes in.

        Args:
            observation: with its LiDAR's true pose in the world.

        Returns:
            The same with the believed pose; points stay in the LiDAR's frame.
        """
        self._note_first_capture(observation.frame, observation.time)
        # the sum of all errors is believed, and the audit expects it
        concerning = self._select_concerning(observation.kind)
        shifts = [Shift(*disturbance.shift(observation)) for disturbance in concerning]
        believed, total = apply_pose_shifts(observation.lidar_in_world, shifts)
        self.audit.note_asked_shift(observation, total)
        # a partner's errors are kept until its message of this frame is sent
        if observation.kind == "ego":
            self.audit.tally.count_belief(zip(concerning, shifts, strict=True))
        else:
            self._shifts[observation.sender, observation.frame] = shifts
        return replace(observation, lidar_in_world=believed)

    def send_message(
        self, message: Message, computed: float | None = 0.0, carrier: CarrierState | None = None
    ) -> None:
        """Let a message go, at the moment of its capture or when it has been computed.

        Args:
            message: as captured, with the pose that its sender believes.
            computed: seconds from capture until the message leaves; None: it never does.
            carrier: the sender's vehicle; None: a roadside unit, or not known.
        """
        self._note_first_capture(message.capture_frame, message.capture_time)
        if self.awareness is not None and carrier is not None:
            true_pose = self.audit.get_true_pose(message.sender, message.capture_frame)
            self.awareness.send_state(message, carrier, self.link, true_pose)
        if computed is None:
            return
        self._send_one(message, computed)
        # forged identities of insiders: they are where they claim to be, as far as records go
        for attack in self.attacks:
            for forged in attack.forge_messages(message):
                self._aliases[forged.sender] = message.sender
                self.audit.note_capture(
                    forged.sender,
                    forged.capture_frame,
                    forged.capture_time,
                    forged.lidar_in_world,
                )
                self._send_one(forged, computed)

    def _send_one(self, message: Message, computed: float) -> None:
        """Let one message go, of a partner or of a forged identity."""
        concerning = self._select_concerning(message.kind)
        nothing = [NO_SHIFT] * len(concerning)
        # errors of its pose were sampled when the pose was captured
        shifts = self._shifts.pop((message.sender, message.capture_frame), nothing)
        # a standard's format may have no message now
        if self.message_format is not None:
            written = self.message_format.write_message(message)
            pose = self._get_antenna_pose(message)
            self.message_format.send_notifications(message, computed, self.link, pose)
            if written is None:
                return
            message = written
        # content first: size and type of what is sent decide how long it takes
        stages = self._alter_message(message, concerning)
        sent = self._finish_message(stages)
        # queues and airtime begin when the sender has computed
        leaving = replace(sent, capture_time=sent.capture_time + computed) if computed else sent
        # an unsent older message may give way to this one
        for disturbance in concerning:
            self._withdraw_message(message.sender, disturbance.displaces(leaving), disturbance)
        # all delays add up; one loss is enough
        delays = [disturbance.delay(leaving) for disturbance in concerning]
        losses = [disturbance for disturbance in concerning if disturbance.loses(leaving)]
        carried = self._carry_on_link(leaving, sum(delays, computed))
        delay, lost = carried.delay, carried.lost
        clocks = [disturbance.clock_error(message) for disturbance in concerning]
        clock = sum(clocks, 0.0)
        self.audit.note_sent(message, sent, delay, losses, lost_on_link=lost, clock=clock)
        # what is lost is in the audit only
        if not losses and not lost:
            payloads = [stage.payload for stage in stages]
            acts = tuple(
                DisturbanceAct(
                    by=by, shift=shift, delay=late, clock=wrong, before=before, after=after
                )
                for by, shift, late, wrong, before, after in zip(
                    concerning, shifts, delays, clocks, payloads, payloads[1:], strict=False
                )
            )
            arrives = sent.capture_time + delay
            self._underway.setdefault(message.sender, []).append(
                MessageUnderway(
                    frame=message.capture_frame,
                    message=sent,
                    arrives=arrives,
                    captured=payloads[0],
                    acts=acts,
                    clock=clock,
                    segments=tuple(
                        (sent.capture_time + late, one) for late, one in carried.arriving
                    ),
                )
            )

    def deliver_messages(self, now: float, present: Collection[str]) -> tuple[Message, ...]:
        """Return the newest message of each partner in range that has arrived and is not too old.

        Messages of partners out of range wait: a partner that comes back is received at once, but
        with nothing older than `maximum_age`.

        Args:
            now: seconds of simulated time.
            present: names of the partners in range.

        Returns:
            At most one message of each partner, in the order of their names.
        """
        # only partners in range; SAME_MOMENT absorbs the rounding of clocks
        delivered: dict[tuple[str, int], MessageUnderway] = {}
        heard: dict[str, list[MessageUnderway]] = {}
        # a forged identity is in range as long as its insider is
        if self.message_format is not None:
            self.message_format.receive_further(now, present)
        present = {*present, *(name for name, by in self._aliases.items() if by in present)}
        for sender in sorted(self._underway.keys() & present):
            waiting = self._underway[sender]
            arrived = [pending for pending in waiting if pending.arrives <= now + SAME_MOMENT]
            if not arrived:
                continue
            # the newest stays underway: it is given again until a newer one arrives
            newest = max(arrived, key=lambda pending: pending.frame)
            self._underway[sender] = [
                pending for pending in waiting if pending.frame >= newest.frame
            ]
            if now - newest.message.capture_time <= self.maximum_age + SAME_MOMENT:
                delivered[sender, newest.frame] = newest
                heard[sender] = sorted(arrived, key=lambda pending: pending.frame)
        self.audit.note_delivered(delivered, now, present)
        given = [pending.message for pending in delivered.values()]
        if self.message_format is not None:
            given = [
                self.message_format.read_messages([one.get_arrived(now) for one in arrived])
                for arrived in heard.values()
            ]
        # stamps are those of the senders' clocks
        clocks = [pending.clock for pending in delivered.values()]
        stamped = tuple(
            replace(message, capture_time=message.capture_time + clock) if clock else message
            for message, clock in zip(given, clocks, strict=True)
        )
        self.audit.note_stamps(dict(zip(delivered, stamped, strict=True)))
        return stamped

    def find_captured(self, sender: str, frame: int) -> Payload | None:
        """Return what a sender captured, of a message that has arrived; None of others."""
        for pending in self._underway.get(sender, []):
            if pending.frame == frame:
                return pending.captured
        return None

    @property
    def awareness(self) -> AwarenessTraffic | None:
        """The messages in which vehicles say where they are; None: they send none."""
        return None if self.message_format is None else self.message_format.awareness

    @property
    def of_clocks(self) -> bool:
        """Whether a disturbance makes stamps of messages wrong."""
        return any(disturbance.of_clocks for disturbance in self.disturbances)

    def _alter_message(self, message: Message, concerning: Sequence[Disturbance]) -> list[Message]:
        """Return the message as captured, and as each disturbance leaves it."""
        stages = [replace(message, payload=seal_payload(message.payload))]
        for disturbance in concerning:
            before = stages[-1]
            # content that is equal counts as unchanged, though it may be a copy
            altered = disturbance.alter(before)
            if altered is not before:
                same = not is_different_payload(altered.payload, before.payload)
                payload = before.payload if same else seal_payload(altered.payload)
                altered = replace(altered, payload=payload)
            stages.append(altered)
        return stages

    def _finish_message(self, stages: Sequence[Message]) -> Message:
        """Return the last stage of a message, with the bytes of what disturbances made of it."""
        sent = stages[-1]
        if self.message_format is None or sent.payload is stages[0].payload:
            return sent
        return self.message_format.rewrite_message(sent, stages[0].payload)

    def _carry_on_link(self, leaving: Message, delay: float) -> CarriedMessage:
        """Return what the link makes of a message that has a delay without it."""
        carried = carry_message(self.link, leaving, self._get_antenna_pose(leaving), delay)
        self.segments += carried.segments
        return carried

    def _get_antenna_pose(self, message: Message) -> Pose | None:
        """Return the true pose of a message's antenna; None on the ideal link."""
        if self.link is None:
            return None
        carrier = self._aliases.get(message.sender, message.sender)
        return self.audit.get_true_pose(carrier, message.capture_frame)

    def _withdraw_message(self, sender: str, frame: int | None, by: Disturbance) -> None:
        if frame is not None:
            self._underway[sender] = [
                pending for pending in self._underway.get(sender, []) if pending.frame != frame
            ]
            self.audit.note_withdrawn(sender, frame)
            by.acted += 1

    def _note_first_capture(self, frame: int, time: float) -> None:
        if not self._started:
            self._started = True
            self.sensing.note_first_frame(frame)
            for disturbance in self.disturbances:
                disturbance.first_frame, disturbance.first_time = frame, time
            if self.link is not None:
                self.link.first_frame = frame

    def _select_concerning(self, kind: str) -> list[Disturbance]:
        """Return the disturbances of messages that concern a kind of agent."""
        return [
            disturbance
            for disturbance in self.disturbances
            if kind in disturbance.kinds and disturbance.of_messages
        ]

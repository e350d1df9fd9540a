"""The check of a disturbance: on the channel, with made-up captures, without a simulator."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.effects import list_payload_arrays
from harness.checks.picture_disturbance import PictureExamination
from harness.checks.sweep_disturbance import SweepExamination
from harness.common.errors import AttemptError
from harness.common.findings import Finding, make_checks
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    Features,
    Kind,
    Message,
    Observation,
    Payload,
    Perceived,
    Points,
    Pose,
)

STEPS, TICKS, PERIOD = 40, 4, 0.2
"""Planning steps, ticks and seconds between two."""
SEED, OTHER_SEED = 1, 2
SLOW = 0.02
"""Seconds of a message from which a warning is due."""
SENDERS: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"), ("vehicle-7", "vehicle"))
EGO: tuple[str, Kind] = ("ego", "ego")
CHECKS = {
    "declared": "has a name of its class, and its settings ask for something",
    "numbers": "delays are finite and not negative, displacements finite",
    "runs": "runs on boxes, points or feature maps, and the channel's audit agrees",
    "inputs": "leaves messages that it is given unchanged",
    "acts": "what the system is given differs from an undisturbed channel",
    "deterministic": "the same seed gives the same messages",
    "seed": "another seed gives other messages, unless it is declared certain",
    "reset": "reset clears everything from earlier episodes",
    "independent": "a sender's messages do not depend on other senders",
    "time": "a message takes less than a tenth of the planning interval",
}


@dataclass(frozen=True, slots=True)
class ChannelEpisode:
    """What a channel did in one episode."""

    given: tuple[tuple[str, int, bytes], ...]  # sender, planning step, content and stamp
    beliefs: tuple[Pose, ...]
    problem: str  # what the channel's audit finds wrong
    seconds: float


class DisturbanceExamination:
    """Puts one disturbance to all checks."""

    def __init__(self, make: Callable[[], Disturbance]) -> None:
        self._make, self._disturbance = make, make()
        self._payloads: dict[str, ChannelEpisode] = {}

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "declared": self._check_declaration,
            "numbers": self._check_numbers,
            "runs": self._check_runs,
            "inputs": self._check_inputs,
            "acts": self._check_effect,
            "deterministic": self._check_determinism,
            "seed": self._check_seed,
            "reset": self._check_reset,
            "independent": self._check_independence,
            "time": self._check_time,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "numbers", "runs"),
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if type(self._disturbance).name == Disturbance.name:
            why = "name is that of the base class: its random streams are named after it; set one"
            yield Finding("declared", "failed", why)
        if type(self._disturbance).sense is not Disturbance.sense:
            why = "it overrides sense, which only acts where of_sweeps = True"
            yield Finding("declared", "failed", why)
        if type(self._disturbance).see is not Disturbance.see:
            why = "it overrides see, which only acts where of_pictures = True"
            yield Finding("declared", "failed", why)
        if self._disturbance.size_zero:
            yield Finding("declared", "failed", "its settings ask for nothing: size_zero is true")

    def _check_runs(self) -> Iterator[Finding]:
        refused = []
        for name in PAYLOADS:
            played = try_episode(self._make(), name)
            if played is None:
                refused.append(name)
            else:
                self._payloads[name] = played
        for name, played in self._payloads.items():
            if played.problem:
                yield Finding("runs", "failed", f"on {name}: {played.problem}")
                return
        if not self._payloads:
            yield Finding("runs", "failed", "it refuses boxes, points and feature maps")
        else:
            without = f"; not on {', '.join(refused)}" if refused else ""
            yield Finding("runs", "passed", f"on {', '.join(self._payloads)}{without}")

    def _check_numbers(self) -> Iterator[Finding]:
        disturbance = start_disturbance(self._make())
        for number in range(STEPS):
            seen = make_observation(*SENDERS[number % len(SENDERS)], number)
            shift = disturbance.shift(seen)
            delay = disturbance.delay(make_message(seen, make_test_boxes(number)))
            if not all(map(math.isfinite, shift)):
                yield Finding("numbers", "failed", f"shift returned {shift}")
                return
            if not 0 <= delay < math.inf:
                yield Finding("numbers", "failed", f"delay returned {delay} s")
                return

    def _check_inputs(self) -> Iterator[Finding]:
        disturbance = start_disturbance(self._make())
        for step in range(STEPS):
            message = make_message(
                make_observation(*SENDERS[0], step), PAYLOADS[self._payload](step)
            )
            before = serialize_payload(message.payload)
            disturbance.alter(message)
            if serialize_payload(message.payload) != before:
                why = "alter writes into the payload that it is given: return a changed copy"
                yield Finding("inputs", "failed", why)
                return

    def _check_effect(self) -> Iterator[Finding]:
        different = [
            name
            for name, played in self._payloads.items()
            if played.given != run_undisturbed_messages(name)
        ]
        moved = any(
            played.beliefs != run_undisturbed_beliefs() for played in self._payloads.values()
        )
        if not different and not moved:
            yield Finding("acts", "failed", "messages are those of an undisturbed channel")

    def _check_determinism(self) -> Iterator[Finding]:
        if not is_same_episode(
            self._run_episode(), run_channel_episode(self._make(), self._payload)
        ):
            why = "a second instance with the same seed: sample from self.random_at, not elsewhere"
            yield Finding("deterministic", "failed", why)

    def _check_seed(self) -> Iterator[Finding]:
        alike = is_same_episode(
            self._run_episode(), run_channel_episode(self._make(), self._payload, seed=OTHER_SEED)
        )
        if alike and not self._disturbance.certain:
            why = "another seed gives the same messages; declare certain = True if that is meant"
            yield Finding("seed", "warning", why)

    def _check_reset(self) -> Iterator[Finding]:
        again = start_disturbance(self._make())
        run_channel_episode(again, self._payload, seed=OTHER_SEED)
        if not is_same_episode(self._run_episode(), run_channel_episode(again, self._payload)):
            why = "after another episode the same seed gives other messages: clear all in reset"
            yield Finding("reset", "failed", why)

    def _check_independence(self) -> Iterator[Finding]:
        name, _ = SENDERS[0]
        episodes = (
            run_channel_episode(self._make(), self._payload, senders=SENDERS[:1]),
            self._run_episode(),
        )
        alone, among = (
            tuple(one for one in episode.given if one[0] == name) for episode in episodes
        )
        if alone != among:
            why = f"messages of {name} change with another sender: sample by the sender's name"
            yield Finding("independent", "failed", why)

    def _check_time(self) -> Iterator[Finding]:
        seconds = max(played.seconds for played in self._payloads.values()) / STEPS / len(SENDERS)
        said = f"{1000 * seconds:.2f} ms for each message at most"
        yield Finding("time", "warning" if seconds > SLOW else "passed", said)

    @cached_property
    def _payload(self) -> str:
        """What the other checks send: the first payload that it can change."""
        known = self._payloads.items()
        acting = [name for name, played in known if played.given != run_undisturbed_messages(name)]
        return (acting or list(self._payloads))[0]

    def _run_episode(self) -> ChannelEpisode:
        return self._payloads[self._payload]


def findings_of(make: Callable[[], Disturbance]) -> list[Finding]:
    """Return what the check of a disturbance finds: of sweeps, of pictures, or of messages."""
    if make().of_pictures:
        return PictureExamination(make).list_findings()
    if make().of_sweeps:
        return SweepExamination(make).list_findings()
    return DisturbanceExamination(make).list_findings()


def start_disturbance(disturbance: Disturbance) -> Disturbance:
    """Return a disturbance at the start of an episode."""
    disturbance.reset(SEED, "check")
    return disturbance


def try_episode(disturbance: Disturbance, payload: str) -> ChannelEpisode | None:
    """Return an episode, or None if the disturbance refuses such payloads."""
    try:
        return run_channel_episode(disturbance, payload)
    except AttemptError as problem:
        if problem.failure != "interference_not_delivered":
            raise
    return None


def run_channel_episode(
    disturbance: Disturbance | None,
    payload: str,
    seed: int = SEED,
    senders: Sequence[tuple[str, Kind]] = SENDERS,
) -> ChannelEpisode:
    """Return what a channel with a disturbance does to some senders' messages."""
    channel = Channel([] if disturbance is None else [disturbance], PERIOD / TICKS)
    channel.reset(seed, "check")
    given: list[tuple[str, int, bytes]] = []
    beliefs: list[Pose] = []
    since = time.perf_counter()
    for step in range(STEPS):
        # everyone senses and believes; all but the ego send
        for sender, kind in (EGO, *senders):
            seen = make_observation(sender, kind, step)
            channel.audit.note_capture(sender, seen.frame, seen.time, seen.lidar_in_world)
            believed = channel.add_pose_shifts(seen)
            beliefs.append(believed.lidar_in_world)
            if kind == "ego":
                channel.audit.check_belief(believed)
                continue
            message = make_message(believed, PAYLOADS[payload](step))
            channel.send_message(message)
        # what arrives at the ego in this step
        present = [sender for sender, _ in senders]
        arrived = channel.deliver_messages(PERIOD * step, present)
        given += [(message.sender, step, serialize_message(message)) for message in arrived]
        # what the ego's driver is given of what it perceives
        boxes = make_test_boxes(step)
        answer = channel.hold_answer(Perceived(boxes, boxes), make_observation(*EGO, step))
        given.append(("driver", step, serialize_payload(answer.cooperative)))
    seconds = time.perf_counter() - since
    # the audit compares what arrived with what was asked
    try:
        channel.audit.verify_deliveries()
        problem = ""
    except AttemptError as wrong:
        problem = str(wrong)
    return ChannelEpisode(tuple(given), tuple(beliefs), problem, seconds)


def make_observation(sender: str, kind: Kind, step: int) -> Observation:
    """Return one capture: all drive along x, side by side."""
    pose = Pose(1.6 * step, float(sum(sender.encode()) % 17), 1.85)
    nothing = np.zeros((0, 4), np.float32)
    return Observation(
        sender=sender,
        kind=kind,
        frame=TICKS * step,
        time=PERIOD * step,
        lidar_in_world=pose,
        points_in_lidar=nothing,
    )


def make_message(seen: Observation, payload: Payload) -> Message:
    """Return the message of a capture."""
    return Message(
        sender=seen.sender,
        kind=seen.kind,
        capture_frame=seen.frame,
        capture_time=seen.time,
        lidar_in_world=seen.lidar_in_world,
        payload=payload,
    )


def make_test_boxes(step: int) -> Boxes:
    """Return five vehicles ahead."""
    geometry = np.tile([10.0, 2.0, -1.0, 4.5, 1.9, 1.6, 0.3], (5, 1))
    geometry[:, 0] += 8.0 * np.arange(5) + 0.1 * step
    return Boxes(geometry, np.full(5, VEHICLE, np.int64), np.full(5, 0.8))


def make_test_points(step: int) -> Points:
    """Return 100 points."""
    low, high = [-60.0, -60.0, -7.5, 0.1], [60.0, 60.0, 1.0, 0.9]
    random = make_named_stream(step, "check", "points")
    return Points(random.uniform(low, high, (100, 4)).astype(np.float32))


def make_test_features(step: int) -> Features:
    """Return two feature maps."""
    random = make_named_stream(step, "check", "features")
    sizes = ((10, 12, 16), (20, 6, 8))
    return Features(tuple(random.normal(0.0, 1.0, size).astype(np.float32) for size in sizes))


PAYLOADS: dict[str, Callable[[int], Payload]] = {
    "boxes": make_test_boxes,
    "points": make_test_points,
    "feature maps": make_test_features,
}


@cache
def run_undisturbed_messages(payload: str) -> tuple[tuple[str, int, bytes], ...]:
    """Return what arrives without any disturbance."""
    return run_channel_episode(None, payload).given


@cache
def run_undisturbed_beliefs() -> tuple[Pose, ...]:
    """Return where all believe to be without any disturbance."""
    return run_channel_episode(None, "boxes").beliefs


def serialize_message(message: Message) -> bytes:
    """Return all numbers of a message: those of its payload, and its time stamp."""
    return serialize_payload(message.payload) + np.float64(message.capture_time).tobytes()


def serialize_payload(payload: Payload) -> bytes:
    """Return all numbers of a payload."""
    return b"".join(array.tobytes() for array in list_payload_arrays(payload))


def is_same_episode(one: ChannelEpisode, other: ChannelEpisode) -> bool:
    """Return whether two episodes had the same messages and beliefs."""
    return one.given == other.given and one.beliefs == other.beliefs

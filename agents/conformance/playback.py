"""Plays recorded steps to a system, as an attempt would call it, and keeps what it answers."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from agents.conformance.recorded_steps import RecordedStep, Recording
from harness.types.systems import has_image_reader, is_privileged
from harness.types.vocabulary import EgoObservation, Message, Observation, Payload, Singles, Step


def hash_nested_value(thing: object) -> str:
    """Return a digest of every number in a nested value."""
    digest = hashlib.sha256()
    for part in iter_value_bytes(thing):
        digest.update(part)
    return digest.hexdigest()[:16]


def iter_value_bytes(thing: object) -> Iterator[bytes]:
    """Yield the bytes of dataclasses, tuples, lists and arrays, nested."""
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype}{thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from iter_value_bytes(getattr(thing, field.name))
    elif isinstance(thing, tuple | list):
        for element in thing:
            yield from iter_value_bytes(element)
    else:
        yield repr(thing).encode()


Sent: TypeAlias = tuple[Message, ...]
Channel: TypeAlias = Callable[[list[Sent]], Sent]
"""Returns the messages that have arrived, from all that were sent, one entry for each step."""

NO_POINTS: Singles = np.zeros((0, 4), np.float32)


class RunAbortedError(Exception):
    """A run was aborted; `Run.raised` has the cause."""


@dataclass(slots=True, eq=False, kw_only=True)
class PlaybackRun:
    """What a system did in one episode."""

    steps: list[Step] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    step_seconds: list[float] = field(default_factory=list)
    share_seconds: list[float] = field(default_factory=list)
    raised: str = ""
    changed: str = ""  # which of its inputs
    overwritten: str = ""  # whose payload

    @property
    def bytes(self) -> str:
        """Return a digest of all that it answered and sent."""
        return hash_nested_value([self.steps, self.payloads])


def deliver_at_once(sent: list[Sent]) -> Sent:
    """Deliver without delay."""
    return sent[-1]


def deliver_nothing(sent: list[Sent]) -> Sent:
    """Deliver nothing."""
    return ()


def deliver_late(sent: list[Sent]) -> Sent:
    """Deliver messages captured three planning steps ago."""
    return sent[-4] if len(sent) > 3 else ()


def make_displacing_channel(by: float) -> Channel:
    """Return a channel that shifts the senders' believed poses by `by` metres along both axes."""

    def deliver(sent: list[Sent]) -> Sent:
        return tuple(
            replace(message, lidar_in_world=replace(at, x=at.x + by, y=at.y + by))
            for message, at in ((message, message.lidar_in_world) for message in sent[-1])
        )

    return deliver


def play_recording(
    system: Any, recording: Recording, seed: int, channel: Channel = deliver_at_once
) -> PlaybackRun:
    """Play one episode to a system."""
    run = PlaybackRun()
    sent: list[Sent] = []
    marks: list[tuple[str, str, Payload]] = []
    try:
        call_system(run, "reset", partial(system.reset, seed, recording.route))
        # partners share, the channel delivers, the ego drives; digests show who writes into
        # payloads
        for number, recorded in enumerate(recording.steps):
            if system.reads_messages:
                sent.append(
                    share_partner_messages(system, recorded, run, f"planning step {number}")
                )
                marks += [
                    (message.sender, hash_nested_value(message.payload), message.payload)
                    for message in sent[-1]
                ]
            arrived = channel(sent) if system.reads_messages else ()
            run_ego_step(system, recorded, arrived=arrived, run=run, when=f"planning step {number}")
    except RunAbortedError:
        pass
    # a payload belongs to its message: no one may change it later
    for sender, before, payload in marks:
        if hash_nested_value(payload) != before:
            run.overwritten = sender
    return run


def share_partner_messages(
    system: Any, recorded: RecordedStep, run: PlaybackRun, when: str
) -> Sent:
    """Return the messages of all partners at a step."""
    messages = []
    for view in recorded.partners:
        observation = copy_observation(system, view.observation)
        given = [observation, deepcopy(view.truth)] if is_privileged(system) else [observation]
        whose = f"the observation of {observation.sender} at {when}"
        share = partial(call_system, run, f"share at {when}", partial(system.share, *given))
        payload = call_with_input_check(
            run, share, given=given, whose=whose, seconds=run.share_seconds
        )
        run.payloads.append(deepcopy(payload))
        o = observation
        messages.append(
            Message(
                sender=o.sender,
                kind=o.kind,
                capture_frame=o.frame,
                capture_time=o.time,
                lidar_in_world=o.lidar_in_world,
                payload=payload,
            )
        )
    return tuple(messages)


def run_ego_step(
    system: Any, recorded: RecordedStep, *, arrived: Sent, run: PlaybackRun, when: str
) -> None:
    """Let the ego's system plan a step."""
    given: list[Any] = [copy_observation(system, recorded.observation), deepcopy(arrived)]
    if is_privileged(system):
        given.append(deepcopy(recorded.truth))
    step = partial(call_system, run, f"step at {when}", partial(system.step, *given))
    whose = f"the inputs of step at {when}"
    answer = call_with_input_check(run, step, given=given, whose=whose, seconds=run.step_seconds)
    run.steps.append(deepcopy(answer))


def call_with_input_check(
    run: PlaybackRun, work: Callable[[], Any], *, given: list[Any], whose: str, seconds: list[float]
) -> Any:
    """Return an answer; record its duration, and whether its inputs were modified."""
    before = hash_nested_value(given)
    clock = time.perf_counter()
    answer = work()
    seconds.append(time.perf_counter() - clock)
    if hash_nested_value(given) != before:
        run.changed = whose
    return answer


def copy_observation(system: Any, observation: Observation) -> Observation | EgoObservation:
    """Return a copy of an observation, without points for systems that read none."""
    points = observation.points_in_lidar.copy() if system.reads_points else NO_POINTS.copy()
    images = observation.images if has_image_reader(system) else ()
    return replace(observation, points_in_lidar=points, images=images)


def call_system(run: PlaybackRun, what: str, work: Callable[[], Any]) -> Any:
    """Return what a system answers; record what it raises."""
    try:
        return work()
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        text = " ".join(str(problem).split())
        run.raised = f"{what}: {type(problem).__name__}: {text} ({last.filename}:{last.lineno})"
        raise RunAbortedError from None

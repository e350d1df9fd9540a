"""A system plays recorded moments, as an attempt would call it; what it did is kept."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from agents.conformance.fingerprints import fingerprint
from agents.conformance.moments import Moment, Recording
from harness.vocabulary import (
    EgoObservation,
    Message,
    Observation,
    Payload,
    Singles,
    Step,
    is_privileged,
)

Sent: TypeAlias = tuple[Message, ...]
Channel: TypeAlias = Callable[[list[Sent]], Sent]
"""Returns what has arrived of all that was sent up to now, one entry for each moment."""

NO_POINTS: Singles = np.zeros((0, 4), np.float32)


class CannotGoOnError(Exception):
    """A run cannot go on; why is in its record."""


@dataclass(slots=True, eq=False)
class Run:
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
        """Return what changes with anything it answered or sent."""
        return fingerprint([self.steps, self.payloads])


def at_once(sent: list[Sent]) -> Sent:
    """Deliver without delay."""
    return sent[-1]


def never(sent: list[Sent]) -> Sent:
    """Deliver nothing."""
    return ()


def late(sent: list[Sent]) -> Sent:
    """Deliver what was captured three planning steps ago."""
    return sent[-4] if len(sent) > 3 else ()


def displaced(by: float) -> Channel:
    """Deliver messages whose senders believe to stand so many metres farther along both axes."""

    def deliver(sent: list[Sent]) -> Sent:
        return tuple(
            replace(each, lidar_in_world=replace(at, x=at.x + by, y=at.y + by))
            for each, at in ((each, each.lidar_in_world) for each in sent[-1])
        )

    return deliver


def play(system: Any, recording: Recording, seed: int, channel: Channel = at_once) -> Run:
    """Let a system live through an episode."""
    run = Run()
    sent: list[Sent] = []
    marks: list[tuple[str, str, Payload]] = []
    try:
        call(run, "reset", partial(system.reset, seed, recording.route))
        for number, moment in enumerate(recording.moments):
            if system.reads_messages:
                sent.append(shared(system, moment, run, f"moment {number}"))
                marks += [
                    (each.sender, fingerprint(each.payload), each.payload) for each in sent[-1]
                ]
            arrived = channel(sent) if system.reads_messages else ()
            decide(system, moment, arrived, run, f"moment {number}")
    except CannotGoOnError:
        pass
    for sender, before, payload in marks:
        if fingerprint(payload) != before:
            run.overwritten = sender
    return run


def shared(system: Any, moment: Moment, run: Run, when: str) -> Sent:
    """Let all partners share."""
    messages = []
    for sight in moment.partners:
        observation = sensed(system, sight.observation)
        given = [observation, deepcopy(sight.truth)] if is_privileged(system) else [observation]
        whose = f"what {observation.sender} was given to share, at {when}"
        share = partial(call, run, f"share at {when}", partial(system.share, *given))
        payload = watched(run, share, given, whose, run.share_seconds)
        run.payloads.append(deepcopy(payload))
        o = observation
        messages.append(Message(o.sender, o.kind, o.frame, o.time, o.lidar_in_world, payload))
    return tuple(messages)


def decide(system: Any, moment: Moment, arrived: Sent, run: Run, when: str) -> None:
    """Let the ego decide."""
    given: list[Any] = [sensed(system, moment.observation), deepcopy(arrived)]
    if is_privileged(system):
        given.append(deepcopy(moment.truth))
    step = partial(call, run, f"step at {when}", partial(system.step, *given))
    whose = f"what it was given to decide by, at {when}"
    answer = watched(run, step, given, whose, run.step_seconds)
    run.steps.append(deepcopy(answer))


def watched(
    run: Run, work: Callable[[], Any], given: list[Any], whose: str, seconds: list[float]
) -> Any:
    """Return an answer; note how long it took, and whether what was given is as it was."""
    before = fingerprint(given)
    clock = time.perf_counter()
    answer = work()
    seconds.append(time.perf_counter() - clock)
    if fingerprint(given) != before:
        run.changed = whose
    return answer


def sensed(system: Any, observation: Observation) -> Observation | EgoObservation:
    """Return a copy of what is sensed, without points for systems that read none."""
    points = observation.points_in_lidar.copy() if system.reads_points else NO_POINTS.copy()
    return replace(observation, points_in_lidar=points)


def call(run: Run, what: str, work: Callable[[], Any]) -> Any:
    """Return what a system answers; note what it raises."""
    try:
        return work()
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        told = " ".join(str(problem).split())
        run.raised = f"{what}: {type(problem).__name__}: {told} ({last.filename}:{last.lineno})"
        raise CannotGoOnError from None

"""Whether a step is perceive and then drive, with nothing but boxes between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from agents.conformance.playback import (
    NO_POINTS,
    Run,
    RunAbortedError,
    Sent,
    call,
    fingerprint,
    sensed,
    shared,
)
from agents.conformance.recorded_steps import RecordedStep, Recording
from harness.findings import Finding
from harness.vocabulary import Perceived, Step, is_privileged, perceives

PARTS = ("perceive", "drive")
CHECK = "perceive and drive"
WHOLE = "without perceive and drive, interventions on its errors leave it out"


def in_two_parts(
    make: Callable[[], Any], first: Run, recording: Recording, seed: int
) -> Iterator[Finding]:
    """Yield what is wrong with `perceive` and `drive`, compared with the steps of a first run."""
    system = make()
    if not perceives(system):
        there = [name for name in PARTS if callable(getattr(system, name, None))]
        if there:
            yield Finding(CHECK, "warning", f"it has {there[0]} alone; {WHOLE}")
        else:
            yield Finding(CHECK, "note", WHOLE)
        return
    run = Run()
    perceived: list[Any] = []
    try:
        play_in_parts(system, recording, seed, run=run, perceived=perceived)
    except RunAbortedError:
        yield Finding(CHECK, "failed", run.raised)
        return
    for answer in perceived:
        if not isinstance(answer, Perceived):
            came = type(answer).__name__
            text = f"perceive returns {came}; Perceived(cooperative, ego_alone) is needed"
            yield Finding(CHECK, "failed", text)
            return
    if fingerprint(run.steps) != fingerprint(first.steps):
        text = "step is not perceive followed by drive: its answers differ; derive step from them"
        yield Finding(CHECK, "failed", text)
        return
    yield from drives_by_boxes(make(), first, recording, seed)


def play_in_parts(
    system: Any,
    recording: Recording,
    seed: int,
    *,
    run: Run,
    perceived: list[Any],
) -> None:
    """Play an episode with the two calls for `step`."""
    call(run, "reset", partial(system.reset, seed, recording.route))
    for number, recorded in enumerate(recording.steps):
        when = f"planning step {number}"
        arrived = shared(system, recorded, run, when) if system.reads_messages else ()
        given = arguments(system, recorded, arrived)
        answer = call(run, f"perceive at {when}", partial(system.perceive, *given))
        perceived.append(answer)
        if isinstance(answer, Perceived):
            drive = partial(system.drive, given[0], answer.cooperative)
            control = call(run, f"drive at {when}", drive)
            run.steps.append(deepcopy(Step(control, answer.cooperative, answer.ego_alone)))


def arguments(system: Any, recorded: RecordedStep, arrived: Sent) -> list[Any]:
    """Return what `perceive` is called with."""
    given: list[Any] = [sensed(system, recorded.observation), deepcopy(arrived)]
    return [*given, deepcopy(recorded.truth)] if is_privileged(system) else given


def drives_by_boxes(system: Any, first: Run, recording: Recording, seed: int) -> Iterator[Finding]:
    """Yield whether `drive` depends on more than boxes: on points, or on what `perceive` kept."""
    run = Run()
    controls = []
    try:
        call(run, "reset", partial(system.reset, seed, recording.route))
        for number, (recorded, step) in enumerate(zip(recording.steps, first.steps, strict=True)):
            blind = replace(recorded.observation, points_in_lidar=NO_POINTS.copy())
            drive = partial(system.drive, blind, deepcopy(step.cooperative))
            controls.append(call(run, f"drive at planning step {number}", drive))
    except RunAbortedError:
        yield Finding(CHECK, "failed", f"without perceive and points, {run.raised}")
        return
    if fingerprint(controls) != fingerprint([step.control for step in first.steps]):
        yield Finding(
            CHECK,
            "failed",
            "drive answers differently if perceive was not called and there are no points: it must"
            " get other road users from the boxes it is given, and from nothing else",
        )

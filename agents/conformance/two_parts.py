"""Whether a step is perceive and then drive, with nothing but boxes between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from agents.conformance.playback import (
    NO_POINTS,
    PlaybackRun,
    RunAbortedError,
    Sent,
    call_system,
    copy_observation,
    hash_nested_value,
    share_partner_messages,
)
from agents.conformance.recorded_steps import RecordedStep, Recording
from harness.common.findings import Finding
from harness.types.systems import is_perceiving_system, is_privileged
from harness.types.vocabulary import Perceived, Step

PARTS = ("perceive", "drive")
CHECK = "perceive and drive"
WHOLE = "without perceive and drive, interventions on its errors leave it out"


def check_two_parts(
    make: Callable[[], Any], first: PlaybackRun, recording: Recording, seed: int
) -> Iterator[Finding]:
    """Yield what is wrong with `perceive` and `drive`, compared with the steps of a first run."""
    system = make()
    # only one of both, or none
    if not is_perceiving_system(system):
        there = [name for name in PARTS if callable(getattr(system, name, None))]
        if there:
            yield Finding(CHECK, "warning", f"it has {there[0]} alone; {WHOLE}")
        else:
            yield Finding(CHECK, "note", WHOLE)
        return
    # both, in place of `step`
    run = PlaybackRun()
    perceived: list[Any] = []
    try:
        play_two_parts(system, recording, seed, run=run, perceived=perceived)
    except RunAbortedError:
        yield Finding(CHECK, "failed", run.raised)
        return
    for answer in perceived:
        if not isinstance(answer, Perceived):
            came = type(answer).__name__
            text = f"perceive returns {came}; Perceived(cooperative, ego_alone) is needed"
            yield Finding(CHECK, "failed", text)
            return
    # with the same answers
    if hash_nested_value(run.steps) != hash_nested_value(first.steps):
        text = "step is not perceive followed by drive: its answers differ; derive step from them"
        yield Finding(CHECK, "failed", text)
        return
    yield from check_drive_inputs(make(), first, recording, seed)


def play_two_parts(
    system: Any,
    recording: Recording,
    seed: int,
    *,
    run: PlaybackRun,
    perceived: list[Any],
) -> None:
    """Play an episode with the two calls for `step`."""
    call_system(run, "reset", partial(system.reset, seed, recording.route))
    for number, recorded in enumerate(recording.steps):
        when = f"planning step {number}"
        arrived = (
            share_partner_messages(system, recorded, run, when) if system.reads_messages else ()
        )
        given = list_perceive_arguments(system, recorded, arrived)
        answer = call_system(run, f"perceive at {when}", partial(system.perceive, *given))
        perceived.append(answer)
        if isinstance(answer, Perceived):
            drive = partial(system.drive, given[0], answer.cooperative)
            control = call_system(run, f"drive at {when}", drive)
            run.steps.append(deepcopy(Step(control, answer.cooperative, answer.ego_alone)))


def list_perceive_arguments(system: Any, recorded: RecordedStep, arrived: Sent) -> list[Any]:
    """Return what `perceive` is called with."""
    given: list[Any] = [copy_observation(system, recorded.observation), deepcopy(arrived)]
    return [*given, deepcopy(recorded.truth)] if is_privileged(system) else given


def check_drive_inputs(
    system: Any, first: PlaybackRun, recording: Recording, seed: int
) -> Iterator[Finding]:
    """Yield whether `drive` depends on more than boxes: on points, or on what `perceive` kept."""
    run = PlaybackRun()
    controls = []
    try:
        call_system(run, "reset", partial(system.reset, seed, recording.route))
        for number, (recorded, step) in enumerate(zip(recording.steps, first.steps, strict=True)):
            # no points, no call of `perceive` before: only the boxes of the first run
            blind = replace(recorded.observation, points_in_lidar=NO_POINTS.copy())
            drive = partial(system.drive, blind, deepcopy(step.cooperative))
            controls.append(call_system(run, f"drive at planning step {number}", drive))
    except RunAbortedError:
        yield Finding(CHECK, "failed", f"without perceive and points, {run.raised}")
        return
    if hash_nested_value(controls) != hash_nested_value([step.control for step in first.steps]):
        yield Finding(
            CHECK,
            "failed",
            "drive answers differently if perceive was not called and there are no points: it must"
            " get other road users from the boxes it is given, and from nothing else",
        )

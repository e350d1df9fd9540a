"""Whether a system keeps to what it is given, starts anew, and makes something of messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import median

from agents.conformance.finding import Finding
from agents.conformance.fingerprints import fingerprint
from agents.conformance.playing import Run
from harness.vocabulary import Boxes, Step

PERIOD = 0.2
"""Seconds between two planning steps."""


def inputs_stay(run: Run) -> Iterator[Finding]:
    """Yield inputs that were written into."""
    if run.changed:
        yield Finding(
            "inputs",
            "failed",
            f"it wrote into {run.changed}; others use the same arrays: copy before you change",
        )


def payloads_stay(run: Run) -> Iterator[Finding]:
    """Yield messages that changed after they were sent."""
    if run.overwritten:
        yield Finding(
            "payloads",
            "failed",
            f"what {run.overwritten} sent changed after it was sent: share returns a buffer that is"
            " used again; return a copy, messages may arrive seconds later",
        )


def deterministic(first: Run, fresh: Run) -> Iterator[Finding]:
    """Yield whether two systems, made alike, answer alike."""
    if fresh.raised:
        yield Finding("same again", "failed", f"a second one raises: {fresh.raised}")
    elif first.bytes != fresh.bytes:
        where = difference(first, fresh)
        yield Finding(
            "same again",
            "failed",
            f"made and reset alike, it answers differently {where}: draw from a generator made of"
            " the seed in reset, and let no answer depend on clocks, hashes or the order of sets",
        )


def episodes(first: Run, again: Run) -> Iterator[Finding]:
    """Yield whether an episode leaves something behind."""
    if again.raised:
        yield Finding("new episode", "failed", f"after another episode it raises: {again.raised}")
    elif first.bytes != again.bytes:
        yield Finding(
            "new episode",
            "failed",
            f"after another episode, the same seed gives something else {difference(first, again)}:"
            " reset must forget all that was seen",
        )


def heard(first: Run, silent: Run) -> Iterator[Finding]:
    """Yield whether messages change nothing."""
    if same(cooperative(first), cooperative(silent)):
        yield Finding(
            "messages",
            "failed",
            "it says reads_messages = True, and cooperative is the same without any message in"
            f" {len(first.steps)} moments with partners near: use them, or say False",
        )


def believed(first: Run, moved: Run) -> Iterator[Finding]:
    """Yield whether it does not matter where senders believe to be."""
    if same(cooperative(first), cooperative(moved)):
        yield Finding(
            "believed pose",
            "failed",
            "senders that believe to stand 3 m aside change nothing: bring what they send from"
            " message.lidar_in_world to observation.lidar_in_world",
        )


def alone(first: Run, others: Sequence[Run]) -> Iterator[Finding]:
    """Yield whether what the ego has alone depends on messages."""
    own = [step.ego_alone for step in first.steps]
    if any(not same(own, [step.ego_alone for step in other.steps]) for other in others):
        yield Finding(
            "ego alone",
            "failed",
            "ego_alone changes with the messages; it is what the ego would detect without any",
        )


def quick(run: Run) -> Finding:
    """Return how long it takes."""
    step = median(run.step_seconds)
    sharing = f", share {median(run.share_seconds) * 1e3:.0f}" if run.share_seconds else ""
    told = (
        f"step takes {step * 1e3:.0f} ms in the middle{sharing}, of {PERIOD * 1e3:.0f} between two"
    )
    if step > PERIOD:
        return Finding("time", "warning", f"{told}; campaigns wait for it, a car would not")
    return Finding("time", "passed", told)


def keeps_to_it(system: object) -> Iterator[Finding]:
    """Yield whether its modules have a way to the simulator at hand."""
    modules = [sys.modules.get(kind.__module__) for kind in type(system).__mro__]
    if any(hasattr(each, "carla") for each in modules):
        yield Finding(
            "truth",
            "warning",
            "its module imports carla, by which the truth could be asked for; all that a system may"
            " know is in its arguments",
        )


def cooperative(run: Run) -> list[Boxes]:
    """Return what was detected with messages."""
    return [step.cooperative for step in run.steps]


def same(one: Sequence[Boxes], other: Sequence[Boxes]) -> bool:
    """Return whether boxes are the same to the byte."""
    return fingerprint(list(one)) == fingerprint(list(other))


def difference(one: Run, other: Run) -> str:
    """Return where two runs first differ."""
    if fingerprint(one.payloads) != fingerprint(other.payloads):
        return "(what partners send)"
    for number, (a, b) in enumerate(zip(one.steps, other.steps, strict=True)):
        parts = [
            name
            for name in Step.__slots__
            if fingerprint(getattr(a, name)) != fingerprint(getattr(b, name))
        ]
        if parts:
            return f"({parts[0]} at moment {number})"
    return ""

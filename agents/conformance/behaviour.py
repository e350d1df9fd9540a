"""Whether a system leaves its inputs alone, is deterministic, resets, and uses messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import median

from agents.conformance.playback import PlaybackRun, hash_nested_value
from harness.common.findings import Finding
from harness.types.vocabulary import Boxes, Step

PERIOD = 0.2
"""Seconds between two planning steps."""


def check_inputs_unchanged(run: PlaybackRun) -> Iterator[Finding]:
    """Yield inputs that were modified."""
    if run.changed:
        yield Finding(
            "inputs",
            "failed",
            f"it modified {run.changed}; these arrays are shared: copy before changing",
        )


def check_payloads_unchanged(run: PlaybackRun) -> Iterator[Finding]:
    """Yield payloads that changed after they were sent."""
    if run.overwritten:
        yield Finding(
            "payloads",
            "failed",
            f"the payload of {run.overwritten} changed after it was sent: share returns a buffer"
            " that is reused; return a copy, since messages may arrive seconds later",
        )


def check_determinism(first: PlaybackRun, fresh: PlaybackRun) -> Iterator[Finding]:
    """Yield whether two instances with the same arguments give different answers."""
    if fresh.raised:
        yield Finding("deterministic", "failed", f"a second instance raises: {fresh.raised}")
    elif first.bytes != fresh.bytes:
        where = find_run_difference(first, fresh)
        yield Finding(
            "deterministic",
            "failed",
            f"with the same arguments and seed the answers differ {where}: use one random"
            " generator, seeded in reset, and no clocks, hashes or order of sets",
        )


def check_episode_reset(first: PlaybackRun, again: PlaybackRun) -> Iterator[Finding]:
    """Yield whether an earlier episode changes the answers."""
    if again.raised:
        yield Finding("reset", "failed", f"after another episode it raises: {again.raised}")
    elif first.bytes != again.bytes:
        yield Finding(
            "reset",
            "failed",
            f"after another episode the same seed gives different answers"
            f" {find_run_difference(first, again)}: reset must clear all state",
        )


def check_message_effect(first: PlaybackRun, silent: PlaybackRun) -> Iterator[Finding]:
    """Yield whether messages have no effect."""
    if has_same_boxes(list_cooperative_boxes(first), list_cooperative_boxes(silent)):
        yield Finding(
            "messages",
            "failed",
            "reads_messages is True, but cooperative is the same without messages in"
            f" {len(first.steps)} steps with partners near: use them, or set it to False",
        )


def note_missing_pictures() -> Iterator[Finding]:
    """Yield that nothing is known of messages, since recorded steps have no pictures."""
    yield Finding(
        "messages",
        "note",
        "it reads images, and recorded steps have none: whether messages change its boxes is not"
        " known",
    )


def check_pose_effect(first: PlaybackRun, moved: PlaybackRun) -> Iterator[Finding]:
    """Yield whether the believed poses of senders have no effect."""
    if has_same_boxes(list_cooperative_boxes(first), list_cooperative_boxes(moved)):
        yield Finding(
            "believed pose",
            "failed",
            "shifting the believed poses of senders by 3 m changes nothing: transform payloads from"
            " message.lidar_in_world to observation.lidar_in_world",
        )


def check_ego_alone(first: PlaybackRun, others: Sequence[PlaybackRun]) -> Iterator[Finding]:
    """Yield whether the ego's own detections depend on messages."""
    without_messages = [step.ego_alone for step in first.steps]
    if any(
        not has_same_boxes(without_messages, [step.ego_alone for step in other.steps])
        for other in others
    ):
        yield Finding(
            "ego alone",
            "failed",
            "ego_alone changes with the messages; it must be what the ego detects without any",
        )


def check_step_time(run: PlaybackRun) -> Finding:
    """Return how long a step takes."""
    step = median(run.step_seconds)
    sharing = f", share {median(run.share_seconds) * 1e3:.0f}" if run.share_seconds else ""
    duration = (
        f"step takes {step * 1e3:.0f} ms (median{sharing}); the interval is {PERIOD * 1e3:.0f} ms"
    )
    if step > PERIOD:
        return Finding("time", "warning", f"{duration}; campaigns wait for it, a car would not")
    return Finding("time", "passed", duration)


def check_simulator_imports(system: object) -> Iterator[Finding]:
    """Yield whether its modules import the simulator's client."""
    modules = [sys.modules.get(kind.__module__) for kind in type(system).__mro__]
    if any(hasattr(module, "carla") for module in modules):
        yield Finding(
            "truth",
            "warning",
            "its module imports carla, which gives access to the ground truth; a system may use its"
            " arguments only",
        )


def list_cooperative_boxes(run: PlaybackRun) -> list[Boxes]:
    """Return the detections with messages, step by step."""
    return [step.cooperative for step in run.steps]


def has_same_boxes(one: Sequence[Boxes], other: Sequence[Boxes]) -> bool:
    """Return whether boxes are equal byte for byte."""
    return hash_nested_value(list(one)) == hash_nested_value(list(other))


def find_run_difference(one: PlaybackRun, other: PlaybackRun) -> str:
    """Return where two runs first differ."""
    if hash_nested_value(one.payloads) != hash_nested_value(other.payloads):
        return "(what partners send)"
    for number, (a, b) in enumerate(zip(one.steps, other.steps, strict=True)):
        parts = [
            name
            for name in Step.__slots__
            if hash_nested_value(getattr(a, name)) != hash_nested_value(getattr(b, name))
        ]
        if parts:
            return f"({parts[0]} at planning step {number})"
    return ""

"""All checks of a system, in order; after a failure, checks that depend on it are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agents.conformance import answers, behaviour, frames, interface
from agents.conformance.playback import (
    Channel,
    PlaybackRun,
    deliver_at_once,
    deliver_late,
    deliver_nothing,
    make_displacing_channel,
    play_recording,
)
from agents.conformance.recorded_steps import Recording
from agents.conformance.two_parts import CHECK, check_two_parts
from harness.common.findings import Finding
from harness.types.systems import has_image_reader

DISPLACEMENT = 3.0 / 2**0.5
"""Metres along both axes: 3 m in total."""
SEED, OTHER_SEED = 1, 2
PLAYS = 7
"""Times that the recording is played to a system that reads messages."""

CHECKS = {
    "calls": "has reads_points, reads_messages, reset, share and step",
    "truth": "is not given the ground truth",
    "runs": "plays a few seconds without raising",
    "share": "sends boxes, points or feature maps",
    "step": "returns a Step",
    "control": "throttle, brake and steering are in range",
    "boxes": "boxes have the shapes, types and ranges of the vocabulary",
    "frame": "boxes are in the ego's LiDAR frame",
    "own body": "it does not detect the ego itself",
    "inputs": "does not change its inputs",
    "payloads": "does not change payloads after sending them",
    "deterministic": "the same arguments and seed give the same answers",
    CHECK: "step is perceive and then drive, with boxes alone between them",
    "late messages": "works with messages that are three steps old",
    "reset": "reset clears everything from earlier episodes",
    "no messages": "works without any message",
    "messages": "cooperative boxes depend on messages",
    "believed pose": "messages are transformed by their senders' believed poses",
    "ego alone": "ego_alone boxes do not depend on messages",
    "time": "a step takes less than the planning interval",
}
ABOUT_MESSAGES = (
    "share",
    "payloads",
    "late messages",
    "no messages",
    "messages",
    "believed pose",
    "ego alone",
)


class SystemExamination:
    """Runs all checks on one system; after a failure, checks that depend on it are skipped."""

    def __init__(
        self,
        make: Callable[[], Any],
        recording: Recording,
        on_play: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the checks.

        Args:
            make: makes the system.
            recording: that is played to it.
            on_play: is called after each time it was played, `PLAYS` times at most.
        """
        self._make, self._recording, self._on_play = make, recording, on_play
        self._findings: dict[str, list[Finding]] = {}

    def list_findings(self) -> list[Finding]:
        """Run the checks, and return every check's findings in order."""
        self._system = self._make()
        self._run_checks()
        silent = not getattr(self._system, "reads_messages", True)
        made = []
        for check, meaning in CHECKS.items():
            if silent and check in ABOUT_MESSAGES:
                made.append(Finding(check, "not checked", "it reads no messages"))
            elif check not in self._findings:
                made.append(Finding(check, "not checked", "a check before it failed"))
            else:
                made += self._findings[check] or [Finding(check, "passed", meaning)]
        return made

    def _run_checks(self) -> None:
        if self._has_failed("calls", interface.check_call_interface(self._system)):
            return
        if self._has_failed("truth", interface.check_ground_truth_use(self._system)):
            return
        first = self._play(self._system, SEED)
        if self._has_failed("share", answers.check_shared_payloads(self._system, first.payloads)):
            return
        if self._has_failed("runs", report_exception(first, "runs")):
            return
        self._record_findings("inputs", behaviour.check_inputs_unchanged(first))
        self._record_findings("payloads", behaviour.check_payloads_unchanged(first))
        if not self._has_failed("step", answers.check_step_types(first.steps)):
            self._check_answers(first)
            self._check_repetitions(first)

    def _check_answers(self, first: PlaybackRun) -> None:
        self._record_findings("control", answers.check_control_ranges(first.steps))
        if not self._has_failed("boxes", answers.check_step_boxes(first.steps)):
            steps = self._recording.steps
            self._record_findings("frame", frames.check_box_frame(first.steps, steps))
            seen = [step.observation for step in steps]
            self._record_findings("own body", answers.check_ego_body(first.steps, seen))

    def _check_repetitions(self, first: PlaybackRun) -> None:
        fresh = self._play(self._make(), SEED)
        between = self._play(self._system, OTHER_SEED, deliver_late)
        self._record_findings("late messages", report_exception(between, "late messages"))
        again = self._play(self._system, SEED)
        self._record_findings(
            "time", [behaviour.check_step_time(again)] if again.step_seconds else []
        )
        if not self._findings["truth"]:
            self._record_findings("truth", behaviour.check_simulator_imports(self._system))
        if self._has_failed("deterministic", behaviour.check_determinism(first, fresh)):
            return
        if self._has_failed("reset", behaviour.check_episode_reset(first, again)):
            return
        if not any(one.verdict == "failed" for some in self._findings.values() for one in some):
            self._record_findings(CHECK, check_two_parts(self._make, first, self._recording, SEED))
            self._on_play()
        if self._system.reads_messages:
            self._check_disturbed_runs(first)

    def _check_disturbed_runs(self, first: PlaybackRun) -> None:
        silent = self._play(self._system, SEED, deliver_nothing)
        if self._has_failed("no messages", report_exception(silent, "no messages")):
            return
        moved = self._play(self._system, SEED, make_displacing_channel(DISPLACEMENT))
        if self._has_failed("believed pose", report_exception(moved, "believed pose")):
            return
        self._record_findings("ego alone", behaviour.check_ego_alone(first, [silent, moved]))
        if not self._has_failed("messages", behaviour.check_message_effect(first, silent)):
            self._record_findings("believed pose", behaviour.check_pose_effect(first, moved))
        elif has_image_reader(self._system) and not self._has_pictures():
            self._record_findings("messages", behaviour.note_missing_pictures())

    def _play(self, system: Any, seed: int, channel: Channel = deliver_at_once) -> PlaybackRun:
        run = play_recording(system, self._recording, seed, channel)
        self._on_play()
        return run

    def _has_pictures(self) -> bool:
        return any(step.observation.images for step in self._recording.steps)

    def _record_findings(self, check: str, findings: Iterable[Finding]) -> None:
        self._findings[check] = list(findings)

    def _has_failed(self, check: str, findings: Iterable[Finding]) -> bool:
        self._record_findings(check, findings)
        return any(finding.verdict == "failed" for finding in self._findings[check])


def report_exception(run: PlaybackRun, check: str) -> Iterator[Finding]:
    """Yield the exception that a system raised, if any."""
    if run.raised:
        yield Finding(check, "failed", run.raised)

"""All checks of a system, in order; after a failure, checks that depend on it are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agents.conformance import answers, behaviour, frames, interface
from agents.conformance.playback import Run, displaced, late, never, play
from agents.conformance.recorded_steps import Recording
from agents.conformance.two_parts import CHECK, in_two_parts
from harness.findings import Finding

DISPLACEMENT = 3.0 / 2**0.5
"""Metres along both axes: 3 m in total."""
SEED, OTHER_SEED = 1, 2

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


class Examination:
    """Runs all checks on one system; after a failure, checks that depend on it are skipped."""

    def __init__(self, make: Callable[[], Any], recording: Recording) -> None:
        self._make, self._recording = make, recording
        self._findings: dict[str, list[Finding]] = {}

    def findings(self) -> list[Finding]:
        """Run the checks, and return every check's findings in order."""
        self._system = self._make()
        self._examine()
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

    def _examine(self) -> None:
        if self._fails("calls", interface.calls(self._system)):
            return
        if self._fails("truth", interface.truth(self._system)):
            return
        first = play(self._system, self._recording, SEED)
        if self._fails("share", answers.shares(self._system, first.payloads)):
            return
        if self._fails("runs", raised(first, "runs")):
            return
        self._note("inputs", behaviour.inputs_stay(first))
        self._note("payloads", behaviour.payloads_stay(first))
        if not self._fails("step", answers.answers(first.steps)):
            self._look(first)
            self._repeat(first)

    def _look(self, first: Run) -> None:
        self._note("control", answers.controls(first.steps))
        if not self._fails("boxes", answers.boxes(first.steps)):
            steps = self._recording.steps
            self._note("frame", frames.frame(first.steps, steps))
            seen = [step.observation for step in steps]
            self._note("own body", answers.ego_body(first.steps, seen))

    def _repeat(self, first: Run) -> None:
        fresh = play(self._make(), self._recording, SEED)
        between = play(self._system, self._recording, OTHER_SEED, late)
        self._note("late messages", raised(between, "late messages"))
        again = play(self._system, self._recording, SEED)
        self._note("time", [behaviour.timing(again)] if again.step_seconds else [])
        if not self._findings["truth"]:
            self._note("truth", behaviour.imports_no_simulator(self._system))
        if self._fails("deterministic", behaviour.deterministic(first, fresh)):
            return
        if self._fails("reset", behaviour.episodes(first, again)):
            return
        if not any(one.verdict == "failed" for some in self._findings.values() for one in some):
            self._note(CHECK, in_two_parts(self._make, first, self._recording, SEED))
        if self._system.reads_messages:
            self._disturb(first)

    def _disturb(self, first: Run) -> None:
        silent = play(self._system, self._recording, SEED, never)
        if self._fails("no messages", raised(silent, "no messages")):
            return
        moved = play(self._system, self._recording, SEED, displaced(DISPLACEMENT))
        if self._fails("believed pose", raised(moved, "believed pose")):
            return
        self._note("ego alone", behaviour.ego_alone_is_independent(first, [silent, moved]))
        if not self._fails("messages", behaviour.messages_matter(first, silent)):
            self._note("believed pose", behaviour.believed_pose_matters(first, moved))

    def _note(self, check: str, findings: Iterable[Finding]) -> None:
        self._findings[check] = list(findings)

    def _fails(self, check: str, findings: Iterable[Finding]) -> bool:
        self._note(check, findings)
        return any(finding.verdict == "failed" for finding in self._findings[check])


def raised(run: Run, check: str) -> Iterator[Finding]:
    """Yield the exception that a system raised, if any."""
    if run.raised:
        yield Finding(check, "failed", run.raised)

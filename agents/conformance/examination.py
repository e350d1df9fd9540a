"""The whole check: what is asked in which order, and what need not be asked any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agents.conformance import answers, calls, conduct, frames
from agents.conformance.finding import Finding
from agents.conformance.moments import Recording
from agents.conformance.playing import Run, displaced, late, never, play

DISPLACEMENT = 3.0 / 2**0.5
"""Metres along both axes."""
SEED, OTHER_SEED = 1, 2

CHECKS = {
    "calls": "has reads_points, reads_messages, reset, share and step",
    "truth": "is not shown the truth",
    "runs": "plays a few seconds without raising",
    "share": "sends boxes, points or features",
    "step": "answers with a Step",
    "control": "pedals and wheel are in range",
    "boxes": "boxes have the shapes, types and ranges of the vocabulary",
    "frame": "boxes stand in the ego's LiDAR frame",
    "own body": "the ego is nobody it detects",
    "inputs": "leaves what it is given as it was",
    "payloads": "leaves what it has sent as it was",
    "same again": "made and reset alike, answers alike",
    "late messages": "works with messages three steps old",
    "new episode": "reset forgets other episodes",
    "no messages": "works when nothing arrives",
    "messages": "cooperative depends on messages",
    "believed pose": "messages count from where their senders believed to be",
    "ego alone": "ego_alone depends on no message",
    "time": "a step takes less than the time between two",
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
    """Puts one system to all checks; after a failure, those that lean on it are not made."""

    def __init__(self, make: Callable[[], Any], recording: Recording) -> None:
        self._make, self._recording = make, recording
        self._findings: dict[str, list[Finding]] = {}

    def findings(self) -> list[Finding]:
        """Examine, and return every check's findings in order."""
        self._system = self._make()
        self._examine()
        silent = not getattr(self._system, "reads_messages", True)
        made = []
        for check, meaning in CHECKS.items():
            if silent and check in ABOUT_MESSAGES:
                made.append(Finding(check, "not checked", "it reads no messages"))
            elif check not in self._findings:
                made.append(Finding(check, "not checked", "something before it failed"))
            else:
                made += self._findings[check] or [Finding(check, "passed", meaning)]
        return made

    def _examine(self) -> None:
        if self._fails("calls", calls.calls(self._system)):
            return
        if self._fails("truth", calls.truth(self._system)):
            return
        first = play(self._system, self._recording, SEED)
        if self._fails("share", answers.shares(self._system, first.payloads)):
            return
        if self._fails("runs", raised(first, "runs")):
            return
        self._note("inputs", conduct.inputs_stay(first))
        self._note("payloads", conduct.payloads_stay(first))
        if not self._fails("step", answers.answers(first.steps)):
            self._look(first)
            self._repeat(first)

    def _look(self, first: Run) -> None:
        self._note("control", answers.controls(first.steps))
        if not self._fails("boxes", answers.boxes(first.steps)):
            moments = self._recording.moments
            self._note("frame", frames.frame(first.steps, moments))
            seen = [each.observation for each in moments]
            self._note("own body", answers.own_body(first.steps, seen))

    def _repeat(self, first: Run) -> None:
        fresh = play(self._make(), self._recording, SEED)
        between = play(self._system, self._recording, OTHER_SEED, late)
        self._note("late messages", raised(between, "late messages"))
        again = play(self._system, self._recording, SEED)
        self._note("time", [conduct.quick(again)] if again.step_seconds else [])
        if not self._findings["truth"]:
            self._note("truth", conduct.keeps_to_it(self._system))
        if self._fails("same again", conduct.deterministic(first, fresh)):
            return
        if self._fails("new episode", conduct.episodes(first, again)):
            return
        if self._system.reads_messages:
            self._disturb(first)

    def _disturb(self, first: Run) -> None:
        silent = play(self._system, self._recording, SEED, never)
        if self._fails("no messages", raised(silent, "no messages")):
            return
        moved = play(self._system, self._recording, SEED, displaced(DISPLACEMENT))
        if self._fails("believed pose", raised(moved, "believed pose")):
            return
        self._note("ego alone", conduct.alone(first, [silent, moved]))
        if not self._fails("messages", conduct.heard(first, silent)):
            self._note("believed pose", conduct.believed(first, moved))

    def _note(self, check: str, findings: Iterable[Finding]) -> None:
        self._findings[check] = list(findings)

    def _fails(self, check: str, findings: Iterable[Finding]) -> bool:
        self._note(check, findings)
        return any(each.verdict == "failed" for each in self._findings[check])


def raised(run: Run, check: str) -> Iterator[Finding]:
    """Yield what a system raised."""
    if run.raised:
        yield Finding(check, "failed", run.raised)

"""The check of a link: messages over made-up paths, without a simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from harness.channel.links.link import Carriage, Link
from harness.channel.links.sight import AirSurroundings
from harness.common.findings import Finding, make_checks
from harness.types.vocabulary import VEHICLE, Boxes, Message, Pose

MESSAGES, STEP = 30, 4
"""How many are sent, and ticks between two."""
CHECKS = {
    "runs": "carries messages; delays are ≥ 0",
    "deterministic": "equal seeds give equal carriages, in another instance too",
    "seed": "reset clears everything from earlier attempts",
}


class LinkExamination:
    """Puts one link to all checks."""

    def __init__(self, make: Callable[[], Link]) -> None:
        self._make = make

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "runs": self._check_runs,
            "deterministic": self._check_determinism,
            "seed": self._check_reset,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()}, needed=("runs",)
        )

    def _check_runs(self) -> Iterator[Finding]:
        carriages = carry_messages(self._make(), 1)
        if any(not one.lost and not one.delay >= 0 for one in carriages):
            yield Finding("runs", "failed", "a message arrives before it was sent")
            return
        lost = sum(one.lost for one in carriages)
        yield Finding("runs", "passed", f"{lost} of {len(carriages)} messages over 60 m are lost")

    def _check_determinism(self) -> Iterator[Finding]:
        first, second = (repr(carry_messages(self._make(), 1)) for _ in range(2))
        if first != second:
            yield Finding("deterministic", "failed", "two instances differ with one seed")

    def _check_reset(self) -> Iterator[Finding]:
        link = self._make()
        carry_messages(link, 2)
        if repr(carry_messages(link, 1)) != repr(carry_messages(self._make(), 1)):
            yield Finding("seed", "failed", "an earlier attempt changes a later one")


def carry_messages(link: Link, seed: int) -> list[Carriage]:
    """Return what a link makes of an attempt's messages from a car 60 m ahead."""
    link.reset(seed)
    car = [4.5, 1.9, 1.6, 0.0]
    users = np.array([[0.0, 0.0, 0.8, *car], [60.0, 0.0, 0.8, *car]])
    here, there = Pose(0.0, 0.0, 1.85), Pose(60.0, 0.0, 1.85)
    link.note_surroundings(
        AirSurroundings(here, users, np.array([VEHICLE, VEHICLE]), np.zeros((0, 7)))
    )
    boxes = Boxes(users, np.array([VEHICLE, VEHICLE]), np.ones(2))
    for number in range(MESSAGES):
        message = Message(
            sender="vehicle-1",
            kind="vehicle",
            capture_frame=STEP * number,
            capture_time=0.05 * STEP * number,
            lidar_in_world=there,
            payload=boxes,
        )
        link.carry_message(message, there)
    return link.carriages


def findings_of(make: Callable[[], Link]) -> list[Finding]:
    """Return what the check of a link finds."""
    return LinkExamination(make).list_findings()

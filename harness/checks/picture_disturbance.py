"""The check of a disturbance of pictures: on the channel, with made-up pictures, no simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.picture_effects import is_same_image
from harness.checks.sweep_disturbance import AGENTS, PERIOD, SEED, STEPS, TICKS
from harness.common.errors import AttemptError
from harness.common.findings import Finding, make_checks
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import CameraImage, Kind, Observation, Pose

CHECKS = {
    "declared": "has a name of its class",
    "runs": "sees pictures of its kinds of agents, and the channel accepts them",
    "pictures": "returns as many pictures, of the same names, sizes and type",
    "inputs": "leaves the pictures that it is given unchanged",
    "acts": "a picture or a camera differs, or the air does",
    "deterministic": "the same seed gives the same pictures",
    "reset": "reset clears everything from earlier episodes",
}
YAWS = {"front": 0.0, "left": -60.0, "right": 60.0, "rear": 180.0}
ROWS, COLUMNS = 48, 64
Seen = list[tuple[CameraImage, ...]]


class PictureExamination:
    """Puts one disturbance of pictures to all checks."""

    def __init__(self, make: Callable[[], Disturbance]) -> None:
        self._make, self._disturbance = make, make()
        self._seen: Seen = []

    def list_findings(self) -> list[Finding]:
        """Make every check, in order; a disturbance of size 0 need not act."""
        checks = {
            "declared": self._check_declaration,
            "runs": self._check_runs,
            "pictures": self._check_pictures,
            "inputs": self._check_inputs,
            "acts": self._check_effect,
            "deterministic": self._check_determinism,
            "reset": self._check_reset,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "runs", "pictures"),
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if type(self._disturbance).name == Disturbance.name:
            why = "name is that of the base class: its random streams are named after it; set one"
            yield Finding("declared", "failed", why)

    def _check_runs(self) -> Iterator[Finding]:
        try:
            self._seen = run_picture_episode(self._make())
        except AttemptError as problem:
            yield Finding("runs", "failed", str(problem))

    def _check_pictures(self) -> Iterator[Finding]:
        for seen, given in zip(self._seen, list_given(), strict=True):
            for one, before in zip(seen, given.images, strict=True):
                right = one.pixels.dtype == np.uint8 and one.pixels.shape == before.pixels.shape
                if not right or one.name != before.name:
                    why = f"{before.name} came back as {one.name}: {one.pixels.dtype}"
                    size = f"{one.pixels.shape}; uint8 of shape {before.pixels.shape} is needed"
                    yield Finding("pictures", "failed", f"{why} of shape {size}")
                    return

    def _check_inputs(self) -> Iterator[Finding]:
        copies = [[image.pixels.copy() for image in given.images] for given in list_given()]
        run_picture_episode(self._make())
        for before, given in zip(copies, list_given(), strict=True):
            for pixels, image in zip(before, given.images, strict=True):
                if not np.array_equal(pixels, image.pixels):
                    yield Finding("inputs", "failed", "changes the pictures that it is given")
                    return

    def _check_effect(self) -> Iterator[Finding]:
        same = all(
            is_same_image(one, before)
            for seen, given in zip(self._seen, list_given(), strict=True)
            for one, before in zip(seen, given.images, strict=True)
        )
        if same and not self._disturbance.describe_air() and not self._disturbance.size_zero:
            yield Finding("acts", "failed", "no picture and no camera is different")

    def _check_determinism(self) -> Iterator[Finding]:
        if not is_same_seen(self._seen, run_picture_episode(self._make())):
            yield Finding("deterministic", "failed", "equal seeds give other pictures")

    def _check_reset(self) -> Iterator[Finding]:
        used = self._make()
        run_picture_episode(used)
        if not is_same_seen(self._seen, run_picture_episode(used)):
            yield Finding("reset", "failed", "a second episode of the same seed has other pictures")


@cache
def list_given() -> tuple[Observation, ...]:
    """Return what agents observe in an episode."""
    return tuple(
        make_observation(sender, kind, step) for step in range(STEPS) for sender, kind in AGENTS
    )


def make_observation(sender: str, kind: Kind, step: int) -> Observation:
    """Return an observation with made-up pictures."""
    random = make_named_stream(SEED, "check", "pictures", sender)
    focal = COLUMNS / 2 / math.tan(math.radians(50.0))
    intrinsics = np.array([[focal, 0.0, COLUMNS / 2], [0.0, focal, ROWS / 2], [0.0, 0.0, 1.0]])
    return Observation(
        sender=sender,
        kind=kind,
        frame=step * TICKS,
        time=step * PERIOD,
        lidar_in_world=Pose(step * 1.0, 0.0, 2.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
        images=tuple(
            CameraImage(
                name=name,
                pixels=random.integers(20, 200, (ROWS, COLUMNS, 3), np.uint8),
                intrinsics=intrinsics,
                camera_in_lidar=Pose(1.3, 0.0, 0.4, yaw=math.radians(yaw)),
                above_road=2.3,
            )
            for name, yaw in YAWS.items()
        ),
    )


def run_picture_episode(disturbance: Disturbance) -> Seen:
    """Return the pictures that agents are given in an episode."""
    channel = Channel([disturbance])
    channel.reset(SEED, "check")
    return [channel.see_images(given) for given in list_given()]


def is_same_seen(one: Seen, other: Seen) -> bool:
    """Return whether two episodes have the same pictures."""
    return all(
        is_same_image(first, second)
        for a, b in zip(one, other, strict=True)
        for first, second in zip(a, b, strict=True)
    )

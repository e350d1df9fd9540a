"""Colour pictures of carlite alone: one camera and four, pass by pass, next to a slow way.

Street places of two towns with 60 parked cars, 90 degrees of view, noon; four cameras look ahead,
to the right, back and to the left. Times are milliseconds of a processor, the least of the rounds
for each view. Other work on the machine raises all of them, so that ratios count.

The slow way follows the ground ray by ray, each from where the ray below it ended. It gives the
same bytes, which is checked first.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.sensors.camera import ColourCamera
from harness.carlite.sensors.finish import smooth_edges
from harness.carlite.sensors.picture import PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import (
    NOTHING,
    rasterise_ground,
    rasterise_things,
)
from harness.carlite.sensors.scene import SensorScene
from tests.benchmarks.bench_llvmpipe import (
    ASIDE,
    SIZES,
    TOWNS,
    list_attributes,
    place_camera,
    prepare_views,
)
from tests.carlite.slow_ground import trace_ground_slowly

ROUNDS = 5
FRAME, STEP = 1, 0.05


class TimedPasses:
    """The passes of a picture, each callable on its own; a camera of one size."""

    def __init__(self, scene: SensorScene, size: tuple[int, int]) -> None:
        self.scene = scene
        self.colour = ColourCamera(list_attributes(size), 0, 1)
        self.pinhole = PinholeCamera(list_attributes(size))
        self._image = np.zeros(size[::-1], np.uint32)

    def measure(self, pose: SensorPose) -> dict[str, float]:
        """Return the processor seconds of the passes of one view."""
        seconds, take = {}, measure_seconds
        picture = self.pinhole.render_picture(self.scene, pose, FRAME)
        fan, least = picture.fan, picture.fan.cosine[:, None] / 1000.0
        shape = picture.nearness.shape
        nearness, source = np.empty(shape), np.empty(shape, np.int32)
        nearness[:], source[:] = least, NOTHING
        origin, rotation = place_camera(pose)
        reach = 2000.0
        seconds["things"] = take(
            lambda: rasterise_things(
                self.scene.shown, self.scene.meshes, rotation, origin, reach, fan, nearness, source
            )
        )
        slow_nearness, slow_source = nearness.copy(), source.copy()
        seconds["ground"] = take(
            lambda: rasterise_ground(
                self.scene.relief, rotation, origin, reach, fan, nearness, source
            )
        )
        seconds["ground, ray by ray"] = take(
            lambda: trace_ground_slowly(
                self.scene.relief, rotation, origin, reach, fan, slow_nearness, slow_source
            )
        )
        check_equal(nearness, slow_nearness, source, slow_source)
        seconds["edges"] = take(lambda: smooth_edges(source, self._image))
        seconds["casting"] = take(lambda: self.pinhole.render_picture(self.scene, pose, FRAME))
        seconds["whole"] = take(lambda: self.colour.capture(self.scene, pose, FRAME, STEP))
        return seconds


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def check_equal(nearness: Floats, slow: Floats, source: Int32s, slow_source: Int32s) -> None:
    """Refuse to time what differs."""
    if nearness.tobytes() != slow.tobytes() or source.tobytes() != slow_source.tobytes():
        raise RuntimeError("both ways find another ground")


def measure_size(
    scene: SensorScene, poses: list[SensorPose], size: tuple[int, int]
) -> dict[str, Floats]:
    """Return the least seconds of each view by pass, (places, cameras)."""
    passes = TimedPasses(scene, size)
    rounds: dict[str, list[list[float]]] = {}
    for _ in range(ROUNDS + 1):
        views = [passes.measure(pose) for pose in poses]
        for name in views[0]:
            rounds.setdefault(name, []).append([seconds[name] for seconds in views])
    # the first round is for warmth
    return {name: np.min(values[1:], axis=0).reshape(-1, ASIDE) for name, values in rounds.items()}


def format_size(title: str, seconds: dict[str, Floats]) -> list[tuple[str, str]]:
    """Return the rows of one town and size."""
    one = {name: 1e3 * float(values.mean()) for name, values in seconds.items()}
    four = 1e3 * float(seconds["whole"].sum(axis=1).mean())
    rows = [
        (f"{title}: a picture", f"{one['whole']:.1f} ms"),
        (f"{title}: four cameras", f"{four:.1f} ms"),
        (
            f"{title}: casting alone, and a picture next to it",
            f"{one['casting']:.1f} ms, {one['whole'] / one['casting']:.2f} times",
        ),
    ]
    painting = one["whole"] - one["casting"] - one["edges"]
    for name, value in (
        ("things", one["things"]), ("ground", one["ground"]), ("edges", one["edges"]),
        ("painting and the rest", painting),
    ):  # fmt: skip
        rows.append((f"{title}: {name}", f"{value:.2f} ms"))
    slow = one["ground, ray by ray"]
    ratio = slow / one["ground"]
    rows.append((f"{title}: ground, ray by ray", f"{slow:.2f} ms, {ratio:.2f} times"))
    return rows


def run() -> list[tuple[str, str]]:
    """Return the rows of both towns at both sizes."""
    rows: list[tuple[str, str]] = []
    for name in TOWNS:
        scene, poses = prepare_views(name)
        for size in SIZES:
            title = f"{name}, {size[0]} by {size[1]}"
            rows += format_size(title, measure_size(scene, poses, size))
    return rows

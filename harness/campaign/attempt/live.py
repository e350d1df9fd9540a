"""An attempt in a viewer while it is driven, in entities and colours as in a recording of it.

A view is given what it shows as functions that make it: without a viewer nothing is made. Whatever
fails in a view ends that view and nothing else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from harness.campaign.attempt.planning_step import EGO, DecidedStep
from harness.campaign.attempt.recorder import PATTERN_NAMES, MapLine
from harness.campaign.attempt.results import describe_drive
from harness.campaign.attempt.tasks import AttemptTask
from harness.channel.delivery_audit import MessageRecord
from harness.evaluation.driving import DriveEvaluation, DriveInfraction
from harness.evaluation.frame_evaluation import EvaluatedBoxes
from harness.types.geometry import transform_boxes, transform_points
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES, Floats, Integers, Pose
from harness.viewing.drive_stream import APPLICATION, DriveStream
from harness.viewing.front_view import FRONT
from harness.viewing.layout import format_legend
from harness.viewing.scene import LINES
from harness.viewing.step import (
    Curve,
    ShownBoxes,
    ShownPartner,
    ShownPicture,
    ShownStep,
    Sweeps,
)
from harness.world.hazards.reports import HazardReport
from harness.world.rig import LidarScan

WORLD = Pose(0.0, 0.0)
FLUSH = 2.0
"""Seconds that a viewer has to take what was sent last."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LiveStep:
    """What can be shown of a planning step when it is over."""

    shown: ShownStep
    sweeps: Sweeps
    ages: Mapping[str, Curve]  # of messages delivered at this step, by sender
    displacements: Mapping[str, Curve]  # of messages captured at this step, by sender
    pictures: tuple[ShownPicture, ...]  # of front cameras, if systems read images


class LiveView(Protocol):
    """Is given what an attempt does; it raises nothing and changes nothing."""

    def begin(self, lines: Iterable[MapLine]) -> None:
        """The ego is about to drive, on these lanes."""

    def step(self, make: Callable[[], LiveStep]) -> None:
        """A planning step is over."""

    def infraction(self, infraction: DriveInfraction, start: float) -> None:
        """The ego did something wrong."""

    def end(self, drive: DriveEvaluation, score: float, hazards: Sequence[HazardReport]) -> None:
        """The drive is over."""


class NoView:
    """Shows nothing."""

    def begin(self, lines: Iterable[MapLine]) -> None:
        """Nothing is shown."""

    def step(self, make: Callable[[], LiveStep]) -> None:
        """Nothing is made."""

    def infraction(self, infraction: DriveInfraction, start: float) -> None:
        """Nothing is shown."""

    def end(self, drive: DriveEvaluation, score: float, hazards: Sequence[HazardReport]) -> None:
        """Nothing is shown."""


class RerunView:
    """Sends an attempt to a Rerun viewer, as a recording of its own."""

    def __init__(self, address: str, task: AttemptTask) -> None:
        self._way: list[tuple[float, float, float]] = []
        self._lines: dict[str, list[Floats]] = {}
        self._start = 0.0
        self._height = 0.0
        self._broken = False
        self._stream: DriveStream
        self._try_once(lambda: self._open_recording(address, task))

    def begin(self, lines: Iterable[MapLine]) -> None:
        """Keep the lines of the map that are shown."""
        for kind, line in lines:
            if kind in LINES:
                self._lines.setdefault(kind, []).append(line)

    def step(self, make: Callable[[], LiveStep]) -> None:
        """Send a planning step."""
        self._try_once(lambda: self._send_live_step(make()))

    def infraction(self, infraction: DriveInfraction, start: float) -> None:
        """Send what the ego did wrong."""
        detail = " ego_stationary" if infraction.ego_stationary else ""
        line = infraction.time - start, f"infraction: {infraction.kind}{detail}", "WARN"
        self._start = start
        self._try_once(lambda: self._stream.send_events([line]))

    def end(self, drive: DriveEvaluation, score: float, hazards: Sequence[HazardReport]) -> None:
        """Send what became of the hazards, and how the drive ended."""
        self._try_once(lambda: self._send_conclusion(drive, score, hazards))

    def close(self) -> None:
        """Wait a little until the viewer has taken everything."""
        self._try_once(lambda: self._recording.flush(blocking=True))

    def _open_recording(self, address: str, task: AttemptTask) -> None:
        import rerun  # noqa: PLC0415 - large, and only live views need it

        self._recording = rerun.RecordingStream(application_id=APPLICATION)
        self._recording.connect_grpc(address, flush_timeout_sec=FLUSH)
        about = format_legend(str(task.key), f"being driven, try {task.number}")
        self._stream = DriveStream(self._recording, name=str(task.key), about=about)

    def _send_live_step(self, step: LiveStep) -> None:
        ego = step.shown.ego_in_world
        self._height = ego.z
        self._way.append((ego.x, ego.y, ego.z))
        lines = {**self._lines, "way": [np.array(self._way)]}
        self._stream.send_steps([step.shown], lines)
        self._stream.send_sweeps(step.shown.time, step.sweeps)
        self._stream.send_pictures(step.shown, step.pictures)
        self._stream.send_plot("messages/age", step.ages)
        self._stream.send_plot("messages/displacement", step.displacements)

    def _send_conclusion(
        self, drive: DriveEvaluation, score: float, hazards: Sequence[HazardReport]
    ) -> None:
        end = drive.last_time - drive.start
        lines = []
        for report in hazards:
            began = end if report.started_at is None else report.started_at - drive.start
            words = f"hazard: {report.kind} {report.source}: {report.status}: {report.reason}"
            lines.append((began, words, "INFO"))
        violation = drive.violation
        level = "INFO" if violation is None else "CRITICAL"
        self._stream.send_events([*lines, (end, describe_drive(drive, score), level)])
        if violation is not None:
            place = (violation.x, violation.y, self._height)
            self._stream.send_mark(violation.time - drive.start, place)

    def _try_once(self, work: Callable[[], object]) -> None:
        """Do it, unless the view has failed; a failure is the view's last."""
        if self._broken:
            return
        try:
            work()
        except Exception as problem:
            self._broken = True
            text = " ".join(str(problem).split())
            print(f"live view: {type(problem).__name__}: {text}; not shown on", file=sys.stderr)


@contextmanager
def open_live_view(task: AttemptTask) -> Iterator[LiveView]:
    """Open the view of a try, if the task names a viewer."""
    if task.live is None:
        yield NoView()
        return
    view = RerunView(task.live, task)
    try:
        yield view
    finally:
        view.close()


def make_live_step(
    step: DecidedStep, records: Iterable[MessageRecord], *, start: float, ego_id: int
) -> LiveStep:
    """Return what can be shown of a planning step.

    Args:
        step: the planning step.
        records: of all messages so far.
        start: time at which the drive began.
        ego_id: the ego's number at the server.
    """
    state, scan, truth = step.sensed.state, step.sensed.scan, step.sensed.truth
    control, evaluated = step.answer.control, step.evaluated
    others = [(partner.sender, sweep) for partner, sweep in step.sensed.shared]
    believed, messages = step.shared.believed, list(records)
    time = scan.time - start
    # what happened in this step: errors, deliveries, captures
    counts = evaluated.count_patterns()
    centres = transform_boxes(truth.boxes_in_lidar, scan.lidar_in_world, WORLD).geometry[:, :3]
    delivered = [record for record in messages if record.delivered_time == scan.time]
    captured = [record for record in messages if record.capture_time == scan.time]
    # the picture of the step
    shown = ShownStep(
        time=time,
        ego_in_world=state.vehicle_in_world,
        lidar_in_world=scan.lidar_in_world,
        boxes={
            "truth": select_live_boxes(evaluated.truth, truth.actor_ids - ego_id),
            "ego_alone": select_live_boxes(evaluated.ego_alone),
            "cooperative": select_live_boxes(evaluated.cooperative),
        },
        partners=tuple(
            ShownPartner(sender=sender, true=sweep.lidar_in_world, believed=believed[sender])
            for sender, sweep in others
        ),
        sights={sender: centres[seen > 0] for sender, seen in step.sensed.hits.by_sender.items()},
        speed=state.speed,
        controls={
            "throttle": control.throttle,
            "brake": control.brake,
            "steer": control.steer,
        },
        errors={
            kind: float(sum(counts[f"{pattern}_{kind}"] for pattern in PATTERNS))
            for kind in CLASSES
        },
    )
    # sweeps in the world frame, and a point for every curve
    return LiveStep(
        shown=shown,
        sweeps={
            sender: transform_points(sweep.points_in_lidar, sweep.lidar_in_world, WORLD)[:, :3]
            for sender, sweep in ((EGO, scan), *others)
            if len(sweep.points_in_lidar)
        },
        ages={record.sender: make_point_curve(time, record.age_measured) for record in delivered},
        displacements={
            record.sender: make_point_curve(
                time, math.hypot(record.measured_shift.x, record.measured_shift.y)
            )
            for record in captured
        },
        pictures=list_front_pictures([(EGO, scan), *others]),
    )


def list_front_pictures(scans: Iterable[tuple[str, LidarScan]]) -> tuple[ShownPicture, ...]:
    """Return what front cameras saw of all agents that have one.

    Args:
        scans: of agents, with their names.
    """
    return tuple(
        ShownPicture(sender=sender, lidar_in_world=scan.lidar_in_world, image=image)
        for sender, scan in scans
        for image in scan.images
        if image.name == FRONT
    )


def select_live_boxes(part: EvaluatedBoxes, actor_ids: Integers | None = None) -> ShownBoxes:
    """Return the boxes of one source; those without an actor have number 0."""
    numbers = np.zeros(len(part.boxes), np.int64)
    if actor_ids is not None:
        numbers[: len(actor_ids)] = actor_ids
    return ShownBoxes(
        boxes=part.boxes,
        counted=part.counted,
        patterns=tuple(PATTERN_NAMES[part.pattern]),
        actor_ids=numbers,
    )


def make_point_curve(time: float, value: float) -> Curve:
    """Return a curve of one point."""
    return np.array([time]), np.array([round(value, 6)])

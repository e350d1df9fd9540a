"""Collects what happens in an attempt, column by column, and writes it down at the end."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.campaign.attempt.channel_tables import (
    append_row,
    build_cam_columns,
    build_clock_columns,
    build_denm_columns,
    build_format_columns,
    build_link_columns,
    build_message_columns,
    build_segment_columns,
    list_further_columns,
)
from harness.campaign.attempt.compensating import build_compensation_columns
from harness.campaign.attempt.computing import AttemptComputing
from harness.campaign.attempt.intending import PrecedenceLog
from harness.campaign.attempt.metrics import AttemptMetrics
from harness.campaign.attempt.planning_step import EGO, DecidedStep, LidarHits
from harness.campaign.attempt.signals import SignalLog
from harness.campaign.attempt.surroundings import LidarSightings
from harness.channel.carrying import SentSegment
from harness.channel.compensation.compensation import MovedBoxes
from harness.channel.delivery_audit import MessageRecord
from harness.channel.links.link import Carriage
from harness.channel.messages.awareness import SentCam
from harness.channel.messages.message_format import FormatRow
from harness.channel.messages.notification import SentDenm
from harness.evaluation.driving import DriveInfraction
from harness.evaluation.frame_evaluation import EvaluatedBoxes
from harness.records.metrics import make_metric_fields
from harness.records.pictures import pack_picture
from harness.records.points import pack_points
from harness.records.schema import (
    AFTER_SENSING,
    BOXES,
    DETECTED,
    EVENTS,
    FRAMES,
    MAP,
    PICTURES,
    POINTS,
    POSES,
)
from harness.records.writing import RecordFolder
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES, CameraImage, Floats, Integers, Pose, Singles
from harness.world.hazards.reports import HazardReport

AXES = ("x", "y", "z", "length", "width", "height", "yaw")
COUNTED_BY_NAME = (*PATTERNS, "")
CLASS_NAMES = np.array(CLASSES)
NO_VALUES = np.zeros(0, np.int64)
PATTERN_NAMES = np.array(COUNTED_BY_NAME)
HITS = ("hits_ego", "hits_anyone", "hits_reference")
HITS_AFTER = tuple(field.name for field in AFTER_SENSING["boxes"])


class AttemptRecorder:
    """One attempt's tables, growing.

    Servers count frames and actors from where they were; here both count from the ego on, so that
    equal attempts give equal records wherever they were run.
    """

    def __init__(
        self,
        start: float,
        first_frame: int,
        *,
        ego_id: int,
        tick_seconds: float,
        keeps_points: bool = False,
        kept_cameras: Sequence[str] = (),
        after_sensing: bool = False,
        box_changes: dict[str, list[Any]] | None = None,
        knows_boxes: bool = True,
    ) -> None:
        self.start = start
        self.first_frame = first_frame
        self._ego_id = ego_id
        self.tick_seconds = tick_seconds
        self.frames: dict[str, list[Any]] = {name: [] for name in FRAMES.names}
        self._after_sensing = AFTER_SENSING if after_sensing else {}
        self._boxes: dict[str, list[Any]] = {
            name: [] for name in (*BOXES.names, *self._list_sensing_columns("boxes"))
        }
        self._poses: dict[str, list[Any]] = {name: [] for name in POSES.names}
        self.hazards: list[HazardReport] = []
        self._events: dict[str, list[Any]] = {name: [] for name in EVENTS.names}
        self.sightings = LidarSightings(
            ego_id, first_frame, self._list_sensing_columns("sightings")
        )
        self.tracks: dict[str, dict[str, Any]] = {}  # and `actors`
        self.signals = SignalLog(first_frame)
        self.surrogates: dict[str, Any] = {}
        self._knows_boxes = knows_boxes  # of the system: what it detects
        self._box_changes = box_changes  # of an arm with an intervention
        self._keeps_points = keeps_points
        self._points: dict[str, list[Any]] = {name: [] for name in POINTS.names}
        self._kept_cameras = kept_cameras
        self._pictures: dict[str, list[Any]] = {name: [] for name in PICTURES.names}

    def add_planning_step(self, step: DecidedStep) -> None:
        """Add a planning step, with its boxes."""
        # the row of the step
        ego, control, evaluated = step.sensed.state, step.answer.control, step.evaluated
        # ages at the moment of the sweep, s, whatever the stamps say
        ages = step.shared.ages
        row: dict[str, Any] = {
            "frame": ego.frame - self.first_frame,
            "time": ego.time - self.start,
            **_prefix_pose("ego_", ego.vehicle_in_world),
            "speed": ego.speed,
            "station": ego.station,
            "throttle": control.throttle,
            "steer": control.steer,
            "brake": control.brake,
            "messages": len(ages),
            "oldest_age": max(ages, default=math.nan),
            **evaluated.count_boxes(),
            **evaluated.count_patterns(),
        }
        if not self._knows_boxes:  # nothing is known, which is not the same as nothing detected
            row |= dict.fromkeys(DETECTED)
        append_row(self.frames, row)
        # its boxes: only true ones have an actor and LiDAR returns
        ids = step.sensed.truth.actor_ids - self._ego_id
        known = {"actor_id": ids, **list_hit_columns(step.sensed.hits)}
        unknown = dict.fromkeys(
            ("actor_id", *HITS, *self._list_sensing_columns("boxes")), NO_VALUES
        )
        # a table's columns have one length, so estimates are padded
        for source, part, columns in (
            ("truth", evaluated.truth, known),
            ("ego_alone", evaluated.ego_alone, unknown),
            ("cooperative", evaluated.cooperative, unknown),
        ):
            count = len(part.boxes)
            padded = {name: _pad_values(values, count) for name, values in columns.items()}
            self._add_boxes(ego.frame, source, part, padded)

    def _add_boxes(
        self, frame: int, source: str, part: EvaluatedBoxes, known: dict[str, Integers]
    ) -> None:
        count = len(part.boxes)
        columns: dict[str, Any] = {
            "frame": np.full(count, frame - self.first_frame),
            "source": [source] * count,
            "class": CLASS_NAMES[part.boxes.classes],
            **{name: part.boxes.geometry[:, at] for at, name in enumerate(AXES)},
            "score": part.boxes.scores,
            **known,
            "counted": part.counted,
            "pattern": PATTERN_NAMES[part.pattern],
            "pattern_count": part.times,
        }
        for name, values in columns.items():
            self._boxes[name].extend(values)

    def add_pose(self, frame: int, sender: str, *, kind: str, true: Pose, believed: Pose) -> None:
        """Add where an observer was, and where it believed to be."""
        row = {
            "frame": frame - self.first_frame,
            "sender": sender,
            "kind": kind,
            **_prefix_pose("true_", true),
            **_prefix_pose("believed_", believed),
        }
        append_row(self._poses, row)

    def add_sweep(self, frame: int, sender: str, points_in_lidar: Singles) -> None:
        """Add what a LiDAR saw, if that is to be kept."""
        if self._keeps_points:
            row = {
                "frame": frame - self.first_frame,
                "sender": sender,
                "points": pack_points(points_in_lidar),
            }
            append_row(self._points, row)

    def add_pictures(self, frame: int, sender: str, images: Sequence[CameraImage]) -> None:
        """Add what an agent's cameras saw, of those that are to be kept."""
        for image in images:
            if image.name in self._kept_cameras:
                row = {"frame": frame - self.first_frame, "sender": sender, **pack_picture(image)}
                append_row(self._pictures, row)

    def add_infraction(self, infraction: DriveInfraction) -> None:
        """Add something done wrong."""
        self.add_event(
            infraction.frame,
            infraction.time,
            "infraction",
            infraction.kind,
            x=infraction.x,
            y=infraction.y,
            actor_id=self.get_actor_number(infraction.with_actor),
            actor_type=infraction.with_type,
            ego_speed=infraction.ego_speed,
            relative_speed=infraction.relative_speed,
            detail="ego_stationary" if infraction.ego_stationary else "",
        )

    def add_hazard(self, report: HazardReport, end: float) -> None:
        """Add what became of a hazard, at the moment it began or else at the end."""
        self.hazards.append(report)
        time = end if report.started_at is None else report.started_at
        self.add_event(
            self.first_frame + round((time - self.start) / self.tick_seconds),
            time,
            "hazard",
            report.kind,
            detail=f"{report.source}: {report.status}: {report.reason}",
        )

    def get_actor_number(self, actor_id: int) -> int:
        """Return an actor's number, counted from the ego; the town itself is 0."""
        return actor_id - self._ego_id if actor_id else 0

    def add_event(self, frame: int, time: float, event: str, kind: str, **more: Any) -> None:
        """Add anything else worth knowing."""
        row = {
            "frame": frame - self.first_frame,
            "time": time - self.start,
            "event": event,
            "kind": kind,
            "x": math.nan,
            "y": math.nan,
            "actor_id": 0,
            "actor_type": "",
            "ego_speed": math.nan,
            "relative_speed": math.nan,
            "detail": "",
            **more,
        }
        append_row(self._events, row)

    def write_tables(
        self,
        writer: RecordFolder,
        messages: Sequence[MessageRecord],
        *,
        lines: Iterable[MapLine],
        scenery: Mapping[str, Sequence[Any]],
        metrics: AttemptMetrics,
        carriages: Iterable[Carriage] | None = None,
        formatted: Iterable[FormatRow] | None = None,
        segments: Sequence[SentSegment] = (),
        cams: Iterable[SentCam] | None = None,
        denms: Iterable[SentDenm] | None = None,
        security: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
        moved: Iterable[MovedBoxes] | None = None,
        computing: AttemptComputing | None = None,
        clocks: bool = False,
        systems: Callable[[str, str], str] | None = None,
        precedences: PrecedenceLog | None = None,
    ) -> None:
        """Write all tables; `links` where the link is not ideal, `formatted` not all native.

        `segments` are those of messages that were too large for one, if there were any; `cams` and
        `denms` are there where such messages are sent.
        `security` are the tables of the attack and of the defence, as far as there are any; `moved`
        is what a compensation made of late boxes; `computing` is there where computing takes time,
        `clocks` where stamps are wrong. `systems` gives the system of a partner by its name and
        kind, where not all use the ego's. `precedences` are there where egos send what they plan.
        """
        # planning steps, their boxes, poses and events
        columns = {**self.frames, **metrics.columns}
        unknown = () if self._knows_boxes else DETECTED
        writer.write_table("frames", columns, make_metric_fields(metrics.units), unknown=unknown)
        writer.write_table("boxes", self._boxes, self._after_sensing.get("boxes", ()))
        writer.write_table("poses", self._poses)
        writer.write_table("events", self._events)
        # messages and what surrounds the route
        table = build_message_columns(messages, self.start, self.first_frame, systems)
        writer.write_table("messages", table, list_further_columns("messages", table))
        writer.write_table("map", build_map_columns(lines))
        writer.write_table("scenery", scenery)
        sightings = self._after_sensing.get("sightings", ())
        writer.write_table("sightings", self.sightings.build_table(), sightings)
        for name, columns in self.tracks.items():
            writer.write_table(name, columns)
        # optional tables
        if self._keeps_points:
            writer.write_table("points", self._points)
        if self._kept_cameras:
            writer.write_table("pictures", self._pictures)
        if self._box_changes is not None:
            writer.write_table("box_changes", self._box_changes)
        if carriages is not None:
            table = build_link_columns(carriages, self.start, self.first_frame)
            writer.write_table("links", table, list_further_columns("links", table))
        if formatted is not None:
            writer.write_table("formatted", build_format_columns(formatted, self.first_frame))
        if segments:
            table = build_segment_columns(segments, self.start, self.first_frame)
            writer.write_table("segments", table)
        if cams is not None:
            writer.write_table("cams", build_cam_columns(cams, self.start, self.first_frame))
        if denms is not None:
            writer.write_table("denms", build_denm_columns(denms, self.start, self.first_frame))
        if clocks:
            writer.write_table("clocks", build_clock_columns(messages, self.first_frame))
        if precedences is not None:
            writer.write_table("precedences", precedences.build_columns(self.first_frame))
        if computing is not None:
            table = computing.build_table(self.start, self.first_frame)
            writer.write_table("computing", table)
        for name, rows in (security or {}).items():
            counted = count_frames_from(rows, self.first_frame)
            writer.write_table(name, counted, list_further_columns(name, rows))
        if moved is not None:
            writer.write_table("compensated", build_compensation_columns(moved, self.first_frame))

    def _list_sensing_columns(self, table: str) -> tuple[str, ...]:
        """Return the columns that sensing adds to a table."""
        return tuple(field.name for field in self._after_sensing.get(table, ()))


MapLine = tuple[str, Floats]
"""What a line is, and its points."""


def list_hit_columns(hits: LidarHits) -> dict[str, Integers]:
    """Return hits as `boxes.parquet` has them, (true boxes,) each."""
    columns = dict(zip(HITS, (hits.ego, hits.anyone, hits.reference), strict=True))
    if hits.after_anyone is not None:
        after = (hits.after_sensing[EGO], hits.after_anyone)
        columns |= dict(zip(HITS_AFTER, after, strict=True))
    return columns


def count_frames_from(
    columns: Mapping[str, Sequence[Any]], first_frame: int
) -> dict[str, list[Any]]:
    """Return a table with frames counted from the start of the drive."""
    counted = {name: list(values) for name, values in columns.items()}
    for name in ("frame", "capture_frame"):
        counted[name] = [frame - first_frame for frame in counted[name]]
    return counted


def build_map_columns(lines: Iterable[MapLine]) -> dict[str, list[Any]]:
    """Return the map table."""
    columns: dict[str, list[Any]] = defaultdict(list, {name: [] for name in MAP.names})
    for number, (kind, points) in enumerate(lines):
        columns["line"].extend([number] * len(points))
        columns["kind"].extend([kind] * len(points))
        for at, name in enumerate("xyz"):
            columns[name].extend(np.round(points[:, at], 3))
    return columns


def _prefix_pose(prefix: str, pose: Pose) -> dict[str, float]:
    return {
        f"{prefix}{name}": getattr(pose, name) for name in ("x", "y", "z", "yaw", "pitch", "roll")
    }


def _pad_values(values: Integers, count: int) -> Integers:
    padded = np.zeros(count, np.int64)
    padded[: len(values)] = values
    return padded

"""A drive as a recording for the Rerun viewer, in entities and colours as when it is driven."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.drive import (
    DriveSnapshot,
    RecordedDrive,
    build_recorded_boxes,
    build_snapshot,
    get_recorded_pose,
)
from analysis.replay import scene
from analysis.replay.scene import Sweeps, transform_sweep_to_world
from analysis.replay.views import Pictures, read_front_pictures
from harness.common.files import write_whole
from harness.records.schema import SOURCES
from harness.types.vocabulary import CLASSES, Boxes, Floats
from harness.viewing.drive_stream import APPLICATION, DriveStream
from harness.viewing.layout import format_legend
from harness.viewing.step import ShownBoxes, ShownPartner, ShownPicture, ShownStep

if TYPE_CHECKING:
    from rerun import RecordingStream


def build_shown_step(drive: RecordedDrive, snapshot: DriveSnapshot) -> ShownStep:
    """Return what a viewer shows of a planning step."""
    state, poses = snapshot.state, snapshot.poses
    partners = poses[poses["kind"].astype(str) != "ego"]
    return ShownStep(
        time=snapshot.time,
        ego_in_world=get_recorded_pose(state, "ego_"),
        lidar_in_world=snapshot.lidar_in_world,
        boxes={source: build_shown_boxes(snapshot, source) for source in SOURCES},
        partners=tuple(
            ShownPartner(
                sender=str(row["sender"]),
                true=get_recorded_pose(row, "true_"),
                believed=get_recorded_pose(row, "believed_"),
            )
            for _, row in partners.iterrows()
        ),
        sights=find_hit_centres(drive, snapshot),
        speed=float(state["speed"]),
        controls={name: float(state[name]) for name in scene.CONTROLS},
        errors=scene.count_errors_by_class(state),
    )


def build_shown_boxes(snapshot: DriveSnapshot, source: str) -> ShownBoxes:
    """Return the recorded boxes of one source."""
    rows = snapshot.boxes[snapshot.boxes["source"].astype(str) == source]
    boxes = build_recorded_boxes(rows)
    classes = [CLASSES.index(name) for name in rows["class"].astype(str)]
    return ShownBoxes(
        boxes=Boxes(boxes.geometry, np.array(classes, np.int64), boxes.scores),
        counted=rows["counted"].to_numpy(bool),
        patterns=tuple(rows["pattern"].astype(str)),
        actor_ids=rows["actor_id"].to_numpy(np.int64),
    )


def find_hit_centres(drive: RecordedDrive, snapshot: DriveSnapshot) -> dict[str, Floats]:
    """Return the centres of the true boxes that each agent's LiDAR hits, in the world."""
    truth = snapshot.boxes[snapshot.boxes["source"].astype(str) == "truth"]
    seen = drive.sightings[drive.sightings["frame"] == snapshot.state["frame"]]
    hit = seen.merge(truth[["actor_id", "world_x", "world_y", "world_z"]], on="actor_id")
    groups = hit.groupby(hit["sender"].astype(str))
    columns = ["world_x", "world_y", "world_z"]
    return {str(sender): rows[columns].to_numpy(np.float64) for sender, rows in groups}


def write_rerun_recording(drive: RecordedDrive, sweeps: Sweeps, file: Path) -> None:
    """Write a recording, whole or not at all.

    Args:
        drive: the recorded attempt.
        sweeps: points of all LiDARs by frame and sender.
        file: the target.
    """
    import rerun

    stream = rerun.RecordingStream(application_id=APPLICATION)
    taken = stream.binary_stream()
    send_drive(drive, sweeps, stream)
    content = taken.read(flush=True) or b""
    write_whole(file, lambda temporary: temporary.write_bytes(content))


def open_rerun_viewer(drive: RecordedDrive, sweeps: Sweeps) -> None:
    """Start the viewer and show it everything.

    Args:
        drive: to show.
        sweeps: points by planning step and agent, as recorded.
    """
    import rerun

    stream = rerun.RecordingStream(application_id=APPLICATION)
    stream.spawn()
    send_drive(drive, sweeps, stream)
    stream.flush()


def send_drive(drive: RecordedDrive, sweeps: Sweeps, stream: RecordingStream) -> None:
    """Send everything there is of a drive; sweeps one by one, for they are large."""
    snapshots = [build_snapshot(drive, row) for row in range(len(drive.frames))]
    shown = DriveStream(stream, name=str(drive.key), about=format_legend(drive.title, drive.what))
    steps = [build_shown_step(drive, snapshot) for snapshot in snapshots]
    shown.send_steps(steps, scene.collect_map_lines(drive))
    senders = {str(name): rows for name, rows in drive.messages.groupby("sender", observed=True)}
    shown.send_plot(
        "messages/age", {name: scene.get_message_ages(rows) for name, rows in senders.items()}
    )
    away = {name: scene.compute_message_displacements(rows) for name, rows in senders.items()}
    shown.send_plot("messages/displacement", away)
    send_drive_events(drive, shown)
    pictures = read_front_pictures(drive)
    for snapshot, step in zip(snapshots, steps, strict=True) if pictures else ():
        shown.send_pictures(step, list_shown_pictures(snapshot, pictures))
    agents = list(dict.fromkeys(sender for _, sender in sweeps))
    for snapshot in snapshots if agents else ():
        points = {name: transform_sweep_to_world(snapshot, name, sweeps) for name in agents}
        shown.send_sweeps(snapshot.time, points)


def list_shown_pictures(snapshot: DriveSnapshot, pictures: Pictures) -> list[ShownPicture]:
    """Return what front cameras of all agents saw at a planning step."""
    frame = int(snapshot.state["frame"])
    return [
        ShownPicture(
            sender=str(row["sender"]),
            lidar_in_world=get_recorded_pose(row, "true_"),
            image=pictures[frame, str(row["sender"])],
        )
        for _, row in snapshot.poses.iterrows()
        if (frame, str(row["sender"])) in pictures
    ]


def send_drive_events(drive: RecordedDrive, shown: DriveStream) -> None:
    """Send what happened in words, and last how it ended, with its place."""
    lines = [format_event_line(row) for _, row in drive.events.iterrows()]
    shown.send_events([*lines, (drive.end, drive.what, "CRITICAL" if drive.violated else "INFO")])
    if np.isfinite(drive.place).all():
        height = float(drive.frames["ego_z"].iloc[-1])
        shown.send_mark(drive.end, (*drive.place, height))


def format_event_line(row: pd.Series) -> tuple[float, str, str]:
    """Return time, words and level of an event."""
    words = f"{row['event']}: {row['kind']} {row['detail']}".rstrip()
    return float(row["time"]), words, "WARN" if row["event"] == "infraction" else "INFO"

"""A drive as a recording for the Rerun viewer, in entities and colours as when it is driven."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.drive import Drive, Snapshot, boxes_of, pose_of, snapshot_of
from analysis.replay import scene
from analysis.replay.scene import Sweeps, in_world
from harness.files import write_whole
from harness.records.schema import SOURCES
from harness.viewing.drive_stream import APPLICATION, DriveStream
from harness.viewing.layout import legend
from harness.viewing.step import ShownBoxes, ShownPartner, ShownStep
from harness.vocabulary import CLASSES, Boxes, Floats

if TYPE_CHECKING:
    from rerun import RecordingStream


def step_of(drive: Drive, snapshot: Snapshot) -> ShownStep:
    """Return what a viewer shows of a planning step."""
    state, poses = snapshot.state, snapshot.poses
    partners = poses[poses["kind"].astype(str) != "ego"]
    return ShownStep(
        time=snapshot.time,
        ego_in_world=pose_of(state, "ego_"),
        lidar_in_world=snapshot.lidar_in_world,
        boxes={source: boxes_from(snapshot, source) for source in SOURCES},
        partners=tuple(
            ShownPartner(
                sender=str(row["sender"]),
                true=pose_of(row, "true_"),
                believed=pose_of(row, "believed_"),
            )
            for _, row in partners.iterrows()
        ),
        sights=sights_of(drive, snapshot),
        speed=float(state["speed"]),
        controls={name: float(state[name]) for name in scene.CONTROLS},
        errors=scene.errors_by_class(state),
    )


def boxes_from(snapshot: Snapshot, source: str) -> ShownBoxes:
    """Return the recorded boxes of one source."""
    rows = snapshot.boxes[snapshot.boxes["source"].astype(str) == source]
    boxes = boxes_of(rows)
    classes = [CLASSES.index(name) for name in rows["class"].astype(str)]
    return ShownBoxes(
        boxes=Boxes(boxes.geometry, np.array(classes, np.int64), boxes.scores),
        counted=rows["counted"].to_numpy(bool),
        patterns=tuple(rows["pattern"].astype(str)),
        actor_ids=rows["actor_id"].to_numpy(np.int64),
    )


def sights_of(drive: Drive, snapshot: Snapshot) -> dict[str, Floats]:
    """Return the centres of the true boxes that each agent's LiDAR hits, in the world."""
    truth = snapshot.boxes[snapshot.boxes["source"].astype(str) == "truth"]
    seen = drive.sightings[drive.sightings["frame"] == snapshot.state["frame"]]
    hit = seen.merge(truth[["actor_id", "world_x", "world_y", "world_z"]], on="actor_id")
    groups = hit.groupby(hit["sender"].astype(str))
    columns = ["world_x", "world_y", "world_z"]
    return {str(sender): rows[columns].to_numpy(np.float64) for sender, rows in groups}


def write_recording(drive: Drive, sweeps: Sweeps, file: Path) -> None:
    """Write a recording, whole or not at all."""
    import rerun

    stream = rerun.RecordingStream(application_id=APPLICATION)
    taken = stream.binary_stream()
    send(drive, sweeps, stream)
    content = taken.read(flush=True) or b""
    write_whole(file, lambda temporary: temporary.write_bytes(content))


def open_viewer(drive: Drive, sweeps: Sweeps) -> None:
    """Start the viewer and show it everything."""
    import rerun

    stream = rerun.RecordingStream(application_id=APPLICATION)
    stream.spawn()
    send(drive, sweeps, stream)
    stream.flush()


def send(drive: Drive, sweeps: Sweeps, stream: RecordingStream) -> None:
    """Send everything there is of a drive; sweeps one by one, for they are large."""
    snapshots = [snapshot_of(drive, row) for row in range(len(drive.frames))]
    shown = DriveStream(stream, name=str(drive.key), about=legend(drive.title, drive.what))
    shown.steps([step_of(drive, snapshot) for snapshot in snapshots], scene.lines_of(drive))
    senders = {str(name): rows for name, rows in drive.messages.groupby("sender", observed=True)}
    shown.plot("messages/age", {name: scene.ages(rows) for name, rows in senders.items()})
    away = {name: scene.displacements(rows) for name, rows in senders.items()}
    shown.plot("messages/displacement", away)
    send_events(drive, shown)
    agents = list(dict.fromkeys(sender for _, sender in sweeps))
    for snapshot in snapshots if agents else ():
        points = {name: in_world(snapshot, name, sweeps) for name in agents}
        shown.sweeps(snapshot.time, points)


def send_events(drive: Drive, shown: DriveStream) -> None:
    """Send what happened in words, and last how it ended, with its place."""
    lines = [event_line(row) for _, row in drive.events.iterrows()]
    shown.events([*lines, (drive.end, drive.what, "CRITICAL" if drive.violated else "INFO")])
    if np.isfinite(drive.place).all():
        height = float(drive.frames["ego_z"].iloc[-1])
        shown.mark(drive.end, (*drive.place, height))


def event_line(row: pd.Series) -> tuple[float, str, str]:
    """Return time, words and level of an event."""
    words = f"{row['event']}: {row['kind']} {row['detail']}".rstrip()
    return float(row["time"]), words, "WARN" if row["event"] == "infraction" else "INFO"

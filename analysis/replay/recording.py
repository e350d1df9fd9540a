"""A drive as a recording for the Rerun viewer: the world, the ego's surroundings, curves, events.

Everything is sent in columns on one time line, seconds in the episode. `world` is right-handed (y
negated), `above` is seen from above in the frame of the ego's LiDAR.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analysis.drawing.palette import COLOURS, HUES, error_colour
from analysis.drive import Drive, snapshot_of
from analysis.replay import scene
from analysis.replay.scene import SHOWN, Sweeps, rgba, right_handed
from analysis.replay.world import (
    path_of,
    send_boxes,
    send_ego,
    send_partners,
    send_road,
    send_sweeps,
    times_of,
)
from harness.files import write_whole
from harness.records.schema import SOURCES
from harness.vocabulary import PATTERNS, Floats

if TYPE_CHECKING:
    import rerun
    from rerun import RecordingStream as Stream
    from rerun.blueprint import Blueprint

AROUND = 45.0
"""Metres to each side that are seen from above."""
CURVES = {
    "speed": "Speed, m/s",
    "controls": "Throttle, brake, steering",
    "messages/age": "Age of messages at delivery, s",
    "messages/displacement": "Displacement of messages at capture, m",
    "errors": "Errors by class",
}


def layout() -> Blueprint:
    """Return the world to the left, the view from above in the middle, curves to the right."""
    import rerun.blueprint as parts

    above = parts.VisualBounds2D(x_range=[-AROUND, AROUND], y_range=[-AROUND, AROUND])
    views = parts.Horizontal(
        parts.Spatial3DView(
            origin="here", contents="world/**", name="World, following the ego (y to the left)"
        ),
        parts.Vertical(
            parts.Spatial2DView(
                origin="above", name="From above, ahead is up (m)", visual_bounds=above
            ),
            parts.Tabs(
                parts.TextLogView(origin="events", name="Events"),
                parts.TextDocumentView(origin="about", name="Legend"),
            ),
            row_shares=[3, 1],
        ),
        parts.Vertical(
            *(parts.TimeSeriesView(origin=origin, name=name) for origin, name in CURVES.items())
        ),
        column_shares=[4, 3, 3],
    )
    closed = parts.SelectionPanel(state="collapsed"), parts.BlueprintPanel(state="collapsed")
    return parts.Blueprint(views, *closed, parts.TimePanel(state="collapsed"))


def about(drive: Drive) -> str:
    """Return what is to be known of a recording, as Markdown."""
    sources = {"truth": "ground truth", "ego_alone": "detected by the ego alone"}
    sources["cooperative"] = "detected with messages"
    colours = [
        *((sources[source], COLOURS[colour][0]) for source, colour in SHOWN.items()),
        *((pattern, error_colour(pattern)) for pattern in PATTERNS),
    ]
    return "\n".join(
        [
            f"# {drive.title}",
            f"{drive.what[:1].upper()}{drive.what[1:]}.",
            "",
            "| box | colour |",
            "|---|---|",
            *(f"| {name} | `{code}` |" for name, code in colours),
            "",
            "`world` is CARLA's frame with y negated: right-handed, x forward, y left, z up, in m."
            " `above` is the frame of the ego's LiDAR from above: x right, y down, ahead is up."
            " Time is seconds since the start of the attempt. The ego's symbol has the size of a"
            " typical car.",
        ]
    )


def send_curves(drive: Drive, stream: Stream) -> None:
    """Send speed, controls, errors, and messages' ages and displacements."""
    steps = {name: drive.frames[name].to_numpy(np.float64) for name in ("speed", *scene.CONTROLS)}
    plot("speed", {"ego": (drive.times, steps["speed"])}, stream)
    plot("controls", {name: (drive.times, steps[name]) for name in scene.CONTROLS}, stream)
    errors = scene.errors_by_class(drive)
    plot("errors", {kind: (drive.times, counts) for kind, counts in errors.items()}, stream)
    senders = {str(name): rows for name, rows in drive.messages.groupby("sender", observed=True)}
    plot("messages/age", {name: scene.ages(rows) for name, rows in senders.items()}, stream)
    away = {name: scene.displacements(rows) for name, rows in senders.items()}
    plot("messages/displacement", away, stream)


def plot(name: str, curves: Mapping[str, tuple[Floats, Floats]], stream: Stream) -> None:
    """Send the curves of one plot, times and values by label, each in a colour of its own."""
    import rerun

    for number, (label, (times, values)) in enumerate(curves.items()):
        entity = path_of(*name.split("/"), label)
        colour = rgba(COLOURS[HUES[number % len(HUES)]][0])
        stream.log(entity, rerun.SeriesLines(colors=colour, names=label), static=True)
        stream.send_columns(entity, times_of(times), rerun.Scalars.columns(scalars=values))


def send_events(drive: Drive, stream: Stream) -> None:
    """Send what happened in words, and last how it ended, with its place."""
    import rerun

    lines = [
        (float(row["time"]), f"{row['event']}: {row['kind']} {row['detail']}".rstrip(), level)
        for _, row in drive.events.iterrows()
        for level in ["WARN" if row["event"] == "infraction" else "INFO"]
    ]
    lines.append((drive.end, drive.what, "CRITICAL" if drive.violated else "INFO"))
    times, texts, levels = zip(*lines, strict=True)
    words = rerun.TextLog.columns(text=list(texts), level=list(levels))
    stream.send_columns("events", times_of(list(times)), words)
    if np.isfinite(drive.place).all():
        place = np.array([[*drive.place, float(drive.frames["ego_z"].iloc[-1])]])
        red = scene.hues([COLOURS["worse"][0]])
        place_column = rerun.Points3D.columns(
            positions=right_handed(place), colors=red, radii=[0.5], labels=["violation"]
        )
        stream.send_columns("world/violation", times_of([drive.end]), place_column)


def write_recording(drive: Drive, sweeps: Sweeps, file: Path) -> None:
    """Write a recording, whole or not at all."""
    import rerun

    stream = rerun.RecordingStream(application_id="crucible")
    taken = stream.binary_stream()
    send(drive, sweeps, stream)
    content = taken.read(flush=True) or b""
    write_whole(file, lambda temporary: temporary.write_bytes(content))


def open_viewer(drive: Drive, sweeps: Sweeps) -> None:
    """Start the viewer and show it everything."""
    import rerun

    stream = rerun.RecordingStream(application_id="crucible")
    stream.spawn()
    send(drive, sweeps, stream)
    stream.flush()


def send(drive: Drive, sweeps: Sweeps, stream: rerun.RecordingStream) -> None:
    """Send everything there is of a drive."""
    import rerun

    snapshots = [snapshot_of(drive, row) for row in range(len(drive.frames))]
    stream.send_recording_name(str(drive.key))
    stream.send_blueprint(layout())
    stream.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    text = rerun.TextDocument(about(drive), media_type="text/markdown")
    stream.log("about", text, static=True)
    send_road(drive, snapshots, stream)
    send_ego(snapshots, stream)
    send_partners(snapshots, stream)
    for source in SOURCES:
        send_boxes(snapshots, source, stream)
    send_curves(drive, stream)
    send_events(drive, stream)
    send_sweeps(snapshots, sweeps, stream)

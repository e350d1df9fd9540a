"""Numbers over time and what happened when, for a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from analysis.drawing.palette import COLOURS, HUES
from analysis.drive import Drive
from analysis.replay import scene
from analysis.replay.scene import rgba, right_handed
from analysis.replay.sending import path_of, times_of
from harness.vocabulary import Floats

if TYPE_CHECKING:
    from rerun import RecordingStream as Stream


def send_curves(drive: Drive, stream: Stream) -> None:
    """Send speed, controls, errors, and messages' ages and displacements."""
    steps = {name: drive.frames[name].to_numpy(np.float64) for name in ("speed", *scene.CONTROLS)}
    plot("speed", {"ego": (drive.times, steps["speed"])}, stream)
    plot("controls", {name: (drive.times, steps[name]) for name in scene.CONTROLS}, stream)
    errors = scene.errors_by_class(drive)
    plot("errors", {kind: (drive.times, counts) for kind, counts in errors.items()}, stream)
    senders = {str(name): own for name, own in drive.messages.groupby("sender", observed=True)}
    plot("messages/age", {name: scene.ages(own) for name, own in senders.items()}, stream)
    away = {name: scene.displacements(own) for name, own in senders.items()}
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

    told = [
        (float(row["time"]), f"{row['event']}: {row['kind']} {row['detail']}".rstrip(), level)
        for _, row in drive.events.iterrows()
        for level in ["WARN" if row["event"] == "infraction" else "INFO"]
    ]
    told.append((drive.end, drive.what, "CRITICAL" if drive.violated else "INFO"))
    times, texts, levels = zip(*told, strict=True)
    words = rerun.TextLog.columns(text=list(texts), level=list(levels))
    stream.send_columns("events", times_of(list(times)), words)
    if np.isfinite(drive.place).all():
        place = np.array([[*drive.place, float(drive.frames["ego_z"].iloc[-1])]])
        red = scene.hues([COLOURS["worse"][0]])
        spot = rerun.Points3D.columns(
            positions=right_handed(place), colors=red, radii=[0.5], labels=["violation"]
        )
        stream.send_columns("world/violation", times_of([drive.end]), spot)

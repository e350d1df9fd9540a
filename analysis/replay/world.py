"""The world of a recording for Rerun: road, ego, partners, boxes, sweeps; 3D and from above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.drawing.palette import COLOURS, HUES
from analysis.drive import Drive, Snapshot
from analysis.figures.birds_eye import EGO
from analysis.replay import scene
from analysis.replay.scene import LINES, SIZES, Sweeps, in_world, rgba, right_handed
from harness.vocabulary import Floats

if TYPE_CHECKING:
    import rerun
    from rerun import RecordingStream as Stream

TIME = "episode"
"""The one time line: seconds since the ego stood ready."""


def times_of(times: Sequence[float] | Floats) -> list[rerun.TimeColumn]:
    """Return the time line of some rows."""
    import rerun

    return [rerun.TimeColumn(TIME, duration=np.asarray(times, np.float64))]


def path_of(*parts: str) -> str:
    """Return the path of an entity, whatever characters a sender's name has."""
    import rerun

    return str(rerun.new_entity_path(list(parts)))


HEIGHT = 1.6
"""Of the ego's sign, m."""
Snapshots = Sequence[Snapshot]


def send_road(drive: Drive, snapshots: Snapshots, stream: Stream) -> None:
    """Send the road round the ego, its route and its way."""
    import rerun

    times = times_of([snapshot.time for snapshot in snapshots])
    for kind, lines in scene.lines_of(drive).items():
        near = [scene.near(lines, snapshot) for snapshot in snapshots]
        counts = [len(pieces) for pieces in near]
        solid = [right_handed(line) for pieces in near for line in pieces]
        flat = [
            scene.from_above(line, snapshot)
            for snapshot, pieces in zip(snapshots, near, strict=True)
            for line in pieces
        ]
        colour, radius = rgba(COLOURS[LINES[kind][0]][0]), LINES[kind][1]
        looks = rerun.LineStrips3D.from_fields(colors=colour, radii=radius)
        stream.log(f"world/road/{kind}", looks, static=True)
        strips = rerun.LineStrips3D.columns(strips=solid).partition(counts)
        stream.send_columns(f"world/road/{kind}", times, strips)
        below = rerun.LineStrips2D.from_fields(colors=colour, radii=radius, draw_order=-1)
        stream.log(f"above/road/{kind}", below, static=True)
        strips = rerun.LineStrips2D.columns(strips=flat).partition(counts)
        stream.send_columns(f"above/road/{kind}", times, strips)


def send_ego(snapshots: Snapshots, stream: Stream) -> None:
    """Send the ego's sign, and where it is for views that follow it."""
    import rerun

    states = pd.DataFrame([snapshot.state for snapshot in snapshots])
    times = times_of([snapshot.time for snapshot in snapshots])
    places = right_handed(states[["ego_x", "ego_y", "ego_z"]].to_numpy(np.float64))
    colour = rgba(COLOURS["accent"][0])
    sign = rerun.Boxes3D.columns(
        centers=places + np.array([0.0, 0.0, HEIGHT / 2]),
        half_sizes=np.tile(np.array([*EGO, HEIGHT]) / 2, (len(places), 1)),
        quaternions=scene.quaternions(states["ego_yaw"].to_numpy(np.float64)),
        colors=scene.hues([COLOURS["accent"][0]] * len(places)),
        labels=["ego"] * len(places),
    )
    stream.send_columns("world/ego", times, sign)
    stream.send_columns("here", times, rerun.Transform3D.columns(translation=places))
    length, width = np.array(EGO) / 2
    sides = [(-width, length), (-width, -0.4), (0.0, -length), (width, -0.4), (width, length)]
    arrow = rerun.LineStrips2D([[*sides, sides[0]]], colors=colour, radii=0.15)
    stream.log("above/ego", arrow, static=True)


def send_partners(snapshots: Snapshots, stream: Stream) -> None:
    """Send partners where they are and where they believe to be."""
    import rerun

    parts = [snapshot.poses[snapshot.poses["kind"].astype(str) != "ego"] for snapshot in snapshots]
    poses = pd.concat(parts)
    names = poses["sender"].astype(str).tolist()
    if not names:
        return
    for side, hue, size in (("true", "accent", 0.4), ("believed", "hue4", 0.25)):
        columns = [f"{side}_{axis}" for axis in "xyz"]
        dots = rerun.Points3D.columns(
            positions=right_handed(poses[columns].to_numpy(np.float64)),
            colors=scene.hues([COLOURS[hue][0]] * len(names)),
            radii=[size] * len(names),
            labels=[f"{name}, {side}" for name in names],
        )
        entity = f"world/partners/{side}"
        times = times_of([snapshot.time for snapshot in snapshots])
        stream.send_columns(entity, times, dots.partition([len(part) for part in parts]))
        named = rerun.Points3D.from_fields(show_labels=side == "true")
        stream.log(entity, named, static=True)


def send_boxes(snapshots: Snapshots, source: str, stream: Stream) -> None:
    """Send the boxes of one source, and the name of each error among them."""
    import rerun

    boxes, counts = scene.boxes_shown(snapshots, source)
    times = times_of([snapshot.time for snapshot in snapshots])
    looks = {"colors": scene.colours_of(boxes, source), "labels": scene.labels_of(boxes)}
    solid = rerun.Boxes3D.columns(
        centers=scene.centres(boxes),
        half_sizes=boxes[SIZES].to_numpy(np.float64) / 2,
        quaternions=scene.quaternions(boxes["world_yaw"].to_numpy(np.float64)),
        **looks,
    )
    stream.send_columns(f"world/{source}", times, solid.partition(counts))
    edges = rerun.components.FillMode.MajorWireframe
    quiet = rerun.Boxes3D.from_fields(show_labels=False, fill_mode=edges)
    stream.log(f"world/{source}", quiet, static=True)
    flat = rerun.LineStrips2D.columns(strips=scene.outlines_from_above(boxes), **looks)
    stream.send_columns(f"above/{source}", times, flat.partition(counts))
    stream.log(f"above/{source}", rerun.LineStrips2D.from_fields(show_labels=False), static=True)
    send_errors(snapshots, boxes, source, stream)


def send_errors(snapshots: Snapshots, boxes: pd.DataFrame, source: str, stream: Stream) -> None:
    """Send a named dot on each box that shows an error."""
    import rerun

    wrong = boxes[boxes["pattern"].astype(str) != ""]
    if wrong.empty:
        return
    counts = [int((wrong["frame"] == snapshot.state["frame"]).sum()) for snapshot in snapshots]
    times = times_of([snapshot.time for snapshot in snapshots])
    names = wrong["pattern"].astype(str).tolist()
    looks = {"colors": scene.colours_of(wrong, source), "labels": names}
    above = np.outer(wrong["height"].to_numpy(np.float64), (0.0, 0.0, 0.75))
    solid = rerun.Points3D.columns(positions=scene.centres(wrong) + above, **looks)
    stream.send_columns(f"world/errors/{source}", times, solid.partition(counts))
    middles = wrong[["y", "x"]].to_numpy(np.float64) * (1.0, -1.0)
    flat = rerun.Points2D.columns(positions=middles, **looks)
    stream.send_columns(f"above/errors/{source}", times, flat.partition(counts))


def send_sweeps(snapshots: Snapshots, sweeps: Sweeps, stream: Stream) -> None:
    """Send what every LiDAR saw, each in a colour of its own; one by one, for they are large."""
    import rerun

    for number, sender in enumerate(sorted({sender for _, sender in sweeps})):
        entity = path_of("world", "lidar", sender)
        colour = rgba(COLOURS[HUES[number % len(HUES)]][0])
        stream.log(entity, rerun.Points3D.from_fields(colors=colour, radii=-1.0), static=True)
        for snapshot in snapshots:
            points = right_handed(in_world(snapshot, sender, sweeps).astype(np.float64))
            columns = rerun.Points3D.columns(positions=points).partition([len(points)])
            stream.send_columns(entity, times_of([snapshot.time]), columns)

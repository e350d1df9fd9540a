"""One drive from above at every tick: road users, which LiDARs hit them, what was detected."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from analysis.drawing.palette import ERROR_COLOURS
from analysis.drawing.picture import get_rgb_colour
from analysis.drive import DriveSnapshot, RecordedDrive, build_snapshot
from analysis.replay.ground import (
    FINER,
    FilmGround,
    FollowCamera,
    compute_box_footprint,
    rotate_box_points,
)
from analysis.replay.scene import Sweeps, transform_sweep_to_world
from analysis.replay.views import Pictures
from harness.common.errors import UserError
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.vocabulary import Floats, Integers

Pixel: TypeAlias = tuple[float, float]
EGO = 0
EGO_NAME = "ego"
"""The ego among actors, and among senders."""
LEAST = 0.7
"""Metres: smaller sides are drawn as long as this, so that pedestrians are seen."""
LOW = 0.4
"""Metres above the ground: lower LiDAR points are the road."""


@dataclass(frozen=True, slots=True, eq=False)
class TickRoadUsers:
    """Who is near the ego at one tick."""

    ids: Integers
    boxes: Floats  # rows of x, y, length, width, yaw


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FilmStep:
    """What holds from one planning step to the next."""

    snapshot: DriveSnapshot
    seen_by: Mapping[int, frozenset[str]]  # senders whose LiDAR hit each road user
    errors: Mapping[int, str]  # patterns of ground-truth boxes by actor
    points: Mapping[str, Floats]  # rows of x and y by sender, without the ground
    senders: Mapping[str, Floats]  # where each LiDAR is: x and y; the ego's among them
    detections: Floats  # rows of x, y, length, width and yaw, of those that count
    hues: Sequence[str]  # of the detections


@dataclass(eq=False)
class DriveFootage:
    """A drive, tick by tick."""

    drive: RecordedDrive
    sweeps: Sweeps
    pictures: Pictures  # of front cameras; empty where none were kept
    focus: int  # the road user that is ringed; 0 for none

    def __post_init__(self) -> None:
        """Refuse tracks that are not those of a drive."""
        tracks, file = self.drive.tracks, self.drive.folder / "tracks.parquet"
        ego = tracks[tracks["actor_id"] == EGO]["frame"].to_numpy()
        if len(ego) == 0 or (ego != np.arange(len(ego))).any() or self.last >= len(ego):
            raise UserError(f"{file}: the ego is not there at every tick")
        if not set(tracks["actor_id"]) <= set(self.drive.actors["actor_id"]):
            raise UserError(f"{file}: road users that actors.parquet does not have")
        if not np.isfinite(self.drive.scenery.select_dtypes("number").to_numpy()).all():
            raise UserError(f"{file.with_name('scenery.parquet')}: infinite or missing numbers")

    @cached_property
    def tick(self) -> float:
        """Seconds between two ticks."""
        frames, times = self.drive.frames["frame"].to_numpy(), self.drive.times
        long = frames[-1] - frames[0]
        return float((times[-1] - times[0]) / long) if long else 0.05

    @cached_property
    def last(self) -> int:
        """The last tick."""
        return int(self.drive.tracks["frame"].max())

    @cached_property
    def _sorted(self) -> pd.DataFrame:
        tracks = self.drive.tracks.merge(self.drive.actors, on="actor_id", how="left")
        return tracks.sort_values(["frame", "actor_id"], ignore_index=True)

    @cached_property
    def _starts(self) -> Integers:
        return np.searchsorted(self._sorted["frame"].to_numpy(), np.arange(self.last + 2))

    @cached_property
    def _ids(self) -> Integers:
        return cast(Integers, self._sorted["actor_id"].to_numpy(np.int64))

    @cached_property
    def _boxes(self) -> Floats:
        columns = self._sorted[["x", "y", "length", "width", "yaw"]].to_numpy(np.float64)
        return np.asarray(columns * [POSITION_UNIT, POSITION_UNIT, 1.0, 1.0, YAW_UNIT])

    def get_road_users(self, tick: int) -> TickRoadUsers:
        """Return who is near at a tick; after the last one, who was near then."""
        here = slice(*self._starts[min(tick, self.last) + np.array([0, 1])])
        return TickRoadUsers(self._ids[here], self._boxes[here])

    @cached_property
    def way(self) -> Floats:
        """Where the ego is at every tick, rows of x and y."""
        return np.asarray(self._boxes[self._ids == EGO][:, :2])

    @cached_property
    def headings(self) -> Floats:
        """The ego's yaw at every tick."""
        return np.asarray(self._boxes[self._ids == EGO][:, 4])

    @cached_property
    def speeds(self) -> Floats:
        """The ego's speed at every tick in km/h, from its way; the first one is the second."""
        gone = np.linalg.norm(np.diff(self.way, axis=0), axis=1) / self.tick * 3.6
        return np.concatenate([gone[:1], gone]) if len(gone) else np.zeros(1)

    @cached_property
    def _steps(self) -> dict[int, FilmStep]:
        return {}

    def get_step(self, tick: int) -> FilmStep:
        """Return the planning step that holds at a tick."""
        row = max(int(np.searchsorted(self.drive.frames["frame"], tick, "right")) - 1, 0)
        if row not in self._steps:
            self._steps[row] = self._build_step(row)
        return self._steps[row]

    def _build_step(self, row: int) -> FilmStep:
        snapshot = build_snapshot(self.drive, row)
        # senders that have returns of a road user
        sightings = self.drive.sightings
        here = sightings[sightings["frame"] == snapshot.state["frame"]]
        seen: dict[int, set[str]] = defaultdict(set)
        for actor, sender in zip(here["actor_id"], here["sender"].astype(str), strict=True):
            if sender == EGO_NAME or self.drive.reads_messages:
                seen[int(actor)].add(sender)
        # true boxes with an error, and cooperative detections that count
        sources, patterns = (snapshot.boxes[name].astype(str) for name in ("source", "pattern"))
        wrong = snapshot.boxes[(sources == "truth") & (patterns != "")]
        counted = (sources == "cooperative") & snapshot.boxes["counted"]
        # (detections, 5) in the world: m and rad
        columns = ["world_x", "world_y", "length", "width", "world_yaw"]
        places = snapshot.poses[["true_x", "true_y"]].to_numpy(np.float64)
        return FilmStep(
            snapshot=snapshot,
            seen_by={actor: frozenset(names) for actor, names in seen.items()},
            errors=dict(zip(wrong["actor_id"], wrong["pattern"].astype(str), strict=True)),
            points=self._read_points(snapshot),
            senders=dict(zip(snapshot.poses["sender"].astype(str), places, strict=True)),
            detections=snapshot.boxes.loc[counted, columns].to_numpy(np.float64),
            hues=[ERROR_COLOURS.get(name, "cooperative") for name in patterns[counted]],
        )

    def _read_points(self, snapshot: DriveSnapshot) -> dict[str, Floats]:
        """Return the LiDAR points of a planning step, if they were recorded."""
        lowest, points = float(snapshot.state["ego_z"]) + LOW, {}
        for sender in snapshot.poses["sender"].astype(str) if self.sweeps else ():
            xyz = transform_sweep_to_world(snapshot, sender, self.sweeps)
            points[sender] = xyz[xyz[:, 2] > lowest, :2].astype(np.float64)
        return points


def render_drive_panel(
    footage: DriveFootage, ground: FilmGround, *, camera: FollowCamera, tick: int, dark: bool
) -> Image.Image:
    """Draw a drive at a tick of the camera's.

    Args:
        footage: the drive.
        ground: what lies below the camera's whole way.
        camera: which follows the way.
        tick: of the film; beyond the end of the drive its last picture stays.
        dark: background.
    """
    # ground and points, then what moves
    pixels = ground.crop_tick(camera, tick)
    now = min(tick, footage.last)
    step = footage.get_step(now)
    render_lidar_points(pixels, step, camera=camera, tick=tick, dark=dark)
    image = Image.fromarray(pixels)
    brush = ImageDraw.Draw(image)
    painter = TickPainter(brush, camera, tick, dark)
    present = footage.get_road_users(now)
    # lines of sight to the other one, below the road users
    others = present.boxes[(present.ids == footage.focus) & (present.ids != EGO)]
    for box in others:
        painter.render_sight_lines(step, footage.focus, box)
    for actor, box in zip(present.ids.tolist(), present.boxes, strict=True):
        if actor != EGO:
            painter.render_road_user(
                box, step.seen_by.get(actor, frozenset()), step.errors.get(actor, "")
            )
    # on top: the ring, detections, partners, which may be or hang over road users, and the ego
    for box in others:
        painter.render_ring(box)
    painter.render_detections(step)
    painter.render_partners(step)
    painter.render_ego_body(present.boxes[present.ids == EGO][0])
    # the end
    if footage.drive.violated and tick >= footage.last:
        painter.render_violation_cross(footage.drive.place)
    return image.reduce(FINER)


@dataclass(frozen=True, slots=True)
class TickPainter:
    """Draws what moves, for one tick."""

    brush: ImageDraw.ImageDraw
    camera: FollowCamera
    tick: int
    dark: bool

    def _project_points(self, places: Floats) -> list[Pixel]:
        return [(float(x), float(y)) for x, y in self.camera.project_places(places, self.tick)]

    def _project_box(self, box: Floats, larger: float = 0.0) -> list[Pixel]:
        x, y, length, width, yaw = box
        sides = (max(length, LEAST) + larger, max(width, LEAST) + larger)
        return self._project_points(compute_box_footprint(np.array([x, y, *sides, yaw])))

    def _render_outline(self, shape: Sequence[Pixel], ink: tuple[int, ...], width: int) -> None:
        """Draw a closed line; Pillow's own outlines of polygons fill a mask of the whole image."""
        self.brush.line([*shape, *shape[:2]], ink, width, joint="curve")

    def render_road_user(self, box: Floats, seen_by: frozenset[str], error: str) -> None:
        """Draw a road user: dark if the ego's LiDAR hits it, half if only a partner's does."""
        ink = get_rgb_colour(ERROR_COLOURS.get(error, "truth"), self.dark)
        left_front, right_front, right_back, left_back = self._project_box(box)
        whole = [left_front, right_front, right_back, left_back]
        light = get_rgb_colour("line", self.dark)
        self.brush.polygon(whole, ink if EGO_NAME in seen_by else light)
        if seen_by and EGO_NAME not in seen_by:
            self.brush.polygon([left_front, right_back, left_back], ink)
        self._render_outline(whole, ink, FINER + 1)

    def render_ring(self, box: Floats) -> None:
        """Ring the road user that is hit in the end."""
        ((x, y),) = self._project_points(box[None, :2])
        radius = (max(box[2], LEAST) / 2 + 0.9) * self.camera.scale
        limits = [x - radius, y - radius, x + radius, y + radius]
        self.brush.ellipse(limits, None, get_rgb_colour("worse", self.dark), width=2 * FINER)

    def render_sight_lines(self, step: FilmStep, actor: int, box: Floats) -> None:
        """Draw a line from each LiDAR that hits a road user."""
        for sender in sorted(step.seen_by.get(actor, frozenset()) & step.senders.keys()):
            ends = self._project_points(np.vstack([step.senders[sender], box[:2]]))
            hue = "ego_alone" if sender == EGO_NAME else "cooperative"
            self.brush.line(ends, get_rgb_colour(hue, self.dark), FINER)

    def render_detections(self, step: FilmStep) -> None:
        """Outline what the system detected with its messages."""
        for box, hue in zip(step.detections, step.hues, strict=True):
            self._render_outline(
                self._project_box(box, 0.35), get_rgb_colour(hue, self.dark), 2 * FINER
            )

    def render_partners(self, step: FilmStep) -> None:
        """Mark where partners are."""
        for sender, place in step.senders.items():
            if sender != EGO_NAME:
                ((x, y),) = self._project_points(place[None])
                r = 7 * FINER
                sign = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
                self.brush.polygon(sign, get_rgb_colour("cooperative", self.dark))
                self._render_outline(sign, get_rgb_colour("paper", self.dark), FINER)

    def render_ego_body(self, box: Floats) -> None:
        """Draw the ego as an arrow the size of its body."""
        x, y, length, width, yaw = box
        ahead = np.array([0.5, 0.2, -0.5, -0.5, 0.2]) * length
        aside = np.array([0.0, 0.5, 0.5, -0.5, -0.5]) * width
        sign = self._project_points(rotate_box_points(x, y, yaw=yaw, ahead=ahead, aside=aside))
        self.brush.polygon(sign, get_rgb_colour("accent", self.dark))
        self._render_outline(sign, get_rgb_colour("paper", self.dark), FINER)

    def render_violation_cross(self, place: tuple[float, float]) -> None:
        """Mark the place of the violation."""
        if all(map(math.isfinite, place)):
            ((x, y),) = self._project_points(np.array([place]))
            r, ink = 9 * FINER, get_rgb_colour("worse", self.dark)
            self.brush.line([(x - r, y - r), (x + r, y + r)], ink, 3 * FINER)
            self.brush.line([(x - r, y + r), (x + r, y - r)], ink, 3 * FINER)


def render_lidar_points(
    pixels: NDArray[np.uint8], step: FilmStep, *, camera: FollowCamera, tick: int, dark: bool
) -> None:
    """Draw the LiDAR points of a planning step, those of partners in another colour."""
    for sender, points in step.points.items():
        at = np.rint(camera.project_places(points, tick)).astype(np.int64)
        at = at[((at >= 0) & (at < camera.size - 1)).all(axis=1)]
        ink = get_rgb_colour("ego_alone" if sender == EGO_NAME else "cooperative", dark)
        for right, down in ((0, 0), (1, 0), (0, 1), (1, 1)):
            pixels[at[:, 1] + down, at[:, 0] + right] = ink

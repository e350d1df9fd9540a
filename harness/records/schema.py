"""What the tables of an episode hold, column by column, with units."""

from __future__ import annotations

from itertools import product

import pyarrow as pa

from harness.vocabulary import CLASSES

VERSION = 1
PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
BANDS = ("0_30", "30_50", "50_100")
"""Distance from the ego's LiDAR in the plane, m."""
SOURCES = ("truth", "ego_alone", "cooperative")

_NAME = pa.dictionary(pa.int8(), pa.string())


def _column(name: str, kind: pa.DataType, says: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": says})


def _pose(prefix: str, says: str) -> list[pa.Field]:
    return [
        *(_column(f"{prefix}{axis}", pa.float64(), f"m, {says}") for axis in "xyz"),
        *(
            _column(f"{prefix}{angle}", pa.float64(), f"rad, {says}")
            for angle in ("yaw", "pitch", "roll")
        ),
    ]


def _schema(*columns: pa.Field) -> pa.Schema:
    return pa.schema(columns, metadata={"crucible_schema": str(VERSION)})


_WHEN = (
    _column("frame", pa.int64(), "simulator frame"),
    _column("time", pa.float64(), "s since the attempt began"),
)

FRAMES = _schema(
    *_WHEN,
    *_pose("ego_", "the vehicle in the world"),
    _column("speed", pa.float64(), "m/s"),
    _column("station", pa.float64(), "m along the route"),
    _column("throttle", pa.float64(), "0 to 1"),
    _column("steer", pa.float64(), "-1 (left) to 1"),
    _column("brake", pa.float64(), "0 to 1"),
    _column("messages", pa.int32(), "messages the system was given"),
    _column("oldest_age", pa.float64(), "s, of those messages; NaN without any"),
    *(
        _column(f"{source}_{part}", pa.int32(), f"{source} boxes in the window, {part}")
        for source, part in product(SOURCES, ("all", *CLASSES, *BANDS))
    ),
    *(
        _column(f"{pattern}{part}", pa.int32(), f"errors of this pattern{part.replace('_', ' ')}")
        for pattern, part in product(PATTERNS, ("", *(f"_{each}" for each in (*CLASSES, *BANDS))))
    ),
)

BOXES = _schema(
    _column("frame", pa.int64(), "simulator frame"),
    _column("source", _NAME, "truth, ego_alone or cooperative"),
    _column("class", _NAME, "vehicle, pedestrian or cyclist"),
    *(_column(name, pa.float64(), "m, centre in the ego's LiDAR frame") for name in "xyz"),
    *(_column(name, pa.float64(), "m, full size") for name in ("length", "width", "height")),
    _column("yaw", pa.float64(), "rad, in the ego's LiDAR frame"),
    _column("score", pa.float64(), "confidence; 1 for truth"),
    _column("actor_id", pa.int64(), "simulator's id; 0 for detections"),
    _column("hits_ego", pa.int32(), "LiDAR returns of the ego; 0 for detections"),
    _column("hits_anyone", pa.int32(), "most LiDAR returns of one observer; 0 for detections"),
    _column("counted", pa.bool_(), "in the window and, for truth, hit often enough to count"),
    _column("pattern", _NAME, "error pattern this box shows, or nothing"),
    _column("pattern_count", pa.int16(), "times it was counted"),
)

POSES = _schema(
    _column("frame", pa.int64(), "simulator frame"),
    _column("sender", _NAME, "ego or a partner"),
    _column("kind", _NAME, "ego, roadside or vehicle"),
    *_pose("true_", "its LiDAR in the world"),
    *_pose("believed_", "its LiDAR as it believes"),
)

MESSAGES = _schema(
    _column("sender", _NAME, "partner"),
    _column("kind", _NAME, "roadside or vehicle"),
    _column("capture_frame", pa.int64(), "simulator frame"),
    _column("capture_time", pa.float64(), "s since the attempt began"),
    _column("delivered_time", pa.float64(), "s, first planning step that had it; NaN: never"),
    _column("age_asked", pa.float64(), "s, what the settings predict; NaN: never delivered"),
    _column("age_found", pa.float64(), "s, measured at the system's door; NaN: never delivered"),
    *(
        _column(f"asked_{n}", pa.float64(), f"{u}, pose error asked")
        for n, u in (("x", "m"), ("y", "m"), ("yaw", "rad"))
    ),
    *(
        _column(f"found_{n}", pa.float64(), f"{u}, pose error measured")
        for n, u in (("x", "m"), ("y", "m"), ("yaw", "rad"))
    ),
    _column("bytes", pa.int64(), "size of the payload as sent"),
    _column("fate", _NAME, "delivered, superseded, lost or in_flight"),
    _column("uses", pa.int32(), "planning steps that were given it"),
)

EVENTS = _schema(
    *_WHEN,
    _column("event", _NAME, "infraction, hazard, goal or spawn"),
    _column("kind", _NAME, "which one"),
    _column("x", pa.float64(), "m in the world; NaN: nowhere"),
    _column("y", pa.float64(), "m in the world; NaN: nowhere"),
    _column("actor_id", pa.int64(), "the other one; 0: nobody"),
    _column("actor_type", pa.string(), "blueprint of the other one"),
    _column("ego_speed", pa.float64(), "m/s"),
    _column("relative_speed", pa.float64(), "m/s"),
    _column("detail", pa.string(), "status and reason"),
)

MAP = _schema(
    _column("line", pa.int32(), "number of the polyline"),
    _column("kind", _NAME, "route, lane_centre, lane_left or lane_right"),
    *(_column(name, pa.float64(), "m in the world") for name in "xyz"),
)

TABLES = {
    "frames": FRAMES,
    "boxes": BOXES,
    "poses": POSES,
    "messages": MESSAGES,
    "events": EVENTS,
    "map": MAP,
}

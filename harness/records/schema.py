"""What the tables of an episode hold, column by column, with units."""

from __future__ import annotations

from itertools import product

import pyarrow as pa

from harness.vocabulary import BANDS, CLASSES, PATTERNS

VERSION = 2
SOURCES = ("truth", "ego_alone", "cooperative")

_NAME = pa.dictionary(pa.int32(), pa.string())
_PARTS = {
    **{name: f"of class {name}" for name in CLASSES},
    **{band: f"{band.replace('_', ' to ')} m away" for band in BANDS},
}


def _column(name: str, kind: pa.DataType, unit: str, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"unit": unit, "description": description})


def _pose(prefix: str, description: str) -> list[pa.Field]:
    return [
        *(_column(f"{prefix}{axis}", pa.float64(), "m", description) for axis in "xyz"),
        *(
            _column(f"{prefix}{angle}", pa.float64(), "rad", description)
            for angle in ("yaw", "pitch", "roll")
        ),
    ]


def _shift(prefix: str, description: str) -> list[pa.Field]:
    return [
        _column(f"{prefix}x", pa.float64(), "m", description),
        _column(f"{prefix}y", pa.float64(), "m", description),
        _column(f"{prefix}yaw", pa.float64(), "rad", description),
    ]


def _box(prefix: str, description: str) -> list[pa.Field]:
    return [
        *(_column(f"{prefix}{axis}", pa.float64(), "m", description) for axis in "xyz"),
        *(
            _column(f"{prefix}{size}", pa.float64(), "m", description)
            for size in ("length", "width", "height")
        ),
        _column(f"{prefix}yaw", pa.float64(), "rad", description),
    ]


def _schema(*columns: pa.Field) -> pa.Schema:
    return pa.schema(columns, metadata={"crucible_schema": str(VERSION)})


_FRAME = _column("frame", pa.int64(), "", "ticks since the ego stood ready")
_TIME = _column("time", pa.float64(), "s", "since the ego stood ready")

FRAMES = _schema(
    _FRAME,
    _TIME,
    *_pose("ego_", "the ego vehicle in the world"),
    _column("speed", pa.float64(), "m/s", "of the ego"),
    _column("station", pa.float64(), "m", "along the route"),
    _column("throttle", pa.float64(), "", "0 to 1"),
    _column("steer", pa.float64(), "", "-1 (left) to 1"),
    _column("brake", pa.float64(), "", "0 to 1"),
    _column("messages", pa.int32(), "", "messages the system was given"),
    _column("oldest_age", pa.float64(), "s", "of those messages; NaN without any"),
    *(
        _column(f"{source}_{part}", pa.int32(), "", f"{source} boxes that count {says}".rstrip())
        for source, (part, says) in product(SOURCES, {"all": "", **_PARTS}.items())
    ),
    *(
        _column(f"{pattern}{part}", pa.int32(), "", f"times {pattern} was counted {says}".rstrip())
        for pattern, (part, says) in product(
            PATTERNS, {"": "", **{f"_{name}": says for name, says in _PARTS.items()}}.items()
        )
    ),
)

BOXES = _schema(
    _FRAME,
    _column("source", _NAME, "", "truth, ego_alone or cooperative"),
    _column("class", _NAME, "", "vehicle, pedestrian or cyclist"),
    *(_column(name, pa.float64(), "m", "centre in the ego's LiDAR frame") for name in "xyz"),
    *(_column(name, pa.float64(), "m", "full size") for name in ("length", "width", "height")),
    _column("yaw", pa.float64(), "rad", "in the ego's LiDAR frame"),
    _column("score", pa.float64(), "", "confidence; 1 for ground truth"),
    _column("actor_id", pa.int64(), "", "counted from the ego, which is 0; 0 for detections"),
    _column("hits_ego", pa.int32(), "", "LiDAR returns of the ego; 0 for detections"),
    _column("hits_anyone", pa.int32(), "", "most of the ego or one partner; 0 for detections"),
    _column(
        "hits_reference", pa.int32(), "", "most of the ego or the reference rig; 0 for detections"
    ),
    _column("counted", pa.bool_(), "", "in the window, hit often enough, of no parked car"),
    _column("pattern", _NAME, "", "error pattern this box shows; empty for none"),
    _column("pattern_count", pa.int16(), "", "times it was counted"),
)

POSES = _schema(
    _FRAME,
    _column("sender", _NAME, "", "ego, or a partner"),
    _column("kind", _NAME, "", "ego, roadside or vehicle"),
    *_pose("true_", "its LiDAR in the world"),
    *_pose("believed_", "its LiDAR in the world, as it believes"),
)

MESSAGES = _schema(
    _column("sender", _NAME, "", "a partner"),
    _column("kind", _NAME, "", "roadside or vehicle"),
    _column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _column("capture_time", pa.float64(), "s", "since the ego stood ready"),
    _column("delay", pa.float64(), "s", "as sampled: it arrives so long after its capture"),
    _column("delivered_time", pa.float64(), "s", "planning step that had it first; NaN: none"),
    _column("age_asked", pa.float64(), "s", "at that step, as the settings predict; NaN: none"),
    _column("age_measured", pa.float64(), "s", "at that step, measured at the door; NaN: none"),
    *_shift("asked_", "displacement asked for"),
    *_shift("measured_", "displacement measured: believed less true pose"),
    _column("bytes", pa.int64(), "B", "of the payload as sent"),
    _column("fate", _NAME, "", "delivered, superseded, lost, unsent, unheard or in_flight"),
    _column("uses", pa.int32(), "", "planning steps that were given it"),
)

EVENTS = _schema(
    _FRAME,
    _TIME,
    _column("event", _NAME, "", "infraction or hazard"),
    _column("kind", _NAME, "", "which one"),
    _column("x", pa.float64(), "m", "in the world; NaN: nowhere"),
    _column("y", pa.float64(), "m", "in the world; NaN: nowhere"),
    _column("actor_id", pa.int64(), "", "of the other actor, counted from the ego; 0: none"),
    _column("actor_type", pa.string(), "", "blueprint of the other one"),
    _column("ego_speed", pa.float64(), "m/s", "NaN where it means nothing"),
    _column("relative_speed", pa.float64(), "m/s", "NaN where it means nothing"),
    _column("detail", pa.string(), "", "ego_stationary; of a hazard, source: status: reason"),
)

MAP = _schema(
    _column("line", pa.int32(), "", "number of the polyline"),
    _column("kind", _NAME, "", "route, lane_centre, lane_left or lane_right"),
    *(_column(name, pa.float64(), "m", "in the world") for name in "xyz"),
)

POINTS = _schema(
    _FRAME,
    _column("sender", _NAME, "", "ego, or a partner"),
    _column("points", pa.binary(), "", "x, y, z and intensity; harness.records.points reads them"),
)

MILLI, MICRO = 1e-3, 1e-4
"""Metres and radians that the whole numbers of `tracks` count."""

TRACKS = _schema(
    _column("actor_id", pa.int32(), "", "counted from the ego, which is 0"),
    _column("frame", pa.int32(), "", "ticks since the ego stood ready"),
    *(_column(name, pa.int32(), "mm", "centre of its box in the world") for name in "xyz"),
    _column("yaw", pa.int32(), "1e-4 rad", "in the world"),
)

ACTORS = _schema(
    _column("actor_id", pa.int32(), "", "counted from the ego, which is 0"),
    _column("class", _NAME, "", "vehicle, pedestrian or cyclist"),
    _column("type", pa.string(), "", "blueprint"),
    *(_column(name, pa.float32(), "m", "full size") for name in ("length", "width", "height")),
)

SIGHTINGS = _schema(
    _FRAME,
    _column("sender", _NAME, "", "ego, or a partner"),
    _column("actor_id", pa.int64(), "", "counted from the ego, which is 0"),
    _column("hits", pa.int32(), "", "LiDAR returns at this planning step, at least one"),
)

SCENERY = _schema(
    _column("kind", _NAME, "", "building, wall, bridge, vegetation, vehicle (parked) or object"),
    *(_column(name, pa.float32(), "m", "centre of its box in the world") for name in "xyz"),
    *(_column(name, pa.float32(), "m", "full size") for name in ("length", "width", "height")),
    _column("yaw", pa.float32(), "rad", "in the world"),
)

BOX_CHANGES = _schema(
    _FRAME,
    *(
        _column(name, _NAME, "", description)
        for name, description in (
            ("change", "removed, moved or added"),
            ("pattern", "error pattern that was repaired or injected"),
            ("class", "vehicle, pedestrian or cyclist"),
        )
    ),
    _column("actor_id", pa.int64(), "", "counted from the ego; 0 for an additional detection"),
    _column("score", pa.float64(), "", "confidence"),
    *_box("before_", "the system's box, or the perfect one where errors are injected; NaN: added"),
    *_box("after_", "the box that was driven by; NaN: removed"),
)

TABLES = {
    "frames": FRAMES,
    "boxes": BOXES,
    "poses": POSES,
    "messages": MESSAGES,
    "events": EVENTS,
    "map": MAP,
    "tracks": TRACKS,
    "actors": ACTORS,
    "sightings": SIGHTINGS,
    "scenery": SCENERY,
}
"""What every try holds."""
AFTER_SENSING = {
    "boxes": (
        _column("hits_after_ego", pa.int32(), "", "of hits_ego, points left after sensing"),
        _column("hits_after_anyone", pa.int32(), "", "most of the ego or one partner, as left"),
    ),
    "sightings": (_column("hits_after", pa.int32(), "", "of hits, points left after sensing"),),
}
"""Further columns, behind the others: of attempts whose system reads points, where these may have
been changed by a LiDAR's sensitivity, weather or another disturbance of sweeps."""
ALL_TABLES = {**TABLES, "points": POINTS, "box_changes": BOX_CHANGES}
MOST_ROWS = {
    "frames": 200_000,  # planning steps: eleven hours at five a second
    "boxes": 20_000_000,
    "poses": 2_000_000,
    "messages": 2_000_000,
    "events": 200_000,
    "map": 2_000_000,
    "tracks": 100_000_000,
    "actors": 200_000,
    "sightings": 20_000_000,
    "scenery": 2_000_000,
    "points": 2_000_000,
    "box_changes": 20_000_000,
}
"""Rows that a table of one attempt can have: more are not read into memory."""
ROWS_A_STEP = {
    "boxes": 3_000,
    "tracks": 100_000,
    "sightings": 20_000,
    "poses": 200,
    "messages": 200,
    "points": 200,
    "box_changes": 6_000,
}
"""Rows for each of an attempt's planning steps, at most."""

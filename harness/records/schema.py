"""What the tables of an episode hold, column by column, with units."""

from __future__ import annotations

from itertools import product

import pyarrow as pa

from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES

VERSION = 2
SOURCES = ("truth", "ego_alone", "cooperative")

_NAME = pa.dictionary(pa.int32(), pa.string())
_PARTS = {
    **{name: f"of class {name}" for name in CLASSES},
    **{band: f"{band.replace('_', ' to ')} m away" for band in BANDS},
}


def _make_column(name: str, kind: pa.DataType, unit: str, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"unit": unit, "description": description})


def _make_pose_columns(prefix: str, description: str) -> list[pa.Field]:
    return [
        *(_make_column(f"{prefix}{axis}", pa.float64(), "m", description) for axis in "xyz"),
        *(
            _make_column(f"{prefix}{angle}", pa.float64(), "rad", description)
            for angle in ("yaw", "pitch", "roll")
        ),
    ]


def _make_shift_columns(prefix: str, description: str) -> list[pa.Field]:
    return [
        _make_column(f"{prefix}x", pa.float64(), "m", description),
        _make_column(f"{prefix}y", pa.float64(), "m", description),
        _make_column(f"{prefix}yaw", pa.float64(), "rad", description),
    ]


def _make_box_columns(prefix: str, description: str) -> list[pa.Field]:
    return [
        *(_make_column(f"{prefix}{axis}", pa.float64(), "m", description) for axis in "xyz"),
        *(
            _make_column(f"{prefix}{size}", pa.float64(), "m", description)
            for size in ("length", "width", "height")
        ),
        _make_column(f"{prefix}yaw", pa.float64(), "rad", description),
    ]


def _build_record_schema(*columns: pa.Field) -> pa.Schema:
    return pa.schema(columns, metadata={"crucible_schema": str(VERSION)})


_FRAME = _make_column("frame", pa.int64(), "", "ticks since the ego stood ready")
_TIME = _make_column("time", pa.float64(), "s", "since the ego stood ready")

FRAMES = _build_record_schema(
    _FRAME,
    _TIME,
    *_make_pose_columns("ego_", "the ego vehicle in the world"),
    _make_column("speed", pa.float64(), "m/s", "of the ego"),
    _make_column("station", pa.float64(), "m", "along the route"),
    _make_column("throttle", pa.float64(), "", "0 to 1"),
    _make_column("steer", pa.float64(), "", "-1 (left) to 1"),
    _make_column("brake", pa.float64(), "", "0 to 1"),
    _make_column("messages", pa.int32(), "", "messages the system was given"),
    _make_column("oldest_age", pa.float64(), "s", "of those messages; NaN without any"),
    *(
        _make_column(
            f"{source}_{part}", pa.int32(), "", f"{source} boxes that count {says}".rstrip()
        )
        for source, (part, says) in product(SOURCES, {"all": "", **_PARTS}.items())
    ),
    *(
        _make_column(
            f"{pattern}{part}", pa.int32(), "", f"times {pattern} was counted {says}".rstrip()
        )
        for pattern, (part, says) in product(
            PATTERNS, {"": "", **{f"_{name}": says for name, says in _PARTS.items()}}.items()
        )
    ),
)

DETECTED = tuple(
    name
    for name in FRAMES.names
    if name.startswith((*(f"{source}_" for source in SOURCES[1:]), *PATTERNS))
)
"""Columns of planning steps that are null where a system does not say what it detects."""

BOXES = _build_record_schema(
    _FRAME,
    _make_column("source", _NAME, "", "truth, ego_alone or cooperative"),
    _make_column("class", _NAME, "", "vehicle, pedestrian or cyclist"),
    *(_make_column(name, pa.float64(), "m", "centre in the ego's LiDAR frame") for name in "xyz"),
    *(_make_column(name, pa.float64(), "m", "full size") for name in ("length", "width", "height")),
    _make_column("yaw", pa.float64(), "rad", "in the ego's LiDAR frame"),
    _make_column("score", pa.float64(), "", "confidence; 1 for ground truth"),
    _make_column("actor_id", pa.int64(), "", "counted from the ego, which is 0; 0 for detections"),
    _make_column("hits_ego", pa.int32(), "", "LiDAR returns of the ego; 0 for detections"),
    _make_column("hits_anyone", pa.int32(), "", "most of the ego or one partner; 0 for detections"),
    _make_column(
        "hits_reference", pa.int32(), "", "most of the ego or the reference rig; 0 for detections"
    ),
    _make_column("counted", pa.bool_(), "", "in the window, hit often enough, of no parked car"),
    _make_column("pattern", _NAME, "", "error pattern this box shows; empty for none"),
    _make_column("pattern_count", pa.int16(), "", "times it was counted"),
)

POSES = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "ego, or a partner"),
    _make_column("kind", _NAME, "", "ego, roadside or vehicle"),
    *_make_pose_columns("true_", "its LiDAR in the world"),
    *_make_pose_columns("believed_", "its LiDAR in the world, as it believes"),
)

MESSAGES = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("kind", _NAME, "", "roadside or vehicle"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("capture_time", pa.float64(), "s", "since the ego stood ready"),
    _make_column("delay", pa.float64(), "s", "as sampled: it arrives so long after its capture"),
    _make_column("delivered_time", pa.float64(), "s", "planning step that had it first; NaN: none"),
    _make_column(
        "age_asked", pa.float64(), "s", "at that step, as the settings predict; NaN: none"
    ),
    _make_column(
        "age_measured", pa.float64(), "s", "at that step, measured at the door; NaN: none"
    ),
    *_make_shift_columns("asked_", "displacement asked for"),
    *_make_shift_columns("measured_", "displacement measured: believed less true pose"),
    _make_column("bytes", pa.int64(), "B", "of the payload as sent"),
    _make_column("fate", _NAME, "", "delivered, superseded, lost, unsent, unheard or in_flight"),
    _make_column("uses", pa.int32(), "", "planning steps that were given it"),
)

USED_SYSTEM = (_make_column("system", _NAME, "", "that the sender uses"),)
"""Further column of `messages.parquet`, behind the others: where partners use several systems."""

LINKS = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("bytes", pa.int64(), "B", "of the payload as sent"),
    _make_column("fragments", pa.int32(), "", "packets on the air"),
    _make_column("queue", pa.float64(), "s", "before the first is on the air; NaN: not modelled"),
    _make_column("airtime", pa.float64(), "s", "of all fragments; NaN: not modelled"),
    _make_column("distance", pa.float64(), "m", "between the antennas"),
    _make_column("sight", _NAME, "", "LOS, NLOSv, NLOS or unknown"),
    _make_column("power", pa.float64(), "dBm", "at the receiver; NaN: not modelled"),
    _make_column("busy", pa.float64(), "", "channel busy ratio at the sender; NaN: not modelled"),
    _make_column("outcome", _NAME, "", "arrived or lost, on the link alone"),
    _make_column("arrival", pa.float64(), "s", "since the ego stood ready; NaN: lost"),
)

FORMATTED = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("kind", _NAME, "", "CPM or features; empty where the rules asked for no message"),
    _make_column("bytes", pa.int64(), "B", "of the message as generated, before disturbances"),
    _make_column("native_bytes", pa.int64(), "B", "of the payload as the system shared it"),
    _make_column("perceived", pa.int32(), "", "objects that the system shared, or cells of maps"),
    _make_column("included", pa.int32(), "", "of them, in the message"),
    _make_column("left_out", pa.int32(), "", "of them, left out"),
)

PARTS = (
    _make_column(
        "part", _NAME, "", "empty: the message or its first segment; else segment 2, …, or CAM"
    ),
)
"""Further column of `links.parquet`, behind the others: where a capture has more than one part."""

SEGMENTS = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("segment", pa.int32(), "", "which one, from 1"),
    _make_column("segments", pa.int32(), "", "of the message"),
    _make_column("bytes", pa.int64(), "B", "of the segment as sent"),
    _make_column("objects", pa.int32(), "", "in the segment"),
    _make_column("outcome", _NAME, "", "arrived or lost, on the link alone"),
    _make_column("arrival", pa.float64(), "s", "since the ego stood ready; NaN: lost"),
)
"""Of messages that were too large for one; absent where none was."""

CAMS = _build_record_schema(
    _make_column("sender", _NAME, "", "a connected vehicle"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("trigger", _NAME, "", "first, motion or time"),
    _make_column("bytes", pa.int64(), "B", "of the message"),
    _make_column("outcome", _NAME, "", "arrived or lost, on the link"),
    _make_column("arrival", pa.float64(), "s", "since the ego stood ready; NaN: lost"),
    _make_column("x", pa.float64(), "m", "in the world, middle of the vehicle, as it is read"),
    _make_column("y", pa.float64(), "m", "in the world, as it is read"),
    _make_column("yaw", pa.float64(), "rad", "in the world, as it is read"),
    _make_column("speed", pa.float64(), "m/s", "as it is read"),
)

DENMS = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("event", pa.int32(), "", "number of the event at its sender"),
    _make_column("trigger", _NAME, "", "new, update or cancellation"),
    _make_column("bytes", pa.int64(), "B", "of the message"),
    _make_column("outcome", _NAME, "", "arrived or lost, on the link"),
    _make_column("arrival", pa.float64(), "s", "since the ego stood ready; NaN: lost"),
    _make_column("x", pa.float64(), "m", "in the world, of the person, as it is read"),
    _make_column("y", pa.float64(), "m", "in the world, as it is read"),
)

ATTACKS = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "a partner that lies, or a forged identity"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("added", pa.int32(), "", "boxes in the window that the sender did not perceive"),
    _make_column("stopped", pa.int32(), "", "of added, rejected by the defence"),
    _make_column("believed", pa.int32(), "", "of added, within 1 m of a cooperative detection"),
    _make_column("gone", pa.int32(), "", "boxes in the window that it perceived and did not state"),
    _make_column("missed", pa.int32(), "", "of gone, without a cooperative detection within 1 m"),
    _make_column("moved", pa.float64(), "m", "between its stated and its believed place"),
    _make_column("content_age", pa.float64(), "s", "by which content is older than its stamp"),
    _make_column("passed", pa.bool_(), "", "the defence did not reject the whole message"),
)

PERTURBED = (
    _make_column("perturbation", pa.float64(), "", "largest change of a value of the maps"),
    _make_column("loss_before", pa.float64(), "", "of the goal at the ego, with honest maps"),
    _make_column("loss_after", pa.float64(), "", "of the goal at the ego, as sent"),
)
"""Further columns of `attacks.parquet`, behind the others: of attacks by gradient."""

DEFENCES = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "a partner, or a forged identity"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("check", _NAME, "", "which check"),
    _make_column("lies", pa.bool_(), "", "the message is a lie, which the defence does not know"),
    _make_column("boxes", pa.int32(), "", "in the message, as the check was given it"),
    _make_column("rejected", pa.int32(), "", "of boxes; all where the message is rejected"),
    _make_column("rejected_added", pa.int32(), "", "of rejected, added by the attack"),
    _make_column("whole", pa.bool_(), "", "the message is rejected"),
)

COMPENSATED = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("box", pa.int32(), "", "number of the box in the message, from 0"),
    _make_column("class", _NAME, "", "vehicle, pedestrian or cyclist"),
    _make_column("age", pa.float64(), "s", "by the message's time stamp and the ego's clock"),
    _make_column("velocity", _NAME, "", "message or estimated; none: the box stays"),
    *_make_shift_columns("stated_", "the box in the world, as the message says"),
    *_make_shift_columns("moved_", "the box in the world, as it is given to the system"),
)

CLOCKS = _build_record_schema(
    _make_column("sender", _NAME, "", "a partner"),
    _make_column("capture_frame", pa.int64(), "", "ticks since the ego stood ready"),
    _make_column("asked", pa.float64(), "s", "by which the stamp is ahead, as sampled"),
    _make_column("measured", pa.float64(), "s", "the same as delivered; NaN: not delivered"),
)

PRECEDENCES = _build_record_schema(
    _FRAME,
    _make_column("other", _NAME, "", "a driven ego whose planned path conflicts with this one's"),
    _make_column("ego_first", pa.bool_(), "", "the ego goes first; false: it yields to the other"),
    _make_column("reason", _NAME, "", "cannot_stop, earlier, number or waits"),
    _make_column("ego_arrival", pa.float64(), "s", "from now to the shared place; NaN: waits"),
    _make_column("other_arrival", pa.float64(), "s", "the same of the other ego"),
)

COMPUTING = _build_record_schema(
    _make_column("agent", _NAME, "", "ego, or a partner"),
    _make_column("capture_frame", pa.int64(), "", "tick of the sweep, since the ego stood ready"),
    _make_column("seconds", pa.float64(), "s", "between sweep and message, or sweep and control"),
    _make_column("ready", pa.float64(), "s", "of message or control, since the ego stood ready"),
    _make_column("acts", pa.float64(), "s", "of the ego's control; NaN: of a message, or never"),
)

EVENTS = _build_record_schema(
    _FRAME,
    _TIME,
    _make_column("event", _NAME, "", "infraction or hazard"),
    _make_column("kind", _NAME, "", "which one"),
    _make_column("x", pa.float64(), "m", "in the world; NaN: nowhere"),
    _make_column("y", pa.float64(), "m", "in the world; NaN: nowhere"),
    _make_column("actor_id", pa.int64(), "", "of the other actor, counted from the ego; 0: none"),
    _make_column("actor_type", pa.string(), "", "blueprint of the other one"),
    _make_column("ego_speed", pa.float64(), "m/s", "NaN where it means nothing"),
    _make_column("relative_speed", pa.float64(), "m/s", "NaN where it means nothing"),
    _make_column("detail", pa.string(), "", "ego_stationary; of a hazard, source: status: reason"),
)

MAP = _build_record_schema(
    _make_column("line", pa.int32(), "", "number of the polyline"),
    _make_column("kind", _NAME, "", "route, lane_centre, lane_left or lane_right"),
    *(_make_column(name, pa.float64(), "m", "in the world") for name in "xyz"),
)

POINTS = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "ego, or a partner"),
    _make_column(
        "points", pa.binary(), "", "x, y, z and intensity; harness.records.points reads them"
    ),
)

PICTURES = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "ego, or a partner"),
    _make_column("camera", _NAME, "", "such as front"),
    *_make_pose_columns("", "the camera in its agent's LiDAR frame"),
    _make_column("focal", pa.float64(), "pixels", "focal length"),
    *(
        _make_column(name, pa.float64(), "pixels", "where the view axis meets the picture")
        for name in ("centre_column", "centre_row")
    ),
    _make_column("jpeg", pa.binary(), "", "the picture; harness.records.pictures reads it"),
)

POSITION_UNIT, YAW_UNIT = 1e-3, 1e-4
"""Metres and radians that the whole numbers of `tracks` count."""

TRACKS = _build_record_schema(
    _make_column("actor_id", pa.int32(), "", "counted from the ego, which is 0"),
    _make_column("frame", pa.int32(), "", "ticks since the ego stood ready"),
    *(_make_column(name, pa.int32(), "mm", "centre of its box in the world") for name in "xyz"),
    _make_column("yaw", pa.int32(), "1e-4 rad", "in the world"),
)

ACTORS = _build_record_schema(
    _make_column("actor_id", pa.int32(), "", "counted from the ego, which is 0"),
    _make_column("class", _NAME, "", "vehicle, pedestrian or cyclist"),
    _make_column("type", pa.string(), "", "blueprint"),
    *(_make_column(name, pa.float32(), "m", "full size") for name in ("length", "width", "height")),
)

SIGHTINGS = _build_record_schema(
    _FRAME,
    _make_column("sender", _NAME, "", "ego, or a partner"),
    _make_column("actor_id", pa.int64(), "", "counted from the ego, which is 0"),
    _make_column("hits", pa.int32(), "", "LiDAR returns at this planning step, at least one"),
)

SCENERY = _build_record_schema(
    _make_column(
        "kind", _NAME, "", "building, wall, bridge, vegetation, vehicle (parked) or object"
    ),
    *(_make_column(name, pa.float32(), "m", "centre of its box in the world") for name in "xyz"),
    *(_make_column(name, pa.float32(), "m", "full size") for name in ("length", "width", "height")),
    _make_column("yaw", pa.float32(), "rad", "in the world"),
)

BOX_CHANGES = _build_record_schema(
    _FRAME,
    *(
        _make_column(name, _NAME, "", description)
        for name, description in (
            ("change", "removed, moved or added"),
            (
                "pattern",
                "error pattern that was repaired or injected; rest: see repairs to on time",
            ),
            ("class", "vehicle, pedestrian or cyclist"),
        )
    ),
    _make_column("actor_id", pa.int64(), "", "counted from the ego; 0 for an additional detection"),
    _make_column("score", pa.float64(), "", "confidence"),
    *_make_box_columns(
        "before_", "the system's box, or the perfect one where errors are injected; NaN: added"
    ),
    *_make_box_columns("after_", "the box that was driven by; NaN: removed"),
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
        _make_column("hits_after_ego", pa.int32(), "", "of hits_ego, points left after sensing"),
        _make_column(
            "hits_after_anyone", pa.int32(), "", "most of the ego or one partner, as left"
        ),
    ),
    "sightings": (
        _make_column("hits_after", pa.int32(), "", "of hits, points left after sensing"),
    ),
}
"""Further columns, behind the others: of attempts whose system reads points, where these may have
been changed by a LiDAR's sensitivity, weather or another disturbance of sweeps."""
FURTHER_COLUMNS = {**AFTER_SENSING, "attacks": PERTURBED, "links": PARTS, "messages": USED_SYSTEM}
"""All columns that a table may have behind the others, but for metrics."""
ALL_TABLES = {
    **TABLES,
    "points": POINTS,
    "pictures": PICTURES,
    "box_changes": BOX_CHANGES,
    "links": LINKS,
    "formatted": FORMATTED,
    "segments": SEGMENTS,
    "cams": CAMS,
    "denms": DENMS,
    "attacks": ATTACKS,
    "defences": DEFENCES,
    "compensated": COMPENSATED,
    "clocks": CLOCKS,
    "computing": COMPUTING,
    "precedences": PRECEDENCES,
}

"""Tables of what partners sent, and of what formats and links made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from harness.channel.carrying import SentSegment
from harness.channel.delivery_audit import MessageRecord
from harness.channel.effects import Shift
from harness.channel.links.link import Carriage
from harness.channel.messages.awareness import SentCam
from harness.channel.messages.message_format import FormatRow
from harness.channel.messages.notification import SentDenm
from harness.records.schema import (
    CAMS,
    CLOCKS,
    DENMS,
    FORMATTED,
    FURTHER_COLUMNS,
    LINKS,
    MESSAGES,
    SEGMENTS,
)


def build_message_columns(
    messages: Iterable[MessageRecord],
    start: float,
    first_frame: int,
    systems: Callable[[str, str], str] | None = None,
) -> dict[str, list[Any]]:
    """Return the message table, with the system of each sender where `systems` gives them."""
    messages = list(messages)
    columns: dict[str, list[Any]] = {name: [] for name in MESSAGES.names}
    if systems is not None:
        columns["system"] = [systems(message.sender, message.kind) for message in messages]
    for message in messages:
        # frames and times count from the start of the drive
        row = {
            "sender": message.sender,
            "kind": message.kind,
            "capture_frame": message.capture_frame - first_frame,
            "capture_time": message.capture_time - start,
            "delay": message.delay,
            "delivered_time": message.delivered_time - start,
            "age_asked": message.age_asked,
            "age_measured": message.age_measured,
            **_prefix_shift("asked_", message.asked_shift),
            **_prefix_shift("measured_", message.measured_shift),
            "bytes": message.size_bytes,
            "fate": message.fate,
            "uses": message.uses,
        }
        append_row(columns, row)
    return columns


def build_clock_columns(
    messages: Iterable[MessageRecord], first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of how wrong the stamps of messages are."""
    columns: dict[str, list[Any]] = {name: [] for name in CLOCKS.names}
    for message in messages:
        row = {
            "sender": message.sender,
            "capture_frame": message.capture_frame - first_frame,
            "asked": message.clock_asked,
            "measured": message.clock_measured,
        }
        append_row(columns, row)
    return columns


def list_further_columns(name: str, columns: Mapping[str, Sequence[Any]]) -> list[pa.Field]:
    """Return the columns of a table that stand behind those that it always has."""
    return [field for field in FURTHER_COLUMNS.get(name, ()) if field.name in columns]


def build_segment_columns(
    segments: Iterable[SentSegment], start: float, first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of what the link made of each segment."""
    columns: dict[str, list[Any]] = {name: [] for name in SEGMENTS.names}
    for sent in segments:
        row = {
            "sender": sent.sender,
            "capture_frame": sent.frame - first_frame,
            "segment": sent.segment.number,
            "segments": sent.total,
            "bytes": len(sent.segment.octets),
            "objects": sent.segment.objects,
            "outcome": sent.outcome,
            "arrival": sent.arrival - start,
        }
        append_row(columns, row)
    return columns


def build_cam_columns(
    cams: Iterable[SentCam], start: float, first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of the messages in which vehicles say where they are."""
    columns: dict[str, list[Any]] = {name: [] for name in CAMS.names}
    for sent in cams:
        row = describe_sent(sent, start, first_frame)
        append_row(columns, {**row, "yaw": sent.yaw, "speed": sent.speed})
    return columns


def build_denm_columns(
    denms: Iterable[SentDenm], start: float, first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of the warnings of persons on the road."""
    columns: dict[str, list[Any]] = {name: [] for name in DENMS.names}
    for sent in denms:
        row = describe_sent(sent, start, first_frame)
        append_row(columns, {**row, "event": sent.event})
    return columns


def describe_sent(sent: SentCam | SentDenm, start: float, first_frame: int) -> dict[str, Any]:
    """Return the columns that CAMs and DENMs share, of one message."""
    return {
        "sender": sent.sender,
        "capture_frame": sent.frame - first_frame,
        "trigger": sent.trigger,
        "bytes": len(sent.octets),
        "outcome": sent.outcome,
        "arrival": sent.arrival - start,
        "x": sent.x,
        "y": sent.y,
    }


def build_link_columns(
    carriages: Iterable[Carriage], start: float, first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of what the link made of each message, with its part where some have one."""
    columns: dict[str, list[Any]] = {name: [] for name in LINKS.names}
    carriages = list(carriages)
    if any(carriage.part for carriage in carriages):
        columns["part"] = [carriage.part for carriage in carriages]
    for carriage in carriages:
        row = {
            "sender": carriage.sender,
            "capture_frame": carriage.frame - first_frame,
            "bytes": carriage.size_bytes,
            "fragments": carriage.fragments,
            "queue": carriage.queue,
            "airtime": carriage.airtime,
            "distance": carriage.distance,
            "sight": carriage.sight,
            "power": carriage.power,
            "busy": carriage.busy,
            "outcome": carriage.outcome,
            "arrival": carriage.arrival - start,
        }
        append_row(columns, row)
    return columns


def build_format_columns(rows: Iterable[FormatRow], first_frame: int) -> dict[str, list[Any]]:
    """Return the table of what a format of messages made of each payload."""
    columns: dict[str, list[Any]] = {name: [] for name in FORMATTED.names}
    for made in rows:
        row = {
            "sender": made.sender,
            "capture_frame": made.frame - first_frame,
            "kind": made.kind,
            "bytes": made.size_bytes,
            "native_bytes": made.native_bytes,
            "perceived": made.perceived,
            "included": made.included,
            "left_out": made.left_out,
        }
        append_row(columns, row)
    return columns


def append_row(columns: dict[str, list[Any]], row: dict[str, Any]) -> None:
    """Put the values of a row behind those of a table."""
    for name, value in row.items():
        columns[name].append(value)


def _prefix_shift(prefix: str, shift: Shift) -> dict[str, float]:
    """Return a displacement in the plane; `poses.parquet` has the whole one."""
    return {f"{prefix}{name}": getattr(shift, name) for name in ("x", "y", "yaw")}

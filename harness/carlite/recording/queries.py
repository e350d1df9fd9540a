"""CARLA's three descriptions of a recorder log, word for word in its form."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harness.carlite.recording import descriptions
from harness.carlite.recording.files import RecordingStart, read_packets, read_start
from harness.carlite.recording.packets import (
    FRAME,
    ROWS,
    PacketKind,
    PayloadCursor,
    RecordingError,
    unpack_actors,
    unpack_rows,
)

EVENTS = (
    PacketKind.EVENT_DEL,
    PacketKind.EVENT_PARENT,
    PacketKind.COLLISION,
)
OTHERS: dict[int, Callable[[bytes], str]] = {
    PacketKind.PHYSICS_CONTROL: descriptions.describe_physics,
    PacketKind.WALKER_BONES: descriptions.describe_bones,
    PacketKind.PLATFORM_TIME: descriptions.describe_time,
}
"""Packets with a form of their own, and who describes them."""

SCENERY = 0xFFFFFFFF
CATEGORIES = "ovwth"
UNKNOWN = ("o", "")


class FrameHead(NamedTuple):
    """A frame's number, how long it lasts, and when it began; seconds."""

    number: int = 0
    duration: float = 0.0
    elapsed: float = 0.0


Visit = Callable[[FrameHead, int, bytes], None]


def describe_file(path: Path, *, show_all: bool) -> str:
    """Return what is in a log, frame by frame.

    Args:
        path: the log.
        show_all: whether every frame is described; otherwise only of those with events.
    """
    lines: list[str] = []
    shown = [-1]

    def visit(frame: FrameHead, kind: int, payload: bytes) -> None:
        text = _describe_packet(kind, payload, show_all=show_all)
        starts = show_all and kind == PacketKind.FRAME_START
        if (text or starts) and shown[0] != frame.number:
            shown[0] = frame.number
            moment = descriptions.format_number(frame.elapsed)
            lines.append(f"Frame {frame.number} at {moment} seconds\n")
        lines.append(text)

    return _read_and_describe(path, "", visit, lambda: "".join(lines))


def describe_collisions(path: Path, first: str, second: str) -> str:
    """Return the collisions of a log.

    Args:
        path: the log.
        first: the first party's kind: o(ther), v(ehicle), w(alker), t(raffic light), h(ero), a(ny).
        second: what the second party is.
    """
    actors: dict[int, tuple[str, str]] = {}
    lines: list[str] = []
    going_on: dict[str, set[tuple[int, int]]] = {"before": set(), "now": set()}

    def visit(frame: FrameHead, kind: int, payload: bytes) -> None:
        if kind == PacketKind.FRAME_START:
            going_on["before"], going_on["now"] = going_on["now"], set()
        elif kind == PacketKind.EVENT_ADD:
            for actor in unpack_actors(payload):
                actors[actor.id] = CATEGORIES[min(actor.kind, 4)], actor.type_id
        elif kind == PacketKind.COLLISION:
            for _, one, other, *heroes in unpack_rows(PacketKind.COLLISION, payload):
                pair = int(one), int(other)
                (type_1, name_1), (type_2, name_2) = (actors.get(who, UNKNOWN) for who in pair)
                if not (
                    _matches(first, type_1, bool(heroes[0]))
                    and _matches(second, type_2, bool(heroes[1]))
                ):
                    continue
                if pair not in going_on["before"]:
                    lines.append(
                        f"{frame.elapsed:8.0f}   {type_1} {type_2}  {pair[0]:>6} {name_1:<35}"
                        f" {pair[1]:>6} {name_2:<35}\n"
                    )
                going_on["now"].add(pair)

    title = f"{'Time':>8} {'Types':>6} {'Id':>6} {'Actor 1':<35} {'Id':>6} {'Actor 2':<35}\n"
    # once a line is printed, CARLA prints the duration in whole seconds
    return _read_and_describe(
        path, title, visit, lambda: "".join(lines), in_whole_seconds=lambda: bool(lines)
    )


def describe_blocked(path: Path, min_time: float, min_distance: float) -> str:
    """Return who stood still, longest first.

    Args:
        path: the log.
        min_time: seconds that count.
        min_distance: centimetres; who moves less stands.
    """
    names: dict[int, str] = {}
    # by actor: where it was last seen moving, since when it stands, and for how long
    places: dict[int, tuple[float, float, float]] = {}
    stands: dict[int, tuple[float, float]] = {}
    results: list[tuple[float, str]] = []

    def finish(actor: int) -> None:
        since, duration = stands.pop(actor, (0.0, 0.0))
        if duration >= min_time and duration > 0.0:
            name = names.get(actor, "")
            line = f"{since:8.0f} {actor:>6} {name:<35} {duration:>10.0f}\n"
            results.append((duration, line))

    def visit(frame: FrameHead, kind: int, payload: bytes) -> None:
        if kind == PacketKind.EVENT_ADD:
            names.update({actor.id: actor.type_id for actor in unpack_actors(payload)})
        elif kind == PacketKind.POSITION:
            for number, x, y, z, *_ in unpack_rows(PacketKind.POSITION, payload):
                actor, place = int(number), (x, y, z)
                if math.dist(places.get(actor, (0.0, 0.0, 0.0)), place) < min_distance:
                    since, duration = stands.get(actor, (frame.elapsed, 0.0))
                    stands[actor] = since, duration + frame.duration
                else:
                    finish(actor)
                    places[actor] = place

    def end() -> str:
        for actor in tuple(stands):
            finish(actor)
        return "".join(line for _, line in sorted(results, key=lambda one: -one[0]))

    title = f"{'Time':>8} {'Id':>6} {'Actor':<35} {'Duration':>10}\n"
    return _read_and_describe(path, title, visit, end)


def describe_start(start: RecordingStart) -> str:
    """Return what stands at the head of each description."""
    try:
        date = time.strftime("%m/%d/%y %H:%M:%S", time.localtime(start.date))
    except (OverflowError, OSError, ValueError):
        date = str(start.date)
    return f"Version: {start.version}\nMap: {start.town}\nDate: {date}\n\n"


def _read_and_describe(
    path: Path,
    title: str,
    visit: Visit,
    end: Callable[[], str],
    *,
    in_whole_seconds: Callable[[], bool] = lambda: False,
) -> str:
    """Return the head of a log, what was made of its packets, and its length."""
    if not path.is_file():
        return f"File {path} not found on server\n"
    frame, problem = FrameHead(), ""
    try:
        with path.open("rb") as file:
            head = describe_start(read_start(file)) + title
            try:
                for kind, payload in read_packets(file, path.stat().st_size):
                    if kind == PacketKind.FRAME_START:
                        number, duration, elapsed = PayloadCursor(payload).take(FRAME)
                        frame = FrameHead(int(number), duration, elapsed)
                    visit(frame, kind, payload)
            except RecordingError as damage:
                problem = f"\nThe file is damaged after frame {frame.number}: {damage}\n"
    except RecordingError as damage:
        return f"{damage}\n"
    except OSError as failure:
        return f"File {path} cannot be read: {failure.strerror}\n"
    body = end()
    exact = descriptions.format_number(frame.elapsed)
    lasted = f"{frame.elapsed:.0f}" if in_whole_seconds() else exact
    return f"{head}{body}{problem}\nFrames: {frame.number}\nDuration: {lasted} seconds\n"


def _matches(wanted: str, category: str, is_hero: bool) -> bool:
    return wanted in ("a", category) or (wanted == "h" and is_hero)


def _describe_packet(kind: int, payload: bytes, *, show_all: bool) -> str:
    if kind == PacketKind.EVENT_ADD:
        return descriptions.describe_actors(payload)
    if kind not in EVENTS and not show_all:
        return ""
    if kind in ROWS:
        return descriptions.describe_rows(PacketKind(kind), payload)
    return OTHERS[kind](payload) if kind in OTHERS else ""

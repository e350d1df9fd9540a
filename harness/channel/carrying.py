"""What the link makes of a message: of the whole, or of each of its segments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from harness.channel.links.link import Link
from harness.types.vocabulary import Message, Pose, Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSegment:
    """What the link made of one segment of a message.

    Attributes:
        frame: the simulator's tick of capture.
        total: segments of the message.
        arrival: seconds of simulated time, by the link alone; NaN for a lost one.
    """

    sender: str
    frame: int
    segment: Segment
    total: int
    arrival: float

    @property
    def outcome(self) -> str:
        """What became of the segment on the link."""
        return "lost" if math.isnan(self.arrival) else "arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedMessage:
    """What the link made of a message.

    Attributes:
        delay: seconds from capture to arrival; of a message in segments, of the first that arrives.
        lost: whether nothing of it arrives.
        arriving: segments that arrive, each with its delay in seconds.
        segments: all of them; none of a message that was not split.
    """

    delay: float
    lost: bool
    arriving: tuple[tuple[float, Segment], ...] = ()
    segments: tuple[SentSegment, ...] = ()


def carry_message(
    link: Link | None, message: Message, lidar_in_world: Pose | None, delay: float
) -> CarriedMessage:
    """Return what a link makes of a message. Each segment is a message to the link.

    Args:
        link: None: the ideal one.
        message: as it leaves; its time is that at which the sender has computed it.
        lidar_in_world: the true pose of the sender's LiDAR; None on the ideal link.
        delay: seconds from capture that the message has without the link.
    """
    if not message.segments:
        on_air, lost = carry_one(link, message, lidar_in_world)
        return CarriedMessage(delay=delay + on_air, lost=lost)
    arriving: list[tuple[float, Segment]] = []
    sent: list[SentSegment] = []
    for segment in message.segments:
        part = "" if segment.number == 1 else f"segment {segment.number}"
        one = replace(message, octets=segment.octets, segments=(), part=part)
        on_air, lost = carry_one(link, one, lidar_in_world)
        if not lost:
            arriving.append((delay + on_air, segment))
        sent.append(
            SentSegment(
                sender=message.sender,
                frame=message.capture_frame,
                segment=segment,
                total=len(message.segments),
                arrival=math.nan if lost else message.capture_time + on_air,
            )
        )
    return CarriedMessage(
        delay=min((late for late, _ in arriving), default=delay),
        lost=not arriving,
        arriving=tuple(arriving),
        segments=tuple(sent),
    )


def carry_one(
    link: Link | None, message: Message, lidar_in_world: Pose | None
) -> tuple[float, bool]:
    """Return the seconds of one message on the link, and whether it is lost there."""
    if link is None or lidar_in_world is None:
        return 0.0, False
    carriage = link.carry_message(message, lidar_in_world)
    return carriage.delay, carriage.lost

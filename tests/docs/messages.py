"""Sizes of messages, and what their rounding costs: the tables of the page on messages.

    python -m tests.docs.messages RECORDED [CAMPAIGN]

RECORDED is a folder of `crucible collect`. Late fusion detects in its samples with messages as the
system shares them, and with the boxes that are read from CPMs with all objects; differences of the
boxes and average precision are printed. CAMPAIGN is a folder of a campaign with
`message_format=[native,cpm]`: its messages are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from agents.perception.systems import make_network_system
from agents.training.detection_metrics import (
    HEADLINE,
    DetectionOutcomes,
    compute_outcomes,
)
from agents.training.fusion_names import make_fusion_module
from agents.training.inference import detect_with_messages, make_partner_messages
from agents.training.operating import make_zero_thresholds
from agents.training.samples import EgoSample, RecordedSamples
from harness.channel.messages.collective_perception import LARGEST, CpmFormat
from harness.channel.messages.cpm import Cpm, PerceivedObject, encode_cpm
from harness.channel.messages.segmentation import split_cpm
from harness.channel.messages.station import Position
from harness.datasets.opening import open_recordings
from harness.records.reading import CampaignRecords
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Boxes, Floats, Message

OVERLAPS = (0.5, 0.7)
MOST = 200


def print_sizes() -> None:
    """Print the bytes of a CPM next to those of boxes as the system shares them."""
    print("| objects | native, B | CPM, B | CPM with velocities, B |\n|---|---|---|---|")
    for count in (0, 1, 5, 10, 20, 50):
        sizes = [format_size(make_cpm(count, velocity)) for velocity in (None, (3.0, -4.0))]
        print(f"| {count} | {33 * count} | {sizes[0]} | {sizes[1]} |")


def format_size(cpm: Cpm) -> str:
    """Return the bytes of a message, with its segments where it has some."""
    parts = split_cpm(cpm, LARGEST)
    size = sum(len(encode_cpm(part)) for part in parts)
    return f"{size} in {len(parts)} segments" if len(parts) > 1 else str(size)


def make_cpm(count: int, velocity: tuple[float, float] | None) -> Cpm:
    """Return a message of a vehicle with so many cars."""
    car = PerceivedObject(
        object_id=1,
        east=12.3,
        north=-45.6,
        up=-1.0,
        yaw=0.3,
        length=4.5,
        width=1.9,
        height=1.5,
        class_index=0,
        confidence=0.8,
        velocity=velocity,
    )
    return Cpm(
        station_id=7,
        time=694_310_400.0,
        position=Position(49.0, 8.0, 110.0),
        orientation=1.0,
        objects=(car,) * count,
        perceived=count,
    )


def print_rounding(recorded: Path) -> None:
    """Print how far boxes are off after a CPM, and average precision with and without it."""
    samples = RecordedSamples(open_recordings(recorded), units=False)
    every = -(-len(samples) // MOST)
    numbers = range(0, len(samples), every)
    off: list[Floats] = []

    def pass_on(message: Message) -> Message:
        """Return the message as it is read from a CPM with all of its objects."""
        made = CpmFormat(inclusion=False).write_message(message)
        assert made is not None
        assert isinstance(made.payload, Boxes)
        assert isinstance(message.payload, Boxes)
        difference = made.payload.geometry - message.payload.geometry
        difference[:, 6] = wrap_angle(difference[:, 6])
        off.append(difference)
        return made

    def keep_scores(message: Message) -> Message:
        """Return the boxes that are read from a CPM, with the scores as they were."""
        boxes, made = message.payload, pass_on(message).payload
        assert isinstance(boxes, Boxes)
        assert isinstance(made, Boxes)
        return replace(message, payload=Boxes(made.geometry, made.classes, boxes.scores))

    ways: tuple[Callable[[Message], Message], ...] = (lambda message: message, keep_scores, pass_on)
    columns = [detect_all(samples, numbers, way).make_precision_table() for way in ways]
    boxes = np.concatenate(off[: len(off) // 2])
    plane = np.hypot(boxes[:, 0], boxes[:, 1])
    print(f"\n{len(numbers)} samples, {len(boxes)} boxes in messages")
    print("| error | mean | largest |\n|---|---|---|")
    for name, errors, unit in (
        ("position", 100 * plane, "cm"),
        ("length, width, height", 100 * np.abs(boxes[:, 3:6]), "cm"),
        ("yaw", np.degrees(np.abs(boxes[:, 6])), "degrees"),
    ):
        print(f"| {name}, {unit} | {errors.mean():.2f} | {errors.max():.2f} |")
    print("\n| class | metres | ground truth | IoU | native | boxes rounded | CPM |")
    print("|---|---|---|---|---|---|---|")
    for kind, band in HEADLINE.items():
        for overlap in OVERLAPS:
            cells = [table["anyone", overlap, kind, band] for table in columns]
            figures = " | ".join(f"{cell.eleven_point:.3f}" for cell in cells)
            print(f"| {kind} | {band} | {cells[0].truths} | {overlap} | {figures} |")


def detect_all(
    samples: RecordedSamples, numbers: range, pass_on: Callable[[Message], Message]
) -> DetectionOutcomes:
    """Return the outcomes of late fusion, each message as it is passed on."""
    system = make_network_system(make_fusion_module("late", ()))
    system.operating_point = make_zero_thresholds(system.operating_point.calibration)

    def detect(sample: EgoSample) -> Boxes:
        received = tuple(map(pass_on, make_partner_messages(system, sample)))
        return detect_with_messages(system, sample, received)

    return compute_outcomes(
        detect, (samples.read_sample(number) for number in numbers), system.detector.design.grid
    )


def print_campaign(folder: Path) -> None:
    """Print what the messages of a campaign took, by system and format."""
    totals: dict[tuple[str, str], list[float]] = {}
    for key, place in CampaignRecords(folder).find_attempts().items():
        messages = pq.read_table(place / "messages.parquet").to_pandas()
        frames = pq.read_table(place / "frames.parquet", columns=["time"]).to_pandas()
        seconds = float(frames["time"].max() - frames["time"].min())
        row = totals.setdefault((key.arm.system, key.arm["message_format"]), [0.0] * 5)
        row[0] += len(messages)
        row[1] += float(messages["bytes"].sum())
        row[2] += seconds * messages["sender"].nunique()
        if (place / "formatted.parquet").is_file():
            made = pq.read_table(place / "formatted.parquet").to_pandas()
            row[3] += float(made["perceived"].sum())
            row[4] += float(made["included"].sum())
    print("\n| system | format | messages/s | B a message | B/s | objects included |")
    print("|---|---|---|---|---|---|")
    for (system, name), (count, size, seconds, perceived, included) in sorted(totals.items()):
        share = f"{100 * included / perceived:.0f} %" if perceived else "all"
        print(
            f"| {system} | {name} | {count / seconds:.2f} | {size / count:.0f} |"
            f" {size / seconds:.0f} | {share} |"
        )


def main(arguments: list[str]) -> int:
    """Print the tables; return the exit code."""
    recorded, *campaigns = map(Path, arguments)
    print_sizes()
    print_rounding(recorded)
    for folder in campaigns:
        print_campaign(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

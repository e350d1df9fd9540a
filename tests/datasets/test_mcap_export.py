"""MCAP files by the steps of the public specification, written out here."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.datasets import mcap_file
from harness.datasets.export import export_dataset
from harness.datasets.mcap_file import McapWriter
from tests.datasets.pictured import YAWS, write_pictured_recording
from tests.training.made_up import LOOKERS, MOMENTS, boxes_in_world, look_of

MAGIC = b"\x89MCAP0\r\n"


def split_records(content: bytes) -> list[tuple[int, bytes]]:
    """Return opcodes and contents of a row of records."""
    parts, at = [], 0
    while at < len(content):
        opcode, length = struct.unpack_from("<BQ", content, at)
        at += 9
        parts.append((opcode, content[at : at + length]))
        at += length
    assert at == len(content)
    return parts


def take_text(content: bytes, at: int) -> tuple[str, int]:
    """Return a string, and where it ends."""
    (length,) = struct.unpack_from("<I", content, at)
    return content[at + 4 : at + 4 + length].decode(), at + 4 + length


def open_chunk(content: bytes) -> bytes:
    """Return the records of a chunk, whose sum must be right."""
    size, checksum = struct.unpack_from("<QI", content, 16)
    codec, at = take_text(content, 28)
    assert codec == "zstd"
    packed = content[at + 8 :]
    assert len(packed) == struct.unpack_from("<Q", content, at)[0]
    records = pa.decompress(packed, decompressed_size=size, codec=codec, asbytes=True)
    assert zlib.crc32(records) == checksum
    return bytes(records)


def read_mcap(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Return messages by topic; offsets of the summary must lead to what they name."""
    content = file.read_bytes()
    assert content[:8] == content[-8:] == MAGIC
    records = split_records(content[8:-8])
    assert [records[0][0], records[-1][0]] == [1, 2]
    topics: dict[int, str] = {}
    parts: dict[str, list[dict[str, Any]]] = {}
    for opcode, body in records:
        for inner, part in split_records(open_chunk(body)) if opcode == 6 else ():
            if inner == 4:
                topics[struct.unpack_from("<H", part)[0]] = take_text(part, 4)[0]
            if inner == 5:
                channel = struct.unpack_from("<H", part)[0]
                parts.setdefault(topics[channel], []).append(json.loads(part[22:]))
    # the index of each chunk, and in it that of each channel
    summary, offsets, _ = struct.unpack("<QQI", records[-1][1])
    for opcode, body in split_records(content[summary:offsets]):
        if opcode == 8:
            _, _, start, length = struct.unpack_from("<QQQQ", body)
            ((kind, chunk),) = split_records(content[start : start + length])
            assert kind == 6
            (size,) = struct.unpack_from("<I", body, 32)
            inside = open_chunk(chunk)
            for at in range(36, 36 + size, 10):
                channel, place = struct.unpack_from("<HQ", body, at)
                kind, rows = struct.unpack_from("<BQ", content, place)
                assert kind == 7
                assert rows == 6 + 16 * ((rows - 6) // 16)
                _, where = struct.unpack_from("<QQ", content, place + 9 + 6)
                assert inside[where] == 5
                assert struct.unpack_from("<H", inside, where + 9)[0] == channel
    for opcode, body in split_records(content[offsets : len(content) - 8 - 29]):
        assert opcode == 14
        group, start, length = struct.unpack("<BQQ", body)
        assert {kind for kind, _ in split_records(content[start : start + length])} == {group}
    return parts


@pytest.fixture
def drive(tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    write_pictured_recording(tmp_path / "recorded")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "mcap")
    return read_mcap(tmp_path / "out/made-up/made-up.mcap")


def test_topics_of_a_drive(drive: dict[str, list[dict[str, Any]]]) -> None:
    names = ("vehicle_7", "vehicle_9", "roadside_1")
    assert set(drive) == {
        "/tf",
        *(f"/{name}/{topic}" for name in names for topic in ("points", "boxes")),
        *(f"/{n}/{c}/{t}" for n in names for c in YAWS for t in ("image", "calibration")),
    }
    for topic, messages in drive.items():
        assert len(messages) == MOMENTS * (len(LOOKERS) * 5 if topic == "/tf" else 1)


def test_sweep_and_boxes_are_mirrored(drive: dict[str, list[dict[str, Any]]]) -> None:
    look = look_of(9, 1, boxes_in_world())
    cloud = drive["/vehicle_9/points"][1]
    points = np.frombuffer(base64.b64decode(cloud["data"]), "<f4").reshape(-1, 4)
    assert np.abs(points * [1, -1, 1, 1] - look.points_in_lidar).max() < 0.01
    cubes = [entity["cubes"][0] for entity in drive["/vehicle_9/boxes"][1]["entities"]]
    for cube, row in zip(cubes, look.truth.boxes_in_lidar.geometry, strict=True):
        place = cube["pose"]["position"]
        assert [place["x"], -place["y"], place["z"]] == pytest.approx(row[:3], abs=5e-3)
        turn = cube["pose"]["orientation"]
        yaw = 2 * np.arctan2(turn["z"], turn["w"])
        assert np.cos(yaw + row[6]) == pytest.approx(1.0, abs=1e-4)


def test_chunks_and_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcap_file, "CHUNK_BYTES", 500)
    with McapWriter(tmp_path / "many.mcap", {"facts": {"a": "b"}}) as out:
        for name in ("one", "two"):
            out.add_channel(name, schema="any", definition={"type": "object"})
        for number in range(100):
            out.add_message(("one", "two")[number % 2], 10**9 * number, {"n": number})
    parts = read_mcap(tmp_path / "many.mcap")
    assert [row["n"] for row in parts["one"]] == list(range(0, 100, 2))
    assert [row["n"] for row in parts["two"]] == list(range(1, 100, 2))
    with McapWriter(tmp_path / "none.mcap", {}):
        pass
    assert read_mcap(tmp_path / "none.mcap") == {}

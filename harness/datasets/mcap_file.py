"""Writes MCAP files: messages of channels in compressed chunks, with an index at the end.

The format is that of https://mcap.dev/spec. A writer of our own is a page; the package `mcap` would
be one more dependency (decision 0116). Tests read the files with that package where it is.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = range(0x0B, 0x10)
CHUNK_BYTES = 4_000_000
"""Of messages before they are compressed."""


def pack_text(text: str) -> bytes:
    """Return a string of the format."""
    return pack_bytes(text.encode())


def pack_bytes(content: bytes) -> bytes:
    """Return bytes after their number."""
    return struct.pack("<I", len(content)) + content


def pack_texts(texts: Mapping[str, str]) -> bytes:
    """Return a map of strings."""
    return pack_bytes(b"".join(pack_text(key) + pack_text(value) for key, value in texts.items()))


def pack_record(opcode: int, content: bytes) -> bytes:
    """Return a record."""
    return struct.pack("<BQ", opcode, len(content)) + content


class McapWriter:
    """A file that is open for writing; leaving its block ends the file.

    Args:
        file: that is written.
        metadata: what is said of the whole file, by name.
    """

    def __init__(self, file: Path, metadata: Mapping[str, Mapping[str, str]]) -> None:
        self._out: BinaryIO = file.open("wb")
        self._place = 0  # bytes that are written
        self._metadata = metadata
        self._schemas: dict[str, tuple[int, bytes]] = {}
        self._channels: dict[str, tuple[int, bytes]] = {}
        self._counts: dict[int, int] = {}
        # of the open chunk: its records, where the messages of each channel begin, their times
        self._chunk = bytearray()
        self._starts: dict[int, list[tuple[int, int]]] = {}
        self._chunk_indexes: list[bytes] = []
        self._first, self._last = -1, 0
        self._write_bytes(MAGIC + pack_record(HEADER, pack_text("") + pack_text("crucible")))

    def __enter__(self) -> McapWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._end_file()
        self._out.close()

    def _write_bytes(self, content: bytes) -> None:
        self._out.write(content)
        self._place += len(content)

    def add_channel(self, topic: str, *, schema: str, definition: Mapping[str, Any]) -> None:
        """Add a channel of JSON messages, with the JSON schema of its messages."""
        if schema not in self._schemas:
            number = len(self._schemas) + 1
            content = struct.pack("<H", number) + pack_text(schema) + pack_text("jsonschema")
            content += pack_bytes(json.dumps(definition).encode())
            self._schemas[schema] = number, pack_record(SCHEMA, content)
            self._chunk += self._schemas[schema][1]
        number = len(self._channels) + 1
        content = struct.pack("<HH", number, self._schemas[schema][0]) + pack_text(topic)
        content += pack_text("json") + pack_texts({})
        self._channels[topic] = number, pack_record(CHANNEL, content)
        self._chunk += self._channels[topic][1]

    def add_message(self, topic: str, time: int, message: Mapping[str, Any]) -> None:
        """Add a message at a time in nanoseconds."""
        channel = self._channels[topic][0]
        count = self._counts.get(channel, 0)
        self._counts[channel] = count + 1
        self._starts.setdefault(channel, []).append((time, len(self._chunk)))
        body = struct.pack("<HIQQ", channel, count, time, time)
        self._chunk += pack_record(MESSAGE, body + json.dumps(message).encode())
        self._first = time if self._first < 0 else min(self._first, time)
        self._last = max(self._last, time)
        if len(self._chunk) >= CHUNK_BYTES:
            self._end_chunk()

    def _end_chunk(self) -> None:
        """Write the open chunk and the places of its messages."""
        if not self._chunk:
            return
        records = bytes(self._chunk)
        packed = pa.compress(records, codec="zstd", asbytes=True)
        times = [time for starts in self._starts.values() for time, _ in starts]
        begin, end = min(times, default=0), max(times, default=0)
        place = self._place
        content = struct.pack("<QQQI", begin, end, len(records), zlib.crc32(records))
        content += pack_text("zstd") + struct.pack("<Q", len(packed)) + packed
        chunk = pack_record(CHUNK, content)
        self._write_bytes(chunk)
        after = self._place
        indexes = b""
        for channel, starts in self._starts.items():
            indexes += struct.pack("<HQ", channel, self._place)
            rows = b"".join(struct.pack("<QQ", *row) for row in starts)
            index = struct.pack("<H", channel) + pack_bytes(rows)
            self._write_bytes(pack_record(MESSAGE_INDEX, index))
        content = struct.pack("<QQQQ", begin, end, place, len(chunk)) + pack_bytes(indexes)
        content += struct.pack("<Q", self._place - after) + pack_text("zstd")
        content += struct.pack("<QQ", len(packed), len(records))
        self._chunk_indexes.append(pack_record(CHUNK_INDEX, content))
        self._chunk.clear()
        self._starts.clear()

    def _end_file(self) -> None:
        """Write metadata, the summary and the footer."""
        self._end_chunk()
        indexes = []
        for name, texts in self._metadata.items():
            place = self._place
            record = pack_record(METADATA, pack_text(name) + pack_texts(texts))
            self._write_bytes(record)
            content = struct.pack("<QQ", place, len(record)) + pack_text(name)
            indexes.append(pack_record(METADATA_INDEX, content))
        self._write_bytes(pack_record(DATA_END, struct.pack("<I", 0)))
        counts = b"".join(struct.pack("<HQ", *pair) for pair in self._counts.items())
        numbers = (sum(self._counts.values()), len(self._schemas), len(self._channels), 0)
        statistics = struct.pack("<QHII", *numbers)
        statistics += struct.pack("<II", len(indexes), len(self._chunk_indexes))
        statistics += struct.pack("<QQ", max(self._first, 0), self._last) + pack_bytes(counts)
        start = self._place
        groups = [
            (SCHEMA, [record for _, record in self._schemas.values()]),
            (CHANNEL, [record for _, record in self._channels.values()]),
            (STATISTICS, [pack_record(STATISTICS, statistics)]),
            (CHUNK_INDEX, self._chunk_indexes),
            (METADATA_INDEX, indexes),
        ]
        offsets = b""
        for opcode, records in groups:
            place = self._place
            self._write_bytes(b"".join(records))
            content = struct.pack("<BQQ", opcode, place, self._place - place)
            offsets += pack_record(SUMMARY_OFFSET, content) if records else b""
        place = self._place
        self._write_bytes(offsets)
        self._write_bytes(pack_record(FOOTER, struct.pack("<QQI", start, place, 0)) + MAGIC)

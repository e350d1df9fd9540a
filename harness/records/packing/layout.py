"""What a packed study holds: one Parquet file with a row for each attempt, and a few others.

Rows are of six kinds. A `campaign` is its `campaign.yaml`, a `route` a file of its `routes`,
`critical` one of its critical sizes, `decide` its `decide.jsonl`, `tries` the lines of its
`ledger.jsonl`, an `attempt` its result with the columns of its planning steps as lists. Columns
that a kind does not have are null. A campaign with critical sizes is followed by its twins: a
campaign called `NAME/twins`.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pyarrow as pa

from harness.records.schema import FRAMES, VERSION

FORMAT = 1
HEADER = b"crucible_packed"
"""The key of the file's metadata under which its format stands."""
PACKED = "packed"
"""The key of `campaign.yaml` that marks a folder which was unpacked."""
CAMPAIGN, ROUTE, SIZES, DECIDED, TRIES, ATTEMPT = KINDS = (
    "campaign",
    "route",
    "critical",
    "decide",
    "tries",
    "attempt",
)
ROUTES = "routes"
LEFT_OUT = tuple(
    field.name
    for field in FRAMES
    if field.name in {"throttle", "steer", "brake"}
    or field.name in {f"ego_{axis}" for axis in ("x", "y", "z", "yaw", "pitch", "roll")}
)
"""Columns of planning steps that are not packed: of no table, and most of all bytes."""
STEPS = tuple(name for name in FRAMES.names if name not in LEFT_OUT)
TEXTS = pa.dictionary(pa.int32(), pa.string())

COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "kind": (TEXTS, "campaign, route, critical, tries or attempt"),
    "campaign": (TEXTS, "name of its folder"),
    "name": (pa.string(), "of a route or critical sizes: the file in the campaign's folder"),
    "text": (pa.string(), "contents; null for a route that an earlier part holds"),
    "sha256": (pa.string(), "of the text; of an attempt, the digest of its whole record"),
    "arm": (TEXTS, "all of its factors"),
    "system": (TEXTS, "factor of the arm"),
    "cooperation": (TEXTS, "factor of the arm"),
    "condition": (TEXTS, "factor of the arm"),
    "route": (pa.string(), "name of the route"),
    "seed": (pa.int64(), "of the campaign"),
    "try": (pa.int32(), "the try that has the result"),
    "wall_seconds": (pa.float64(), "s of wall-clock for the try; null if unknown"),
    "timing": (pa.string(), "timing.json; null if there was none"),
}


def describe_column(kind: pa.DataType, name: str, description: str) -> pa.Field:
    """Return a column with what it is."""
    return pa.field(name, kind, metadata={"description": description})


SCHEMA = pa.schema(
    list(
        chain(
            (describe_column(kind, name, what) for name, (kind, what) in COLUMNS.items()),
            (
                describe_column(pa.list_(FRAMES.field(name).type), name, "at each planning step")
                for name in STEPS
            ),
        )
    ),
    metadata={HEADER: f"{FORMAT}", "crucible_schema": f"{VERSION}"},
)
NUMBERS = tuple(name for name in STEPS if FRAMES.field(name).type == pa.float64())
WRITTEN = {
    "compression": "zstd",
    "compression_level": 19,
    "row_group_size": 1 << 20,
    "use_dictionary": [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)],
    "use_byte_stream_split": [f"{name}.list.element" for name in NUMBERS],
    "write_statistics": False,
    "write_page_checksum": True,
}
"""How the file is written: so that equal campaigns give equal bytes, and few."""
MOST_ROWS = 1_000_000
"""Rows of a file that is read into memory."""
NOT_THERE = (
    "was unpacked from a packed study, which holds results and counts at planning steps only; the"
    " machine that drove it has the rest, and crucible verify drives attempts again"
)


def describe_missing_table(folder: Path, table: str) -> str:
    """Return why a table of an unpacked campaign cannot be read."""
    return f"{folder}: has no {table}: it {NOT_THERE}"

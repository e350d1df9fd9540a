"""A study's records as one small file, from which its tables are made again.

All tables stand in one Parquet file, one after another, with the header in its metadata. Scores of
detections are rounded to four digits, those of guidance to five.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import UserError
from harness.files import write_whole
from harness.nesting import parse_json
from harness.parquet_reading import TableLimits, read_parquet_within
from harness.safe_reading import MEGABYTE
from metamorphic.records import SCORES, TABLES, read_header, read_table

HEADER = b"crucible_study"
ORDER = "order_of_systems"
PLACEBOS = "placebo_"
LIMITS_OF_STUDY = TableLimits(unpacked=800 * MEGABYTE)
"""Of a packed study: the published one has two million rows of 36 columns, most of them null."""
Frames = dict[str, pd.DataFrame]


def read_folder(folder: Path) -> tuple[dict[str, Any], Frames]:
    """Return the header and the tables of a study's folder."""
    return read_header(folder), {name: read_table(folder, name).to_pandas() for name in TABLES}


def pack(folder: Path, file: Path, kept: set[str] | None = None) -> None:
    """Write a study into one file; boxes are those of the named scenes only, or of all."""
    header, frames = read_folder(folder)
    frames["detections"]["score"] = frames["detections"]["score"].round(4)
    if kept is not None:
        frames["boxes"] = frames["boxes"][frames["boxes"]["scene"].isin(kept)]
    scores = frames["scores"][~frames["scores"]["operator"].str.startswith(PLACEBOS)]
    frames["scores"] = scores.round(dict.fromkeys(SCORES, 5))
    schema = pa.unify_schemas([pa.schema([pa.field("table", pa.string())]), *TABLES.values()])
    parts = [
        pa.Table.from_pandas(frame.assign(table=name).reindex(columns=schema.names), schema)
        for name, frame in ((name, in_order(frame)) for name, frame in frames.items())
    ]
    systems = list(dict.fromkeys(frames["objects"]["system"]))
    metadata = {HEADER: json.dumps({**header, ORDER: systems}, sort_keys=True).encode()}
    whole = pa.concat_tables(parts).replace_schema_metadata(metadata)
    write = partial(pq.write_table, whole, compression="zstd", compression_level=19)
    write_whole(file, write)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with what is alike together, so that it compresses."""
    keys = [name for name in ("operator", "system", "side", "hits", "scene") if name in frame]
    return frame.sort_values(keys, kind="stable")


def read_packed(file: Path) -> tuple[dict[str, Any], Frames]:
    """Return the header and the tables of a packed study."""
    try:
        whole = read_parquet_within(file, LIMITS_OF_STUDY, follow=True)
        header = parse_json((whole.schema.metadata or {})[HEADER])
    except (OSError, pa.ArrowException, KeyError, ValueError, RecursionError):
        raise UserError(f"{file}: not the packed records of a metamorphic study") from None
    frame = whole.to_pandas()
    return header, {
        name: pa.Table.from_pandas(
            frame[frame["table"] == name][schema.names], schema, preserve_index=False
        ).to_pandas()
        for name, schema in TABLES.items()
    }

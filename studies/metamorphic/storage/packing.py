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

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.nesting import parse_json
from harness.common.parquet_reading import TableLimits, read_parquet_within
from harness.common.safe_reading import MEGABYTE
from studies.metamorphic.storage.records import (
    GUIDANCE_SCORES,
    STUDY_SCHEMAS,
    read_study_header,
    read_study_table,
)

PACKED_HEADER_KEY = b"crucible_study"
ORDER = "order_of_systems"
PLACEBOS = "placebo_"
LIMITS_OF_STUDY = TableLimits(unpacked=800 * MEGABYTE)
"""Of a packed study: the published one has two million rows of 36 columns, most of them null."""
Frames = dict[str, pd.DataFrame]


def read_study_folder(folder: Path) -> tuple[dict[str, Any], Frames]:
    """Return the header and the tables of a study's folder."""
    return read_study_header(folder), {
        name: read_study_table(folder, name).to_pandas() for name in STUDY_SCHEMAS
    }


def pack_study(folder: Path, file: Path, kept: set[str] | None = None) -> None:
    """Write a study into one file; boxes are those of the named scenes only, or of all."""
    header, frames = read_study_folder(folder)
    # fewer digits, and no scores of placebos
    frames["detections"]["score"] = frames["detections"]["score"].round(4)
    if kept is not None:
        frames["boxes"] = frames["boxes"][frames["boxes"]["scene"].isin(kept)]
    scores = frames["scores"][~frames["scores"]["operator"].str.startswith(PLACEBOS)]
    frames["scores"] = scores.round(dict.fromkeys(GUIDANCE_SCORES, 5))
    # one table of all tables, with the name of each: one file, one compression
    schema = pa.unify_schemas(
        [pa.schema([pa.field("table", pa.string())]), *STUDY_SCHEMAS.values()]
    )
    parts = [
        pa.Table.from_pandas(frame.assign(table=name).reindex(columns=schema.names), schema)
        for name, frame in ((name, sort_for_compression(frame)) for name, frame in frames.items())
    ]
    systems = list(dict.fromkeys(frames["objects"]["system"]))
    metadata = {PACKED_HEADER_KEY: json.dumps({**header, ORDER: systems}, sort_keys=True).encode()}
    whole = pa.concat_tables(parts).replace_schema_metadata(metadata)
    write = partial(pq.write_table, whole, compression="zstd", compression_level=19)
    write_whole(file, write)


def sort_for_compression(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with what is alike together, so that it compresses."""
    keys = [name for name in ("operator", "system", "side", "hits", "scene") if name in frame]
    return frame.sort_values(keys, kind="stable")


def read_packed_study(file: Path) -> tuple[dict[str, Any], Frames]:
    """Return the header and the tables of a packed study."""
    try:
        whole = read_parquet_within(file, LIMITS_OF_STUDY, follow=True)
        header = parse_json((whole.schema.metadata or {})[PACKED_HEADER_KEY])
    except (OSError, pa.ArrowException, KeyError, ValueError, RecursionError):
        raise UserError(f"{file}: not the packed records of a metamorphic study") from None
    frame = whole.to_pandas()
    return header, {
        name: pa.Table.from_pandas(
            frame[frame["table"] == name].reindex(columns=schema.names),
            schema,
            preserve_index=False,
        ).to_pandas()
        for name, schema in STUDY_SCHEMAS.items()
    }

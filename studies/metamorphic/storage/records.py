"""Records of an offline study: a header, and for each block of scenes one file of each table.

A block's files are written whole, and a block counts when all of them are there: a study that was
killed loses the blocks that were being computed, and the same command goes on with the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.parquet_reading import decode_table_texts, read_parquet_within
from harness.common.safe_reading import STUDY_RECORD, is_regular, read_json_within, refuse_link
from studies.metamorphic.judging.realism import RANGE_STATISTICS

STUDY_HEADER_FILE = "header.json"
VERDICT = ("wrong", "right", "unjudged", "both_wrong", "judged")
GUIDANCE_SCORES = (
    *("vgt_published", "vgt", "v2xgen"),
    *("multitest", "multitest_missed", "multitest_false", "multitest_localisation"),
)
USER_BOX = ("x", "y", "z", "length", "width", "height", "yaw")
USER_VALUES = (
    *USER_BOX,  # m, rad, in the ego's LiDAR frame
    "alone",  # score of the box with which the ego detects it alone, 0 for none
    "occlusion",  # share hidden from the ego; not known: NaN
    *("occluded_share", "far_share"),  # its terms of V2XGen's F_OP and F_LP, if it is missed
)
WHERE = [
    pa.field("scene", pa.string()),
    pa.field("cluster", pa.string()),
    pa.field("system", pa.string()),
    pa.field("operator", pa.string()),
]
"""What all tables begin with; `none` is the scene as recorded."""
SIDE = [
    pa.field("side", pa.string()),  # recorded, dry (the same sensor without weather) or changed
    pa.field("hits", pa.string()),  # returns that objects are judged by: before or after operators
]
BOX = [pa.field(name, pa.float32()) for name in ("x", "y", "length", "width", "yaw")]
STUDY_SCHEMAS = {
    "measures": pa.schema(
        [
            *WHERE,
            pa.field("relation", pa.string()),
            pa.field("value", pa.float64()),
            pa.field("exposed", pa.int64()),
            pa.field("breaches", pa.int64()),
            *(pa.field(name, pa.int64()) for name in VERDICT),  # what ground truth says of them
            pa.field("values", pa.string()),  # of the operator, as JSON
        ]
    ),
    "checks": pa.schema(
        [
            *WHERE,
            *SIDE,
            pa.field("check", pa.string()),
            pa.field("count", pa.int64()),
            pa.field("exposed", pa.int64()),
        ]
    ),
    "detections": pa.schema(
        [
            *WHERE,
            *SIDE,
            pa.field("class", pa.int8()),
            pa.field("score", pa.float64()),
            pa.field("correct", pa.bool_()),
        ]
    ),
    "objects": pa.schema(
        [*WHERE, *SIDE, pa.field("class", pa.int8()), pa.field("count", pa.int64())]
    ),  # ground truth that is judged
    "scores": pa.schema(
        [*WHERE, *(pa.field(name, pa.float64()) for name in GUIDANCE_SCORES)]
    ),  # of candidates: what guidance ranks them by
    "boxes": pa.schema(
        [
            *WHERE,
            pa.field("relation", pa.string()),
            pa.field("kind", pa.string()),  # missing, additional; object, unjudged, parked, agent
            pa.field("class", pa.int8()),
            *BOX,
        ]
    ),  # for pictures: breaches of relations with bands, and what stands in the recorded scenes
    "skipped": pa.schema([*WHERE, pa.field("reason", pa.string())]),
    "sweeps": pa.schema(
        [*WHERE, *(pa.field(name, pa.float64()) for name in RANGE_STATISTICS)]
    ),  # of the ego, for realism
    "users": pa.schema(
        [
            *WHERE,
            pa.field("class", pa.int8()),
            *(pa.field(name, pa.float32()) for name in USER_VALUES),
        ]
    ),  # judged road users of candidates, without what cooperation made of them: for null worlds
}
LATER_TABLES = {"sweeps", "users"}
"""Tables that older studies lack; they read as empty."""
TableRows = dict[str, list[dict[str, Any]]]


def get_block_file(folder: Path, table: str, block: int) -> Path:
    """Return the file of a block's table."""
    return folder / "parts" / f"{block:05}.{table}.parquet"


def is_block_written(folder: Path, block: int) -> bool:
    """Return whether a block is complete."""
    needed = set(STUDY_SCHEMAS) - LATER_TABLES
    return all(is_regular(get_block_file(folder, table, block)) for table in needed)


def write_block(folder: Path, block: int, rows: TableRows) -> None:
    """Write all tables of a block."""
    (folder / "parts").mkdir(exist_ok=True)
    for table, schema in STUDY_SCHEMAS.items():
        content = pa.Table.from_pylist(rows[table], schema)
        write_whole(get_block_file(folder, table, block), partial(pq.write_table, content))


def read_study_table(folder: Path, table: str) -> pa.Table:
    """Return a table of all blocks that are complete."""
    refuse_link(folder / "parts")
    blocks = [int(path.name[:5]) for path in sorted((folder / "parts").glob("*.measures.parquet"))]
    parts = [
        read_block(get_block_file(folder, table, block), STUDY_SCHEMAS[table], folder)
        for block in blocks
        if all(
            os.path.lexists(get_block_file(folder, name, block))
            for name in {*STUDY_SCHEMAS} - LATER_TABLES | {table}
        )
    ]
    return pa.concat_tables(parts) if parts else STUDY_SCHEMAS[table].empty_table()


def read_block(file: Path, schema: pa.Schema, folder: Path) -> pa.Table:
    """Return a block's table, if it has the columns of its schema."""
    try:
        return decode_table_texts(
            read_parquet_within(file, within=folder).select(schema.names), schema
        )
    except (OSError, ValueError, KeyError, pa.ArrowException) as problem:
        reason = " ".join(str(problem).split())
        raise UserError(f"{file}: not a table of a study ({reason})") from None


def begin_records(folder: Path, header: Mapping[str, Any]) -> None:
    """Write the header of a new folder; refuse a folder of another study.

    Args:
        folder: made if it is not there.
        header: what must be equal for rows to belong together.

    Raises:
        UserError: the folder has another header.
    """
    file = folder / STUDY_HEADER_FILE
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_whole(file, json.dumps(header, indent=1, sort_keys=True) + "\n")
        return
    known = read_study_header(folder)
    asked = json.loads(json.dumps(header))
    if changed := sorted(name for name in {*known, *asked} if known.get(name) != asked.get(name)):
        raise UserError(
            f"{folder}: has other {', '.join(changed)}; name another --out, or give the same again"
        )


def read_study_header(folder: Path) -> dict[str, Any]:
    """Return what makes a study what it is."""
    file = folder / STUDY_HEADER_FILE
    try:
        header = read_json_within(file, STUDY_RECORD)
    except FileNotFoundError:
        raise UserError(
            f"{folder}: no {STUDY_HEADER_FILE}: not the folder of a metamorphic study"
        ) from None
    except (OSError, ValueError, RecursionError) as problem:
        raise UserError(f"{file}: not the header of a study ({problem})") from None
    if not isinstance(header, dict):
        raise UserError(f"{file}: not the header of a study")
    return header


def make_empty_rows() -> TableRows:
    """Return no rows of any table."""
    return {table: [] for table in STUDY_SCHEMAS}


def make_row_head(scene: str, cluster: str, system: str, operator: str) -> dict[str, str]:
    """Return what a row begins with."""
    return {"scene": scene, "cluster": cluster, "system": system, "operator": operator}


def split_into_blocks(count: int, size: int) -> Sequence[range]:
    """Return scenes by number, block by block."""
    return [range(first, min(first + size, count)) for first in range(0, count, size)]

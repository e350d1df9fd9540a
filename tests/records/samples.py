"""Tries and campaigns with made-up numbers, written as a campaign writes them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from harness.records.keys import AttemptKey
from harness.records.schema import TABLES, VERSION
from harness.records.writing import EpisodeWriter
from tests.keys import key_of

KEY = key_of("late fusion", "latency", "crossings.xml:7", 3)
NAMES = ("", "vehicle-117", "städtisch\u2028", "0")


def columns(table: str, rows: int, seed: int = 0) -> dict[str, Any]:
    """Return values of every column's type, NaN among the numbers."""
    random = np.random.default_rng(seed)
    return {field.name: _values(field.type, rows, random) for field in TABLES[table]}


def _values(kind: pa.DataType, rows: int, random: np.random.Generator) -> Any:
    if pa.types.is_floating(kind):
        values = random.normal(scale=100, size=rows).astype(kind.to_pandas_dtype())
        values[::7] = np.nan
        return values
    if pa.types.is_boolean(kind):
        return random.random(rows) < 0.5
    if pa.types.is_integer(kind):
        return random.integers(-100, 100, rows)
    return [NAMES[integer] for integer in random.integers(len(NAMES), size=rows)]


def result(key: AttemptKey, **ours: Any) -> dict[str, Any]:
    """Return as much of a result as readers insist on."""
    ours = {"schema": VERSION, "attempt": key.to_record(), **ours}
    return {"status": "Completed", "crucible": ours}


def fill(writer: EpisodeWriter, key: AttemptKey, rows: int, seed: int) -> None:
    """Write every file of a try."""
    for table in TABLES:
        writer.write_table(table, columns(table, rows, seed))
    writer.write_json("result", result(key))
    writer.write_json("timing", {"seconds": {"total": 1.5}})


def write_try(
    campaign: Path, key: AttemptKey = KEY, number: int = 1, rows: int = 60, seed: int = 0
) -> Path:
    """Write and commit a try."""
    with EpisodeWriter(campaign, key, number) as writer:
        fill(writer, key, rows, seed)
        return writer.commit_records()


def write_campaign(folder: Path, *keys: AttemptKey) -> Path:
    """Write a campaign with these attempts finished."""
    folder.mkdir(exist_ok=True)
    (folder / "campaign.yaml").write_text(yaml.safe_dump({"schema": VERSION, "settings": {}}))
    for seed, key in enumerate(keys):
        write_try(folder, key, seed=seed)
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file below a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

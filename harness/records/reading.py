"""Reads a campaign folder; whatever is broken or foreign in it is said in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import tries
from harness.records.schema import TABLES, VERSION


class Campaign:
    """A campaign folder, running or finished."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "campaign.yaml").is_file():
            raise UserError(f"{folder}: not a campaign folder (no campaign.yaml in it)")

    @cached_property
    def header(self) -> dict[str, Any]:
        """What `campaign.yaml` says: settings, versions, simulator."""
        file = self.folder / "campaign.yaml"
        try:
            header = yaml.load(file.read_text(), yaml.CSafeLoader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
            raise UserError(f"{file}: {' '.join(str(problem).split())}") from None
        if not isinstance(header, dict) or header.get("schema") != VERSION:
            raise UserError(f"{file}: not a campaign of schema {VERSION}")
        return header

    def attempts(self) -> dict[AttemptKey, Path]:
        """Return the folder of every finished attempt's last try."""
        return tries(self.folder)

    def result(self, key: AttemptKey) -> dict[str, Any]:
        """Return an attempt's `result.json`."""
        file = self._folder(key) / "result.json"
        try:
            result = json.loads(file.read_text())
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
            raise UserError(f"{file}: {problem}") from None
        if not isinstance(result, dict) or result.get("crucible", {}).get("schema") != VERSION:
            raise UserError(f"{file}: not a result of schema {VERSION}")
        return result

    def table(self, name: str, key: AttemptKey) -> pd.DataFrame:
        """Return one table of an attempt."""
        return read_table(self._folder(key) / f"{name}.parquet", name)

    def tables(self, name: str, keys: Iterable[AttemptKey]) -> pd.DataFrame:
        """Return one table of many attempts, each row with its attempt."""
        parts = [
            self.table(name, key).assign(
                system=key.system, condition=key.condition, route=key.route, seed=key.seed
            )
            for key in keys
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _folder(self, key: AttemptKey) -> Path:
        try:
            return self.attempts_now[key]
        except KeyError:
            raise UserError(f"{self.folder}: no result of {key}") from None

    @cached_property
    def attempts_now(self) -> dict[AttemptKey, Path]:
        """The finished attempts as they were when first asked for."""
        return self.attempts()


def read_table(file: Path, name: str) -> pd.DataFrame:
    """Return a table, if it is whole and of this version."""
    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowException) as problem:
        raise UserError(f"{file}: {' '.join(str(problem).split())}") from None
    schema = TABLES[name]
    metadata = table.schema.metadata or {}
    if (
        metadata.get(b"crucible_schema") != str(VERSION).encode()
        or table.schema.names != schema.names
    ):
        raise UserError(f"{file}: not a table of schema {VERSION}")
    frame: pd.DataFrame = table.to_pandas()
    return frame

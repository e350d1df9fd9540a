"""Reads a campaign folder; broken or foreign files raise an error of one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import yaml

from harness.common.errors import UserError
from harness.common.parquet_reading import TableLimits, count_table_rows, open_table
from harness.common.safe_reading import (
    JSON_RECORD,
    MEGABYTE,
    SETTINGS_FILE,
    FileKind,
    is_regular,
    read_json_within,
    read_yaml_within,
    refuse_link,
)
from harness.records.arms import CORE, Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import find_finished_tries
from harness.records.metrics import has_only_metrics
from harness.records.packing.layout import PACKED, describe_missing_table
from harness.records.row_limits import MOST_ROWS, ROWS_A_STEP
from harness.records.schema import (
    ALL_TABLES,
    DETECTED,
    FURTHER_COLUMNS,
    VERSION,
)
from harness.records.writing import EGOS, EPISODES

if TYPE_CHECKING:  # loading pandas takes half a second, and only tables need it
    import pandas as pd

BROKEN = (OSError, ValueError, MemoryError, RecursionError, OverflowError, pa.ArrowException)
"""What readers raise on bytes that are not what they should be."""
SETTLING = 100
"""Planning steps before the first one that is recorded, and some."""
LIMITS = dict.fromkeys(("points", "pictures"), TableLimits(unpacked=1_000 * MEGABYTE))
"""Tables that may take more memory than others: recorded sweeps of four LiDARs, for minutes."""


class CampaignRecords:
    """A campaign folder, running or finished: nothing in it is read through a link.

    Attempts are listed once, when they are first asked for; `find_attempts` looks again.

    Attributes:
        folder: the campaign's.
    """

    def __init__(self, folder: Path, within: Path | None = None) -> None:
        """Look at a folder; one that lies in a folder which the user named may be no link.

        Args:
            folder: with a `campaign.yaml` in it.
            within: the folder that the user named; None if it is `folder` itself.

        Raises:
            UserError: the folder is not a campaign's, or a link leads to it.
        """
        self.folder = folder
        if within is not None:
            refuse_link(folder, within=within)
        file = folder / "campaign.yaml"
        try:
            there, has_folder = file.exists(), folder.exists()
        except OSError as problem:
            raise make_unreadable_error(folder, problem) from None
        if not has_folder:
            raise UserError(f"{folder}: folder not found")
        refuse_link(file)
        if not there or not is_regular(file):
            raise UserError(f"{folder}: not a campaign folder (no campaign.yaml in it)")

    @cached_property
    def header(self) -> dict[str, Any]:
        """The contents of `campaign.yaml`: settings, versions, simulator."""
        return read_campaign_header(self.folder / "campaign.yaml")

    @property
    def packed(self) -> bool:
        """Whether it was unpacked: then it has results and counts at planning steps only."""
        return self.header.get(PACKED) is True

    def find_attempts(self) -> dict[AttemptKey, Path]:
        """Return the folder of every finished attempt's last try, as of now."""
        self._known = find_finished_tries(self.folder)
        return self._known

    def note_finished(self, key: AttemptKey, number: int) -> None:
        """Take note of a try that has finished since, without looking through the folder again.

        Args:
            key: the attempt.
            number: of the try that has its result.
        """
        self._known[key] = self.folder / EPISODES / key.path / f"try{number}"

    def read_result(self, key: AttemptKey) -> dict[str, Any]:
        """Return an attempt's `result.json`.

        Args:
            key: a finished attempt.

        Returns:
            The contents: fields of CARLA's Leaderboard, and what Crucible adds under `crucible`.

        Raises:
            UserError: the file cannot be read, or is another attempt's.
        """
        file = f"{self._get_folder(key)}/result.json"
        result = read_json_object(file, within=self.folder)
        ours = result.get("crucible")
        if not isinstance(ours, dict) or ours.get("schema") != VERSION:
            raise UserError(f"{file}: not a result of schema {VERSION}")
        if not _has_result_key(key, ours.get("attempt")):
            raise UserError(f"{file}: the result of another attempt; folders are not to be renamed")
        return result

    def get_result_path(self, key: AttemptKey) -> Path:
        """Return where an attempt's `result.json` lies.

        Args:
            key: of the attempt.
        """
        return self._get_folder(key) / "result.json"

    def list_ego_folders(self, key: AttemptKey) -> list[Path]:
        """Return the folders with the records of an attempt's egos, that of the first ego first.

        A packed campaign has those of the first ego only.

        Args:
            key: a finished attempt.
        """
        place = self._get_folder(key)
        return [place, *(place / EGOS / str(number) for number in list_ego_numbers(place))]

    def read_timing(self, key: AttemptKey) -> dict[str, Any]:
        """Return an attempt's `timing.json`.

        Args:
            key: of the attempt.

        Returns:
            Seconds by part, ticks and processor.
        """
        return read_json_object(self._get_folder(key) / "timing.json", within=self.folder)

    def has_table(self, name: str, key: AttemptKey) -> bool:
        """Return whether an attempt has a table that not every attempt has.

        Args:
            name: such as `compensated`.
            key: a finished attempt.
        """
        return (self._get_folder(key) / f"{name}.parquet").exists()

    def read_attempt_table(self, name: str, key: AttemptKey) -> pd.DataFrame:
        """Return one table of an attempt.

        Args:
            name: such as `frames` or `boxes`; docs/reference/records.md has all of them.
            key: a finished attempt.

        Returns:
            Columns and units as `harness.records.schema` has them.
        """
        return convert_to_dataframe(self.read_attempt_columns(name, key))

    def read_attempt_columns(self, name: str, key: AttemptKey) -> pa.Table:
        """Return one table of an attempt as it was stored, for a look at a few of its columns.

        Args:
            name: such as `frames` or `boxes`.
            key: a finished attempt.
        """
        return _read_parquet(self._get_file(name, key), name, self.folder)

    def read_attempt_tables(self, name: str, keys: Iterable[AttemptKey]) -> pd.DataFrame:
        """Return one table of many attempts, each row with its attempt.

        Args:
            name: such as `frames` or `boxes`.
            keys: finished attempts.

        Returns:
            The rows of all attempts, with further columns: arm, its factors, route and seed.
        """
        keys = list(keys)
        # every factor that some arm names is a column; `none` where an arm does not name it
        factors = list(dict.fromkeys(factor for key in keys for factor in key.arm.names))
        parts = [
            _add_attempt_columns(self.read_attempt_columns(name, key), key, factors) for key in keys
        ]
        # without attempts: an empty table with the same columns
        nothing = AttemptKey(Arm.from_factors(), "", 0)
        parts = parts or [_add_attempt_columns(ALL_TABLES[name].empty_table(), nothing, CORE)]
        pooled = pa.concat_tables(parts, promote_options="default")
        return convert_to_dataframe(pooled.unify_dictionaries())

    def _get_file(self, name: str, key: AttemptKey) -> Path:
        if name != "frames" and self.packed:
            raise UserError(describe_missing_table(self.folder, name))
        return self._get_folder(key) / f"{name}.parquet"

    def _get_folder(self, key: AttemptKey) -> Path:
        try:
            return self._known[key]
        except KeyError:
            raise UserError(f"{self.folder}: no result of {key}") from None

    @cached_property
    def _known(self) -> dict[AttemptKey, Path]:
        return find_finished_tries(self.folder)


def list_ego_numbers(place: Path) -> list[int]:
    """Return the numbers of the further egos that an attempt has records of.

    Args:
        place: folder of the try.

    Raises:
        UserError: a link lies in the way.
    """
    folder = place / EGOS
    refuse_link(folder)
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def read_campaign_header(file: Path) -> dict[str, Any]:
    """Return the contents of a `campaign.yaml`.

    We write no aliases. With them, a few lines could hold themselves, or more than any memory.
    """
    try:
        header = read_yaml_within(file, SETTINGS_FILE)
    except (*BROKEN, yaml.YAMLError) as problem:
        raise make_unreadable_error(file, problem) from None
    if not isinstance(header, dict) or header.get("schema") != VERSION:
        raise UserError(f"{file}: not a campaign of schema {VERSION}{describe_schema(header)}")
    return header


def describe_schema(header: object) -> str:
    """Return which schema a campaign has, and which revision reads it; nothing if it names none."""
    if not isinstance(header, dict) or not isinstance(header.get("schema"), int):
        return ""
    revision = re.match(r"[0-9a-f]{7,40}", str(header.get("git")))
    reader = f"revision {revision[0]}" if revision else "the version"
    return f" but of {header['schema']}; {reader}, which wrote it, reads it"


def read_stored_table(file: Path, name: str, within: Path | None = None) -> pd.DataFrame:
    """Return a table, if it is whole and of this version; `within` is as in `open_regular`.

    Args:
        file: the Parquet file.
        name: of its schema, such as `frames`.
        within: the folder that the user named.

    Returns:
        Columns and units as `harness.records.schema` has them.

    Raises:
        UserError: the file cannot be read, or has another schema.
    """
    return convert_to_dataframe(_read_parquet(file, name, within))


def convert_to_dataframe(table: pa.Table) -> pd.DataFrame:
    """Return a stored table as a DataFrame.

    Args:
        table: as it was read.
    """
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def read_json_object(
    file: Path | str,
    kind: FileKind = JSON_RECORD,
    *,
    within: Path | None = None,
    follow: bool = False,
) -> dict[str, Any]:
    """Return the contents of a JSON file, if it is an object; the rest is as in `open_regular`.

    Args:
        file: what is read.
        kind: how large it may be, and what it is called in messages.
        within: the folder that the user named.
        follow: read through a link.

    Returns:
        The object; numbers are finite.

    Raises:
        UserError: the file cannot be read, or holds no object.
    """
    try:
        record = read_json_within(file, kind, within=within, follow=follow)
    except BROKEN as problem:
        raise make_unreadable_error(file, problem) from None
    if not isinstance(record, dict):
        raise UserError(f"{file}: not a JSON object")
    return record


def make_unreadable_error(file: Path | str, problem: BaseException) -> UserError:
    """Return the error for a file that cannot be read.

    Args:
        file: what was read.
        problem: what the reader raised.

    Returns:
        An error of one line: the file and the reason.
    """
    number = problem.errno if isinstance(problem, OSError) else None
    reason = os.strerror(number) if number else " ".join(str(problem).split())
    return UserError(f"{file}: {reason or 'cannot be read'}")


def _read_parquet(file: Path, name: str, within: Path | None = None) -> pa.Table:
    """Return a stored table; nothing is read before its footer is plausible."""
    try:
        with open_table(file, LIMITS.get(name), within=within) as opened:
            # the footer: version, columns, rows
            written = opened.schema
            version = (written.metadata or {}).get(b"crucible_schema")
            if version != str(VERSION).encode() or not is_schema(written, name):
                raise UserError(f"{file}: not a table {name} of schema {VERSION}")
            refuse_overlong(file, name, opened.rows, within)
            # then the contents, with the checksums and types of every value
            table = opened.read()
            table.validate(full=True)
    except BROKEN as problem:
        raise make_unreadable_error(file, problem) from None
    return table


def is_schema(written: pa.Schema, name: str) -> bool:
    """Return whether a table has the columns of its schema.

    Behind these, frames may have metrics, and others what is left after sensing, or an attack's.

    Args:
        written: what the file has.
        name: of the schema that it should have.
    """
    known = ALL_TABLES[name]
    fields = list(written)
    more = fields[len(known) :]
    same = pa.schema(list(map(undo_nullable, fields[: len(known)]))).equals(known)
    further = [*FURTHER_COLUMNS.get(name, ())]
    return same and (
        not more
        or (name == "frames" and has_only_metrics(more))
        or (bool(further) and pa.schema(more).equals(pa.schema(further)))
    )


def undo_nullable(field: pa.Field) -> pa.Field:
    """Return a column as its schema has it: those of detections may be null."""
    return field.with_nullable(False) if field.name in DETECTED else field


def refuse_overlong(file: Path, name: str, rows: int, within: Path | None = None) -> None:
    """Refuse a table whose footer claims more rows than its attempt can have.

    Args:
        file: the table's.
        name: of its schema.
        rows: what its footer claims.
        within: the folder that the user named.

    Raises:
        UserError: more rows than an attempt of its planning steps can have.
    """
    most = MOST_ROWS[name]
    steps = file.with_name("frames.parquet")
    if name in ROWS_A_STEP and is_regular(steps):
        most = min(most, ROWS_A_STEP[name] * (count_table_rows(steps, within=within) + SETTLING))
    if not 0 <= rows <= most:
        raise UserError(f"{file}: claims {rows:,} rows; its attempt can have {most:,} at most")


def _add_attempt_columns(table: pa.Table, key: AttemptKey, factors: Sequence[str]) -> pa.Table:
    """Return a table with its attempt in every row: arm, factors, route and seed."""
    rows = len(table)
    first = pa.array([0] * rows, pa.int32())
    columns = {
        "arm": str(key.arm),
        **{factor: key.arm[factor] for factor in factors},
        "route": key.route,
    }
    for name, value in columns.items():
        names = pa.DictionaryArray.from_arrays(first, pa.array([value], pa.string()))
        table = table.append_column(name, names)
    return table.append_column("seed", pa.array([key.seed] * rows, pa.int64()))


def _has_result_key(key: AttemptKey, record: Any) -> bool:
    """Return whether a result belongs to this attempt."""
    try:
        return AttemptKey.from_record(record) == key
    except ValueError:
        return False

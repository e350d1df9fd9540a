"""Writes one try at an attempt: all of it, or nothing.

Files go into a folder next to the place where they belong. When all are there and on the disk, the
folder is renamed into its place: that rename is the commit. A process that dies before it leaves a
folder with a leading dot, which is never read and which the attempt's next writer removes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.common.errors import AttemptError
from harness.common.files import LINK
from harness.records.keys import AttemptKey
from harness.records.schema import ALL_TABLES, TABLES

EPISODES = "episodes"
EGOS = "egos"
"""Of a try's folder: records of further driven egos, each in a folder of its number."""
FILMS = "films"
"""Of a campaign's folder, where `crucible replay` writes what no option names."""
FILES = {*(f"{name}.parquet" for name in TABLES), "result.json"}
"""What a try must hold to be one."""
DELTAS = dict.fromkeys(TABLES["tracks"].names, "DELTA_BINARY_PACKED")
"""How columns are written whose values differ little from row to row."""


class RecordFolder:
    """A folder into which the tables and results of an ego are written.

    Attributes:
        folder: where the files are made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_table(
        self,
        name: str,
        columns: Mapping[str, Sequence[Any] | Any],
        more: Iterable[pa.Field] = (),
        *,
        unknown: Iterable[str] = (),
    ) -> None:
        """Write `<name>.parquet`; every column of its schema must be given, and no other.

        `more` are columns behind those of the schema: metrics, and what is left after sensing.

        Args:
            name: of the schema.
            columns: values by column, all of one length.
            more: columns with their types.
            unknown: columns of the schema that have no values, and are null.

        Raises:
            AttemptError: the disk is full, or cannot be written.
        """
        schema = ALL_TABLES[name]
        for field in more:
            schema = schema.append(field)
        for name_unknown in unknown:
            at = schema.get_field_index(name_unknown)
            schema = schema.set(at, schema.field(at).with_nullable(True))
        if set(columns) != set(schema.names):
            raise ValueError(f"{name}: {sorted(set(columns) ^ set(schema.names))}")
        arrays = [_make_column_array(columns[field.name], field) for field in schema]
        file = self.folder / f"{name}.parquet"
        try:
            pq.write_table(
                pa.Table.from_arrays(arrays, schema=schema),
                file,
                **get_storage_options(name, schema),
            )
        except OSError as problem:
            raise classify_disk_problem(problem, file) from None

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write `<name>.json`: sorted, ASCII, finite numbers only."""
        text = json.dumps(content, sort_keys=True, indent=1, allow_nan=False)
        file = self.folder / f"{name}.json"
        try:
            file.write_text(text + "\n", encoding="ascii")
        except OSError as problem:
            raise classify_disk_problem(problem, file) from None


class EpisodeWriter(RecordFolder):
    """The folder of one try, as long as it is being written.

    A context manager: without `commit_records` nothing is left when it exits.

    Attributes:
        place: the folder of the try once it is committed.
    """

    def __init__(self, campaign: Path, key: AttemptKey, number: int) -> None:
        self.place = campaign / EPISODES / key.path / f"try{number}"
        self._campaign = campaign
        super().__init__(self.place.with_name(f".{self.place.name}.{os.getpid()}"))
        self._egos: list[RecordFolder] = []

    def __enter__(self) -> EpisodeWriter:
        try:
            self._refuse_links()
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            # what a process that was killed has left in the same attempt
            for left in self.folder.parent.glob(".try*"):
                if left.is_symlink():
                    left.unlink()
                else:
                    shutil.rmtree(left)
            self.folder.mkdir()
        except OSError as problem:
            raise classify_disk_problem(problem) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _refuse_links(self) -> None:
        """Refuse to write through a link that lies between the campaign and the try."""
        for folder in self.place.parents:
            if folder == self._campaign:
                return
            if folder.is_symlink():
                raise AttemptError("disk", f"{folder}: {LINK}")

    def open_ego(self, number: int) -> RecordFolder:
        """Return the folder of a further driven ego, which must be as whole as the first one's.

        Args:
            number: of the ego, from 1.

        Raises:
            AttemptError: the disk is full, or cannot be written.
        """
        folder = self.folder / EGOS / str(number)
        try:
            folder.mkdir(parents=True)
        except OSError as problem:
            raise classify_disk_problem(problem, folder) from None
        self._egos.append(RecordFolder(folder))
        return self._egos[-1]

    def commit_records(self) -> Path:
        """Bring everything to the disk, then into its place.

        Returns:
            The folder of the try.

        Raises:
            AttemptError: the disk is full, or cannot be written.
        """
        try:
            # of further egos first; of each its contents, then the folder that lists them
            for written in (*self._egos, self):
                files = sorted(path for path in written.folder.iterdir() if path.name != EGOS)
                if missing := FILES - {file.name for file in files}:
                    raise ValueError(f"not written: {', '.join(sorted(missing))}")
                for path in (*files, written.folder):
                    _sync_to_disk(path)
            if self._egos:
                _sync_to_disk(self.folder / EGOS)
            # the commit; the new names must be on the disk as well
            self.folder.rename(self.place)
            for folder in self.place.parents:
                _sync_to_disk(folder)
                if folder == self._campaign:
                    break
        except OSError as problem:
            raise classify_disk_problem(problem) from None
        return self.place


def get_storage_options(name: str, schema: pa.Schema) -> dict[str, Any]:
    """Return how a table is stored."""
    return {
        "compression": "zstd",
        "row_group_size": 1 << 20,
        # a page ends between batches only, and a sweep has hundreds of kilobytes
        "write_batch_size": 1 if name in ("points", "pictures") else 1024,
        "use_dictionary": [field.name for field in schema if _is_name(field)],
        "column_encoding": DELTAS if name == "tracks" else None,
        "write_statistics": False,
        "write_page_checksum": True,
    }


def classify_disk_problem(problem: OSError, file: Path | None = None) -> AttemptError:
    """Return the failure that a file problem means for an attempt.

    Args:
        problem: what the system reported.
        file: what was written; None if the problem names it.

    Returns:
        A failure of class `disk`.
    """
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return AttemptError("disk", f"{file or problem.filename or 'records'}: {reason}")


def _make_column_array(values: Any, field: pa.Field) -> pa.Array:
    if _is_name(field):
        array = pa.array(values, field.type.value_type).dictionary_encode().cast(field.type)
    else:
        array = pa.array(values, field.type)
    if array.null_count and not field.nullable:
        raise ValueError(f"{field.name}: a value is missing")
    return array


def _is_name(field: pa.Field) -> bool:
    return bool(pa.types.is_dictionary(field.type))


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

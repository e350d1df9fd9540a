"""Reads Parquet from others, if it unpacks to no more than its kind can.

A few kilobytes of Parquet can stand for gigabytes: long texts compress ten thousand times, and a
number that is repeated a billion times is one entry of a run-length encoding. Both are counted from
the footer and the header of every page before anything is unpacked.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.common.parquet_pages import MOST_PAGES, ColumnCost, PageError, measure_chunk_cost
from harness.common.safe_reading import MEGABYTE, PARQUET_TABLE, FileKind, open_regular

MAGIC = b"PAR1"
LONGEST_FOOTER = 2 * MEGABYTE
"""Bytes of a footer: ours have 30 kB."""
MOST_CHUNKS = 100_000
"""Chunks of columns in a file."""
MOST_UNPACKED = 256 * MEGABYTE
"""Bytes of a table in memory: two million boxes, or twenty minutes of 600 road users' tracks."""
PADDED = re.compile(r"parquet-mr(?! version (?:[2-9]|1\.(?:[3-9]|[1-9]\d)))")
"""Writers behind whose chunks Arrow reads on."""
WIDEST = 8
"""Bytes of a number, or of the place of a text."""


class UnfitTableError(ValueError):
    """A Parquet file that would take more memory than it may, or that lies about it."""


@dataclass(frozen=True, slots=True)
class TableLimits:
    """How large a table can be.

    Attributes:
        rows: at most.
        kind: for messages, and how large the file may be.
    """

    unpacked: int = MOST_UNPACKED  # bytes
    rows: int = 20_000_000
    kind: FileKind = PARQUET_TABLE


class OpenTable:
    """A Parquet file that is open, and whose footer and pages are within limits."""

    def __init__(self, opened: BinaryIO, limits: TableLimits) -> None:
        self.limits = limits
        self._opened = opened
        refuse_long_footer(opened)
        self._file = pq.ParquetFile(opened, page_checksum_verification=True)
        self.metadata = self._file.metadata
        refuse_odd_footer(self.metadata)
        self.schema: pa.Schema = self._file.schema_arrow
        self.rows = sum(  # that reading would give, part by part
            self.metadata.row_group(n).num_rows for n in range(self.metadata.num_row_groups)
        )

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return some columns, or all, if they unpack to no more than the limits."""
        texts = self._refuse_large(columns)
        file = self._file
        if texts:  # texts in a dictionary stay in it until it is known what they come to
            self._opened.seek(0)
            file = pq.ParquetFile(
                self._opened,
                metadata=self.metadata,
                read_dictionary=sorted(texts),
                page_checksum_verification=True,
            )
        names = None if columns is None else list(columns)
        table: pa.Table = file.read(columns=names, use_threads=False)
        return decode_table_texts(table, self.schema, self.limits) if texts else table

    def _refuse_large(self, columns: Sequence[str] | None) -> set[str]:
        """Refuse columns that unpack to too much; return those of texts in a dictionary."""
        wanted = None if columns is None else set(columns)
        most = self.limits.unpacked
        left, pages, texts = most, 0, set[str]()
        handle = self._opened.fileno()

        def read(start: int, length: int) -> bytes:
            return os.pread(handle, length, start)

        # every column chunk that would be read
        for number in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(number)
            for index in range(group.num_columns):
                chunk = group.column(index)
                path: str = chunk.path_in_schema
                if wanted is not None and path.partition(".")[0] not in wanted:
                    continue
                if chunk.num_values <= 0:  # no page of it is read
                    continue
                # the footer of a file may lie about sizes: the pages are counted
                cost = measure_chunk_cost(
                    read, find_first_page(chunk), chunk.total_compressed_size, most
                )
                pages += cost.pages
                if pages > MOST_PAGES:
                    raise PageError(f"more than {MOST_PAGES:,} pages")
                # what it takes in memory, out of what is left
                of_texts = chunk.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
                left -= estimate_unpacked_size(cost, of_texts)
                if left < 0 or cost.largest > most:
                    raise UnfitTableError(
                        f"{path}: unpacks to more than {most:,} bytes, which no such table has"
                    )
                # short pages of a dictionary can stand for long texts: those stay in the dictionary
                if of_texts:
                    refuse_repeating(path, cost)
                    if cost.looked_up and not self._in_dictionary(path):
                        texts.add(path)
        return texts

    def _in_dictionary(self, path: str) -> bool:
        """Return whether a column keeps its texts in a dictionary in memory, too."""
        return bool(pa.types.is_dictionary(self.schema.field(path.partition(".")[0]).type))


def find_first_page(chunk: pq.ColumnChunkMetaData) -> int:
    """Return where a chunk's first page begins, as Arrow finds it."""
    first: int = chunk.data_page_offset
    dictionary = chunk.dictionary_page_offset
    return dictionary if dictionary is not None and 0 < dictionary < first else first


def refuse_long_footer(opened: BinaryIO) -> None:
    """Refuse an open file without a footer, or with one longer than footers are."""
    handle = opened.fileno()
    size = os.fstat(handle).st_size
    tail = os.pread(handle, 8, max(size - 8, 0))
    if size < 12 or tail[4:] != MAGIC:
        raise UnfitTableError("not a Parquet file")
    length: int = struct.unpack("<I", tail[:4])[0]
    if length > min(LONGEST_FOOTER, size - 12):
        raise UnfitTableError(f"not Parquet, or with a footer of {length:,} bytes")


def refuse_odd_footer(metadata: pq.FileMetaData) -> None:
    """Refuse a file of more parts than writers make, or whose parts may overlap."""
    if metadata.num_row_groups * metadata.num_columns > MOST_CHUNKS:
        raise UnfitTableError(f"{metadata.num_row_groups:,} row groups")
    if PADDED.match(metadata.created_by or ""):
        raise UnfitTableError("written by a version of parquet-mr that left gaps between pages")


def estimate_unpacked_size(cost: ColumnCost, of_texts: bool) -> int:
    """Return the bytes that a chunk takes in memory, texts in a dictionary once."""
    numbers = WIDEST * cost.values
    return numbers + cost.dictionary_bytes + (cost.page_bytes if of_texts else 0)


def refuse_repeating(path: str, cost: ColumnCost) -> None:
    """Refuse an encoding in which a few bytes stand for any number of long texts."""
    if cost.odd_encoding is not None:
        raise UnfitTableError(f"{path}: texts in encoding {cost.odd_encoding}; write them plain")


def decode_table_texts(
    table: pa.Table, schema: pa.Schema, limits: TableLimits | None = None
) -> pa.Table:
    """Return the table with the types of a schema, if its texts come to no more than the limits.

    Texts in a dictionary take little however often they stand there; written out they do not.

    Args:
        table: as it was read.
        schema: with a type for each of its columns.
        limits: bytes that the texts may come to.
    """
    most = (limits or TableLimits()).unpacked
    left = most
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        wanted = schema.field(name).type
        if column.type != wanted and pa.types.is_dictionary(column.type):
            left -= sum(map(measure_text_size, column.chunks))
            if left < 0:
                raise UnfitTableError(f"{name}: its texts come to more than {most:,} bytes")
        columns.append(column if column.type == wanted else column.cast(wanted))
    fields = [schema.field(name) for name in table.column_names]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def measure_text_size(chunk: pa.DictionaryArray) -> int:
    """Return the bytes that a chunk of texts has when they are written out."""
    lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
    return pc.sum(lengths.take(chunk.indices)).as_py() or 0


@contextmanager
def open_table(
    file: Path | str,
    limits: TableLimits | None = None,
    *,
    within: Path | None = None,
    follow: bool = False,
) -> Iterator[OpenTable]:
    """Open a Parquet file; `within` and `follow` are those of `open_regular`.

    Args:
        file: the table.
        limits: bytes and rows at most.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.

    Returns:
        A context manager with the schema and the number of rows; the table is read on demand.
    """
    limits = limits or TableLimits()
    with open_regular(file, limits.kind, within=within, follow=follow) as opened:
        yield OpenTable(opened, limits)


def count_table_rows(file: Path | str, *, within: Path | None = None) -> int:
    """Return how many rows a Parquet file has, by its footer.

    Args:
        file: Parquet.
        within: folder that the user named; links below it are refused.
    """
    with open_table(file, within=within) as table:
        rows: int = table.rows
    return rows


def read_parquet_within(
    file: Path | str,
    limits: TableLimits | None = None,
    *,
    within: Path | None = None,
    follow: bool = False,
) -> pa.Table:
    """Return the table in a Parquet file; ValueError or ArrowException if it is none or large.

    Args:
        file: the table.
        limits: bytes and rows at most.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.
    """
    with open_table(file, limits, within=within, follow=follow) as table:
        if not 0 <= table.rows <= table.limits.rows:
            raise UnfitTableError(f"{table.rows:,} rows; {table.limits.rows:,} at most")
        return table.read()

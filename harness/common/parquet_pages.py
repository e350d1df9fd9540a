"""What a Parquet file would take in memory, from its page headers: before anything is unpacked.

A footer may lie: what a reader allocates stands in the header of each page. Headers are records in
Thrift's compact protocol, of which only the few needed numbers are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

INDEX, DICTIONARY = 1, 2
"""Types of pages that are not data."""
DATA_V2 = 3
PLAIN_DICTIONARY, RLE_DICTIONARY = 2, 8
BOUNDED = frozenset({0, PLAIN_DICTIONARY, 3, 4, 5, 6, RLE_DICTIONARY, 9})
"""Encodings in which a text takes no more memory than its page, or stands in a dictionary.

The one that is left out, DELTA_BYTE_ARRAY, repeats the beginning of the text before.
"""
HEADER, LONGEST_HEADER = 1 << 8, 1 << 20
"""Bytes that are read for a page header at first, and at most."""
DEEPEST = 16
"""Levels of nested records in a header."""
MOST_PAGES = 100_000
"""Pages of a file: writers begin one for each megabyte of a column."""
LARGEST = 2**31 - 1
"""Numbers in a header have 32 bits; readers cut off what goes beyond."""
NUMBER, RECORD = 5, 12
"""Types of fields."""


class PageError(ValueError):
    """A header that no writer of Parquet writes."""


@dataclass(slots=True, kw_only=True)
class ColumnCost:
    """What a column chunk unpacks to."""

    values: int = 0
    page_bytes: int = 0  # of all data pages, unpacked
    largest: int = 0  # page
    dictionary_bytes: int = 0
    looked_up: int = 0  # values that stand for an entry of the dictionary
    odd_encoding: int | None = None
    pages: int = 0


class Compact:
    """A place in bytes of Thrift's compact protocol."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def varint(self) -> int:
        """Read an unsigned number."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 70:
                raise PageError("a number without an end")

    def number(self) -> int:
        """Read a signed number."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def field(self, before: int) -> tuple[int, int]:
        """Read which field comes next, and its type; type 0 ends a record."""
        byte = self.data[self.at]
        self.at += 1
        kind = byte & 0x0F
        if kind == 0:
            return 0, 0
        return (before + (byte >> 4) if byte >> 4 else self.number()), kind

    def begin_list(self) -> tuple[int, int]:
        """Read how many elements a list has, and their type."""
        byte = self.data[self.at]
        self.at += 1
        size = byte >> 4
        return (self.varint() if size == 15 else size), byte & 0x0F

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value."""
        if depth > DEEPEST:
            raise PageError("records nested too deeply")
        # types of Thrift's compact protocol: truth values
        if kind in (1, 2):  # a truth value is its type
            return
        # a byte
        if kind == 3:
            self.at += 1
        # whole numbers
        elif kind in (4, 5, 6):
            self.varint()
        # a float
        elif kind == 7:
            self.at += 8
        # bytes or a text
        elif kind == 8:
            size = self.varint()
            self.at += size
        # lists and sets
        elif kind in (9, 10):
            self.skip_list(depth)
        # a record: its fields up to the empty one
        elif kind == 12:
            before = 0
            while True:
                before, inner = self.field(before)
                if inner == 0:
                    return
                self.skip(inner, depth + 1)
        else:
            raise PageError(f"type {kind} of a field")

    def skip_list(self, depth: int) -> None:
        """Pass over a list."""
        size, kind = self.begin_list()
        for _ in range(size):
            if self.at >= len(self.data):
                raise PageError("a list longer than its file")
            if kind in (1, 2):
                self.at += 1
            else:
                self.skip(kind, depth + 1)


@dataclass(slots=True, kw_only=True)
class PageHeader:
    """What is needed of the header of a page."""

    kind: int = -1
    unpacked: int = -1  # bytes
    stored: int = -1  # bytes
    values: int = 0
    encoding: int = 0
    size: int = 0  # bytes of the header


OF_KIND = {0: 5, DICTIONARY: 7, DATA_V2: 8}
"""The field in which a kind of page has its record."""


VARINT = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
UNREAD = rb"\x15[\x80-\xff]{0,4}[\x00-\x7f]"
USUAL = re.compile(
    rb"(?:\x15\x00\x15%b\x15%b(?:%b\x1c|\x2c)\x15%b\x15%b%b%b(?:\x1c\x00)?\x00\x00)"
    % (VARINT, VARINT, UNREAD, VARINT, VARINT, UNREAD, UNREAD)
)
"""The header of a page of data as most writers write it: the same numbers, read faster."""


def match_usual_header(data: bytes) -> PageHeader | None:
    """Return the header that bytes begin with, if it has the usual fields and no others."""
    header = USUAL.match(data)
    if header is None:
        return None
    unpacked, stored, values, encoding = map(decode_signed_varint, header.groups())
    if min(unpacked, stored, values) < 0 or max(unpacked, stored, values) > LARGEST:
        return None
    return PageHeader(
        kind=0,
        unpacked=unpacked,
        stored=stored,
        values=values,
        encoding=encoding,
        size=header.end(),
    )


def decode_signed_varint(varint: bytes) -> int:
    """Return the signed number that a varint of a few bytes stands for."""
    value = 0
    for byte in reversed(varint):
        value = value << 7 | byte & 0x7F
    return (value >> 1) ^ -(value & 1)


def parse_page_header(data: bytes) -> PageHeader:
    """Return the page header that bytes begin with; IndexError if it goes on behind them."""
    at = Compact(data)
    page = PageHeader()
    records: dict[int, tuple[int, int]] = {}
    field = 0
    # fields of Thrift's compact protocol, by the numbers of parquet.thrift
    while True:
        field, kind = at.field(field)
        if kind == 0:
            break
        # 1 to 3: type of the page, bytes unpacked, bytes in the file
        if kind == NUMBER and field == 1:
            page.kind = at.number()
        elif kind == NUMBER and field == 2:
            page.unpacked = at.number()
        elif kind == NUMBER and field == 3:
            page.stored = at.number()
        # 5, 7, 8: headers of data pages, dictionary pages, data pages of version 2
        elif kind == RECORD and field in (5, 7, 8):
            records[field] = parse_page_values(at, 4 if field == 8 else 2)
        else:
            at.skip(kind)
    if at.at > len(data):
        raise IndexError
    # values and encoding are in the record of the page's type
    page.size = at.at
    page.values, page.encoding = records.get(OF_KIND.get(page.kind, 0), (0, 0))
    # a negative or enormous number is no real page
    numbers = (page.kind, page.unpacked, page.stored, page.values)
    if min(numbers) < 0 or max(numbers) > LARGEST:
        raise PageError("a page header without its numbers")
    return page


def parse_page_values(at: Compact, encoding: int) -> tuple[int, int]:
    """Return how many values a page has, and in which encoding: the field of that number."""
    values = encoding_id = field = 0
    while True:
        field, kind = at.field(field)
        if kind == 0:
            return values, encoding_id
        if kind == NUMBER and field == 1:
            values = at.number()
        elif kind == NUMBER and field == encoding:
            encoding_id = at.number()
        else:
            at.skip(kind)


def measure_chunk_cost(
    read: Callable[[int, int], bytes], start: int, size: int, most: int
) -> ColumnCost:
    """Return what the pages of a column chunk come to, until that is more than so many values.

    Args:
        read: bytes of the file, from a place on, so many.
        start: where the first page begins.
        size: bytes of the chunk in the file.
        most: values, or bytes, at which a chunk is too large anyway.
    """
    cost = ColumnCost()
    end = start + size
    while start < end:
        # headers only: nothing is unpacked
        page = read_page_header(read, start)
        cost.pages += 1
        if cost.pages > MOST_PAGES:
            raise PageError(f"more than {MOST_PAGES:,} pages")
        cost.largest = max(cost.largest, page.unpacked)
        # a value of a dictionary may be long, and is looked up many times
        if page.kind == DICTIONARY:
            cost.dictionary_bytes += page.unpacked
        elif page.kind != INDEX:
            cost.values += page.values
            cost.page_bytes += page.unpacked
            if page.encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
                cost.looked_up += page.values
            elif page.encoding not in BOUNDED:
                cost.odd_encoding = page.encoding
        if max(cost.values, cost.page_bytes, cost.dictionary_bytes) > most:
            break
        start += page.size + page.stored
    return cost


def read_page_header(read: Callable[[int, int], bytes], start: int) -> PageHeader:
    """Return the header of the page at a place."""
    length = HEADER
    while True:
        data = read(start, length)
        if (usual := match_usual_header(data)) is not None:
            return usual
        try:
            return parse_page_header(data)
        except IndexError:
            if len(data) < length or length >= LONGEST_HEADER:
                raise PageError("a page header without an end") from None
            length = LONGEST_HEADER

"""Files that are small on the disk, or in one place, and large once they are read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Bomb = Callable[[Path, Path], object]
"""Writes a file, given where the real one is kept."""
LONG = 300_000_000
"""Characters of a text, values of a list in bytes: more than any table but `points` may unpack."""


def text_of(content: Callable[[], str]) -> Bomb:
    """Return a bomb that is a text."""
    return lambda file, _: file.write_text(content())


def extended(with_text: Callable[[dict[str, object]], object]) -> Bomb:
    """Return a bomb that is the real JSON with something added."""

    def write(file: Path, kept: Path) -> None:
        record = json.loads(kept.read_text())
        with_text(record)
        file.write_text(json.dumps(record))

    return write


def lines_of(line: str, count: int) -> Bomb:
    """Return a bomb of equal lines behind the real ones."""
    return lambda file, kept: file.write_text(kept.read_text() + line * count)


JSON: dict[str, Bomb] = {
    "nested brackets": text_of(lambda: '{"a": ' + "[" * 1_000_000),
    "many empty lists": text_of(lambda: '{"a": [' + "[]," * 1_300_000 + "[]]}"),
    "a long number": text_of(lambda: '{"a": ' + "9" * 1_000_000 + "}"),
    "a long text": extended(lambda record: record.update(more="x" * 4_000_000)),
    "numbers that are infinite": extended(
        lambda record: record.update(dict.fromkeys(record, float("inf")))
    ),
    "lists instead of values": extended(
        lambda record: record.update({name: [] for name in record})
    ),
    "not UTF-8": lambda file, _: file.write_bytes(b"\xff\xfe\xff" * 1000),
}
YAML: dict[str, Bomb] = {
    "nested brackets": text_of(lambda: "a: " + "[" * 100_000),
    "aliases of aliases": text_of(
        lambda: (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 30))
        )
    ),
    "many seeds": lambda file, kept: file.write_text(
        kept.read_text().replace("  seeds:\n", f"  seeds: {list(range(80_000))}\n  before:\n")
    ),
    "a long text": text_of(lambda: "a: " + "x" * 900_000),
    "not UTF-8": lambda file, _: file.write_bytes(b"\xff\xfe\xff" * 1000),
}
XML: dict[str, Bomb] = {
    "nested elements": text_of(lambda: "<a>" * 100_000),
    "many elements": text_of(lambda: f"<routes>{'<a/>' * 1_100_000}</routes>"),
    "laughs": text_of(
        lambda: '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>'
    ),
    "not UTF-8": lambda file, _: file.write_bytes(b"\xff\xfe\xff" * 1000),
}


def rewritten(change: Callable[[pa.Table], pa.Table], **how: object) -> Bomb:
    """Return a bomb that is the real table, changed."""

    def write(file: Path, kept: Path) -> None:
        table = change(pq.read_table(kept))
        pq.write_table(table, file, **{"compression": "zstd", "write_statistics": False, **how})

    return write


def with_long_text(table: pa.Table) -> pa.Table:
    """Return a table whose first text is very long."""
    for number, field in enumerate(table.schema):
        dictionary = pa.types.is_dictionary(field.type)
        kind = field.type.value_type if dictionary else field.type
        if pa.types.is_string(kind) and len(table):
            texts = pa.array(["x" * LONG] + ["x"] * (len(table) - 1))
            column = texts.dictionary_encode().cast(field.type) if dictionary else texts
            return table.set_column(number, field, column)
    return table


def with_long_list(table: pa.Table) -> pa.Table:
    """Return a table whose last column of lists holds very many equal numbers."""
    for number, field in reversed(list(enumerate(table.schema))):
        if pa.types.is_list(field.type):
            values = pa.array(np.zeros(LONG // 8), pa.float64()).cast(field.type.value_type)
            offsets = pa.array([0] * len(table) + [len(values)], pa.int32())
            return table.set_column(number, field, pa.ListArray.from_arrays(offsets, values))
    return table


def with_many_rows(table: pa.Table) -> pa.Table:
    """Return the first row of a table, very often."""
    if not len(table) or any(pa.types.is_list(field.type) for field in table.schema):
        return table
    rows = pa.array(np.zeros(2_100_000, np.int64))
    return table.combine_chunks().slice(0, 1).take(rows)


def with_repeated_text(table: pa.Table) -> pa.Table:
    """Return a table with a long text in every one of many rows."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and len(table):
            indices = pa.array(np.zeros(len(table), np.int32))
            column = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 100_000_000]))
            return table.set_column(number, field.with_type(column.type), column)
    return table


def cut(file: Path, kept: Path) -> None:
    """Write the first half of a file."""
    content = kept.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def without_order(file: Path, kept: Path) -> None:
    """Write a file in which some bytes in the middle are others."""
    content = bytearray(kept.read_bytes())
    for at in range(len(content) // 3, len(content) // 3 + 64):
        content[at % len(content)] ^= 0x5A
    file.write_bytes(content)


PARQUET: dict[str, Bomb] = {
    "a long text": rewritten(with_long_text),
    "a long text, plain": rewritten(with_long_text, use_dictionary=False),
    "a long list": rewritten(with_long_list),
    "many rows": rewritten(with_many_rows),
    "a text for many rows": rewritten(with_repeated_text),
}
NPY: dict[str, Bomb] = {
    "a shape that lies": lambda file, _: file.write_bytes(npy_header("(1000000000000, 4)")),
    "objects": lambda file, _: np.save(
        file.open("wb"), np.array([{"a": 1}], dtype=object), allow_pickle=True
    ),
    "nested brackets": lambda file, _: file.write_bytes(npy_header("(" * 5000)),
}


def npy_header(shape: str) -> bytes:
    """Return the beginning of a `.npy` file."""
    text = f"{{'descr': '<i2', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def deflated(name: str) -> Bomb:
    """Return a bomb that is a ZIP file with one entry of zeros."""

    def write(file: Path, _: Path) -> None:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
            made.open(name, "w") as entry,
        ):
            entry.write(npy_header("(1000000000,)"))
            for _piece in range(1100):
                entry.write(bytes(1_000_000))

    return write


def of_a_million_entries(file: Path, _: Path) -> None:
    """Write a ZIP file of many entries."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for number in range(20_000):
            made.writestr(f"arr_{number}.npy", b"")
    file.write_bytes(content.getvalue())


CHANGED: dict[str, Bomb] = {"cut": cut, "changed bytes": without_order}
LEDGER: dict[str, Bomb] = {
    "one endless line": lambda file, _: file.write_text("x" * 50_000_000),
    "many lines": lambda file, kept: lines_of(kept.read_text().splitlines()[0] + "\n", 600_000)(
        file, kept
    ),
    "nested brackets": lambda file, _: file.write_text("[" * 900_000 + "\n"),
}
ZIP: dict[str, Bomb] = {
    "deflated zeros": deflated("archive/data.pkl"),
    "many entries": of_a_million_entries,
}
WEIGHTS: dict[str, Bomb] = {
    "a long header": lambda file, _: file.write_bytes((2**40).to_bytes(8, "little")),
    "nested brackets": lambda file, _: file.write_bytes(
        (500_000).to_bytes(8, "little") + b"[" * 500_000
    ),
}
BOMBS = {
    "json": JSON,
    "yaml": YAML,
    "xml": XML,
    "parquet": PARQUET,
    "npy": NPY,
    "zip": ZIP,
    "ledger": LEDGER,
    "weights": WEIGHTS,
    "csv": {"one endless line": lambda file, _: file.write_text("x," * 5_000_000)},
}


def bombs_for(kind: str) -> dict[str, Bomb]:
    """Return the bombs of a kind of file by name."""
    return {**BOMBS[kind], **CHANGED}

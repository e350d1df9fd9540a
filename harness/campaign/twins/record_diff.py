"""Whether two attempts left the same records, and if not, where they differ first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.safe_reading import sum_of_file
from harness.records.reading import list_ego_numbers, read_json_object, read_stored_table
from harness.records.schema import ALL_TABLES, TABLES
from harness.records.writing import EGOS, FILES

IF_ASKED_FOR = [f"{name}.parquet" for name in ALL_TABLES if name not in TABLES]
"""Files that a try has only where its campaign keeps them."""


def list_record_differences(one: Path, other: Path) -> list[str]:
    """Return what differs between the records of two tries, a line for each file.

    Args:
        one: folder of a try.
        other: folder of another try.

    Returns:
        Empty if both are equal byte for byte, timing left out.
    """
    egos = sorted({number for place in (one, other) for number in list_ego_numbers(place)})
    inner = [f"{EGOS}/{number}" for number in egos]
    return [
        *list_folder_differences(one, other),
        *(
            f"{folder}/{line}"
            for folder in inner
            for line in list_folder_differences(one / folder, other / folder)
        ),
    ]


def list_folder_differences(one: Path, other: Path) -> list[str]:
    """Return what differs between the records of one ego in two tries, a line for each file.

    Args:
        one: folder of the ego in one try.
        other: the same in the other try.
    """
    diffs = []
    for name in sorted({*FILES, *IF_ASKED_FOR}):
        lacking = [place for place in (one, other) if not os.path.lexists(place / name)]
        if len(lacking) == 1:
            diffs.append(f"{name}: not in {lacking[0]}")
        elif not lacking and sum_of_file(one / name) != sum_of_file(other / name):
            stem, _, kind = name.partition(".")
            differ = compare_table_rows if kind == "parquet" else compare_json_entries
            diffs.append(f"{name}: {differ(one, other, stem)}")
    return diffs


def compare_table_rows(one: Path, other: Path, name: str) -> str:
    """Return the first row and the columns in which two tables differ."""
    first, second = (read_stored_table(place / f"{name}.parquet", name) for place in (one, other))
    rows = min(len(first), len(second))
    differing = {
        column: np.flatnonzero(
            ~compare_columns(first[column].to_numpy()[:rows], second[column].to_numpy()[:rows])
        )
        for column in map(str, first.columns.intersection(second.columns))
    }
    earliest = min((int(at[0]) for at in differing.values() if len(at)), default=None)
    if earliest is None:
        return f"{len(first)} rows and {len(second)}, alike as far as both go"
    columns = [column for column, at in differing.items() if len(at) and at[0] == earliest]
    return f"from row {earliest} on, there in {', '.join(columns)}"


def compare_columns(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return where two columns are equal; NaN equals NaN.

    Args:
        one: (rows,)
        other: (rows,)

    Returns:
        (rows,) true where equal.
    """
    same: np.ndarray = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124
    return same


def compare_json_entries(one: Path, other: Path, name: str) -> str:
    """Return the first entries in which two files differ."""
    first, second = (
        dict(iter_record_leaves(read_json_object(place / f"{name}.json"))) for place in (one, other)
    )
    names = sorted(first.keys() | second.keys())
    differing = [name for name in names if first.get(name) != second.get(name)]
    return ", ".join(differing[:3]) + (
        f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    )


def iter_record_leaves(record: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every entry of a nested record, as text.

    Args:
        record: of JSON: mappings in mappings; lists are leaves.
        name: of the record itself, before a dot.

    Returns:
        Names with dots, and values as JSON.
    """
    if isinstance(record, dict):
        for key, inner in record.items():
            yield from iter_record_leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, json.dumps(record)

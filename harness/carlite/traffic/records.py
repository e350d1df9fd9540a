"""Arrays of records, typed: compiled loops read `rows[i].speed`, other code `rows["speed"]`.

A structured array is one argument to a compiled function where its columns would be fifty, which
is the difference between seconds and a minute of compilation. A record's class lists its fields
with their types; `make_record_dtype` turns the class into the dtype.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Int32s

Row_co = TypeVar("Row_co", covariant=True)
SIZES: dict[object, type] = {float: np.float64, int: np.int64, bool: np.bool_, np.uint64: np.uint64}


class RecordRows(Protocol[Row_co]):
    """A structured array whose records are `Row_co`s, as compiled loops see it."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row_co: ...


def as_columns(rows: RecordRows[Any]) -> NDArray[np.void]:
    """Return the same array as code that is not compiled sees it."""
    return np.asarray(rows)


def make_record_dtype(row: type, **lengths: int) -> np.dtype[Any]:
    """Return the dtype of a record class; fields that are arrays have the lengths given."""
    fields: list[Any] = []
    for name, kind in get_type_hints(row).items():
        if name in lengths:
            item = np.int32 if kind == Int32s else np.float64
            fields.append((name, item, (lengths[name],)))
        else:
            fields.append((name, SIZES[kind]))
    return np.dtype(fields, align=True)

"""What was driven twice in a study, and whether it came out the same: a table in Markdown.

python studies/published/repeats.py studies/published/parts/*.parquet

An attempt repeats one of an earlier file if town, arm, route and seed are equal. The town is in
the campaign's name, PART-TOWN-REST. All later drives are compared with the first. Those of
`fine-TOWN-0` perceive more often, and repeat nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow.parquet as pq

Attempt: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str, str, int]

HEAD = ("file", "drives again of", "drives", "records equal", "results equal", "steps equal")
DIGEST = "sha256"
FINE = "fine"
STEPS = "frame"
"""The first of the columns of planning steps; all behind it are of steps as well."""


def main(files: Sequence[Path]) -> None:
    """Print a line for each file that repeats attempts of another: how many, and what is equal."""
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|")
    for file, earlier, equal in repeats(files):
        counts = (equal[name] for name in ("drives", "records", "results", "steps"))
        print(f"| `{file.name}` | `{earlier.name}` | " + " | ".join(map(str, counts)) + " |")


def repeats(files: Iterable[Path]) -> Iterator[tuple[Path, Path, Counter[str]]]:
    """Yield a file, an earlier one with the same attempts, and how many of these are equal."""
    first: dict[Key, tuple[Path, Attempt]] = {}
    for file in files:
        counts: dict[Path, Counter[str]] = {}
        for key, attempt in attempts(file):
            earlier, before = first.setdefault(key, (file, attempt))
            if earlier != file:
                counts.setdefault(earlier, Counter()).update(compared(attempt, before))
        yield from ((file, earlier, equal) for earlier, equal in counts.items())


def attempts(file: Path) -> Iterator[tuple[Key, Attempt]]:
    """Yield the attempts of a packed file, in its order."""
    for row in pq.read_table(file).to_pylist():
        if row["kind"] == "attempt":
            part, town = row["campaign"].split("-")[:2]
            if part == FINE:
                continue
            yield (town, row["arm"], row["route"], row["seed"]), row


def compared(attempt: Attempt, before: Attempt) -> Counter[str]:
    """Count one drive, and each of its parts that is equal: record, result, all steps."""
    return Counter(
        drives=1,
        records=int(attempt[DIGEST] == before[DIGEST]),
        results=int(attempt["text"] == before["text"]),
        steps=int(all(same(attempt[name], before[name]) for name in steps_of(attempt))),
    )


def steps_of(attempt: Attempt) -> list[str]:
    """Return the names of the columns that have a value for each planning step."""
    names = list(attempt)
    return names[names.index(STEPS) :]


def same(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two lists are equal; what is missing equals what is missing."""
    return np.array_equal(np.array(a, dtype=float), np.array(b, dtype=float), equal_nan=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python studies/published/repeats.py FILE ...")
    main([Path(name) for name in sys.argv[1:]])

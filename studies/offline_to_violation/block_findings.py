"""What the routes of a study came to, as the analysis reads it, and as small files.

Recordings and drives of a route have some hundred megabytes. What the analysis reads of them has a
few kilobytes. Packed routes are not computed again, so a study can go on at another machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.parquet_reading import read_parquet_within
from harness.common.safe_reading import JSON_RECORD, read_json_within
from harness.records.arms import NONE
from harness.types.record_names import PATTERNS
from studies.offline_to_violation.findings import list_offline_findings
from studies.offline_to_violation.plan import CONDITIONS, BlockRoute, OfflinePlan

BLOCKS_FILE = "routes.json"
NOT_CLEAN = "perfect perception has a violation there"
NO_SCENES = "no roadside unit is near at any step"
LEFT_OUT_FOR_GOOD = (NOT_CLEAN, NO_SCENES)
"""Why a route is never whole. For other reasons it is not whole yet."""
_PATTERN_COLUMNS = [f.column for f in list_offline_findings() if f.kind == "pattern"]
PACKED_SCHEMAS = {
    "patterns": pa.schema(
        [
            *(pa.field(name, pa.string()) for name in ("route", "system", "scene")),
            *(pa.field(name, pa.int64()) for name in (*_PATTERN_COLUMNS, "road users")),
            pa.field("AP", pa.float64()),
        ]
    ),
    "measures": pa.schema(
        [
            *(pa.field(name, pa.string()) for name in ("route", "system", "operator", "relation")),
            *(pa.field(name, pa.int64()) for name in ("exposed", "breaches")),
        ]
    ),
    "outcomes": pa.schema(
        [
            *(pa.field(name, pa.string()) for name in ("route", "system", "condition", "repair")),
            pa.field("violated", pa.bool_()),
            pa.field("again", pa.bool_()),
        ]
    ),
}
"""Tables of packed routes. `again`: driven next to the repairs, not before them."""

READING_PROBLEMS = (OSError, ValueError, RecursionError, KeyError, TypeError, pa.ArrowException)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BlockFindings:
    """What a route came to.

    Attributes:
        route: which one.
        problem: why the route is not whole; empty if it is.
        reveal: time of its first hazard, s; NaN if it has none, or the route is not whole.
        patterns: a row for each scene and system.
        measures: a row for each scene, system, operator and relation.
        outcomes: a row for each drive, see `PACKED_SCHEMAS`.
    """

    route: BlockRoute
    problem: str
    reveal: float
    patterns: pd.DataFrame
    measures: pd.DataFrame
    outcomes: pd.DataFrame

    @property
    def is_final(self) -> bool:
        """Return whether the route is whole, or will never be."""
        return not self.problem or self.problem in LEFT_OUT_FOR_GOOD

    def select_drives(self) -> pd.DataFrame:
        """Return the drives without a repair."""
        return drop_labels(self.outcomes[~self.outcomes["again"].astype(bool)])

    def select_repairs(self, plan: OfflinePlan) -> pd.DataFrame:
        """Return the drives with a repair; nothing unless all of them are there."""
        table = self._select_again()
        needed = len(plan.systems) * len(CONDITIONS) * (len(PATTERNS) + 1)
        whole = table if len(table) == needed else table.iloc[:0]
        return whole[whole["repair"] != NONE].drop(columns="again").reset_index(drop=True)

    def count_unequal_repeats(self) -> int:
        """Return how many drives without a repair ended otherwise among the repairs."""
        again = self._select_again()
        again = drop_labels(again[again["repair"] == NONE])
        keys = ["route", "system", "condition"]
        both = self.select_drives().merge(again, on=keys, suffixes=("_first", "_again"))
        return int((both["violated_first"] != both["violated_again"]).sum())

    def _select_again(self) -> pd.DataFrame:
        return self.outcomes[self.outcomes["again"].astype(bool)]


def drop_labels(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return outcomes of drives without a repair."""
    return outcomes.drop(columns=["repair", "again"]).reset_index(drop=True)


def make_empty_table(name: str) -> pd.DataFrame:
    """Return a table of `PACKED_SCHEMAS` without a row."""
    empty: pd.DataFrame = PACKED_SCHEMAS[name].empty_table().to_pandas()
    return empty


def pack_findings(plan: OfflinePlan, findings: Iterable[BlockFindings], folder: Path) -> None:
    """Write what routes came to, in the order of their names; unfinished routes are not.

    Args:
        plan: of the study, which the folder keeps.
        findings: of the routes that were started.
        folder: for `plan.json`, `routes.json` and the tables; earlier ones are replaced.
    """
    plan.write_or_compare(folder)
    final = [block for block in findings if block.is_final]
    ordered = sorted(final, key=lambda block: block.route.name)
    for name, schema in PACKED_SCHEMAS.items():
        parts = [getattr(block, name) for block in ordered] or [make_empty_table(name)]
        rows = pd.concat(parts, ignore_index=True)
        table = pa.Table.from_pandas(rows[schema.names], schema, preserve_index=False)
        write = partial(pq.write_table, table.replace_schema_metadata(None), compression="zstd")
        write_whole(folder / f"{name}.parquet", write)
    # last: routes without their tables are none
    routes = [
        {
            **asdict(block.route),
            "problem": block.problem,
            "reveal": None if pd.isna(block.reveal) else block.reveal,
        }
        for block in ordered
    ]
    write_whole(folder / BLOCKS_FILE, json.dumps(routes, indent=1) + "\n")


def unpack_findings(folder: Path) -> dict[str, BlockFindings]:
    """Return what packed routes came to, by the name of the route.

    Raises:
        UserError: the folder holds no packed routes.
    """
    file = folder / BLOCKS_FILE
    try:
        routes = parse_packed_routes(read_json_within(file, JSON_RECORD))
        tables = {
            name: read_parquet_within(folder / f"{name}.parquet", follow=True)
            .select(schema.names)
            .cast(schema)
            .to_pandas()
            for name, schema in PACKED_SCHEMAS.items()
        }
    except READING_PROBLEMS as problem:
        raise UserError(f"{folder}: no packed routes of `crucible offline` ({problem})") from None
    return {
        route.name: BlockFindings(
            route=route,
            problem=problem,
            reveal=reveal,
            **{name: rows[rows["route"] == route.name] for name, rows in tables.items()},
        )
        for route, problem, reveal in routes
    }


def parse_packed_routes(entries: Any) -> list[tuple[BlockRoute, str, float]]:
    """Return the routes of `routes.json`, why they are not whole, and their reveal times.

    Raises:
        TypeError, KeyError, ValueError: these are no routes.
    """
    if not isinstance(entries, list):
        raise TypeError("not a list of routes")
    return [
        (
            BlockRoute(group=str(entry["group"]), route=str(entry["route"])),
            str(entry["problem"]),
            float("nan") if entry["reveal"] is None else float(entry["reveal"]),
        )
        for entry in entries
    ]

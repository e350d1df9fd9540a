"""Packed routes: what was packed is what is read; repairs can be added; other files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.common.errors import UserError
from harness.types.record_names import PATTERNS
from studies.offline_to_violation.block_findings import (
    BLOCKS_FILE,
    NOT_CLEAN,
    PACKED_SCHEMAS,
    BlockFindings,
    make_empty_table,
    pack_findings,
    unpack_findings,
)
from studies.offline_to_violation.blocks import read_all_findings
from studies.offline_to_violation.plan import BlockRoute, OfflinePlan

PLAN = OfflinePlan(
    routes=(), systems=("late", "early"), operators=("rain",), scenes=2, seed=1, settings=()
)


def make_findings(number: int) -> BlockFindings:
    """Return made-up findings of a route that is whole, without repairs."""
    route = BlockRoute(group="town05", route=str(number))
    samples = np.random.default_rng(number)
    where = {"route": route.name, "system": ["late", "early"] * 2}
    patterns = pd.DataFrame({**where, "scene": ["a", "a", "b", "b"]})
    for field in list(PACKED_SCHEMAS["patterns"])[3:]:
        patterns[field.name] = samples.integers(0, 9, 4)
    measures = pd.DataFrame({**where, "operator": "rain", "relation": "kept"})
    measures[["exposed", "breaches"]] = samples.integers(0, 9, (4, 2))
    outcomes = pd.DataFrame({**where, "condition": ["none", "none", "latency", "latency"]})
    outcomes = outcomes.assign(repair="none", violated=samples.random(4) < 0.5, again=False)
    return BlockFindings(
        route=route,
        problem="",
        reveal=float(samples.random()),
        patterns=patterns,
        measures=measures,
        outcomes=outcomes,
    )


def make_left_out(number: int) -> BlockFindings:
    """Return a route that is left out."""
    tables = {name: make_empty_table(name) for name in PACKED_SCHEMAS}
    route = BlockRoute(group="crucible05", route=str(number))
    return BlockFindings(route=route, problem=NOT_CLEAN, reveal=float("nan"), **tables)


def test_what_was_packed_is_read(tmp_path: Path) -> None:
    packed = [make_findings(2), make_left_out(1), make_findings(10)]
    pack_findings(PLAN, packed, tmp_path)
    read = unpack_findings(tmp_path)
    assert set(read) == {"town05-2", "town05-10", "crucible05-1"}
    for block in packed:
        same = read[block.route.name]
        assert (same.route, same.problem) == (block.route, block.problem)
        assert np.array_equal(same.reveal, block.reveal, equal_nan=True)
        for name, schema in PACKED_SCHEMAS.items():
            expected = getattr(block, name)[schema.names].reset_index(drop=True)
            pd.testing.assert_frame_equal(
                getattr(same, name).reset_index(drop=True), expected, check_dtype=False
            )
    # packed once more: the same bytes
    pack_findings(PLAN, read.values(), tmp_path / "again")
    for file in tmp_path.glob("*.*"):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_route_that_is_not_whole_yet_is_not_packed(tmp_path: Path) -> None:
    started = replace(make_left_out(5), problem="drives without a repair are missing")
    pack_findings(PLAN, [make_findings(1), started], tmp_path)
    assert set(unpack_findings(tmp_path)) == {"town05-1"}


def test_another_plan_does_not_fit(tmp_path: Path) -> None:
    pack_findings(PLAN, [make_findings(1)], tmp_path)
    with pytest.raises(UserError, match="has other seed"):
        pack_findings(replace(PLAN, seed=2), [make_findings(1)], tmp_path)


def test_repairs_count_when_all_are_there() -> None:
    block = make_findings(3)
    drives = block.select_drives()
    parts = [drives.assign(repair=name, again=True) for name in ("none", *PATTERNS)]
    repaired = replace(block, outcomes=pd.concat([block.outcomes, *parts], ignore_index=True))
    assert block.select_repairs(PLAN).empty
    assert len(repaired.select_repairs(PLAN)) == len(drives) * len(PATTERNS)
    assert repaired.count_unequal_repeats() == 0
    assert len(repaired.select_drives()) == len(drives)
    # one is missing; one ended otherwise
    fewer = replace(repaired, outcomes=repaired.outcomes.iloc[:-1])
    assert fewer.select_repairs(PLAN).empty
    flipped = repaired.outcomes.copy()
    first = flipped.index[flipped["again"].astype(bool)][0]
    flipped.loc[first, "violated"] = not flipped.loc[first, "violated"]
    assert replace(repaired, outcomes=flipped).count_unequal_repeats() == 1


def test_packed_routes_are_of_the_study_without_a_folder(tmp_path: Path) -> None:
    packed = {"town05-4": make_findings(4), "crucible05-1": make_left_out(1)}
    read = read_all_findings(PLAN, tmp_path / "none", packed)
    assert [block.route.name for block in read] == ["crucible05-1", "town05-4"]
    pd.testing.assert_frame_equal(read[1].select_drives(), packed["town05-4"].select_drives())


@pytest.mark.parametrize(
    "content", ["", "[", "{}", "[1]", json.dumps([{"group": "a", "route": "b"}]), "[" * 100_000]
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: str) -> None:
    pack_findings(PLAN, [make_findings(1)], tmp_path)
    (tmp_path / BLOCKS_FILE).write_text(content)
    with pytest.raises(UserError, match="no packed routes") as refused:
        unpack_findings(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_broken_table_is_refused(tmp_path: Path) -> None:
    pack_findings(PLAN, [make_findings(1)], tmp_path)
    file = tmp_path / "measures.parquet"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(UserError, match="no packed routes"):
        unpack_findings(tmp_path)

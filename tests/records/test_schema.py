"""The tables' descriptions: complete, on the page, in the judge's own words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.evaluation import frame_evaluation as frames
from harness.records.schema import FRAMES, SOURCES, TABLES
from harness.records.writing import FILES
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Boxes, GroundTruth

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "records.md").read_text()
COUNTED = re.compile(rf"({'|'.join((*PATTERNS, *SOURCES))})(_.*)?")


def test_every_count_the_judge_makes_has_a_column() -> None:
    none = np.zeros(0, np.int64)
    judged = frames.evaluate_frame(
        GroundTruth(Boxes.none(), none, none),
        none,
        ego_alone=Boxes.none(),
        cooperative=Boxes.none(),
        settings=frames.EvaluationSettings(),
    )
    made = {*judged.count_patterns(), *judged.count_boxes()}
    assert made == {name for name in FRAMES.names if COUNTED.fullmatch(name)}


@pytest.mark.parametrize("table", TABLES)
def test_every_column_says_what_it_is(table: str) -> None:
    for field in TABLES[table]:
        assert field.metadata[b"description"], field.name
        assert b"unit" in field.metadata
        assert not field.nullable


def test_the_page_names_every_file_and_column() -> None:
    for file in FILES:
        assert f"`{file}`" in PAGE
    for table, schema in TABLES.items():
        section = PAGE.split(f"## `{table}.parquet`")[1].split("\n## ")[0]
        for name in schema.names:
            if not (table == "frames" and COUNTED.fullmatch(name)):
                assert f"`{name}`" in section, f"{table}: {name}"


@pytest.mark.thorough
def test_records_need_nothing_but_the_base_dependencies() -> None:
    code = (
        "import sys, harness.records.reading, harness.records.leaderboard;"
        "print(sorted({'carla', 'torch', 'hydra', 'rich', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

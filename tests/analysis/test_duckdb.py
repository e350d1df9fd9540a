"""The page of DuckDB queries, executed on a small campaign where DuckDB is installed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from analysis.collection import collect_campaigns
from harness.records.reading import CampaignRecords
from harness.records.schema import ALL_TABLES
from tests.analysis.little import Drive, write_little
from tests.conftest import ROOT
from tests.keys import key_of

if TYPE_CHECKING:
    import pandas as pd

PAGE = (ROOT / "docs" / "how-to" / "duckdb.md").read_text()
HEADINGS = re.findall(r"^## (.*?)\n.*?```sql\n(.*?)^```$", PAGE, re.M | re.S)
QUERIES = dict(HEADINGS)
FOLDER = "runs/demo"
needs_duckdb = pytest.mark.skipif(find_spec("duckdb") is None, reason="duckdb is not installed")
CRASH = key_of("late", "latency", "1", 1)
DRIVES = {
    key: Drive(20, "collision_pedestrian" if key == CRASH else "")
    for key in (
        key_of(*arm, "1", seed)
        for arm in (("late", "none"), ("late", "latency"))
        for seed in (1, 2)
    )
}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms, a route, two seeds; one collision."""
    arms = (("late", "none"), ("late", "latency"))
    folder = tmp_path_factory.mktemp("queries") / "little"
    return write_little(folder, arms, ("1",), (1, 2), drives=DRIVES)


@pytest.fixture(scope="module")
def answers(campaign: Path) -> dict[str, pd.DataFrame]:
    """The answer to every query of the page."""
    import duckdb

    connection: Any = duckdb.connect()
    texts = {name: query.replace(FOLDER, str(campaign)) for name, query in QUERIES.items()}
    connection.sql(texts.pop("Tables"))
    return {name: connection.sql(text).df() for name, text in texts.items()}


def test_the_page_reads_tables_and_columns_that_there_are() -> None:
    assert len(QUERIES) == 9
    assert PAGE.count("```sql") == len(QUERIES)
    for name in re.findall(r"episodes/\*\*/(\w+)\.parquet", PAGE):
        assert name in ALL_TABLES
    columns = {name for schema in ALL_TABLES.values() for name in schema.names}
    named = re.findall(r"\b(?:[LC][CA][MLD]E(?:_\d+_\d+)?|truth_\d+_\d+)\b", PAGE)
    assert named
    assert set(named) <= columns


@needs_duckdb
def test_results_are_those_of_the_tables(campaign: Path, answers: dict[str, pd.DataFrame]) -> None:
    attempts = collect_campaigns([campaign]).attempts.groupby("arm")
    shown = answers["Results by arm"].set_index("arm")
    assert list(shown["attempts"]) == [2, 2]
    assert shown["violations"].to_dict() == attempts["violated"].sum().to_dict()
    for name in ("driving_score", "completion"):
        assert shown[name].to_dict() == pytest.approx(attempts[name].mean().to_dict())


@needs_duckdb
def test_ages_are_those_of_pandas(campaign: Path, answers: dict[str, pd.DataFrame]) -> None:
    records = CampaignRecords(campaign)
    messages = records.read_attempt_tables("messages", records.find_attempts())
    ages = messages.dropna(subset=["age_measured"]).groupby("arm", observed=True)["age_measured"]
    shown = answers["Age of messages by arm"].set_index("arm")
    assert shown["messages"].to_dict() == ages.count().to_dict()
    assert shown["mean_s"].to_dict() == pytest.approx(ages.mean().to_dict())
    assert shown["most_s"].to_dict() == pytest.approx(ages.quantile(0.95).to_dict())
    seconds = collect_campaigns([campaign]).attempts.groupby("arm")["duration"].sum()
    volume = messages.groupby("arm", observed=True)["bytes"].sum() / seconds
    bytes_shown = answers["Bytes a second"].set_index("arm")["bytes_a_second"]
    assert bytes_shown.to_dict() == pytest.approx(volume.to_dict())


@needs_duckdb
def test_errors_and_the_collision_are_those_of_pandas(
    campaign: Path, answers: dict[str, pd.DataFrame]
) -> None:
    records = CampaignRecords(campaign)
    frames = records.read_attempt_tables("frames", records.find_attempts()).groupby(
        "arm", observed=True
    )
    shown = answers["Errors by distance"].set_index("arm")["both_30_50"]
    share = frames["CCME_30_50"].sum() / frames["truth_30_50"].sum()
    assert shown.to_dict() == pytest.approx(share.to_dict())
    (speed,) = answers["Speed before violations"].to_dict("records")
    assert (speed["attempt"], speed["mean_speed"]) == ("late/ahead/latency/1-s1", 5.0)
    name = "The nearest pedestrian that was not detected, before each collision"
    boxes, steps = (records.read_attempt_table(table, CRASH) for table in ("boxes", "frames"))
    late = steps["frame"][steps["time"].between(15.0, 20.0)]
    missed = boxes[
        boxes["frame"].isin(late)
        & (boxes["source"] == "truth")
        & (boxes["class"] == "pedestrian")
        & boxes["pattern"].isin(["LCME", "CCME"])
    ]
    (nearest,) = answers[name].to_dict("records")
    assert nearest["missed_boxes"] == len(missed)
    assert nearest["metres"] == pytest.approx(np.hypot(missed["x"], missed["y"]).min())
    (seen,) = answers["Who saw the road user that was hit, and when"].to_dict("records")
    assert seen["ego_saw_it_before"] == 20.0
    assert len(answers["Worst planning steps"]) == 10

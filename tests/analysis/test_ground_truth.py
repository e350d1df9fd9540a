"""Tables and pages name the ground truth that their error patterns were counted by."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.tables.all_tables import build_all_tables
from analysis.tables.ground_truth import describe_collection_truth
from tests.analysis.little import write_little

ARMS = [("late", "none"), ("late", "latency")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return campaigns of one seed each: by what the reference rig hits, by all, and unknown."""
    place = tmp_path_factory.mktemp("truths")
    filters = {"a": "reference", "b": "none", "c": None}
    made = []
    for seed, (name, truth_filter) in enumerate(filters.items(), 1):
        folder = write_little(place / name, ARMS, ["0", "1"], [seed])
        header = yaml.safe_load((folder / "campaign.yaml").read_text())
        header["settings"]["patterns"] = truth_filter and {"truth_filter": truth_filter}
        (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
        made.append(folder)
    return made


@pytest.mark.thorough
def test_the_ground_truth_is_named_once_or_by_campaign(folders: list[Path]) -> None:
    known = [describe_collection_truth(collect_campaigns([folder])) for folder in folders]
    assert known == ["seen", "all", "not recorded"]
    assert describe_collection_truth(collect_campaigns(folders[:2])) == "seen (a), all (b)"


@pytest.mark.thorough
def test_titles_of_tables_with_patterns_name_it(folders: list[Path]) -> None:
    tables = build_all_tables(collect_campaigns(folders[:1]), results_only=False)
    named = {table.name for table in tables if table.title.endswith("; ground truth: seen")}
    assert named >= {"patterns", "patterns_disturbed", "bands", "common_stretch"}
    assert named.isdisjoint({"driving", "curves", "messages", "seeds"})


@pytest.mark.thorough
def test_so_does_the_table_of_all_attempts(folders: list[Path], tmp_path: Path) -> None:
    assert main(["report", str(folders[1]), "--results-only", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "counts over the whole drive; ground truth: all." in page

"""The page on attacks shows what the packed sums of its drives give."""

from __future__ import annotations

from analysis.tables.attacks import read_attack_drives
from analysis.tables.markdown import format_markdown_table
from studies.attacks.markdown import build_page_tables
from tests.conftest import ROOT

DRIVES = ROOT / "studies" / "attacks" / "packed" / "drives-1.csv"
PAGE = ROOT / "docs" / "study" / "attacks.md"


def test_the_page_has_the_tables_of_the_packed_drives() -> None:
    page = PAGE.read_text()
    for table in build_page_tables([DRIVES]):
        assert len(table) == 16
        assert format_markdown_table(table).strip() in page


def test_stage_one_is_whole() -> None:
    drives = read_attack_drives(DRIVES)
    counts = drives.groupby("arm")["route"].nunique()
    assert len(counts) == 16
    assert set(counts) == {12}
    assert len(drives) == 192


def test_an_independent_count_gives_the_shares_of_the_text() -> None:
    """Violations by arm, counted from the text of the file without a function of Crucible."""
    lines = [line.split(",") for line in DRIVES.read_text().splitlines()]
    arm, violated = lines[0].index("arm"), lines[0].index("violated")
    counts: dict[str, int] = {}
    for line in lines[1:]:
        counts[line[arm]] = counts.get(line[arm], 0) + (line[violated] == "True")
    attacks = {"ghost": 12, "collusion": 12, "sybil": 12, "removal": 7, "replay": 7}
    attacks |= {"shift": 4, "wrong_pose": 4}
    assert counts["late/mixed/none"] == counts["late/mixed/none/defence=layered"] == 2
    for name, count in attacks.items():
        assert counts[f"late/mixed/none/attack={name}"] == count


def test_the_first_routes_of_stage_two_have_all_arms_once() -> None:
    drives = read_attack_drives(DRIVES.with_name("drives-2-first.csv"))
    assert set(drives.groupby("arm")["route"].nunique()) == {8}
    assert drives["arm"].nunique() == 32
    assert len(drives) == 256
    assert not set(drives["arm"]) & set(read_attack_drives(DRIVES)["arm"])

"""Broken records: named first, left out with their pair partners, and everything else is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.broken import MOST_LISTED
from analysis.cases import list_violation_cases
from analysis.collection import CampaignCollection, collect_campaigns
from crucible.api import Campaign
from harness.common.errors import UserError
from harness.records.schema import TABLES
from tests.analysis.little import write_little
from tests.analysis.page import Page

pytestmark = pytest.mark.thorough

ARMS = [("late", "none"), ("late", "latency")]
TRY = "episodes/late/ahead/none/1-s1/try1"
FILES = ["result.json", *(f"{name}.parquet" for name in TABLES)]


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flipped(file: Path) -> None:
    """Turn one bit: in a page of a Parquet file, in its footer if it is empty, in a result."""
    text = bytearray(file.read_bytes())
    at = -6 if file.name == "events.parquet" else 40
    if file.suffix == ".json":
        at = text.index(b'"driving_score": ') + len(b'"driving_score": ')
    text[at] ^= 1 << 6
    file.write_bytes(text)


def missing(file: Path) -> None:
    file.unlink()


def hostile(file: Path) -> None:
    file.write_bytes(b"PAR1" + b"[" * 100_000 + b"PAR1")


def folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another(file: Path) -> None:
    """Put a file of another kind there: a whole one, with another schema."""
    other = "events.parquet" if file.name == "map.parquet" else "map.parquet"
    shutil.copy(file.with_name(other), file)


DAMAGE = [truncated, flipped, missing, hostile, folder_instead, of_another]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_little(tmp_path_factory.mktemp("whole") / "c", ARMS, ["0", "1", "2"], [1, 2])


@pytest.fixture(scope="module")
def two_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_little(tmp_path_factory.mktemp("two") / "c", ARMS, ["0", "1"], [1])


@pytest.fixture
def campaign(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "c"))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_any_damage_to_any_file_leaves_the_pair_out(
    two_pairs: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    campaign = Path(shutil.copytree(two_pairs, tmp_path / "c"))
    file = campaign / TRY / name
    damage(file)
    collection = collect_campaigns([campaign], whole=True)
    assert f"{file}: " in collection.notes[1]
    assert collection.notes[0].startswith("warning: 1 record is broken; left out, with 1 attempts")
    assert collection.notes[1].startswith("warning: broken: late/ahead/none/1-s1: ")
    assert collection.exit_code == 1
    assert left(collection) == [("0", 1)] * 2
    assert collection.left_out["left out as"].tolist() == ["broken record", "pair partner"]
    assert collection.left_out["arm"].tolist() == ["late/ahead/none", "late/ahead/latency"]


def left(collection: CampaignCollection) -> list[tuple[str, int]]:
    """Return the routes and seeds of the attempts that remain."""
    rows = collection.attempts
    return list(zip(rows["route"], rows["seed"], strict=True))


def test_a_whole_campaign_has_no_broken_record(whole: Path) -> None:
    collection = collect_campaigns([whole], whole=True)
    assert len(collection.attempts) == 12
    assert collection.left_out.empty
    assert collection.exit_code == 0
    assert not [note for note in collection.notes if "broken" in note]


def test_boxes_of_unknown_steps_are_a_broken_record(campaign: Path) -> None:
    file = campaign / TRY / "boxes.parquet"
    shutil.copy(campaign / TRY.replace("1-s1", "0-s1") / "boxes.parquet", file)
    steps = [pd.read_parquet(campaign / TRY / f"{name}.parquet") for name in ("frames", "boxes")]
    fits = set(steps[1]["frame"]) <= set(steps[0]["frame"])
    assert len(collect_campaigns([campaign], whole=True).left_out) == (0 if fits else 2)


def test_every_command_names_it_and_goes_on(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page begins with it; `compare` and `--results-only` read no Parquet file."""
    file = campaign / TRY / "tracks.parquet"
    truncated(file)
    out = ["--out", str(tmp_path / "out")]
    for command in ("report", "tables", "regress"):
        assert main([command, str(campaign), *out]) == 1
        printed = capsys.readouterr()
        assert f"warning: broken: late/ahead/none/1-s1: {file}: " in printed.out
        assert not printed.err
    page = Page((tmp_path / "out" / "report.html").read_text())
    assert page.words.index("1 record is broken") < page.words.index("Driving score and")
    assert "10 drives" in page.words
    listed = pd.read_csv(tmp_path / "out" / "broken.csv")
    assert listed["left out as"].tolist() == ["broken record", "pair partner"]
    assert listed["folder"].tolist() == [str(campaign)] * 2
    assert len(pd.read_csv(tmp_path / "out" / "attempts.csv")) == 10
    assert main(["tables", str(campaign), "--results-only", *out]) == 0
    compare = ["compare", str(campaign), "late/none", "late/latency", *out]
    assert main(compare) == 0
    missing(campaign / TRY / "result.json")
    capsys.readouterr()
    assert main(compare) == 1
    assert "5 pairs on 3 routes" in capsys.readouterr().out


def test_a_page_is_as_if_the_pair_had_not_been_driven(
    whole: Path, campaign: Path, tmp_path: Path
) -> None:
    """All numbers are those of a campaign without route 1 and seed 1."""
    truncated(campaign / TRY / "frames.parquet")
    other = Path(shutil.copytree(whole, tmp_path / "other"))
    for place in other.glob("episodes/*/*/*/1-s1"):
        shutil.rmtree(place)
    assert main(["report", str(campaign)]) == 1
    assert main(["report", str(other)]) == 0
    for name in ("driving", "bands", "precision", "differences", "regression", "common_stretch"):
        mine, theirs = (pd.read_csv(path / "report" / f"{name}.csv") for path in (campaign, other))
        pd.testing.assert_frame_equal(mine, theirs)


def test_violations_keep_their_numbers(whole: Path, campaign: Path) -> None:
    truncated(campaign / TRY / "frames.parquet")
    before = {case.key: case.number for case in list_violation_cases(collect_campaigns([whole]))}
    after = {
        case.key: case.number
        for case in list_violation_cases(collect_campaigns([campaign], whole=True))
    }
    assert after.items() <= before.items()
    assert 0 < len(after) < len(before)


def test_many_are_listed_in_the_file(tmp_path: Path) -> None:
    routes = list(map(str, range(MOST_LISTED + 2)))
    folder = write_little(tmp_path / "c", ARMS[:1], routes, [1])
    for file in folder.glob("episodes/**/result.json"):
        truncated(file)
    assert main(["report", str(folder), "--results-only"]) == 1
    words = Page((folder / "report" / "report.html").read_text()).words
    assert f"{MOST_LISTED + 2} records are broken; left out." in words
    assert "2 more broken records are in broken.csv" in words
    assert "no attempt has a result" in words.lower()
    assert len(pd.read_csv(folder / "report" / "broken.csv")) == len(routes)


def test_hostile_reasons_are_text(campaign: Path) -> None:
    file = campaign / TRY / "result.json"
    result = json.loads(file.read_text())
    result["crucible"]["hazards"][0]["cause"] = "<script>alert(1)</script>"
    file.write_text(json.dumps(result))
    assert main(["report", str(campaign), "--results-only"]) == 1
    page = Page((campaign / "report" / "report.html").read_text())
    assert page.count["script"] == 1
    assert "<script>alert(1)</script>" in page.words


def test_the_python_interface_refuses_broken_records(campaign: Path) -> None:
    truncated(campaign / TRY / "result.json")
    with pytest.raises(UserError, match=r"1-s1/try1/result\.json"):
        Campaign(campaign).attempts.head()

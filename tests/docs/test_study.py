"""The study's script that compares what was driven twice, and the list of its files."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crucible.subcommands import dispatch_subcommand as crucible
from tests.analysis.test_critical import campaign_in

STUDY = Path("studies/published")
PAGES = Path("docs/study")
NAN = float("nan")


def test_a_drive_again_is_compared_with_the_first(tmp_path: Path) -> None:
    first = packed(tmp_path / "a", "main-1-0", drive("late", speed=[1.0, NAN], CADE=[0, 2]))
    packed(
        tmp_path / "b",
        "repairs-1-2",
        drive("late", text="another jerk", speed=[1.0, NAN], CADE=[0, 2]),
        drive("late/repaired", speed=[1.0, 0.0], CADE=[0, 0]),
    )
    other_town = packed(tmp_path / "c", "repairs-2-0", drive("late", speed=[9.0], CADE=[9]))
    finer = packed(tmp_path / "d", "fine-1-0", drive("late", speed=[9.0], CADE=[9]))
    [(file, earlier, equal)] = repeats([first, tmp_path / "b", other_town, finer])
    assert (file, earlier) == (tmp_path / "b", first)
    assert equal == {"drives": 1, "steps": 1}


def test_a_step_that_differs_is_counted(tmp_path: Path) -> None:
    first = packed(tmp_path / "a", "main-1-0", drive("late", speed=[1.0, 2.0], CADE=[0, 2]))
    for number, changed in enumerate(
        (
            drive("late", speed=[1.0, 2.0], CADE=[0, 1]),
            drive("late", speed=[1.0], CADE=[0]),
            drive("late", speed=[1.0, NAN], CADE=[0, 2]),
        )
    ):
        again = packed(tmp_path / f"b{number}", "repairs-1-0", changed)
        [(_, _, equal)] = repeats([first, again])
        assert equal == {"drives": 1, "records": 1, "results": 1}


def test_every_packed_file_is_listed() -> None:
    listed = (PAGES / "parts.md").read_text()
    files = [file.name for file in STUDY.glob("parts/*.parquet")]
    assert [name for name in files if f"`{name}`" not in listed] == []


def test_the_protocol_next_to_the_reference_is_the_page() -> None:
    """A reference names files in its folder only, and a protocol keeps every byte."""
    file = json.loads((STUDY / "reference.json").read_text(encoding="utf-8"))["protocol"]["file"]
    assert (STUDY / file).read_bytes() == (PAGES / file).read_bytes()


def test_the_reference_says_how_far_placebos_agree() -> None:
    reference = json.loads((STUDY / "reference.json").read_text(encoding="utf-8"))
    assert reference["placebo"]["condition"] == "placebo"


@pytest.mark.thorough
def test_searches_become_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_in(tmp_path / "campaign", "Crucible05")
    parts = [tmp_path / "4-ages", tmp_path / "4-fine"]
    for part in parts:
        words = ("--of", "latency", "--recorded", "--out", str(part))
        assert crucible(["critical", str(campaign), *words]) == 0
    monkeypatch.syspath_prepend(STUDY)  # as for a script there
    script = runpy.run_path(str(STUDY / "ages.py"))
    capsys.readouterr()
    script["print_ages"](*parts)
    tables = capsys.readouterr().out
    assert "| age, s |" in tables
    assert "| system | reveal | routes |" in tables
    assert "whatever happens at other ages" in tables
    searches = (script["rows_of"](tmp_path / "4-ages" / "critical_latency.csv") for _ in range(2))
    _, *lines = script["finer"](*searches)
    assert {line[-1] for line in lines} == {"yes"}
    assert all(line[2] == line[3] for line in lines)


def repeats(files: list[Path]) -> list[tuple[Path, Path, dict[str, int]]]:
    """Return what the script finds, without zeros."""
    script = runpy.run_path(str(STUDY / "repeats.py"))
    return [(file, earlier, dict(+equal)) for file, earlier, equal in script["repeats"](files)]


def drive(arm: str, *, text: str = "{}", **steps: list[float]) -> dict[str, Any]:
    """Return a row of a packed file, without its campaign."""
    digest = "aa" if text == "{}" else "bb"
    start = {"kind": "attempt", "arm": arm, "route": "2", "seed": 1, "sha256": digest}
    return {**start, "text": text, "frame": [2 * n for n in range(len(steps["speed"]))], **steps}


def packed(file: Path, campaign: str, *rows: dict[str, Any]) -> Path:
    """Write rows as `crucible pack` does, as far as the script reads them."""
    settings = {"kind": "campaign", "campaign": campaign}
    pq.write_table(
        pa.Table.from_pylist([*({"campaign": campaign} | row for row in rows), settings]), file
    )
    return file

"""`crucible attacks`: shares of lies, false rejections, differences in pairs, computed again."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main
from analysis.tables.attacks import DRIVES_FILE, build_attack_frame, read_attack_drives
from analysis.tables.writing import write_frame
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import ATTACKS, DEFENCES
from tests.analysis.little import Drive, write_attempt, write_little, write_route
from tests.keys import arm_of

SIMULATOR = "carlite 0.9.16"
CHECKS = ("plausibility", "free_space")


def lies_of(seed: int) -> pd.DataFrame:
    """Return a table of lies at random."""
    random = np.random.default_rng(seed)
    rows = 8
    added = random.integers(0, 4, rows)
    gone = random.integers(0, 3, rows)
    return pd.DataFrame(
        {
            "frame": 4 * np.arange(rows),
            "sender": "vehicle-1",
            "capture_frame": 4 * np.arange(rows),
            "added": added,
            "stopped": random.integers(0, added + 1),
            "believed": random.integers(0, added + 1),
            "gone": gone,
            "missed": random.integers(0, gone + 1),
            "moved": 0.0,
            "content_age": 0.0,
            "passed": True,
        }
    )


def judged_of(seed: int) -> pd.DataFrame:
    """Return a table of two checks in a row, of an honest partner and of one that lies."""
    random = np.random.default_rng(seed)
    rows = []
    for step in range(6):
        for sender, lies in (("vehicle-1", True), ("roadside-0", False)):
            boxes = int(random.integers(1, 6))
            for check in CHECKS:
                rejected = int(random.integers(0, boxes + 1))
                rows.append([4 * step, sender, 4 * step, check, lies, boxes, rejected, 0, False])
                boxes -= rejected
    return pd.DataFrame(rows, columns=DEFENCES.names)


def write_tables(place: Path, seed: int) -> None:
    for name, schema, table in (
        ("attacks", ATTACKS, lies_of(seed)),
        ("defences", DEFENCES, judged_of(seed)),
    ):
        columns = {column: table[column].tolist() for column in schema.names}
        pq.write_table(pa.table(columns, schema=schema), place / f"{name}.parquet")


def write_campaign(folder: Path, routes: int) -> Path:
    """Write drives that the attack ends in a collision, and that the defence saves."""
    names = [str(number) for number in range(routes)]
    write_little(folder, [("late", "none")], names, [1], drives={
        AttemptKey(arm_of("late", "none"), name, 1): Drive(10) for name in names
    })  # fmt: skip
    arms = {
        arm_of("late", "none", attack="ghost"): "collision_vehicle",
        arm_of("late", "none", attack="ghost", defence="free_space"): "",
    }
    for number, name in enumerate(names):
        write_route(folder, name, "Crucible05", 10.0 * number)
        for arm, violation in arms.items():
            key = AttemptKey(arm, name, 1)
            write_attempt(folder, key, Drive(10, violation), SIMULATOR)
            (place,) = (folder / "episodes" / arm.path).glob(f"{name}-s1/try1")
            write_tables(place, number)
            with patch("os.fsync"):
                append_try(folder, key, number=1, failure=None, message="", server_tail="")
    return folder


@pytest.mark.parametrize("routes", [2, pytest.param(7, marks=pytest.mark.thorough)])
def test_shares_and_paired_differences_are_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], routes: int
) -> None:
    folder = write_campaign(tmp_path / "runs", routes)
    assert main(["attacks", str(folder), "--out", str(tmp_path / "out")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"attack ghost, defence none: {routes} drives, {routes} routes" in shown
    assert "violations, points, by the attack +100 " in shown
    table = pd.read_csv(tmp_path / "out" / "attacks.csv", keep_default_na=False)
    rows = table.set_index(["attack", "defence", "measure"])
    lies = pd.concat([lies_of(number) for number in range(routes)])

    def value(attack: str, defence: str, measure: str) -> float:
        return float(str(rows.loc[(attack, defence, measure), "value"]))

    believed = 100 * lies["believed"].sum() / lies["added"].sum()
    missed = 100 * lies["missed"].sum() / lies["gone"].sum()
    stopped = 100 * lies["stopped"].sum() / lies["added"].sum()
    assert value("ghost", "none", "added boxes believed, %") == pytest.approx(believed)
    assert value("ghost", "none", "left out and missed, %") == pytest.approx(missed)
    assert value("ghost", "free_space", "added boxes stopped, %") == pytest.approx(stopped)
    # honest partners alone; boxes are those before the first check
    honest = pd.concat([judged_of(number) for number in range(routes)]).query("not lies")
    first = honest[honest["check"] == CHECKS[0]]
    rejected = 100 * honest["rejected"].sum() / first["boxes"].sum()
    assert value("ghost", "free_space", "honest boxes rejected, %") == pytest.approx(rejected)
    # every pair is decided by the attack, and saved by the defence
    by_attack = ("ghost", "none", "violations, points, by the attack")
    by_defence = ("ghost", "free_space", "violations, points, by the defence")
    assert value(*by_attack) == 100
    assert value(*by_defence) == -100
    verdict = "" if routes == 7 else "undecided at n = 2"
    verdicts = [str(rows.loc[key, "verdict"]) for key in (by_attack, by_defence)]
    assert verdicts == [verdict, verdict]
    # two tests are the family: all signs are equal, so that each p is 2 of 2^n
    tested = pd.to_numeric(table["p"], errors="coerce").dropna()
    assert tested.tolist() == pytest.approx([2 / 2**routes] * 2)
    adjusted = pd.to_numeric(table["p_holm"], errors="coerce").dropna()
    assert adjusted.tolist() == pytest.approx([min(2 * p, 1) for p in tested])
    assert value("none", "none", "violations, %") == 0
    # the drives that are written give the same table again, to the last digit
    drives = read_attack_drives(tmp_path / "out" / DRIVES_FILE)
    again = build_attack_frame(drives)
    write_frame(again, tmp_path / "again", "attacks", ["csv"])
    written, repeated = (tmp_path / name / "attacks.csv" for name in ("out", "again"))
    assert written.read_bytes() == repeated.read_bytes()
    assert len(drives) == 3 * routes


@pytest.mark.parametrize("text", ["", "arm,route\nlate/ahead/none,1\n", "\0\0", "no table"])
def test_a_file_that_holds_no_drives_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / DRIVES_FILE
    file.write_text(text)
    with pytest.raises(UserError, match="no drives of attacks"):
        read_attack_drives(file)


def test_a_campaign_without_attacks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_little(tmp_path / "runs", [("late", "none")], ["0"], [1])
    assert main(["attacks", str(folder)]) == 2
    line = capsys.readouterr().err.strip()
    assert line.endswith("no drive has an attack or a defence")
    assert "\n" not in line

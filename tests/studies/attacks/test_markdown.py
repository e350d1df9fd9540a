"""Tables of the page on attacks: a row for each attack and defence, with p of the family."""

from __future__ import annotations

from pathlib import Path

from analysis.__main__ import main
from analysis.tables.attacks import DRIVES_FILE
from studies.attacks.markdown import build_page_tables
from tests.analysis.test_attack_table import write_campaign


def test_outcomes_and_what_was_believed(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path / "runs", routes=2)
    assert main(["attacks", str(folder), "--out", str(tmp_path / "out")]) == 0
    outcomes, delivered = build_page_tables([tmp_path / "out" / DRIVES_FILE])
    names = [["none", "none"], ["ghost", "none"], ["ghost", "free_space"]]
    for table in (outcomes, delivered):
        assert table[["attack", "defence"]].to_numpy().tolist() == names
        assert table["drives"].tolist() == ["2", "2", "2"]
    # two routes, all signs equal: p 0.5 of each of two tests, 1 after correction
    assert outcomes["more by the attack, points"].tolist()[1] == "100, p 1.000"
    assert outcomes["more by the defence, points"].tolist()[0] == "-"
    assert delivered["added boxes stopped, %"].tolist()[:2] == ["-", "-"]

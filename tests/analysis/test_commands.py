"""The command line: files, words, exit codes, and campaigns that went wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.comparison import COMPARED_SURROGATES
from analysis.routes import RouteWay, resolve_geometries
from harness.common.errors import UserError
from harness.records.ledger import append_try
from tests.analysis.little import Drive, write_little, write_route
from tests.keys import key_of

pytestmark = pytest.mark.thorough

ARM = [("late", "none")]


def ran(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_tables_regress_compare(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ran(capsys, "tables", little, "--out", tmp_path, "--format", "csv,latex,parquet")
    assert code == 0
    assert "Figure 8" in out
    panels = {path.stem: path.read_text() for path in tmp_path.glob("along_route*.svg")}
    assert set(panels) == {"along_route-none", "along_route-latency"}
    assert all(text.startswith("<?xml") for text in panels.values())
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".parquet", ".tex", ".svg"}
    code, out, _ = ran(capsys, "regress", little, "--out", tmp_path / "folder")
    assert code == 0
    assert "plain multivariable logit" in out
    assert "timing-fair" in out
    for table in ("attempts.csv", "attempts.parquet"):
        assert ran(capsys, "regress", tmp_path / table, "--out", tmp_path / table[9:])[0] == 0
    folder, csv, parquet = (
        pd.read_csv(tmp_path / name / "regression.csv") for name in ("folder", "csv", "parquet")
    )
    pd.testing.assert_frame_equal(csv, parquet)
    same = folder[~folder["method"].str.startswith("timing")].reset_index(drop=True)
    pd.testing.assert_frame_equal(csv, same)
    code, out, _ = ran(
        capsys, "compare", little, "late/none", "late/latency", "early", "--out", tmp_path
    )
    assert code == 0
    assert "12 pairs on 6 routes" in out
    figures = {path.name for path in tmp_path.glob("compare-*.svg")}
    assert figures == {
        "compare-all.svg",
        "compare-late-none-late-latency.svg",
        "compare-late-none-early-none.svg",
    }
    rows = pd.read_csv(tmp_path / "compare.csv")
    times = rows.loc[rows["measure"] == "time to goal, s", "difference"]
    # rows over shared road carry a mark where one drive of a pair ended earlier
    early = rows["measure"].isin(list(COMPARED_SURROGATES)) & (rows["one ended earlier"] > 0)
    assert early.any()
    for measure, marked in early.groupby(rows["measure"]).any().items():
        assert (f"{measure} *" in out) == marked
    assert "  * in " in out
    all_arms = (tmp_path / "compare-all.svg").read_text()
    assert len(times) == 2
    assert all(f", {time:+.1f} s<" in all_arms for time in times)


def test_pairs_of_arms_two_by_two_are_one_family(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = ["late/none", "late/latency", "early/none", "late/none"]
    words = ["compare", little, *arms, "--two-by-two", "--where-clean", "alone/none"]
    code, out, _ = ran(capsys, *words, "--out", tmp_path)
    assert code == 0
    assert "not paired" not in out
    table = pd.read_csv(tmp_path / "compare.csv")
    named = set(zip(table["arm_a"], table["arm_b"], strict=True))
    assert named == {("late/none", "late/latency"), ("early/none", "late/none")}
    score = table[table["measure"] == "driving score"]
    assert score["p holm"].min() == pytest.approx(min(1, 2 * score["p"].min()))


def test_campaigns_of_short_clean_or_bad_drives_state_what_cannot_be_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {
        "short": (
            Drive(6, "off_road"),
            "not fitted: no row is left; 8 dropped, drive shorter than 10 s",
        ),
        "clean": (Drive(14), "not fitted: 0 of 8 rows of late with violation"),
        "bad": (
            Drive(14, "blocked"),
            "not fitted: 8 of 8 rows of late with violation",
        ),
    }
    for name, (drive, item) in words.items():
        routes = list("0123")
        drives = {key_of(*ARM[0], r, s): drive for r in routes for s in (1, 2)}
        folder = write_little(tmp_path / name, ARM, routes, drives=drives)
        code, out, _ = ran(capsys, "regress", folder)
        assert code == 0
        assert item in out
        assert ran(capsys, "tables", folder, "--results-only")[0] == 0
        driving = pd.read_csv(folder / "report" / "driving.csv").set_index("measure")
        assert driving.loc["violations %", "value"] == (0 if name == "clean" else 100)
        assert driving.loc["violations %", "method"] == "wilson over routes"


def test_an_empty_campaign_and_one_in_which_all_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = write_little(tmp_path / "empty", [], ["0"], [1], systems=["late"])
    failed = write_little(tmp_path / "failed", [], ["0", "1"], [1], systems=["late"])
    append_try(
        failed,
        key_of("late", "none", "0", 1),
        number=1,
        failure="server_crash",
        message="signal 6",
        server_tail="",
    )
    for folder, words in (
        (empty, ["no attempt has a result", "system late has no attempt"]),
        (failed, ["2 of 2 attempts have no result: 1 server_crash, 1 not tried yet"]),
    ):
        for command in ("tables", "regress"):
            code, out, _ = ran(capsys, command, folder)
            assert code == 0
            assert all(word in out for word in words), out
        code, _, err = ran(capsys, "compare", folder, "late/none", "late/latency")
        assert code == 2
        assert "not one arm with results" in err
    driving = pd.read_csv(failed / "report" / "driving.csv")
    assert driving["n"].tolist() == [0] * 6
    missing = pd.read_csv(failed / "report" / "missing.csv", dtype=str)
    assert sorted(missing["ending"]) == ["not tried yet", "server_crash"]


def test_simulators_are_not_pooled_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = write_little(tmp_path / "ours", ARM, ["0", "1"], [1])
    theirs = write_little(tmp_path / "theirs", ARM, ["0", "1"], [2], simulator="CARLA 0.9.16")
    code, _, err = ran(capsys, "tables", ours, theirs, "--results-only")
    assert code == 2
    assert "records of CARLA and carlite" in err
    code, out, _ = ran(capsys, "tables", ours, theirs, "--results-only", "--mix-simulators")
    assert code == 0
    assert "4" in out


def test_the_same_attempt_twice_is_compared_where_its_town_is_known(tmp_path: Path) -> None:
    one = write_little(tmp_path / "one", ARM, ["0"], [1])
    two = write_little(tmp_path / "two", ARM, ["0"], [1])
    assert collect_campaigns([one, two]).attempts["campaign"].tolist() == ["1 one", "2 two"]
    other_town = write_little(tmp_path / "three", ARM, ["0"], [1], town="Town05")
    assert collect_campaigns([one, other_town]).attempts["cluster"].tolist() == [
        "Crucible05/0",
        "Town05/0",
    ]
    for file in two.glob("routes/*"):
        file.unlink()
    for folders in ([one, two], [two, one]):
        with pytest.raises(UserError, match="late/ahead/none/0-s1 is in more than one"):
            collect_campaigns(folders)


def test_missing_attempts_are_listed_with_their_endings(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", ARM, ["0", "1"], [1, 2])
    write_route(folder, "7", "Crucible05", 99.0)
    append_try(
        folder,
        key_of("late", "none", "7", 2),
        number=1,
        failure="agent_exception",
        message="oh",
        server_tail="",
    )
    collection = collect_campaigns([folder])
    result = {(row.route, row.seed): row.ending for row in collection.missing.itertuples()}
    assert result == {("7", 1): "not tried yet", ("7", 2): "agent_exception"}
    assert "2 of 6 attempts have no result" in collection.notes[0]


def test_one_way_under_two_names_is_one_geometry() -> None:
    way = np.column_stack([np.arange(50.0), np.zeros(50), np.zeros(50)])
    aside = np.array([0.0, 1.0, 0.0])
    ways = [
        RouteWay("a", "T", way),
        RouteWay("b", "T", way + aside),
        RouteWay("c", "T", way + 9 * aside),
        RouteWay("d", "T", way[::-1]),
        RouteWay("e", "U", way),
        RouteWay("f", "T", way[:30]),
        RouteWay("g", "T", way[::7]),
    ]
    assert resolve_geometries(ways) == ["T/a", "T/a", "T/c", "T/d", "U/e", "T/f", "T/a"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tables", "nowhere"], "nowhere: folder not found"),
        (["tables", "LITTLE", "--format", "xls"], "unknown format xls; valid formats: csv,"),
        (
            ["regress", "LITTLE", "--systems", "none"],
            "unknown system none; did you mean alone? valid",
        ),
        (["compare", "LITTLE", "early"], "two different arms"),
        (["compare", "LITTLE", "late/none", "--two-by-two"], "1 arms are no pairs"),
        (["power", "--routes", "many"], "positive integers"),
        (["power", "--base-rate", "0.9", "--difference", "0.2"], "must be between 0 and 1"),
        (["power", "--difference", "0.1,nan"], "must be between 0 and 1"),
        (["power", "--difference=-0.5,0.1"], "must be between 0 and 1"),
        (["power", "--route-sd", "nan"], "--route-sd must be >= 0"),
        (["calibrate", "--campaigns", "0"], "1 or more"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    little: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    code, _, err = ran(capsys, *[str(little) if word == "LITTLE" else word for word in words])
    assert code == 2
    assert expected in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["tables", "compare", "regress", "report", "attacks", "radio"])
def test_a_file_for_the_folder_of_files_is_refused_before_anything_is_read(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("of a user")
    for out in (tmp_path / "file", tmp_path / "file" / "inside"):
        code, _, said = ran(capsys, command, tmp_path / "no-campaign", "--out", out)
        assert (code, said.count("\n")) == (2, 1)
        assert said.startswith(f"--out {out}: ")
        assert said.endswith("is a file; a folder is needed\n")
    assert (tmp_path / "file").read_text() == "of a user"


def test_one_pair_is_no_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_little(tmp_path / "one", routes=("1",), seeds=(1,))
    code, out, _ = ran(capsys, "compare", folder, "late/none", "late/latency")
    assert code == 0
    assert ": 1 pair on 1 route" in out
    assert "1 pairs" not in out
    assert "1 routes" not in out


def test_tables_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n")
    assert "missing column system" in ran(capsys, "regress", file)[2]
    file.write_bytes(b"\xff\xfe\x00")
    assert str(file) in ran(capsys, "regress", file)[2]
    header = yaml.safe_load("{schema: 2, settings: {}}")
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    assert "not a campaign's settings" in ran(capsys, "tables", folder)[2]


def test_an_interrupted_command_says_so(
    little: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.commands.tables.build_all_tables", interrupted)
    code, _, err = ran(capsys, "tables", little)
    assert code == 130
    assert err.count("\n") == 1


def test_power_and_calibrate_print_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--routes", "8", "--seeds", "1,2", "--difference", "0.4", "--campaigns", "20"]
    code, out, _ = ran(capsys, "power", *arguments)
    assert code == 0
    assert "30 % against 70 %" in out
    arguments = ["--routes", "5", "--systems", "2", "--campaigns", "1", "--out", str(tmp_path)]
    assert ran(capsys, "calibrate", *arguments)[0] == 0
    assert len(pd.read_csv(tmp_path / "calibration.csv")) == 28


def test_few_routes_are_said_to_be_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for routes, said in (("012", True), ("01234", False)):
        folder = write_little(tmp_path / routes, [("late", "none")], routes, [1])
        assert main(["tables", str(folder), "--results-only"]) == 0
        result = f"{len(routes)} routes: intervals that resample them cover less than 95 %"
        assert (result in capsys.readouterr().out) == said

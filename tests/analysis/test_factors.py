"""A factor that no line of the analysis names: tabulated, compared and reported like the others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.arms import describe_shared_factors
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.contrasts import DISTURBED, compute_contrasts, plan_comparisons
from analysis.declaration import declare_tests
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.cases import find_case
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from tests.analysis.little import Drive, write_attempt, write_little

ROUTES = tuple(map(str, range(7)))
CLEAN, STRUCK = Drive(16), Drive(16, "collision_vehicle")
PLAIN = Arm.from_factors(system="late", cooperation="ahead", condition="latency")
MENDED = PLAIN.replace_factors(intervention="no ghosts")
OTHERS = PLAIN.replace_factors(cooperation="connected")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose arms differ in a factor of its own: with it, nothing is struck."""
    folder = write_little(tmp_path_factory.mktemp("factors") / "runs", [], ROUTES, (1,))
    for arm, drive in (
        (PLAIN, STRUCK),
        (MENDED, CLEAN),
        (OTHERS, CLEAN),
        (Arm.from_factors(system="alone"), CLEAN),
    ):
        for route in ROUTES:
            write_attempt(folder, AttemptKey(arm, route, 1), drive, "carlite 0.9.16")
    return folder


@pytest.fixture(scope="module")
def collection(folder: Path) -> CampaignCollection:
    return collect_campaigns([folder])


@pytest.mark.thorough
def test_every_factor_is_a_column_and_a_pair(collection: CampaignCollection) -> None:
    assert collection.factors == ("system", "cooperation", "condition", "intervention")
    assert set(collection.attempts["intervention"]) == {"none", "no ghosts"}
    families = {(family, str(a), str(b)) for family, a, b in plan_comparisons(collection.arms)}
    assert ("by intervention", str(PLAIN), str(MENDED)) in families
    assert ("by cooperation", str(PLAIN), str(OTHERS)) in families
    assert not any(str(OTHERS) in (a, b) and str(MENDED) in (a, b) for _, a, b in families)
    assert DISTURBED not in {family for family, *_ in families}


def test_its_comparison_is_that_of_any_other_factor(collection: CampaignCollection) -> None:
    contrasts = compute_contrasts(collection)
    table = contrasts.select_measure("violations, %", "by intervention").iloc[0]
    assert (table["a"], table["b"], table["difference"], table["pairs"]) == (100.0, 0.0, -100.0, 7)
    assert table["p"] < 0.05


@pytest.mark.thorough
def test_two_systems_that_read_no_messages_are_compared_once(tmp_path: Path) -> None:
    """They have the same drives under each cooperation."""
    arms = [Arm.from_factors(system="late", cooperation=name) for name in ("ahead", "surveyed")]
    arms += [Arm.from_factors(system=name) for name in ("oracle", "single")]
    folder = write_little(tmp_path / "runs", [], ("0", "1"), (1,))
    for arm in arms:
        for route in ("0", "1"):
            write_attempt(folder, AttemptKey(arm, route, 1), CLEAN, "carlite 0.9.16")
    contrasts = compute_contrasts(collect_campaigns([folder]))
    pairs = [(pair.a.arm, pair.b.arm) for pair in contrasts.pairs]
    assert len(pairs) == len(set(pairs)) == 1 + 4 + 1
    declared = declare_tests(contrasts, [])
    assert len(declared.contrasts.select_measure("driving score")) == 6
    assert main(["report", str(folder), "--results-only", "--out", str(tmp_path)]) == 0


@pytest.mark.thorough
def test_commands_print_it_and_write_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tables", str(folder), "--results-only", "--out", str(tmp_path)]) == 0
    driving = pd.read_csv(tmp_path / "driving.csv")
    rows = driving[(driving["measure"] == "violations %") & (driving["system"] == "late")]
    row = rows.set_index(["cooperation", "intervention"])["value"].to_dict()
    wanted = {("ahead", "none"): 100.0, ("ahead", "no ghosts"): 0.0, ("connected", "none"): 0.0}
    assert row == wanted
    capsys.readouterr()
    short = "late/ahead/latency", "late/ahead/latency/intervention=no ghosts"
    assert main(["compare", str(folder), *short, "--out", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "late/ahead/latency/no ghosts minus late/ahead/latency/none: 7 pairs on 7 routes" in said
    assert main(["report", str(folder), "--results-only", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "Does the intervention change driving?" in page
    assert "late / ahead / latency / no ghosts" in page


def test_what_all_arms_share_is_named_above_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One arm has no factor that varies; its link is named all the same."""
    folder = write_little(tmp_path / "runs", [], ROUTES, (1,))
    by_radio = PLAIN.replace_factors(link="nr_v2x")
    for route in ROUTES:
        write_attempt(folder, AttemptKey(by_radio, route, 1), CLEAN, "carlite 0.9.16")
    assert main(["tables", str(folder), "--results-only", "--out", str(tmp_path / "out")]) == 0
    assert "All arms have link=nr_v2x.\n" in capsys.readouterr().out
    more = by_radio.replace_factors(intervention="no ghosts")
    assert describe_shared_factors([by_radio, more]) == "All arms have link=nr_v2x."
    assert describe_shared_factors([PLAIN, by_radio]) == ""


def test_a_case_is_named_by_it(folder: Path) -> None:
    campaign = CampaignRecords(folder)
    key = find_case(campaign, "late/ahead/latency/intervention=no ghosts/3-s1")
    assert key == AttemptKey(MENDED, "3", 1)
    assert campaign.get_result_path(key).parent == folder / "episodes" / key.path / "try1"
    with pytest.raises(UserError, match="may be any of late/ahead/latency/3-s1, "):
        find_case(campaign, "late/latency/3-s1")
    assert find_case(campaign, "alone/3-s1").arm == Arm.from_factors(system="alone")


def test_a_factor_called_as_a_column_is_refused(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "runs", [], ("0",), (1,))
    arm = PLAIN.replace_factors(violated="yes")
    write_attempt(folder, AttemptKey(arm, "0", 1), CLEAN, "carlite 0.9.16")
    with pytest.raises(UserError, match="factor violated: the name is reserved"):
        collect_campaigns([folder])


@pytest.mark.thorough
def test_arms_of_several_folders_are_paired_by_route_and_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (
        write_little(tmp_path / name, [], routes, (1,))
        for name, routes in (("one", ROUTES), ("other", ROUTES[:4]))
    )
    for folder, routes, drive in ((one, ROUTES, STRUCK), (other, ROUTES[:4], CLEAN)):
        for arm in (PLAIN, OTHERS) if folder == other else (PLAIN,):
            for route in routes:
                write_attempt(folder, AttemptKey(arm, route, 1), drive, "carlite 0.9.16")
    arms = "late/latency", f"{other}:late/ahead/latency", f"{other}:late/connected/latency"
    assert main(["compare", str(one), *arms, "--out", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "other:late/ahead/latency minus late/ahead/latency: 4 pairs on 4 routes" in said
    assert "not paired, only in late/ahead/latency (3): 4-s1, 5-s1, 6-s1" in said
    rest = pd.read_csv(tmp_path / "out" / "compare_unpaired.csv")
    assert rest["route"].tolist() == [4, 5, 6, 4, 5, 6]
    table = pd.read_csv(tmp_path / "out" / "compare.csv")
    struck = table[table["measure"] == "collisions, %"]
    assert struck["difference"].tolist() == [-100.0, -100.0]
    assert main(["compare", str(one), "late", f"{other}:late"]) == 2
    assert (
        "late: several arms; there are late/ahead/latency, late/connected/latency"
        in capsys.readouterr().err
    )
    both = ["compare", str(one), "late/ahead", "late/connected", "--also", str(other)]
    assert main(both) == 2
    assert "is in more than one folder; give one" in capsys.readouterr().err

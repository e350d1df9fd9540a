"""Who cooperates is part of an arm: arms are planned as pairs and meet one ground truth."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.printing import tables, terminal
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from tests.campaign.tiny import composed, ledger, run, write_route

BOTH = "cooperation=[ahead,connected]"
SYSTEMS = "system=[ideal_single,ideal_late]"
PAIRED = [
    "ideal_single/none/none",
    "ideal_late/ahead/none",
    "ideal_late/ahead/latency",
    "ideal_late/connected/none",
    "ideal_late/connected/latency",
]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "bend", "hop")


def planned(routes: Path, *settings: str) -> CampaignPlan:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    return plan_campaign(composed(*files, *settings))


def test_every_cooperation_is_an_arm_of_systems_that_read_messages(routes: Path) -> None:
    made = planned(routes, BOTH, SYSTEMS, "interference=[none,latency]", "seeds=[1,2]")
    assert list(dict.fromkeys(str(key.arm) for key in made.attempts)) == PAIRED
    for arm in PAIRED:
        met = [(key.route, key.seed) for key in made.attempts if str(key.arm) == arm]
        assert met == [("bend", 1), ("hop", 1), ("bend", 2), ("hop", 2)]


@pytest.mark.thorough
def test_the_plan_names_the_common_truth(
    routes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", Console(file=out, width=160))
    monkeypatch.setattr(tables, "console", terminal.console)
    tables.show_plan(planned(routes, BOTH), tmp_path)
    text = " ".join(out.getvalue().split())
    assert (
        "truth reference: road users with at least 5 LiDAR returns of the ego or of a unit" in text
    )
    assert "connected" in text
    out.truncate(0)
    tables.show_plan(planned(routes), tmp_path)
    assert "truth" not in out.getvalue()
    assert "cooperation" not in out.getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize("truth", ["reference", "ego", "none"])
def test_a_truth_that_depends_on_who_cooperates_is_refused(routes: Path, truth: str) -> None:
    with pytest.raises(UserError, match=r"truth_filter=anyone .* ahead and connected are compared"):
        planned(routes, BOTH, "patterns.truth_filter=anyone")
    planned(routes, "cooperation=connected", "patterns.truth_filter=anyone")
    assert planned(routes, BOTH, f"patterns.truth_filter={truth}").truth.startswith(f"{truth}: ")


def test_a_condition_without_effect_in_one_cooperation_leaves_that_arm_out(routes: Path) -> None:
    made = planned(routes, BOTH, "system=ideal_late", "interference=[none,paper_code_latency]")
    arms = {str(key.arm) for key in made.attempts}
    assert arms == {*PAIRED[1::2], "ideal_late/ahead/paper_code_latency"}
    (why,) = made.unfit
    assert why.startswith("ideal_late / connected / paper_code_latency: ")


def test_no_cooperation_is_called_none(routes: Path) -> None:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    settings = composed(*files)
    settings["cooperation"]["none"] = settings["cooperation"]["ahead"]
    with pytest.raises(UserError, match=r"cooperation\.none is the name of arms whose system"):
        plan_campaign(settings)
    settings["cooperation"] = {}
    with pytest.raises(UserError, match="cooperation is empty"):
        plan_campaign(settings)


@pytest.mark.thorough
def test_arms_of_all_cooperations_meet_the_same_truth(routes: Path, tmp_path: Path) -> None:
    """Driven on the wheel, since truth comes from LiDARs: until the egos go different ways."""
    out = tmp_path / "out"
    short = ("routes.only=[hop]", "routes.hazards=null", "interference=none", f"out={out}")
    done = run(routes, BOTH, "system=ideal_late", *short)
    assert done.returncode == 1, "on so short a way no connected vehicle is met: arm without effect"
    silent = "arm without effect: ideal_late / connected / none: the system was given no message"
    assert silent in done.stdout
    assert {line["outcome"] for line in ledger(out)} == {"done"}
    campaign = CampaignRecords(out)
    truths = {
        str(key.arm): truth_of(campaign.read_attempt_table("boxes", key))
        for key in campaign.find_attempts()
    }
    assert set(truths) == set(PAIRED[1::2])
    first, other = truths.values()
    assert len(first) > 20
    assert first["counted"].nunique() == 2
    assert (first["hits_anyone"] != other["hits_anyone"]).any()
    common = list(first.columns.drop("hits_anyone"))
    pd.testing.assert_frame_equal(first[common], other[common])


def truth_of(boxes: pd.DataFrame) -> pd.DataFrame:
    """Return the true boxes of the first planning steps."""
    true = boxes[(boxes["source"] == "truth") & (boxes["frame"] <= 40)]
    return true.drop(columns=["pattern", "pattern_count"]).reset_index(drop=True)

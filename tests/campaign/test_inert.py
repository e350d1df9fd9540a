"""Disturbances that do nothing, from the plan to the analysis: refused, counted, or named."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from rich.console import Console

from analysis.__main__ import main as analyse
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.survey import survey_campaign
from harness.campaign.printing import tables, terminal
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords, read_stored_table
from tests.campaign.tiny import HAZARD, composed, run, write_route
from tests.once import once

AT = "harness.channel.interference"
LATE = f"{AT}.latency.Fixed, seconds"
RANDOM = f"{AT}.latency.Uniform, low"
NORMAL = f"{AT}.latency.Normal, mean"
OFF = f"{AT}.pose_error.Constant, x"
PAPER = f"{AT}.paper_code_latency.PaperCodeLatency"
LONG = "channel.allow_long_delays=true"

SIZE_ZERO = {
    "fixed": f"{LATE}: 0",
    "uniform": f"{RANDOM}: 0, high: 0",
    "pose": f"{OFF}: 0, y: 0, yaw: 0",
    "loss": f"{AT}.loss.Loss, probability: 0",
    "removed": f"{AT}.removed.Removed, share: 0",
    "ghosts": f"{AT}.ghosts.Ghosts, count: 0",
    "nothing": "",
}
REFUSED = {
    "milliseconds": ([f"{LATE}: 500"], [], r"seconds is 500 s, beyond 10 s; .* seconds=0\.5;"),
    "a range of them": ([f"{RANDOM}: 500, high: 1000"], [], "low is 500 s, beyond 10 s"),
    "undelayed": ([f"{PAPER}, undelayed: 1000"], [], "undelayed is 1000 s, beyond 10 s"),
    "minutes": ([f"{LATE}: 500"], [LONG], r"500 s old .* channel\.maximum_age is 2 s"),
    "too old": ([f"{LATE}: 1.9"], ["channel.maximum_age=1.95"], "is 2 s old at the first"),
    "now and then": ([f"{RANDOM}: 0.5, high: 2.5"], [], "is 2.6 s old at the first"),
    "on average": ([f"{NORMAL}: 2.5, deviation: 1"], [], "is 2.6 s old at the first"),
    "together": ([f"{LATE}: 1.5", f"{LATE}: 1.5"], [], "after a delay of 3 s"),
    "no age at all": ([f"{LATE}: 0.5"], ["channel.maximum_age=0"], "maximum_age is 0 s"),
    "picometres": ([f"{OFF}: 1e-12, y: 0, yaw: 0"], [], "1e-12 m and 0 degrees are no displ"),
    "nanoseconds": ([f"{LATE}: 1e-7"], [], "latency: 1e-07 s is no delay; ask for more, or"),
}
WITHOUT_PARTNERS = {
    "no share": ("cooperation=connected", "cooperation.connected.connected_share=0"),
    "no range": ("cooperation=ahead", "cooperation.ahead.range=0"),
    "no place": ("cooperation=mixed", "cooperation.mixed.maximum=0"),
}


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One route, whose name has a number, with a pedestrian behind a parked car."""
    folder = write_route(tmp_path_factory.mktemp("routes"), "bend-3")
    hazard = {**HAZARD, "route": "bend-3"}
    (folder / "hazards.json").write_text(json.dumps({"version": 1, "hazards": [hazard]}))
    return folder


def condition(name: str, *disturbances: str) -> str:
    """Return the setting that adds a condition."""
    listed = ", ".join(
        f"{{_target_: {disturbance}}}" for disturbance in disturbances if disturbance
    )
    return f"+interference.{name}=[{listed}]"


def planned(routes: Path, *settings: str) -> CampaignPlan:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    return plan_campaign(composed(*files, "system=ideal_late", "interference=none", *settings))


def conditions(made: CampaignPlan) -> list[str]:
    return [key.arm.condition for key in made.attempts]


@pytest.mark.parametrize("name", SIZE_ZERO)
def test_size_zero_is_driven_once_as_none(routes: Path, name: str) -> None:
    made = planned(routes, condition(name, SIZE_ZERO[name]), condition("late", f"{LATE}: 0.4"))
    assert conditions(made) == ["none", "late"]
    assert made.size_zero == (name,)


def test_without_none_in_the_list_size_zero_is_it(routes: Path) -> None:
    settings = composed(
        f"routes.file={routes / 'routes.xml'}",
        "routes.hazards=null",
        "routes.only=null",
        "system=ideal_late",
    )
    nothing: Any = {"_target_": f"{AT}.latency.Fixed", "seconds": 0.0}
    settings["interference"] = {"a": [nothing], "b": [nothing]}
    made = plan_campaign(settings)
    assert conditions(made) == ["none"]
    assert made.size_zero == ("a", "b")


def test_size_zero_next_to_another_is_left_out(routes: Path) -> None:
    made = planned(routes, condition("both", f"{LATE}: 0", f"{LATE}: 0.4"))
    assert (conditions(made), made.size_zero) == (["none", "both"], ())


def test_the_plan_says_so(routes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = io.StringIO()
    for module in (terminal, tables):
        monkeypatch.setattr(module, "console", Console(file=out, width=120))
    tables.show_plan(planned(routes, condition("zero", f"{LATE}: 0")), tmp_path)
    assert "size 0 zero: as none, which is driven once" in " ".join(out.getvalue().split())


@pytest.mark.thorough
@pytest.mark.parametrize("name", REFUSED)
def test_what_could_show_nothing_is_refused(routes: Path, name: str) -> None:
    disturbances, settings, says = REFUSED[name]
    with pytest.raises(UserError, match=says) as refused:
        planned(routes, condition("mine", *disturbances), *settings)
    assert str(refused.value).startswith("configuration: interference.mine: ")
    assert "\n" not in str(refused.value)


def test_long_delays_are_driven_where_they_are_meant(routes: Path) -> None:
    meant = (LONG, "channel.maximum_age=60")
    assert conditions(planned(routes, condition("late", f"{LATE}: 12"), *meant)) == ["none", "late"]
    assert conditions(planned(routes, "channel.maximum_age=0")) == ["none"]


@pytest.mark.parametrize("name", WITHOUT_PARTNERS)
def test_cooperation_without_partners_is_refused(routes: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"cooperation\.\w+: no agent can ever be a partner"):
        planned(routes, *WITHOUT_PARTNERS[name])
    planned(routes, *WITHOUT_PARTNERS[name], "system=oracle")


def test_none_is_nothing_but_none(routes: Path) -> None:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    settings = composed(*files, "system=ideal_late")
    some: Any = {"_target_": f"{AT}.loss.Loss", "probability": 0.5}
    settings["interference"]["none"] = [some]
    with pytest.raises(UserError, match=r"interference\.none: holds loss; give"):
        plan_campaign(settings)


@pytest.fixture(scope="module")
def driven(
    routes: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Drive one system under conditions that come to nothing, or to silence, and one alone."""
    settings = (
        "traffic=none",
        "system=[ideal_late,ideal_single]",
        "interference=none",
        condition("lost", f"{AT}.loss.Loss, probability: 1"),
        condition("emptied", f"{AT}.removed.Removed, share: 1"),
        condition("minutes", f"{LATE}: 500"),
        condition("undelayed", f"{PAPER}, undelayed: 1000"),
        LONG,
        "channel.maximum_age=2000",
    )
    return once(
        tmp_path_factory,
        "inert",
        lambda folder: (folder / "out", run(routes, *settings, f"out={folder / 'out'}")),
    )


def table_of(out: Path, name: str, system: str, of: str) -> pd.DataFrame:
    """Return a table of the one attempt of an arm."""
    campaign = CampaignRecords(out)
    (key,) = [
        key
        for key in campaign.find_attempts()
        if (key.arm.system, key.arm.condition) == (system, of)
    ]
    return read_stored_table(campaign.get_result_path(key).with_name(f"{name}.parquet"), name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["frames", "boxes", "events"])
@pytest.mark.parametrize("silent", ["lost", "emptied"])
def test_all_lost_or_removed_is_the_arm_without_cooperation(
    driven: tuple[Path, subprocess.CompletedProcess[str]], silent: str, name: str
) -> None:
    out, _ = driven
    one = table_of(out, name, "ideal_late", silent)
    other = table_of(out, name, "ideal_single", "none")
    heard = ["messages", "oldest_age"] if name == "frames" else []
    assert_frame_equal(one.drop(columns=heard), other.drop(columns=heard), check_exact=True)
    if name == "frames":
        together = table_of(out, name, "ideal_late", "none")
        assert len(one) > 20
        assert (together.messages > 0).any()
        assert together.throttle.tolist() != one.throttle.tolist()


def messages_of(out: Path, system: str, of: str) -> dict[str, Any]:
    """Return what an attempt says of its messages."""
    campaign = CampaignRecords(out)
    (result,) = [
        campaign.read_result(key)["crucible"]["messages"]
        for key in campaign.find_attempts()
        if (key.arm.system, key.arm.condition) == (system, of)
    ]
    record: dict[str, Any] = result
    return record


@pytest.mark.thorough
def test_attempts_record_what_arrived(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    out, _ = driven
    lost, minutes = (
        messages_of(out, "ideal_late", "lost"),
        messages_of(out, "ideal_late", "minutes"),
    )
    assert (lost["used"], lost["silence_asked"]) == (0, True)
    assert (minutes["used"], minutes["silence_asked"]) == (0, False)
    assert lost["sent"] == minutes["sent"] > 20
    emptied, undelayed = (
        messages_of(out, "ideal_late", "emptied"),
        messages_of(out, "ideal_late", "undelayed"),
    )
    assert 0 < emptied["changed"] <= emptied["uses"]
    assert undelayed["used"] > 20
    assert undelayed["disturbances"] == {"paper_code_latency": 0}
    assert messages_of(out, "ideal_single", "none") == {
        "reads": False,
        "fusion": "none",
        **dict.fromkeys(("sent", "used", "uses", "late", "displaced", "changed", "missing"), 0),
        "silence_asked": False,
        "disturbances": {},
    }
    sent = table_of(out, "messages", "ideal_late", "minutes")
    assert set(sent["delay"]) == {500.0}
    assert set(sent["fate"]) == {"in_flight"}


FAULTS = {
    "minutes": "the system was given no message in its one attempt",
    "undelayed": "paper_code_latency made no difference to what the system was given in its one",
}


@pytest.mark.thorough
def test_arms_that_show_nothing_are_named_and_are_no_rows(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = driven
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if "what happened" in line)
    ledger = [line for line in lines[:start] if line.startswith("  ideal_late/")]
    assert sum("without messages" in line for line in ledger) == 2
    rows = [line for line in lines[start:] if line.startswith("│")]
    for name, fault in FAULTS.items():
        assert not any(name in row for row in rows)
        (named,) = [line for line in lines[start:] if name in line]
        assert named.startswith("arm without effect: ")
        assert fault in named
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert next(row[1:4] for row in cells if "lost" in row) == ["lost", "1", "1"]
    assert next(row[1:4] for row in cells if "emptied" in row) == ["emptied", "1", "0"]


@pytest.mark.thorough
def test_so_they_are_in_status(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:

    states = {
        arm.arm.condition: arm
        for arm in survey_campaign(driven[0]).arms
        if arm.arm.system == "ideal_late"
    }
    assert {name for name, state in states.items() if state.fault} == set(FAULTS)
    assert {name for name, state in states.items() if state.without_messages} == {
        "lost",
        "minutes",
    }


@pytest.mark.thorough
def test_and_in_the_analysis(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = driven
    assert analyse(["tables", str(out), "--results-only", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    for name, fault in FAULTS.items():
        (named,) = [line for line in said.splitlines() if fault in line]
        assert name in named
    written = pd.read_csv(tmp_path / "driving.csv")
    assert set(written["condition"]) == {"none", "lost", "emptied"}
    silent = written[(written["condition"] == "lost") & (written["measure"] == "without messages")]
    assert list(silent["value"]) == [1.0]
    assert set(pd.read_csv(tmp_path / "attempts.csv")["condition"]) == set(written["condition"])

"""Windows of repairs: parts of a drive before and after the meeting with the hazard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign.attempt.meetings import compute_seconds_to_meeting
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.common.errors import UserError
from harness.evaluation.interventions.meeting_window import WINDOW_PARTS, build_meeting_window
from harness.evaluation.interventions.repair import Repair
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from harness.types.record_names import DIFFERENCES, PATTERNS
from harness.types.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.hazard import Hazard
from tests.campaign.tiny import composed, run, write_route
from tests.once import once

REPAIR = "harness.evaluation.interventions.repair.Repair"
EGO = EgoState(frame=7, time=10.0, vehicle_in_world=Pose(0.0, 0.0), speed=8.0, station=0.0)


class Meets:
    """A hazard whose meeting is at a fixed moment."""

    def __init__(self, time: float | None) -> None:
        self.time = time

    def expect_meeting_time(self, ego: EgoState) -> float | None:
        return self.time


def seconds_to(*times: float | None) -> float | None:
    return compute_seconds_to_meeting(cast(Sequence[Hazard], [Meets(time) for time in times]), EGO)


@given(to_meeting=st.floats(-50.0, 50.0), last=st.floats(0.1, 10.0))
def test_every_step_is_in_one_part(to_meeting: float, last: float) -> None:
    windows = [build_meeting_window([part], last) for part in WINDOW_PARTS]
    open_now = [
        window.is_open_in(window.find_part(to_meeting)) for window in windows if window is not None
    ]
    assert open_now.count(True) == 1
    assert open_now == [to_meeting > last, 0.0 < to_meeting <= last, to_meeting <= 0.0]


def test_without_a_meeting_no_window_is_open() -> None:
    window = build_meeting_window(WINDOW_PARTS, 2.0)
    assert window is not None
    assert not window.is_open_in(window.find_part(None))


def test_the_next_meeting_counts_and_after_all_the_last_one() -> None:
    assert seconds_to(14.0, 12.0, 3.0) == 2.0
    assert seconds_to(4.0, 9.0, None) == -1.0
    assert seconds_to(None) is None
    assert seconds_to() is None


@pytest.mark.parametrize(
    ("parts", "last", "words"),
    [
        (["late"], None, r"window and last: both are needed"),
        (None, 2.0, r"window and last: both are needed"),
        (["soon"], 2.0, r"window: 'soon': unknown; valid: early, late, after"),
        (["late", "late"], 2.0, r"window: late, late: one twice"),
        (["late"], 0.0, r"last = 0 s: must be > 0"),
    ],
)
def test_bad_windows_are_refused(parts: list[str] | None, last: float | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Repair(["CCME"], window=parts, last=last)


def test_a_bad_window_of_the_settings_is_one_line() -> None:
    part = f"+intervention.x={{_target_: {REPAIR}, patterns: [CCME], window: [soon], last: 2.0}}"
    with pytest.raises(UserError, match=r"intervention\.x: window: 'soon'") as raised:
        refuse_misshapen(composed(part))
    assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "bend", "hop")


def planned(routes: Path, *settings: str) -> CampaignPlan:
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    return plan_campaign(composed(*files, "system=ideal_late", "interference=latency", *settings))


def test_a_window_is_refused_where_no_hazard_meets_the_ego(routes: Path, tmp_path: Path) -> None:
    chosen = ("intervention=windows_CCME", "routes.only=null")
    with pytest.raises(UserError, match=r"windows?.* no meeting on hop: no hazard") as raised:
        planned(routes, *chosen)
    assert "\n" not in str(raised.value)
    assert len(planned(routes, chosen[0], "routes.only=[bend]").attempts) == 8
    assert len(planned(routes, "intervention=repair_CCME", "routes.only=null").attempts) == 4
    # a hazard without a road user is no meeting either
    slippery = {"route": "bend", "kind": "control_loss", "station": 40.0}
    file = tmp_path / "hazards.json"
    file.write_text(json.dumps({"version": 1, "hazards": [slippery]}))
    with pytest.raises(UserError, match="no meeting on bend"):
        planned(routes, chosen[0], "routes.only=[bend]", f"routes.hazards={file}")


@pytest.mark.thorough
def test_shipped_windows_are_the_parts_of_shipped_repairs() -> None:
    for file, patterns in (("windows_CCME", ["CCME"]), ("windows_on_time", list(DIFFERENCES))):
        parts = composed(f"intervention={file}")["intervention"].values()
        chosen = [(part.get("window"), part.get("last")) for part in parts]
        windows = [([name], last) for last in (1.0, 2.0, 3.0) for name in ("late", "early")]
        assert chosen == [(None, None), *windows]
        assert all(part["patterns"] == patterns for part in parts)
    causes = composed("intervention=windows_causes")["intervention"]
    shares = composed("intervention=on_time_shares")["intervention"]
    for name in ("missed", "mislocalised", "additional", "rest"):
        whole, late, early = (
            causes[f"on_time_{name}{end}"] for end in ("", "_last_2s", "_before_2s")
        )
        assert whole == shares[f"on_time_{name}"]
        assert late == {**whole, "window": ["late"], "last": 2.0}
        assert early == {**whole, "window": ["early"], "last": 2.0}


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of drives past a hazard with and without windows."""
    return once(tmp_path_factory, "windows", drive)


def drive(folder: Path) -> Path:
    out, routes = folder / "out", write_route(folder, "bend")
    windows = [
        f"+intervention.{name}={{_target_: {REPAIR}, patterns: [{', '.join(PATTERNS)}],"
        f" window: [{parts}], last: 2.0}}"
        for name, parts in (("whole", "early,late,after"), ("empty", ""))
    ]
    common = ("system=ideal_late", "interference=latency", "traffic=none", f"out={out}")
    done = run(routes, "intervention=repair_all", *windows, *common)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.thorough
def test_all_parts_are_the_whole_repair_and_none_is_no_repair(driven: Path) -> None:
    """Byte for byte; the records name the window, and the steps of each part."""
    places = {
        key.arm["intervention"]: place
        for key, place in CampaignRecords(driven).find_attempts().items()
    }
    for one, other in (("none", "empty"), ("repair_all", "whole")):
        for table in TABLES:
            file = f"{table}.parquet"
            same = (places[one] / file).read_bytes() == (places[other] / file).read_bytes()
            assert same, (other, table)
    changes = [places[name] / "box_changes.parquet" for name in ("repair_all", "whole")]
    assert changes[0].read_bytes() == changes[1].read_bytes()
    assert len(read_stored_table(changes[0], "box_changes")) > 0
    records = {
        name: json.loads((place / "result.json").read_text())["crucible"]
        for name, place in places.items()
    }
    windows = {name: records[name]["intervention"].pop("window") for name in ("empty", "whole")}
    assert windows["empty"]["parts"] == []
    assert windows["whole"]["parts"] == [*WINDOW_PARTS]
    # 2 s are ten planning steps, and the drive has all parts
    steps = windows["whole"]["steps"]
    assert steps["late"] == 10
    assert min(steps.values()) > 0
    assert sum(steps.values()) == records["whole"]["intervention"]["steps"]
    for name in ("repair_all", "whole"):
        records[name]["intervention"].pop("name")
        records[name].pop("attempt")
    assert records["repair_all"] == records["whole"]

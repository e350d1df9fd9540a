"""Interventions are arms: planned as pairs, recorded, and without any change of what is not one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.attempt.intervening import build_arm_intervention
from harness.campaign.folder.inputs import list_file_changes, with_inputs
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.config import hash_settings
from harness.campaign.twins.record_diff import list_record_differences
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.errors import AttemptError, UserError
from harness.common.installation import CONF
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from harness.records.twins import TWINS, TwinChange
from harness.types.record_names import PATTERNS
from tests.campaign.tiny import composed, run, write_route
from tests.interventions.street import model_with
from tests.once import once

NOTHING = (
    "+intervention.nothing={_target_: harness.evaluation.interventions.repair.Repair, patterns: []}"
)
FILES = ("routes.hazards=null", "routes.only=null")


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step", "hop")


def planned(routes: Path, *settings: str) -> CampaignPlan:
    return plan_campaign(composed(f"routes.file={routes / 'routes.xml'}", *FILES, *settings))


def test_interventions_are_arms_next_to_those_without(routes: Path) -> None:
    settings = ("system=[oracle,ideal_late]", "interference=latency")
    made = planned(routes, *settings, "intervention=[repair_LADE,repair_all]")
    arms = list(dict.fromkeys(str(key.arm) for key in made.attempts))
    bases = ("oracle/none/none", "ideal_late/ahead/latency")
    more = ("", "/intervention=repair_LADE", "/intervention=repair_all")
    assert arms == [base + name for base in bases for name in more]
    met: dict[str, list[Any]] = {str(key.arm): [] for key in made.attempts}
    for key in made.attempts:
        met[str(key.arm)].append((key.route, key.seed))
    assert len({tuple(pairs) for pairs in met.values()}) == 1


@pytest.mark.thorough
def test_a_whole_system_is_left_out_by_its_name(
    routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    mine = "+system.mine._target_=tests.campaign.systems.Deaf"
    made = planned(
        routes, "system=ideal_late", mine, "interference=none", "intervention=repair_all"
    )
    arms = {str(key.arm) for key in made.attempts}
    assert arms == {
        "ideal_late/ahead/none",
        "ideal_late/ahead/none/intervention=repair_all",
        "mine/ahead/none",
    }
    (why,) = made.unfit
    assert why.startswith("mine / none / repair_all: it has no perceive and drive")
    with pytest.raises(UserError, match="intervention with mine: it has no perceive and drive"):
        planned(routes, "system=[]", mine, "interference=none", "intervention=repair_all")


def test_settings_without_interventions_do_not_name_the_group() -> None:
    """So that folders from before there were any keep their digests and settings."""
    assert "intervention" not in composed("study=demo")


@pytest.mark.thorough
def test_other_interventions_are_other_settings() -> None:
    digests = {hash_settings(composed(f"intervention={name}")) for name in ("[]", "repair_all")}
    assert len(digests | {hash_settings(composed("intervention=repair_LADE"))}) == 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["+intervention.none=null"], r"intervention\.none"),
        (["+intervention.x={patterns: [LADE]}"], r"intervention\.x"),
        (
            ["intervention=repair_LADE", "intervention.repair_LADE.patterns=[LADD]"],
            r"intervention\.repair_LADE: patterns: 'LADD': unknown; valid: LCME",
        ),
        (
            ["intervention=inject_doses", "intervention.inject_1.model=/nowhere.json"],
            r"/nowhere\.json: not a model of errors \(No such file",
        ),
        (
            ["+intervention.x._target_=harness.evaluation.windows.WindowRules"],
            r"only harness\.evaluation\.interventions\.\*",
        ),
    ],
)
def test_bad_interventions_are_one_line(settings: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        refuse_misshapen(composed(*settings))
    assert "\n" not in str(raised.value)


def test_a_model_of_other_steps_is_refused_before_anything_is_driven(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(model_with(period=0.1).format_text())
    settings = ("intervention=inject_doses", f"intervention.inject_1.model={file}")
    with pytest.raises(UserError, match=r"steps of 0\.1 s, and planning steps are 0\.2 s"):
        refuse_misshapen(composed(*settings))


@pytest.mark.thorough
def test_a_model_belongs_to_the_campaign(tmp_path: Path) -> None:
    """Its digest is an input: another file under the same name is refused by attempts."""
    file = tmp_path / "model.json"
    file.write_text(model_with().format_text())
    chosen = ("intervention=inject_doses", f"intervention.inject_1.model={file}")
    settings = with_inputs(composed(*chosen))
    assert set(settings["inputs"]["intervention"]) == set(settings["intervention"])
    assert "intervention" not in with_inputs(composed())["inputs"]
    assert list_file_changes(settings, ["inject_half"], "intervention") == []
    arm = Arm.from_factors(system="oracle", intervention="inject_half")
    assert build_arm_intervention(settings, arm, 1) is not None
    assert build_arm_intervention(settings, arm.replace_factors(intervention="none"), 1) is None
    file.write_text(model_with(ghosts_a_step=9.0).format_text())
    with pytest.raises(AttemptError, match=r"other files .* inputs\.intervention\.inject_half"):
        build_arm_intervention(settings, arm, 1)


@pytest.mark.thorough
def test_shipped_subsets_are_all_64_and_have_the_names_of_the_single_files() -> None:
    every = patterns_in("repair_subsets")
    assert len({frozenset(chosen) for chosen in every.values()}) == len(every) == 63
    others = [f"repair_{name}" for name in PATTERNS]
    for file in (*others, "repair_all", "repair_all_but_one", "repair_permutations"):
        for name, chosen in patterns_in(file).items():
            assert every[name] == chosen


def patterns_in(file: str) -> dict[str, Any]:
    assert (CONF / "intervention" / f"{file}.yaml").is_file()
    parts = composed(f"intervention={file}")["intervention"]
    return {name: part["patterns"] for name, part in parts.items()}


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign with four interventions."""
    return once(tmp_path_factory, "interventions", drive)


def drive(folder: Path) -> Path:
    """Drive it."""
    out, routes = folder / "out", write_route(folder, "step")
    short = (
        "patterns.truth_filter=none",
        "routes.only=[step]",
        "routes.hazards=null",
        "interference=latency",
        f"out={out}",
    )
    model = folder / "model.json"
    model.write_text(model_with().format_text())
    inject = (
        "traffic.vehicles=120",
        "+intervention.inject._target_=harness.evaluation.interventions.inject.Inject",
        f"+intervention.inject.model={model}",
    )
    done = run(routes, "system=ideal_late", "intervention=repair_all", NOTHING, *inject, *short)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def places_of(out: Path) -> dict[str, Path]:
    """Return where the records of each intervention are."""
    return {
        key.arm["intervention"]: place
        for key, place in CampaignRecords(out).find_attempts().items()
    }


@pytest.mark.thorough
def test_arms_with_interventions_are_driven_and_recorded(driven: Path) -> None:
    """Repairing nothing gives the plain arm's bytes; repairing all leaves no pattern."""
    places = places_of(driven)
    assert set(places) == {"none", "nothing", "repair_all", "inject"}
    plain = places["none"]
    assert not (plain / "box_changes.parquet").exists()
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (places["nothing"] / file).read_bytes(), table
    records = {
        name: json.loads((place / "result.json").read_text())["crucible"]
        for name, place in places.items()
    }
    assert "intervention" not in records["none"]
    record = records["nothing"].pop("intervention")
    assert (record["changed"], record["patterns"]) == (0, [])
    assert record["steps"] == len(read_stored_table(plain / "frames.parquet", "frames"))
    for part in ("attempt", "intervention"):
        records["none"].pop(part, None)
        records["nothing"].pop(part, None)
    assert records["none"] == records["nothing"]
    frames = read_stored_table(places["repair_all"] / "frames.parquet", "frames")
    assert not frames[list(PATTERNS)].to_numpy().any()
    for name in ("repair_all", "inject"):
        changes = read_stored_table(places[name] / "box_changes.parquet", "box_changes")
        record = records[name]["intervention"]
        counted = changes.groupby(["change", "pattern"], observed=True).size()
        recorded = {
            (kind, pattern): count
            for kind in ("removed", "moved", "added")
            for pattern, count in record[kind].items()
        }
        assert recorded == counted.to_dict()
        assert record["changed"] == changes["frame"].nunique() > 0
        assert record["truth_filter"] == "none"
    injected = read_stored_table(places["inject"] / "frames.parquet", "frames")
    assert injected[["LCME", "LADE"]].sum().min() > 0
    assert not injected["CADE"].any(), "this ego alone has no false detections to repeat"


@pytest.mark.thorough
def test_a_twin_keeps_the_intervention(driven: Path, tmp_path: Path) -> None:
    """Without a change it is equal to its attempt byte for byte."""
    out = shutil.copytree(driven, tmp_path / "out")
    (key,) = (
        key for key in CampaignRecords(out).find_attempts() if key.arm["intervention"] == "inject"
    )
    CampaignTwins(out, progress="quiet").drive_twins([AttemptTwin(key, TwinChange())])
    twins = places_of(out / TWINS)
    assert set(twins) == {"inject"}
    assert len(read_stored_table(twins["inject"] / "box_changes.parquet", "box_changes")) > 0
    assert list_record_differences(places_of(out)["inject"], twins["inject"]) == []

"""What verification answers: on the same machine, on others, and when something changed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from analysis.__main__ import main as analysis
from crucible.subcommands import dispatch_subcommand
from crucible.verification.comparing import (
    ALL,
    WITHOUT,
    compare_redriven_attempt,
    should_have_equal_bytes,
)
from crucible.verification.driving import RedriveSettings, drive_attempts_again
from crucible.verification.reference import read_reference
from crucible.verification.revisions import describe_other_revision
from harness.common.errors import UserError
from harness.common.kernels import NEEDED, read_processor_features
from harness.records.digests import hash_bytes, hash_file
from harness.records.ledger import iter_ledger_lines
from harness.records.packing.parts import read_packed_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.world.hazards.spec import HazardSpec
from tests.checks.test_hazard import Barrel
from tests.verification.conftest import Study

pytestmark = pytest.mark.thorough  # its study is a campaign that is driven twice

Record = dict[str, Any]


@pytest.fixture
def copy(study: Study, tmp_path: Path) -> Study:
    """The study with what was driven again, to be changed."""
    shutil.copytree(study.reference.parent, tmp_path / "study")
    folder = tmp_path / "study"
    pack = folder / study.pack.relative_to(study.reference.parent)
    return Study(study.driven, pack, folder / "reference.json", folder / "again")


def verify(study: Study, *words: str) -> int:
    return dispatch_subcommand(["verify", str(study.reference), "--out", str(study.again), *words])


def change(study: Study, how: Callable[[Record], object]) -> None:
    """Change the reference."""
    record = json.loads(study.reference.read_text())
    how(record)
    study.reference.write_text(json.dumps(record))


def repack(study: Study, column: str, replace: Callable[[Any], Any]) -> None:
    """Change a column of the packed file, and have the reference name the new one."""
    table = pq.read_table(study.pack)
    place, field = table.column_names.index(column), table.schema.field(column)
    values = pa.array([replace(value) for value in table[column].to_pylist()], pa.string())
    pq.write_table(table.set_column(place, field, values.cast(field.type)), study.pack)
    digest = hash_file(study.pack)
    change(study, lambda record: record["campaigns"][0]["packs"].update({name_of(study): digest}))


def name_of(study: Study) -> str:
    return study.pack.relative_to(study.reference.parent).as_posix()


def another_processor(record: Record) -> None:
    record["platform"]["model"] = "another"


def another_c_library(record: Record) -> None:
    another_processor(record)
    record["platform"]["libc"] = "glibc 2.0"


def older_processor(record: Record) -> None:
    another_processor(record)
    record["platform"]["features"] = ["avx", "sse4_2"]


def other_packages(record: Record) -> None:
    another_processor(record)
    record["platform"]["versions"]["numpy"] = "1.0"


def test_the_reference_names_all_that_others_need(study: Study) -> None:
    record = json.loads(study.reference.read_text())
    (campaign,) = record["campaigns"]
    assert campaign["packs"] == {"packs/part.parquet": hash_file(study.pack)}
    assert campaign["arms"] == ["ideal_late/ahead/loss", "ideal_late/ahead/none"]
    assert campaign["overrides"] == ["system=ideal_late", "simulator.maps=maps"]
    protocol = study.reference.with_name("protocol.md")
    assert record["protocol"] == {"file": "protocol.md", "sha256": hash_file(protocol)}
    assert list(record["towns"]["files"]) == ["Crucible05"]
    assert record["platform"]["versions"] == CampaignRecords(study.driven).header["versions"]
    assert "jane" not in study.reference.read_text()
    assert "/home" not in study.reference.read_text()


def test_a_placebo_that_ends_otherwise_does_not_agree(study: Study) -> None:
    placebo = json.loads(study.reference.read_text())["placebo"]
    assert (placebo["condition"], placebo["of"], placebo["n"]) == ("loss", "none", 1)
    assert placebo["equal"] == dict.fromkeys(("outcome", "kind", "frame", "driving_score"), 0)
    assert placebo["by_outcome"] == {"clean": {"n": 1, "equal": 0}}


@pytest.mark.usefixtures("prints_fit")
def test_what_was_driven_is_equal_and_not_driven_again(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = len(list(iter_ledger_lines(study.again / "out")))
    assert verify(study) == 0
    printed = capsys.readouterr().out
    assert "2 attempts driven again on a machine like the first" in printed
    assert "equal byte for byte: 2; must be: all" in printed
    assert len(list(iter_ledger_lines(study.again / "out"))) == tried == 2


def test_status_and_tables_of_a_driven_campaign_unpacked(study: Study, tmp_path: Path) -> None:
    (folder,) = unpack_campaigns([study.pack], tmp_path / "study")
    assert dispatch_subcommand(["status", str(folder)]) == 0
    tables = []
    for place in (study.driven, folder):
        out = tmp_path / f"{place.parent.name}-tables"
        words = ["ideal_late/none", "ideal_late/loss", "--out", str(out)]
        assert analysis(["compare", str(place), *words]) == 0
        tables.append((out / "compare.csv").read_bytes())
    assert tables[0] == tables[1]


def other_town(study: Study) -> None:
    change(study, lambda record: record["towns"]["files"].update(Crucible05="0" * 64))


def other_schema(study: Study) -> None:
    change(study, lambda record: record.update(schema=1))


def other_protocol(study: Study) -> None:
    study.reference.with_name("protocol.md").write_text("What we did.\n")


def other_routes(study: Study) -> None:
    change(study, lambda record: record["campaigns"][0].update(laid="0" * 64))


def other_pack(study: Study) -> None:
    study.pack.write_bytes(study.pack.read_bytes() + b" ")


def lost_attempts(study: Study) -> None:
    change(study, lambda record: record["campaigns"][0].update(attempts=3))


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (other_town, "Crucible05: another map"),
        (other_schema, "schema of records: 1 -> "),
        (other_protocol, "protocol.md: another file"),
        (other_routes, "out: other routes"),
        (other_pack, "packs/part.parquet: another file"),
        (lost_attempts, "out: 3 attempts -> 2"),
    ],
)
def test_a_changed_definition_is_named(
    copy: Study,
    alter: Callable[[Study], object],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    alter(copy)
    assert verify(copy) == 1
    assert f"changed: {said}" in capsys.readouterr().out


def test_other_bytes_on_the_same_machine_are_a_change(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    repack(copy, "sha256", lambda digest: digest)
    assert verify(copy) == 0
    table = pq.read_table(copy.pack)
    wrong = {
        digest: "0" * 64
        for digest, kind in zip(table["sha256"].to_pylist(), table["kind"].to_pylist(), strict=True)
        if kind == "attempt"
    }
    repack(copy, "sha256", lambda digest: wrong.get(digest, digest))
    capsys.readouterr()
    assert verify(copy) == 1
    printed = capsys.readouterr().out
    assert "equal byte for byte: 0; must be: all" in printed
    assert "changed: out/ideal_late/ahead/none/1-s1: other bytes: in tables that" in printed
    change(copy, another_processor)
    assert verify(copy) == (1 if read_processor_features() >= NEEDED else 0)
    shared = "without networks" if read_processor_features() >= NEEDED else "none"
    assert f"equal byte for byte: 0; must be: {shared}" in capsys.readouterr().out
    for otherwise in (another_c_library, older_processor, other_packages):
        change(copy, otherwise)
        assert verify(copy) == 0
        printed = capsys.readouterr().out
        assert "equal byte for byte: 0; must be: none" in printed
        assert "verdicts: 0 identical, 2 within tolerance, 0 differs" in printed
        line = "within tolerance: out/ideal_late/ahead/none/1-s1: in tables that are not packed"
        assert line in printed
    assert verify(copy, "--exact") == 1
    printed = capsys.readouterr().out
    assert "equal byte for byte: 0; must be: all" in printed
    assert "changed: out/ideal_late/ahead/none/1-s1: other bytes: in tables that" in printed


def test_another_revision_is_named_before_drives_and_where_records_differ(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    git = re.compile(r"^git: .*$", re.MULTILINE)
    texts = [text for text in pq.read_table(copy.pack)["text"].to_pylist() if text]
    renamed = {text: git.sub("git: 0123456789ab", text) for text in texts}
    digests = {hash_bytes(old.encode()): hash_bytes(new.encode()) for old, new in renamed.items()}
    repack(copy, "text", lambda text: renamed.get(text, text))
    repack(copy, "sha256", lambda digest: digests.get(digest, digest))
    assert verify(copy) == 0
    printed = capsys.readouterr().out
    assert "revision: the study was driven at revision 0123456789ab, and this is " in printed
    assert "check out 0123456789ab to compare equal code" in printed
    assert "may explain what differs" not in printed
    last = [text for text in pq.read_table(copy.pack)["sha256"].to_pylist() if text][-2]
    repack(copy, "sha256", lambda digest: "1" * 64 if digest == last else digest)
    assert verify(copy) == 1
    assert "the other revision, named above, may explain what differs" in capsys.readouterr().out


def test_a_study_of_this_revision_needs_no_line_on_revisions() -> None:
    assert describe_other_revision(["0123456789ab"], "0123456789ab") == ""
    assert describe_other_revision([], None) == ""
    assert "another or unknown revision" in describe_other_revision(["0123456789ab"], None)
    assert "0123456789ab, 2222222" in describe_other_revision(["0123456789ab", "2222222"], "1" * 12)


def test_a_result_that_differs_is_named_where_it_does(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    repack(
        copy,
        "text",
        lambda text: text.replace('"collided": true', '"collided": false') if text else text,
    )
    wrong = [text for text in pq.read_table(copy.pack)["sha256"].to_pylist() if text]
    repack(copy, "sha256", lambda digest: "1" * 64 if digest == wrong[-2] else digest)
    assert verify(copy) == 1
    assert "other bytes: in the result: crucible.collided" in capsys.readouterr().out


def test_a_result_that_its_records_contradict_is_a_change(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    change(copy, other_packages)
    key = sorted(CampaignRecords(copy.again / "out").find_attempts())[0]
    file = CampaignRecords(copy.again / "out").get_result_path(key)
    result = json.loads(file.read_text())
    result["crucible"]["penalty"] = 0.25
    result["crucible"]["patterns"]["total"]["CCME"] += 1
    file.write_text(json.dumps(result))
    assert verify(copy) == 1
    printed = capsys.readouterr().out
    assert f"changed: out/{key}: result: penalty is 0.25, by its records " in printed
    assert f"changed: out/{key}: result: patterns.total.CCME is " in printed


@pytest.mark.parametrize(
    ("expected", "network", "elsewhere", "must"),
    [
        (ALL, True, False, True),
        (ALL, True, True, False),
        (ALL, False, True, True),
        (WITHOUT, True, False, False),
        (WITHOUT, False, True, True),
        ("none", False, False, False),
    ],
)
def test_networks_that_another_processor_drove_need_not_be_equal(
    study: Study, expected: str, network: bool, elsewhere: bool, must: bool
) -> None:
    (campaign,) = read_packed_campaigns([study.pack]).values()
    attempt = campaign.attempts[0]
    place = CampaignRecords(study.again / "out").get_result_path(attempt.key).parent
    one = replace(
        compare_redriven_attempt(campaign, attempt, place, elsewhere=elsewhere), network=network
    )
    assert should_have_equal_bytes(one, expected) == must


def test_who_drove_is_read_from_records_or_given(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    def elsewhere() -> bool:
        (campaign,) = read_reference(copy.reference).campaigns
        return campaign.elsewhere

    line = ["reference", str(copy.pack), "--out", str(copy.reference)]
    assert dispatch_subcommand(line) == 0
    assert not elsewhere()
    assert dispatch_subcommand([*line, "--elsewhere", "out"]) == 0
    assert elsewhere()
    assert dispatch_subcommand([*line, "--elsewhere", "nowhere"]) == 2
    assert "unknown campaign nowhere" in capsys.readouterr().err
    repack(copy, "timing", lambda text: text and json.dumps({"processor": "another"}))
    assert dispatch_subcommand(line) == 0
    assert elsewhere()


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--sample", "0"], "--sample 0: must be"),
        (["--workers", "0"], "--workers 0: must be"),
        (["--maps", "absent"], "absent"),
    ],
)
def test_bad_input_is_one_line(
    copy: Study, words: list[str], needed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(copy, *words) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert needed in error


@pytest.mark.parametrize("text", ["{}", "[]", '{"crucible_reference": 1}', "no"])
def test_a_file_that_is_no_reference_is_refused(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reference.json").write_text(text)
    assert dispatch_subcommand(["verify", str(tmp_path / "reference.json")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert "reference.json" in errors[0]


def test_settings_of_strangers_need_trust(copy: Study, capsys: pytest.CaptureFixture[str]) -> None:
    table = pq.read_table(copy.pack).to_pylist()
    (row,) = (row for row in table if row["kind"] == "campaign")
    contents = yaml.safe_load(row["text"])
    unsafe = {"_target_": "agents.v2xverse.system.V2XverseAlone"}
    contents["settings"]["system"]["ideal_late"] = unsafe
    text = yaml.safe_dump(contents)
    digest = hash_bytes(text.encode())
    repack(copy, "text", lambda old: text if old == row["text"] else old)
    repack(copy, "sha256", lambda old: digest if old == row["sha256"] else old)
    assert verify(copy) == 2
    assert "not declared safe" in capsys.readouterr().err


def test_hazards_of_strangers_need_trust_in_the_route_of_one_condition_too(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_PACKAGES", "tests")
    ((name, campaign),) = read_packed_campaigns([study.pack]).items()
    keys = [attempt.key for attempt in campaign.attempts]
    (loss,) = (key for key in keys if key.arm.condition == "loss")
    spec = HazardSpec(route=loss.route, kind=f"{Barrel.__module__}.Barrel", station=10.0)
    usual = json.loads(campaign.routes[f"routes/{loss.route}.json"])
    changed = json.dumps({**usual, "hazards": [asdict(spec)]})
    campaign.routes[f"routes/loss/{loss.route}.json"] = changed
    again = RedriveSettings(out=tmp_path, maps=None, protocol=None, workers=1, trust=False)
    with pytest.raises(UserError, match=r"Barrel, whose class is not declared safe.*--trust"):
        drive_attempts_again(campaign, [loss], again)
    assert not list((tmp_path / name).glob("episodes/**/*.json"))


def test_what_is_not_there_is_not_referred_to(
    copy: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    repack(copy, "text", lambda text: text)
    line = ["reference", str(copy.pack), "--out", str(copy.reference)]
    assert dispatch_subcommand([*line, "--placebo", "absent"]) == 2
    assert "no attempt of it has one of none" in capsys.readouterr().err
    assert dispatch_subcommand([*line, "--made-by", "other", "a=b"]) == 2
    assert "unknown" in capsys.readouterr().err
    assert (
        dispatch_subcommand(
            ["reference", str(copy.pack), "--out", str(copy.pack.parent / "a" / "r.json")]
        )
        == 2
    )
    assert "must lie in" in capsys.readouterr().err

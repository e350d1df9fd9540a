"""`crucible maps generate` and `crucible maps check`, as people call them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.authoring.seeded import (
    format_development_name,
    sample_town_parameters,
    write_seeded_opendrive,
)
from harness.commands import town_checks
from harness.common.protocols import derive_protocol_seed


@pytest.mark.thorough
def test_a_development_town_is_written_and_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--blocks", "4x3", "--curvature", "0.5", "--out", str(tmp_path)]
    assert main(["maps", "generate", "--seed", "11", *options]) == 0
    name = format_development_name(11, {"columns": 4, "rows": 3, "curvature": 0.5})
    (file,) = tmp_path.iterdir()
    assert file.name == f"{name}.xodr"
    given = sample_town_parameters(11, columns=4, rows=3, curvature=0.5)
    assert file.read_text(encoding="utf-8") == write_seeded_opendrive(11, name, given)
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{file}: ")
    assert "spawn points" in printed.out
    assert "checking" in printed.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", "-1"], "must be ≥ 0"),
        (["--seed", "1", "--count", "0"], "one town or more"),
        (["--seed", "1", "--blocks", "4by3"], "such as 4x3"),
        (["--seed", "1", "--blocks", "9x3"], "columns = 9: must be 3 to 5"),
        (["--seed", "1", "--grade", "0.2"], "grade = 0.2: must be 0 to 0.06"),
        (["--seed", "1", "--storeys", "2.5"], "must be a whole number"),
        (["--protocol", "absent.md"], "absent.md: No such file"),
        (["--protocol", "absent.md", "--blocks", "4x3"], "give no parameter"),
    ],
)
def test_bad_options_are_one_line(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["maps", "generate", *options, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_seed_without_a_valid_town_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks this small have no room for two lanes everywhere."""
    small = ["--blocks", "3x3", "--block-width", "80", "--block-depth", "80"]
    options = [*small, "--street-lanes", "1", "--removed", "0.3", "--out", str(tmp_path)]
    assert main(["maps", "generate", "--seed", "1", *options]) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("seed 1 gives no valid town: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_a_protocol_gives_the_first_towns_that_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first candidate fails, as if a check had found something; the second is a small town."""
    protocol = tmp_path / "protocol.md"
    protocol.write_text("This one is for a test of the command only: 16.\n")
    digest = sha256(protocol.read_bytes()).hexdigest()
    examined = town_checks.examine_town
    refused = write_seeded_opendrive(
        derive_protocol_seed(digest, 0),
        f"Test_{digest[:8]}_1",
        sample_town_parameters(derive_protocol_seed(digest, 0)),
    )

    def strict(name: str, text: str) -> tuple[list[str], str]:
        return (["made to fail"], "") if text == refused else examined(name, text)

    monkeypatch.setattr(town_checks, "examine_town", strict)
    out = tmp_path / "towns"
    assert main(["maps", "generate", "--protocol", str(protocol), "--out", str(out)]) == 0
    record = json.loads((out / f"Test_{digest[:8]}.json").read_text())
    assert (record["protocol"], record["digest"]) == ("protocol.md", digest)
    assert record["skipped"][0] == {
        "place": 0,
        "seed": derive_protocol_seed(digest, 0),
        "fault": "made to fail",
    }
    (town,) = record["towns"]
    assert town["name"] == f"Test_{digest[:8]}_1"
    assert town["place"] == len(record["skipped"])
    text = (out / f"{town['name']}.xodr").read_text(encoding="utf-8")
    assert text == write_seeded_opendrive(
        town["seed"], town["name"], sample_town_parameters(town["seed"])
    )
    assert f"1 towns, {len(record['skipped'])} seeds skipped" in capsys.readouterr().out


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_check_drives_a_town(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Seeded_2.xodr").write_text(
        write_seeded_opendrive(2, "Seeded_2", sample_town_parameters(2)), encoding="utf-8"
    )
    words = ["maps", "check", "Seeded_2", "--maps", str(tmp_path)]
    assert main([*words, "--minutes", "0.5", "--vehicles", "40"]) == 0
    assert "40 vehicles, " in capsys.readouterr().out


def test_check_needs_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["maps", "check", "Nowhere", "--maps", str(tmp_path)]) == 2
    assert "map not found" in capsys.readouterr().err

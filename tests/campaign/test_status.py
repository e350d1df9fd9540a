"""What `crucible status` reads from a folder, whole or spoilt."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.__main__ import main
from harness.campaign.folder.campaign_folder import (
    load_campaign_header,
    lock_campaign,
    write_header,
)
from harness.campaign.planning.survey import read_ledger_lines
from harness.common.errors import UserError
from harness.records.ledger import LEDGER
from harness.records.ledger import get_line_key as ledger_key
from harness.records.surrogates import read_surrogates
from harness.records.writing import EPISODES
from tests.campaign.many import finish, line_of, write_json
from tests.campaign.tiny import composed, write_route
from tests.keys import key_of

SYSTEMS = ("seeds=[1,2]", "system=[ideal_single,ideal_late]")
LOST = key_of("ideal_late", "latency", "hop", 2)
LATE = key_of("ideal_late", "none", "bend", 1)
FAILED = [
    line_of(LATE, 1, "server_crash", "one\ntwo\n"),
    line_of(LATE, 2),
    line_of(LOST, 1, "server_hang", "frame 1\nframe 2\n"),
    line_of(LOST, 2, "server_crash"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve attempts: one has no result, one has it from its second try."""
    parent = tmp_path_factory.mktemp("status")
    routes = write_route(parent, "bend", "hop")
    folder = parent / "out"
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    settings = composed(
        "routes.only=null", "seeds=[1,2]", "system=[ideal_single,ideal_late]", *files
    )
    finish(folder, settings)
    shutil.rmtree(folder / EPISODES / LOST.path)
    late = folder / EPISODES / LATE.path
    (late / "try1").rename(late / "try2")
    ledger = folder / LEDGER
    kept = [
        line
        for line in map(json.loads, ledger.read_text().splitlines())
        if ledger_key(line) not in (LOST, LATE)
    ]
    ledger.write_text("".join(json.dumps(line) + "\n" for line in [*kept, *FAILED]))
    return folder


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> Path:
    """That folder, to be spoilt."""
    return shutil.copytree(made, tmp_path / "out")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """Return what status prints."""

    def status_of(folder: Path, *options: str) -> str:
        assert main(["status", str(folder), *options]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return status_of


@pytest.fixture
def counted(printed: Callable[..., str]) -> Callable[[Path], dict]:
    """Return what `status --json` prints."""
    return lambda folder: json.loads(printed(folder, "--json"))


@pytest.mark.thorough
def test_progress_failures_and_missing_routes_are_reported(
    made: Path, printed: Callable[[Path], str]
) -> None:
    said = printed(made)
    assert "11 of 12 attempts have a result; tries: 10 after 1, 2 after 2" in said
    assert "no runner is at work" in said
    assert "server_crash: 2 tries, 1 without result; last ideal_late/ahead/latency/hop-s2" in said
    assert [line for line in said.splitlines() if line.startswith("    server: ")] == [
        "    server: one",
        "    server: two",
        "    server: frame 1",
        "    server: frame 2",
    ]
    assert "no result, server_crash (1): ideal_late/ahead/latency/hop-s2" in said
    assert "trouble" not in said


def test_numbers_are_those_of_the_results(made: Path, counted: Callable[[Path], dict]) -> None:
    lines = counted(made)["arms"]
    arms = {(line["arm"]["system"], line["arm"]["condition"]): line for line in lines}
    arm = arms["ideal_late", "none"]
    scores, times = {}, []
    for file in (made / EPISODES / "ideal_late" / "ahead" / "none").rglob("result.json"):
        result = json.loads(file.read_text())
        ours = result["crucible"]
        scores[ours["attempt"]["route"], ours["attempt"]["seed"]] = ours["driving_score"]
        times.append(read_surrogates(result)["time_to_goal"])
    assert len(scores) == arm["planned"] == arm["final"]["attempts"] == 4
    assert arm["final"]["driving_score"] == pytest.approx(sum(scores.values()) / 4)
    reached = [time for time in times if not math.isnan(time)]
    time = sum(reached) / len(reached) if reached else None
    assert arm["final"]["time_to_goal"] == pytest.approx(time)
    by_seed = {seed: (scores["bend", seed] + scores["hop", seed]) / 2 for seed in (1, 2)}
    assert arm["final"]["driving_scores"] == pytest.approx({"1": by_seed[1], "2": by_seed[2]})
    assert arm["first"]["attempts"] == 3
    at_first = [score for key, score in scores.items() if key != (LATE.route, LATE.seed)]
    assert arm["first"]["driving_score"] == pytest.approx(sum(at_first) / 3)
    assert arms["ideal_late", "latency"]["final"]["attempts"] == 3


def test_a_runner_at_work_is_seen_and_not_disturbed(
    folder: Path, counted: Callable[[Path], dict]
) -> None:
    assert not counted(folder)["at_work"]
    with lock_campaign(folder):
        assert counted(folder)["at_work"]
    with lock_campaign(folder):
        pass


def test_nothing_is_written(made: Path, printed: Callable[[Path], str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    printed(made)
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == before


def test_of_twins_nothing_is_planned_but_what_was_driven(
    folder: Path, counted: Callable[[Path], dict]
) -> None:
    file = folder / "campaign.yaml"
    file.write_text(f"{file.read_text()}twins_of: abcdef\n")
    change_settings(folder, lambda settings: settings["interference"].update({"resampled 1": []}))
    counts = counted(folder)
    assert (counts["planned"], counts["done"]) == (12, 11)


def test_what_was_never_tried_is_reported(folder: Path, printed: Callable[[Path], str]) -> None:
    shutil.rmtree(folder / EPISODES)
    (folder / LEDGER).unlink()
    said = printed(folder)
    assert "0 of 12 attempts have a result" in said
    assert "no result, not tried yet (12): ideal_single/none/none/bend-s1" in said


def spoil_ledger(folder: Path) -> None:
    with (folder / LEDGER).open("a") as ledger:
        ledger.write('{"system": "ideal_l')


def spoil_result(folder: Path) -> None:
    (folder / EPISODES / LATE.path / "try2" / "result.json").write_text("{")


def remove_result(folder: Path) -> None:
    (folder / EPISODES / LATE.path / "try2" / "result.json").unlink()


def half_a_result(folder: Path) -> None:
    file = folder / EPISODES / LATE.path / "try2" / "result.json"
    result = json.loads(file.read_text())
    del result["crucible"]["patterns"]
    write_json(file, result)


def add_files(folder: Path) -> None:
    (folder / "thesis.tex").touch()
    (folder / "\x1b[2Jescape").touch()


def add_stranger(folder: Path) -> None:
    place = folder / EPISODES / "..%2F..%2Fetc" / "none" / "none" / "..%2Fpasswd-s1" / "try1"
    place.mkdir(parents=True)


def hostile_ledger(folder: Path) -> None:
    hostile = key_of("../../etc", "\x1b[2J", "/etc/passwd", 1)
    with (folder / LEDGER).open("a") as ledger:
        ledger.write(json.dumps(line_of(hostile, 1, "\x1b]0;you\x07", "\x1b[2J")) + "\n")


def no_routes(folder: Path) -> None:
    shutil.rmtree(folder / "routes")


def foreign_system(folder: Path) -> None:
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"]["system"]["mine"] = {"_target_": "os.system"}
    file.write_text(yaml.safe_dump(header))


def endless_result(folder: Path) -> None:
    file = folder / EPISODES / LATE.path / "try2" / "result.json"
    result = json.loads(file.read_text())
    result["crucible"]["patterns"]["total"]["LCME"] = float("inf")
    write_json(file, result)


def numbered_condition(folder: Path) -> None:
    change_settings(folder, lambda settings: settings["interference"].update({500: []}))


def seeds_twice(folder: Path) -> None:
    change_settings(folder, lambda settings: settings.update(seeds=[1, 1]))


def change_settings(folder: Path, change: Callable[[dict], None]) -> None:
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    change(header["settings"])
    file.write_text(yaml.safe_dump(header))


NEWER = "schema: 9\nsettings: {}"
SPOILT: dict[Callable[[Path], None], str] = {
    spoil_ledger: "ledger.jsonl: 1 of 15 lines cannot be read",
    spoil_result: "result.json: Expecting property name",
    remove_result: "result.json: No such file or directory",
    half_a_result: "result.json: not a whole result (KeyError('patterns'))",
    add_files: "not of the campaign: '\\x1b[2Jescape', 'thesis.tex'",
    add_stranger: "1 results were never planned: ..%2F..%2Fetc/none/none/../passwd-s1",
    hostile_ledger: "\\x1b]0;you\\x07: 1 try, 1 without result",
    no_routes: "the planned attempts are unknown",
    foreign_system: "names 'os.system'; only agents.*",
    endless_result: "not a whole result (OverflowError",
    numbered_condition: "interference has the name 500; a word is needed; planned is",
    seeds_twice: "seeds [1, 1] name one twice; planned is what the folder shows",
}


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", SPOILT, ids=lambda line: line.__name__)
def test_what_is_broken_is_one_line_and_the_rest_is_reported(
    spoil: Callable[[Path], None], folder: Path, printed: Callable[[Path], str]
) -> None:
    before = printed(folder).splitlines()
    spoil(folder)
    after = printed(folder).splitlines()
    assert "\x1b" not in "".join(after)
    (line,) = (line for line in after if SPOILT[spoil] in line)
    assert line not in before


def test_what_is_incomplete_or_unreadable_is_passed_over(
    folder: Path, printed: Callable[[Path], str]
) -> None:
    before = printed(folder)
    (folder / ".123.campaign.yaml").touch()
    (folder / "routes" / ".123.bend.json").touch()
    (folder / "routes" / "%FF.json").touch()
    (folder / EPISODES / "%FF" / "none" / "none" / "bend-s1" / "try1").mkdir(parents=True)
    assert printed(folder) == before


def test_where_nothing_can_be_locked_no_runner_is_at_work(
    folder: Path, printed: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    (folder / ".lock").touch()
    monkeypatch.setattr("fcntl.flock", refuse)
    assert "no runner is at work" in printed(folder)
    with (
        pytest.raises(UserError, match=r"cannot be locked .* choose an out="),
        lock_campaign(folder),
    ):
        pass


ENDLESS = "schema: 2\nsettings: {system: &it {again: *it}}"


@pytest.mark.parametrize(
    "content", [None, "", ENDLESS, "[" * 1000, "schema: 2", "schema: 9\nsettings: {}", "\0", "a: ]"]
)
def test_a_folder_that_is_no_campaign_is_one_line(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "campaign.yaml").write_text(content)
    assert main(["status", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert str(tmp_path) in line


@pytest.mark.parametrize("study", [None, "recommended", []])
def test_a_study_that_is_none_is_one_line(
    study: object, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"]["study"] = study
    file.write_text(yaml.safe_dump(header))
    assert main(["status", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}: not a campaign's settings (study is {study})" in line


def test_settings_that_are_none_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "campaign.yaml").write_text("schema: 2\nsettings: {seeds: [1]}\n")
    assert main(["status", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "not a campaign's settings" in line


def test_a_line_written_while_it_is_read_is_no_trouble(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes

    def read_and_append(file: Path) -> bytes:
        content = read(file)
        with file.open("a") as ledger:
            ledger.write(json.dumps(line_of(LOST, 3)) + "\n")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_append)
    tries, troubles = read_ledger_lines(folder)
    assert troubles == []
    assert len(tries[LOST]) == 2


@pytest.mark.thorough
def test_a_closed_pipe_is_no_error(made: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "harness", "status", str(made), "--json"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def test_what_is_meant_twice_is_written_twice_and_read_again(tmp_path: Path) -> None:
    twice = {"seconds": [0.5, 1.0]}
    write_header(tmp_path / "campaign.yaml", {"one": twice, "other": twice}, "carlite")
    assert load_campaign_header(tmp_path / "campaign.yaml")["settings"] == {
        "one": twice,
        "other": twice,
    }

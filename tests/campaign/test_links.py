"""Names and links that lead out of a campaign's folder: nothing is written there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.folder.campaign_folder import get_campaign_path, lock_campaign
from harness.campaign.planning.survey import is_campaign_running
from harness.campaign.running.executors.process import AttemptProcess
from harness.common.errors import AttemptError, UserError
from harness.records.ledger import LEDGER, append_try
from harness.records.writing import EPISODES, EpisodeWriter
from tests.campaign.many import finished_bend
from tests.campaign.tiny import composed
from tests.keys import key_of
from tests.records.samples import fill

KEY = key_of("ideal_late", "latency", "bend", 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that is finished, of one system."""
    return finished_bend(tmp_path_factory.mktemp("links"))


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> Path:
    """Return that folder, as a stranger might have changed it."""
    return shutil.copytree(made, tmp_path / "out")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a file of its user's, which no campaign has to do with."""
    file = tmp_path / "mine"
    file.write_text("mine\n")
    return file


@pytest.mark.parametrize("name", ["../../..", "/etc/x", "..", "a/../../b", ".hidden", ""])
def test_a_studys_name_stays_in_its_folder(name: str) -> None:
    settings = composed(f"study.name='{name}'")
    assert settings["study"]["name"] == name
    path = get_campaign_path(settings)
    assert path.parent == Path("runs")
    assert not path.name.startswith(".")


@pytest.mark.parametrize("name", [LEDGER, ".lock", "logs", "routes", "twins", EPISODES])
@pytest.mark.parametrize("command", ["twin", "attribute"])
def test_links_in_a_folder_are_refused_before_anything_is_written(
    command: str,
    name: str,
    folder: Path,
    outside: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    there = folder / name
    if there.is_dir():
        there.rename(folder.parent / "moved")
        there.symlink_to(folder.parent / "moved")
    else:
        there.unlink(missing_ok=True)
        there.symlink_to(outside)
    assert main([command, str(folder), str(KEY)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    if name != EPISODES:  # read before
        assert f"{there}: a link" in said
    assert outside.read_text() == "mine\n"


@pytest.mark.parametrize("name", [LEDGER, ".lock", "logs/worker-1.log", "routes/bend.json"])
def test_a_campaign_with_links_in_its_folder_does_not_begin(
    name: str, folder: Path, outside: Path
) -> None:
    there = folder / name
    there.parent.mkdir(exist_ok=True)
    there.unlink(missing_ok=True)
    there.symlink_to(outside)
    with pytest.raises(UserError, match="a link"), lock_campaign(folder):
        raise AssertionError("started")
    assert outside.read_text() == "mine\n"
    assert not is_campaign_running(folder)


def test_nothing_is_written_through_links_that_come_later(folder: Path, outside: Path) -> None:
    (folder / LEDGER).unlink()
    (folder / LEDGER).symlink_to(outside)
    with pytest.raises(AttemptError):
        append_try(folder, KEY, number=1, failure=None, message="", server_tail="")
    log = folder / "worker.log"
    log.symlink_to(outside)
    task = AttemptTask(
        folder=folder,
        key=KEY,
        number=1,
        host="",
        port=0,
        simulator="",
        memory_limit=None,
        parent=os.getpid(),
    )
    with pytest.raises(AttemptError):
        AttemptProcess(task, log, environment={}, directory=folder)
    assert outside.read_text() == "mine\n"


def test_a_try_is_not_written_through_a_link(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    arm = tmp_path / EPISODES / KEY.arm.path
    arm.parent.mkdir(parents=True)
    arm.symlink_to(there)
    with pytest.raises(AttemptError, match="a link"), EpisodeWriter(tmp_path, KEY, 1):
        raise AssertionError("started")
    assert not list(there.iterdir())


def test_what_is_left_of_a_try_is_a_link_and_goes_without_what_it_leads_to(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "mine").touch()
    left = tmp_path / EPISODES / KEY.path / ".try1.99"
    left.parent.mkdir(parents=True)
    left.symlink_to(there)
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        fill(writer, KEY, 5, 0)
        writer.commit_records()
    assert not left.is_symlink()
    assert (there / "mine").exists()


def test_a_pipe_in_place_of_a_lock_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    assert not is_campaign_running(tmp_path)

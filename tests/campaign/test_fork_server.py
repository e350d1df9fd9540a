"""Attempt processes that are forked reply, die and are killed like those that are started."""

from __future__ import annotations

import os
import signal
import socketserver
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import IO, Any

import psutil
import pytest

from harness.campaign.attempt.tasks import AttemptTask, read_answer
from harness.campaign.folder.assignments import RouteAssignment, write_assignments
from harness.campaign.folder.campaign_folder import prepare_campaign
from harness.campaign.running.executors.forks import ForkedProcess, ForkServer
from harness.campaign.running.executors.interface import TaskSettings
from harness.campaign.running.executors.process import AttemptProcess
from harness.common.bounded_log import LONGEST_FAILURE, LONGEST_LOG, NOTE
from harness.common.subprocesses import is_running
from tests.agents.little_world import straight
from tests.campaign.test_worker_slots import work_in
from tests.campaign.tiny import composed
from tests.conftest import ROOT
from tests.keys import key_of

KEY = key_of("mine", "none", "7", 1)
PATIENCE = 120.0
WAITS = """
import time
class Mine:
    @property
    def window(self):
        time.sleep(3600.0)
"""


def campaign_in(folder: Path, system: str) -> TaskSettings:
    """Return a campaign that has started, with a system of the user's that waits for ever."""
    work = with_package(folder, replace(work_in(folder), directory=ROOT), WAITS, system)
    return with_route(work)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> TaskSettings:
    return campaign_in(tmp_path_factory.mktemp("forks"), "ideal_single")


@pytest.fixture(scope="module")
def forks(work: TaskSettings) -> Iterator[ForkServer]:
    server = ForkServer(work)
    yield server
    server.close_server()


@pytest.fixture
def answers() -> Iterator[IO[str]]:
    with tempfile.TemporaryFile("w+") as file:
        yield file


def task_of(work: TaskSettings) -> AttemptTask:
    return AttemptTask(
        folder=work.folder,
        key=KEY,
        number=1,
        host="127.0.0.1",
        port=1,
        simulator="carlite",
        memory_limit=None,
        parent=os.getpid(),
    )


def forked(
    forks: ForkServer, work: TaskSettings, answers: IO[str], route: str = KEY.route
) -> ForkedProcess:
    task = replace(task_of(work), key=replace(KEY, route=route))
    process = forks.fork_process(task, answers.fileno(), answers.fileno())
    assert process is not None
    return process


def soon(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def server_of(process: ForkedProcess) -> psutil.Process:
    server = psutil.Process(process.pid).parent()
    assert server is not None
    assert "fork_server" in " ".join(server.cmdline())
    return server


def test_a_forked_attempt_replies(forks: ForkServer, work: TaskSettings, answers: IO[str]) -> None:
    process = forked(forks, work, answers, route="unknown")
    assert process.wait(PATIENCE) == 0
    answers.seek(0)
    reply = read_answer(answers.read())
    assert reply is not None
    assert reply["failure"] == "route_invalid"
    process.close()


def test_it_leads_a_session_until_it_is_killed(
    forks: ForkServer, work: TaskSettings, answers: IO[str]
) -> None:
    process = forked(forks, work, answers)
    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
    assert is_running(process)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    assert not is_running(process)
    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, "its id is not reused"
    server = server_of(process)
    process.close()
    soon(lambda: not server.children())


@pytest.mark.thorough
def test_a_killed_server_is_replaced(
    forks: ForkServer, work: TaskSettings, answers: IO[str]
) -> None:
    process = forked(forks, work, answers)
    leader = psutil.Process(process.pid)
    soon(lambda: len(leader.children()) == 1)
    family = [server_of(process), leader, *leader.children()]
    family[0].kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    process.close()
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    again = forked(forks, work, answers, route="unknown")
    assert again.wait(PATIENCE) == 0
    again.close()


@pytest.mark.thorough
def test_a_server_ends_with_who_asks(work: TaskSettings, answers: IO[str]) -> None:
    forks = ForkServer(work)
    process = forked(forks, work, answers)
    leader = psutil.Process(process.pid)
    server = server_of(process)
    forks.close_server()
    assert not server.is_running()
    _, alive = psutil.wait_procs([leader], timeout=PATIENCE)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    process.close()


@pytest.mark.thorough
def test_what_attempts_need_is_there_before_the_fork(tmp_path: Path, answers: IO[str]) -> None:
    work = campaign_in(tmp_path, "late")
    forks = ForkServer(work)
    process = forked(forks, work, answers)
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    for package in ("libtorch", "libcarla", "pandas/_libs"):  # pyarrow loads the last one
        assert package in maps
    forks.close_server()
    process.wait(PATIENCE)
    process.close()


class HangsUp(socketserver.BaseRequestHandler):
    """A server that is killed while it is asked."""


def test_a_server_that_is_killed_while_the_attempt_connects_has_crashed(
    forks: ForkServer, work: TaskSettings
) -> None:
    route = replace(straight(), name="connects")
    write_assignments(work.folder, [RouteAssignment(route, (), None)])
    log = work.folder / "logs" / "worker-1.log"
    server: Any = SimpleNamespace(running=lambda: True)
    with socketserver.TCPServer(("127.0.0.1", 0), HangsUp) as dying:
        Thread(target=dying.serve_forever, daemon=True).start()
        task = replace(
            task_of(work),
            key=key_of("ideal_single", "none", "connects", 1),
            port=dying.server_address[1],
        )
        with AttemptProcess(task, log, environment={}, directory=ROOT, forks=forks) as process:
            assert isinstance(process._process, ForkedProcess)
            failure, _ = process.wait_for_ending(server, PATIENCE)
        dying.shutdown()
    assert failure == "server_crash"


THREAD = """
import threading
threading.Thread(target=threading.Event().wait).start()
class Mine: ...
"""
EXIT = """
import os
os._exit(3)
"""
LATER = """
import os, threading, time
wait = threading.Event().wait
os.register_at_fork(after_in_parent=lambda: threading.Thread(target=wait, daemon=True).start())

class Mine:
    @property
    def window(self):
        time.sleep(3600.0)
"""
MADE_BEFORE = """
import os
from multiprocessing import current_process
import numpy as np
import torch
class Mine:
    def __init__(self):
        self.made_in = os.getpid()
    @staticmethod
    def made_before_fork():
        return True
    def warm_up(self):
        ...
    @property
    def window(self):
        key = bytes(current_process().authkey).hex()
        raise ValueError(self.made_in, torch.rand(1).item(), np.random.random(), key)
"""


WORDY = """
import os
class Mine:
    @property
    def window(self):
        os.write(1, b"it begins\\n")
        for _ in range(3000):
            os.write(2, b"the same line again\\n" * 200)
        raise ValueError("a long story " * 100_000)
"""


def with_route(work: TaskSettings) -> TaskSettings:
    """Return a campaign with its route."""
    write_assignments(work.folder, [RouteAssignment(replace(straight(), name=KEY.route), (), None)])
    return work


def with_package(
    folder: Path, work: TaskSettings, text: str, ours: str = "ideal_single"
) -> TaskSettings:
    """Return a campaign that has started with a system of the user's next to one of ours."""
    (folder / "mylab.py").write_text(text)
    out = folder / "out"
    out.mkdir()
    settings = composed(f"system={ours}", "interference=none")
    mine: Any = {"_target_": "mylab.Mine"}
    settings["system"] = {"mine": mine, **settings["system"]}
    prepare_campaign(out, settings, "carlite")
    environment = {"CRUCIBLE_PACKAGES": "mylab", "PYTHONPATH": str(folder)}
    return replace(work, folder=out, environment=environment)


@pytest.mark.thorough
@pytest.mark.parametrize("package", [THREAD, EXIT], ids=["thread", "exit"])
def test_where_nothing_can_be_forked_processes_are_started(
    package: str, work: TaskSettings, tmp_path: Path
) -> None:
    theirs = with_package(tmp_path, work, package)
    forks = ForkServer(theirs)
    with tempfile.TemporaryFile("w+") as answers:
        assert forks.fork_process(task_of(theirs), answers.fileno(), answers.fileno()) is None
    with AttemptProcess(
        task_of(theirs),
        theirs.folder / "logs" / "worker-1.log",
        environment=theirs.environment,
        directory=ROOT,
        forks=forks,
    ) as process:
        assert not isinstance(process._process, ForkedProcess)
    forks.close_server()


@pytest.mark.thorough
def test_a_refusal_leaves_attempts_running(
    work: TaskSettings, tmp_path: Path, answers: IO[str]
) -> None:
    theirs = with_route(with_package(tmp_path, work, LATER))
    forks = ForkServer(theirs)
    process = forked(forks, theirs, answers)
    server = server_of(process)
    soon(lambda: server.num_threads() > 1)
    assert forks.fork_process(task_of(theirs), answers.fileno(), answers.fileno()) is None
    assert process.poll() is None
    forks.close_server()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    process.close()


@pytest.mark.thorough
def test_a_system_made_before_has_random_generators_and_a_key_for_every_attempt(
    work: TaskSettings, tmp_path: Path
) -> None:
    theirs = with_package(tmp_path, work, MADE_BEFORE)
    with_route(theirs)
    task = task_of(theirs)
    forks = ForkServer(theirs)
    replies = []
    for _ in range(2):
        with tempfile.TemporaryFile("w+") as answers, tempfile.TemporaryFile() as log:
            process = forks.fork_process(task, answers.fileno(), log.fileno())
            assert process is not None
            server = server_of(process).pid
            assert process.wait(PATIENCE) == 0
            process.close()
            answers.seek(0)
            reply = read_answer(answers.read())
            assert reply is not None
            made_in, *samples = reply["message"].removeprefix("ValueError: (").split(", ")
            assert int(made_in) == server, reply
            replies.append(samples)
    forks.close_server()
    assert len(replies[0]) == 3
    assert not set(replies[0]) & set(replies[1])


def test_its_log_is_not_written_through_a_link(
    work: TaskSettings, tmp_path: Path, answers: IO[str]
) -> None:
    outside = tmp_path / "mine"
    outside.touch()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "fork-server.log").symlink_to(outside)
    forks = ForkServer(replace(work, folder=tmp_path))
    assert forks.fork_process(task_of(work), answers.fileno(), answers.fileno()) is None
    assert outside.read_text() == ""


@pytest.mark.thorough
@pytest.mark.parametrize("is_forked", [False, True], ids=["started", "forked"])
def test_what_a_system_prints_is_bounded(
    work: TaskSettings, tmp_path: Path, is_forked: bool
) -> None:
    """Its log keeps the beginning and the traceback at the end; its message is short."""
    theirs = with_package(tmp_path, work, WORDY)
    with_route(theirs)
    task = task_of(theirs)
    log = theirs.folder / "logs" / "worker-1.log"
    server: Any = SimpleNamespace(running=lambda: True)
    forks = ForkServer(theirs)
    with AttemptProcess(
        task,
        log,
        environment=theirs.environment,
        directory=ROOT,
        forks=forks if is_forked else None,
    ) as process:
        assert isinstance(process._process, ForkedProcess) == is_forked
        failure, message = process.wait_for_ending(server, PATIENCE)
    forks.close_server()
    assert failure == "agent_exception"
    assert message.startswith("ValueError: a long story")
    assert len(message) < 1.1 * LONGEST_FAILURE
    text = log.read_bytes()
    assert len(text) <= LONGEST_LOG
    assert text.startswith(b"it begins")
    assert NOTE.search(text)
    assert b"Traceback" in text

"""Whatever goes wrong ends in its failure class; the campaign goes on, now or when run again."""

from __future__ import annotations

import json
import resource
import shlex
import signal
import socketserver
import subprocess
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import psutil
import pytest

from harness.campaign.attempt.tasks import AttemptOutcome
from harness.campaign.folder.campaign_folder import prepare_campaign
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.running.work_queue import MAX_INFRASTRUCTURE_RETRIES, WorkQueue
from harness.common.errors import FailureClass
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try, list_finished_attempts
from tests.campaign.chaos import processes
from tests.campaign.systems import STAYING
from tests.campaign.tiny import (
    HAZARD,
    command,
    complaints,
    composed,
    environment,
    ledger,
    run,
    write_route,
)
from tests.conftest import ROOT
from tests.keys import key_of
from tests.profiles import ONLY_WITH_ALL
from tests.records.samples import write_try

ONE = ("system=ideal_single", "interference=none", "traffic=none", "routes.hazards=null")
PATIENCE = 300.0
SMALL_DISK = "60k"
FAILURES = {
    "Glutton": "agent_out_of_memory",
    "Faller": "agent_exception",
    "Vandal": "scenario_error",  # a hazard that fails is no fault of the system
    "Deaf": None,
}

thorough = pytest.mark.thorough


@pytest.fixture
def routes(tmp_path: Path) -> Path:
    return write_route(tmp_path, "hop")


def failures(out: Path) -> list[tuple[str, str]]:
    return [(line["arm"]["system"], line["failure"]) for line in ledger(out)]


def named(*systems: str) -> list[str]:
    """Return the settings in which the systems of these tests drive alone."""
    targets = [
        f"+system.{system.lower()}._target_=tests.campaign.systems.{system}" for system in systems
    ]
    return ["system=[]", *ONE[1:], *targets]


def heed_signals() -> None:
    """Handle the signals that shells make jobs in the background ignore."""
    for line in (signal.SIGINT, signal.SIGHUP):
        signal.signal(line, signal.SIG_DFL)


@contextmanager
def started(*line: str) -> Iterator[subprocess.Popen[str]]:
    """Run a campaign in parallel to the test."""
    runner = subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509 - before anything else runs
    )
    try:
        yield runner
    finally:
        runner.kill()
        runner.communicate()


def wait_for_another(
    runner: subprocess.Popen[str], kind: str, before: Set[psutil.Process] = frozenset()
) -> None:
    """Wait until a campaign has a process of a kind that was not there before."""
    until = time.monotonic() + PATIENCE
    while not set(processes(runner.pid, kind)) - before:
        assert runner.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)


@thorough
def test_systems_that_fail_leave_the_others_alone(tmp_path: Path) -> None:
    routes, out = write_route(tmp_path, "hop"), tmp_path / "out"
    hazard = {**HAZARD, "route": "hop", "station": 24.0}
    (routes / "hazards.json").write_text(json.dumps({"version": 1, "hazards": [hazard]}))
    settings = [*named(*FAILURES), f"routes.hazards={routes / 'hazards.json'}"]
    limits = ("attempts_per_route=1", "executor.workers=2", "executor.memory_limit=4")
    done = run(routes, *settings, *limits, f"out={out}")
    assert (done.returncode, complaints(done.stderr)) == (1, [])
    logs = {"fork-server.log", "worker-1.log", "worker-2.log"}
    assert {path.name for path in (out / "logs").iterdir()} == logs
    lines = {line["arm"]["system"]: line for line in ledger(out)}
    assert {name: line["failure"] for name, line in lines.items()} == {
        name.lower(): failure for name, failure in FAILURES.items()
    }
    assert {line["try"] for line in lines.values()} == {1}
    assert lines["faller"]["message"] == "the worker ended by signal 6"
    said = "occluded_pedestrian at 24 m: RuntimeError: no longer in the world: "
    assert lines["vandal"]["message"].startswith(said)
    assert [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] == STAYING
    ] == []


@thorough
def test_a_system_that_never_returns_is_ended(tmp_path: Path, routes: Path) -> None:
    limits = ("attempts_per_route=1", "attempt_timeout=10")
    assert run(routes, *named("Sleeper"), *limits, f"out={tmp_path / 'out'}").returncode == 1
    assert failures(tmp_path / "out") == [("sleeper", "attempt_timeout")]
    (line,) = ledger(tmp_path / "out")
    assert line["message"] == "no result after 10 s (attempt_timeout); the server still answers"


@thorough
def test_failed_attempts_stay_failed_until_they_are_asked_for_again(
    tmp_path: Path, routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How they fail at first is in `test_systems.py`."""
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    out, again = tmp_path / "out", (*named("Quitter", "Unready"), f"out={tmp_path / 'out'}")
    settings = with_inputs(composed(*command(routes, *again)[2:]))
    out.mkdir()
    prepare_campaign(out, settings, "carlite")
    for key in plan_campaign(settings).attempts:
        failure = {"quitter": "agent_exception", "unready": "agent_setup"}[key.arm.system]
        append_try(out, key, number=1, failure=failure, message="", server_tail="")
    first = ledger(out)

    done = run(routes, *again, "attempts_per_route=1")
    assert done.returncode == 1
    assert "2 of 2 have failed and used up their tries; retry_failed=true" in done.stdout
    assert ledger(out) == first

    assert run(routes, *again, "retry_failed=true").returncode == 1
    assert sorted((line["arm"]["system"], line["try"]) for line in ledger(out)[2:]) == [
        ("quitter", 2),
        ("quitter", 3),
        ("unready", 2),  # what cannot be made is not made twice
    ]


@thorough
def test_an_interrupted_runner_reports_it(tmp_path: Path, routes: Path) -> None:
    line = command(routes, *ONE, f"out={tmp_path / 'out'}", "attempts_per_route=1")
    for number, how in enumerate((signal.SIGINT, signal.SIGTERM), 1):
        with started(*line) as runner:
            wait_for_another(runner, "worker")
            family = psutil.Process(runner.pid).children(recursive=True)
            runner.send_signal(how)
            _, said = runner.communicate(timeout=PATIENCE)
        assert runner.returncode == 130
        assert complaints(said) == ["crucible run: interrupted; the same command resumes from here"]
        assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []
        assert failures(tmp_path / "out") == [("ideal_single", "interrupted")] * number
    assert [line["try"] for line in ledger(tmp_path / "out")] == [1, 2]


@thorough
def test_a_runner_under_nohup_outlives_its_terminal(tmp_path: Path, routes: Path) -> None:
    line = command(routes, *ONE, f"out={tmp_path / 'out'}", "attempts_per_route=1")
    with started("nohup", *line) as runner:
        wait_for_another(runner, "worker")
        runner.send_signal(signal.SIGHUP)
        runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 0
    assert [line["outcome"] for line in ledger(tmp_path / "out")] == ["done"]


@thorough
def test_another_server_takes_the_place_of_one_that_fails(tmp_path: Path, routes: Path) -> None:
    out, before = tmp_path / "out", set[psutil.Process]()
    with started(*command(routes, *ONE, f"out={out}", "attempts_per_route=3")) as runner:
        for how in (signal.SIGKILL, signal.SIGSTOP):
            for kind in ("server", "worker"):
                wait_for_another(runner, kind, before)
            servers = set(processes(runner.pid, "server")) - before
            before |= servers | set(processes(runner.pid, "worker"))
            for server in servers:
                server.send_signal(how)
        _, said = runner.communicate(timeout=PATIENCE)
    assert (runner.returncode, complaints(said)) == (0, [])
    assert [failure for _, failure in failures(out)] == ["server_crash", "server_hang", None]


def limit_workers(runner: subprocess.Popen[str], most: tuple[int, int]) -> None:
    """Limit the files of all workers until the campaign ends.

    A program that the fork server starts looks like one for a moment: the first seen may be none.
    """
    until = time.monotonic() + PATIENCE
    while runner.poll() is None:
        assert time.monotonic() < until
        for worker in processes(runner.pid, "worker"):
            with suppress(ProcessLookupError):
                resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, most)
        time.sleep(0.1)


@pytest.fixture
def without_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let children write no bytecode: under a limit it would be cut off, and loaded by others."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@ONLY_WITH_ALL
@thorough
def test_a_disk_without_room_for_records_ends_the_campaign(
    tmp_path: Path, routes: Path, without_bytecode: None
) -> None:
    line = command(routes, *ONE, f"out={tmp_path / 'out'}", "attempts_per_route=1")
    with started(*line) as runner:
        limit_workers(runner, (4096, 4096))
        _, said = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 3
    (line_said,) = complaints(said)
    assert line_said.endswith(".parquet: File too large")
    assert failures(tmp_path / "out") == [("ideal_single", "disk")]


ROOM = ("unshare", "--map-root-user", "--mount", "sh", "-c")
"""Runs a command where it may mount file systems that no other process sees."""


@thorough
def test_a_full_disk_ends_the_campaign_and_room_lets_it_go_on(tmp_path: Path, routes: Path) -> None:
    if subprocess.run(
        [*ROOM, "mount -t tmpfs tmpfs /mnt"], check=False, capture_output=True
    ).returncode:
        pytest.skip("a file system of a few kilobytes takes the right to mount one")
    out, saved = tmp_path / "out", tmp_path / "saved"
    out.mkdir()
    line = shlex.join(command(routes, *ONE, f"out={out}"))
    small = (
        f"mount -t tmpfs -o size={SMALL_DISK} tmpfs {out}; {line}; ended=$?; cp -r {out} {saved}"
    )
    done = subprocess.run(
        [*ROOM, f"{small}; exit $ended"],
        check=False,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 3, done.stderr
    (said,) = complaints(done.stderr)
    assert said.endswith("No space left on device")
    assert list_finished_attempts(saved) == set()
    assert list(saved.glob("episodes/*/*/*/*/try*")) == []
    assert run(routes, *ONE, f"out={saved}").returncode == 0
    assert len(list_finished_attempts(saved)) == 1


@thorough
def test_a_disk_without_room_for_the_ledger_ends_the_campaign(
    tmp_path: Path, routes: Path, without_bytecode: None
) -> None:
    line = command(routes, *ONE, f"out={tmp_path / 'out'}")
    with started(*line) as runner:
        wait_for_another(runner, "worker")
        resource.prlimit(runner.pid, resource.RLIMIT_FSIZE, (0, 0))
        _, said = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 3
    (line_said,) = complaints(said)
    assert line_said.endswith("File too large")
    assert run(routes, *line[2:]).returncode == 0
    assert [line["message"] for line in ledger(tmp_path / "out")] == ["rebuilt from its records"]


@thorough
def test_without_a_simulator_the_campaign_ends(
    tmp_path: Path, routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_PYTHON", sys.executable)
    line = (*ONE, "simulator=carla", "simulator.root=tests/standin", f"out={tmp_path / 'out'}")
    monkeypatch.setenv("STANDIN_EXIT", "no such screen")
    done = run(routes, *line, "attempts_per_route=1", "executor.workers=2")
    assert done.returncode == 3
    (said,) = done.stderr.splitlines()
    assert said.startswith("crucible run: no simulator, 3 times in a row: CARLA: ")
    assert "no such screen" in said
    assert failures(tmp_path / "out") == [("ideal_single", "server_launch")] * 3


class Rude(socketserver.BaseRequestHandler):
    """Answers as CARLA never would."""

    def handle(self) -> None:
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@thorough
def test_another_program_on_the_port_is_refused(tmp_path: Path, routes: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Rude) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        where = f"127.0.0.1:{other.server_address[1]}"
        settings = (*ONE, "simulator=carla", f"simulator.address={where}")
        done = run(routes, *settings, f"out={tmp_path / 'out'}")
        other.shutdown()
    assert done.returncode == 2
    assert f"{where}: something that is not CARLA listens" in done.stderr
    assert not (tmp_path / "out").exists()


A, B = key_of("system", "none", "a", 1), key_of("system", "none", "b", 1)


def queue(folder: Path, *, tries: int = 2, retry_failed: bool = False) -> WorkQueue:
    return WorkQueue([A, B], folder, tries, retry_failed)


def tries_of(queue: WorkQueue, *failing: FailureClass) -> list[tuple[AttemptKey, int]]:
    """Return the tries when attempts fail like this, one after another."""
    tried = []
    for failure in failing:
        key, number = queue.take_next()
        tried.append((key, number))
        queue.record_ending(AttemptOutcome(key=key, number=number, failure=failure))
    return tried


def test_who_fails_comes_again_first_and_not_for_ever(tmp_path: Path) -> None:
    it = queue(tmp_path)
    tried = tries_of(it, "agent_exception", "server_crash", "agent_setup")
    assert tried == [(A, 1), (A, 2), (B, 1)]
    assert len(it) == 0


def test_tries_are_numbered_on(tmp_path: Path) -> None:
    append_try(tmp_path, A, number=4, failure="rpc_timeout", message="", server_tail="")
    write_try(tmp_path, B, number=3)
    it = queue(tmp_path)
    assert it.progress.done == 1
    assert tries_of(it, "rpc_timeout") == [(A, 5)]
    assert len(it) == 0


@pytest.mark.parametrize("failure", ["interrupted", "server_launch", "port_conflict", "disk"])
def test_misfortunes_use_up_no_tries(tmp_path: Path, failure: FailureClass) -> None:
    it = queue(tmp_path, tries=1)
    tried = tries_of(it, *[failure] * MAX_INFRASTRUCTURE_RETRIES)
    assert tried == [(A, number) for number in range(1, MAX_INFRASTRUCTURE_RETRIES + 1)]
    assert it.take_next() == (B, 1)
    for key, number in tried:
        append_try(tmp_path, key, number=number, failure=failure, message="", server_tail="")
    assert queue(tmp_path, tries=1).progress.given_up == 0


def test_used_up_tries_stay_so_until_asked_for(tmp_path: Path) -> None:
    for number in (1, 2):
        append_try(
            tmp_path, A, number=number, failure="agent_exception", message="", server_tail=""
        )
    assert queue(tmp_path).progress.given_up == 1
    assert queue(tmp_path, tries=3).take_next() == (A, 3)
    again = queue(tmp_path, retry_failed=True)
    assert tries_of(again, "agent_exception", "agent_exception") == [(A, 3), (A, 4)]
    assert again.take_next() == (B, 1)

"""Attempts in a viewer while they are driven: what their records show too, and harmless."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from rerun.dataframe import Recording, load_archive, load_recording

from analysis.__main__ import main
from harness.campaign.attempt import live as attempt_live
from harness.campaign.attempt.live import NoView, open_live_view
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.folder.campaign_folder import refuse_other_settings, write_header
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.running import live
from harness.campaign.running.live import refuse_live, resolve_live_address
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.common.subprocesses import wait_until_true
from harness.records.ledger import find_finished_tries
from harness.types.record_names import IRRELEVANT_SETTINGS
from harness.viewing import viewer
from tests.campaign.tiny import complaints, composed, run, write_route
from tests.keys import key_of
from tests.once import once

ARMS = ("system=[ideal_single,ideal_late]", "interference=[none]", "record.points=true")
LATE, SINGLE = (key_of(system, "none", "hop", 1) for system in ("ideal_late", "ideal_single"))
EXAMPLE = "rerun+http://127.0.0.1:9876/proxy"
PATIENCE = 60.0

thorough = pytest.mark.thorough


@contextmanager
def receiving(file: Path) -> Iterator[str]:
    """Take everything that is sent to a viewer's address into a file."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rerun", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # it starts the viewer as a child
    )
    address = f"rerun+http://127.0.0.1:{port}/proxy"
    try:
        while not viewer.is_answering(address):
            assert process.poll() is None
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def deaf() -> Iterator[str]:
    """An address at which something accepts connections, and closes them."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        Thread(target=serve, daemon=True).start()
        yield f"rerun+http://127.0.0.1:{server.getsockname()[1]}/proxy"
        server.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Shown:
    """A campaign that was driven with a viewer by two workers, what it printed, what was sent."""

    out: Path
    events: list[dict[str, Any]]
    file: Path
    complaints: list[str]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "hop")


@pytest.fixture(scope="module")
def arms(routes: Path) -> tuple[str, ...]:
    (routes / "hazards.json").write_text('{"version": 1, "hazards": []}')
    return ARMS


@pytest.fixture(scope="module")
def shown(routes: Path, arms: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return once(tmp_path_factory, "shown", lambda folder: drive_shown(folder, routes, arms))


def drive_shown(folder: Path, routes: Path, arms: tuple[str, ...]) -> Shown:
    """Drive it."""
    with receiving(folder / "live.rrd") as address:
        workers = ("executor.workers=2", "progress=json")
        done = run(routes, *arms, *workers, f"out={folder / 'out'}", f"live={address}")
        assert wait_until_true(
            PATIENCE, lambda: ended(folder / "live.rrd") == {str(LATE), str(SINGLE)}
        )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return Shown(folder / "out", events, folder / "live.rrd", complaints(done.stderr))


def records(folder: Path) -> dict[Path, bytes]:
    """Return every file of a campaign's records that equal runs have in common."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in (folder / "episodes").rglob("*")
        if path.is_file() and path.name != "timing.json"
    }


def recordings(file: Path) -> dict[str, Recording]:
    """Return the recordings in a file, by name."""
    named = {}
    for recording in load_archive(file).all_recordings():
        assert recording.application_id() == "crucible"
        static = recording.view(index="episode", contents="/__properties/**").select_static()
        (name,) = static.read_all().to_pandas()["/__properties/recording:Name"].iloc[0]
        named[name] = recording
    return named


def ended(file: Path) -> set[str]:
    """Return the recordings of which the end has arrived: it is sent last."""
    return {
        name
        for name, recording in recordings(file).items()
        if any(text.startswith("DS ") for text in events_of(recording))
    }


def events_of(recording: Recording) -> list[str]:
    """Return the events of a recording, in words."""
    rows = recording.view(index="episode", contents="/events").select().read_all().to_pandas()
    column = rows.get("/events:Text", [])
    return [str(text) for item in column if item is not None for text in item]


def rows_of(recording: Recording) -> pd.DataFrame:
    """Return what a recording has of each time."""
    view = recording.view(index="episode", contents="/**")
    rows: pd.DataFrame = view.select().read_all().to_pandas()
    return rows


@thorough
def test_records_are_the_same_with_and_without(
    shown: Shown, routes: Path, arms: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(routes, *arms, f"out={tmp_path / 'out'}")
    assert done.returncode == 0
    expected = records(tmp_path / "out")
    assert len(expected) > 20
    assert records(shown.out) == expected
    assert shown.complaints == []


@thorough
def test_a_broken_viewer_breaks_no_attempt(
    shown: Shown, routes: Path, arms: tuple[str, ...], tmp_path: Path
) -> None:
    with deaf() as address:
        alone = ("system=ideal_single", f"out={tmp_path / 'out'}", f"live={address}")
        done = run(routes, *arms, *alone)
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    expected = records(shown.out)
    others = records(tmp_path / "out")
    assert others
    assert all(expected[path] == content for path, content in others.items())


@thorough
def test_workers_report_how_far_they_drive(shown: Shown) -> None:
    assert shown.events[0]["event"] == "plan"
    for key in (LATE, SINGLE):
        drives = [
            (event["completion"], event["time"])
            for event in shown.events
            if event["event"] == "drives" and event["attempt"] == str(key)
        ]
        assert drives == sorted(drives)
        assert all(0.1 <= completion <= 1 and time > 0 for completion, time in drives)
    assert any(event["event"] == "drives" for event in shown.events)


@thorough
def test_every_attempt_is_a_recording_with_its_name(shown: Shown) -> None:
    assert set(recordings(shown.file)) == {str(LATE), str(SINGLE)}


@thorough
def test_what_is_shown_is_what_a_recording_of_the_records_shows(
    shown: Shown, tmp_path: Path
) -> None:
    file = tmp_path / "recorded.rrd"
    assert main(["replay", str(shown.out), "--attempt", str(LATE), "--rerun", str(file)]) == 0
    driven, replayed = rows_of(recordings(shown.file)[str(LATE)]), rows_of(load_recording(file))
    steps = len(pd.read_parquet(find_finished_tries(shown.out)[LATE] / "frames.parquet"))
    assert driven["/world/truth:HalfSize3D"].notna().sum() == steps
    unlike = ("/road/way", "/events", "/about", "episode")
    names = [str(name) for name in replayed]
    names = [name for name in names if not any(part in name for part in unlike)]
    assert len(names) > 40
    assert [name for name in names if not alike(name, driven, replayed)] == []
    assert driven["/events:Text"].notna().any()


ROUNDED = {"/lidar/": 0.05, "/road/": 2e-3}
"""How much records round what they keep, m."""


def alike(name: str, driven: pd.DataFrame, replayed: pd.DataFrame) -> bool:
    """Return whether both show the same at the same times."""
    one, other = (
        {
            round(time.total_seconds(), 6): values
            for time, item in zip(table["episode"], table[name], strict=True)
            if item is not None and len(values := flat(item))
        }
        for table in (driven, replayed)
    )
    near = next((away for part, away in ROUNDED.items() if part in name), 1e-4)
    return one.keys() == other.keys() and all(
        list(one[time]) == list(values)
        if isinstance(values[0], str)
        else len(one[time]) == len(values) and np.allclose(one[time], values, atol=near)
        for time, values in other.items()
    )


def flat(item: Any) -> Any:
    """Return numbers or texts out of lists in lists."""
    if len(item) and isinstance(item[0], np.ndarray):
        return np.concatenate([flat(part) for part in item])
    return item


class Broken:
    """A viewer's connection of which every use fails."""

    def __init__(self, *given: object, **more: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("the viewer\nhas gone")


def task_with(address: str | None) -> AttemptTask:
    return AttemptTask(
        folder=Path(),
        key=LATE,
        number=1,
        host="127.0.0.1",
        port=1,
        simulator="carlite",
        memory_limit=None,
        parent=os.getpid(),
        live=address,
    )


def test_without_a_viewer_nothing_is_made() -> None:
    with open_live_view(task_with(None)) as view:
        assert isinstance(view, NoView)
        view.step(lambda: pytest.fail("made"))


def test_a_view_that_fails_ends_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(attempt_live, "DriveStream", Broken)
    made: list[int] = []

    def make() -> Any:
        made.append(1)

    with deaf() as address, open_live_view(task_with(address)) as view:
        infraction: Any = SimpleNamespace(ego_stationary=False, time=1.0, kind="red_light")
        view.infraction(infraction, 0.0)
        view.step(make)
        drive: Any = None
        view.end(drive, 0.0, ())
    assert not made
    assert capsys.readouterr().err == "live view: RuntimeError: the viewer has gone; not shown on\n"


def test_a_step_that_cannot_be_shown_ends_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    def make() -> Any:
        raise KeyError("roadside-0")

    with deaf() as address, open_live_view(task_with(address)) as view:
        view.step(make)
        view.step(make)
    assert capsys.readouterr().err == "live view: KeyError: 'roadside-0'; not shown on\n"


def test_a_task_names_its_viewer() -> None:
    for address in (None, EXAMPLE):
        assert AttemptTask.from_json(task_with(address).to_json()).live == address


@pytest.mark.parametrize(
    "address",
    [
        EXAMPLE,
        "rerun+https://viewer.example.org/proxy",
        "rerun://[::1]:9876/proxy",
    ],
)
def test_addresses(address: str) -> None:
    assert viewer.is_address(address)
    refuse_live(address, here=False)


@pytest.mark.parametrize(
    "wrong", ["", "yes", "localhost:9876", "http://h:1/proxy", "rerun+http://h:99999/proxy"]
)
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(UserError, match="the address of a viewer is needed, such as rerun"):
        refuse_live(wrong, here=True)


def test_workers_elsewhere_need_an_address() -> None:
    refuse_live(True, here=True)
    refuse_live(False, here=False)
    with pytest.raises(UserError, match="may not reach; give them the address"):
        refuse_live(True, here=False)
    assert resolve_live_address(EXAMPLE, here=False) == EXAMPLE


def test_without_live_there_is_no_viewer(capsys: pytest.CaptureFixture[str]) -> None:
    assert resolve_live_address(False, here=True) is None
    assert resolve_live_address(None, here=True) is None
    assert capsys.readouterr().err == ""


def test_without_the_package_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "find_spec", lambda name: None)
    assert resolve_live_address(True, here=True) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("live: rerun is not installed: ")
    assert line.endswith("; driven without a live view")


def test_without_a_display_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(viewer, "is_answering", lambda address: False)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert resolve_live_address(True, here=True) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert "no display" in line
    assert "live=rerun+http://HOST:9876/proxy" in line


def test_a_viewer_that_runs_is_taken_and_one_that_does_not_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with deaf() as address:
        assert resolve_live_address(address, here=True) == address
    assert resolve_live_address(address, here=True) is None
    assert f"no viewer answers at {address}" in capsys.readouterr().err
    monkeypatch.setattr(viewer, "is_answering", lambda address: True)
    assert resolve_live_address(True, here=True) == viewer.HERE


def test_a_viewer_that_does_not_start_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(viewer, "is_answering", lambda address: False)
    monkeypatch.setattr(viewer, "has_display", lambda: True)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert resolve_live_address(True, here=True) is None
    assert "the viewer does not start" in capsys.readouterr().err


def test_no_result_depends_on_it(tmp_path: Path) -> None:
    assert "live" in IRRELEVANT_SETTINGS
    with_one, without = composed(f"live={EXAMPLE}"), composed()
    assert hash_settings(with_one) == hash_settings(without)
    write_header(tmp_path / "campaign.yaml", without, "carlite")
    refuse_other_settings(tmp_path / "campaign.yaml", with_one)


def test_folders_from_before_are_read_as_without() -> None:
    settings: Any = dict(composed())
    del settings["live"]
    refuse_misshapen(settings)
    with pytest.raises(UserError, match="live is 3; true or false or a word or null is needed"):
        refuse_misshapen(cast("Any", {**settings, "live": 3}))

"""What this machine remembers of how long attempts take, and what is printed before a run."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from harness.campaign.planning.compatibility import list_guests
from harness.campaign.planning.estimate import STARTING, estimate_campaign
from harness.campaign.planning.paces import (
    FILE,
    REMEMBERED,
    SystemPace,
    format_pace_kind,
    get_pace_file,
    read_paces,
    select_known_paces,
    update_paces,
    write_paces,
)
from harness.campaign.planning.plan import CampaignPlan
from harness.campaign.printing import tables, terminal
from harness.campaign.run import announce_campaign
from harness.campaign.settings.declared import CampaignSettings, ProgressMode
from harness.records.ledger import find_finished_tries, list_finished_attempts
from harness.records.writing import EPISODES
from tests.campaign.many import finish
from tests.campaign.tiny import composed, write_route

PACE = SystemPace(metres=100.0, seconds=20.0, bytes=5000.0, attempts=2)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def made(tmp_path: Path) -> tuple[CampaignPlan, Path, CampaignSettings]:
    """A finished campaign of three attempts, of 10 s each."""
    routes = write_route(tmp_path, "bend")
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    settings = composed("routes.only=null", "seeds=[1]", *files)
    planned, folder = finish(tmp_path / "out", settings), tmp_path / "out"
    for place in find_finished_tries(folder).values():
        (place / "timing.json").write_text('{"seconds": {"total": 10.0}}')
    return planned, folder, settings


def test_the_file_is_where_caches_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("CRUCIBLE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert get_pace_file() == Path("/home/me/.cache/crucible") / FILE
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert get_pace_file() == Path("/cache/crucible") / FILE
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path))
    assert get_pace_file() == tmp_path / FILE


@pytest.mark.thorough
def test_what_is_finished_counts_for_the_next_campaign(
    cache: Path, made: tuple[CampaignPlan, Path, CampaignSettings]
) -> None:
    planned, folder, settings = made
    update_paces(planned, folder, settings, before=())
    paces = select_known_paces(settings)
    (route,) = planned.assignments
    assert {name: pace.attempts for name, pace in paces.items()} == {
        "ideal_single": 1,
        "ideal_late": 2,
    }
    expected = estimate_campaign(planned, folder / "nowhere", paces)
    assert expected.seconds == pytest.approx(30.0 + 3 * STARTING)
    sizes = [
        path.stat().st_size
        for place in find_finished_tries(folder).values()
        for path in place.iterdir()
    ]
    assert expected.bytes == pytest.approx(sum(sizes))
    assert paces["ideal_late"].metres == pytest.approx(2 * route.route.length)


def test_what_was_finished_before_is_not_added_again(
    cache: Path, made: tuple[CampaignPlan, Path, CampaignSettings]
) -> None:
    planned, folder, settings = made
    update_paces(planned, folder, settings, before=list_finished_attempts(folder))
    assert not cache.exists()
    first, *_ = planned.attempts
    update_paces(planned, folder, settings, before=list_finished_attempts(folder) - {first})
    assert {name: pace.attempts for name, pace in select_known_paces(settings).items()} == {
        first.arm.system: 1
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", [("record.points=true",), ("simulator=carla",), ("+system.ideal_late.size=full",)]
)
def test_what_takes_longer_is_another_kind(
    cache: Path, made: tuple[CampaignPlan, Path, CampaignSettings], settings: tuple[str, ...]
) -> None:
    planned, folder, known = made
    update_paces(planned, folder, known, before=())
    other = select_known_paces(composed("routes.only=null", "seeds=[1]", *settings))
    assert set(other) <= {"ideal_single"}
    assert "ideal_late" not in other


def test_two_programs_of_the_users_have_two_paces(tmp_path: Path) -> None:
    """One class of the harness drives both; a time of one says nothing of the other's."""

    def compose_agent(*words: str) -> CampaignSettings:
        named = ("root=tests/leaderboard", "agent=little_agent.py", *words)
        chosen = [f"system.leaderboard_agent.{word}" for word in named]
        return composed("system=leaderboard_agent", "routes.only=null", *chosen)

    first = compose_agent()
    kind = format_pace_kind(first, "leaderboard_agent")
    assert kind == format_pace_kind(compose_agent("step_timeout=3"), "leaderboard_agent")
    for word in ("agent=seeing_agent.py", "root=elsewhere", "config=a.yaml", "python=python3"):
        assert kind != format_pace_kind(compose_agent(word), "leaderboard_agent")
    assert list_guests(first) == ("leaderboard_agent",)
    assert list_guests(composed("routes.only=null")) == ()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"paces": 3}',
        '{"paces": {"a": 3}}',
        '{"paces": {"a": {"metres": 1}}}',
        '{"paces": {"a": {"metres": "x", "seconds": 1, "bytes": 1, "attempts": 1}}}',
        '{"paces": {"a": {"metres": 0, "seconds": 1, "bytes": 1, "attempts": 1}}}',
        '{"paces": {"a": {"metres": 1, "seconds": 1e999, "bytes": 1, "attempts": 1}}}',
    ],
)
def test_a_broken_file_is_as_none(
    cache: Path, made: tuple[CampaignPlan, Path, CampaignSettings], text: str
) -> None:
    cache.mkdir()
    (cache / FILE).write_text(text)
    assert read_paces() == {}
    update_paces(*made, before=())
    assert len(read_paces()) == 2


def test_where_nothing_can_be_written_nothing_is_kept(
    made: tuple[CampaignPlan, Path, CampaignSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_CACHE", "/dev/null/cache")
    update_paces(*made, before=())
    assert read_paces() == {}


def test_old_drives_fade(cache: Path) -> None:
    old = SystemPace(metres=10 * REMEMBERED, seconds=1e6, bytes=1e9, attempts=5000)
    new = SystemPace(metres=REMEMBERED, seconds=3e5, bytes=2e8, attempts=500)
    both = old.merge_later(new)
    assert both == SystemPace(metres=2 * REMEMBERED, seconds=4e5, bytes=3e8, attempts=5500)
    write_paces({"kind": both})
    assert read_paces() == {"kind": both}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed before a run."""
    out = io.StringIO()
    console = Console(file=out, width=200)
    monkeypatch.setattr(terminal, "console", console)
    monkeypatch.setattr(tables, "console", console)
    return out


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["live", "plain"])
def test_the_plan_in_short(
    cache: Path,
    made: tuple[CampaignPlan, Path, CampaignSettings],
    written: io.StringIO,
    mode: ProgressMode,
) -> None:
    planned, folder, settings = made
    shutil.rmtree(folder / EPISODES)
    announce_campaign(planned, folder, {**settings, "progress": mode})
    lines = written.getvalue().splitlines()
    product = "3 arms × 1 route × 1 seed = 3 attempts in Crucible05"  # noqa: RUF001
    assert lines[0] == f"{'plan':14}{product}"
    assert lines[1].startswith("left          3 attempts: about ")
    assert lines[1].endswith("this machine has finished none like these")
    assert lines[-1].split() == ["folder", str(folder)]

    write_paces({"CarliteSimulator IdealLate": PACE})
    announce_campaign(planned, folder, {**settings, "progress": mode})
    last = written.getvalue().splitlines()[-2]
    assert last.endswith(
        "going by 2 attempts that this machine drove before; ideal_single by a rule of thumb"
    )


@pytest.mark.thorough
def test_the_plan_for_programs(
    cache: Path,
    made: tuple[CampaignPlan, Path, CampaignSettings],
    capsys: pytest.CaptureFixture[str],
) -> None:
    planned, folder, settings = made
    announce_campaign(planned, folder, {**settings, "progress": "json"})
    assert json.loads(capsys.readouterr().out) == {
        "event": "plan",
        "arms": 3,
        "routes": 1,
        "seeds": 1,
        "attempts": 3,
        "done": 3,
        "left": 0,
        "seconds": 0,
        "bytes": 0,
        "folder": str(folder),
    }
    announce_campaign(planned, folder, {**settings, "progress": "quiet"})
    assert capsys.readouterr().out == ""

"""What is printed of a running campaign: for people, for programs, and not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.folder.summary import AttemptSummary, make_summary_row
from harness.campaign.printing import progress, terminal
from harness.campaign.printing.progress import (
    LiveTable,
    cut_middle_to,
    follow_progress,
)
from harness.campaign.printing.tables import build_summary_table
from harness.campaign.running.runner import ProgressListener
from harness.campaign.running.work_queue import CampaignProgress
from harness.common.errors import UserError
from harness.common.remaining_time import format_clock
from harness.common.terminal_lines import print_plain_line
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage
from harness.types.record_names import PATTERNS
from studies.attribution.attribute import build_attribution_table as attributed
from studies.attribution.driving import AttemptAttribution
from tests.keys import arm_of, key_of

A, B = key_of("early", "none", "7", 1), key_of("late", "latency", "[7]", 1)
NO_PATTERNS = (0,) * len(PATTERNS)
UNHEARD = MessageUsage(
    reads=False, sent=0, used=0, different=False, silence_asked=False, disturbances={}
)
ODD = key_of("late", "none", "[b]", 1)
STANDING = CampaignProgress(attempts=6, done=2, given_up=1)
ALREADY = "2 of 6 are done already"
USED_UP = "1 of 6 have failed and used up their tries; retry_failed=true tries them again"


def happen(listener: ProgressListener, wait: Callable[[], object] = lambda: None) -> None:
    """Let one attempt succeed, one fail once, and a worker leave; wait before each ends."""
    listener.begins(1, A, 1)
    listener.begins(2, B, 2)
    for step in range(25):
        listener.drives(2, B, DrivePosition(step / 100, 0.2 * step))
    wait()
    listener.ends(
        1,
        AttemptOutcome(
            key=A, number=1, failure=None, message="DS 90.0", server_tail="", seconds=20.0
        ),
        again=False,
    )
    wait()
    listener.ends(
        2,
        AttemptOutcome(
            key=B,
            number=2,
            failure="server_crash",
            message="it ended",
            server_tail="",
            seconds=40.0,
        ),
        again=True,
    )
    listener.leaves(2, "nothing listens")
    listener.begins(1, B, 3)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Give what is written to a console that is no terminal."""
    out = io.StringIO()
    monkeypatch.setattr(progress, "console", Console(file=out, width=100))
    return out


@pytest.mark.parametrize("mode", ["live", "plain"])
def test_people_without_a_terminal_read_lines(mode: str, written: io.StringIO) -> None:
    with follow_progress(mode, STANDING, workers=2) as listener:
        happen(listener)
    assert written.getvalue().splitlines() == [
        ALREADY,
        USED_UP,
        "  early/ahead/none/7-s1  DS 90.0  (20.0 s)",
        "  late/ahead/latency/[7]-s1  try 2 server_crash: it ended; tried again",
        "  worker 2 gets no more work: nothing listens",
    ]


def test_machines_read_objects(capsys: pytest.CaptureFixture[str], written: io.StringIO) -> None:
    with follow_progress("json", STANDING, workers=2) as listener:
        happen(listener)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["worker"]) for line in events] == [
        ("begins", 1),
        ("begins", 2),
        ("drives", 2),
        ("drives", 2),
        ("ends", 1),
        ("ends", 2),
        ("leaves", 2),
        ("begins", 1),
    ]
    assert events[3] == {
        "worker": 2,
        "event": "drives",
        "attempt": "late/ahead/latency/[7]-s1",
        "completion": 0.2,
        "time": 4.0,
    }
    assert events[5] == {
        "worker": 2,
        "event": "ends",
        "attempt": "late/ahead/latency/[7]-s1",
        "try": 2,
        "failure": "server_crash",
        "message": "it ended",
        "again": True,
        "seconds": 40.0,
    }
    assert written.getvalue() == ""


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str], written: io.StringIO) -> None:
    with follow_progress("quiet", STANDING, workers=2) as listener:
        happen(listener)
    assert (capsys.readouterr().out, written.getvalue()) == ("", "")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UserError, match="progress is 'loud'"), follow_progress("loud", STANDING, 1):
        pass


def test_the_table_has_a_line_for_every_worker_and_one_for_all() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100)
    seconds = [0.0]
    table = LiveTable(STANDING, 2, console, clock=lambda: seconds[0])
    console.print(table)
    first = [line.split() for line in out.getvalue().splitlines()]
    assert first[0] == ["1", "-"]
    assert " ".join(first[2][1:]) == "2 of 6 done, 1 failed ? left"

    happen(table, lambda: seconds.append(seconds.pop() + 20.0))
    out.truncate(0)
    console.print(table)
    worker, total = [line.split() for line in out.getvalue().strip("\0").splitlines()]
    assert worker[:4] == ["1", "late/ahead/latency/[7]-s1", "try", "3"]
    assert "simulated" not in worker
    assert " ".join(total[1:]) == "3 of 6 done, 1 failed, 1 tried again about 0:40 left (rough)"


def test_the_table_shows_how_far_workers_have_driven() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100)
    table = LiveTable(STANDING, 2, console)
    table.begins(1, A, 1)
    table.begins(2, B, 1)
    table.drives(1, A, DrivePosition(0.374, 21.6))
    console.print(table)
    first, second, _ = [" ".join(line.split()[3:]) for line in out.getvalue().splitlines()]
    assert first == "37 % of the route 22 s simulated"
    assert second == ""
    table.ends(1, AttemptOutcome(key=A, number=1), again=False)
    table.begins(1, B, 1)
    out.truncate(0)
    console.print(table)
    assert "simulated" not in out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_name_without_room_keeps_its_start_and_its_end(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width)
    table = LiveTable(STANDING, 2, console)
    links = ("nr_v2x_with_queue", "nr_v2x_with_airtime")
    keys = [
        AttemptKey(arm_of("late", "none", link=link, message_format="cpm"), "12", 1)
        for link in links
    ]
    for worker, key in enumerate(keys, 1):
        table.begins(worker, key, 1)
        table.drives(worker, key, DrivePosition(0.25, 12.0))
    console.print(table)
    lines = out.getvalue().splitlines()[:2]
    assert all(len(line) <= width for line in lines)
    names = [line.split()[1] for line in lines]
    for name, key in zip(names, keys, strict=True):
        front, cut, end = name.partition("…")
        assert str(key).startswith(front)
        assert str(key).endswith(end)
        assert cut or name == str(key)
        assert name.endswith("12-s1")
    assert width < 80 or names[0] != names[1]


@given(text=st.text(max_size=60), room=st.integers(1, 70))
def test_a_name_is_cut_to_its_room(text: str, room: int) -> None:
    shown = cut_middle_to(text, room)
    assert len(shown) == min(len(text), room)
    front, end = room // 3, room // 4
    assert shown.startswith(text[: front - 1 if front else 0])
    assert end == 0 or shown.endswith(text[-end:])


def test_names_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(file=out, width=120)
    monkeypatch.setattr(terminal, "console", console)
    table = LiveTable(STANDING, 1, console)
    table.begins(1, ODD, 1)
    console.print(table)
    marks = AttemptSummary(
        driving_score=0.0,
        collided=False,
        completion=0.0,
        violated=False,
        time_to_goal=10.0,
        patterns=NO_PATTERNS,
        hazards=0,
        hazards_absent=0,
        usage=UNHEARD,
    )
    row = make_summary_row(arm_of("[/s]", "[c]"), [marks])
    console.print(build_summary_table("", [row], ("n",)))
    console.print(
        attributed(
            [
                AttemptAttribution(
                    of=ODD,
                    kind="timeout",
                    again=True,
                    without={"all": True},
                    resampled=(),
                    windows=None,
                )
            ],
            0.05,
        )
    )
    terminal.print_campaign_line("records: runs/[/x]")
    said = out.getvalue()
    assert said.count("late/ahead/none/[b]-s1") == 2
    assert all(name in said for name in ("[/s]", "[c]", "records: runs/[/x]"))


def test_a_case_is_never_cut_short() -> None:
    out = io.StringIO()
    attribution = AttemptAttribution(
        of=A,
        kind="collision_vehicle",
        again=True,
        without={"all": False},
        resampled=(),
        windows=None,
    )
    Console(file=out, width=60).print(attributed([attribution], 0.05))
    column = "".join(line[1:].split("│")[0].strip() for line in out.getvalue().splitlines()[3:])
    assert str(A) in column


def test_a_worker_may_leave_while_the_table_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=100)
    table = LiveTable(STANDING, 2, console)
    table.begins(1, A, 1)

    def leave(seconds: float) -> str:
        monkeypatch.undo()
        table.leaves(2, "nothing listens")
        return format_clock(seconds)

    monkeypatch.setattr(progress, "format_clock", leave)
    console.print(table)
    table.leaves(1, "nothing listens")
    console.print(table)


def test_on_a_terminal_the_table_goes_when_the_campaign_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    terminal = Console(file=out, width=100, force_terminal=True)
    monkeypatch.setattr(progress, "console", terminal)
    with follow_progress("live", STANDING, workers=2) as listener:
        happen(listener)
    said = out.getvalue()
    assert ALREADY in said
    assert "1 tried again about 0:00 left (rough)" in " ".join(said.split())
    assert said.endswith("\x1b[2K")


def test_result_lines_continue_between_words() -> None:
    line = (
        "  late/paper_text/latency/3-s1  DS 51.0, 85 % of the route, collision vehicle  (105.1 s)"
    )
    for terminal_there in (True, False):
        out = io.StringIO()
        print_plain_line(Console(width=60, file=out, force_terminal=terminal_there), line)
        shown = out.getvalue().splitlines()
        assert " ".join(shown).split() == line.split()
        assert (max(map(len, shown)) <= 60) == terminal_there
        assert len(shown) == (2 if terminal_there else 1)

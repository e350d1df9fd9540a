"""Commands that read many drives show how far they are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.commands import progress
from analysis.commands.progress import RepeatedBar, read_campaigns, show_passes
from harness.common.progress_bar import show_bar
from tests.analysis.little import write_little


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what is shown on a terminal of 80 columns."""
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=80, _environ={})
    monkeypatch.setattr(progress, "console", terminal)
    return shown


def test_a_bar_begins_again_at_every_pass(screen: io.StringIO) -> None:
    with show_bar("drives", 3, console=Console(file=screen)) as bar:
        repeated = RepeatedBar(bar, 3)
        counts = []
        for _ in range(7):
            repeated.advance()
            counts.append(bar.count_done()[0])
    assert counts == [1, 2, 3, 1, 2, 3, 1]


def test_results_and_passes_are_shown(tmp_path: Path, screen: io.StringIO) -> None:
    folder = write_little(tmp_path / "runs", routes=("0", "1"))
    plain = collect_campaigns([folder])
    collection = read_campaigns([folder], False)
    assert collection.attempts.equals(plain.attempts)
    count = len(plain.attempts)
    assert count > 1
    assert f"{count}/{count}" in screen.getvalue()
    with show_passes(collection) as watched:
        for _ in range(2):
            assert [row for row, *_ in watched.iterate_attempts()] == list(range(count))
    assert "drives" in screen.getvalue()
    assert "tables" in screen.getvalue()


@pytest.mark.parametrize("command", ["tables", "volume", "regress"])
def test_a_refused_folder_leaves_no_bar(
    command: str, tmp_path: Path, screen: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path / "none")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

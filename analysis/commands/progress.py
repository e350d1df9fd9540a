"""Bars of commands that read many drives: results first, then drives, pass by pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.terminal import console
from harness.common.progress_bar import EstimatedBar, show_bar


def read_campaigns(
    folders: Sequence[Path], mixed: bool, *, pooled: bool = True, whole: bool = False
) -> CampaignCollection:
    """Read campaigns with a bar of results; the arguments are those of `collect_campaigns`."""
    with show_bar("results", 1, console=console) as bar:
        return collect_campaigns(folders, mixed, pooled=pooled, whole=whole, bar=bar)


@contextmanager
def show_passes(collection: CampaignCollection) -> Iterator[CampaignCollection]:
    """Show a bar of drives while tables are made, which read all drives once or more.

    Args:
        collection: what is read.

    Yields:
        The same, with a bar that begins again at every pass.
    """
    count = len(collection.attempts)
    with show_bar("drives", count, console=console) as bar:
        yield replace(collection, on_attempt=RepeatedBar(bar, count).advance)


class RepeatedBar:
    """A bar that begins again once it is full.

    Args:
        bar: what is shown.
        count: items of a pass.
    """

    def __init__(self, bar: EstimatedBar, count: int) -> None:
        self._bar, self._count = bar, count
        self._done = 0

    def advance(self) -> None:
        """An item more is done."""
        if self._done == self._count:
            self._bar.begin_stage("drives", self._count)
            self._done = 0
        self._done += 1
        self._bar.advance()
        if self._done == self._count:
            self._bar.rename("tables")  # of what was read

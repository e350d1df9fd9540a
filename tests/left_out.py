"""What `make test` leaves to `make test-all`, counted and named at the end of a run.

A test that takes long, or that is one more of a kind, is marked `thorough`; pyproject.toml leaves
the marked ones out. A verdict without them must not look like a verdict on everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

MARK = "thorough"


class LeftOutTests:
    """Counts the marked tests that were left out, room by room."""

    def __init__(self, expression: str) -> None:
        """`expression` is what `-m` gave; pyproject.toml gives one that leaves marked tests out."""
        self.leaves_out = expression == f"not {MARK}"
        self.count_of_room: Counter[str] = Counter()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the marked ones; what `-k` deselects has no mark, or is left out for both."""
        marked = [item for item in items if item.get_closest_marker(MARK)]
        if self.leaves_out:
            self.count_of_room.update(item.path.parent.name for item in marked)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the counts of a worker of pytest-xdist to the process that started it."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[MARK] = dict(self.count_of_room)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the counts of a worker: every worker collects all tests."""
        counts = getattr(node, "workeroutput", {}).get(MARK)
        if counts:
            self.count_of_room = Counter(counts)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print how many were left out, of which rooms, and the command that runs them."""
        if self.count_of_room:
            terminalreporter.write_line(describe_left_out(self.count_of_room))


def describe_left_out(count_of_room: Mapping[str, int]) -> str:
    """Return the line that names what was left out."""
    rooms = ", ".join(f"{room} {count}" for room, count in sorted(count_of_room.items()))
    return f"tests left to `make test-all`: {sum(count_of_room.values())} ({rooms})"

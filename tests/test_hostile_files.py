"""No file from others hangs a reader, fills its memory, or brings out another file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.hostile_bombs import bombs_for
from tests.hostile_child import DAMAGED, REFUSED
from tests.hostile_files import PLACES, Case, Range, is_good, tricks_for
from tests.hostile_readers import READERS, Reader

NEVER_READ = (
    *("link to /dev/zero", "link to itself", "folder", "pipe", "socket", "device"),
    *("link to a pipe", "huge"),
)
"""What no reader may read, not even within limits."""


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    """A home with a small campaign and other files, and a place outside of it."""
    field = Range(tmp_path_factory.mktemp("hostile"))
    yield field
    field.close()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_survives_a_few_tricks(field: Range, reader: Reader) -> None:
    """A cheap one of each sort: out of the home, nothing to wait for, content without its end."""
    assert is_good(field.undisturbed(reader))
    few = [trick for trick in ("link outside", "pipe", "cut") if trick in tricks_for(reader)]
    assert "pipe" in few
    assert "cut" in few
    said = {trick: field.outcome(Case(reader, trick)) for trick in few}
    assert {trick: one for trick, one in said.items() if not is_good(one)} == {}


def select_tricks(reader: Reader) -> list[str]:
    """Return all tricks for `make test-all`, otherwise every fourth, other ones for others."""
    tricks = tricks_for(reader)
    alike = [other for other in READERS if other.kind == reader.kind]
    if settings.get_current_profile_name() == "many" or len(alike) < 4:
        return tricks
    order = [*PLACES, *bombs_for(reader.kind)]
    return [trick for trick in order[alike.index(reader) % 4 :: 4] if trick in tricks]


def test_readers_meet_every_trick_between_them() -> None:
    possible = {trick for reader in READERS for trick in tricks_for(reader)}
    assert {trick for reader in READERS for trick in select_tricks(reader)} == possible


@pytest.mark.thorough
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_refuses_or_reports_what_it_cannot_read(field: Range, reader: Reader) -> None:
    said = {trick: field.outcome(Case(reader, trick)) for trick in select_tricks(reader)}
    assert said
    assert {trick: one for trick, one in said.items() if not is_good(one)} == {}
    if reader.opens:
        opened = [said[trick] for trick in NEVER_READ if trick in said]
        assert set(opened) <= {REFUSED, DAMAGED}

"""A partner more that sees nothing new: what a roadside unit shares arrives under a second name."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from harness.types.vocabulary import Kind
from harness.world.changes.change import SceneChange
from harness.world.partners import PartnerFleet

AGAIN = "-again"
"""Behind the name of a unit, the name of its double."""


class SecondSender(SceneChange):
    """Every roadside unit has a double in the same place, with the same LiDAR, that shares too."""

    safe_from_file = True
    name = "second_sender"
    partners: ClassVar[frozenset[Kind] | None] = frozenset({"roadside"})

    def __init__(self) -> None:
        super().__init__()
        self._units: set[str] = set()

    def after_partners(self, partners: PartnerFleet) -> None:
        """Let the units share twice."""
        self._units = {unit.sender for unit in partners.units}
        partners.doubles = {unit: f"{unit}{AGAIN}" for unit in self._units}

    def unheard(self, senders: Collection[str]) -> str:
        """Return which unit's double has sent nothing although the unit has."""
        for unit in sorted(self._units & set(senders)):
            if f"{unit}{AGAIN}" not in senders:
                return f"{unit} has sent, and its double has not"
        return ""

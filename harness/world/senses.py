"""What partners sense with: LiDAR points, pictures, both or neither, as their systems read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from harness.types.vocabulary import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PartnerSenses:
    """What is mounted on a partner: hits are always known, for ground truth."""

    reads_points: bool
    reads_images: bool = False


ChooseSenses: TypeAlias = Callable[[str, Kind], PartnerSenses]
"""Gives the senses of a partner by its name and kind."""


def give_all(*, reads_points: bool, reads_images: bool = False) -> ChooseSenses:
    """Return what gives all partners the same senses."""
    senses = PartnerSenses(reads_points=reads_points, reads_images=reads_images)
    return lambda sender, kind: senses

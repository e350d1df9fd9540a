"""What the ego holds of a partner when it fuses."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from harness.vocabulary import Pose


@dataclass(frozen=True, slots=True, eq=False)
class Partner:
    """Maps in the partner's own frame, (1, channels, rows, columns) each, and where that stands."""

    maps: tuple[Tensor, ...]
    in_ego: Pose

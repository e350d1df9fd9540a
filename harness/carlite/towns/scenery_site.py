"""What every part of the scenery is built on."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.towns.scenery_pieces import SceneryPieces
from harness.carlite.towns.scenery_plot import OccupancyGrid
from harness.carlite.towns.scenery_styles import SceneryStyle


@dataclass(frozen=True)
class ScenerySite:
    """The ground that is still free, the pieces that stand already, and the town's style."""

    plot: OccupancyGrid
    pieces: SceneryPieces
    style: SceneryStyle

"""What every part of the scenery is built on."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.towns.scenery_pieces import Pieces
from harness.carlite.towns.scenery_plot import Plot
from harness.carlite.towns.scenery_styles import Style


@dataclass(frozen=True)
class Site:
    """The ground that is still free, the pieces that stand already, and the town's style."""

    plot: Plot
    pieces: Pieces
    style: Style

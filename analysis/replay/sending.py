"""What all parts of a recording have in common: its time line, and paths of what has a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.vocabulary import Floats

if TYPE_CHECKING:
    import rerun

TIME = "episode"
"""The one time line: seconds since the ego stood ready."""


def times_of(times: Sequence[float] | Floats) -> list[rerun.TimeColumn]:
    """Return the time line of some rows."""
    import rerun

    return [rerun.TimeColumn(TIME, duration=np.asarray(times, np.float64))]


def path_of(*parts: str) -> str:
    """Return the path of an entity, whatever somebody called a sender."""
    import rerun

    return str(rerun.new_entity_path(list(parts)))

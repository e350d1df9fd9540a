"""Towns: OpenDRIVE in; lanes, ground, signals and scenery out."""

from harness.carlite.towns.loading import available, from_opendrive, is_made_up, load

__all__ = ["available", "from_opendrive", "is_made_up", "load"]

"""Towns: OpenDRIVE in; lanes, ground, signals and scenery out."""

from harness.carlite.towns.loading import (
    from_opendrive,
    has_made_up_scenery,
    list_available_towns,
    list_designed_towns,
    load_town,
)

__all__ = [
    "from_opendrive",
    "has_made_up_scenery",
    "list_available_towns",
    "list_designed_towns",
    "load_town",
]

"""How many rows a table can have: readers refuse more, whatever a file claims."""

from __future__ import annotations

MOST_ROWS = {
    "frames": 200_000,  # planning steps: eleven hours at five a second
    "boxes": 20_000_000,
    "poses": 2_000_000,
    "messages": 2_000_000,
    "events": 200_000,
    "map": 2_000_000,
    "tracks": 100_000_000,
    "actors": 200_000,
    "sightings": 20_000_000,
    "scenery": 2_000_000,
    "points": 2_000_000,
    "pictures": 2_000_000,
    "box_changes": 20_000_000,
    "links": 18_000_000,
    "formatted": 2_000_000,
    "segments": 16_000_000,
    "cams": 2_000_000,
    "denms": 2_000_000,
    "attacks": 2_000_000,
    "defences": 2_000_000,
    "compensated": 20_000_000,
    "clocks": 2_000_000,
    "computing": 2_000_000,
    "precedences": 2_000_000,
}
"""Rows that a table of one attempt can have: more are not read into memory."""
ROWS_A_STEP = {
    "boxes": 3_000,
    "tracks": 100_000,
    "sightings": 20_000,
    "poses": 200,
    "messages": 200,
    "points": 200,
    "pictures": 800,
    "box_changes": 6_000,
    "links": 1_800,
    "formatted": 200,
    "segments": 1_600,
    "cams": 200,
    "denms": 200,
    "attacks": 200,
    "defences": 2_000,
    "compensated": 20_000,
    "clocks": 200,
    "computing": 400,
    "precedences": 200,
}
"""Rows for each of an attempt's planning steps, at most."""

"""What development towns are called, and which there are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

DEVELOPMENT_SEEDS = (1, 2, 3, 4, 5, 6)
"""The seeds of the six development towns."""
DIGITS = 8


def format_development_name(seed: int, given: Mapping[str, float]) -> str:
    """Return a town's name; given parameters add digits, for caches and records go by name."""
    if not given:
        return f"Seeded_{seed}"
    text = json.dumps({name: float(value) for name, value in given.items()}, sort_keys=True)
    return f"Seeded_{seed}_{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"

"""Ids of a new episode begin where remainders are those of the first: pictures choose by them."""

from __future__ import annotations

from harness.carlite.sensors.materials import LINEAR_CLOTHES, LINEAR_FACADES, LINEAR_PAINTS
from harness.carlite.world.world import FIRST_ACTOR, ID_BLOCK, find_next_block


def test_an_unused_block_is_used() -> None:
    assert find_next_block(FIRST_ACTOR) == FIRST_ACTOR
    for unused in (FIRST_ACTOR + 1, FIRST_ACTOR + ID_BLOCK - 1, FIRST_ACTOR + ID_BLOCK):
        assert find_next_block(unused) == FIRST_ACTOR + ID_BLOCK
    assert find_next_block(FIRST_ACTOR + ID_BLOCK + 1) == FIRST_ACTOR + 2 * ID_BLOCK


def test_a_block_is_a_period_of_the_colours() -> None:
    """As `materials` chooses: seven thirds of an id, by the number of colours."""
    for colours in (LINEAR_PAINTS, LINEAR_FACADES, LINEAR_CLOTHES):
        chosen = [actor * 7 // 3 % len(colours) for actor in range(3 * ID_BLOCK)]
        assert chosen[ID_BLOCK:] == chosen[:-ID_BLOCK]

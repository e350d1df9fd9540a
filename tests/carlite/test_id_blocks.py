"""Ids of a new episode begin where remainders are those of the first: pictures choose by them."""

from __future__ import annotations

from harness.carlite.world.world import FIRST_ACTOR, ID_BLOCK, find_next_block


def test_an_unused_block_is_used() -> None:
    assert find_next_block(FIRST_ACTOR) == FIRST_ACTOR
    for unused in (FIRST_ACTOR + 1, FIRST_ACTOR + ID_BLOCK - 1, FIRST_ACTOR + ID_BLOCK):
        assert find_next_block(unused) == FIRST_ACTOR + ID_BLOCK
    assert find_next_block(FIRST_ACTOR + ID_BLOCK + 1) == FIRST_ACTOR + 2 * ID_BLOCK


def test_a_block_is_divided_by_all_small_numbers() -> None:
    assert [divisor for divisor in range(1, 11) if ID_BLOCK % divisor] == []

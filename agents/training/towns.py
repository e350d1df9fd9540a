"""Towns for training and towns for testing: no network is trained in a test town."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import UserError

TRAINING_TOWNS = ("CrucibleOld", "CrucibleRing", "CrucibleHill")
TEST_TOWNS = ("Crucible05", "Town05")


def check_towns(towns: Sequence[str], for_testing: bool) -> None:
    """Refuse to mix towns for training with towns for testing."""
    for town in towns:
        if town in TEST_TOWNS and not for_testing:
            raise UserError(
                f"{town} is for testing; record in"
                f" {', '.join(TRAINING_TOWNS)} or CARLA's other towns, or say --for-testing"
            )
        if town not in TEST_TOWNS and for_testing:
            raise UserError(
                f"{town} is for training; --for-testing records in {' or '.join(TEST_TOWNS)}"
            )

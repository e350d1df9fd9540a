"""Towns for training and towns for testing: no network is trained in a test town."""

from __future__ import annotations

from collections.abc import Sequence

from harness.common.errors import UserError
from harness.common.protocols import is_test_town

TRAINING_TOWNS = ("CrucibleOld", "CrucibleRing", "CrucibleHill")
TEST_TOWNS = ("Crucible05", "Town05")


def is_for_testing(town: str) -> bool:
    """Return whether nothing may be trained or chosen on a town, `_Opt` or not."""
    return town.removesuffix("_Opt") in TEST_TOWNS or is_test_town(town)


def check_towns(towns: Sequence[str], for_testing: bool) -> None:
    """Refuse to mix towns for training with towns for testing."""
    for town in towns:
        if is_for_testing(town) and not for_testing:
            raise UserError(
                f"{town} is for testing; record in"
                f" {', '.join(TRAINING_TOWNS)}, towns of `crucible maps generate --seed` or CARLA's"
                " other towns, or say --for-testing"
            )
        if not is_for_testing(town) and for_testing:
            raise UserError(
                f"{town} is for training; --for-testing records in {' or '.join(TEST_TOWNS)}"
            )


def refuse_for_training(town: str, recording: str) -> None:
    """Refuse a recording of a town for testing, whatever it says of its purpose."""
    if is_for_testing(town):
        raise UserError(f"{recording}: recorded in {town}, a town for testing; train on others")

"""Which agents cooperate in an arm, and which LiDARs define ground truth."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.records.arms import NONE, Arm
from harness.world.partners import Cooperation, RoadsidePlacement

COMMON = "reference"
"""The truth filter that asks the reference rig, which scans in every arm."""
DEPENDENT = "anyone"
"""The truth filter that asks all cooperating agents."""


def build_arm_cooperation(settings: CampaignSettings, arm: Arm) -> Cooperation:
    """Return which agents cooperate in an arm.

    Around a system that reads no messages stand the partners of the campaign's only cooperation:
    they scan, and no message of theirs is read. With several cooperations there are no partners.

    Args:
        settings: of the campaign.
        arm: with its cooperation, or `none`.
    """
    name = arm.cooperation
    if name == NONE:
        if len(settings["cooperation"]) > 1:
            return Cooperation()
        (name,) = settings["cooperation"]
    made = build_part(settings["cooperation"][name], f"cooperation.{name}")
    if not isinstance(made, Cooperation):
        raise UserError(f"configuration: cooperation.{name} needs a _target_")
    return made


def build_reference_placement(settings: CampaignSettings) -> RoadsidePlacement | None:
    """Return where the units of the reference rig stand, if ground truth depends on them."""
    if settings["patterns"]["truth_filter"] != COMMON:
        return None
    placement: RoadsidePlacement = build_part(settings["reference"], "reference")
    return placement


def list_cooperations(settings: CampaignSettings) -> list[str]:
    """Return the names of a campaign's cooperations."""
    names = list(settings["cooperation"])
    if not names:
        raise UserError("configuration: cooperation is empty; choose one or more")
    if NONE in names:
        raise UserError(
            f"configuration: cooperation.{NONE} is the name of arms whose system reads no messages;"
            " choose another name"
        )
    return names


def refuse_uncommon_truth(settings: CampaignSettings, arms: Iterable[Arm]) -> None:
    """Refuse to compare cooperations on ground truth that depends on which agents cooperate."""
    names = sorted({arm.cooperation for arm in arms} - {NONE})
    if len(names) > 1 and settings["patterns"]["truth_filter"] == DEPENDENT:
        raise UserError(
            f"configuration: patterns.truth_filter={DEPENDENT} makes ground truth depend on which"
            f" agents cooperate, and {' and '.join(names)} are compared; choose {COMMON}, ego or"
            " none"
        )


def describe_ground_truth(settings: CampaignSettings) -> str:
    """Return what counts as ground truth, and why it is the same in every arm."""
    rules = settings["patterns"]
    least = f"at least {rules['least_hits']} LiDAR returns"
    return {
        COMMON: f"{COMMON}: road users with {least} of the ego or of a unit of the reference rig,"
        " which scans in every arm",
        DEPENDENT: f"{DEPENDENT}: road users with {least} of the ego or of a partner",
        "ego": f"ego: road users with {least} of the ego, in every arm",
        "none": "none: all road users in the window, in every arm",
    }[rules["truth_filter"]]

"""Whether the networks of a campaign give equal bytes on all processors (decision 0127).

`repeatable=true` changes two things in the processes of attempts: environment variables, which
torch reads when it is loaded, and two of torch's switches, which are set once the system is made.
"""

from __future__ import annotations

from harness.campaign.settings.config import REPEATABLE
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import list_all_systems
from harness.common.environments import select_remote_environment
from harness.common.errors import UserError
from harness.common.kernels import hold_torch_kernels, make_repeatable_environment


def is_repeatable(settings: CampaignSettings) -> bool:
    """Return whether networks are to give equal bytes on all processors."""
    return bool(settings.get(REPEATABLE))


def refuse_unrepeatable(settings: CampaignSettings) -> None:
    """Refuse `repeatable` where it cannot be kept.

    Raises:
        UserError: this processor lacks what all need, or a system has a Python of its own, in which
            another torch computes (`has_separate_python` of its class).
    """
    make_attempt_environment(settings)
    for system in list_all_systems(settings) if is_repeatable(settings) else ():
        if getattr(system.kind, "has_separate_python", False):
            raise UserError(
                f"configuration: repeatable=true: {system.place} computes in a Python of its own,"
                " whose kernels are not known"
            )


def make_attempt_environment(settings: CampaignSettings) -> dict[str, str]:
    """Return the environment variables that attempts of a campaign need on any machine.

    Raises:
        UserError: `repeatable` is set, and this processor lacks what all need.
    """
    environment = select_remote_environment()
    return environment | make_repeatable_environment() if is_repeatable(settings) else environment


def hold_network_kernels(settings: CampaignSettings) -> None:
    """Let networks compute with kernels that all processors share, if the settings ask for it.

    Raises:
        UserError: they cannot.
    """
    if is_repeatable(settings):
        hold_torch_kernels()

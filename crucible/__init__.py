"""Crucible from Python: `open_campaign`, `run_campaign` and `run_attempt`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crucible.api import Campaign, CampaignError, open_campaign, run_attempt, run_campaign

__all__ = ["Campaign", "CampaignError", "open_campaign", "run_attempt", "run_campaign"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line must not load pandas."""
    if name not in __all__:
        raise AttributeError(f"module 'crucible' has no attribute {name!r}")
    from crucible import api  # noqa: PLC0415

    return getattr(api, name)

"""Settings that read a checkout of V2Xverse become plain settings before anything else is read."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.world.routes.checkout import (
    CLONE,
    ROUTES,
    read_traffic_parameters,
    refuse_incomplete_checkout,
)
from harness.world.traffic import Traffic

PARAMETERS = "parameters"
"""The setting of a traffic that names a file of the checkout."""


def with_checkout(settings: CampaignSettings) -> CampaignSettings:
    """Return settings whose traffic is in numbers; refuse what needs a checkout and has none."""
    routes, traffic = settings.get("routes"), settings.get("traffic")
    if not isinstance(routes, dict):
        return settings
    # which settings read files of the checkout
    checkout = routes.get("checkout")
    reads_routes = str(routes.get("file")).endswith(ROUTES)
    reads_traffic = isinstance(traffic, dict) and PARAMETERS in traffic
    # refuse those that need one
    if checkout is None and (reads_routes or reads_traffic):
        what = "routes=v2xverse_town05" if reads_routes else "traffic=v2xverse_checkout"
        raise UserError(
            f"{what} reads files of V2Xverse, which are not part of this project; get them with"
            f" `{CLONE}` and set routes.checkout=V2Xverse"
            " (or choose routes=town05 traffic=v2xverse_1, which are ours)"
        )
    if checkout is not None and reads_routes:
        refuse_incomplete_checkout(expand_home(str(checkout), "routes.checkout"))
    if not reads_traffic:
        return settings
    assert isinstance(traffic, dict)
    # densities of the file in place of its name: the settings record what was driven
    rest = {name: value for name, value in traffic.items() if name != PARAMETERS}
    file = expand_home(str(traffic[PARAMETERS]), f"traffic.{PARAMETERS}")
    read = cast("PartSettings[Traffic]", {**read_traffic_parameters(Path(file)), **rest})
    return {**settings, "traffic": read}

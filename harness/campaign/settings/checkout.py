"""Settings that read a checkout of V2Xverse become plain settings before anything else is read."""

from __future__ import annotations

from typing import cast

from harness.campaign.settings.declared import CampaignSettings, PartSettings, RouteSettings
from harness.common.files import expand_home, find_file
from harness.world.routes.checkout import (
    ROUTES_COPY,
    find_checkout_file,
    read_traffic_parameters,
    refuse_incomplete_checkout,
)
from harness.world.traffic import Traffic

PARAMETERS = "parameters"
"""The setting of a traffic that names a file of the checkout."""


def with_checkout(settings: CampaignSettings) -> CampaignSettings:
    """Return settings that name the checkout's files, and traffic in numbers.

    Where no checkout is named, the copies that come with Crucible are read. The settings of a
    campaign then name what was read.
    """
    routes, traffic = settings.get("routes"), settings.get("traffic")
    if not isinstance(routes, dict):
        return settings
    checkout = routes.get("checkout")
    name = None if checkout is None else str(checkout)
    if name is not None:
        if routes.get("file") == ROUTES_COPY:
            refuse_incomplete_checkout(expand_home(name, "routes.checkout"))
        settings = {**settings, "routes": _name_checkout_files(routes, name)}
    if not isinstance(traffic, dict) or PARAMETERS not in traffic:
        return settings
    # densities of the file in place of its name: the settings record what was driven
    rest = {name: value for name, value in traffic.items() if name != PARAMETERS}
    place = f"traffic.{PARAMETERS}"
    file = find_file(find_checkout_file(name, str(traffic[PARAMETERS])) or "", place)
    read = cast("PartSettings[Traffic]", {**read_traffic_parameters(file), **rest})
    return {**settings, "traffic": read}


def _name_checkout_files(routes: RouteSettings, checkout: str) -> RouteSettings:
    """Return settings of routes with the checkout's files in place of copies, in both places."""
    chosen: dict[str, object] = {**routes}
    source: dict[str, object] = {**routes["source"]}
    for part in (chosen, source):
        for name in ("file", "hazards"):
            value = part.get(name)
            if isinstance(value, str):
                part[name] = find_checkout_file(checkout, value)
    return cast("RouteSettings", {**chosen, "source": source})

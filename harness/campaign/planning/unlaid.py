"""Routes whose further egos or hazards cannot be laid are left out, where the campaign asks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.routes.files import RouteSpec
from harness.world.routes.sources import RouteSource


def keep_wholly_laid(
    laid: Mapping[str, Route],
    routes: Mapping[str, RouteSpec],
    *,
    source: RouteSource,
    maps: Path | None,
    invalid: list[str],
) -> dict[str, Route]:
    """Return the routes of which everything can be laid.

    Args:
        laid: the ways of the driven egos, by route.
        routes: by id.
        source: of the routes.
        maps: folder of OpenDRIVE files; None for shipped towns.
        invalid: collects what is wrong with the others.

    Raises:
        UserError: nothing is left.
    """
    unlaid = source.find_unlaid({name: routes[name] for name in laid}, maps)
    if unlaid and len(unlaid) == len(laid):
        raise UserError(next(iter(unlaid.values())))
    invalid += unlaid.values()
    return {name: way for name, way in laid.items() if name not in unlaid}

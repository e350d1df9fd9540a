"""The source of routes that the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.campaign.settings.config import build_part, format_one_line
from harness.campaign.settings.declared import RouteSettings
from harness.common.errors import UserError
from harness.world.routes.sources import RouteSource

PLACE = "routes.source"


def build_route_source(routes: RouteSettings) -> RouteSource:
    """Return the source of routes; refuse what is none."""
    source = build_part(routes["source"], PLACE)
    if not isinstance(source, RouteSource):
        raise UserError(f"configuration: {PLACE} needs the _target_ of a RouteSource")
    return source


@contextmanager
def convert_source_errors(source: RouteSource) -> Iterator[None]:
    """Turn whatever a source raises into an error of one line."""
    try:
        yield
    except UserError:
        raise
    except Exception as problem:
        name = type(source).__name__
        why = f"{type(problem).__name__}: {format_one_line(problem)}"
        raise UserError(f"configuration: {PLACE}: {name}: {why}") from problem

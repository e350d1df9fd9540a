"""The viewer of a run with `live`: found, started, or not to be had, which ends nothing."""

from __future__ import annotations

from importlib.util import find_spec

from harness.common.errors import UserError
from harness.common.installation import format_missing_package
from harness.common.terminal_lines import print_problem
from harness.viewing import viewer

PACKAGE = "rerun"
WITHOUT = "driven without a live view"


def refuse_live(live: bool | str | None, here: bool) -> None:
    """Refuse what is no viewer's address, and a viewer here for attempts of other machines."""
    if isinstance(live, str) and not viewer.is_address(live):
        raise UserError(
            f"configuration: live = {live}: true, false or the address of a viewer is needed,"
            f" such as {viewer.EXAMPLE}"
        )
    if live is True and not here:
        raise UserError(
            "configuration: live=true starts a viewer on this machine, which workers of Ray and"
            f" Slurm may not reach; give them the address of one: live={viewer.EXAMPLE}"
        )


def resolve_live_address(live: bool | str | None, here: bool) -> str | None:
    """Return the viewer that attempts are to be shown in; without one, print why."""
    if not live:
        return None
    try:
        return live if isinstance(live, str) and not here else ensure_viewer(live)
    except LookupError as problem:
        print_problem(f"live: {problem}; {WITHOUT}")
        return None


def ensure_viewer(live: bool | str) -> str:
    """Return a viewer that answers, started if need be; LookupError says why there is none."""
    if find_spec(PACKAGE) is None:
        raise LookupError(format_missing_package(PACKAGE, "replay"))
    if isinstance(live, str):
        if not viewer.is_answering(live):
            raise LookupError(f"no viewer answers at {live}: start one with `rerun`")
    elif not viewer.is_answering(viewer.HERE):
        if not viewer.has_display():
            raise LookupError(
                "no display to open the viewer on: start `rerun --serve-web`, which a browser"
                f" shows, or `rerun` where there is a display, and give live={viewer.EXAMPLE}"
            )
        if not viewer.start_viewer():
            raise LookupError(
                "the viewer does not start: start `rerun`, which prints why, and run again"
            )
    return live if isinstance(live, str) else viewer.HERE

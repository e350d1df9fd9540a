"""How long attempts take on this machine: a file in the user's cache, renewed after every run.

Whatever is wrong with the file, a campaign goes on as if there were none.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.campaign.planning.plan import CampaignPlan
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.trust import iter_targets
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.records.keys import AttemptKey
from harness.records.ledger import find_finished_tries
from harness.records.reading import read_json_object

FILE = "paces.json"
REMEMBERED = 50_000.0
"""Metres of route that a pace is the mean of: what was driven long before fades."""
PROGRAM = ("root", "agent", "config", "method", "agent_config", "checkpoint", "python", "image")
"""Settings that name a user's own program and its networks."""
MOST_BYTES = 1_000_000
"""Of the file; a larger one is not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPace:
    """What attempts of one kind of system took."""

    metres: float  # of the routes of all their egos
    seconds: float  # of wall-clock
    bytes: float
    attempts: int

    @property
    def valid(self) -> bool:
        """Whether it is about any attempt at all."""
        amounts = (self.metres, self.seconds, self.bytes)
        return self.attempts > 0 and self.metres > 0 and all(0 <= n < math.inf for n in amounts)

    def merge_later(self, later: SystemPace) -> SystemPace:
        """Return the pace of both, in which the earlier one counts as `REMEMBERED` at most."""
        share = min(1.0, REMEMBERED / self.metres)
        return SystemPace(
            metres=share * self.metres + later.metres,
            seconds=share * self.seconds + later.seconds,
            bytes=share * self.bytes + later.bytes,
            attempts=self.attempts + later.attempts,
        )


def get_pace_file() -> Path | None:
    """Return the file: in `$CRUCIBLE_CACHE`, `$XDG_CACHE_HOME/crucible` or `~/.cache/crucible`."""
    chosen, cache = os.environ.get("CRUCIBLE_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / FILE
    try:
        return (Path(cache) if cache else Path.home() / ".cache") / "crucible" / FILE
    except RuntimeError:  # users without a home
        return None


def read_paces() -> dict[str, SystemPace]:
    """Return the paces of this machine by kind; none if the file is not there or broken."""
    file = get_pace_file()
    paces: dict[str, SystemPace] = {}
    with suppress(OSError, UserError, LookupError, ValueError, TypeError, AttributeError):
        if file is not None and file.stat().st_size <= MOST_BYTES:
            for kind, record in read_json_object(file)["paces"].items():
                with suppress(TypeError):
                    if (pace := SystemPace(**record)).valid:
                        paces[kind] = pace
    return paces


def select_known_paces(settings: CampaignSettings) -> dict[str, SystemPace]:
    """Return this machine's paces of a campaign's systems, as far as they are known."""
    known = read_paces()
    kinds = {system: format_pace_kind(settings, system) for system in settings["system"]}
    return {system: known[kind] for system, kind in kinds.items() if kind in known}


def format_pace_kind(settings: CampaignSettings, system: str) -> str:
    """Return what the pace of a system depends on most: its classes, its size, the simulator.

    Of a program of the user's, that is the program: two agents have one class of the harness.
    """
    chosen = settings["system"][system]
    parts = [settings["simulator"], *(part for _, part in iter_targets(chosen, ""))]
    names = [str(part["_target_"]).rpartition(".")[2] for part in parts]
    size = [str(chosen["size"])] if "size" in chosen else []
    naming = PROGRAM if "python" in chosen else ()
    program = [str(chosen[name]) for name in naming if chosen.get(name) is not None]
    points = ["points"] if settings["record"]["points"] else []
    pictures = ["pictures"] if settings["record"].get("pictures") else []
    return " ".join([*names, *size, *program, *points, *pictures])


def update_paces(
    plan: CampaignPlan, folder: Path, settings: CampaignSettings, before: Iterable[AttemptKey]
) -> None:
    """Add what the attempts took that were finished since then."""
    old = set(before)
    new = {key: place for key, place in find_finished_tries(folder).items() if key not in old}
    metres = {one.route.name: one.driven_metres for one in plan.assignments}
    paces = read_paces()
    for key in plan.attempts:
        taken = read_attempt_cost(new[key]) if key in new else None
        if taken is not None:
            seconds, size = taken
            pace = SystemPace(metres=metres[key.route], seconds=seconds, bytes=size, attempts=1)
            if pace.valid:
                kind = format_pace_kind(settings, key.arm.system)
                paces[kind] = paces[kind].merge_later(pace) if kind in paces else pace
    if new:
        write_paces(paces)


def write_paces(paces: Mapping[str, SystemPace]) -> None:
    """Write the file, if it can be written."""
    file = get_pace_file()
    records = {kind: asdict(pace) for kind, pace in sorted(paces.items())}
    if file is not None:
        with suppress(UserError):
            write_whole(file, json.dumps({"paces": records}, indent=1) + "\n")


def read_attempt_cost(place: Path) -> tuple[float, float] | None:
    """Return seconds and bytes of a finished try, if its records have them."""
    try:
        seconds = float(read_json_object(place / "timing.json")["seconds"]["total"])
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    except (UserError, OSError, KeyError, TypeError, ValueError):
        return None
    return seconds, float(size)

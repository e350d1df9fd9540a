"""Drives attempts of packed campaigns again, as a campaign drives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import read_assignment
from harness.campaign.folder.campaign_folder import locked, prepare
from harness.campaign.folder.inputs import other_files
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.run import do
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.config import build
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.trust import refuse_untrusted
from harness.campaign.twins.twins import HERE, refuse_carla, refuse_untrusted_hazards
from harness.errors import UserError
from harness.files import write_whole
from harness.protocols import refuse_unannounced
from harness.records.keys import AttemptKey
from harness.records.ledger import rebuild
from harness.records.packing.parts import PackedCampaign
from harness.records.reading import Campaign
from harness.safe_reading import LAID_ROUTE, read_within, refuse_link


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How attempts are driven again."""

    out: Path  # a folder for each campaign lies in it
    maps: Path | None
    protocol: Path | None
    workers: int
    trust: bool


def settings_again(campaign: PackedCampaign, again: Again) -> Settings:
    """Return a campaign's settings for this machine."""
    given = campaign.settings
    maps = None if again.maps is None else str(again.maps.resolve())
    settings = {
        **given,
        "executor": HERE,
        "export": {},
        "live": False,
        "progress": "live",
        "protocol": None if again.protocol is None else str(again.protocol),
        "simulator": {**given.get("simulator", {}), "maps": maps},
        "routes": {**given.get("routes", {}), "clean_under": None},
    }
    return cast("Settings", settings)


def refuse_strangers(campaign: PackedCampaign, again: Again) -> None:
    """Refuse classes that are not declared safe, before anything of them is called."""
    if not again.trust:
        settings = settings_again(campaign, again)
        refuse_untrusted(Path(campaign.name), cast("dict[str, Any]", settings))


def changed_weights(campaign: PackedCampaign, systems: Sequence[str]) -> list[str]:
    """Return how the files of systems differ from those that drove the study."""
    return other_files(cast("Settings", campaign.settings), systems)


def drive_again(
    campaign: PackedCampaign, keys: Sequence[AttemptKey], again: Again
) -> dict[AttemptKey, Path]:
    """Drive attempts that have no result yet; return the folders of those that have one then."""
    folder = again.out / campaign.name
    settings = settings_again(campaign, again)
    refuse_carla(folder, settings)
    refuse_misshapen(settings)
    simulator = build(settings["simulator"], "simulator")
    with locked(folder):
        prepare(folder, settings, simulator.name)
        write_routes(campaign, folder)
        wanted = {(key.route, key.arm.condition) for key in keys}  # a condition may have its own
        assignments = [read_assignment(folder, *one) for one in sorted(wanted)]
        towns = {assignment.route.town for assignment in assignments}
        if len(towns) > 1:
            raise UserError(f"{campaign.name}: routes in {', '.join(sorted(towns))}")
        refuse_unannounced(towns, again.protocol)
        for assignment in assignments if not again.trust else ():
            refuse_untrusted_hazards(folder, assignment)
        rebuild(folder)
        tries = settings["attempts_per_route"]
        queue = WorkQueue(sorted(keys), folder, tries, retry_failed=True)
        if queue:
            executor = LocalExecutor(again.workers)
            do(queue, executor, folder=folder, settings=settings, town=towns.pop())
    there = Campaign(folder).attempts()
    return {key: there[key] for key in keys if key in there}


def write_routes(campaign: PackedCampaign, folder: Path) -> None:
    """Write the routes as they were laid; those of another study are refused."""
    for place, text in campaign.routes.items():
        file = folder / place
        refuse_link(file, within=folder)
        if not file.exists():
            write_whole(file, text)
        elif read_within(file, LAID_ROUTE, within=folder) != text.encode():
            raise UserError(f"{file}: another route of that name; choose another --out DIR")

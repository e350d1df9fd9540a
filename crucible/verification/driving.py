"""Drives attempts of packed campaigns again, as a campaign drives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import read_assignment
from harness.campaign.folder.campaign_folder import lock_campaign, prepare_campaign
from harness.campaign.folder.inputs import list_file_changes
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.run import run_work_queue
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import list_partner_systems
from harness.campaign.settings.trust import refuse_untrusted
from harness.campaign.twins.twins import HERE, refuse_carla, refuse_untrusted_hazards
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.protocols import refuse_unannounced
from harness.common.safe_reading import LAID_ROUTE, read_within, refuse_link
from harness.records.arms import PARTNER_FLEET
from harness.records.keys import AttemptKey
from harness.records.ledger import rebuild_ledger
from harness.records.packing.parts import PackedCampaign
from harness.records.reading import CampaignRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveSettings:
    """How attempts are driven again.

    Attributes:
        out: folder; one for each campaign lies in it.
        maps: folder of OpenDRIVE files; None for towns made from the protocol.
        protocol: file that test towns are made from; None where there are none.
        workers: attempts at a time.
        trust: build all classes that packed settings name.
    """

    out: Path  # a folder for each campaign lies in it
    maps: Path | None
    protocol: Path | None
    workers: int
    trust: bool


def build_redrive_settings(campaign: PackedCampaign, again: RedriveSettings) -> CampaignSettings:
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
    return cast("CampaignSettings", settings)


def refuse_untrusted_campaign(campaign: PackedCampaign, again: RedriveSettings) -> None:
    """Refuse classes that are not declared safe, before anything of them is called."""
    if not again.trust:
        settings = build_redrive_settings(campaign, again)
        refuse_untrusted(Path(campaign.name), cast("dict[str, Any]", settings))


def list_changed_weights(campaign: PackedCampaign, systems: Sequence[str]) -> list[str]:
    """Return how the files of systems differ from those that drove the study."""
    settings = cast("CampaignSettings", campaign.settings)
    of_partners = list_file_changes(settings, list_partner_systems(settings), PARTNER_FLEET)
    return [*list_file_changes(settings, systems), *of_partners]


def drive_attempts_again(
    campaign: PackedCampaign, keys: Sequence[AttemptKey], again: RedriveSettings
) -> dict[AttemptKey, Path]:
    """Drive attempts that have no result yet; return the folders of those that have one then."""
    folder = again.out / campaign.name
    settings = build_redrive_settings(campaign, again)
    refuse_carla(folder, settings)
    refuse_misshapen(settings)
    simulator = build_part(settings["simulator"], "simulator")
    # a folder as a campaign has it, with the packed routes
    with lock_campaign(folder):
        prepare_campaign(folder, settings, simulator.name)
        write_packed_routes(campaign, folder)
        wanted = {(key.route, key.arm.condition) for key in keys}  # a condition may have its own
        assignments = [read_assignment(folder, *one) for one in sorted(wanted)]
        towns = {assignment.route.town for assignment in assignments}
        if len(towns) > 1:
            raise UserError(f"{campaign.name}: routes in {', '.join(sorted(towns))}")
        refuse_unannounced(towns, again.protocol)
        # hazards name classes: only with trust, if they are not declared safe
        for assignment in assignments if not again.trust else ():
            refuse_untrusted_hazards(folder, assignment)
        rebuild_ledger(folder)
        # drive what has no result yet
        tries = settings["attempts_per_route"]
        queue = WorkQueue(sorted(keys), folder, tries, retry_failed=True)
        if queue:
            executor = LocalExecutor(again.workers)
            run_work_queue(queue, executor, folder=folder, settings=settings, town=towns.pop())
    there = CampaignRecords(folder).find_attempts()
    return {key: there[key] for key in keys if key in there}


def write_packed_routes(campaign: PackedCampaign, folder: Path) -> None:
    """Write the routes as they were laid; those of another study are refused."""
    for place, text in campaign.routes.items():
        file = folder / place
        refuse_link(file, within=folder)
        if not file.exists():
            write_whole(file, text)
        elif read_within(file, LAID_ROUTE, within=folder) != text.encode():
            raise UserError(f"{file}: another route of that name; choose another --out DIR")

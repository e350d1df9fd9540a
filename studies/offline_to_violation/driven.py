"""Campaigns of one route: how they are driven, and how their drives ended."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.run import DONE, NO_INFRASTRUCTURE, SOME_FAILED
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import explain_composition_error
from harness.campaign.settings.config import build_part, resolve_settings
from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError, UserError
from harness.common.subprocesses import build_module_command
from harness.records.arms import NONE
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.record_names import PATTERNS
from harness.world.routes.files import RouteSpec
from harness.world.routes.sources import RouteSource
from studies.offline_to_violation.plan import CONDITIONS, BlockRoute, OfflinePlan

RECORDER = "recorder"
RECORDER_TARGET = "agents.sharing_oracle.SharingOracle"
REPAIR_PREFIX = "repair_"
TRY_SECONDS = 7200.0
"""Seconds for a try: hours where other work has the machine."""


def list_group_specs(group: str, settings: Sequence[str] = ()) -> list[RouteSpec]:
    """Return the routes of a group of `conf/routes`, as their file has them."""
    overrides = [f"routes={group}", "system=oracle", *settings]
    try:
        composed = resolve_settings(compose_config(overrides))
    except (HydraException, OmegaConfBaseException) as problem:
        raise UserError(explain_composition_error(problem, overrides, ())) from None
    source: RouteSource = build_part(composed["routes"]["source"], "routes")
    return list(source.routes())


def list_common_settings(plan: OfflinePlan, route: BlockRoute) -> list[str]:
    """Return the settings that a route's campaigns share."""
    return [
        "study=recommended",
        f"routes={route.group}",
        f"routes.only={json.dumps([route.route])}",
        f"seeds=[{plan.seed}]",
        "cooperation=ahead",
        "progress=plain",
        # studies share a machine with other work, and the same command tries failed drives again
        f"attempt_timeout={TRY_SECONDS}",
        "retry_failed=true",
        *plan.settings,
    ]


def list_recording_settings(plan: OfflinePlan, route: BlockRoute) -> list[str]:
    """Return the settings of the drive that scenes are taken from."""
    return [
        *list_common_settings(plan, route),
        "system=[]",
        f"+system.{RECORDER}._target_={RECORDER_TARGET}",
        "interference=none",
        "record.points=true",
    ]


def list_drive_settings(plan: OfflinePlan, route: BlockRoute, *, repairs: bool) -> list[str]:
    """Return the settings of the drives under test; with repairs, one arm more for each pattern."""
    chosen = [f"{REPAIR_PREFIX}{pattern}" for pattern in PATTERNS] if repairs else []
    return [
        *list_common_settings(plan, route),
        f"system=[{','.join(plan.systems)}]",
        f"interference=[{','.join(CONDITIONS)}]",
        f"intervention=[{','.join(chosen)}]",
    ]


def run_route_campaign(settings: Sequence[str], folder: Path) -> bool:
    """Drive what is left of a campaign; return whether every attempt has a result.

    The campaign has a process of its own, whose output goes to `campaign.log` next to the folder.

    Args:
        settings: of `crucible run`.
        folder: of the campaign.

    Raises:
        UserError: the settings are refused.
        AttemptError: no simulator could be started.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.with_name(f"{folder.name}.log")
    quoted = "'" + str(folder.resolve()).replace("'", r"\'") + "'"
    command = [*build_module_command("crucible", "run"), *settings, f"out={quoted}"]
    with log.open("a") as output:
        done = subprocess.run(
            command, env=build_child_environment(), check=False, stdout=output, stderr=output
        )
    if done.returncode in (DONE, SOME_FAILED):
        return done.returncode == DONE
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    why = f"{log}: {lines[-1].strip() if lines else 'no output'}"
    if done.returncode == NO_INFRASTRUCTURE:
        raise AttemptError("server_launch", why)
    raise UserError(why)


def find_recorded_attempt(folder: Path) -> tuple[CampaignRecords, AttemptKey] | None:
    """Return the recording drive of a route; None if it has no result."""
    campaign = CampaignRecords(folder)
    keys = list(campaign.find_attempts())
    return (campaign, keys[0]) if keys else None


def read_reveal_time(result: dict[str, Any]) -> float:
    """Return the reveal time of the route's first hazard, s; NaN without an encounter."""
    known = [
        (hazard["station"], hazard["encounter"]["reveal"])
        for hazard in result["crucible"]["hazards"]
        if hazard["encounter"] is not None
    ]
    return float(min(known)[1]) if known else float("nan")


def read_drive_outcomes(folder: Path, route: BlockRoute) -> pd.DataFrame:
    """Return a row for each drive of a campaign: route, system, condition, repair, violated."""
    campaign = CampaignRecords(folder)
    rows = [
        {
            "route": route.name,
            "system": key.arm.system,
            "condition": key.arm.condition,
            "repair": key.arm["intervention"].removeprefix(REPAIR_PREFIX),
            "violated": campaign.read_result(key)["crucible"]["violation"] is not None,
        }
        for key in sorted(campaign.find_attempts())
    ]
    return pd.DataFrame(rows, columns=["route", "system", "condition", "repair", "violated"])


def select_unrepaired_drives(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the drives without a repair."""
    return outcomes[outcomes["repair"] == NONE].drop(columns="repair").reset_index(drop=True)

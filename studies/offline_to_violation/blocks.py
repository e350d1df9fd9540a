"""One route of a study: recorded, asked about, driven; each part is resumed where it was.

A block's folder has `recording` and `scenes`, `offline`, `drives` and `repairs`. What a block has
reached is read from its files alone, so that it does not matter when it was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from harness.records.arms import NONE
from studies.offline_to_violation.asking import (
    PATTERNS_FILE,
    ask_about_route,
    read_route_measures,
    read_route_patterns,
)
from studies.offline_to_violation.block_findings import (
    NO_SCENES,
    NOT_CLEAN,
    PACKED_SCHEMAS,
    BlockFindings,
    make_empty_table,
)
from studies.offline_to_violation.driven import (
    find_recorded_attempt,
    list_drive_settings,
    list_recording_settings,
    read_drive_outcomes,
    read_reveal_time,
    run_route_campaign,
    select_unrepaired_drives,
)
from studies.offline_to_violation.plan import CONDITIONS, BlockRoute, OfflinePlan
from studies.offline_to_violation.route_scenes import write_route_scenes

BLOCKS = "blocks"
CAMPAIGN_FILE = "campaign.yaml"
NO_RECORDING = "the recording drive has no result"
NOT_ASKED = "systems were not asked about its scenes"
NO_DRIVES = "drives without a repair are missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteBlock:
    """A route's folder."""

    route: BlockRoute
    folder: Path

    @staticmethod
    def of_route(study: Path, route: BlockRoute) -> RouteBlock:
        """Return the block of a route."""
        return RouteBlock(route=route, folder=study / BLOCKS / route.name)

    def describe_missing(self, plan: OfflinePlan) -> str:
        """Return why the route is not whole; empty if it is, with repairs or without."""
        if problem := self.describe_recording():
            return problem
        if not (self.folder / "offline" / PATTERNS_FILE).exists():
            return NOT_ASKED
        needed = len(plan.systems) * len(CONDITIONS)
        return "" if len(self.read_drives()) == needed else NO_DRIVES

    def is_computed(self, plan: OfflinePlan) -> bool:
        """Whether nothing of it is left but repairs: it is whole, or left out for good."""
        return self.describe_missing(plan) in ("", NOT_CLEAN)

    def may_be_repaired(self, plan: OfflinePlan, packed: Mapping[str, BlockFindings]) -> bool:
        """Whether it may still be driven with repairs."""
        known = packed.get(self.route.name)
        if known is None and self.describe_missing(plan):
            return not self.is_computed(plan)
        findings = self.read_findings(plan, known)
        return not findings.problem and findings.select_repairs(plan).empty

    def describe_recording(self) -> str:
        """Return why there are no scenes; empty if there are some."""
        if not (self.folder / "recording" / CAMPAIGN_FILE).exists():
            return NO_RECORDING
        recorded = find_recorded_attempt(self.folder / "recording")
        if recorded is None:
            return NO_RECORDING
        campaign, key = recorded
        if campaign.read_result(key)["crucible"]["violation"] is not None:
            return NOT_CLEAN
        return "" if self.count_scenes() else NO_SCENES

    def count_scenes(self) -> int:
        """Return how many scenes were written."""
        scenes = self.folder / "scenes"
        return len([path for path in scenes.glob("[!.]*") if path.is_dir()])

    def read_drives(self) -> pd.DataFrame:
        """Return the drives without a repair."""
        return select_unrepaired_drives(self._read_outcomes("drives"))

    def read_findings(self, plan: OfflinePlan, packed: BlockFindings | None) -> BlockFindings:
        """Return what the route came to, here or where it was packed.

        Args:
            plan: of the study.
            packed: what it came to elsewhere; repairs can be added to it here.
        """
        again = self._read_outcomes("repairs").assign(again=True)
        if packed is not None:
            repeated = packed.outcomes["again"].astype(bool)
            known = packed.outcomes if again.empty else packed.outcomes[~repeated]
            outcomes = pd.concat([known, again], ignore_index=True)
            return replace(packed, outcomes=outcomes)
        problem = self.describe_missing(plan)
        if problem:
            tables = {name: make_empty_table(name) for name in PACKED_SCHEMAS}
            return BlockFindings(route=self.route, problem=problem, reveal=float("nan"), **tables)
        return BlockFindings(
            route=self.route,
            problem="",
            reveal=self.read_reveal(),
            patterns=read_route_patterns(self.folder / "offline"),
            measures=read_route_measures(self.folder / "offline", self.route.name),
            outcomes=pd.concat(
                [self.read_drives().assign(repair=NONE, again=False), again], ignore_index=True
            ),
        )

    def read_reveal(self) -> float:
        """Return the reveal time of the route's first hazard, s."""
        recorded = find_recorded_attempt(self.folder / "recording")
        assert recorded is not None
        campaign, key = recorded
        return read_reveal_time(campaign.read_result(key))

    def _read_outcomes(self, name: str) -> pd.DataFrame:
        """Return the drives of a campaign of the block; none if it has not started."""
        folder = self.folder / name
        if not (folder / CAMPAIGN_FILE).exists():
            return make_empty_table("outcomes").drop(columns="again")
        return read_drive_outcomes(folder, self.route)


def compute_route_block(plan: OfflinePlan, block: RouteBlock, packed: BlockFindings | None) -> str:
    """Record, ask and drive a route without repairs; return what came of it in a few words."""
    if packed is not None:
        return f"packed: {f'left out: {packed.problem}' if packed.problem else 'whole'}"
    recording, scenes = block.folder / "recording", block.folder / "scenes"
    if block.describe_recording() == NO_RECORDING:
        run_route_campaign(list_recording_settings(plan, block.route), recording)
    if block.describe_recording() == NO_SCENES and not scenes.exists():
        recorded = find_recorded_attempt(recording)
        if recorded is not None:
            write_route_scenes(*recorded, folder=scenes, count=plan.scenes, name=block.route.name)
    if problem := block.describe_recording():
        return f"left out: {problem}"
    ask_about_route(plan, block.route.name, scenes=scenes, folder=block.folder / "offline")
    if block.describe_missing(plan):
        settings = list_drive_settings(plan, block.route, repairs=False)
        run_route_campaign(settings, block.folder / "drives")
    if problem := block.describe_missing(plan):
        return f"left out: {problem}"
    return f"{block.count_scenes()} scenes, {len(block.read_drives())} drives"


def repair_route_block(plan: OfflinePlan, block: RouteBlock, packed: BlockFindings | None) -> str:
    """Drive a route that is whole with repairs; return what came of it in a few words."""
    findings = block.read_findings(plan, packed)
    if findings.problem:
        return "not repaired: left out"
    if findings.select_repairs(plan).empty:
        settings = list_drive_settings(plan, block.route, repairs=True)
        run_route_campaign(settings, block.folder / "repairs")
        findings = block.read_findings(plan, packed)
    return f"{len(findings.select_repairs(plan))} repaired drives"


def list_written_blocks(study: Path) -> list[RouteBlock]:
    """Return the blocks that a study's folder has, in alphabetical order."""
    folder = study / BLOCKS
    names = (
        sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    )
    routes = [
        BlockRoute(group=group, route=route)
        for group, _, route in (name.partition("-") for name in names)
    ]
    return [RouteBlock.of_route(study, route) for route in routes]


def read_all_findings(
    plan: OfflinePlan, study: Path, packed: Mapping[str, BlockFindings]
) -> list[BlockFindings]:
    """Return what the routes of a study came to: those of its folder, and packed ones.

    Args:
        plan: of the study.
        study: its folder.
        packed: by the name of the route.
    """
    here = {block.route.name: block for block in list_written_blocks(study)}
    elsewhere = {
        name: RouteBlock.of_route(study, findings.route) for name, findings in packed.items()
    }
    return [
        block.read_findings(plan, packed.get(name))
        for name, block in sorted((elsewhere | here).items())
    ]

"""Twins of an attempt: the same world from the same seed, something about the disturbance changed.

They are attempts themselves, in a campaign folder of their own, `twins` in that of their campaign;
what is changed is their condition. A condition's name is complete, so equal twins are driven once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import (
    RouteAssignment,
    has_condition_assignment,
    read_assignment,
    write_assignments,
)
from harness.campaign.folder.campaign_folder import (
    load_campaign_header,
    lock_campaign,
    refuse_unpacked,
    write_header,
)
from harness.campaign.folder.inputs import list_all_file_changes
from harness.campaign.planning.limits import refuse_unnameable
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.run import run_work_queue
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.campaign.settings.conditions import (
    Interference,
    build_condition_changes,
    build_condition_parts,
)
from harness.campaign.settings.config import build_part, find_class
from harness.campaign.settings.declared import CampaignSettings, PartSettings, ProgressMode
from harness.campaign.settings.trust import is_declared_safe, refuse_untrusted
from harness.campaign.twins.resized import SizedTwin
from harness.channel.disturbance import Disturbance
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.naming import number_equal_names
from harness.common.errors import UserError
from harness.common.files import refuse_links
from harness.records.keys import AttemptKey
from harness.records.ledger import rebuild_ledger
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS, TwinChange, Window
from harness.world.changes.twin_of import TwinOf
from harness.world.hazards.catalogue import KINDS
from harness.world.simulators import CarliteSimulator

HERE = {"_target_": f"{LocalExecutor.__module__}.{LocalExecutor.__qualname__}"}
"""The executor of twins, whatever the campaign was driven with."""
WRAPPER = f"{Counterfactual.__module__}.{Counterfactual.__qualname__}"
SCENE_WRAPPER = f"{TwinOf.__module__}.{TwinOf.__qualname__}"


@dataclass(frozen=True, slots=True)
class AttemptTwin:
    """An attempt with a change."""

    of: AttemptKey
    change: TwinChange

    @property
    def key(self) -> AttemptKey:
        """The twin's own name."""
        arm = self.of.arm
        return replace(
            self.of, arm=arm.replace_factors(condition=self.change.format_condition(arm.condition))
        )


class CampaignTwins:
    """The twins of a campaign's attempts.

    Args:
        campaign: the campaign's folder.
        workers: attempts at a time.
        progress: how progress is shown.
        trust: build classes that are not declared safe.
    """

    def __init__(
        self, campaign: Path, workers: int = 1, progress: ProgressMode = "live", trust: bool = False
    ) -> None:
        header = load_campaign_header(campaign / "campaign.yaml")
        refuse_unpacked(campaign, header)
        refuse_links(campaign)
        self.campaign = campaign
        self.folder = campaign / TWINS
        if not isinstance(header.get("digest"), str):
            raise UserError(f"{campaign / 'campaign.yaml'}: not a campaign's: it has no digest")
        # twins are driven here, one by one, with the settings of the campaign and no exports
        self._of: str = header["digest"]
        given: CampaignSettings = header["settings"]
        here = cast("PartSettings[Any]", HERE)
        self._settings: CampaignSettings = {**given, "executor": here, "export": {}}
        self._executor = LocalExecutor(workers)
        self._progress = progress
        self._trust = trust
        # what cannot be driven again as it was
        refuse_carla(campaign, self._settings)
        refuse_unrepeatable(campaign, self._settings, "a twin")
        if not trust:
            refuse_untrusted(campaign, self._settings)
        refuse_misshapen(self._settings)
        simulator = build_part(self._settings["simulator"], "simulator")
        self._simulator = simulator.name
        if changes := list_all_file_changes(self._settings):
            raise UserError(f"{campaign}: driven with other files: {'; '.join(changes)}")

    @property
    def settings(self) -> CampaignSettings:
        """The settings of the campaign, with the executor of twins."""
        return self._settings

    def list_disturbance_names(self, condition: str) -> list[str]:
        """Return the names of a condition's disturbances and changes of the scene."""
        made = [one for _, one in build_condition_parts(self._settings, condition)]
        number_equal_names(made)
        return [one.name for one in made]

    def only_of_the_scene(self, condition: str) -> bool:
        """Return whether a condition changes the scene alone: it has no windows in time."""
        parts = build_condition_parts(self._settings, condition)
        return bool(parts) and len(parts) == len(build_condition_changes(self._settings, condition))

    def drive_twins(self, twins: Sequence[AttemptTwin | SizedTwin]) -> None:
        """Drive those that have not been driven."""
        refuse_unnameable([twin.key for twin in twins])
        # one command at a time writes this folder
        with lock_campaign(self.folder):
            self._prepare_folder(twins)
            rebuild_ledger(self.folder)
            keys = list(dict.fromkeys(twin.key for twin in twins))
            tries = self._settings["attempts_per_route"]
            queue = WorkQueue(keys, self.folder, tries, retry_failed=True)
            # all routes lie in one town
            if queue:
                town = read_assignment(self.campaign, keys[0].route).route.town
                settings: CampaignSettings = {**self._settings, "progress": self._progress}
                run_work_queue(
                    queue, self._executor, folder=self.folder, settings=settings, town=town
                )

    def read_violation(self, twin: AttemptTwin) -> dict[str, Any] | None:
        """Return how a driven twin ended."""
        violation: dict[str, Any] | None = self.read_twin_result(twin)["violation"]
        return violation

    def read_twin_result(self, twin: AttemptTwin) -> dict[str, Any]:
        """Return a driven twin's result."""
        campaign = CampaignRecords(self.folder)
        if twin.key not in campaign.find_attempts():
            raise UserError(f"{self.folder}: {twin.key} has no result; see ledger.jsonl there")
        result: dict[str, Any] = campaign.read_result(twin.key)["crucible"]
        return result

    def read_endings(
        self, twins: Sequence[AttemptTwin | SizedTwin]
    ) -> dict[AttemptKey, str | None]:
        """Return the kinds of twins' violations: empty for none, nothing without a result.

        Args:
            twins: of attempts of the campaign.
        """
        campaign = CampaignRecords(self.folder)
        there = campaign.find_attempts()
        return {
            twin.key: get_violation_kind(campaign.read_result(twin.key))
            if twin.key in there
            else None
            for twin in twins
        }

    def get_twin_path(self, twin: AttemptTwin | SizedTwin) -> Path:
        """Return where a driven twin's records lie."""
        return CampaignRecords(self.folder).find_attempts()[twin.key]

    def _prepare_folder(self, twins: Sequence[AttemptTwin | SizedTwin]) -> None:
        """Write down what the twins' conditions mean, and the routes as they were laid."""
        file = self.folder / "campaign.yaml"
        known: dict[str, Any] = {}
        # twins of other conditions may be there already: theirs stay
        if file.exists():
            header = load_campaign_header(file)
            if header.get("twins_of") != self._of:
                raise UserError(f"{self.folder}: twins of another campaign; move them away")
            known = header["settings"]
            if not self._trust:
                conditions = known.get("interference")
                refuse_untrusted(self.folder, {"interference": conditions})
        wanted = {twin.key.arm.condition: self._make_changed_parts(twin) for twin in twins}
        settings: CampaignSettings = {
            **self._settings,
            "interference": {**known.get("interference", {}), **wanted},
            "routes": {**self._settings["routes"], "clean_under": None},
        }
        if settings != known:
            write_header(file, settings, self._simulator, twins_of=self._of)
        # the same roads and hazards as the attempts had
        routes = {twin.of.route for twin in twins}
        assignments = [read_assignment(self.campaign, route) for route in sorted(routes)]
        for assignment in assignments if not self._trust else ():
            refuse_untrusted_hazards(self.campaign, assignment)
        write_assignments(self.folder, assignments)
        self._keep_assignments(twins)

    def _keep_assignments(self, twins: Sequence[AttemptTwin | SizedTwin]) -> None:
        """Give twins the hazards of their attempt where its condition has its own."""
        for twin in twins:
            of = twin.of
            if has_condition_assignment(self.campaign, of.route, of.arm.condition):
                assignment = read_assignment(self.campaign, of.route, of.arm.condition)
                if not self._trust:
                    refuse_untrusted_hazards(self.campaign, assignment)
                write_assignments(self.folder, [assignment], twin.key.arm.condition)

    def _make_changed_parts(
        self, twin: AttemptTwin | SizedTwin
    ) -> list[PartSettings[Interference]]:
        """Return the settings of a condition with a change."""
        if isinstance(twin, SizedTwin):
            return twin.make_parts()
        change = twin.change
        names = self.list_disturbance_names(twin.of.arm.condition)
        for name in change.without:
            if name not in names:
                raise UserError(
                    f"{twin.of}: no {name!r} among its disturbances ({', '.join(names) or 'none'})"
                )
        condition = twin.of.arm.condition
        parts = [
            (deepcopy(part), one) for part, one in build_condition_parts(self._settings, condition)
        ]
        # the attempt once more
        if change == TwinChange():
            return [part for part, _ in parts]
        if change.windows is not None and self.only_of_the_scene(condition):
            raise UserError(
                f"{twin.of}: {', '.join(names)} change the scene from the start on: no window in"
                " time leaves them out; use --without"
            )
        # every disturbance is wrapped: all sample what they would anyway
        wrapped = [
            wrap_part(part, one, change, withheld=name in change.without)
            for name, (part, one) in zip(names, parts, strict=True)
        ]
        return cast("list[PartSettings[Interference]]", wrapped)


def get_violation_kind(result: dict[str, Any]) -> str:
    """Return the kind of a result's violation; empty for none."""
    violation = result["crucible"]["violation"]
    return "" if violation is None else str(violation["kind"])


def wrap_part(
    part: PartSettings[Interference], one: Interference, change: TwinChange, *, withheld: bool
) -> dict[str, Any]:
    """Return the settings of a part with a change; the scene is the same in all windows."""
    wrapped: dict[str, Any] = {"of": part, "sample": change.sample}
    if isinstance(one, Disturbance):
        windows = format_window_lists(() if withheld else change.windows)
        return {"_target_": WRAPPER, **wrapped, "windows": windows}
    return {"_target_": SCENE_WRAPPER, **wrapped, "withheld": withheld}


def refuse_untrusted_hazards(folder: Path, assignment: RouteAssignment) -> None:
    """Refuse a folder's route with a hazard whose class is not declared safe to build.

    Args:
        folder: that the route is from.
        assignment: the route with its hazards.
    """
    for spec in assignment.runnable:
        if spec.kind in KINDS and not is_declared_safe(KINDS[spec.kind]):
            raise UserError(
                f"{folder}: route {assignment.route.name} has the hazard {spec.kind}, whose class"
                " is not declared safe to be built from a file; pass --trust if you trust it"
            )


def format_window_lists(windows: Sequence[Window] | None) -> list[list[int]] | None:
    """Return windows as settings have them."""
    return None if windows is None else [list(window) for window in windows]


def refuse_carla(campaign: Path, settings: CampaignSettings) -> None:
    """Refuse the twins of a campaign on CARLA, before anything of its settings is built.

    Args:
        campaign: the campaign's folder.
        settings: of the campaign; nothing of them has been checked yet.
    """
    simulator = settings.get("simulator")
    named = simulator.get("_target_") if isinstance(simulator, dict) else None
    if named is not None and find_class(named, "simulator") is not CarliteSimulator:
        raise UserError(
            f"{campaign}: driven on CARLA, whose worlds do not repeat; twins are for carlite"
        )

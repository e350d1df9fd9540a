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
    Assignment,
    condition_has_assignment,
    read_assignment,
    write_assignments,
)
from harness.campaign.folder.campaign_folder import (
    locked,
    read_header,
    refuse_unpacked,
    write_header,
)
from harness.campaign.folder.inputs import other_files
from harness.campaign.planning.plan import refuse_unnameable
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.run import do
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.conditions import Interference, changes_of, described
from harness.campaign.settings.config import build, find_class
from harness.campaign.settings.declared import Part, ProgressMode, Settings
from harness.campaign.settings.trust import declares_itself_safe, refuse_untrusted
from harness.campaign.twins.resized import Resized
from harness.channel.channel import number_equal_names
from harness.channel.disturbance import Disturbance
from harness.channel.interference.counterfactual import Counterfactual
from harness.errors import UserError
from harness.files import refuse_links
from harness.records.keys import AttemptKey
from harness.records.ledger import rebuild
from harness.records.reading import Campaign
from harness.records.twins import TWINS, Change, Window
from harness.world.changes.twin_of import TwinOf
from harness.world.hazards.catalogue import KINDS
from harness.world.simulators import CarliteSimulator

HERE = {"_target_": f"{LocalExecutor.__module__}.{LocalExecutor.__qualname__}"}
"""The executor of twins, whatever the campaign was driven with."""
WRAPPER = f"{Counterfactual.__module__}.{Counterfactual.__qualname__}"
SCENE_WRAPPER = f"{TwinOf.__module__}.{TwinOf.__qualname__}"


@dataclass(frozen=True, slots=True)
class Twin:
    """An attempt with a change."""

    of: AttemptKey
    change: Change

    @property
    def key(self) -> AttemptKey:
        """The twin's own name."""
        arm = self.of.arm
        return replace(self.of, arm=arm.but(condition=self.change.condition(arm.condition)))


class Twins:
    """The twins of a campaign's attempts."""

    def __init__(
        self, campaign: Path, workers: int = 1, progress: ProgressMode = "live", trust: bool = False
    ) -> None:
        header = read_header(campaign / "campaign.yaml")
        refuse_unpacked(campaign, header)
        refuse_links(campaign)
        self.campaign = campaign
        self.folder = campaign / TWINS
        if not isinstance(header.get("digest"), str):
            raise UserError(f"{campaign / 'campaign.yaml'}: not a campaign's: it has no digest")
        self._of: str = header["digest"]
        given: Settings = header["settings"]
        here = cast("Part[Any]", HERE)
        self._settings: Settings = {**given, "executor": here, "export": {}}
        self._executor = LocalExecutor(workers)
        self._progress = progress
        self._trust = trust
        refuse_carla(campaign, self._settings)
        if not trust:
            refuse_untrusted(campaign, self._settings)
        refuse_misshapen(self._settings)
        simulator = build(self._settings["simulator"], "simulator")
        self._simulator = simulator.name
        if changes := other_files(self._settings, self._settings["system"]):
            raise UserError(f"{campaign}: driven with other files: {'; '.join(changes)}")

    @property
    def settings(self) -> Settings:
        """The settings of the campaign, with the executor of twins."""
        return self._settings

    def disturbances(self, condition: str) -> list[str]:
        """Return the names of a condition's disturbances and changes of the scene."""
        made = [one for _, one in described(self._settings, condition)]
        number_equal_names(made)
        return [one.name for one in made]

    def only_of_the_scene(self, condition: str) -> bool:
        """Return whether a condition changes the scene alone: it has no windows in time."""
        parts = described(self._settings, condition)
        return bool(parts) and len(parts) == len(changes_of(self._settings, condition))

    def drive(self, twins: Sequence[Twin | Resized]) -> None:
        """Drive those that have not been driven."""
        refuse_unnameable([twin.key for twin in twins])
        with locked(self.folder):
            self._make_room(twins)
            rebuild(self.folder)
            keys = list(dict.fromkeys(twin.key for twin in twins))
            tries = self._settings["attempts_per_route"]
            queue = WorkQueue(keys, self.folder, tries, retry_failed=True)
            if queue:
                town = read_assignment(self.campaign, keys[0].route).route.town
                settings: Settings = {**self._settings, "progress": self._progress}
                do(queue, self._executor, folder=self.folder, settings=settings, town=town)

    def violation(self, twin: Twin) -> dict[str, Any] | None:
        """Return how a driven twin ended."""
        violation: dict[str, Any] | None = self.result(twin)["violation"]
        return violation

    def result(self, twin: Twin) -> dict[str, Any]:
        """Return a driven twin's result."""
        campaign = Campaign(self.folder)
        if twin.key not in campaign.attempts():
            raise UserError(f"{self.folder}: {twin.key} has no result; see ledger.jsonl there")
        result: dict[str, Any] = campaign.result(twin.key)["crucible"]
        return result

    def endings(self, twins: Sequence[Twin | Resized]) -> dict[AttemptKey, str | None]:
        """Return the kinds of twins' violations: empty for none, nothing without a result."""
        campaign = Campaign(self.folder)
        there = campaign.attempts()
        return {
            twin.key: kind_of(campaign.result(twin.key)) if twin.key in there else None
            for twin in twins
        }

    def place(self, twin: Twin | Resized) -> Path:
        """Return where a driven twin's records lie."""
        return Campaign(self.folder).attempts()[twin.key]

    def _make_room(self, twins: Sequence[Twin | Resized]) -> None:
        """Write down what the twins' conditions mean, and the routes as they were laid."""
        file = self.folder / "campaign.yaml"
        known: dict[str, Any] = {}
        if file.exists():
            header = read_header(file)
            if header.get("twins_of") != self._of:
                raise UserError(f"{self.folder}: twins of another campaign; move them away")
            known = header["settings"]
            if not self._trust:
                conditions = known.get("interference")
                refuse_untrusted(self.folder, {"interference": conditions})
        wanted = {twin.key.arm.condition: self._changed(twin) for twin in twins}
        settings: Settings = {
            **self._settings,
            "interference": {**known.get("interference", {}), **wanted},
            "routes": {**self._settings["routes"], "clean_under": None},
        }
        if settings != known:
            write_header(file, settings, self._simulator, twins_of=self._of)
        routes = {twin.of.route for twin in twins}
        assignments = [read_assignment(self.campaign, route) for route in sorted(routes)]
        for assignment in assignments if not self._trust else ():
            refuse_untrusted_hazards(self.campaign, assignment)
        write_assignments(self.folder, assignments)
        self._keep_assignments(twins)

    def _keep_assignments(self, twins: Sequence[Twin | Resized]) -> None:
        """Give twins the hazards of their attempt where its condition has its own."""
        for twin in twins:
            of = twin.of
            if condition_has_assignment(self.campaign, of.route, of.arm.condition):
                assignment = read_assignment(self.campaign, of.route, of.arm.condition)
                if not self._trust:
                    refuse_untrusted_hazards(self.campaign, assignment)
                write_assignments(self.folder, [assignment], twin.key.arm.condition)

    def _changed(self, twin: Twin | Resized) -> list[Part[Interference]]:
        """Return the settings of a condition with a change."""
        if isinstance(twin, Resized):
            return twin.parts()
        change = twin.change
        names = self.disturbances(twin.of.arm.condition)
        for name in change.without:
            if name not in names:
                raise UserError(
                    f"{twin.of}: no {name!r} among its disturbances ({', '.join(names) or 'none'})"
                )
        condition = twin.of.arm.condition
        parts = [(deepcopy(part), one) for part, one in described(self._settings, condition)]
        if change == Change():
            return [part for part, _ in parts]
        if change.windows is not None and self.only_of_the_scene(condition):
            raise UserError(
                f"{twin.of}: {', '.join(names)} change the scene from the start on: no window in"
                " time leaves them out; use --without"
            )
        wrapped = [
            wrapped_part(part, one, change, withheld=name in change.without)
            for name, (part, one) in zip(names, parts, strict=True)
        ]
        return cast("list[Part[Interference]]", wrapped)


def kind_of(result: dict[str, Any]) -> str:
    """Return the kind of a result's violation; empty for none."""
    violation = result["crucible"]["violation"]
    return "" if violation is None else str(violation["kind"])


def wrapped_part(
    part: Part[Interference], one: Interference, change: Change, *, withheld: bool
) -> dict[str, Any]:
    """Return the settings of a part with a change; the scene is the same in all windows."""
    wrapped: dict[str, Any] = {"of": part, "sample": change.sample}
    if isinstance(one, Disturbance):
        windows = windows_as_lists(() if withheld else change.windows)
        return {"_target_": WRAPPER, **wrapped, "windows": windows}
    return {"_target_": SCENE_WRAPPER, **wrapped, "withheld": withheld}


def refuse_untrusted_hazards(folder: Path, assignment: Assignment) -> None:
    """Refuse a folder's route with a hazard whose class is not declared safe to build."""
    for spec in assignment.runnable:
        if spec.kind in KINDS and not declares_itself_safe(KINDS[spec.kind]):
            raise UserError(
                f"{folder}: route {assignment.route.name} has the hazard {spec.kind}, whose class"
                " is not declared safe to be built from a file; pass --trust if you trust it"
            )


def windows_as_lists(windows: Sequence[Window] | None) -> list[list[int]] | None:
    """Return windows as settings have them."""
    return None if windows is None else [list(window) for window in windows]


def refuse_carla(campaign: Path, settings: Settings) -> None:
    """Refuse the twins of a campaign on CARLA, before anything of its settings is built."""
    simulator = settings.get("simulator")
    named = simulator.get("_target_") if isinstance(simulator, dict) else None
    if named is not None and find_class(named, "simulator") is not CarliteSimulator:
        raise UserError(
            f"{campaign}: driven on CARLA, whose worlds do not repeat; twins are for carlite"
        )

"""The check of a study: whether it composes, what it changes, and what it would drive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from harness.campaign.folder.campaign_folder import get_campaign_path
from harness.campaign.planning.estimate import estimate_campaign
from harness.campaign.planning.paces import select_known_paces
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.checkout import with_checkout
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.differences import list_setting_differences
from harness.common.findings import Finding, make_checks

SHOWN = 8
"""Differences that are listed."""
CHECKS = {
    "composes": "its files and choices are found, and give settings",
    "repeats": "it gives the same settings again",
    "settings": "every setting has the type and range that it needs",
    "name": "study.name is the name of its file",
    "changes": "differs from `recommended`",
    "plans": "routes can be laid, hazards placed, systems driven under its conditions",
    "pairs": "two arms or more meet the same routes and seeds",
}


class StudyExamination:
    """Puts one study to all checks; nothing is driven."""

    def __init__(self, name: str, compose: Callable[[str], CampaignSettings]) -> None:
        self._name, self._compose = name, compose

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "composes": self._check_composition,
            "repeats": self._check_repeats,
            "settings": self._check_validity,
            "name": self._check_names,
            "changes": self._check_changes,
            "plans": self._check_plans,
            "pairs": self._check_pairs,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("composes", "settings", "plans"),
        )

    @cached_property
    def _settings(self) -> CampaignSettings:
        return with_checkout(self._compose(self._name))

    @cached_property
    def _plan(self) -> CampaignPlan:
        return plan_campaign(self._settings)

    def _check_composition(self) -> Iterator[Finding]:
        self._settings  # noqa: B018 - raises
        yield from ()

    def _check_repeats(self) -> Iterator[Finding]:
        if hash_settings(self._settings) != hash_settings(with_checkout(self._compose(self._name))):
            yield Finding("repeats", "failed", "composed again, it gives other settings")

    def _check_validity(self) -> Iterator[Finding]:
        refuse_misshapen(self._settings)
        yield from ()

    def _check_names(self) -> Iterator[Finding]:
        chosen = self._settings["study"]["name"]
        if chosen != self._name:
            why = f"study.name is {chosen}: campaigns would be named after that study"
            yield Finding("name", "warning", why)

    def _check_changes(self) -> Iterator[Finding]:
        changed = list(list_setting_differences(self._compose("recommended"), self._settings))
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        if changed:
            listed = "; ".join(changed[:SHOWN])
            yield Finding("changes", "note", f"from `recommended`: {listed}{more}")
        else:
            yield Finding("changes", "warning", "it changes nothing of `recommended`")

    def _check_plans(self) -> Iterator[Finding]:
        planned = self._plan
        seeds = {key.seed for key in planned.attempts}
        arms = {key.arm for key in planned.attempts}
        took = estimate_campaign(
            planned, get_campaign_path(self._settings), select_known_paces(self._settings)
        )
        known = f"about {took.seconds / 60:.0f} min"
        if took.guests:
            known = f"the time of {', '.join(took.guests)} is not known before a first drive"
        yield Finding(
            "plans",
            "passed",
            f"{len(planned.attempts)} attempts: {len(arms)} arms, {len(planned.assignments)} routes"
            f" in {planned.town}, {len(seeds)} seeds; {known}",
        )
        for arm in planned.unfit:
            yield Finding("plans", "warning", f"left out: {arm}")
        for spec, why in planned.unplaceable:
            said = f"no place on route {spec.route} for {spec.kind}: {why}"
            yield Finding("plans", "warning", said)

    def _check_pairs(self) -> Iterator[Finding]:
        met = Counter((key.route, key.seed) for key in self._plan.attempts)
        if max(met.values()) < 2:
            yield Finding("pairs", "warning", "one arm: there is nothing to compare it with")

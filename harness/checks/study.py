"""The check of a study: whether it composes, what it changes, and what it would drive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from harness.campaign.folder.campaign_folder import place
from harness.campaign.planning.estimate import estimate
from harness.campaign.planning.paces import paces_of
from harness.campaign.planning.plan import Plan, plan
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.checkout import with_checkout
from harness.campaign.settings.config import digest
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.differences import differences
from harness.findings import Finding, make_checks

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

    def __init__(self, name: str, compose: Callable[[str], Settings]) -> None:
        self._name, self._compose = name, compose

    def findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "composes": self._composes,
            "repeats": self._repeats,
            "settings": self._valid,
            "name": self._named,
            "changes": self._changes,
            "plans": self._plans,
            "pairs": self._pairs,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("composes", "settings", "plans"),
        )

    @cached_property
    def _settings(self) -> Settings:
        return with_checkout(self._compose(self._name))

    @cached_property
    def _plan(self) -> Plan:
        return plan(self._settings)

    def _composes(self) -> Iterator[Finding]:
        self._settings  # noqa: B018 - raises
        yield from ()

    def _repeats(self) -> Iterator[Finding]:
        if digest(self._settings) != digest(with_checkout(self._compose(self._name))):
            yield Finding("repeats", "failed", "composed again, it gives other settings")

    def _valid(self) -> Iterator[Finding]:
        refuse_misshapen(self._settings)
        yield from ()

    def _named(self) -> Iterator[Finding]:
        chosen = self._settings["study"]["name"]
        if chosen != self._name:
            why = f"study.name is {chosen}: campaigns would be named after that study"
            yield Finding("name", "warning", why)

    def _changes(self) -> Iterator[Finding]:
        changed = list(differences(self._compose("recommended"), self._settings))
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        if changed:
            listed = "; ".join(changed[:SHOWN])
            yield Finding("changes", "note", f"from `recommended`: {listed}{more}")
        else:
            yield Finding("changes", "warning", "it changes nothing of `recommended`")

    def _plans(self) -> Iterator[Finding]:
        planned = self._plan
        seeds = {key.seed for key in planned.attempts}
        arms = {key.arm for key in planned.attempts}
        took = estimate(planned, place(self._settings), paces_of(self._settings))
        yield Finding(
            "plans",
            "passed",
            f"{len(planned.attempts)} attempts: {len(arms)} arms, {len(planned.assignments)} routes"
            f" in {planned.town}, {len(seeds)} seeds; about {took.seconds / 60:.0f} min",
        )
        for arm in planned.unfit:
            yield Finding("plans", "warning", f"left out: {arm}")
        for spec, why in planned.unplaceable:
            said = f"no place on route {spec.route} for {spec.kind}: {why}"
            yield Finding("plans", "warning", said)

    def _pairs(self) -> Iterator[Finding]:
        met = Counter((key.route, key.seed) for key in self._plan.attempts)
        if max(met.values()) < 2:
            yield Finding("pairs", "warning", "one arm: there is nothing to compare it with")

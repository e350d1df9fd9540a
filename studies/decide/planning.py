"""A study from its declaration to a campaign: settings, arms, routes; nothing is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig

from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import (
    CampaignPlan,
    build_arms,
    get_maps_folder,
    plan_campaign,
)
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.checkout import with_checkout
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import explain_composition_error
from harness.campaign.settings.config import resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.records.arms import ABSENT_VALUES, Arm, find_meant_arms
from harness.records.names import escape_file_name
from harness.world.routes.generate import SHIPPED, refuse_unknown_kinds
from studies.decide.declaration import GeneratedRoutes, StudyDeclaration
from studies.decide.population import (
    StratifiedRoutes,
    name_strata,
    stratify_generator,
    stratify_routes,
)

FACTOR_GROUPS = (
    *("driver", "link", "message_format", "attack", "defence", "compensate", "compute", "brakes"),
    *("intervention", "partners"),
)
"""Factors of arms that are named as `driver=idm`."""
LEAST_PARTS = 2
GENERATED = "generated"
"""The folder, in the campaign's, with the routes that a generator made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyWords:
    """What a study is composed from.

    Attributes:
        declaration: of the file.
        file: for messages.
        overrides: words of the command line.
        folders: those of `--config-dir`.
        trust: build classes that are not declared safe.
    """

    declaration: StudyDeclaration
    file: Path
    overrides: Sequence[str]
    folders: Sequence[Path] = ()
    trust: bool = False

    @property
    def default_folder(self) -> Path:
        """Where the campaign lies if no word says where."""
        text = json.dumps(self.declaration.to_record(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return Path("runs") / f"{escape_file_name(self.declaration.name)}-{digest}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DecidePlan:
    """A study that can be driven.

    Attributes:
        arms: of each comparison, by its name: a and b.
        ideal: arms that divide routes: alone, and with partners; or none.
        stratified: by the map alone.
    """

    words: StudyWords
    campaign: CampaignSettings
    planned: CampaignPlan
    arms: Mapping[str, tuple[Arm, Arm]]
    ideal: tuple[Arm, ...]
    stratified: StratifiedRoutes

    @property
    def declaration(self) -> StudyDeclaration:
        """What the file declares."""
        return self.words.declaration


def compose_study(words: StudyWords, routes: Sequence[str]) -> CampaignSettings:
    """Return the settings of a study's campaign.

    Args:
        words: of the study.
        routes: words that choose routes.

    Raises:
        UserError: a word that does not fit.
    """
    declaration = words.declaration
    overrides = [
        *list_arm_words(words),
        *routes,
        f"seeds=[{','.join(map(str, declaration.seeds))}]",
        f"study.name={json.dumps(declaration.name, ensure_ascii=False)}",
        *declaration.campaign,
        *words.overrides,
    ]
    try:
        config: DictConfig = compose_config(overrides, words.folders, trust=words.trust)
    except UserError:
        raise
    except Exception as problem:  # Hydra and OmegaConf have no common one
        raise UserError(explain_composition_error(problem, overrides, words.folders)) from None
    settings = with_checkout(resolve_settings(config))
    refuse_misshapen(settings)
    if tuple(settings["seeds"]) != declaration.seeds:
        raise UserError(f"configuration: seeds are those of {words.file}; change them there")
    return settings


def list_arm_words(words: StudyWords) -> Iterator[str]:
    """Yield the words that choose the systems, conditions and other factors of the arms.

    A name that no file of a group has is left to the words of the campaign.
    """
    arms = [
        dict(split_arm(text, words.file, place))
        for text, place in list_arm_texts(words.declaration)
    ]
    named: dict[str, dict[str, None]] = {}
    for arm in arms:
        for group, value in arm.items():
            named.setdefault(group, {})[value] = None
    # an arm without a factor that others name is driven at the value of absence
    for group in sorted(ABSENT_VALUES.keys() & named.keys()):
        if any(group not in arm for arm in arms):
            named[group][ABSENT_VALUES[group]] = None
    for group, values in named.items():
        files = [folder / group for folder in (*words.folders, CONF)]
        known = [one for one in values if any((at / f"{one}.yaml").is_file() for at in files)]
        if known:
            yield f"{group}=[{','.join(known)}]"


def list_arm_texts(declaration: StudyDeclaration) -> Iterator[tuple[str, str]]:
    """Yield the arms that are driven as text, and the keys that name them."""
    for one in declaration.comparisons:
        yield one.a, f"comparisons.{one.name}.a"
        yield one.b, f"comparisons.{one.name}.b"
    for at, text in enumerate(declaration.ideal):
        yield text, f"ideal[{at}]"


def split_arm(text: str, file: Path, place: str) -> Iterator[tuple[str, str]]:
    """Yield the groups of the configuration that an arm's name has a value for."""
    parts = text.split("/")
    core = [
        part for part in parts if part.partition("=")[0] not in FACTOR_GROUPS or "=" not in part
    ]
    if not LEAST_PARTS <= len(core) <= LEAST_PARTS + 1 or not all(core):
        raise UserError(
            f"{file}: {place} = {text}: must be SYSTEM/CONDITION or SYSTEM/COOPERATION/CONDITION,"
            " and further factors as /driver=idm"
        )
    yield "system", core[0]
    yield "interference", core[-1]
    if len(core) > LEAST_PARTS and core[1] != "none":
        yield "cooperation", core[1]
    for part in parts:
        group, equals, value = part.partition("=")
        if equals and group in FACTOR_GROUPS:
            yield group, value


def find_study_arms(
    words: StudyWords, campaign: CampaignSettings
) -> tuple[dict[str, tuple[Arm, Arm]], tuple[Arm, ...]]:
    """Return the arms of each comparison, and those of the ideal systems.

    Raises:
        UserError: an arm that the campaign does not have, or several that are meant.
    """
    arms, unfit = build_arms(campaign)
    named_arms: dict[str, Arm] = {}
    for text, place in list_arm_texts(words.declaration):
        meant = find_meant_arms(text, arms)
        # the arm without further factors, where none are named
        plain = [arm for arm in meant if len(arm.names) == min(len(one.names) for one in meant)]
        if len(plain) != 1:
            why = "no arm of the campaign" if not plain else "several arms of the campaign"
            known = ", ".join(map(str, plain or arms)) or "none"
            reasons = f"; {unfit[0]}" if unfit and not plain else ""
            raise UserError(f"{words.file}: {place} = {text}: {why} (arms: {known}){reasons}")
        named_arms[place] = plain[0]
    comparisons = {}
    for one in words.declaration.comparisons:
        a, b = named_arms[f"comparisons.{one.name}.a"], named_arms[f"comparisons.{one.name}.b"]
        if a == b:
            raise UserError(f"{words.file}: comparisons.{one.name}: a and b are the same arm")
        comparisons[one.name] = (a, b)
    ideal = range(len(words.declaration.ideal))
    return comparisons, tuple(named_arms[f"ideal[{at}]"] for at in ideal)


def list_route_words(declaration: StudyDeclaration, generated: Path | None) -> tuple[str, ...]:
    """Return the words that choose a study's routes; `generated` has those of a generator."""
    if isinstance(declaration.routes, GeneratedRoutes):
        if generated is None:
            return ()
        files = (("file", "routes.xml"), ("hazards", "hazards.json"))
        # routes that are sampled one by one may lead along the same way
        repeats = ("routes.repeats=true",) if declaration.is_of_generator else ()
        return (
            "routes=crucible05",
            *repeats,
            *(f"routes.{name}='{generated / file}'" for name, file in files),
        )
    return declaration.routes


def list_generated_kinds(words: StudyWords) -> tuple[str, ...]:
    """Return the kinds of hazards that a generator places; none where routes are of files."""
    asked = words.declaration.routes
    if not isinstance(asked, GeneratedRoutes):
        return ()
    try:
        refuse_unknown_kinds(asked.kinds)
    except UserError as problem:
        raise UserError(f"{words.file}: routes.kinds: {problem}") from None
    return asked.kinds or SHIPPED


def plan_study(words: StudyWords, generated: Path | None) -> DecidePlan:
    """Return the plan of a study; what is wrong with it is refused.

    Args:
        words: of the study.
        generated: folder with the routes of a generator, where it has one.
    """
    settings = compose_study(words, list_route_words(words.declaration, generated))
    comparisons, ideal = find_study_arms(words, settings)
    planned = plan_campaign(settings)
    campaign = cast("CampaignSettings", with_inputs(settings))
    strata = words.declaration.strata
    names = name_strata(planned.assignments, strata, get_maps_folder(campaign))
    routes = [assignment.route.name for assignment in planned.assignments]
    place = f"{words.file}: strata.shares"
    stratified = (
        stratify_generator(dict(enumerate(names)), len(names), strata.shares, place)
        if words.declaration.is_of_generator
        else stratify_routes(routes, names, strata.shares, place)
    )
    return DecidePlan(
        words=words,
        campaign=campaign,
        planned=planned,
        arms=comparisons,
        ideal=ideal,
        stratified=stratified,
    )


def make_study_record(plan: DecidePlan) -> dict[str, Any]:
    """Return the declaration as the record has it, with the whole names of arms."""
    record = plan.declaration.to_record()
    for name, (a, b) in plan.arms.items():
        record["comparisons"][name] |= {"a": str(a), "b": str(b)}
    return record | {"ideal": [str(arm) for arm in plan.ideal]}
